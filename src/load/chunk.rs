//! Rows of a dataset in chunks, as text for LOAD DATA. A chunk's contents depend on nothing but its place.

use std::io::Write as _;

use crate::protocol::job::Dataset;
use crate::workload::keys::KeyPicker;
use crate::workload::random::WorkloadRng;
use crate::workload::rows::{c_value, pad_value};
use crate::workload::schema::Layout;

/// Rows loaded by one statement: about 1 MB of text, small enough to commit quickly.
pub const ROWS_PER_CHUNK: u64 = 5_000;

/// What follows the id in every row of sysbench 0.4's table: k, c, pad.
const ROW_04: &str = "0, ,qqqqqqqqqqwwwwwwwwwweeeeeeeeeerrrrrrrrrrtttttttttt";

/// Consecutive rows of one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// Table number, from 1.
    pub table: u32,
    /// First id.
    pub first: u64,
    /// Last id.
    pub last: u64,
}

impl Chunk {
    /// Rows in it.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.last - self.first + 1
    }
}

/// Chunks in a dataset.
#[must_use]
pub fn count(dataset: &Dataset) -> u64 {
    u64::from(dataset.tables) * dataset.rows.div_ceil(ROWS_PER_CHUNK)
}

/// Chunk number `index`: neighbours in number are in different tables, so that parallel loaders spread
/// over tables first and share a table only when there are more loaders than tables.
#[must_use]
pub fn at(dataset: &Dataset, index: u64) -> Chunk {
    let tables = u64::from(dataset.tables);
    let first = index / tables * ROWS_PER_CHUNK + 1;
    Chunk {
        table: u32::try_from(index % tables).unwrap_or(u32::MAX) + 1,
        first,
        last: (first + ROWS_PER_CHUNK - 1).min(dataset.rows),
    }
}

/// Writes the chunk's rows into `text`, columns separated by commas (which no value contains).
pub fn write_rows(dataset: &Dataset, chunk: &Chunk, text: &mut Vec<u8>) {
    text.clear();
    let stream = (u64::from(chunk.table) << 32) | chunk.first;
    let mut rng = WorkloadRng::new(dataset.seed, stream);
    let values = KeyPicker::new(dataset.keys, 1, dataset.rows);
    for id in chunk.first..=chunk.last {
        // Writing to memory does not fail.
        if dataset.schema.layout == Layout::Sysbench04 {
            let _ = writeln!(text, "{id},{ROW_04}");
            continue;
        }
        let _ = write!(text, "{id},{},", values.pick(&mut rng));
        text.extend_from_slice(c_value(&mut rng).as_bytes());
        text.push(b',');
        text.extend_from_slice(pad_value(&mut rng).as_bytes());
        text.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::KeyDistribution;

    fn dataset(tables: u32, rows: u64) -> Dataset {
        Dataset {
            tables,
            rows,
            keys: KeyDistribution::Uniform,
            schema: crate::workload::schema::TableSchema::DEFAULT,
            seed: 1,
            page_bytes: 16384,
            character_set: "latin1".into(),
        }
    }

    #[test]
    fn chunks_cover_each_row_once() {
        for (tables, rows) in [(1, 1), (3, 5_000), (2, 12_345), (7, 5_001)] {
            let dataset = dataset(tables, rows);
            let mut next = vec![1_u64; tables as usize];
            for index in 0..count(&dataset) {
                let chunk = at(&dataset, index);
                let expected = &mut next[chunk.table as usize - 1];
                assert_eq!(chunk.first, *expected);
                *expected = chunk.last + 1;
            }
            assert!(next.iter().all(|&n| n == rows + 1), "{next:?}");
        }
    }

    #[test]
    fn rows_have_four_columns_and_repeat() {
        let dataset = dataset(2, 6_000);
        let (mut a, mut b) = (Vec::new(), Vec::new());
        write_rows(&dataset, &at(&dataset, 2), &mut a);
        write_rows(&dataset, &at(&dataset, 2), &mut b);
        assert_eq!(a, b);
        let text = String::from_utf8(a).unwrap();
        assert_eq!(text.lines().count(), 1_000);
        let columns: Vec<&str> = text.lines().next().unwrap().split(',').collect();
        assert_eq!((columns.len(), columns[0], columns[2].len(), columns[3].len()), (4, "5001", 119, 59));
    }
}

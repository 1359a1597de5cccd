//! Rows of a table in chunks. A chunk's contents depend on nothing but its place.

use crate::protocol::job::Dataset;
use crate::workload::keys::KeyPicker;
use crate::workload::random::WorkloadRng;
use crate::workload::rows::{c_value, pad_value};
use crate::workload::schema::Layout;

/// Rows loaded by one statement: a packet of about 4 MB, a quarter of what servers accept.
pub const ROWS_PER_CHUNK: u64 = 20_000;

/// `c` and `pad` in every row of sysbench 0.4's table; `k` is 0.
const TEXTS_04: [&[u8]; 2] = [b" ", b"qqqqqqqqqqwwwwwwwwwweeeeeeeeeerrrrrrrrrrtttttttttt"];

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

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Column `id`.
    pub id: u64,
    /// Column `k`.
    pub k: u64,
    /// Column `c`.
    pub c: Vec<u8>,
    /// Column `pad`.
    pub pad: Vec<u8>,
}

impl Chunk {
    /// How many rows it has.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.last - self.first + 1
    }

    /// Its rows, in the order of their ids.
    pub fn rows(&self, dataset: &Dataset) -> impl Iterator<Item = Row> + use<> {
        // Tables and chunks are few enough that no two share a number.
        let stream = (u64::from(self.table) << 32) | (self.first / ROWS_PER_CHUNK);
        let mut rng = WorkloadRng::new(dataset.seed, stream);
        let values = KeyPicker::new(dataset.keys, 1, dataset.rows);
        let is_04 = dataset.schema.layout == Layout::Sysbench04;
        (self.first..=self.last).map(move |id| {
            if is_04 {
                let [c, pad] = TEXTS_04.map(<[u8]>::to_vec);
                return Row { id, k: 0, c, pad };
            }
            let k = values.pick(&mut rng);
            let [c, pad] = [c_value(&mut rng), pad_value(&mut rng)].map(|text| text.as_bytes().to_vec());
            Row { id, k, c, pad }
        })
    }
}

/// The chunks of a table, in the order of their ids.
pub fn of_table(dataset: &Dataset, table: u32) -> impl Iterator<Item = Chunk> + use<> {
    let rows = dataset.rows;
    (0..rows.div_ceil(ROWS_PER_CHUNK)).map(move |index| {
        let first = index * ROWS_PER_CHUNK + 1;
        Chunk { table, first, last: (first + ROWS_PER_CHUNK - 1).min(rows) }
    })
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
    fn chunks_cover_each_row_once_in_order() {
        for rows in [0, 1, ROWS_PER_CHUNK, 2 * ROWS_PER_CHUNK + 345] {
            let dataset = dataset(2, rows);
            let ids = of_table(&dataset, 2).flat_map(|chunk| chunk.rows(&dataset)).map(|row| row.id);
            assert!(ids.eq(1..=rows), "{rows}");
        }
    }

    #[test]
    fn contents_follow_from_the_place_alone() {
        let dataset = dataset(2, ROWS_PER_CHUNK + 2);
        let tail = |table| -> Vec<Row> {
            of_table(&dataset, table).last().into_iter().flat_map(|chunk| chunk.rows(&dataset)).collect()
        };
        assert_eq!(tail(1), tail(1));
        assert_eq!(tail(1).len(), 2);
        assert_ne!(tail(1)[0].c, tail(2)[0].c);
        assert!(tail(1).iter().all(|row| (1..=dataset.rows).contains(&row.k)));
    }

    #[test]
    fn rows_of_sysbench_04_differ_in_their_id_only() {
        let mut dataset = dataset(1, 3);
        dataset.schema.layout = Layout::Sysbench04;
        let rows: Vec<Row> = of_table(&dataset, 1).flat_map(|chunk| chunk.rows(&dataset)).collect();
        assert_eq!((rows[2].k, rows[2].c.as_slice(), rows[2].pad.len()), (0, b" ".as_slice(), 50));
        assert_eq!(rows[0], Row { id: 1, ..rows[2].clone() });
    }
}

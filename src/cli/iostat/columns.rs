//! The columns of `iostat -x`: their names, widths and digits.

use serde_json::{Map, Value};

use crate::stats::device::DeviceRates;

/// Rates of devices over one interval.
#[derive(Debug, PartialEq)]
pub struct Report {
    /// When it ended, seconds.
    pub at_s: f64,
    /// How long it was, seconds.
    pub elapsed_s: f64,
    /// The devices.
    pub rows: Vec<Row>,
    /// Devices that are no longer there.
    pub gone: Vec<String>,
}

/// One device; its rates are unknown when it was created anew in the interval.
#[derive(Debug, PartialEq)]
pub struct Row {
    pub device: String,
    pub rates: Option<DeviceRates>,
}

/// Name, width, and where the figure comes from.
struct Column(&'static str, usize, fn(&DeviceRates) -> Option<f64>);

/// Least width of the first column.
const DEVICE: usize = 13;

const COLUMNS: [Column; 22] = [
    Column("r/s", 7, |r| Some(r.reads_per_s)),
    Column("rkB/s", 9, |r| Some(r.read_kb_per_s)),
    Column("rrqm/s", 8, |r| Some(r.reads_merged_per_s)),
    Column("%rrqm", 6, |r| Some(r.reads_merged_pct)),
    Column("r_await", 7, |r| Some(r.read_await_ms)),
    Column("rareq-sz", 8, |r| Some(r.read_size_kb)),
    Column("w/s", 7, |r| Some(r.writes_per_s)),
    Column("wkB/s", 9, |r| Some(r.write_kb_per_s)),
    Column("wrqm/s", 8, |r| Some(r.writes_merged_per_s)),
    Column("%wrqm", 6, |r| Some(r.writes_merged_pct)),
    Column("w_await", 7, |r| Some(r.write_await_ms)),
    Column("wareq-sz", 8, |r| Some(r.write_size_kb)),
    Column("d/s", 7, |r| r.discards_per_s),
    Column("dkB/s", 9, |r| r.discard_kb_per_s),
    Column("drqm/s", 8, |r| r.discards_merged_per_s),
    Column("%drqm", 6, |r| r.discards_merged_pct),
    Column("d_await", 7, |r| r.discard_await_ms),
    Column("dareq-sz", 8, |r| r.discard_size_kb),
    Column("f/s", 7, |r| r.flushes_per_s),
    Column("f_await", 7, |r| r.flush_await_ms),
    Column("aqu-sz", 7, |r| Some(r.queue_size)),
    Column("%util", 6, |r| Some(r.util_pct)),
];

impl Report {
    /// As iostat prints it.
    pub fn text(&self) -> String {
        let longest = self.rows.iter().map(|row| row.device.chars().count()).max().unwrap_or(0);
        let width = longest.max(DEVICE);
        let header =
            COLUMNS.iter().map(|Column(name, width, _)| format!(" {name:>width$}")).collect::<String>();
        let mut text = format!("{:<width$}{header}\n", "Device");
        for row in &self.rows {
            text += &format!("{:<width$}", row.device);
            for Column(_, width, figure) in &COLUMNS {
                text += &match row.rates.as_ref().and_then(figure) {
                    Some(figure) => format!(" {figure:>width$.2}"),
                    None => format!(" {:>width$}", "-"),
                };
            }
            text.push('\n');
        }
        text
    }

    /// One JSON object, on a line.
    pub fn json(&self) -> String {
        let devices = self.rows.iter().map(|row| {
            let mut device = Map::new();
            device.insert("device".to_owned(), row.device.clone().into());
            for Column(name, _, figure) in &COLUMNS {
                device.insert((*name).to_owned(), row.rates.as_ref().and_then(figure).into());
            }
            Value::Object(device)
        });
        let devices: Vec<Value> = devices.collect();
        let report =
            serde_json::json!({ "at_s": self.at_s, "elapsed_s": self.elapsed_s, "devices": devices });
        format!("{report}\n")
    }
}

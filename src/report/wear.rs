//! Wear and health of drives, in words and formatted figures.

use super::document::count_or_missing;
use super::grid::Grid;
use super::number::{self, MISSING, or_missing};
use crate::analysis::{Change, DriveWear, Growth, LEAST_UNITS, RunAnalysis};

/// A row for each drive that told something; `None` when none did.
pub(super) fn grid(run: &RunAnalysis) -> Option<Grid> {
    let wear = run.wear.as_ref().filter(|wear| !wear.drives.is_empty())?;
    let several = run.per_instance.len() + run.observers.len() > 1;
    Some(Grid {
        title: "Wear and health, from before the load was connected until it had ended".to_owned(),
        hint: "tx: for each transaction, warm-up included. WA: bytes written to NAND for each byte that hosts wrote. Used: rated life. Errors and Hot: media errors, and time slowed down by heat, that were added.",
        headers: vec![
            "Drive", "Written", "a tx", "NAND", "a tx", "WA", "Read", "Used", "°C", "Errors", "Hot",
        ],
        rows: wear.drives.iter().map(|drive| row(drive, several)).collect(),
        labels: 1,
    })
}

fn row(drive: &DriveWear, several: bool) -> Vec<String> {
    let name = if several { format!("{} {}", drive.host, drive.device) } else { drive.device.clone() };
    let bytes = |value| or_missing(value, number::bytes);
    let added = |change: Change<u64>| count_or_missing(change.growth());
    vec![
        name,
        grown(drive.host_written),
        bytes(drive.host_written_per_transaction),
        grown(drive.nand_written),
        bytes(drive.nand_written_per_transaction),
        or_missing(drive.write_amplification, |ratio| number::decimals(ratio, 2)),
        grown(drive.host_read),
        ends(drive.used_pct, " %"),
        ends(drive.temperature_c, ""),
        added(drive.media_errors),
        drive.throttled_s.growth().map_or_else(|| MISSING.to_owned(), |s| format!("{} s", number::count(s))),
    ]
}

/// Bytes, or what they are below when the drive's unit is too coarse for them.
fn grown(growth: Option<Growth>) -> String {
    let Some(Growth { bytes, unit_bytes, too_coarse }) = growth else { return MISSING.to_owned() };
    let bound = unit_bytes.filter(|_| too_coarse);
    match bound {
        Some(unit) => format!("< {}", number::bytes(unit as f64 * LEAST_UNITS as f64)),
        None => number::bytes(bytes as f64),
    }
}

/// `3 %`, or `3→4 %` when it changed.
fn ends<T: PartialEq + std::fmt::Display>(change: Change<T>, unit: &str) -> String {
    match (change.before, change.after) {
        (Some(before), Some(after)) if before != after => format!("{before}→{after}{unit}"),
        (_, Some(value)) | (Some(value), None) => format!("{value}{unit}"),
        (None, None) => MISSING.to_owned(),
    }
}

/// What must stand beside the table.
pub(super) fn statements(run: &RunAnalysis) -> Vec<String> {
    let Some(wear) = &run.wear else { return Vec::new() };
    let several = run.per_instance.len() + run.observers.len() > 1;
    wear.drives.iter().map(|drive| statement(drive, several)).collect()
}

/// Who told it, of how many transactions, how exact it is, and what the kernel counted.
fn statement(drive: &DriveWear, several: bool) -> String {
    let on = if several { format!(" on {}", drive.host) } else { String::new() };
    let over = drive.seconds.map(|seconds| format!(" over {} s", number::decimals(seconds, 1)));
    let mut text = format!(
        "{}{on}: {} transactions{}, told by {}",
        drive.device,
        number::count(drive.transactions),
        over.unwrap_or_default(),
        drive.source
    );
    let coarse =
        [("written", drive.host_written), ("read", drive.host_read), ("written to NAND", drive.nand_written)];
    for (what, growth) in coarse {
        if let Some(Growth { unit_bytes: Some(unit), too_coarse: true, .. }) = growth {
            text += &format!(
                "; bytes {what} are counted in units of {}, too coarse for so short a run",
                number::bytes(unit as f64)
            );
        }
    }
    if let Some(kernel) = drive.kernel_written_bytes {
        text += &format!("; the kernel wrote {} to it while it sampled", number::bytes(kernel as f64));
    }
    text + "."
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{SilentHost, WearAnalysis};
    use crate::report::{Format, render, sample};

    fn drive() -> DriveWear {
        let growth = |bytes| Some(Growth { bytes, unit_bytes: Some(512_000), too_coarse: false });
        DriveWear {
            host: "local".into(),
            observed: false,
            device: "nvme0n1".into(),
            source: "nvme smart-log, nvme ocp, smartctl 7.3".into(),
            seconds: Some(72.5),
            transactions: 100_000,
            host_written: growth(3_000_000_000),
            host_read: growth(9_000_000_000),
            nand_written: Some(Growth { bytes: 4_500_000_000, unit_bytes: Some(1), too_coarse: false }),
            kernel_written_bytes: Some(2_990_000_000),
            host_written_per_transaction: Some(30_000.0),
            nand_written_per_transaction: Some(45_000.0),
            write_amplification: Some(1.5),
            used_pct: Change { before: Some(3), after: Some(3) },
            spare_pct: Change { before: Some(99), after: Some(99) },
            temperature_c: Change { before: Some(37), after: Some(52) },
            media_errors: Change { before: Some(1), after: Some(1) },
            throttled_s: Change { before: Some(60), after: Some(180) },
            failing: Some(false),
        }
    }

    /// A SATA drive that counts coarsely and knows nothing of heat.
    fn coarse() -> DriveWear {
        let too_coarse = |unit| Some(Growth { bytes: unit, unit_bytes: Some(unit), too_coarse: true });
        DriveWear {
            device: "sda".into(),
            source: "smartctl 7.3".into(),
            host_written: too_coarse(32 << 20),
            host_read: None,
            nand_written: too_coarse(1 << 30),
            kernel_written_bytes: None,
            host_written_per_transaction: None,
            nand_written_per_transaction: None,
            write_amplification: None,
            used_pct: Change { before: Some(3), after: Some(4) },
            temperature_c: Change::default(),
            throttled_s: Change::default(),
            ..drive()
        }
    }

    fn worn(drives: Vec<DriveWear>) -> crate::analysis::ResultAnalysis {
        let mut result = sample::complete();
        let silent = SilentHost {
            host: "local".into(),
            observed: false,
            device: "vda".into(),
            reason: "a virtual disk".into(),
        };
        result.runs[0].wear = Some(WearAnalysis { drives, silent: vec![silent], heat: Vec::new() });
        result
    }

    #[test]
    fn golden_section() {
        let text = render(Format::Table, &[worn(vec![drive(), coarse()])]).unwrap();
        let begin = text.find("Wear and health").unwrap();
        let end = begin + text[begin..].find("\n\n").unwrap();
        insta::assert_snapshot!(&text[begin..end]);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }

    #[test]
    fn every_format_tells_of_drives_and_none_of_silence() {
        let (told, silent) = ([worn(vec![drive()])], [worn(Vec::new())]);
        for format in [Format::Table, Format::Html] {
            assert!(render(format, &told).unwrap().contains("Wear and health"), "{format}");
            assert!(!render(format, &silent).unwrap().contains("Wear and health"), "{format}");
        }
        let json: serde_json::Value = serde_json::from_str(&render(Format::Json, &told).unwrap()).unwrap();
        let wear = &json["results"][0]["runs"][0]["wear"];
        assert_eq!(wear["drives"][0]["write_amplification"], 1.5);
        assert_eq!(wear["silent"][0]["reason"], "a virtual disk");
    }

    #[test]
    fn drives_of_several_hosts_name_their_own() {
        let mut run = sample::fleet::sweep(&[2], 60).runs.remove(0);
        run.wear = worn(vec![DriveWear { host: "vm2".into(), ..drive() }]).runs.remove(0).wear;
        assert_eq!(grid(&run).unwrap().rows[0][0], "vm2 nvme0n1");
        assert!(statements(&run)[0].starts_with("nvme0n1 on vm2: 100,000 transactions over 72.5 s"));
    }
}

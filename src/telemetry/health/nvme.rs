//! What nvme-cli prints as JSON: the log page of every NVMe drive, and those that also tell of its NAND.

use serde_json::Value;

use super::number::{bytes, celsius_of_kelvins, count, percent};
use crate::protocol::sample::DriveHealth;

/// NVMe counts thousands of 512 bytes, whatever its blocks are.
pub const DATA_UNIT_BYTES: u64 = 512_000;
/// Intel's counters are of 32 MiB.
const INTEL_UNIT_BYTES: u64 = 32 << 20;
/// The warning that it is too hot, which is no sign of failing.
const TOO_HOT: u64 = 0b10;

/// `nvme smart-log -o json`, of nvme-cli 1 and 2. `None` when it is something else.
#[must_use]
pub fn smart_log(text: &[u8]) -> Option<DriveHealth> {
    let log: Value = serde_json::from_slice(text).ok()?;
    // Every drive counts these.
    log.get("data_units_written")?;
    let warning = match &log["critical_warning"] {
        // With the meaning of its bits beside it.
        Value::Object(told) => told.get("value").and_then(count),
        told => count(told),
    };
    Some(DriveHealth {
        host_written_bytes: bytes(&log["data_units_written"], DATA_UNIT_BYTES),
        host_read_bytes: bytes(&log["data_units_read"], DATA_UNIT_BYTES),
        host_unit_bytes: Some(DATA_UNIT_BYTES),
        used_pct: percent(&log["percent_used"]),
        spare_pct: percent(&log["avail_spare"]),
        temperature_c: celsius_of_kelvins(&log["temperature"]),
        media_errors: count(&log["media_errors"]),
        throttled_s: throttled_s(&log),
        power_on_hours: count(&log["power_on_hours"]),
        failing: warning.map(|bits| bits & !TOO_HOT != 0),
        ..DriveHealth::default()
    })
}

/// Time for which heat held an NVMe drive back, seconds: in the two steps that hosts may ask for, which are
/// counted in seconds, and beyond its own limits, which is counted in minutes. `None` when none of it is told.
pub fn throttled_s(log: &Value) -> Option<u64> {
    let times = [
        ("thm_temp1_total_time", 1),
        ("thm_temp2_total_time", 1),
        ("warning_temp_time", 60),
        ("critical_comp_time", 60),
    ];
    let told = times.iter().filter_map(|(key, seconds)| count(log.get(key)?)?.checked_mul(*seconds));
    told.reduce(u64::saturating_add)
}

/// `nvme ocp smart-add-log -o json`: of a drive after the Open Compute Project's specification, the bytes
/// written to its NAND. Newer versions of nvme-cli write the key as one word.
#[must_use]
pub fn ocp_log(text: &[u8]) -> Option<DriveHealth> {
    let log: Value = serde_json::from_slice(text).ok()?;
    let written =
        log.get("Physical media units written").or_else(|| log.get("physical_media_units_written"))?;
    // Beyond 2⁶⁴ bytes the drive would have written sixteen exbibytes.
    let is_small = count(written.get("hi")?) == Some(0);
    let bytes = count(written.get("lo")?).filter(|_| is_small)?;
    Some(DriveHealth { nand_written_bytes: Some(bytes), nand_unit_bytes: Some(1), ..DriveHealth::default() })
}

/// `nvme intel smart-log-add --json`: the same of Intel's and Solidigm's drives.
#[must_use]
pub fn intel_log(text: &[u8]) -> Option<DriveHealth> {
    let log: Value = serde_json::from_slice(text).ok()?;
    let statistics = log.get("Device stats").unwrap_or(&log);
    let written = bytes(statistics.get("nand_bytes_written")?.get("raw")?, INTEL_UNIT_BYTES)?;
    Some(DriveHealth {
        nand_written_bytes: Some(written),
        nand_unit_bytes: Some(INTEL_UNIT_BYTES),
        ..DriveHealth::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! fixture {
        ($name:literal) => {
            include_bytes!(concat!("../../../tests/fixtures/nvme/", $name, ".json"))
        };
    }

    #[test]
    fn the_log_of_version_1() {
        assert_eq!(
            smart_log(fixture!("smart-log-1")),
            Some(DriveHealth {
                host_written_bytes: Some(8_437_019 * 512_000),
                host_read_bytes: Some(9_486_678 * 512_000),
                host_unit_bytes: Some(512_000),
                used_pct: Some(1),
                spare_pct: Some(100),
                temperature_c: Some(37),
                media_errors: Some(0),
                throttled_s: Some(85),
                power_on_hours: Some(393),
                failing: Some(false),
                ..DriveHealth::default()
            })
        );
    }

    /// Counters of 128 bits in quotes, and the bits of the warning in words.
    #[test]
    fn the_log_of_version_2() {
        assert_eq!(
            smart_log(fixture!("smart-log-2")),
            Some(DriveHealth {
                host_written_bytes: Some(123_456_789 * 512_000),
                host_read_bytes: None,
                host_unit_bytes: Some(512_000),
                used_pct: Some(104),
                spare_pct: Some(80),
                temperature_c: Some(52),
                media_errors: Some(7),
                throttled_s: Some(0),
                power_on_hours: Some(40_000),
                failing: Some(true),
                ..DriveHealth::default()
            })
        );
    }

    #[test]
    fn being_hot_is_not_failing() {
        let text = String::from_utf8(fixture!("smart-log-1").to_vec()).unwrap();
        let with = |bits: &str| {
            let changed = text.replace("\"critical_warning\" : 0", &format!("\"critical_warning\" : {bits}"));
            smart_log(changed.as_bytes()).unwrap().failing
        };
        assert_eq!((with("2"), with("3"), with("8")), (Some(false), Some(true), Some(true)));
        assert_eq!((with("-1"), with("[]")), (None, None));
    }

    #[test]
    fn bytes_written_to_nand() {
        let of = |health: Option<DriveHealth>| health.map(|h| (h.nand_written_bytes, h.nand_unit_bytes));
        assert_eq!(of(ocp_log(fixture!("ocp"))), Some((Some(5_000_000_000_000), Some(1))));
        assert_eq!(of(intel_log(fixture!("intel"))), Some((Some(120_000 << 25), Some(1 << 25))));
        let newer = br#"{"physical_media_units_written":{"hi":0,"lo":7}}"#;
        assert_eq!(of(ocp_log(newer)), Some((Some(7), Some(1))));
        for other in
            ["{}", "[", r#"{"physical_media_units_written":{"hi":1,"lo":7}}"#, r#"{"nand_bytes_written":1}"#]
        {
            assert_eq!((ocp_log(other.as_bytes()), intel_log(other.as_bytes())), (None, None), "{other}");
        }
    }

    #[test]
    fn what_is_no_log_is_nothing() {
        for text in ["", "7", "[]", "{}", "/dev/vda: Operation not permitted"] {
            assert_eq!(smart_log(text.as_bytes()), None, "{text}");
        }
    }
}

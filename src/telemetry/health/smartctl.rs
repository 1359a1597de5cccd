//! What `smartctl --json` of smartmontools 7 prints, for NVMe, ATA and SCSI.

use serde_json::Value;

use super::number::{bytes, celsius, count, percent};
use super::nvme::{DATA_UNIT_BYTES, throttled_s};
use crate::protocol::sample::DriveHealth;

/// Sectors, where smartctl does not tell their size.
const SECTOR_BYTES: u64 = 512;
/// SCSI tells thousandths of 10⁹ bytes.
const SCSI_UNIT_BYTES: u64 = 1_000_000;

/// A drive as smartctl tells it.
///
/// # Errors
/// With what smartctl said instead, when it told nothing of a drive.
pub fn parse(text: &[u8]) -> Result<DriveHealth, String> {
    let told: Value = serde_json::from_slice(text).map_err(|_| "smartctl printed no JSON".to_owned())?;
    let own = match &told["device"]["protocol"] {
        Value::String(protocol) if protocol == "NVMe" => of_nvme(&told["nvme_smart_health_information_log"]),
        Value::String(protocol) if protocol == "ATA" => of_ata(&told),
        Value::String(protocol) if protocol == "SCSI" => of_scsi(&told),
        _ => DriveHealth::default(),
    };
    let health = DriveHealth {
        // What smartctl itself makes of all protocols comes last: the drive's own words are more exact.
        used_pct: own.used_pct.or_else(|| percent(&told["endurance_used"]["current_percent"])),
        spare_pct: own.spare_pct.or_else(|| percent(&told["spare_available"]["current_percent"])),
        temperature_c: celsius(&told["temperature"]["current"]),
        power_on_hours: count(&told["power_on_time"]["hours"]),
        failing: told["smart_status"]["passed"].as_bool().map(|passed| !passed),
        ..own
    };
    if health == DriveHealth::default() {
        return Err(refusal(&told));
    }
    Ok(DriveHealth { source: source(&told), ..health })
}

/// `smartctl 7.3`.
fn source(told: &Value) -> String {
    let version = &told["smartctl"]["version"];
    match count(&version[0]).zip(count(&version[1])) {
        Some((major, minor)) => format!("smartctl {major}.{minor}"),
        None => "smartctl".to_owned(),
    }
}

/// Why there is nothing, in smartctl's words if it has any.
fn refusal(told: &Value) -> String {
    if let Some(message) = told["smartctl"]["messages"][0]["string"].as_str() {
        return format!("smartctl: {}", message.trim());
    }
    match count(&told["smartctl"]["exit_status"]) {
        Some(2) => "smartctl could not open it, or it sleeps".to_owned(),
        _ => "smartctl told nothing of it".to_owned(),
    }
}

fn of_nvme(log: &Value) -> DriveHealth {
    DriveHealth {
        host_written_bytes: bytes(&log["data_units_written"], DATA_UNIT_BYTES),
        host_read_bytes: bytes(&log["data_units_read"], DATA_UNIT_BYTES),
        host_unit_bytes: log.get("data_units_written").map(|_| DATA_UNIT_BYTES),
        used_pct: percent(&log["percentage_used"]),
        spare_pct: percent(&log["available_spare"]),
        media_errors: count(&log["media_errors"]),
        throttled_s: throttled_s(log),
        ..DriveHealth::default()
    }
}

/// Bytes by name of a vendor's attribute, whose raw value counts the unit that the name ends with.
struct ByteAttribute {
    names: &'static [&'static str],
    unit_bytes: Option<u64>,
}

const HOST_WRITES: [ByteAttribute; 5] = [
    ByteAttribute {
        names: &["Total_LBAs_Written", "Host_Sector_Writes", "Total_Host_Sector_Write"],
        unit_bytes: None,
    },
    ByteAttribute { names: &["Host_Writes_32MiB", "Total_Writes_32MiB"], unit_bytes: Some(32 << 20) },
    ByteAttribute { names: &["Host_Writes_MiB"], unit_bytes: Some(1 << 20) },
    ByteAttribute {
        names: &["Host_Writes_GiB", "Lifetime_Writes_GiB", "Total_Writes_GiB", "Host_Written_GiB"],
        unit_bytes: Some(1 << 30),
    },
    ByteAttribute { names: &["Total_Writes_GB", "Host_Writes_GB"], unit_bytes: Some(1_000_000_000) },
];
const HOST_READS: [ByteAttribute; 5] = [
    ByteAttribute {
        names: &["Total_LBAs_Read", "Host_Sector_Reads", "Total_Host_Sector_Read"],
        unit_bytes: None,
    },
    ByteAttribute { names: &["Host_Reads_32MiB", "Total_Reads_32MiB"], unit_bytes: Some(32 << 20) },
    ByteAttribute { names: &["Host_Reads_MiB"], unit_bytes: Some(1 << 20) },
    ByteAttribute {
        names: &["Host_Reads_GiB", "Lifetime_Reads_GiB", "Total_Reads_GiB", "Host_Read_GiB"],
        unit_bytes: Some(1 << 30),
    },
    ByteAttribute { names: &["Total_Reads_GB", "Host_Reads_GB"], unit_bytes: Some(1_000_000_000) },
];
const NAND_WRITES: [ByteAttribute; 4] = [
    ByteAttribute { names: &["Total_NAND_Writes", "NAND_Sectors_Written"], unit_bytes: None },
    ByteAttribute { names: &["NAND_Writes_32MiB", "TLC_Writes_32MiB"], unit_bytes: Some(32 << 20) },
    ByteAttribute {
        names: &["NAND_Writes_1GiB", "NAND_Writes_GiB", "Total_NAND_Writes_GiB", "Flash_Writes_GiB"],
        unit_bytes: Some(1 << 30),
    },
    ByteAttribute { names: &["Total_NAND_Writes_GB", "NAND_GB_Written"], unit_bytes: Some(1_000_000_000) },
];
/// Attributes whose normalised value is the rated life left, percent, by number and name: what others count
/// under the same name may go the other way.
const LIFE_LEFT: [(u64, &str); 6] = [
    (233, "Media_Wearout_Indicator"),
    (231, "SSD_Life_Left"),
    (202, "Percent_Lifetime_Remain"),
    (202, "Percent_Lifetime_Remaining"),
    (169, "Remaining_Lifetime_Perc"),
    (177, "Wear_Leveling_Count"),
];
const UNCORRECTABLE: [&str; 3] = ["Reported_Uncorrect", "Uncorrectable_Error_Cnt", "Offline_Uncorrectable"];

/// Standard statistics before vendors' attributes, whose names are guesses of smartctl's database.
fn of_ata(told: &Value) -> DriveHealth {
    let sector = count(&told["logical_block_size"]).filter(|bytes| *bytes > 0).unwrap_or(SECTOR_BYTES);
    let standard = |name: &str| bytes(statistic(told, name)?, sector);
    let by_standard = (standard("Logical Sectors Written"), standard("Logical Sectors Read"));
    let (host_written_bytes, host_read_bytes, host_unit_bytes) = match by_standard {
        (None, None) => {
            let written = attribute_bytes(told, &HOST_WRITES, sector);
            let read = attribute_bytes(told, &HOST_READS, sector);
            let unit = written.or(read).map(|(_, unit)| unit);
            (written.map(|(bytes, _)| bytes), read.map(|(bytes, _)| bytes), unit)
        }
        (written, read) => (written, read, Some(sector)),
    };
    let nand = attribute_bytes(told, &NAND_WRITES, sector);
    let errors = || UNCORRECTABLE.iter().find_map(|name| count(&attribute(told, name)?["raw"]["value"]));
    DriveHealth {
        host_written_bytes,
        host_read_bytes,
        host_unit_bytes,
        nand_written_bytes: nand.map(|(bytes, _)| bytes),
        nand_unit_bytes: nand.map(|(_, unit)| unit),
        used_pct: statistic(told, "Percentage Used Endurance Indicator")
            .and_then(percent)
            .or_else(|| used(told)),
        media_errors: statistic(told, "Number of Reported Uncorrectable Errors")
            .and_then(count)
            .or_else(errors),
        ..DriveHealth::default()
    }
}

/// A value of the device statistics, when the drive says that it is valid.
fn statistic<'a>(told: &'a Value, name: &str) -> Option<&'a Value> {
    let pages = told["ata_device_statistics"]["pages"].as_array()?;
    let mut entries = pages.iter().filter_map(|page| page["table"].as_array()).flatten();
    let entry = entries.find(|entry| entry["name"] == name)?;
    (entry["flags"]["valid"] != Value::Bool(false)).then(|| &entry["value"])
}

fn attributes(told: &Value) -> impl Iterator<Item = &Value> {
    told["ata_smart_attributes"]["table"].as_array().into_iter().flatten()
}

fn attribute<'a>(told: &'a Value, name: &str) -> Option<&'a Value> {
    attributes(told).find(|attribute| attribute["name"] == name)
}

/// Bytes by the first of these attributes that the drive has, and their unit.
fn attribute_bytes(told: &Value, by: &[ByteAttribute], sector: u64) -> Option<(u64, u64)> {
    by.iter().find_map(|own| {
        let unit = own.unit_bytes.unwrap_or(sector);
        let found = own.names.iter().find_map(|name| attribute(told, name))?;
        Some((bytes(&found["raw"]["value"], unit)?, unit))
    })
}

/// Rated life used, from what a vendor's attribute says is left.
fn used(told: &Value) -> Option<u32> {
    LIFE_LEFT.iter().find_map(|(id, name)| {
        let found = attribute(told, name).filter(|found| count(&found["id"]) == Some(*id))?;
        100_u32.checked_sub(percent(&found["value"])?)
    })
}

fn of_scsi(told: &Value) -> DriveHealth {
    let log = &told["scsi_error_counter_log"];
    let (written, read) = (&log["write"]["gigabytes_processed"], &log["read"]["gigabytes_processed"]);
    let (host_written_bytes, host_read_bytes) = (gigabytes(written), gigabytes(read));
    let errors = ["read", "write", "verify"].iter();
    let errors = errors.filter_map(|what| count(&log[*what]["total_uncorrected_errors"]));
    DriveHealth {
        host_written_bytes,
        host_read_bytes,
        host_unit_bytes: host_written_bytes.or(host_read_bytes).map(|_| SCSI_UNIT_BYTES),
        used_pct: percent(&told["scsi_percentage_used_endurance_indicator"]),
        media_errors: errors.reduce(u64::saturating_add),
        ..DriveHealth::default()
    }
}

/// Bytes of gigabytes with up to three decimals, written as text or as a number.
fn gigabytes(value: &Value) -> Option<u64> {
    let gigabytes = match value {
        Value::String(text) => text.trim().parse::<f64>().ok()?,
        number => number.as_f64()?,
    };
    let units = (gigabytes * 1e3).round();
    // Beyond 2⁵³ neighbouring numbers are one.
    (0.0..9e15).contains(&units).then(|| (units as u64).checked_mul(SCSI_UNIT_BYTES))?
}

#[cfg(test)]
mod tests;

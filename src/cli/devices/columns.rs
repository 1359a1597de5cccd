//! Text in columns, with the branches of a tree before the first.

use crate::protocol::facts::{DeviceFacts, DeviceKind};

/// Lines with their cells aligned; columns named in `right` to the right.
pub fn align(rows: &[Vec<String>], right: &[usize]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            if right.contains(&column) { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// What a device is: the words of its layer, or who made it and how it is attached.
pub fn what(device: &DeviceFacts) -> String {
    if let Some(detail) = &device.detail {
        return detail.clone();
    }
    if device.kind != DeviceKind::Disk {
        return String::new();
    }
    let mut parts: Vec<String> = [&device.vendor, &device.model].into_iter().flatten().cloned().collect();
    parts.extend(device.transport.as_ref().map(|transport| format!("[{transport}]")));
    parts.extend(device.serial.as_ref().map(|serial| format!("serial {serial}")));
    if device.pcie.as_ref().is_some_and(|link| link.is_below_maximum()) {
        parts.push("PCIe link below its maximum".to_owned());
    }
    parts.join(" ")
}

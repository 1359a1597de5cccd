//! The devices of a run: the headline device, and what lies below it.

use super::document::device_columns;
use super::grid::Grid;
use super::number::{self, MISSING, or_missing};
use crate::analysis::{LayerAnalysis, RunAnalysis, StackAnalysis};
use crate::protocol::facts::DeviceKind;

/// Devices below those of several instances that a report lists.
const MOST_LISTED: usize = 32;
/// Columns that stand with the anatomy, where there is room.
pub(super) const SIZES: [&str; 2] = ["rareq-sz", "wareq-sz"];

/// The stack of the only instance, if there is anything below its device.
fn only_stack(run: &RunAnalysis) -> Option<&StackAnalysis> {
    match run.per_instance.as_slice() {
        [own] if !run.is_fleet() && own.stack.layers.len() > 1 => Some(&own.stack),
        _ => None,
    }
}

/// A row for each device of the only instance's stack, with what is said below it; `None` when nothing lies below its
/// device.
pub(super) fn stack_grid(run: &RunAnalysis) -> Option<Grid> {
    let stack = only_stack(run)?;
    let known = stack.layers.iter().find_map(|layer| layer.rates.as_ref())?;
    let mut headers = vec!["Device"];
    headers.extend(device_columns(known).into_iter().map(|(column, _)| column).filter(shown));
    let figures = headers.len() - 1;
    let row = |layer: &LayerAnalysis| {
        let mut row = vec![format!("{}{}", "· ".repeat(layer.depth.min(8)), layer.name)];
        match &layer.rates {
            Some(rates) => {
                let columns = device_columns(rates).into_iter().filter(|(column, _)| shown(column));
                row.extend(columns.map(|(_, figure)| figure));
            }
            None => row.extend(std::iter::repeat_n(MISSING.to_owned(), figures)),
        }
        row
    };
    Some(Grid {
        title: "Devices".to_owned(),
        hint: "iostat's columns: await in ms. The first is the device under test; what lies below it also carries the I/O of others that share it. %util says nothing about how much more a device that works in parallel could do.",
        rows: stack.layers.iter().map(row).collect(),
        headers,
        labels: 1,
    })
}

fn shown(column: &&str) -> bool {
    !SIZES.contains(column)
}

/// What the devices of the only instance are, and how bytes multiply on their way down.
pub(super) fn stack_text(run: &RunAnalysis) -> Option<String> {
    let stack = only_stack(run)?;
    let deepest = stack.layers.iter().map(|layer| layer.depth).max()?;
    let level = |depth: usize| {
        let level = stack.layers.iter().filter(|layer| layer.depth == depth);
        level.map(described).collect::<Vec<_>>().join(" and ")
    };
    let levels: Vec<String> = (0..=deepest).map(level).filter(|level| !level.is_empty()).collect();
    let headline = stack.layers.first().map_or("", |layer| layer.name.as_str());
    let leaves = stack.below().iter().filter(|layer| layer.is_leaf == Some(true));
    let each: Vec<String> = leaves
        .map(|leaf| {
            let (read, written) = (times(leaf.read_multiplication), times(leaf.write_multiplication));
            format!("{} read {read} and wrote {written}", leaf.name)
        })
        .collect();
    let mut text = format!("{}.", levels.join(", on "));
    if !each.is_empty() {
        text += &format!(" For each byte of {headline}, {}", each.join(", "));
        if each.len() > 1 {
            let all = [stack.read_multiplication, stack.write_multiplication];
            text += &match all {
                [None, None] => "; how much all of them did is not known".to_owned(),
                [read, written] => format!(", in all {} and {}", times(read), times(written)),
            };
        }
        text += ".";
    }
    Some(text)
}

fn times(multiplication: Option<f64>) -> String {
    or_missing(multiplication, |times| number::decimals(times, 2))
}

fn described(layer: &LayerAnalysis) -> String {
    let kind = layer.kind.map(DeviceKind::name);
    let detail = layer.detail.as_deref();
    let words: Vec<&str> = kind.into_iter().chain(detail).collect();
    if words.is_empty() { layer.name.clone() } else { format!("{} ({})", layer.name, words.join(", ")) }
}

/// Devices that were no longer there at the end.
pub(super) fn vanished(run: &RunAnalysis) -> Option<String> {
    let mut names = Vec::new();
    for own in &run.per_instance {
        let of = if run.is_fleet() { format!("{}: ", own.host) } else { String::new() };
        let gone = own.stack.layers.iter().filter(|layer| layer.vanished);
        names.extend(gone.map(|layer| format!("{of}{}", layer.name)));
    }
    (!names.is_empty()).then(|| format!("Vanished within the run: {}.", names.join(", ")))
}

/// A row for each device below those of several instances and of observers; `None` when there is none.
pub(super) fn below_grid(run: &RunAnalysis) -> Option<Grid> {
    let instances = run.per_instance.iter().filter(|_| run.is_fleet()).map(|own| (&own.host, &own.stack));
    let observers = run.observers.iter().map(|own| (&own.host, &own.stack));
    let rows: Vec<(&String, &LayerAnalysis)> = instances
        .chain(observers)
        .flat_map(|(host, stack)| stack.below().iter().map(move |layer| (host, layer)))
        .collect();
    let all = rows.len();
    if all == 0 {
        return None;
    }
    let rows = rows.into_iter();
    let rows = rows.take(MOST_LISTED).map(|(host, layer)| {
        let rate = |value: fn(&crate::stats::device::DeviceRates) -> f64, places| {
            or_missing(layer.rates.as_ref().map(value), |value| number::decimals(value, places))
        };
        vec![
            host.clone(),
            format!("{}{}", "· ".repeat(layer.depth.min(8)), layer.name),
            rate(|d| d.reads_per_s, 1),
            rate(|d| d.read_await_ms, 2),
            rate(|d| d.writes_per_s, 1),
            rate(|d| d.write_await_ms, 2),
            rate(|d| d.util_pct, 1),
            times(layer.read_multiplication),
            times(layer.write_multiplication),
        ]
    });
    let left_out = all.saturating_sub(MOST_LISTED);
    let more = if left_out > 0 { format!(", the first of {all}") } else { String::new() };
    Some(Grid {
        title: format!("Devices below those of instances and observers{more}"),
        hint: "Read × and write ×: bytes for each byte at the host's headline device. What lies below it also carries the I/O of others that share it.",
        headers: vec!["Host", "Device", "r/s", "r_await", "w/s", "w_await", "%util", "Read ×", "Write ×"],
        rows: rows.collect(),
        labels: 2,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn the_devices_of_a_large_fleet_do_not_flood_the_report() {
        let mut run = sample::fleet::sweep(&[16], 3).runs.remove(0);
        assert_eq!(below_grid(&run), None, "nothing lies below");
        run.per_instance.iter_mut().for_each(|own| own.stack = sample::machine::stack());
        run.observers[0].stack = sample::machine::stack();
        run.observers[0].stack.layers.truncate(2);
        let grid = below_grid(&run).unwrap();
        assert_eq!(
            (grid.rows.len(), grid.title.as_str()),
            (32, "Devices below those of instances and observers, the first of 65")
        );
        assert_eq!(grid.rows[2][..3], ["vm1", "· · nvme0n1", "4,133.8"]);
        assert_eq!(grid.rows[3][1..], ["· · sdb", "–", "–", "–", "–", "–", "–", "–"]);
        assert!(vanished(&run).unwrap().starts_with("Vanished within the run: vm1: sdb, vm2: sdb"));
        assert_eq!((stack_grid(&run), stack_text(&run)), (None, None), "of one instance alone");
    }

    #[test]
    fn one_leaf_is_told_without_a_sum() {
        let mut run = sample::run(3);
        let stack = &mut run.per_instance[0].stack;
        *stack = sample::machine::stack();
        stack.layers.truncate(2);
        stack.layers[1].is_leaf = Some(true);
        let text = stack_text(&run).unwrap();
        assert_eq!(
            text,
            "md127 (RAID, raid1), on nvme0n1p1 (partition). For each byte of md127, nvme0n1p1 read 0.50 and wrote 1.00."
        );
    }
}

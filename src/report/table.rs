//! The report as text, for terminals and mails: plain characters, and words where a screen has colours.

use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentArrangement, ContentLineStyle, LineStyle, Table,
    TableStyle, Width,
};

use super::devices;
use super::document::{self, HeadlineRow};
use super::fleet;
use super::grid::Grid;
use super::imported;
use super::load;
use super::machine;
use super::number::{self, or_missing};
use super::visible::visible;
use super::wear;
use crate::analysis::{Figures, ImportedRun, IoAnatomy, Outcome, ResultAnalysis, RunAnalysis, Source};
use crate::stats::device::DeviceRates;

/// Columns of a line, as long as the figures fit.
const WIDTH: u16 = 100;
/// A header, a rule, and no borders.
const RULED: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none())
    .header_separator(LineStyle::none().fill('-').junction('-'))
    .content_lines(ContentLineStyle::none());
/// Aligned text.
const BARE: TableStyle = TableStyle::new().content_lines(ContentLineStyle::none());

/// Writes results, in the order given.
pub(super) fn render(results: &[ResultAnalysis]) -> String {
    let mut blocks: Vec<String> =
        vec![results.iter().map(|result| title(result, results.len())).collect(), headline(results)];
    let several = results.iter().map(|result| result.runs.len()).sum::<usize>() > 1;
    for result in results {
        let on = match results.len() {
            1 => String::new(),
            _ => format!(" on {}", document::device_label(result)),
        };
        blocks.extend(load::ramp(result).map(|verdict| wrapped(&format!("Ramp{on}: {verdict}"))));
        for mut grid in fleet::scaling(result).into_iter().chain(load::settled(result)) {
            grid.title += &on;
            blocks.push(grid_text(&grid));
        }
        for run in &result.runs {
            blocks.push(details(result, run, several));
        }
        if !result.notes.is_empty() {
            blocks.push(listed(
                &format!("Notes{on}"),
                result.notes.iter().map(|note| vec!["-".to_owned(), note.clone()]),
            ));
        }
    }
    visible(&blocks.join("\n"))
}

/// Outcome first unless it is the usual one. Of several results, the folder tells which is which.
fn title(result: &ResultAnalysis, results: usize) -> String {
    let folder = if results > 1 { format!(", in {}", result.path) } else { String::new() };
    let what = match &result.source {
        Source::Imported(source) => imported::about(source),
        Source::Measured(plan) => {
            let overrides = plan.profile.overrides.iter().map(|o| format!(" {}={}", o.key, o.value));
            let overrides = overrides.collect::<String>();
            let with = if overrides.is_empty() { "" } else { " with" };
            let started = result.started.as_deref().unwrap_or("at an unknown time");
            let (hardware, profile) = (&plan.hardware.name, &plan.profile.name);
            format!("{hardware}, profile {profile}{with}{overrides}, started {started}")
        }
    };
    let what = format!("{what}{folder}");
    let word = document::outcome_word(result.outcome);
    let text = if result.outcome == Outcome::Complete {
        format!("{what}: {word}")
    } else {
        format!("{word}: {what}: {}", document::reason(result.reason.as_ref()))
    };
    wrapped(&text)
}

fn headline(results: &[ResultAnalysis]) -> String {
    let rows = document::headline(results);
    let open = rows.iter().any(|row| !row.rate.is_empty());
    let label = if document::workloads_differ(results) { "Device, workload" } else { "Device" };
    let mut headers =
        vec![label, "Inst", "Threads", "TPS", "Avg ms", "p95 ms", "p99 ms", "Peak ms", "Errors", "Outcome"];
    if open {
        // In place of one that is in the other formats: both do not fit.
        headers.retain(|header| *header != "p95 ms");
        headers.insert(3, "Rate");
    }
    let mut table = ruled(&headers);
    for row in rows {
        let HeadlineRow {
            device,
            instances,
            threads,
            rate,
            tps,
            avg_ms,
            p95_ms,
            p99_ms,
            peak_ms,
            errors,
            outcome,
            ..
        } = row;
        let mut cells =
            vec![device, instances, threads, tps, avg_ms, p95_ms, p99_ms, peak_ms, errors, outcome];
        if open {
            cells.remove(5);
            cells.insert(3, rate);
        }
        table.add_row(cells);
    }
    lay_out(&mut table, 1..headers.len() - 1, if open { 12 } else { 16 });
    text(&table)
}

fn details(result: &ResultAnalysis, run: &RunAnalysis, several: bool) -> String {
    let mut out = String::new();
    if several {
        let label = document::device_label(result);
        out += &wrapped(&format!("== {label}, {}", load::label(run)));
    }
    if run.outcome != Outcome::Complete {
        let (word, reason) = (document::outcome_word(run.outcome), document::reason(run.reason.as_ref()));
        out += &wrapped(&format!("{word}: {reason}"));
    }
    out += &wrapped(&document::volume(run));
    let one = load::one_statement(run).map(str::to_owned);
    let of_load = [load::counts_text(run), one, load::open_loop(run), load::fairness(run)];
    of_load.into_iter().flatten().for_each(|text| out += &wrapped(&text));
    out += &document::errors_by_code(run)
        .map(|codes| wrapped(&format!("SQL errors: {codes}")))
        .unwrap_or_default();
    out += &document::in_flight(run).map(|text| wrapped(&text)).unwrap_or_default();
    for statement in fleet::statements(run) {
        out += &wrapped(&statement);
    }
    if let Some(imported) = &run.imported {
        return out + &told(run, imported);
    }
    out.push('\n');
    if run.figures.is_some() {
        out += &device(run);
    }
    out += &devices::vanished(run).map(|text| wrapped(&text)).unwrap_or_default();
    if run.figures.is_some() {
        out.push('\n');
    }
    for grid in load::longest_statements(run).into_iter().chain(fleet::grids(run)) {
        out += &grid_text(&grid);
        out.push('\n');
    }
    if run.figures.is_some() {
        out += &anatomy(run);
        out.push('\n');
    }
    let host = machine::rows(run);
    if !host.is_empty() {
        out += &listed("Host", host.into_iter().map(|(label, text)| vec![label.to_owned(), text]));
        out.push('\n');
    }
    if let Some(grid) = wear::grid(run) {
        out += &grid_text(&grid);
        wear::statements(run).iter().for_each(|statement| out += &wrapped(statement));
        out.push('\n');
    }
    let findings = run.findings.iter().map(|finding| {
        vec![document::mark(finding.holds).to_owned(), format!("{}: {}", finding.title, finding.text)]
    });
    out += &listed("Findings (yes: holds, NO: does not hold, ?: unknown)", findings);
    out
}

/// What a log tells beside its figures.
fn told(run: &RunAnalysis, imported: &ImportedRun) -> String {
    let mut said = imported::remarks(run, imported);
    said.push(format!("Log: {}", imported::facts(imported)));
    said.push(format!("Findings: {}", imported::FINDINGS));
    said.iter().map(|paragraph| wrapped(paragraph)).collect()
}

fn device(run: &RunAnalysis) -> String {
    if let Some(grid) = devices::stack_grid(run) {
        let mut table = ruled(&grid.headers);
        table.add_rows(&grid.rows);
        lay_out(&mut table, 1..grid.headers.len(), 10);
        let said = devices::stack_text(run).map(|said| wrapped(&said)).unwrap_or_default();
        return text(&table) + &said;
    }
    let name = run.device_name.clone().unwrap_or_else(|| "unknown".to_owned());
    let name_width = u16::try_from(name.chars().count()).unwrap_or(u16::MAX).min(40);
    let Some(rates) = run.figures.as_ref().and_then(|figures| figures.device.as_ref()) else {
        return format!("Device {name}: not sampled\n");
    };
    let columns = document::device_columns(rates).into_iter();
    let columns = columns.filter(|(column, _)| !devices::SIZES.contains(column));
    let (headers, figures): (Vec<&str>, Vec<String>) = [("Device", name)].into_iter().chain(columns).unzip();
    let mut table = ruled(&headers);
    table.add_row(figures);
    lay_out(&mut table, 1..headers.len(), name_width);
    text(&table)
}

fn anatomy(run: &RunAnalysis) -> String {
    let figures = run.figures.as_ref().filter(|figures| figures.anatomy != IoAnatomy::default());
    let Some(Figures { anatomy: io, device, .. }) = figures else {
        return "I/O anatomy: unknown\n".to_owned();
    };
    let (mean, bytes) = (|value| or_missing(value, number::mean), |value| or_missing(value, number::bytes));
    let share = |value| or_missing(value, number::percent);
    let size = |kb: fn(&DeviceRates) -> f64| bytes(device.as_ref().map(|rates| kb(rates) * 1024.0));
    wrapped(&format!(
        "I/O anatomy, a transaction: {} reads of {} ({}) and {} writes of {} ({}), so {} reads by count, {} by bytes; \
         {} pool misses ({} of InnoDB's page requests, inner nodes included, were hits); {} syncs; {} redo; {} pages flushed, {} through doublewrite; \
         {} row-lock waits",
        mean(io.device_reads_per_transaction),
        size(|d| d.read_size_kb),
        bytes(io.device_read_bytes_per_transaction),
        mean(io.device_writes_per_transaction),
        size(|d| d.write_size_kb),
        bytes(io.device_write_bytes_per_transaction),
        share(io.read_share),
        share(io.read_share_bytes),
        mean(io.misses_per_transaction),
        share(io.pool_hit_ratio),
        mean(io.syncs_per_transaction),
        bytes(io.redo_bytes_per_transaction),
        mean(io.pages_flushed_per_transaction),
        mean(io.doublewrite_pages_per_transaction),
        mean(io.row_lock_waits_per_transaction),
    ))
}

/// A table with its title above.
fn grid_text(grid: &Grid) -> String {
    let mut table = ruled(&grid.headers);
    table.add_rows(&grid.rows);
    lay_out(&mut table, grid.labels..grid.headers.len(), 10);
    wrapped(&grid.title) + &text(&table)
}

fn listed(title: &str, rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(BARE).set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
    table.add_rows(rows);
    if table.is_empty() { format!("{title}: none\n") } else { format!("{title}\n{}", text(&table)) }
}

/// A ruled table of facts, whose values are broken into lines where they are long.
pub(super) fn fact_table(headers: [&str; 3], rows: impl Iterator<Item = [String; 3]>) -> String {
    let mut table = ruled(&headers);
    table.add_rows(rows);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, u16::from(index != headers.len() - 1)));
    }
    text(&table)
}

/// A paragraph within the width.
pub(super) fn wrapped(paragraph: &str) -> String {
    let mut table = Table::new();
    table.load_style(BARE).set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
    table.add_row([paragraph]);
    table.column_iter_mut().for_each(|column| {
        column.set_padding((0, 0));
    });
    text(&table)
}

fn ruled(headers: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(RULED).set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
    table.set_header(headers.iter().map(Cell::new));
    table
}

/// Two spaces between columns, figures to the right. Only the first column may be broken into lines,
/// down to its `narrowest`.
fn lay_out(table: &mut Table, figures: std::ops::Range<usize>, narrowest: u16) {
    let last = table.column_count().saturating_sub(1);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, u16::from(index != last)));
        column.set_constraint(if index > 0 {
            ColumnConstraint::ContentWidth
        } else {
            ColumnConstraint::LowerBoundary(Width::Fixed(narrowest))
        });
        if figures.contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// Without spaces at the ends of lines.
fn text(table: &Table) -> String {
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn golden_complete() {
        insta::assert_snapshot!(render(&[sample::complete()]));
    }

    #[test]
    fn golden_stack_of_devices() {
        let mut result = sample::complete();
        result.runs[0].per_instance[0].stack = sample::machine::stack();
        result.runs[0].device_name = Some("md127".into());
        insta::assert_snapshot!(render(&[result]));
    }

    #[test]
    fn golden_partial() {
        insta::assert_snapshot!(render(&[sample::partial()]));
    }

    #[test]
    fn golden_failed_without_a_run() {
        insta::assert_snapshot!(render(&[sample::failed()]));
    }

    #[test]
    fn golden_two_results() {
        let mut second = sample::complete();
        sample::plan_of(&mut second).hardware.device =
            vec![("Model".into(), "A drive with quite a long name, 15.36 TB, U.3".into())];
        second.runs = vec![sample::run_without_telemetry()];
        second.runs[0].findings.clear();
        second.runs[0].figures.as_mut().unwrap().latency = None;
        insta::assert_snapshot!(render(&[sample::complete(), second]));
    }

    #[test]
    fn golden_imported_beside_measured() {
        insta::assert_snapshot!(render(&[sample::imported(), sample::complete()]));
    }

    #[test]
    fn golden_sweep() {
        insta::assert_snapshot!(render(&[sample::fleet::sweep(&[2, 4], 60)]));
    }

    #[test]
    fn golden_ramp() {
        insta::assert_snapshot!(render(&[sample::ramp()]));
    }

    #[test]
    fn golden_fleets_that_lost_an_instance() {
        insta::assert_snapshot!(render(&[sample::fleet::lost(41), sample::fleet::lost(12)]));
    }

    #[test]
    fn no_line_is_wider_than_a_mail() {
        let fleets = [sample::fleet::sweep(&[4, 16], 60), sample::fleet::lost(12)];
        let fleets = render(&fleets);
        assert!(fleets.lines().all(|line| line.chars().count() <= 100), "{fleets}");
        let all = render(&[sample::complete(), sample::partial(), sample::failed(), sample::ramp()]);
        let widest = all.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(100), "{widest:?}\n{all}");
    }
}

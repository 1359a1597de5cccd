//! One self-contained page: for a screen, for paper, and readable without its script.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;

use super::chart::readout::Readout;
use super::chart::{Chart, Size, heat, svg};
use super::devices;
use super::document::{self, HeadlineRow};
use super::fleet;
use super::grid::Grid;
use super::load;
use super::machine;
use super::number;
use super::wear;
use super::{ReportError, fleet_charts, imported, run_charts, sweep};
use crate::analysis::{Finding, Outcome, ResultAnalysis, RunAnalysis, Source};

const TEMPLATE: &str = include_str!("html/template.html");
const STYLE: &str = include_str!("html/style.css");
const SCRIPT: &str = include_str!("html/charts.js");

type Pair = (String, String);

#[derive(Serialize)]
struct Page<'a> {
    drivestone: &'static str,
    style: &'static str,
    script: &'static str,
    title: String,
    /// Threads that every run shares; `None` when they differ.
    threads: Option<u32>,
    headline: Vec<HeadlineRow>,
    /// Rows name their workload beside the device.
    workloads: bool,
    /// Transactions arrived at a rate in some runs.
    open_loop: bool,
    results: Vec<ResultSection<'a>>,
    /// Readouts of all charts in the order of the page, as JSON fit for a script element.
    readouts: String,
}

#[derive(Serialize)]
struct ResultSection<'a> {
    device: String,
    /// Where it comes from: label and text.
    about: Vec<(&'static str, &'a str)>,
    description: &'a str,
    path: &'a str,
    state: &'static str,
    outcome: String,
    complete: bool,
    reason: &'a str,
    ramp: Option<String>,
    curve: Vec<Figure>,
    scaling: Option<Grid>,
    scaling_charts: Vec<Figure>,
    settled: Option<Grid>,
    runs: Vec<RunSection<'a>>,
    device_facts: &'a [Pair],
    platform_facts: &'a [Pair],
    /// Empty when there was none, since it was imported; then it has no dataset and no options either.
    plan: Vec<(&'static str, String)>,
    dataset: Vec<(&'static str, String)>,
    overrides: Vec<String>,
    options: Vec<(&'a String, &'a String)>,
    environment: &'a [Pair],
    notes: &'a [String],
}

#[derive(Serialize)]
struct RunSection<'a> {
    name: String,
    volume: String,
    state: &'static str,
    outcome: String,
    complete: bool,
    reason: &'a str,
    figures: Vec<(&'static str, String)>,
    open_loop: Option<String>,
    fairness: Option<String>,
    /// Counts and statements.
    load: Vec<Grid>,
    errors_by_code: Option<String>,
    in_flight: Option<String>,
    remarks: Vec<String>,
    findings: Vec<FindingRow<'a>>,
    /// Why `findings` is empty, if it is.
    no_findings: &'static str,
    /// It was measured here, so that there is something to say of its device.
    measured: bool,
    device_name: &'a str,
    device: Vec<(&'static str, String)>,
    /// Every device of a stack, in place of `device`.
    stack: Option<Grid>,
    stack_text: Option<String>,
    vanished: Option<String>,
    /// Why `device` is empty, if it is.
    no_device: &'static str,
    anatomy: Vec<(&'static str, String)>,
    /// What the host did.
    host: Vec<(&'static str, String)>,
    /// What a log says beside its figures.
    log: &'a [Pair],
    statements: Vec<String>,
    grids: Vec<Grid>,
    /// Wear and health of drives that told something.
    wear: Option<Grid>,
    wear_statements: Vec<String>,
    charts: Vec<Figure>,
    heat_maps: Vec<Figure>,
    observer_charts: Vec<Figure>,
}

#[derive(Serialize)]
struct FindingRow<'a> {
    mark: &'static str,
    /// For a style: `holds`, `fails` or `unknown`.
    state: &'static str,
    title: &'a str,
    text: &'a str,
}

#[derive(Serialize)]
struct Figure {
    title: String,
    wide: bool,
    /// An `<svg>` element.
    svg: String,
}

/// Renders results, in the order given.
pub(super) fn render(results: &[ResultAnalysis]) -> Result<String, ReportError> {
    let mut readouts = Vec::new();
    let sections =
        results.iter().map(|result| result_section(result, &mut readouts)).collect::<Result<_, _>>()?;
    let headline = document::headline(results);
    let page = Page {
        drivestone: env!("CARGO_PKG_VERSION"),
        style: STYLE,
        script: SCRIPT,
        title: title(results),
        threads: common_threads(results),
        workloads: document::workloads_differ(results),
        open_loop: headline.iter().any(|row| !row.rate.is_empty()),
        headline,
        results: sections,
        readouts: json_for_script(&readouts)?,
    };
    let mut templates = Environment::new();
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    templates.set_auto_escape_callback(|_| AutoEscape::Html);
    templates.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    templates.add_template("report", TEMPLATE)?;
    Ok(templates.get_template("report")?.render(Serde(&page))?)
}

fn title(results: &[ResultAnalysis]) -> String {
    match results {
        [only] => {
            let device = document::device_label(only);
            let profile = only.plan().map(|plan| plan.profile.name.as_str());
            format!("{device}, {}", profile.unwrap_or("imported"))
        }
        _ => format!("{} results", results.len()),
    }
}

/// The thread count of every run, planned ones where none was started; `None` when they differ, or when
/// several instances have as many each.
fn common_threads(results: &[ResultAnalysis]) -> Option<u32> {
    if results.iter().any(|result| result.planned_runs().iter().any(|run| run.instances > 1)) {
        return None;
    }
    let mut all: Vec<u32> =
        results.iter().flat_map(|result| result.runs.iter().map(|run| run.threads)).collect();
    all.extend(
        results
            .iter()
            .filter(|r| r.runs.is_empty())
            .filter_map(|r| r.planned_runs().first())
            .map(|run| run.threads),
    );
    let first = *all.first()?;
    all.iter().all(|threads| *threads == first).then_some(first)
}

/// JSON that cannot end the script element it stands in.
fn json_for_script(readouts: &[Readout]) -> Result<String, ReportError> {
    Ok(serde_json::to_string(readouts)?.replace('<', "\\u003c"))
}

fn result_section<'a>(
    result: &'a ResultAnalysis,
    readouts: &mut Vec<Readout>,
) -> Result<ResultSection<'a>, ReportError> {
    let plan = result.plan();
    let curve = drawn(sweep::curve(result).into_iter().collect(), readouts)?;
    let scaling_charts = drawn(fleet_charts::scaling(result), readouts)?;
    let runs = result.runs.iter().map(|run| run_section(run, readouts)).collect::<Result<_, _>>()?;
    let overrides = plan.map_or(&[][..], |plan| &plan.profile.overrides);
    let overrides = overrides.iter().map(|o| format!("{}={}", o.key, o.value));
    Ok(ResultSection {
        device: document::device_label(result),
        about: about(result),
        description: plan.map_or("", |plan| &plan.profile.description),
        path: &result.path,
        state: result.outcome.name(),
        outcome: document::outcome_word(result.outcome),
        complete: result.outcome == Outcome::Complete,
        reason: document::reason(result.reason.as_ref()),
        ramp: load::ramp(result),
        curve,
        scaling: fleet::scaling(result),
        scaling_charts,
        settled: load::settled(result),
        runs,
        device_facts: plan.map_or(&[], |plan| &plan.hardware.device),
        platform_facts: plan.map_or(&[], |plan| &plan.hardware.platform),
        plan: plan.map(document::plan_rows).unwrap_or_default(),
        dataset: dataset(result),
        overrides: overrides.collect(),
        options: plan.map(|plan| plan.server.options.iter().collect()).unwrap_or_default(),
        environment: &result.environment,
        notes: &result.notes,
    })
}

/// Where a result comes from.
fn about(result: &ResultAnalysis) -> Vec<(&'static str, &str)> {
    match &result.source {
        Source::Measured(plan) => vec![
            ("Hardware", &plan.hardware.name),
            ("profile", &plan.profile.name),
            ("started", result.started.as_deref().unwrap_or("at an unknown time")),
        ],
        Source::Imported(source) => {
            vec![("Imported", &source.name), ("from", &source.file), ("at", &source.imported)]
        }
    }
}

fn dataset(result: &ResultAnalysis) -> Vec<(&'static str, String)> {
    let Some(dataset) = &result.dataset else { return Vec::new() };
    let origin = if dataset.reused { "reused" } else { "loaded for this result" };
    let measured =
        format!("{} rows, {}", number::count(dataset.rows), number::bytes(dataset.file_bytes as f64));
    vec![
        ("Measured size", measured),
        ("Origin", format!("{origin}; {}", dataset.creation)),
        ("Runs that changed it before", dataset.runs_before.to_string()),
        ("Rows that they added or removed", number::count(dataset.rows_changed)),
    ]
}

fn run_section<'a>(run: &'a RunAnalysis, readouts: &mut Vec<Readout>) -> Result<RunSection<'a>, ReportError> {
    // Readouts are found by their order: figures are drawn in the order of the page.
    let heat_maps = drawn_maps(run, readouts)?;
    let charts = drawn(run_charts::charts(run), readouts)?;
    let observer_charts = drawn(fleet_charts::observers(run), readouts)?;
    let figures_of = run.figures.as_ref();
    let rates = figures_of.and_then(|figures| figures.device.as_ref());
    Ok(RunSection {
        name: load::label(run),
        volume: document::volume(run),
        state: run.outcome.name(),
        outcome: document::outcome_word(run.outcome),
        complete: run.outcome == Outcome::Complete,
        reason: document::reason(run.reason.as_ref()),
        figures: figures(run),
        open_loop: load::open_loop(run),
        fairness: load::fairness(run),
        load: load::counts_grid(run).into_iter().chain(load::statements(run)).collect(),
        errors_by_code: document::errors_by_code(run),
        in_flight: document::in_flight(run),
        remarks: match &run.imported {
            Some(own) => imported::remarks(run, own),
            None => load::one_statement(run).map(str::to_owned).into_iter().collect(),
        },
        findings: run.findings.iter().map(finding).collect(),
        no_findings: match &run.imported {
            None => "None was checked for this run",
            Some(_) => imported::FINDINGS,
        },
        measured: run.imported.is_none(),
        device_name: run.device_name.as_deref().unwrap_or("unknown device"),
        device: rates.map(document::device_columns).unwrap_or_default(),
        stack: devices::stack_grid(run),
        stack_text: devices::stack_text(run),
        vanished: devices::vanished(run),
        no_device: match figures_of {
            Some(_) => "It was not sampled.",
            None => {
                "There is no interval of all instances together; what each device did is told instance by instance."
            }
        },
        anatomy: figures_of.map(document::anatomy).unwrap_or_default(),
        host: machine::rows(run),
        log: run.imported.as_ref().map_or(&[], |own| &own.facts),
        statements: fleet::statements(run),
        grids: fleet::grids(run),
        wear: wear::grid(run),
        wear_statements: wear::statements(run),
        charts,
        heat_maps,
        observer_charts,
    })
}

/// Draws charts and keeps their readouts.
fn drawn(charts: Vec<Chart>, readouts: &mut Vec<Readout>) -> Result<Vec<Figure>, ReportError> {
    let mut figures = Vec::new();
    for chart in charts {
        let drawing = svg::draw(&chart)?;
        readouts.push(drawing.readout);
        figures.push(Figure { title: chart.title, wide: chart.size == Size::Wide, svg: drawing.svg });
    }
    Ok(figures)
}

fn drawn_maps(run: &RunAnalysis, readouts: &mut Vec<Readout>) -> Result<Vec<Figure>, ReportError> {
    let mut figures = Vec::new();
    for map in fleet_charts::heat_maps(run) {
        let drawing = heat::draw(&map)?;
        readouts.push(drawing.readout);
        figures.push(Figure { title: map.title, wide: true, svg: drawing.svg });
    }
    Ok(figures)
}

/// The figures of a run that stand out.
fn figures(run: &RunAnalysis) -> Vec<(&'static str, String)> {
    let figures = run.headline_figures();
    let ms = |value: Option<f64>| number::or_missing(value, document::latency_format(run));
    vec![
        ("TPS", number::or_missing(figures.tps, |tps| number::decimals(tps, 2))),
        ("Average ms", ms(figures.avg_ms)),
        ("Median ms", ms(figures.p50_ms)),
        ("95th ms", ms(figures.p95_ms)),
        ("99th ms", ms(figures.p99_ms)),
        ("99.9th ms", ms(figures.p999_ms)),
        ("Peak ms", ms(figures.peak_ms)),
        ("SQL errors", document::count_or_missing(figures.errors)),
    ]
}

fn finding(finding: &Finding) -> FindingRow<'_> {
    let state = match finding.holds {
        Some(true) => "holds",
        Some(false) => "fails",
        None => "unknown",
    };
    FindingRow { mark: document::mark(finding.holds), state, title: finding.title, text: &finding.text }
}

#[cfg(test)]
mod tests;

//! What reports say of a run that a log tells, in words.

use super::document::{self, outcome_word};
use super::number;
use crate::analysis::{ImportedRun, ImportedSource, Outcome, ResultAnalysis, RunAnalysis};

/// Stands where findings are counted.
pub(super) const TALLY: &str = "unknown: imported";
/// Stands where findings are listed.
pub(super) const FINDINGS: &str = "unknown: imported. A log alone says nothing to check its figures against";

/// `imported`; what is not complete is shouted before it.
pub(super) fn outcome_label(run: &RunAnalysis) -> String {
    match run.outcome {
        Outcome::Complete => "imported".to_owned(),
        outcome => format!("{}, imported", outcome_word(outcome)),
    }
}

/// What a run's row is called when a log has runs of several tests, which a plan never has.
pub(super) fn run_label(result: &ResultAnalysis, run: &RunAnalysis) -> Option<String> {
    run.imported.as_ref()?;
    let several = result.runs.iter().any(|other| other.workload != run.workload);
    several.then(|| format!("{}: {}", document::device_label(result), run.workload))
}

/// A latency as the log has it: with two decimals, whatever its size.
pub(super) fn ms(value: f64) -> String {
    number::decimals(value, 2)
}

/// Where a result came from.
pub(super) fn about(source: &ImportedSource) -> String {
    let file = if source.file == "-" { "standard input" } else { &source.file };
    format!("{}, imported {} from {file}", source.name, source.imported)
}

/// The percentile as a headline shows it where it is not the 99th: `161.51 (95th)`.
pub(super) fn other_percentile(imported: &ImportedRun) -> Option<String> {
    let percentile = imported.percentile.filter(|percentile| *percentile != 99.0)?;
    Some(format!("{} ({})", ms(imported.percentile_ms?), ordinal(percentile)))
}

/// What must stand beside the figures.
pub(super) fn remarks(run: &RunAnalysis, imported: &ImportedRun) -> Vec<String> {
    let mut said = Vec::new();
    if imported.from_intervals {
        said.push(
            "The log has no summary, or not all of it: TPS is the mean of its interval lines by their length, and what only a summary tells is unknown."
                .to_owned(),
        );
    }
    if let Some(percentile) = imported.percentile {
        let name = ordinal(percentile);
        let value = match imported.percentile_ms {
            Some(value) => format!("The log tells one percentile, the {name}: {} ms.", ms(value)),
            None => format!("The log tells one percentile, the {name}, and only of each interval."),
        };
        said.push(format!("{value} {}", imported.percentile_note));
    }
    if run.series.is_empty() {
        said.push("It has no interval lines, so there is nothing to draw over time.".to_owned());
    }
    said
}

/// What else the log says, on one line.
pub(super) fn facts(imported: &ImportedRun) -> String {
    let facts = imported.facts.iter().map(|(label, text)| format!("{label}: {text}"));
    facts.collect::<Vec<_>>().join("; ")
}

/// `95th`, `99.9th`, `91st`.
pub(super) fn ordinal(percentile: f64) -> String {
    let suffix = match (percentile % 10.0, percentile % 100.0) {
        (1.0, rest) if rest != 11.0 => "st",
        (2.0, rest) if rest != 12.0 => "nd",
        (3.0, rest) if rest != 13.0 => "rd",
        _ => "th",
    };
    format!("{percentile}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn percentiles_are_named() {
        let named = [1.0, 50.0, 72.0, 93.0, 95.0, 99.0, 99.9, 11.0].map(ordinal);
        assert_eq!(named, ["1st", "50th", "72nd", "93rd", "95th", "99th", "99.9th", "11th"]);
    }

    #[test]
    fn a_99th_percentile_needs_no_name() {
        let mut imported = sample::imported().runs[0].imported.clone().unwrap();
        assert_eq!(other_percentile(&imported).as_deref(), Some("161.51 (95th)"));
        imported.percentile = Some(99.0);
        assert_eq!(other_percentile(&imported), None);
    }

    #[test]
    fn no_digit_is_added_to_what_the_log_has() {
        let mut result = sample::imported();
        let imported = result.runs[0].imported.as_mut().unwrap();
        (imported.figures.avg_ms, imported.figures.p95_ms) = (Some(0.05), Some(0.08));
        imported.percentile_ms = Some(0.08);
        let row = &document::headline(&[result])[0];
        assert_eq!(
            (row.avg_ms.as_str(), row.p95_ms.as_str(), row.tail_ms.as_str()),
            ("0.05", "0.08", "0.08 (95th)")
        );
    }

    #[test]
    fn runs_of_several_tests_are_told_apart() {
        let mut result = sample::imported();
        result.runs.push(result.runs[0].clone());
        let devices = |result: &ResultAnalysis| {
            document::headline(std::slice::from_ref(result))
                .into_iter()
                .map(|row| row.device)
                .collect::<Vec<_>>()
        };
        assert_eq!(devices(&result), ["Galera, three nodes"; 2]);
        result.runs[1].workload = "oltp_insert".into();
        assert_eq!(
            devices(&result),
            ["Galera, three nodes: oltp_read_write", "Galera, three nodes: oltp_insert"]
        );
    }

    #[test]
    fn what_a_log_lacks_is_told() {
        let mut run = sample::imported().runs.remove(0);
        let mut imported = run.imported.take().unwrap();
        assert_eq!(remarks(&run, &imported).len(), 1);
        (imported.from_intervals, imported.percentile_ms) = (true, None);
        run.series.clear();
        let said = remarks(&run, &imported).join(" ");
        for expected in ["no summary", "only of each interval", "no interval lines"] {
            assert!(said.contains(expected), "{said}");
        }
    }
}

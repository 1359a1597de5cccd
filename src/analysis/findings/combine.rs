//! One finding from what was found on each instance.

use super::Evidence;
use crate::analysis::Finding;

/// Instances of which the text is shown; a reader of sixteen needs the first and the names.
const MOST_SHOWN: usize = 3;

/// A finding about one instance, with the figure that decided it.
pub struct Checked {
    finding: Finding,
    figure: Option<Measure>,
}

/// A figure that may be compared between instances.
#[derive(Clone, Copy)]
struct Measure {
    value: f64,
    places: usize,
    /// What it is, behind the number.
    unit: &'static str,
}

impl From<Finding> for Checked {
    fn from(finding: Finding) -> Self {
        Self { finding, figure: None }
    }
}

impl Checked {
    /// With the figure that decided it, to so many decimals.
    pub fn by(finding: Finding, value: f64, places: usize, unit: &'static str) -> Self {
        Self { finding, figure: Some(Measure { value, places, unit }) }
    }
}

/// The finding of the one instance as it is. Of several: holds if it holds for each, does not if it does
/// not for any. `None` when no instance began.
pub fn combined(evidence: &[Evidence], check: fn(&Evidence) -> Checked) -> Option<Finding> {
    let checked = evidence.iter().map(|evidence| (evidence.instance.host.as_str(), check(evidence)));
    let mut checked: Vec<(&str, Checked)> = checked.collect();
    if checked.len() < 2 && evidence.first().is_none_or(|evidence| !evidence.run.is_fleet()) {
        return checked.pop().map(|(_, checked)| checked.finding);
    }
    let (id, title) = checked.first().map(|(_, first)| (first.finding.id, first.finding.title))?;
    let of = |holds: Option<bool>| checked.iter().filter(move |(_, own)| own.finding.holds == holds);
    let (good, bad, unsure) = (of(Some(true)), of(Some(false)), of(None));
    let (failing, doubtful) = (bad.clone().count(), unsure.clone().count());
    let mut parts = Vec::new();
    parts.extend(told("does not hold on", bad));
    parts.extend(told("unknown on", unsure));
    let all = checked.len();
    if failing + doubtful == 0 {
        parts.push(format!("holds on all {all} instances{}", range(good.map(|(_, own)| own.figure))));
    } else if failing + doubtful < all {
        let others = all - failing - doubtful;
        parts.push(format!("holds on {others} of {all}{}", range(good.map(|(_, own)| own.figure))));
    }
    let holds = match (failing, doubtful) {
        (0, 0) => Some(true),
        (0, _) => None,
        _ => Some(false),
    };
    Some(Finding { id, title, holds, text: parts.join("; ") })
}

/// Instances with their texts; a text that several share is told once.
fn told<'a>(what: &str, checked: impl Iterator<Item = &'a (&'a str, Checked)>) -> Option<String> {
    let mut texts: Vec<(&str, Vec<&str>)> = Vec::new();
    for (host, own) in checked {
        match texts.iter_mut().find(|(text, _)| *text == own.finding.text) {
            Some((_, hosts)) => hosts.push(host),
            None => texts.push((&own.finding.text, vec![host])),
        }
    }
    if texts.is_empty() {
        return None;
    }
    let shown = texts.iter().take(MOST_SHOWN).map(|(text, hosts)| format!("{} ({text})", hosts.join(", ")));
    let mut all: Vec<String> = shown.collect();
    all.extend(texts.iter().skip(MOST_SHOWN).map(|(_, hosts)| hosts.join(", ")));
    Some(format!("{what} {}", all.join(", ")))
}

/// ` (from 2.10 to 2.31 pages a transaction)`, when every instance has the figure.
fn range(figures: impl Iterator<Item = Option<Measure>>) -> String {
    let Some(figures) = figures.collect::<Option<Vec<Measure>>>() else { return String::new() };
    let lowest = figures.iter().min_by(|a, b| a.value.total_cmp(&b.value));
    let highest = figures.iter().max_by(|a, b| a.value.total_cmp(&b.value));
    let Some((low, high)) = lowest.zip(highest) else { return String::new() };
    let text = |figure: &Measure| format!("{:.*}", figure.places, figure.value + 0.0);
    match (text(low), text(high)) {
        (low_text, high_text) if low_text == high_text => format!(" ({low_text} {})", low.unit),
        (low_text, high_text) => format!(" (from {low_text} to {high_text} {})", low.unit),
    }
}

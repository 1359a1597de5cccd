//! What a run wrote down, line by line.

use std::fs;
use std::ops::RangeBounds;
use std::path::Path;

use serde_json::Value;

/// A line's place in the journal, who says it, and what.
pub type Said<'a> = (usize, &'a str, &'a Value);

/// The lines of a journal; one that was cut short by a kill is left out.
pub struct Journal(Vec<Value>);

impl Journal {
    pub fn read(bundle: &Path) -> Self {
        let text = fs::read_to_string(bundle.join("journal.jsonl")).unwrap();
        Self(text.lines().map_while(|line| serde_json::from_str(line).ok()).collect())
    }

    /// Records of a kind.
    pub fn records(&self, kind: &'static str) -> impl Iterator<Item = Said<'_>> {
        let lines = self.0.iter().enumerate();
        lines.filter_map(move |(place, line)| Some((place, from(line), line["record"].get(kind)?)))
    }

    /// Events of a kind.
    pub fn events(&self, kind: &'static str) -> impl Iterator<Item = Said<'_>> {
        self.records("event").filter_map(move |(place, host, event)| Some((place, host, event.get(kind)?)))
    }

    /// Places of a host's events of a kind. `server_stopped` has no value beside its name.
    pub fn places(&self, host: &str, kind: &str) -> Vec<usize> {
        let is_it = |event: &Value| event.get(kind).is_some() || event == kind;
        let events = self.records("event").filter(|(_, from, event)| *from == host && is_it(event));
        events.map(|(place, ..)| place).collect()
    }

    /// Places of the beginning and the end of a run.
    pub fn run(&self, number: usize) -> [usize; 2] {
        let of = |kind| {
            let found = self.records(kind).find(|(.., record)| record["run"] == number);
            found.unwrap_or_else(|| panic!("run {number} has no {kind}")).0
        };
        [of("run_started"), of("run_ended")]
    }

    /// The one record of a kind.
    pub fn only(&self, kind: &'static str) -> Said<'_> {
        let found: Vec<_> = self.records(kind).collect();
        assert_eq!(found.len(), 1, "{kind}: {found:#?}");
        found[0]
    }

    /// Seconds that a host's load reported in a run.
    pub fn seconds(&self, run: usize, host: &str) -> Vec<i64> {
        let [begin, end] = self.run(run);
        self.seconds_within(begin..end, host)
    }

    /// Likewise between two places.
    pub fn seconds_within(&self, places: impl RangeBounds<usize>, host: &str) -> Vec<i64> {
        let events = self.events("load_second");
        let here = events.filter(|(place, from, _)| *from == host && places.contains(place));
        here.map(|(.., second)| second["second"].as_i64().unwrap()).collect()
    }

    /// How often a host's kernel was asked in a run.
    pub fn samples(&self, run: usize, host: &str) -> usize {
        let [begin, end] = self.run(run);
        self.places(host, "host").iter().filter(|place| (begin..end).contains(place)).count()
    }

    /// Seconds from one line to another, by their own wall clock.
    pub fn seconds_between(&self, earlier: usize, later: usize) -> f64 {
        let at = |place: usize| self.0[place]["utc"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        at(later).duration_since(at(earlier)).as_secs_f64()
    }

    /// The last line before `place` that `host` is the source of.
    pub fn last_heard(&self, host: &str, place: usize) -> usize {
        self.0[..place].iter().rposition(|line| from(line) == host).unwrap()
    }

    /// How it ended, and why.
    pub fn ending(&self) -> (&str, &str) {
        let (.., closed) = self.only("closed");
        (closed["ending"].as_str().unwrap(), closed["reason"].as_str().unwrap_or_default())
    }
}

fn from(line: &Value) -> &str {
    line["from"].as_str().unwrap()
}

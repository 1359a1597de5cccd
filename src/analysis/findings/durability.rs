//! Whether a commit meant what it says, and whether our own journal disturbed the device.

use super::{Checked, Evidence, unknown};
use crate::analysis::Finding;
use crate::plan::LOCAL;
use crate::protocol::facts::MountFacts;

/// Settings say that commits are durable, and the server did sync as often as that needs.
///
/// Commits share syncs: with n threads there is at least one sync for n commits.
pub fn durable_commits(evidence: &Evidence) -> Checked {
    let (id, title) = ("durable_commits", "Durable commits");
    let required = [("innodb_flush_log_at_trx_commit", "1"), ("innodb_doublewrite", "ON")];
    let mut wrong = Vec::new();
    for (name, wanted) in required {
        match evidence.variable(name) {
            None => return unknown(id, title, "the server's variables are not in the result").into(),
            Some(value) if value == wanted => {}
            Some(value) => wrong.push(format!("{name} is {value}, not {wanted}")),
        }
    }
    if let Some(method @ ("nosync" | "littlesync")) = evidence.variable("innodb_flush_method") {
        wrong.push(format!("innodb_flush_method is {method}, which leaves out syncs"));
    }
    if evidence.variable("log_bin") == Some("ON") && evidence.variable("sync_binlog") != Some("1") {
        let value = evidence.variable("sync_binlog").unwrap_or("unknown");
        wrong.push(format!("there is a binary log and sync_binlog is {value}, not 1"));
    }
    if !wrong.is_empty() {
        return Finding { id, title, holds: Some(false), text: wrong.join("; ") }.into();
    }
    if evidence.plan.workload.is_read_only() {
        return unknown(id, title, "the settings are durable; the workload writes nothing to make so").into();
    }
    let Some(commits) = evidence.changing_commits() else {
        let why = "the settings are durable; how many statements found a row to change is not known";
        return unknown(id, title, why).into();
    };
    if commits <= 0.0 {
        return unknown(id, title, "the settings are durable; nothing was changed that had to be").into();
    }
    let Some(syncs) = evidence.growth("Innodb_data_fsyncs") else {
        let why = evidence.not_sampled("the server's syncs were not sampled");
        return unknown(id, title, format!("the settings are durable; {why}")).into();
    };
    let threads = evidence.threads();
    let needed = commits / f64::from(threads);
    let mut text = format!(
        "settings are durable, and {syncs:.0} syncs stand beside {commits:.0} commits that changed a row, of {threads} \
         {}",
        if threads == 1 { "thread" } else { "threads" }
    );
    if syncs < needed {
        text += &format!(", fewer than the {needed:.0} that they need at least");
    }
    let finding = Finding { id, title, holds: Some(syncs >= needed), text };
    Checked::by(finding, syncs / commits, 2, "syncs a commit")
}

/// The result is written elsewhere than on the device under test. Only the instance on the coordinator's
/// own host can tell.
pub fn journal_off_device(evidence: &[Evidence]) -> Option<Finding> {
    let here = |evidence: &&Evidence| {
        let journal = evidence.known.and_then(|known| known.facts.as_ref()?.journal_mount.as_ref());
        evidence.instance.host == LOCAL || journal.is_some()
    };
    match evidence.iter().find(here) {
        Some(local) => Some(journal_of(local)),
        None => evidence.first().map(|evidence| match evidence.run.is_fleet() {
            false => journal_of(evidence),
            true => unknown(
                JOURNAL.0,
                JOURNAL.1,
                "the journal is on the coordinator's host, where no instance ran; whether the device under test \
                 serves that host as well is not known",
            ),
        }),
    }
}

/// Id and title.
const JOURNAL: (&str, &str) = ("journal_off_device", "Journal not on the device under test");

fn journal_of(evidence: &Evidence) -> Finding {
    let (id, title) = JOURNAL;
    let facts = evidence.known.and_then(|known| known.facts.as_ref());
    let target = facts.and_then(|facts| facts.target.mount.as_ref());
    let target = target.filter(|mount| mount.device().is_some());
    let mount = facts.and_then(|facts| facts.journal_mount.as_ref());
    if let Some(mount) = mount.filter(|mount| target.is_some() && mount.filesystem == "tmpfs") {
        let text = format!("the journal is on {}", mount.filesystem);
        return Finding { id, title, holds: Some(true), text };
    }
    let Some((target, journal)) = target.zip(mount.filter(|mount| mount.device().is_some())) else {
        return unknown(id, title, "the devices of the journal and of the data directory are not both known");
    };
    if !share_a_disk(target, journal) {
        let text =
            format!("the journal is on {}, the data directory on {}", name_of(journal), name_of(target));
        return Finding { id, title, holds: Some(true), text };
    }
    let bytes = evidence.run.journal_bytes as f64;
    // The first device on the way down that holds both.
    let is_shared = |number: &String| journal.devices.iter().any(|device| device.number == *number);
    let shared = evidence.stack.layers.iter().find(|layer| is_shared(&layer.number));
    let share = shared.and_then(|layer| {
        let written = layer.rates?.write_kb_per_s * 1024.0 * evidence.figures.seconds;
        let percent = bytes / written * 100.0;
        (written > 0.0).then(|| format!(", {percent:.2} % of what was written to {}", layer.name))
    });
    let text = format!(
        "the journal is on {}, the data directory on {}; the journal wrote {:.0} kB in the interval{}, and synced once a second",
        with_what_is_below(journal),
        with_what_is_below(target),
        bytes / 1024.0,
        share.unwrap_or_default()
    );
    Finding { id, title, holds: Some(false), text }
}

/// The same device, or one that is on the other, or two that are on the same one.
fn share_a_disk(a: &MountFacts, b: &MountFacts) -> bool {
    a.devices.iter().any(|device| b.devices.iter().any(|other| other.number == device.number))
}

fn name_of(mount: &MountFacts) -> &str {
    mount.device().map_or("", |device| device.name.as_str())
}

fn with_what_is_below(mount: &MountFacts) -> String {
    let below: Vec<&str> = mount.devices.iter().skip(1).map(|device| device.name.as_str()).collect();
    match below.is_empty() {
        true => name_of(mount).to_owned(),
        false => format!("{} (which is on {})", name_of(mount), below.join(", ")),
    }
}

//! Whether others used the device under test while it was measured.

use super::{Checked, Evidence, tenths, unknown};
use crate::analysis::{Finding, ProcessRates};
use crate::protocol::sample::MeasuredProcess;

/// Bytes read at the device and by the measurement's processes agree within this share.
const READ_SHARE: f64 = 0.02;
/// Or within this, bytes a second: a filesystem looks up its own tables, and writes them.
const FEW_BYTES_PER_S: f64 = 100e3;
/// Bytes written agree within this share: those that go through the page cache are counted when they enter it.
const WRITE_SHARE: f64 = 0.05;
/// Or within a block for each sync beside the few bytes: the journal of the filesystem is no process's.
const BLOCK_BYTES: f64 = 4096.0;

/// One direction, bytes a second.
struct Direction {
    /// `read` or `written`.
    verb: &'static str,
    /// At the device.
    device: f64,
    /// By the measurement's processes.
    own: f64,
    share: f64,
    floor: f64,
}

impl Direction {
    fn allowed(&self) -> f64 {
        (self.share * self.device.max(self.own)).max(self.floor)
    }

    /// More at the device than is accounted for.
    fn is_foreign(&self) -> bool {
        self.device - self.own > self.allowed()
    }

    /// Less at the device than is accounted for.
    fn went_elsewhere(&self) -> bool {
        self.own - self.device > self.allowed()
    }

    fn told(&self, seconds: f64) -> String {
        let megabytes = |per_s: f64| per_s * seconds / 1e6;
        let difference = self.device - self.own;
        let percent = if self.device > 0.0 { difference / self.device * 100.0 } else { 0.0 };
        format!(
            "{:.1} MB {}, {:.1} MB by this measurement ({:+.1} MB, {:+.1} %)",
            megabytes(self.device),
            self.verb,
            megabytes(self.own),
            tenths(megabytes(difference)),
            tenths(percent)
        )
    }
}

/// The processes of this measurement account for what the headline device read and wrote.
pub fn no_other_io(evidence: &Evidence) -> Checked {
    let (id, title) = ("no_other_io", "No other I/O on the device under test");
    let directions = match directions(evidence) {
        Ok(directions) => directions,
        Err(why) => return unknown(id, title, why).into(),
    };
    let seconds = evidence.host.map_or(0.0, |ends| ends.seconds());
    let mut text = format!("at the device {}", directions.each_ref().map(|one| one.told(seconds)).join("; "));
    if let Some(innodb) = evidence.growth("Innodb_data_read") {
        text += &format!("; InnoDB counts {:.1} MB read", innodb / 1e6);
    }
    let foreign: Vec<&str> = directions.iter().filter(|one| one.is_foreign()).map(|one| one.verb).collect();
    let elsewhere = directions.iter().any(Direction::went_elsewhere);
    let holds = match (foreign.is_empty(), elsewhere) {
        (false, _) => Some(false),
        (true, true) => None,
        (true, false) => Some(true),
    };
    if !foreign.is_empty() {
        text += &format!("; others have {} as well", foreign.join(" and "));
    } else if elsewhere {
        text +=
            "; part of the measurement's own I/O went to another device, and others' could hide behind it";
    }
    let finding = Finding { id, title, holds, text };
    let whole: f64 = directions.iter().map(|one| one.device).sum();
    let rest: f64 = directions.iter().map(|one| (one.device - one.own).max(0.0)).sum();
    let percent = if whole > 0.0 { rest / whole * 100.0 } else { 0.0 };
    Checked::by(finding, percent, 1, "% of the bytes not accounted for")
}

/// Whether others used the device, as far as that is known.
pub fn is_shared(evidence: &Evidence) -> bool {
    directions(evidence).is_ok_and(|directions| directions.iter().any(Direction::is_foreign))
}

fn directions(evidence: &Evidence) -> Result<[Direction; 2], &'static str> {
    let Some(device) = evidence.figures.device else {
        return Err("no device under the data directory was sampled");
    };
    if spreads_over_several(evidence) {
        return Err("the filesystem spreads over several devices, of which one was sampled");
    }
    let own: Vec<ProcessRates> =
        evidence.machine.own_io.iter().copied().filter(|own| counts(evidence, own.process)).collect();
    if !own.iter().any(|own| own.process == MeasuredProcess::Server) {
        return Err(evidence.not_sampled("what the server's process read and wrote is not known"));
    }
    let seconds = evidence.server.map(|ends| ends.seconds());
    let syncs = evidence.growth("Innodb_data_fsyncs").zip(seconds);
    let syncs_per_s = syncs.map_or(0.0, |(syncs, seconds)| syncs / seconds);
    let sum = |of: fn(&ProcessRates) -> f64| own.iter().map(of).sum::<f64>();
    Ok([
        Direction {
            verb: "read",
            device: device.read_kb_per_s * 1024.0,
            own: sum(|own| own.read_bytes_per_s),
            share: READ_SHARE,
            floor: FEW_BYTES_PER_S,
        },
        Direction {
            verb: "written",
            device: device.write_kb_per_s * 1024.0,
            own: sum(|own| own.write_bytes_per_s),
            share: WRITE_SHARE,
            floor: FEW_BYTES_PER_S + BLOCK_BYTES * syncs_per_s,
        },
    ])
}

/// The coordinator writes the journal and nothing else worth the name: it counts where that lies on the device.
fn counts(evidence: &Evidence, process: MeasuredProcess) -> bool {
    let number = evidence.instance.samples.device.as_deref();
    let journal = evidence.known.and_then(|known| known.facts.as_ref()?.journal_mount.as_ref());
    let lies_on_it = journal
        .is_some_and(|journal| journal.devices.iter().any(|device| Some(device.number.as_str()) == number));
    process != MeasuredProcess::Coordinator || lies_on_it
}

fn spreads_over_several(evidence: &Evidence) -> bool {
    let mount = evidence.known.and_then(|known| known.facts.as_ref()?.target.mount.as_ref());
    mount.is_some_and(|mount| !mount.spread_over.is_empty())
}

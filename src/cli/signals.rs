//! Signals as interrupts.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::exit::{self, Failure};
use super::output;
use crate::fleet::Fleet;

/// Machines are being removed: a signal must not end that by accident.
static REMOVING: AtomicBool = AtomicBool::new(false);

/// Has the next signal, once the fleet is gone, only told what is going on.
pub fn protect_removal() {
    REMOVING.store(true, Ordering::Release);
}

/// Turns signals into interrupts of the coordinator: the first stops in good order, the second at once.
/// A signal that was ignored when the program started (`nohup`) stays ignored. Once the fleet is gone,
/// and only a report is being printed, a signal ends the program.
pub fn interrupt(fleet: &Fleet) -> Result<(), Failure> {
    let interrupter = fleet.interrupter();
    let ignored = ignored();
    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let mut signals =
        Signals::new(wanted).map_err(|error| Failure::new(exit::PREPARING, format!("signals: {error}")))?;
    thread::spawn(move || {
        for _ in signals.forever() {
            if interrupter.interrupt() {
                continue;
            }
            if REMOVING.swap(false, Ordering::AcqRel) {
                output::note("Still removing; once more leaves the rest to `drivestone clean --remove`");
            } else {
                std::process::exit(exit::INTERRUPTED.into());
            }
        }
    });
    Ok(())
}

/// The mask of ignored signals, lowest bit for signal 1.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

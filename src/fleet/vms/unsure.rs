//! Calls that were cut short: libvirt may carry them out all the same, once nobody looks any more.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::virsh::VirshError;

/// How long what a call was to make is looked for, after it was cut short.
pub const SETTLE: Duration = Duration::from_secs(10);
/// Pause between looks.
const PAUSE: Duration = Duration::from_millis(500);

/// Calls of which nobody knows whether libvirt will carry them out.
#[derive(Debug)]
pub struct Unsure {
    limit: Duration,
    calls: Mutex<Vec<String>>,
}

impl Unsure {
    /// None yet; each is given so long to show.
    #[must_use]
    pub fn within(limit: Duration) -> Self {
        Self { limit, calls: Mutex::default() }
    }

    /// Hands a call's outcome on. If the call was cut short, waits until what it was to make `shows`, so that it is
    /// removed with the rest, and remembers the call if it does not.
    pub fn settle<T>(
        &self,
        outcome: Result<T, VirshError>,
        shows: impl Fn() -> bool,
    ) -> Result<T, VirshError> {
        if let Err(error) = &outcome
            && error.is_cut_short()
        {
            let started = Instant::now();
            while !shows() {
                if started.elapsed() >= self.limit {
                    self.remember(error);
                    break;
                }
                thread::sleep(PAUSE);
            }
        }
        outcome
    }

    fn remember(&self, error: &VirshError) {
        let seconds = self.limit.as_secs();
        let call = format!(
            "{error}; nothing of it has shown for {seconds} s, and libvirt may still carry it out: look again in some \
             minutes"
        );
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }

    /// One line for each call.
    #[must_use]
    pub fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::super::program::ProgramError;
    use super::*;

    fn cut(source: ProgramError) -> Result<(), VirshError> {
        Err(VirshError::Program { uri: "qemu:///system".into(), call: "define vm1.xml".into(), source })
    }

    #[test]
    fn what_a_call_made_after_all_is_waited_for() {
        let unsure = Unsure::within(SETTLE);
        let looks = Cell::new(0);
        let third = || looks.replace(looks.get() + 1) == 2;
        unsure.settle(cut(ProgramError::Interrupted), third).unwrap_err();
        assert_eq!((looks.get(), unsure.calls()), (3, vec![]));
    }

    #[test]
    fn what_may_still_come_is_remembered() {
        let unsure = Unsure::within(Duration::ZERO);
        unsure.settle(cut(ProgramError::Slow(60)), || false).unwrap_err();
        assert_eq!(
            unsure.calls(),
            [
                "qemu:///system: virsh define vm1.xml: did not end within 60 s; nothing of it has shown for 0 s, and \
              libvirt may still carry it out: look again in some minutes"
            ]
        );
    }

    #[test]
    fn a_call_that_ended_is_not_asked_about() {
        let unsure = Unsure::within(SETTLE);
        let refused = VirshError::Refused { uri: String::new(), call: String::new(), reason: String::new() };
        unsure.settle(Err::<(), _>(refused), || panic!("nothing to look for")).unwrap_err();
        unsure.settle(Ok(()), || panic!("nothing to look for")).unwrap();
        assert!(unsure.calls().is_empty());
    }
}

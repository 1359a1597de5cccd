//! End-to-end tests: they run the binary that ships.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "clippy's exception for tests does not reach their helper functions"
)]

mod e2e {
    mod binary;
    mod commands;
    mod complete;
    mod devices;
    mod fleet;
    mod foreign;
    mod full;
    mod hosts;
    mod import;
    mod interrupt;
    mod journal;
    mod kill;
    mod lab;
    mod limited;
    mod mount;
    mod outage;
    mod page;
    mod pinned;
    mod processes;
    mod refused;
    mod require;
    mod running;
    mod silence;
    mod stalled;
    mod template;
    mod vanished;
    mod wear;
}

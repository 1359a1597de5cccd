//! The real sysbench beside drivestone's load, on one server whose general log tells what each sent.
//!
//! drivestone prints a sysbench command for every plan; these tests run it, and so hold the command to the work as
//! well. sysbench 0.4 is no longer to be had: its modes are held to what was published of them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "clippy's exception for tests does not reach their helper functions"
)]

#[path = "e2e"]
mod e2e {
    pub mod require;
}

mod sysbench {
    mod counts;
    mod keys;
    mod lost;
    mod server;
    mod sides;
    mod statements;
    mod trace;
}

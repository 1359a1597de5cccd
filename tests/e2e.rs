//! End-to-end tests: they run the binary that ships.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "clippy's exception for tests does not reach their helper functions"
)]

mod e2e {
    mod binary;
    mod require;
}

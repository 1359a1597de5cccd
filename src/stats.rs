//! Pure arithmetic on what was measured: distributions, rates and shares.

pub mod cpu;
pub mod device;
mod hdr;
pub mod latency;
pub mod rate;
pub mod segments;

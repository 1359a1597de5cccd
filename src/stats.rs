//! Pure arithmetic on what was measured: distributions, device rates, windows.

pub mod cpu;
pub mod device;
mod hdr;
pub mod latency;

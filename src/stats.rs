//! Pure arithmetic on what was measured: distributions, device rates, windows.

pub mod cpu;
pub mod device;
pub mod latency;

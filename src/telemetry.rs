//! What a host's kernel and its database server say: /proc and /sys, and the server's counters.
//!
//! Everything here is read, nothing is created. What a kernel or a server does not tell stays absent.

pub mod devices;
pub mod diskstats;
mod frequency;
pub mod health;
pub mod host;
pub mod innodb;
mod kernel_file;
pub mod limits;
mod memory;
pub mod mounts;
mod network;
pub mod platform;
pub mod process;
pub mod replay;
pub mod sampler;
pub mod swaps;
pub mod target;

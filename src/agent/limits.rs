//! Limits that would stand in a load's way.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Allows as many open files as the system lets this process have; its server inherits that. Each load
/// thread needs one here and one there, and distributions' soft limits are low.
pub fn raise() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        // It fails only where a sandbox forbids it; preflight then knows the limit.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// Files that this process may have open.
pub fn open_files() -> u64 {
    getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX, |(soft, _)| soft)
}

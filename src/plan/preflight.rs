//! What must be true before anything is created: a pure function of the plan and of probed facts.

mod fleet;
mod limits;
mod unlike;

pub use fleet::preflight_fleet;

use super::Plan;
use crate::protocol::facts::{
    DatasetManifest, DatasetState, HostFacts, LONGEST_SOCKET_PATH, MountFacts, ServerFacts, TargetState,
};
use crate::protocol::job::Transport;
use crate::spec::ByteSize;
use crate::workload::{Workload, WorkloadKind};

/// Filesystems that live in memory.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];
/// Filesystems on another machine.
const NETWORK: [&str; 8] = ["nfs", "nfs4", "cifs", "smb3", "ceph", "fuse.sshfs", "9p", "fuse.glusterfs"];
/// Smallest buffer pool that MariaDB accepts with pages of 16 KiB.
const LEAST_POOL_BYTES: u64 = 6 << 20;
/// Statements for each of which a storage test needs a miss: one a transaction of `oltp_read_write`.
const STATEMENTS_PER_MISS: f64 = 20.0;

/// What stands against a plan on a host.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Preflight {
    /// The run is refused.
    pub refusals: Vec<Problem>,
    /// The run goes on; its reader should know.
    pub warnings: Vec<Problem>,
}

/// One problem, and the field that it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// Which file the field stands in.
    pub file: ProfileKind,
    /// Dotted path, such as `device.path`.
    pub field: &'static str,
    /// What is wrong, with the values, and what would be right.
    pub text: String,
}

/// Which of the two files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileKind {
    /// The hardware profile.
    Hardware,
    /// The test profile.
    Test,
}

/// Compares a plan with what was found on one host.
#[must_use]
pub fn preflight(plan: &Plan, facts: &HostFacts) -> Preflight {
    let mut found = Preflight::default();
    if check_host(plan, facts, &mut found) {
        check_working_set(plan, &mut found);
    }
    found
}

/// What depends on the host. Whether the pool fits its memory.
fn check_host(plan: &Plan, facts: &HostFacts, found: &mut Preflight) -> bool {
    check_target(plan, facts, found);
    check_space(plan, facts, found);
    let pool_fits = limits::check_limits(plan, facts, found) & check_memory(plan, facts, found);
    check_server(plan, facts, found);
    check_dataset(plan, facts, found);
    pool_fits
}

impl Preflight {
    fn refuse(&mut self, file: ProfileKind, field: &'static str, text: String) {
        self.refusals.push(Problem { file, field, text });
    }

    fn refuse_hardware(&mut self, field: &'static str, text: String) {
        self.refuse(ProfileKind::Hardware, field, text);
    }

    fn warn(&mut self, file: ProfileKind, field: &'static str, text: String) {
        self.warnings.push(Problem { file, field, text });
    }

    fn warn_hardware(&mut self, field: &'static str, text: String) {
        self.warn(ProfileKind::Hardware, field, text);
    }
}

const PATH: &str = "device.path";

fn check_target(plan: &Plan, facts: &HostFacts, found: &mut Preflight) {
    let target = &facts.target;
    let path = &target.path;
    check_path(path, found);
    check_state(plan, facts, found);
    if let Some(folder) = &target.blocked_at {
        found.refuse_hardware(
            PATH,
            format!(
                "the server's account cannot pass `{folder}`, which is above `{path}`; allow it with chmod o+x"
            ),
        );
    }
    match &target.mount {
        Some(mount) => check_filesystem(path, mount, found),
        None => found.warn_hardware(
            PATH,
            format!("no mount was found for `{path}`, so there will be no device statistics"),
        ),
    }
}

fn check_path(path: &str, found: &mut Preflight) {
    let wrong = |c: &char| c.is_whitespace() || c.is_control() || "#\\:".contains(*c);
    if let Some(wrong) = path.chars().find(wrong) {
        found.refuse_hardware(
            PATH,
            format!(
                "`{}` holds {wrong:?}, which the server's option files and scripts cannot take; \
                 use a path without spaces, `#`, `:` and `\\`",
                path.escape_debug()
            ),
        );
    }
}

fn check_state(plan: &Plan, facts: &HostFacts, found: &mut Preflight) {
    let (target, uid) = (&facts.target, facts.uid);
    let path = &target.path;
    let refusal = match (target.state, target.nearest) {
        (TargetState::Writable, _) => return,
        (TargetState::Missing, nearest) if plan.hardware.create_target => match nearest {
            TargetState::ReadOnly => {
                format!("`{path}` would be made on a filesystem mounted read-only; mount it read-write")
            }
            TargetState::NotPermitted => {
                format!("user id {uid} may not make `{path}`; make it for that user, or choose another")
            }
            _ => return,
        },
        (TargetState::Missing, _) => format!(
            "`{path}` does not exist; mount the device there, or let it be made with device.create: true"
        ),
        (TargetState::ReadOnly, _) => {
            format!("`{path}` is on a filesystem mounted read-only; mount it read-write")
        }
        (TargetState::NotPermitted, _) => {
            format!("user id {uid} may not create files in `{path}`; change its mode or its owner")
        }
        (TargetState::NotADirectory, _) => {
            format!("`{path}` is not a directory; name the directory on the device")
        }
    };
    found.refuse_hardware(PATH, refusal);
}

fn check_filesystem(path: &str, mount: &MountFacts, found: &mut Preflight) {
    let filesystem = mount.filesystem.as_str();
    if IN_MEMORY.contains(&filesystem) {
        found.warn_hardware(
            PATH,
            format!(
                "`{path}` is on {filesystem}: this measures memory, not storage, and O_DIRECT may be refused"
            ),
        );
    } else if NETWORK.contains(&filesystem) {
        found.warn_hardware(
            PATH,
            format!(
                "`{path}` is on {filesystem}: this measures the network and the server behind it as well"
            ),
        );
    } else if !mount.spread_over.is_empty() {
        let first = mount.device().map_or("one of them", |device| device.name.as_str());
        found.warn_hardware(
            PATH,
            format!(
                "`{path}` is on {filesystem}, which spreads over {first} and {}: device statistics are those of {first} \
                 alone",
                mount.spread_over.join(", ")
            ),
        );
    } else if mount.devices.is_empty() {
        found.warn_hardware(
            PATH,
            format!(
                "`{path}` is on {filesystem} without a block device, so there will be no device statistics"
            ),
        );
    }
}

fn check_space(plan: &Plan, facts: &HostFacts, found: &mut Preflight) {
    let target = &facts.target;
    let size = ByteSize::of_bytes;
    // What is in the dataset's place will be used again, or given back when it is loaded anew.
    let usable = target.free_bytes + facts.dataset_bytes;
    if usable < plan.hardware.required_bytes {
        found.refuse_hardware(
            "device.required_space",
            format!(
                "the method demands {} of usable space; {} has {} free of {} and {} in the dataset's place; \
                 use a larger device, or another device.required_space",
                size(plan.hardware.required_bytes),
                target.path,
                size(target.free_bytes),
                size(target.total_bytes),
                size(facts.dataset_bytes)
            ),
        );
    }
    let needed = plan.estimate.space_bytes;
    if usable < needed {
        found.refuse_hardware(
            PATH,
            format!(
                "the dataset ({}), the redo log and the server's own files need {}; {} has {} free and {} in their \
                 place; make space, or use a smaller dataset or server.log_file_size",
                size(plan.estimate.dataset_bytes),
                size(needed),
                target.path,
                size(target.free_bytes),
                size(facts.dataset_bytes)
            ),
        );
    }
}

/// Whether the pool fits the host at all.
fn check_memory(plan: &Plan, facts: &HostFacts, found: &mut Preflight) -> bool {
    if !check_pool(plan, "host's memory", facts.memory_bytes, found) {
        return false;
    }
    let available = facts.memory_available_bytes;
    if plan.server.buffer_pool_bytes > available {
        let (file, field) = pool_field(plan);
        let text = pool_exceeds(plan, "available memory", available);
        found.warn(file, field, text);
    }
    true
}

/// Whether the pool is a size that InnoDB takes and that is smaller than `memory_bytes`.
fn check_pool(plan: &Plan, memory: &str, memory_bytes: u64, found: &mut Preflight) -> bool {
    let pool = plan.server.buffer_pool_bytes;
    let (file, field) = pool_field(plan);
    if pool < LEAST_POOL_BYTES {
        let text = format!(
            "a buffer pool of {} ({}) is smaller than InnoDB allows; make it at least {}",
            ByteSize::of_bytes(pool),
            plan.server.buffer_pool_origin,
            ByteSize::of_bytes(LEAST_POOL_BYTES)
        );
        found.refuse(file, field, text);
        return false;
    }
    if pool >= memory_bytes {
        found.refuse(file, field, pool_exceeds(plan, memory, memory_bytes));
        return false;
    }
    true
}

fn pool_exceeds(plan: &Plan, memory: &str, bytes: u64) -> String {
    format!(
        "a buffer pool of {} ({}) exceeds the {memory} of {}; make it smaller",
        ByteSize::of_bytes(plan.server.buffer_pool_bytes),
        plan.server.buffer_pool_origin,
        ByteSize::of_bytes(bytes)
    )
}

/// Where the size of the pool is written.
fn pool_field(plan: &Plan) -> (ProfileKind, &'static str) {
    match plan.server.buffer_pool_from_profile {
        true => (ProfileKind::Test, "server.buffer_pool"),
        false => (ProfileKind::Hardware, "memory.buffer_pool"),
    }
}

/// With fewer misses a transaction than this, predicted or measured, memory is measured and not storage.
#[must_use]
pub fn least_misses(workload: &Workload) -> f64 {
    f64::from(workload.statement_count()) / STATEMENTS_PER_MISS
}

fn check_working_set(plan: &Plan, found: &mut Preflight) {
    let e = &plan.estimate;
    let least = least_misses(&plan.workload);
    // Rows that are only added at the end find their pages in any pool.
    let looks_nothing_up = e.visits_per_transaction == 0.0;
    if e.misses_per_transaction >= least || looks_nothing_up || plan.allow_cached {
        return;
    }
    let (file, field) = pool_field(plan);
    found.refuse(
        file,
        field,
        format!(
            "the working set fits the buffer pool: {} leaf pages with {} keys against a pool of {} pages ({}) \
             predict a hit ratio of {:.1} % and {:.2} misses a transaction, where a storage test needs at least \
             {least}; use a smaller pool or a larger dataset, or say allow_cached: true in the test profile",
            e.clustered_pages + e.index_pages,
            plan.workload.keys.name(),
            e.pool_pages,
            ByteSize::of_bytes(plan.server.buffer_pool_bytes),
            e.hit_ratio * 100.0,
            e.misses_per_transaction
        ),
    );
}

fn check_server(plan: &Plan, facts: &HostFacts, found: &mut Preflight) {
    if let ServerFacts::Missing { reason } = &facts.server {
        found.refuse_hardware("server", reason.clone());
    }
    let needed = files_needed(plan);
    if needed > facts.open_files {
        found.refuse(
            ProfileKind::Test,
            "load.threads",
            format!(
                "threads and tables need up to {needed} open files, and the limit is {}; raise it (ulimit -Hn, \
                 LimitNOFILE) or use fewer threads",
                facts.open_files
            ),
        );
    }
    let length = facts.socket_path.len();
    if plan.server.transport == Transport::Socket && length > LONGEST_SOCKET_PATH {
        found.refuse_hardware(
            PATH,
            format!(
                "the server's socket would be `{}`, {length} bytes long; the kernel allows {LONGEST_SOCKET_PATH}. \
                 Use a shorter path, or server.transport: tcp in the test profile",
                facts.socket_path
            ),
        );
    }
}

/// Open files of the server: a connection for each load thread, the tables, and its own.
fn files_needed(plan: &Plan) -> u64 {
    const OWN_FILES: u64 = 100;
    let threads = plan.runs.iter().map(|run| run.threads).max().unwrap_or(0).max(plan.dataset.load_threads);
    u64::from(threads) + u64::from(plan.dataset.contents.tables) + OWN_FILES
}

fn check_dataset(plan: &Plan, facts: &HostFacts, found: &mut Preflight) {
    match &facts.dataset {
        DatasetState::Absent => {}
        DatasetState::Ready(manifest) => check_reuse(plan, facts, manifest, found),
        DatasetState::HalfLoaded => found.warn_hardware(
            PATH,
            "a load that never finished is in the dataset's place; it will be removed and loaded anew"
                .to_owned(),
        ),
        DatasetState::InUse => {
            found.refuse_hardware(PATH, "another drivestone uses this dataset; wait for it to end".to_owned())
        }
        DatasetState::Foreign { reason } => found.refuse_hardware(PATH, reason.clone()),
    }
}

/// Share of the rows that earlier runs may have added or removed without a word.
const FEW_ROWS: f64 = 0.01;

/// A dataset that is there may not be any more what was loaded.
fn check_reuse(plan: &Plan, facts: &HostFacts, manifest: &DatasetManifest, found: &mut Preflight) {
    let folder = format!("{}/drivestone/{}", facts.target.path, manifest.dataset.folder());
    let kind = plan.workload.kind;
    let inserts = matches!(kind, WorkloadKind::OltpInsert | WorkloadKind::Insert04);
    if inserts && !plan.workload.auto_inc && manifest.runs_since > 0 {
        let name = kind.name();
        let text = format!(
            "{folder} holds rows of an earlier run, and {name} would insert their ids again, since \
             dataset.auto_inc is false; remove that folder to start from empty tables, or use another dataset.seed"
        );
        found.refuse_hardware(PATH, text);
        return;
    }
    let (rows, added, changed) = (manifest.measured.rows, manifest.rows_added, manifest.rows_changed);
    if changed as f64 > FEW_ROWS * rows as f64 {
        let (net, change) = (added.unsigned_abs(), if added < 0 { "fewer" } else { "more" });
        found.warn_hardware(
            PATH,
            format!(
                "earlier runs added or removed {changed} rows of the dataset in {folder}, which has {net} rows {change} \
                 than the {rows} that were loaded; remove that folder to load it anew"
            ),
        );
    }
}

#[cfg(test)]
mod tests;

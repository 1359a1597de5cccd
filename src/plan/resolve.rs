//! From what people wrote to the plan.

mod fleet;
mod load;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::estimate::{dataset_bytes, estimate};
use super::load_options;
use super::options::{self, ServerFigures};
use super::{DatasetPlan, HardwarePlan, Override, PLAN_FORMAT, Plan, ProfilePlan, ServerPlan, sysbench};
use crate::protocol::job::{Dataset, Transport};
use crate::spec::{
    CpuSetSpec, Document, HardwareSpec, LoadSettingsSpec, PoolSizeSpec, ProfileSpec, SpecError,
    TransportSpec, WorkloadSpec,
};
use crate::workload::schema::{Layout, TableSchema};
use crate::workload::{Workload, WorkloadKind};

/// Parallel connections of a load when the profile names none.
const LOAD_THREADS: u32 = 8;
/// sysbench's tables take their character set from the server; one byte a character unless set otherwise.
const CHARACTER_SET: &str = "latin1";
/// Buffer pools are granted in whole MiB.
const MIB: u64 = 1 << 20;

/// Resolves two documents. Relative paths are taken from `working_dir`; `fresh_seed` is used when the
/// profile names no seed.
///
/// # Errors
/// When a server variable is one that drivestone must set itself, or when a run is to have more instances than
/// there are hosts.
pub fn resolve(
    hardware: &Document<HardwareSpec>,
    profile: &Document<ProfileSpec>,
    working_dir: &Path,
    fresh_seed: u64,
) -> Result<Plan, SpecError> {
    let spec = &profile.spec;
    refuse_own_variables(profile)?;
    let contents = Dataset {
        tables: spec.dataset.tables.get(),
        rows: spec.dataset.rows.get(),
        keys: spec.workload.distribution(),
        schema: schema(spec),
        seed: spec.dataset.seed.get(),
        page_bytes: spec.server.page_size.bytes(),
        character_set: character_set(spec),
    };
    let workload = workload(spec);
    let threads = spec.load.threads.iter().map(|threads| threads.get()).max().unwrap_or(1);
    let load_threads = spec.dataset.load_threads.map_or(LOAD_THREADS, |threads| threads.get());
    let (buffer_pool_bytes, buffer_pool_origin) = pool(hardware, profile, dataset_bytes(&contents));
    let log_bytes = spec.server.log_file_size.bytes();
    // A new connection may come before the server has let go of the old one.
    let connections_each = if spec.load.reconnect_every.is_some() { 2 } else { 1 };
    let figures = ServerFigures {
        buffer_pool_bytes,
        log_bytes,
        page_bytes: contents.page_bytes,
        connections: connections_each * threads.max(load_threads),
        tables: contents.tables,
        prepared_statements: workload.prepared_statements() * u64::from(connections_each * threads),
    };
    let options = options::options(&figures, &spec.server.variables);
    let mut estimate = estimate(&contents, &workload, buffer_pool_bytes, log_bytes, load_threads);
    let mut load_options = BTreeMap::new();
    if loads_apart(spec, estimate.dataset_bytes) {
        load_options = load_options::load_options(&options);
        // It has no doublewrite buffer.
        estimate.load_write_bytes = estimate.load_write_bytes.saturating_sub(estimate.dataset_bytes);
    }
    let fleet = fleet::fleet(&hardware.spec, spec);
    let runs = load::runs(hardware, profile, fleet.instances.len(), fresh_seed)?;
    let mut plan = Plan {
        format: PLAN_FORMAT,
        drivestone: env!("CARGO_PKG_VERSION").to_owned(),
        estimate,
        hardware: hardware_plan(hardware, working_dir),
        profile: profile_plan(profile),
        dataset: DatasetPlan { contents, load_threads, load_options },
        workload,
        load: load::load(spec, &hardware.spec.cpus),
        server: ServerPlan {
            program: hardware.spec.server.program.as_ref().map(|program| absolute(working_dir, program)),
            account: hardware.spec.server.account.clone(),
            transport: match spec.server.transport {
                TransportSpec::Socket => Transport::Socket,
                TransportSpec::Tcp => Transport::Tcp,
            },
            buffer_pool_bytes,
            buffer_pool_origin,
            buffer_pool_from_profile: spec.server.buffer_pool.is_some(),
            options,
            cpus: hardware.spec.cpus.server.as_ref().map(CpuSetSpec::numbers).unwrap_or_default(),
        },
        runs,
        fleet,
        allow_cached: spec.allow_cached,
    };
    sysbench::write_commands(&mut plan);
    Ok(plan)
}

/// Whether a server of its own loads the dataset.
fn loads_apart(spec: &ProfileSpec, dataset_bytes: u64) -> bool {
    match spec.dataset.load_settings {
        Some(LoadSettingsSpec::Fast) => true,
        Some(LoadSettingsSpec::Measured) => false,
        None => spec.dataset.rows.get() > 0 && dataset_bytes >= load_options::WORTH_BYTES,
    }
}

/// The transaction in plain numbers. `bulk_insert` addresses nothing.
fn workload(spec: &ProfileSpec) -> Workload {
    let WorkloadSpec { kind, table_size, skip_trx, prepared, .. } = &spec.workload;
    let table_size = table_size.map_or(spec.dataset.rows.get(), |size| size.get()).max(1);
    let defaults = Workload::new(*kind, spec.dataset.tables.get(), table_size, spec.workload.distribution());
    Workload {
        repeats: spec.workload.repeats(),
        range_size: spec.workload.range_size.map_or(defaults.range_size, |n| n.get()),
        random_points: spec.workload.random_points.map_or(defaults.random_points, |n| n.get()),
        number_of_ranges: spec.workload.number_of_ranges.map_or(defaults.number_of_ranges, |n| n.get()),
        delta: spec.workload.delta.map_or(defaults.delta, |n| n.get()),
        transaction: defaults.transaction && *skip_trx != Some(true),
        auto_inc: spec.dataset.auto_inc,
        prepared: defaults.prepared && *prepared != Some(false),
        ..defaults
    }
}

fn schema(spec: &ProfileSpec) -> TableSchema {
    let kind = spec.workload.kind;
    let layout = match kind {
        WorkloadKind::BulkInsert => Layout::Bulk,
        _ if kind.is_04() => Layout::Sysbench04,
        _ => Layout::Sysbench10,
    };
    let addressed = spec.workload.table_size.map_or(0, |size| size.get());
    TableSchema {
        layout,
        auto_inc: spec.dataset.auto_inc && layout != Layout::Bulk,
        secondary: spec.dataset.secondary,
        create_secondary: spec.dataset.create_secondary && layout != Layout::Bulk,
        wide: TableSchema::needs_wide(spec.dataset.rows.get().max(addressed)),
    }
}

fn hardware_plan(hardware: &Document<HardwareSpec>, working_dir: &Path) -> HardwarePlan {
    let HardwareSpec { name, device, platform, .. } = &hardware.spec;
    HardwarePlan {
        name: name.clone(),
        file: hardware.source.file().to_owned(),
        target: absolute(working_dir, &device.path),
        create_target: device.create,
        required_bytes: device.required_space.map_or(0, |space| space.bytes()),
        device: device.facts.clone(),
        platform: platform.clone(),
    }
}

fn profile_plan(profile: &Document<ProfileSpec>) -> ProfilePlan {
    let overrides = profile.spec.overrides.iter();
    ProfilePlan {
        name: profile.spec.name.clone(),
        file: profile.source.file().to_owned(),
        description: profile.spec.description.clone(),
        overrides: overrides
            .map(|(key, value)| Override { key: key.clone(), value: value.clone() })
            .collect(),
    }
}

/// A path as seen from the working directory, without `.` in it.
fn absolute(working_dir: &Path, path: &str) -> String {
    let path: PathBuf = working_dir.join(path).components().collect();
    path.display().to_string()
}

/// Size of the buffer pool and where it comes from. A profile's own size comes before the hardware's.
fn pool(
    hardware: &Document<HardwareSpec>,
    profile: &Document<ProfileSpec>,
    dataset_bytes: u64,
) -> (u64, String) {
    // A value given by --set is placed there.
    let (spec, file) = match &profile.spec.server.buffer_pool {
        Some(pool) => (pool, profile.source.place("server.buffer_pool").file),
        None => (&hardware.spec.memory.buffer_pool, hardware.source.file().to_owned()),
    };
    match spec {
        PoolSizeSpec::Fixed(size) => (size.bytes(), format!("{size} from {file}")),
        PoolSizeSpec::OfDataset(percent) => {
            let bytes = (dataset_bytes as f64 * percent / 100.0) as u64;
            (bytes.next_multiple_of(MIB), format!("{percent} % of the dataset, from {file}"))
        }
    }
}

fn character_set(spec: &ProfileSpec) -> String {
    let named = spec.server.variables.get("character_set_server");
    named.cloned().unwrap_or_else(|| CHARACTER_SET.to_owned())
}

fn refuse_own_variables(profile: &Document<ProfileSpec>) -> Result<(), SpecError> {
    for (name, value) in &profile.spec.server.variables {
        if let Some(instead) = options::set_by_drivestone(name, value) {
            let field = format!("server.variables.{name}");
            return Err(SpecError::Refused {
                place: Box::new(profile.source.place(&field)),
                message: format!("`{name}` is set by drivestone; {instead}"),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{FleetPlan, LossPolicy, Reach};
    use crate::spec::{parse_hardware, parse_profile};

    fn documents(variables: &str, overrides: &[&str]) -> (Document<HardwareSpec>, Document<ProfileSpec>) {
        let hardware = parse_hardware(
            "h.yaml",
            "name: h\ndescription: d\ndevice:\n  path: ./data\nmemory:\n  buffer_pool: 10%\n",
        );
        let overrides: Vec<String> = overrides.iter().map(|&o| o.to_owned()).collect();
        let profile = format!(
            "name: p\ndescription: d\nworkload:\n  kind: oltp_read_write\n  keys: uniform\n\
             dataset:\n  tables: 10\n  rows: 100000\nload:\n  threads: 32\n  warmup: 5s\n  duration: 10s\n\
             server:\n  variables: {{{variables}}}\n"
        );
        (hardware.unwrap(), parse_profile("p.yaml", &profile, &overrides).unwrap())
    }

    #[test]
    fn nothing_is_optional_any_more() {
        let (hardware, profile) = documents("innodb_io_capacity: 77", &["threads=64"]);
        let plan = resolve(&hardware, &profile, Path::new("/srv/lab"), 9).unwrap();
        assert_eq!(plan.hardware.target, "/srv/lab/data");
        assert_eq!(plan.runs[0].threads, 64);
        assert_eq!(plan.profile.overrides[0].key, "load.threads");
        assert_eq!((plan.runs[0].seed, plan.workload.table_size), (9, 100_000));
        assert_eq!(plan.server.options["innodb_io_capacity"], "77");
        assert_eq!(plan.server.buffer_pool_bytes % MIB, 0);
        let ratio = plan.estimate.dataset_bytes as f64 / plan.server.buffer_pool_bytes as f64;
        assert!((9.0..10.1).contains(&ratio), "{ratio}");
    }

    #[test]
    fn what_drivestone_sets_cannot_be_set() {
        let (hardware, profile) = documents("datadir: /tmp", &[]);
        let error = resolve(&hardware, &profile, Path::new("/"), 1).unwrap_err();
        assert!(error.to_string().contains("`datadir` is set by drivestone"), "{error}");
    }

    #[test]
    fn rows_loaded_and_ids_addressed_are_separate() {
        let (hardware, profile) = documents("", &["rows=1", "table_size=200000"]);
        let plan = resolve(&hardware, &profile, Path::new("/"), 1).unwrap();
        assert_eq!((plan.dataset.contents.rows, plan.workload.table_size), (1, 200_000));
        let (hardware, profile) = documents("", &["rows=3000000000", "tables=1"]);
        let plan = resolve(&hardware, &profile, Path::new("/"), 1).unwrap();
        assert!(plan.dataset.contents.schema.wide);
    }

    #[test]
    fn threads_and_counts_make_a_run_each() {
        let (hardware, profile) = documents("", &["threads=[1, 8, 32]"]);
        let plan = resolve(&hardware, &profile, Path::new("/"), 1).unwrap();
        assert_eq!(plan.runs.iter().map(|run| run.threads).collect::<Vec<_>>(), [1, 8, 32]);
        assert_eq!(plan.server.options["max_connections"], "48");
    }

    fn on(hardware: &str, counts: &str) -> Result<Plan, SpecError> {
        let text =
            "name: h\ndescription: d\ndevice:\n  path: /mnt/dut\nmemory:\n  buffer_pool: 10%\n".to_owned();
        let hardware = parse_hardware("h.yaml", &(text + hardware)).unwrap();
        let (_, profile) = documents("", &[counts, "on_loss=continue"]);
        resolve(&hardware, &profile, Path::new("/"), 7)
    }

    const HOSTS: &str = "instances:\n  hosts: [a, b, c, d]\n";

    #[test]
    fn a_run_for_each_count_and_one_seed() {
        let plan = on(HOSTS, "counts=4,1,2").unwrap();
        let runs: Vec<(u32, u64)> = plan.runs.iter().map(|run| (run.instances, run.seed)).collect();
        assert_eq!(runs, [(4, 7), (1, 7), (2, 7)]);
        assert_eq!(plan.fleet.on_loss, LossPolicy::Continue);
        assert!(plan.fleet.instances.iter().all(|instance| instance.reach == Reach::Ssh));
        let (hardware, profile) = documents("", &[]);
        let local = resolve(&hardware, &profile, Path::new("/"), 7).unwrap();
        assert_eq!((local.runs[0].instances, local.fleet), (1, FleetPlan::local()));
    }

    #[test]
    fn machines_go_round_the_hypervisors() {
        let (_, profile) = documents("", &[]);
        let hardware = include_str!("../../hardware/dell-r730-cluster.yaml");
        let hardware = parse_hardware("h.yaml", hardware).unwrap();
        let plan = resolve(&hardware, &profile, Path::new("/"), 7).unwrap();
        let hypervisors: Vec<usize> = plan
            .fleet
            .instances
            .iter()
            .map(|instance| match instance.reach {
                Reach::Libvirt { hypervisor } => hypervisor,
                _ => panic!("{instance:?}"),
            })
            .collect();
        assert_eq!(hypervisors, [0, 1, 2, 3].repeat(4));
        assert_eq!((plan.fleet.instances[15].host.as_str(), plan.runs[0].instances), ("vm16", 16));
    }

    #[test]
    fn hosts_that_no_run_needs_are_left_alone() {
        let fleet = on(HOSTS, "counts=1,3").unwrap().fleet;
        let hosts: Vec<&str> = fleet.instances.iter().map(|instance| instance.host.as_str()).collect();
        assert_eq!(hosts, ["a", "b", "c"]);
    }

    #[test]
    fn no_more_instances_than_hosts() {
        let messages =
            [on(HOSTS, "counts=2,8"), on("", "counts=4"), on("instances: {hosts: [a]}\n", "counts=2")]
                .map(|plan| plan.unwrap_err().to_string());
        insta::assert_snapshot!(messages.join("\n"));
    }

    #[test]
    fn a_plan_survives_its_file() {
        let (hardware, profile) = documents("", &[]);
        let plan = resolve(&hardware, &profile, Path::new("/"), u64::MAX).unwrap();
        let read: Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
        assert_eq!(read, plan);
    }
}

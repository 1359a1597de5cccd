//! Looking at the host before anything is created.

use std::path::Path;

use crate::protocol::Event;
use crate::protocol::facts::{HostFacts, ServerFacts};
use crate::protocol::job::ProbeJob;
use crate::server::folder::DatasetFolder;
use crate::server::{account, find};
use crate::telemetry::{host, target};

/// Everything that preflight asks about. Creates nothing.
pub fn probe(job: &ProbeJob) -> Event {
    let server = find::facts(job.server_program.as_deref(), job.account.as_deref());
    let account = account::choose(job.account.as_deref()).ok().flatten();
    let target = target::inspect(Path::new(&job.target), account.map(|a| (a.uid, a.gid)));
    let series = match &server {
        ServerFacts::Found { version, .. } => Some(find::series(version)),
        ServerFacts::Missing { .. } => None,
    };
    let folder = DatasetFolder::new(Path::new(&target.path), &job.dataset);
    Event::Probed(Box::new(HostFacts {
        hostname: host::hostname(),
        kernel: host::kernel(),
        architecture: host::architecture(),
        os: host::os(),
        cpu_model: host::cpu_model(),
        cpus: host::cpus(),
        memory_bytes: host::memory_bytes(),
        memory_available_bytes: host::memory_available_bytes(),
        uid: nix::unistd::geteuid().as_raw(),
        dataset: folder.state(&job.dataset, series.as_deref()),
        target,
        server,
    }))
}

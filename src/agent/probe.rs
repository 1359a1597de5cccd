//! Looking at the host before anything is created.

use std::path::Path;

use super::limits::open_files;
use crate::protocol::Event;
use crate::protocol::facts::ServerFacts;
use crate::protocol::job::ProbeJob;
use crate::server::folder::{DatasetFolder, allocated_bytes};
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
    let state = folder.state(&job.dataset, series.as_deref());
    let bytes = allocated_bytes(folder.root());
    let socket_path = folder.socket_path().display().to_string();
    let journal_mount = job.result.as_ref().and_then(|folder| target::inspect(Path::new(folder), None).mount);
    Event::Probed(Box::new(host::facts(
        target,
        server,
        state,
        bytes,
        socket_path,
        open_files(),
        journal_mount,
    )))
}

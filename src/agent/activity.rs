//! The activities that come and go: preparing, loading, sampling.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::keeper::{Served, SharedServed};
use super::outbox::Outbox;
use super::sampling;
use crate::load::drive::Drive;
use crate::load::prepare::Prepare;
use crate::load::settle;
use crate::protocol::Event;
use crate::protocol::clock::monotonic_ns;
use crate::protocol::event::Settled;
use crate::protocol::facts::DatasetManifest;
use crate::protocol::job::{LoadJob, ObserveJob, PrepareJob, SettleJob, StartJob};
use crate::server::access::Address;
use crate::telemetry::sampler::Watched;
use crate::telemetry::{health, host};

/// Progress is reported no more often than this.
const PROGRESS_NS: u64 = 250_000_000;
/// Longest wait for what drives tell of their health.
const HEALTH_LIMIT: Duration = Duration::from_secs(8);
/// The same when somebody waits for the end.
const HASTY_HEALTH_LIMIT: Duration = Duration::from_secs(1);

/// Threads that sample, and the flag that ends them. Clones share both.
#[derive(Clone, Default)]
struct Samplers {
    stop: Arc<AtomicBool>,
    threads: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl Samplers {
    fn spawn(&self, sample: impl FnOnce(&AtomicBool) + Send + 'static) {
        let stop = Arc::clone(&self.stop);
        let thread = thread::spawn(move || sample(&stop));
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
    }

    /// Has each take its last sample, and waits for it. Whether there was any.
    fn finish(&self) -> bool {
        self.stop.store(true, Ordering::Release);
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        let were_any = !threads.is_empty();
        for thread in threads {
            let _ = thread.join();
        }
        were_any
    }
}

/// What runs now.
pub struct Activities {
    outbox: Outbox,
    served: SharedServed,
    /// Ends preparation and load.
    stop: Arc<AtomicBool>,
    samplers: Samplers,
    /// What an observer watches.
    observed: Option<PathBuf>,
    load_start: Option<Sender<StartJob>>,
    /// Ids that load threads have chosen on this host's server.
    chosen_ids: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Activities {
    /// Nothing runs yet.
    pub fn new(outbox: Outbox, served: SharedServed) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        Self {
            outbox,
            served,
            stop,
            samplers: Samplers::default(),
            observed: None,
            load_start: None,
            chosen_ids: Arc::default(),
            threads: Vec::new(),
        }
    }

    /// Loads or reuses the dataset.
    pub fn prepare(&mut self, job: PrepareJob) {
        let Some(served) = self.running_server("prepare") else { return };
        let (outbox, stop) = (self.outbox.clone(), self.begin());
        self.threads.push(thread::spawn(move || prepare(&job, &served, &outbox, &stop)));
    }

    /// Lets the server come to rest.
    pub fn settle(&mut self, job: SettleJob) {
        let Some(served) = self.running_server("settle") else { return };
        let (outbox, stop) = (self.outbox.clone(), self.begin());
        self.threads.push(thread::spawn(move || {
            outbox.send(match settle(&job, &served, &stop) {
                Ok(settled) => Event::Settled(settled),
                Err(error) => {
                    Event::ActivityFailed { reason: format!("cannot let the server settle: {error}") }
                }
            });
        }));
    }

    /// Connects load threads; they wait for `start`.
    pub fn load(&mut self, job: LoadJob) {
        let Some(served) = self.running_server("load") else { return };
        count_run(&served, &self.outbox);
        let (outbox, stop) = (self.outbox.clone(), self.begin());
        let (sender, start) = channel();
        self.load_start = Some(sender);
        self.samplers = Samplers::default();
        let samplers = self.samplers.clone();
        let chosen_ids = Arc::clone(&self.chosen_ids);
        self.threads.push(thread::spawn(move || {
            tell_health(&served.target, HEALTH_LIMIT, &outbox);
            let drive = Drive {
                job: &job,
                access: &served.access,
                start: &start,
                stop: &stop,
                chosen_ids: &chosen_ids,
                emit: &|event| {
                    if let Event::LoadEnded(ended) = &event {
                        note_rows(&served, ended.rows_added, &outbox);
                        let is_cut_short = stop.load(Ordering::Acquire);
                        let limit = if is_cut_short { HASTY_HEALTH_LIMIT } else { HEALTH_LIMIT };
                        // It belongs to the run, which is over once all loads have said that they are.
                        tell_health(&served.target, limit, &outbox);
                    }
                    outbox.send(event);
                },
                // The last samples belong to the interval, and so come before its end is told.
                interval_over: &|| {
                    samplers.finish();
                },
            };
            let ended = drive.run();
            samplers.finish();
            if let Err(error) = ended {
                outbox.send(Event::LoadFailed { reason: error.to_string() });
            }
        }));
    }

    /// Finds the device that an observer watches from the next start on.
    pub fn observe(&mut self, job: &ObserveJob) {
        let path = PathBuf::from(&job.device);
        self.outbox.send(match host::observer_facts(&path) {
            Some(facts) => Event::Observing(Box::new(facts)),
            None => {
                let reason = format!("{} is not a block device and is not on one", job.device);
                Event::ActivityFailed { reason }
            }
        });
        self.observed = Some(path);
    }

    /// Lets load threads and samplers go.
    pub fn start(&mut self, job: StartJob) {
        if let Some(device) = self.observed.clone() {
            self.samplers.finish();
            self.samplers = Samplers::default();
            self.begin_health_of(&device);
            let outbox = self.outbox.clone();
            self.samplers.spawn(move |stop| sampling::host(&device, Watched::default(), &job, &outbox, stop));
            return;
        }
        let Some(served) = self.running_server("start") else { return };
        let (target, outbox) = (served.target.clone(), self.outbox.clone());
        let watched = Watched {
            server: Some(Arc::clone(&served.pid)),
            loopback: matches!(served.access.address(), Address::Loopback(_)),
        };
        self.samplers.spawn(move |stop| sampling::host(&target, watched, &job, &outbox, stop));
        let outbox = self.outbox.clone();
        self.samplers.spawn(move |stop| sampling::server(&served, &job, &outbox, stop));
        if let Some(load) = self.load_start.take() {
            let _ = load.send(job);
        }
    }

    /// Ends everything. What was measured has been sent.
    pub fn stop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(device) = self.observed.clone()
            && self.samplers.finish()
        {
            self.begin_health_of(&device);
        }
        self.load_start = None;
    }

    /// Has an observer tell of its drives, while it goes on.
    fn begin_health_of(&mut self, device: &Path) {
        let (device, outbox) = (device.to_path_buf(), self.outbox.clone());
        self.threads.push(thread::spawn(move || tell_health(&device, HEALTH_LIMIT, &outbox)));
    }

    /// Ends everything and waits for it, but no longer than told.
    pub fn stop_and_wait(&mut self, patience: Duration) {
        self.stop();
        let deadline = Instant::now() + patience;
        while self.threads.iter().any(|thread| !thread.is_finished()) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// A fresh stop flag once earlier activities are over.
    fn begin(&mut self) -> Arc<AtomicBool> {
        self.stop.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        self.stop = Arc::new(AtomicBool::new(false));
        Arc::clone(&self.stop)
    }

    fn running_server(&self, activity: &str) -> Option<Served> {
        let served = self.served.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if served.is_none() {
            let reason = format!("cannot {activity}: no server is running");
            self.outbox.send(Event::ActivityFailed { reason });
        }
        served
    }
}

/// Tells what the drives below a directory or device say of their wear and health.
fn tell_health(target: &Path, limit: Duration, outbox: &Outbox) {
    outbox.send(Event::Health(health::read(target, limit)));
}

fn prepare(job: &PrepareJob, served: &Served, outbox: &Outbox, stop: &AtomicBool) {
    let last = Mutex::new(None);
    let next_report_ns = AtomicU64::new(0);
    let preparation = Prepare {
        dataset: &job.dataset,
        threads: job.threads,
        access: &served.access,
        folder: &served.folder,
        server_series: &served.series,
        apart: job.apart,
        stop,
        warn: &|text| outbox.send(Event::Warning { text }),
        progress: &|step, done, total| {
            let now = monotonic_ns().unsigned_abs();
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            let new_step = last.replace(step) != Some(step);
            if new_step || done == total || now >= next_report_ns.load(Ordering::Relaxed) {
                next_report_ns.store(now + PROGRESS_NS, Ordering::Relaxed);
                outbox.send(Event::PrepareProgress { step, done, total });
            }
        },
    };
    outbox.send(match preparation.run() {
        Ok((manifest, reused)) => {
            if job.apart && !reused {
                let mut unconfirmed = served.unconfirmed.lock().unwrap_or_else(PoisonError::into_inner);
                *unconfirmed = Some(manifest.clone());
            }
            Event::Prepared { manifest, reused, file_bytes: served.folder.table_bytes() }
        }
        Err(error) => Event::PrepareFailed { reason: error.to_string() },
    });
}

fn settle(job: &SettleJob, served: &Served, stop: &AtomicBool) -> Result<Settled, mysql::Error> {
    let began = Instant::now();
    let mut connection = mysql::Conn::new(served.access.options(8))?;
    let left = settle::settle(&mut connection, job, stop, &mut |_| {})?;
    Ok(Settled {
        waited_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        dirty_pages: left.dirty_pages,
        history: left.history,
        file_bytes: served.folder.table_bytes(),
    })
}

/// Notes in the manifest that one more run changes the dataset. Done before the load is ready: writing
/// to the device under test takes time.
fn count_run(served: &Served, outbox: &Outbox) {
    change_manifest(served, outbox, |manifest| manifest.runs_since += 1);
}

/// Notes in the manifest what a run added or removed.
fn note_rows(served: &Served, rows_added: i64, outbox: &Outbox) {
    if rows_added != 0 {
        change_manifest(served, outbox, |manifest| {
            manifest.rows_added = manifest.rows_added.saturating_add(rows_added);
            manifest.rows_changed = manifest.rows_changed.saturating_add(rows_added.unsigned_abs());
        });
    }
}

fn change_manifest(served: &Served, outbox: &Outbox, change: impl FnOnce(&mut DatasetManifest)) {
    let changed = served.folder.manifest().and_then(|manifest| match manifest {
        Some(mut manifest) => {
            change(&mut manifest);
            served.folder.write_manifest(&manifest)
        }
        None => Ok(()),
    });
    if let Err(error) = changed {
        let text = format!("this run could not be counted in the manifest: {error}");
        outbox.send(Event::Warning { text });
    }
}

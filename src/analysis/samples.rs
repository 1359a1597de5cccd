//! Samples as the analysis keeps them: many hosts over hours must fit in memory.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::protocol::sample::{HostSample, ServerSample};

/// Kernel samples of a host, of its headline device alone.
#[derive(Default)]
pub struct HostSamples {
    /// `major:minor` of the headline device: the one mounted at the data directory; the first one
    /// sampled, when nobody probed.
    pub device: Option<String>,
    /// In the order of the journal.
    pub samples: Vec<HostSample>,
}

impl HostSamples {
    /// None yet, of a device if it is known.
    pub fn of(device: Option<String>) -> Self {
        Self { device, samples: Vec::new() }
    }

    /// Keeps a sample, without the devices below the headline device.
    pub fn push(&mut self, mut sample: HostSample) {
        let first = || sample.disks.first().map(|disk| disk.number.clone());
        let device = self.device.take().or_else(first);
        sample.disks.retain(|disk| Some(&disk.number) == device.as_ref());
        sample.disks.shrink_to_fit();
        self.device = device;
        self.samples.push(sample);
    }

    /// Name of the headline device, once it was sampled.
    pub fn device_name(&self) -> Option<&str> {
        let disk = self.samples.iter().find_map(|sample| sample.disks.first());
        disk.map(|disk| disk.name.as_str())
    }
}

/// Counters of which one that goes back tells that the server was started anew.
const ONLY_GROW: [&str; 3] = ["Innodb_buffer_pool_read_requests", "Innodb_data_written", "Questions"];

/// Server counters at a moment. Samples in a row share the names.
pub struct ServerMoment {
    /// The moment, ns of the host's monotonic clock.
    pub at_ns: i64,
    /// How often the server had been started anew since the first sample, as far as samples tell.
    pub restarts: u32,
    names: Rc<[String]>,
    values: Box<[i64]>,
}

impl ServerMoment {
    /// A sample, sharing names with the one before.
    pub fn after(before: Option<&Self>, sample: ServerSample) -> Self {
        let ServerSample { at_ns, counters } = sample;
        let same = |names: &&Rc<[String]>| names.iter().eq(counters.keys());
        let names = before.map(|before| &before.names).filter(same).cloned();
        let names = names.unwrap_or_else(|| counters.keys().cloned().collect());
        let went_back = |name: &str| {
            let then = before.and_then(|before| before.value(name));
            then.zip(counters.get(name)).is_some_and(|(then, now)| *now < then)
        };
        let anew = u32::from(ONLY_GROW.iter().any(|name| went_back(name)));
        let restarts = before.map_or(0, |before| before.restarts.saturating_add(anew));
        Self { at_ns, restarts, names, values: BTreeMap::into_values(counters).collect() }
    }

    /// A counter or gauge; `None` when the server lacks it.
    pub fn value(&self, name: &str) -> Option<i64> {
        let place = self.names.binary_search_by(|known| known.as_str().cmp(name)).ok()?;
        self.values.get(place).copied()
    }
}

//! Samples as the analysis keeps them: many hosts over hours must fit in memory.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::protocol::sample::{DiskCounters, HostSample, ServerSample};

/// Kernel samples of a host.
#[derive(Default)]
pub struct HostSamples {
    /// `major:minor` of the headline device: the one mounted at the data directory; the first one
    /// sampled, when nobody probed.
    pub device: Option<String>,
    /// In the order of the journal.
    pub samples: Vec<HostMoment>,
}

/// A kernel sample. Samples in a row share their names.
pub struct HostMoment {
    /// The sample, its devices and its interface without their names.
    pub sample: HostSample,
    names: Rc<Names>,
}

/// What is named in a sample.
#[derive(PartialEq)]
struct Names {
    /// Number and name of each device, in the sample's order.
    devices: Vec<(String, String)>,
    interface: Option<String>,
}

impl HostSamples {
    /// None yet, of a device if it is known.
    pub fn of(device: Option<String>) -> Self {
        Self { device, samples: Vec::new() }
    }

    /// Keeps a sample.
    pub fn push(&mut self, sample: HostSample) {
        if self.device.is_none() {
            self.device = sample.disks.first().map(|disk| disk.number.clone());
        }
        self.samples.push(HostMoment::after(self.samples.last(), sample));
    }

    /// Name of the headline device, once it was sampled.
    pub fn device_name(&self) -> Option<&str> {
        let number = self.device.as_deref()?;
        self.samples.iter().find_map(|moment| Some(moment.disk(number)?.0))
    }
}

impl HostMoment {
    fn after(before: Option<&Self>, mut sample: HostSample) -> Self {
        let take =
            |disk: &mut DiskCounters| (std::mem::take(&mut disk.number), std::mem::take(&mut disk.name));
        let names = Names {
            devices: sample.disks.iter_mut().map(take).collect(),
            interface: sample.network.as_mut().map(|network| std::mem::take(&mut network.interface)),
        };
        sample.disks.shrink_to_fit();
        sample.io.shrink_to_fit();
        sample.frequency_khz.shrink_to_fit();
        let shared = before.map(|before| &before.names).filter(|before| ***before == names).cloned();
        Self { sample, names: shared.unwrap_or_else(|| Rc::new(names)) }
    }

    /// Name and counters of the device with this number.
    pub fn disk(&self, number: &str) -> Option<(&str, &DiskCounters)> {
        let place = self.names.devices.iter().position(|(own, _)| own == number)?;
        Some((&self.names.devices[place].1, self.sample.disks.get(place)?))
    }

    /// Number and name of each device that was sampled.
    pub fn devices(&self) -> impl Iterator<Item = (&str, &str)> {
        self.names.devices.iter().map(|(number, name)| (number.as_str(), name.as_str()))
    }

    /// Name of the interface that was sampled.
    pub fn interface(&self) -> Option<&str> {
        self.names.interface.as_deref()
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

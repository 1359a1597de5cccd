//! The headline device, what lies below it, and how bytes multiply on the way down.

use std::collections::BTreeMap;

use serde::Serialize;

use super::gather::GatheredHost;
use super::samples::HostMoment;
use super::window::Ends;
use crate::protocol::facts::{DeviceFacts, DeviceKind};
use crate::stats::device::{DeviceRates, device_rates};

/// A headline device and every device below it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct StackAnalysis {
    /// The headline device first, then level by level. Empty when there is none, or it was not sampled.
    pub layers: Vec<LayerAnalysis>,
    /// Bytes that all leaves read for each byte read at the headline device; `None` when nothing lies below it, or
    /// one of them is not known.
    pub read_multiplication: Option<f64>,
    /// The same of writes.
    pub write_multiplication: Option<f64>,
}

/// One device of a stack, over the interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LayerAnalysis {
    /// Name in `/proc/diskstats`.
    pub name: String,
    /// `major:minor`.
    pub number: String,
    /// What it is; `None` when nobody looked.
    pub kind: Option<DeviceKind>,
    /// What it is in its own layer's words, such as the level of a RAID.
    pub detail: Option<String>,
    /// Levels below the headline device, which has 0.
    pub depth: usize,
    /// Nothing lies below it, as far as the kernel knows; `None` when nobody looked.
    pub is_leaf: Option<bool>,
    /// It was no longer there at the end of the interval, or the agent said that it vanished.
    pub vanished: bool,
    /// iostat's columns; `None` without two samples of it.
    pub rates: Option<DeviceRates>,
    /// Bytes that it read for each byte read at the headline device.
    pub read_multiplication: Option<f64>,
    /// The same of writes.
    pub write_multiplication: Option<f64>,
}

impl StackAnalysis {
    /// Devices below the headline device.
    pub fn below(&self) -> &[LayerAnalysis] {
        self.layers.get(1..).unwrap_or_default()
    }
}

/// The stack of a host, between two samples; `gone` are the devices that it saw vanish, by name.
pub fn analyze_stack(
    gone: &[String],
    known: Option<&GatheredHost>,
    ends: Option<&Ends<HostMoment>>,
) -> StackAnalysis {
    let facts = known.map(GatheredHost::devices).unwrap_or_default();
    let mut layers = if facts.is_empty() { sampled_layers(ends) } else { probed_layers(facts) };
    for layer in &mut layers {
        let Some(ends) = ends else { continue };
        let disk = ends.disk(&layer.number);
        layer.rates = disk.and_then(|(first, last)| device_rates(first, last, ends.elapsed_ns()));
        let (then, now) = (ends.first.disk(&layer.number), ends.last.disk(&layer.number));
        layer.vanished = (then.is_some() && now.is_none()) || gone.contains(&layer.name);
    }
    let Some(headline) = layers.first().and_then(|headline| headline.rates) else {
        return StackAnalysis { layers, ..StackAnalysis::default() };
    };
    for layer in layers.iter_mut().skip(1) {
        layer.read_multiplication = multiplication(layer.rates, headline, |rates| rates.read_kb_per_s);
        layer.write_multiplication = multiplication(layer.rates, headline, |rates| rates.write_kb_per_s);
    }
    // Unknown of one is unknown of all, and so it is when nobody looked what lies below what.
    let leaves = || layers.iter().filter(|layer| layer.is_leaf != Some(false));
    let all = |of: fn(&LayerAnalysis) -> Option<f64>| {
        let lie_below = leaves().next().is_some_and(|leaf| leaf.depth > 0);
        let looked = leaves().all(|leaf| leaf.is_leaf.is_some());
        leaves().map(of).sum::<Option<f64>>().filter(|_| lie_below && looked)
    };
    let read_multiplication = all(|leaf| leaf.read_multiplication);
    let write_multiplication = all(|leaf| leaf.write_multiplication);
    StackAnalysis { layers, read_multiplication, write_multiplication }
}

fn multiplication(own: Option<DeviceRates>, top: DeviceRates, bytes: fn(&DeviceRates) -> f64) -> Option<f64> {
    own.filter(|_| bytes(&top) > 0.0).map(|own| bytes(&own) / bytes(&top))
}

/// What a probe found, headline first.
fn probed_layers(facts: &[DeviceFacts]) -> Vec<LayerAnalysis> {
    let depths = depths(facts);
    let layer = |device: &DeviceFacts| LayerAnalysis {
        name: device.name.clone(),
        number: device.number.clone(),
        kind: Some(device.kind),
        detail: device.detail.clone(),
        depth: depths.get(device.number.as_str()).copied().unwrap_or(1),
        is_leaf: Some(device.below.is_empty()),
        ..LayerAnalysis::default()
    };
    facts.iter().map(layer).collect()
}

/// Levels below the first, by number: each as near to it as it lies.
fn depths(facts: &[DeviceFacts]) -> BTreeMap<&str, usize> {
    let mut depths = BTreeMap::new();
    let mut level: Vec<&str> = facts.first().map(|device| device.number.as_str()).into_iter().collect();
    for depth in 0..facts.len() {
        level.retain(|number| !depths.contains_key(number));
        level.iter().for_each(|number| {
            depths.insert(*number, depth);
        });
        let below = facts.iter().filter(|device| level.contains(&device.number.as_str()));
        level = below.flat_map(|device| device.below.iter().map(String::as_str)).collect();
    }
    depths
}

/// What was sampled, when nobody looked: the first is the headline device.
fn sampled_layers(ends: Option<&Ends<HostMoment>>) -> Vec<LayerAnalysis> {
    let devices = ends.into_iter().flat_map(|ends| ends.first.devices()).enumerate();
    let layer = |(place, (number, name)): (usize, (&str, &str))| LayerAnalysis {
        name: name.to_owned(),
        number: number.to_owned(),
        depth: usize::from(place > 0),
        ..LayerAnalysis::default()
    };
    devices.map(layer).collect()
}

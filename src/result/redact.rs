//! Results without the names of hosts and the serial numbers of drives, for publishing.
//!
//! Every name is replaced wherever it stands, also in the middle of a text, by one that is the same in all results
//! that are redacted together. What is replaced is read from the journals themselves: host names as ssh and the
//! hosts know them, hypervisors, servers of network filesystems, serial numbers and world-wide names.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::bundle::read_plan;
use super::import::read_import;
use super::reader::{JournalReader, journal_path};
use super::{COORDINATOR, Entry, Record, ResultError};
use crate::plan::{LOCAL, Plan, Reach};
use crate::protocol::Event;
use crate::protocol::facts::{DeviceFacts, DeviceKind, HostFacts, MountFacts};

/// Names that tell nothing of anybody.
const HARMLESS: [&str; 4] = ["", LOCAL, COORDINATOR, "localhost"];
/// A number of fewer digits is replaced in fields of its own kind alone: elsewhere it would be another number.
const TELLING_DIGITS: usize = 6;
/// Fields that hold a name and nothing else.
const NAME_FIELDS: [&str; 5] = ["serial", "wwid", "hostname", "host", "from"];

/// What stands for which name.
#[derive(Debug, Clone, Default)]
pub struct Redaction {
    /// In the order in which they were found.
    names: Vec<Name>,
}

#[derive(Debug, Clone)]
struct Name {
    found: String,
    kind: &'static str,
    shown: String,
}

impl Redaction {
    /// Finds the names in these results, given as folders or journals.
    ///
    /// # Errors
    /// When one is not a result that this version reads.
    pub fn of_results(results: &[impl AsRef<Path>]) -> Result<Self, ResultError> {
        let mut redaction = Self::default();
        for result in results {
            // What a log of another program tells of hosts is not known.
            if read_import(result.as_ref())?.is_none() {
                redaction.find_in_plan(&read_plan(result.as_ref())?.plan);
                for (entry, _) in JournalReader::open(&journal_path(result.as_ref()))? {
                    redaction.find_in_entry(&entry);
                }
            }
        }
        Ok(redaction)
    }

    /// Finds the names of drives.
    #[must_use]
    pub fn of_devices<'a>(devices: impl IntoIterator<Item = &'a DeviceFacts>) -> Self {
        let mut redaction = Self::default();
        redaction.find_in_devices(devices);
        redaction
    }

    /// Finds the name of a host.
    pub fn add_host(&mut self, name: &str) {
        self.add("host", name);
    }

    /// Finds the names of drives, and of the server of a network filesystem.
    pub fn add_mount(&mut self, mount: &MountFacts) {
        network_server(&mount.source).iter().for_each(|server| self.add_host(server));
        self.find_in_devices(&mount.devices);
    }

    /// A text without the names.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        let mut shown = String::with_capacity(text.len());
        let mut rest = text;
        let mut before = None;
        while let Some(next) = rest.chars().next() {
            // Within a word no name begins: most of a journal is long words, its histograms.
            let names = if is_apart(before) { self.names.as_slice() } else { &[] };
            let names = names.iter().filter(|name| name.is_telling() && name.begins(rest));
            let length = match names.max_by_key(|name| name.found.len()) {
                Some(name) => {
                    shown.push_str(&name.shown);
                    name.found.len()
                }
                None => {
                    shown.push(next);
                    next.len_utf8()
                }
            };
            before = rest[..length].chars().next_back();
            rest = &rest[length..];
        }
        shown
    }

    /// Anything stored, without the names in its texts.
    ///
    /// # Errors
    /// When a name is also a word of the journal's own, so that what is left cannot be read.
    pub fn apply<T: Serialize + DeserializeOwned>(&self, stored: &T) -> Result<T, serde_json::Error> {
        let mut value = serde_json::to_value(stored)?;
        self.redact("", &mut value);
        serde_json::from_value(value)
    }

    fn redact(&self, field: &str, value: &mut Value) {
        match value {
            Value::String(text) => {
                let whole =
                    self.names.iter().find(|name| NAME_FIELDS.contains(&field) && name.found == *text);
                *text = whole.map_or_else(|| self.text(text), |name| name.shown.clone());
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact(field, item)),
            Value::Object(fields) => fields.iter_mut().for_each(|(field, value)| self.redact(field, value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn add(&mut self, kind: &'static str, found: &str) {
        let found = found.trim();
        if HARMLESS.contains(&found) || self.names.iter().any(|name| name.found.eq_ignore_ascii_case(found)) {
            return;
        }
        let number = self.names.iter().filter(|name| name.kind == kind).count() + 1;
        self.names.push(Name { found: found.to_owned(), kind, shown: format!("{kind}-{number}") });
    }

    fn find_in_plan(&mut self, plan: &Plan) {
        // Machines made for a run are called by their number alone.
        let named = plan.fleet.instances.iter().filter(|instance| instance.reach == Reach::Ssh);
        named.for_each(|instance| self.add_host(&instance.host));
        plan.fleet.observers.iter().for_each(|observer| self.add_host(&observer.host));
        let hypervisors = plan.fleet.libvirt.iter().flat_map(|libvirt| &libvirt.hypervisors);
        hypervisors.filter_map(|uri| host_of(uri)).for_each(|host| self.add_host(host));
    }

    fn find_in_entry(&mut self, entry: &Entry) {
        match &entry.record {
            Record::Event(Event::Probed(facts)) => self.find_in_facts(facts),
            Record::Event(Event::Observing(facts)) => {
                self.add_host(&facts.hostname);
                self.find_in_devices(&facts.devices);
            }
            Record::Event(Event::ServerReady(ready)) => {
                if let Some(name) = ready.variables.get("hostname") {
                    self.add_host(name);
                }
            }
            _ => {}
        }
    }

    fn find_in_facts(&mut self, facts: &HostFacts) {
        self.add_host(&facts.hostname);
        let mounts = [&facts.target.mount, &facts.journal_mount];
        mounts.into_iter().flatten().for_each(|mount| self.add_mount(mount));
    }

    fn find_in_devices<'a>(&mut self, devices: impl IntoIterator<Item = &'a DeviceFacts>) {
        for device in devices {
            device.serial.iter().for_each(|serial| self.add("serial", serial));
            if let Some(wwid) = &device.wwid {
                self.add("wwid", wwid);
                // multipath and udev write the number without its kind, or with 3 or 0x before it.
                if let Some(number) =
                    ["naa.", "eui.", "t10.", "uuid."].iter().find_map(|kind| wwid.strip_prefix(kind))
                {
                    ["", "3", "0x"].iter().for_each(|before| self.add("wwid", &format!("{before}{number}")));
                }
            }
            // What the device mapper calls a disk of several paths is often its world-wide name.
            if device.kind == DeviceKind::Multipath {
                device.detail.iter().for_each(|name| self.add("wwid", name));
            }
        }
    }
}

impl Name {
    /// Whether a text that begins anew goes on with this name as a word of its own.
    fn begins(&self, rest: &str) -> bool {
        // Names of hosts are the same in capitals.
        let length = self.found.len();
        let is_it = rest.get(..length).is_some_and(|beginning| beginning.eq_ignore_ascii_case(&self.found));
        is_it && is_apart(rest[length..].chars().next())
    }

    fn is_telling(&self) -> bool {
        self.found.len() >= TELLING_DIGITS || self.found.chars().any(|c| !c.is_ascii_digit())
    }
}

/// Whether a word ends before this character, or begins behind it.
fn is_apart(neighbour: Option<char>) -> bool {
    !neighbour.is_some_and(char::is_alphanumeric)
}

/// The server that a filesystem comes from: of `server:/export`, `server:volume` and `//server/share`.
fn network_server(source: &str) -> Option<&str> {
    let server = match source.strip_prefix("//") {
        Some(share) => share.split('/').next()?,
        None => source.rsplit_once(':').filter(|(server, _)| !server.contains('/'))?.0,
    };
    Some(server.trim_matches(['[', ']'])).filter(|server| !server.is_empty())
}

/// The host in a connection URI such as `qemu+ssh://root@node1:22/system`.
fn host_of(uri: &str) -> Option<&str> {
    let authority = uri.split_once("://")?.1.split('/').next()?;
    let host = authority.rsplit('@').next()?;
    let host = match host.strip_prefix('[') {
        Some(address) => address.split(']').next()?,
        None => host.split(':').next()?,
    };
    Some(host).filter(|host| !host.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn redaction(names: &[(&'static str, &str)]) -> Redaction {
        let mut redaction = Redaction::default();
        names.iter().for_each(|(kind, name)| redaction.add(kind, name));
        redaction
    }

    #[test]
    fn names_are_replaced_as_words_and_the_longest_first() {
        let redaction = redaction(&[
            ("host", "db1"),
            ("host", "db1.lab.example"),
            ("serial", "S4EW 0R"),
            ("host", "db1"),
        ]);
        let shown =
            redaction.text("db1: db1.lab.example, /dev/disk/by-id/nvme_S4EW 0R-part1, db12, xdb1, db1");
        assert_eq!(shown, "host-1: host-2, /dev/disk/by-id/nvme_serial-1-part1, db12, xdb1, host-1");
        assert_eq!(redaction.text("–db1–ü"), "–host-1–ü");
        assert_eq!(redaction.text("DB1"), "host-1");
    }

    #[test]
    fn a_world_wide_name_is_known_in_every_spelling() {
        let path = DeviceFacts { wwid: Some("naa.600a0980383".into()), ..DeviceFacts::default() };
        let redaction = Redaction::of_devices([&path]);
        let shown = redaction.text("naa.600a0980383 /dev/mapper/3600a0980383 wwn-0x600a0980383 600A0980383");
        assert_eq!(shown, "wwid-1 /dev/mapper/wwid-3 wwn-wwid-4 wwid-2");
    }

    #[test]
    fn a_short_number_is_replaced_in_its_own_field_alone() {
        let redaction = redaction(&[("serial", "1")]);
        let devices = vec![DeviceFacts {
            serial: Some("1".into()),
            detail: Some("1".into()),
            name: "sd1".into(),
            ..DeviceFacts::default()
        }];
        let shown = redaction.apply(&devices).unwrap();
        assert_eq!((shown[0].serial.as_deref(), shown[0].detail.as_deref()), (Some("serial-1"), Some("1")));
        assert_eq!(redaction.text("innodb_doublewrite=1"), "innodb_doublewrite=1");
    }

    #[test]
    fn names_that_tell_nothing_stay() {
        let redaction =
            redaction(&[("host", "local"), ("host", ""), ("host", "localhost"), ("host", " db1 ")]);
        assert_eq!(redaction.text("local coordinator localhost db1"), "local coordinator localhost host-1");
    }

    #[test]
    fn a_name_that_is_a_word_of_the_journals_own_is_an_error() {
        let entry = Entry {
            seq: 1,
            utc: String::new(),
            from: "failed".into(),
            record: Record::Closed { ending: crate::result::Ending::Failed, reason: None },
        };
        assert!(redaction(&[("host", "failed")]).apply(&entry).is_err());
        let shown = redaction(&[("host", "other")]).apply(&entry).unwrap();
        assert_eq!(shown, entry);
    }

    #[test]
    fn hosts_are_found_in_connection_uris_and_network_mounts() {
        assert_eq!(host_of("qemu+ssh://root@node1:22/system"), Some("node1"));
        assert_eq!(host_of("qemu+ssh://node1/system"), Some("node1"));
        assert_eq!(host_of("qemu+ssh://root@[fe80::1]:22/system"), Some("fe80::1"));
        assert_eq!((host_of("qemu:///system"), host_of("node1")), (None, None));
        let server = ["filer:/export", "gfs1:vol0", "//nas/share", "[fd00::2]:/x", "/dev/sda1", "tmpfs"]
            .map(network_server);
        assert_eq!(server, [Some("filer"), Some("gfs1"), Some("nas"), Some("fd00::2"), None, None]);
        let mount = |source: &str| MountFacts {
            mount_point: "/m".into(),
            filesystem: "nfs4".into(),
            source: source.into(),
            options: String::new(),
            devices: Vec::new(),
            spread_over: Vec::new(),
        };
        let mut redaction = Redaction::default();
        ["filer:/export", "/dev/sda1", "/dev/disk/by-path/pci-0000:/x"]
            .map(mount)
            .iter()
            .for_each(|mount| redaction.add_mount(mount));
        assert_eq!(redaction.text("filer:/export /dev/sda1"), "host-1:/export /dev/sda1");
    }

    proptest! {
        /// No name of more than a few digits is left as a word of its own, whatever is around it.
        #[test]
        fn no_name_is_left(names in prop::collection::vec("[a-z]{1,3}[.-]?[a-z0-9]{0,3}", 1..4), text in "[a-z0-9 .,-]{0,60}") {
            let mut redaction = Redaction::default();
            names.iter().for_each(|name| redaction.add_host(name));
            let shown = redaction.text(&format!("{text} {}", names.join(" ")));
            let words: Vec<&str> = shown.split(' ').collect();
            for name in names.iter().filter(|name| !name.starts_with("host")) {
                prop_assert!(!words.contains(&name.as_str()), "{name} in {shown}");
            }
        }
    }
}

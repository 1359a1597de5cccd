//! What libvirt says about pools, volumes, networks and hosts, read from its own XML and tables.

use roxmltree::{Document, Node};

use super::virsh::{Virsh, VirshError};

/// A storage pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolFacts {
    /// libvirt's word for its kind, such as `dir` or `logical`.
    pub kind: String,
    /// Free space, bytes.
    pub available_bytes: u64,
    /// Where its data lies, in words that mean the same on every hypervisor; `None` for what may be its own.
    pub source: Option<String>,
}

/// A volume in a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeFacts {
    /// Where it lies on the hypervisor.
    pub path: String,
    /// It is a block device and no file.
    pub is_block: bool,
    /// Its format, such as `raw` or `qcow2`.
    pub format: String,
    /// Size as a guest sees it, bytes.
    pub capacity_bytes: u64,
}

/// A hypervisor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFacts {
    /// It has KVM; else it can only emulate.
    pub accelerated: bool,
    /// Its processors' architecture, such as `x86_64`.
    pub architecture: String,
    /// Its processors.
    pub cpus: u64,
    /// Its memory, bytes.
    pub memory_bytes: u64,
}

/// Asks about a pool; `None` when it exists and is not active.
///
/// # Errors
/// virsh's, or what is missing in its answer.
pub fn pool(virsh: Virsh<'_>, name: &str) -> Result<Option<PoolFacts>, VirshError> {
    let info = virsh.ask(&["pool-info", name])?;
    if field(&info, "State:") != Some("running") {
        return Ok(None);
    }
    let call = ["pool-dumpxml", name];
    let text = virsh.ask(&call)?;
    parse_pool(&text).map(Some).ok_or_else(|| unreadable(virsh, &call))
}

/// Asks about a volume.
///
/// # Errors
/// virsh's, or what is missing in its answer.
pub fn volume(virsh: Virsh<'_>, pool: &str, name: &str) -> Result<VolumeFacts, VirshError> {
    let call = ["vol-dumpxml", "--pool", pool, name];
    let text = virsh.ask(&call)?;
    parse_volume(&text).ok_or_else(|| unreadable(virsh, &call))
}

/// Whether a network is active.
///
/// # Errors
/// virsh's.
pub fn network_is_active(virsh: Virsh<'_>, name: &str) -> Result<bool, VirshError> {
    Ok(field(&virsh.ask(&["net-info", name])?, "Active:") == Some("yes"))
}

/// Asks about the hypervisor itself.
///
/// # Errors
/// virsh's, or what is missing in its answer.
pub fn host(virsh: Virsh<'_>) -> Result<HostFacts, VirshError> {
    let info = virsh.ask(&["nodeinfo"])?;
    let (accelerated, capabilities) = match virsh.ask(&["domcapabilities", "--virttype", "kvm"]) {
        Ok(text) => (true, text),
        Err(VirshError::Refused { .. }) => (false, virsh.ask(&["domcapabilities", "--virttype", "qemu"])?),
        Err(error) => return Err(error),
    };
    parse_host(&info, &capabilities, accelerated).ok_or_else(|| unreadable(virsh, &["nodeinfo"]))
}

fn unreadable(virsh: Virsh<'_>, call: &[&str]) -> VirshError {
    VirshError::Refused {
        uri: virsh.uri.to_owned(),
        call: call.join(" "),
        reason: "its answer is not understood".to_owned(),
    }
}

fn parse_pool(xml: &str) -> Option<PoolFacts> {
    let document = Document::parse(xml).ok()?;
    let pool = document.root_element();
    let available_bytes = bytes(child(pool, "available")?)?;
    let source = child(pool, "source").and_then(shared_source);
    Some(PoolFacts { kind: pool.attribute("type")?.to_owned(), available_bytes, source })
}

/// A server's directory or device, or a device by its own serial number: other paths are local.
fn shared_source(source: Node<'_, '_>) -> Option<String> {
    let attribute = |element, name| child(source, element).and_then(|node| node.attribute(name));
    let path = attribute("dir", "path").or_else(|| attribute("device", "path"))?;
    let path = if path.len() > 1 { path.trim_end_matches('/') } else { path };
    match attribute("host", "name") {
        Some(host) => Some(format!("{}:{path}", host.to_lowercase())),
        None => path.starts_with("/dev/disk/by-id/").then(|| path.to_owned()),
    }
}

fn parse_volume(xml: &str) -> Option<VolumeFacts> {
    let document = Document::parse(xml).ok()?;
    let volume = document.root_element();
    let target = child(volume, "target")?;
    let format = child(target, "format").and_then(|format| format.attribute("type"));
    Some(VolumeFacts {
        path: child(target, "path")?.text()?.to_owned(),
        is_block: volume.attribute("type") == Some("block"),
        format: format.unwrap_or("raw").to_owned(),
        capacity_bytes: bytes(child(volume, "capacity")?)?,
    })
}

fn parse_host(info: &str, capabilities: &str, accelerated: bool) -> Option<HostFacts> {
    let document = Document::parse(capabilities).ok()?;
    Some(HostFacts {
        accelerated,
        architecture: child(document.root_element(), "arch")?.text()?.to_owned(),
        cpus: field(info, "CPU(s):")?.parse().ok()?,
        memory_bytes: field(info, "Memory size:")?.strip_suffix(" KiB")?.parse::<u64>().ok()? << 10,
    })
}

/// The mark that a domain carries, if drivestone made it.
#[must_use]
pub fn domain_tag(xml: &str) -> Option<String> {
    let document = Document::parse(xml).ok()?;
    let metadata = child(document.root_element(), "metadata")?;
    let run = metadata.children().find(|node| node.has_tag_name((super::domain::NAMESPACE, "run")))?;
    run.attribute("tag").map(str::to_owned)
}

fn child<'a, 'input>(node: Node<'a, 'input>, name: &str) -> Option<Node<'a, 'input>> {
    node.children().find(|child| child.has_tag_name(name))
}

/// libvirt always answers in bytes, whatever unit it was told.
fn bytes(node: Node<'_, '_>) -> Option<u64> {
    if !matches!(node.attribute("unit"), None | Some("bytes")) {
        return None;
    }
    node.text()?.trim().parse().ok()
}

/// The rest of the line that begins with a label.
fn field<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(label)).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_pools_and_volumes() {
        let pool = "<pool type='logical'><name>dut</name><capacity unit='bytes'>100</capacity>\
                    <available unit='bytes'>60</available><target><path>/dev/vg</path></target></pool>";
        let facts = PoolFacts { kind: "logical".into(), available_bytes: 60, source: None };
        assert_eq!(parse_pool(pool), Some(facts));
        let volume = "<volume type='file'><name>a</name><capacity unit='bytes'>2048</capacity><target>\
                      <path>/p/a&amp;b</path><format type='qcow2'/></target>\
                      <backingStore><path>/p/base</path><format type='raw'/></backingStore></volume>";
        let facts = parse_volume(volume).unwrap();
        assert_eq!(
            (facts.path.as_str(), facts.format.as_str(), facts.capacity_bytes),
            ("/p/a&b", "qcow2", 2048)
        );
        assert_eq!(parse_volume("<volume/>"), None);
        assert_eq!(parse_pool("no XML"), None);
        assert_eq!(parse_pool(&pool.replace("<available unit='bytes'>", "<available unit='KiB'>")), None);
    }

    #[test]
    fn a_pool_is_shared_when_its_source_means_the_same_everywhere() {
        let source = |source: &str| {
            let pool = format!("<pool type='x'><available>1</available><source>{source}</source></pool>");
            parse_pool(&pool).unwrap().source
        };
        let nfs = "<host name='NFS1.lab'/><dir path='/export/dut/'/><format type='auto'/>";
        assert_eq!(source(nfs).as_deref(), Some("nfs1.lab:/export/dut"));
        let lun = "/dev/disk/by-id/wwn-0x5000c500a0b1c2d3";
        assert_eq!(source(&format!("<device path='{lun}'/><format type='xfs'/>")).as_deref(), Some(lun));
        assert_eq!(source("<device path='/dev/sdb'/><name>vg</name><format type='lvm2'/>"), None);
        assert_eq!(source(""), None);
    }

    #[test]
    fn reads_hosts() {
        let info = "CPU model:           x86_64\nCPU(s):              2\nMemory size:         24684084 KiB\n";
        let capabilities = "<domainCapabilities><arch>x86_64</arch></domainCapabilities>";
        let facts = parse_host(info, capabilities, false).unwrap();
        assert_eq!((facts.cpus, facts.memory_bytes), (2, 24_684_084 << 10));
        assert_eq!(parse_host("", capabilities, false), None);
    }

    #[test]
    fn a_tag_counts_only_in_drivestones_own_element() {
        let domain = |metadata: &str| format!("<domain><metadata>{metadata}</metadata></domain>");
        let run = "<d:run xmlns:d='urn:drivestone:run' tag='0123abcd'/>";
        assert_eq!(domain_tag(&domain(run)).as_deref(), Some("0123abcd"));
        assert_eq!(domain_tag(&domain("<run xmlns='urn:other' tag='0123abcd'/>")), None);
        assert_eq!(domain_tag("<domain><title>drivestone run 0123abcd</title></domain>"), None);
    }
}

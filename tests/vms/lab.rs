//! The private libvirt that `tests/vms/hypervisor` started, and what the tests look for in it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use drivestone::plan::{InstancePlan, LibvirtPlan, Reach};

/// Directory of the dataset's disk in the guests.
pub const TARGET: &str = "/srv/drivestone";
const FOREIGN_DOMAIN: &str = "drivestone-somebody-else";
const FOREIGN_VOLUME: &str = "drivestone-somebody-else-data.img";
const EMPTY_IMAGE: &str = "empty.img";
const RESULT: &str = "result";
const MAKER_STATE: &str = "DRIVESTONE_TEST_MAKER_STATE";

/// The libvirt, and a state folder of one's own.
pub struct Lab {
    uri: String,
    ssh_uri: String,
    _folder: Option<tempfile::TempDir>,
    state: PathBuf,
}

/// What the program said.
pub struct Said {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

pub fn maker_state() -> Option<PathBuf> {
    std::env::var_os(MAKER_STATE).map(PathBuf::from)
}

impl Lab {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("drivestone/vms");
        Self { _folder: Some(folder), ..Self::at(state) }
    }

    pub fn at(state: PathBuf) -> Self {
        let variable = |name| std::env::var(name).expect("the tests are started with make test-vms");
        Self { uri: variable("LAB_URI"), ssh_uri: variable("LAB_SSH_URI"), _folder: None, state }
    }

    pub fn state(&self) -> &Path {
        &self.state
    }

    pub fn plan(&self, machines: usize) -> (LibvirtPlan, Vec<InstancePlan>) {
        let libvirt = LibvirtPlan {
            hypervisors: vec![self.uri.clone()],
            image_pool: "images".into(),
            image_volume: "base.qcow2".into(),
            pool: "dut".into(),
            network: "lab".into(),
            vcpus: 1,
            memory_bytes: 768 << 20,
            system_disk_bytes: 0,
            spare_disk_bytes: 16 << 20,
            data_disk_bytes: 512 << 20,
            filesystem: "ext4".into(),
            packages: Vec::new(),
            boot_timeout_s: 600,
        };
        let instance =
            |number| InstancePlan { host: format!("vm{number}"), reach: Reach::Libvirt { hypervisor: 0 } };
        (libvirt, (1..=machines).map(instance).collect())
    }

    /// The first machine at hand, the second on a hypervisor that is reached through ssh: the same one, in truth.
    pub fn near_and_far(&self) -> (LibvirtPlan, Vec<InstancePlan>) {
        let (mut libvirt, mut instances) = self.plan(2);
        libvirt.hypervisors.push(self.ssh_uri.clone());
        instances[1].reach = Reach::Libvirt { hypervisor: 1 };
        (libvirt, instances)
    }

    pub fn virsh(&self, arguments: &[&str]) -> String {
        let output = Command::new("virsh").args(["-q", "-c", &self.uri]).args(arguments).output().unwrap();
        assert!(output.status.success(), "virsh {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Names of all domains, and of all volumes in both pools.
    pub fn everything(&self) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        for arguments in [&["list", "--all", "--name"][..], &["vol-list", "images"], &["vol-list", "dut"]] {
            if let ["vol-list", pool] = arguments {
                self.virsh(&["pool-refresh", pool]);
            }
            let text = self.virsh(arguments);
            let names = text.lines().filter_map(|line| line.split_whitespace().next());
            all.extend(names.map(|name| format!("{}: {name}", arguments.last().unwrap())));
        }
        all
    }

    pub fn running_domains(&self) -> Vec<String> {
        let text = self.virsh(&["list", "--name"]);
        text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    /// Names in the state folder.
    pub fn state_files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.state)
            .map(|entries| entries.flatten().collect())
            .unwrap_or_else(|_| Vec::new());
        entries.iter().map(|entry| entry.file_name().into_string().unwrap()).collect()
    }

    /// `drivestone clean …` with this state folder.
    pub fn clean(&self, arguments: &[&str]) -> Said {
        self.drivestone(&[&["clean"], arguments].concat())
    }

    /// `drivestone run` on machines made for it, near and far in turn.
    pub fn measure(&self, machines: usize, counts: &[usize]) -> Said {
        let folder = self.folder();
        let (near, far) = (&self.uri, &self.ssh_uri);
        let hardware = format!(
            "name: lab\ndescription: Emulated machines\ndevice:\n  path: {TARGET}\nmemory:\n  buffer_pool: 6MiB\n\
             instances:\n  libvirt:\n    hypervisors: ['{near}', '{far}']\n    machines: {machines}\n    \
             image: {{pool: images, volume: base.qcow2}}\n    pool: dut\n    network: lab\n    vcpus: 1\n    \
             memory: 768MiB\n    disks: {{data: 1GiB}}\n    boot_timeout: 15min\n"
        );
        let profile = format!(
            "name: tiny\ndescription: Four small tables\nworkload:\n  kind: oltp_read_write\n  keys: uniform\n\
             dataset:\n  tables: 4\n  rows: 10000\nload:\n  threads: 2\n  warmup: 5s\n  duration: 30s\n  \
             counts: {counts:?}\nserver:\n  log_file_size: 16MiB\n"
        );
        fs::write(folder.join("hardware.yaml"), hardware).unwrap();
        fs::write(folder.join("profile.yaml"), profile).unwrap();
        self.drivestone(&["run", "hardware.yaml", "profile.yaml", "--out", RESULT])
    }

    /// The report of that, as JSON.
    pub fn report(&self) -> serde_json::Value {
        let said = self.drivestone(&["report", RESULT, "--format", "json"]);
        assert_eq!(said.code, 0, "{}", said.stderr);
        serde_json::from_str(&said.stdout).unwrap()
    }

    /// The state folder of programs that are started here lies below.
    fn folder(&self) -> &Path {
        self.state.ancestors().nth(2).unwrap()
    }

    fn drivestone(&self, arguments: &[&str]) -> Said {
        let output = Command::new(env!("CARGO_BIN_EXE_drivestone"))
            .args(arguments)
            .current_dir(self.folder())
            .env("XDG_STATE_HOME", self.folder())
            .output()
            .unwrap();
        Said {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Another process of this test program, which makes two machines and keeps them.
    pub fn spawn_maker(&self) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "makes_machines_until_killed"])
            .env(MAKER_STATE, &self.state)
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Does something while libvirt's socket is not there.
    pub fn without_hypervisor<T>(&self, work: impl FnOnce() -> T) -> T {
        let socket = PathBuf::from(self.uri.split_once("socket=").unwrap().1);
        let away = socket.with_extension("away");
        fs::rename(&socket, &away).unwrap();
        let result = work();
        fs::rename(&away, &socket).unwrap();
        result
    }

    /// The running domain has its data disk as asked.
    pub fn assert_domain(&self, name: &str) {
        let text = self.virsh(&["dumpxml", name]);
        let document = roxmltree::Document::parse(&text).unwrap();
        let disks = document.descendants().filter(|node| node.has_tag_name("disk"));
        let data = disks.filter(|disk| disk.descendants().any(|node| node.text() == Some("drivestone-data")));
        let driver = data.flat_map(|disk| disk.children()).find(|node| node.has_tag_name("driver")).unwrap();
        let attribute = |name| driver.attribute(name);
        assert_eq!(
            (attribute("type"), attribute("cache"), attribute("io")),
            (Some("raw"), Some("none"), Some("native"))
        );
        let memory = document.descendants().find(|node| node.has_tag_name("memory")).unwrap();
        assert_eq!(memory.text(), Some("786432"));
    }

    pub fn assert_preallocated(&self, volume: &str, bytes: u64) {
        let path = self.virsh(&["vol-path", "--pool", "dut", volume]);
        let metadata = fs::metadata(path.trim()).unwrap();
        assert_eq!(metadata.len(), bytes);
        assert!(metadata.blocks() * 512 >= bytes, "{} blocks", metadata.blocks());
    }

    /// A machine with another key than the one given to it is refused.
    pub fn assert_refused_host_key(&self, config: &Path) {
        let text = fs::read_to_string(config).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let known_hosts = folder.path().join("known_hosts");
        let key = fs::read_to_string(config.with_file_name("vm2.hostkey.pub")).unwrap();
        fs::write(&known_hosts, format!("vm1 {key}")).unwrap();
        let other = folder.path().join("config");
        fs::write(
            &other,
            text.replace(
                config.with_extension("known_hosts").to_str().unwrap(),
                known_hosts.to_str().unwrap(),
            ),
        )
        .unwrap();
        let output = ssh(&other, "vm1", "true");
        assert_eq!(output.code, 255);
        assert!(output.stderr.contains("Host key verification failed"), "{}", output.stderr);
    }

    /// An image without anything to boot.
    pub fn make_empty_image(&self) -> String {
        self.virsh(&["vol-create-as", "images", EMPTY_IMAGE, "1048576", "--format", "raw"]);
        EMPTY_IMAGE.into()
    }

    pub fn remove_empty_image(&self) {
        self.virsh(&["vol-delete", "--pool", "images", EMPTY_IMAGE]);
    }
}

pub fn ssh(config: &Path, host: &str, command: &str) -> Said {
    let output = Command::new("ssh")
        .arg("-F")
        .arg(config)
        .args(["-o", "BatchMode=yes", host, command])
        .output()
        .unwrap();
    Said {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The guest is who it should be, and has its disks where they belong.
pub fn assert_guest(config: &Path, host: &str) {
    let said = ssh(
        config,
        host,
        "hostname; findmnt -n -o SOURCE,FSTYPE,OPTIONS /srv/drivestone; \
        readlink -f /dev/disk/by-id/virtio-drivestone-data; ls /dev/disk/by-id; \
         systemctl is-enabled fstrim.timer; command -v mariadbd",
    );
    println!("{host}: {}", said.stdout);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert_eq!(lines[0], host);
    let mount: Vec<&str> = lines[1].split_whitespace().collect();
    assert_eq!((mount[0], mount[1]), (lines[2], "ext4"));
    assert!(mount[2].split(',').any(|option| option == "noatime"), "{}", lines[1]);
    assert!(mount[2].split(',').any(|option| option == "noinit_itable"), "{}", lines[1]);
    assert!(lines.contains(&"virtio-drivestone-spare"));
    assert!(lines.contains(&"masked"));
}

/// A running domain and its volume that look much like drivestone's and are not.
pub struct Foreign<'a> {
    lab: &'a Lab,
    id: String,
}

impl<'a> Foreign<'a> {
    pub fn make(lab: &'a Lab) -> Self {
        lab.virsh(&["vol-create-as", "dut", FOREIGN_VOLUME, "1048576", "--format", "raw"]);
        let path = lab.virsh(&["vol-path", "--pool", "dut", FOREIGN_VOLUME]);
        let xml = format!(
            "<domain type='qemu'><name>{FOREIGN_DOMAIN}</name><memory unit='MiB'>32</memory><vcpu>1</vcpu>\
             <os><type arch='x86_64'>hvm</type></os><features><acpi/></features><devices><disk type='file' device='disk'>\
             <driver name='qemu' type='raw'/><source file='{}'/><target dev='vda' bus='virtio'/></disk>\
             </devices></domain>",
            path.trim()
        );
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), xml).unwrap();
        lab.virsh(&["define", file.path().to_str().unwrap()]);
        lab.virsh(&["start", FOREIGN_DOMAIN]);
        Self { lab, id: lab.virsh(&["domid", FOREIGN_DOMAIN]) }
    }

    pub fn assert_untouched(&self) {
        let lab = self.lab;
        assert_eq!(lab.virsh(&["domid", FOREIGN_DOMAIN]), self.id, "it has run all the time");
        assert_eq!(lab.virsh(&["domstate", FOREIGN_DOMAIN]).trim(), "running");
        lab.virsh(&["vol-info", "--pool", "dut", FOREIGN_VOLUME]);
    }
}

impl Drop for Foreign<'_> {
    fn drop(&mut self) {
        for arguments in [
            &["destroy", FOREIGN_DOMAIN][..],
            &["undefine", FOREIGN_DOMAIN],
            &["vol-delete", "--pool", "dut", FOREIGN_VOLUME],
        ] {
            // Not `virsh`: a failed test must not fail again here.
            let _ = Command::new("virsh").args(["-q", "-c", &self.lab.uri]).args(arguments).status();
        }
    }
}

//! What a machine is told at its first boot: a NoCloud seed for cloud-init, on a small FAT image.

use std::io::{self, Cursor, Write as _};

use fatfs::{FatType, FileSystem, FormatVolumeOptions, FsOptions, format_volume};
use serde_json::{Value, json};

/// Size of the image, bytes.
const IMAGE_BYTES: usize = 512 << 10;
/// Serial number of the disk for the dataset; the guest sees it as `/dev/disk/by-id/virtio-…`.
pub const DATA_SERIAL: &str = "drivestone-data";

/// What wakes up by itself and uses disks: it must not do so while they are measured.
const TIMERS: [&str; 7] = [
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "dnf-makecache.timer",
    "e2scrub_all.timer",
    "fstrim.timer",
    "man-db.timer",
    "xfs_scrub_all.timer",
];

/// What differs between machines, and what they share.
#[derive(Debug)]
pub struct Seed<'a> {
    /// The machine's name.
    pub host: &'a str,
    /// Name that no earlier machine had, so that cloud-init takes this for a first boot.
    pub instance: &'a str,
    /// Public key that may log in as root.
    pub authorized_key: &'a str,
    /// The machine's own key pair, private and public half.
    pub host_key: (&'a str, &'a str),
    /// Filesystem of the disk for the dataset.
    pub filesystem: &'a str,
    /// Where it is mounted.
    pub target: &'a str,
    /// Packages to install.
    pub packages: &'a [String],
}

impl Seed<'_> {
    /// The image, labelled as NoCloud asks.
    ///
    /// # Errors
    /// When it would not fit, which only a very long list of packages can bring about.
    pub fn image(&self) -> io::Result<Vec<u8>> {
        let mut image = Cursor::new(vec![0_u8; IMAGE_BYTES]);
        let options = FormatVolumeOptions::new().fat_type(FatType::Fat12).volume_label(*b"CIDATA     ");
        format_volume(&mut image, options)?;
        let filesystem = FileSystem::new(&mut image, FsOptions::new())?;
        for (name, text) in [("meta-data", self.meta_data()), ("user-data", self.user_data())] {
            let mut file = filesystem.root_dir().create_file(name)?;
            file.write_all(text.as_bytes())?;
            file.flush()?;
        }
        filesystem.unmount()?;
        Ok(image.into_inner())
    }

    /// JSON is YAML as well, and cannot be broken by what a value contains.
    fn meta_data(&self) -> String {
        json!({"instance-id": self.instance, "local-hostname": self.host}).to_string() + "\n"
    }

    fn user_data(&self) -> String {
        let device = format!("/dev/disk/by-id/virtio-{DATA_SERIAL}");
        let (private, public) = self.host_key;
        let mask: Vec<&str> = ["systemctl", "mask"].into_iter().chain(TIMERS).collect();
        // ext4 would go on writing its tables of inodes, while the disk is measured.
        let late = if self.filesystem == "ext4" { ",noinit_itable" } else { "" };
        let options = format!("defaults,noatime,nofail{late}");
        let mut data = json!({
            "bootcmd": [mask],
            "disable_root": false,
            "locale": false,
            "ssh_pwauth": false,
            "ssh_deletekeys": true,
            "ssh_keys": {"ed25519_private": private, "ed25519_public": public},
            "users": [{"name": "root", "ssh_authorized_keys": [self.authorized_key]}],
            "fs_setup": [{
                "device": device, "filesystem": self.filesystem, "label": "drivestone",
                "partition": "none", "overwrite": false,
            }],
            "mounts": [[device, self.target, self.filesystem, options, "0", "2"]],
        });
        if !self.packages.is_empty() {
            data["package_update"] = Value::Bool(true);
            data["packages"] = json!(self.packages);
        }
        format!("#cloud-config\n{data}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    fn seed<'a>(packages: &'a [String]) -> Seed<'a> {
        Seed {
            host: "vm1",
            instance: "drivestone-0123abcd-vm1",
            authorized_key: "ssh-ed25519 AAAAclient",
            host_key: ("-----BEGIN\nx\n-----END\n", "ssh-ed25519 AAAAhost"),
            filesystem: "ext4",
            target: "/srv/d\"ata: [",
            packages,
        }
    }

    fn read(image: &mut Cursor<Vec<u8>>, name: &str) -> String {
        image.set_position(0);
        let filesystem = FileSystem::new(image, FsOptions::new()).unwrap();
        assert_eq!(filesystem.volume_label_as_bytes(), b"CIDATA");
        let label = filesystem.read_volume_label_from_root_dir_as_bytes().unwrap();
        assert_eq!(label.as_ref(), Some(b"CIDATA     "));
        let names: Vec<String> =
            filesystem.root_dir().iter().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["meta-data", "user-data"]);
        let mut text = String::new();
        filesystem.root_dir().open_file(name).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn the_image_holds_what_cloud_init_looks_for() {
        let mut image = Cursor::new(seed(&[]).image().unwrap());
        let meta: Value = serde_json::from_str(&read(&mut image, "meta-data")).unwrap();
        assert_eq!(meta["local-hostname"], "vm1");
        let user = read(&mut image, "user-data");
        let user: Value = serde_json::from_str(user.strip_prefix("#cloud-config\n").unwrap()).unwrap();
        assert_eq!(user["mounts"][0][1], "/srv/d\"ata: [");
        assert_eq!(user["fs_setup"][0]["overwrite"], false);
        assert_eq!(user.get("packages"), None);
    }

    #[test]
    fn packages_are_installed_when_named() {
        let packages = ["mariadb-server-core".to_owned()];
        let mut image = Cursor::new(seed(&packages).image().unwrap());
        assert!(read(&mut image, "user-data").contains(r#""packages":["mariadb-server-core"]"#));
        let many = vec!["x".repeat(1000); 1000];
        assert!(seed(&many).image().is_err());
    }
}

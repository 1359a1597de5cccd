//! Names of hosts and of what libvirt holds. They become arguments of other programs and parts of XML, so
//! none can be taken for an option, a path or markup.

use std::str::FromStr;

use serde::{Deserialize, Deserializer};

use super::text::{ValueError, deserialize_text, quoted};

/// Longest name, bytes.
const LONGEST: usize = 253;
/// What the journal calls this machine and the coordinator.
const RESERVED: [&str; 2] = ["local", "coordinator"];

/// Whether a text can name a host for ssh: `name` or `user@name`.
#[must_use]
pub fn is_host(text: &str) -> bool {
    let (user, host) = text.split_once('@').unwrap_or(("user", text));
    is_word(user, "._-") && is_word(host, "._-") && !RESERVED.contains(&text)
}

/// Whether a text can name a pool, a volume or a network of libvirt, or a package.
#[must_use]
pub fn is_object(text: &str) -> bool {
    is_word(text, "._-+")
}

/// Whether a text can be the connection URI of a hypervisor.
#[must_use]
pub fn is_hypervisor(text: &str) -> bool {
    let Some((driver, rest)) = text.split_once("://") else { return false };
    let (kind, transport) = driver.split_once('+').unwrap_or((driver, "ssh"));
    let letters = |text: &str, others: &str| {
        text.bytes().all(|b| b.is_ascii_alphanumeric() || others.as_bytes().contains(&b))
    };
    // User and host may be handed to ssh.
    let no_option = !rest.starts_with('-') && !rest.contains("@-");
    kind == "qemu"
        && no_option
        && is_word(transport, "")
        && letters(rest, "._-@:/[]?=")
        && text.len() <= LONGEST
}

/// The name of the host through which ssh reaches a hypervisor, if ssh does.
#[must_use]
pub fn ssh_host(uri: &str) -> Option<&str> {
    let (driver, rest) = uri.split_once("://")?;
    driver.split_once('+').filter(|(_, transport)| transport.contains("ssh"))?;
    let authority = rest.split(['/', '?']).next()?;
    let host = authority.rsplit('@').next()?;
    let host =
        host.strip_prefix('[').map_or_else(|| host.split(':').next(), |host| host.split(']').next())?;
    (!host.is_empty()).then_some(host)
}

/// Letters, digits and `others`, beginning with a letter, a digit or `_`.
fn is_word(text: &str, others: &str) -> bool {
    let first = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    (1..=LONGEST).contains(&text.len())
        && text.bytes().next().is_some_and(first)
        && text.bytes().all(|b| first(b) || others.as_bytes().contains(&b))
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $admits:expr, $why:expr, $expected:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name(String);

        impl $name {
            /// The name as written.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = ValueError;

            fn from_str(text: &str) -> Result<Self, ValueError> {
                let admits: fn(&str) -> bool = $admits;
                let why: fn(&str) -> &'static str = $why;
                match admits(text) {
                    true => Ok(Self(text.to_owned())),
                    false => Err(ValueError(format!("{} {}", quoted(text), why(text)))),
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserialize_text(deserializer, $expected)
            }
        }
    };
}

name!(
    /// A host as the user's own ssh configuration knows it.
    HostName,
    is_host,
    |text| match RESERVED.contains(&text) {
        true => "has a meaning of its own in results; give the host another alias in your ssh configuration",
        false =>
            "is not a host name here (letters, digits, `.`, `_`, `-`, and one `@` after a user); give it a \
             Host alias in your ssh configuration and write that",
    },
    "a host's name, for example vm1"
);

name!(
    /// A pool, a volume or a network of libvirt.
    LibvirtName,
    is_object,
    |_| "is not a name that can be used here; write letters, digits, `.`, `_`, `+` and `-`, as `virsh pool-list`, \
         `vol-list` or `net-list` shows it",
    "a name in libvirt, for example default"
);

name!(
    /// A package to install.
    PackageName,
    is_object,
    |_| "is not a package's name; write for example mariadb-server-core",
    "a package's name, for example mariadb-server-core"
);

name!(
    /// The connection URI of a hypervisor.
    HypervisorUri,
    is_hypervisor,
    |_| "is not the URI of a QEMU hypervisor; write for example qemu+ssh://root@node1/system, or qemu:///system \
         for this machine",
    "a connection URI, for example qemu+ssh://root@node1/system"
);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hosts_are_words_with_a_user_perhaps() {
        for text in ["vm1", "db-1.lab.example", "root@10.0.0.7", "_x", "ops.user@a", "me@local"] {
            assert!(is_host(text), "{text}");
        }
        for text in
            ["", "-oProxyCommand=x", "a b", "a@b@c", "@a", "a@", "a@-b", "::1", "a:22", "..", "local", "höst"]
        {
            assert!(!is_host(text), "{text}");
        }
    }

    #[test]
    fn hypervisors_are_qemu_uris() {
        for text in ["qemu:///system", "qemu+ssh://root@n1:2222/system", "qemu+unix:///system?socket=/run/x"]
        {
            assert!(is_hypervisor(text), "{text}");
        }
        for text in [
            "",
            "node1",
            "xen:///system",
            "qemu://a/b c",
            "qemu+://a",
            "qemu://a/$(x)",
            "qemu+ssh://-ox/s",
            "qemu+ssh://a@-b/s",
            "-cqemu://a/s",
        ] {
            assert!(!is_hypervisor(text), "{text}");
        }
    }

    #[test]
    fn hosts_of_hypervisors() {
        for uri in ["qemu+ssh://vm1/system", "qemu+ssh://root@vm1:22/system", "qemu+libssh2://vm1?x=/y@z"] {
            assert_eq!(ssh_host(uri), Some("vm1"), "{uri}");
        }
        assert_eq!(ssh_host("qemu+ssh://[fd00::1]:22/system"), Some("fd00::1"));
        for uri in ["qemu:///system", "qemu+ssh:///system", "qemu+tls://vm1/system", "vm1"] {
            assert_eq!(ssh_host(uri), None, "{uri}");
        }
    }

    proptest! {
        #[test]
        fn what_is_admitted_is_harmless(text in "[-a@:/?&<>'\"$;| .]{0,8}") {
            if is_host(&text) || is_object(&text) || is_hypervisor(&text) {
                prop_assert!(!text.starts_with('-') && !text.starts_with('.'));
                prop_assert!(!text.contains(['&', '<', '>', '\'', '"', '$', ';', '|', ' ']));
            }
        }
    }
}

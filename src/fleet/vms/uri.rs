//! Connection URIs: `driver[+transport]://[user@][host][:port]/[path][?parameters]`.

/// A hypervisor that is reached through ssh.
#[derive(Debug, PartialEq, Eq)]
pub struct SshHost {
    /// `user@host:port` as `ProxyJump` takes it.
    pub jump: String,
}

struct Parts<'a> {
    transport: Option<&'a str>,
    authority: &'a str,
    query: Option<&'a str>,
}

fn split(uri: &str) -> Option<Parts<'_>> {
    let (scheme, rest) = uri.split_once("://")?;
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) => (rest, Some(query)),
        None => (rest, None),
    };
    let authority = rest.split('/').next().unwrap_or_default();
    Some(Parts { transport: scheme.split_once('+').map(|(_, transport)| transport), authority, query })
}

fn is_ssh(parts: &Parts<'_>) -> bool {
    matches!(parts.transport, Some("ssh" | "libssh" | "libssh2")) && !parts.authority.is_empty()
}

/// The host that ssh goes through to reach guests of a hypervisor, if libvirt itself is reached by ssh.
#[must_use]
pub fn ssh_host(uri: &str) -> Option<SshHost> {
    let parts = split(uri).filter(is_ssh)?;
    Some(SshHost { jump: parts.authority.to_owned() })
}

/// The URI with which libvirt's ssh never asks at the terminal, which nobody would see: without a key that works it
/// fails with its reason.
#[must_use]
pub fn without_terminal(uri: &str) -> String {
    match split(uri) {
        Some(parts) if parts.transport == Some("ssh") && is_ssh(&parts) => match parts.query {
            Some(query) if query.split('&').any(|parameter| parameter.starts_with("no_tty=")) => {
                uri.to_owned()
            }
            Some(_) => format!("{uri}&no_tty=1"),
            None => format!("{uri}?no_tty=1"),
        },
        _ => uri.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_behind_ssh_are_reached_through_their_hypervisor() {
        let jump = |uri| ssh_host(uri).map(|host| host.jump);
        assert_eq!(jump("qemu+ssh://root@node1/system").as_deref(), Some("root@node1"));
        assert_eq!(jump("qemu+ssh://node1:2222/system?keyfile=/k").as_deref(), Some("node1:2222"));
        assert_eq!(jump("qemu+libssh2://[fd00::1]:22/system").as_deref(), Some("[fd00::1]:22"));
        assert_eq!(jump("qemu:///system"), None);
        assert_eq!(jump("qemu+ssh:///system"), None);
        assert_eq!(jump("qemu+tls://node1/system"), None);
        assert_eq!(jump("nonsense"), None);
    }

    #[test]
    fn only_the_ssh_transport_knows_no_tty() {
        assert_eq!(without_terminal("qemu+ssh://n/system"), "qemu+ssh://n/system?no_tty=1");
        assert_eq!(
            without_terminal("qemu+ssh://n/system?socket=/s"),
            "qemu+ssh://n/system?socket=/s&no_tty=1"
        );
        assert_eq!(without_terminal("qemu+ssh://n/system?no_tty=0"), "qemu+ssh://n/system?no_tty=0");
        assert_eq!(without_terminal("qemu:///system?socket=/s"), "qemu:///system?socket=/s");
    }
}

//! libvirt, through the `virsh` program: one call a question, argument lists only.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use super::program::{self, ProgramError};
use super::uri;

/// Longest wait for an answer.
const ANSWER: Duration = Duration::from_secs(60);

/// What virsh was asked, and what came of it.
#[derive(Debug, thiserror::Error)]
pub enum VirshError {
    /// There is no such program.
    #[error(
        "there is no virsh program on this machine; install libvirt's clients (Debian, Ubuntu: \
         libvirt-clients; Fedora: libvirt-client)"
    )]
    Missing,
    /// It could not be run to its end.
    #[error("{uri}: virsh {call}: {source}")]
    Program {
        /// Connection URI, as in the profile.
        uri: String,
        /// The virsh command.
        call: String,
        /// Why.
        source: ProgramError,
    },
    /// It refused.
    #[error("{uri}: virsh {call}: {reason}")]
    Refused {
        /// Connection URI, as in the profile.
        uri: String,
        /// The virsh command.
        call: String,
        /// virsh's own words.
        reason: String,
    },
}

impl VirshError {
    /// Whether the call ended because of the user's interrupt.
    #[must_use]
    pub fn is_interrupt(&self) -> bool {
        matches!(self, Self::Program { source: ProgramError::Interrupted, .. })
    }

    /// Whether virsh was killed, by an interrupt or its time limit, and libvirt may go on without it.
    #[must_use]
    pub fn is_cut_short(&self) -> bool {
        matches!(self, Self::Program { source: ProgramError::Interrupted | ProgramError::Slow(_), .. })
    }
}

/// One hypervisor's libvirt.
#[derive(Clone, Copy)]
pub struct Virsh<'a> {
    /// Connection URI, as in the profile.
    pub uri: &'a str,
    /// Ends a call early.
    pub interrupted: &'a (dyn Fn() -> bool + Sync),
}

impl Virsh<'_> {
    /// Asks, and returns what virsh printed.
    ///
    /// # Errors
    /// When there is no virsh, it takes more than a minute, or it refuses.
    pub fn ask(&self, arguments: &[&str]) -> Result<String, VirshError> {
        self.ask_within(arguments, ANSWER)
    }

    /// As `ask`, with another limit.
    ///
    /// # Errors
    /// As of `ask`.
    pub fn ask_within(&self, arguments: &[&str], limit: Duration) -> Result<String, VirshError> {
        let mut command = Command::new("virsh");
        command.args(["--quiet", "--connect", &uri::without_terminal(self.uri)]).args(arguments);
        let call = || arguments.join(" ");
        let ended =
            program::run(&mut command, limit, &|| (self.interrupted)()).map_err(|source| match source {
                ProgramError::Start(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    VirshError::Missing
                }
                source => VirshError::Program { uri: self.uri.to_owned(), call: call(), source },
            })?;
        if ended.status.success() {
            return Ok(String::from_utf8_lossy(&ended.stdout).into_owned());
        }
        Err(VirshError::Refused { uri: self.uri.to_owned(), call: call(), reason: reason(&ended.stderr) })
    }

    /// Names of all domains, running or not.
    ///
    /// # Errors
    /// As of `ask`.
    pub fn domains(&self) -> Result<BTreeSet<String>, VirshError> {
        Ok(names(&self.ask(&["list", "--all", "--name"])?))
    }

    /// Names of all volumes of a pool.
    ///
    /// # Errors
    /// As of `ask`.
    pub fn volumes(&self, pool: &str) -> Result<BTreeSet<String>, VirshError> {
        Ok(first_words(&self.ask(&["vol-list", "--pool", pool])?))
    }
}

fn names(output: &str) -> BTreeSet<String> {
    output.lines().map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// First words of the lines of a table. A name with a space in it, which drivestone gives to nothing, is cut.
fn first_words(output: &str) -> BTreeSet<String> {
    output.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// virsh's messages on one line, without the word that begins each.
fn reason(stderr: &str) -> String {
    let lines = stderr.lines().map(|line| line.trim().trim_start_matches("error: "));
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    if lines.is_empty() { "it failed without a message".to_owned() } else { lines.join(": ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_names_and_reasons() {
        assert_eq!(names("vm1\nweb server\n\n"), BTreeSet::from(["vm1".to_owned(), "web server".to_owned()]));
        let table = " base.qcow2   /pool/base.qcow2\n a b   /pool/a b\n\n";
        assert_eq!(first_words(table), BTreeSet::from(["base.qcow2".to_owned(), "a".to_owned()]));
        assert_eq!(
            reason("error: failed to get pool 'x'\nerror: Storage pool not found\n\n"),
            "failed to get pool 'x': Storage pool not found"
        );
        assert_eq!(reason(""), "it failed without a message");
    }
}

//! Bringing this program to another host, over the one connection that its agent then speaks through.
//!
//! A few lines of shell on the other side say what machine it is, take the program from their input
//! unless it is there already, compare its checksum, and become the agent. A copy that is not to stay
//! is removed by the agent itself as soon as it runs.

use std::fs::File;
use std::io::{self, BufRead, Read as _, Write};

use sha2::{Digest as _, Sha256};

/// Lines of the shell begin with it, so that what a login shell prints is not taken for them. An empty line
/// comes first: a login shell's last line may have no end.
const MARK: &str = "drivestone-host:";

/// `$1` name of the file, `$2` its SHA-256, `$3` its size, `$4` a word of [`Afterwards`]. One line without
/// backslashes and single quotes: whatever the login shell is, it hands it on unchanged.
const SCRIPT: &str = "\
    umask 022; echo; \
    echo drivestone-host: $(uname -s) $(uname -m); \
    d=${XDG_CACHE_HOME:-$HOME/.cache}/drivestone; f=$d/$1; t=$f.$(uname -n).$$; \
    good() { [ -f \"$1\" ] && [ \"$(sha256sum <\"$1\" | cut -c1-64)\" = \"$2\" ]; }; \
    gone() { rm -f \"$t\"; rmdir \"$d\" 2>/dev/null; exit 1; }; \
    no() { echo drivestone-host: \"$1\"; gone; }; \
    if good \"$f\" \"$2\"; then echo drivestone-host: here; \
    if [ \"$4\" = remove ]; then exec \"$f\" agent --remove-program; fi; exec \"$f\" agent; fi; \
    trap gone HUP INT TERM PIPE; \
    if [ -d \"$f\" ]; then no \"found a folder in the place of $f\"; fi; \
    made() { mkdir -p \"$d\" && touch \"$t\"; }; \
    made || made || no \"could not make $t\"; \
    echo drivestone-host: send; \
    head -c \"$3\" >\"$t\"; \
    good \"$t\" \"$2\" && chmod 755 \"$t\" || no \"could not store $3 bytes as $t\"; \
    \"$t\" --version >/dev/null || no \"could not run $t; is it mounted noexec?\"; \
    echo drivestone-host: here; \
    if [ \"$4\" = keep ]; then mv \"$t\" \"$f\" && exec \"$f\" agent; fi; \
    exec \"$t\" agent --remove-program";

/// This program as it will be copied.
#[derive(Debug)]
pub struct Equipment {
    name: String,
    sha256: String,
    size: u64,
    afterwards: Afterwards,
}

/// What becomes of the program on a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Afterwards {
    /// It stays for the next run.
    Keep,
    /// It goes, and one that was kept before goes with it.
    Remove,
    /// The host is left as it was found.
    AsFound,
}

/// How far equipping a host has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// The shell there has answered.
    Reached,
    /// Another part of the program was sent.
    Sending,
}

/// Why a host could not be equipped.
#[derive(Debug, thiserror::Error)]
pub enum EquipError {
    /// The connection ended, or cannot take the program.
    #[error("{0}")]
    Cut(#[from] io::Error),
    /// The other side said why not.
    #[error("it {0}")]
    Failed(String),
    /// Another kind of machine.
    #[error(
        "it is a {theirs} machine and this program was built for {ours}; start drivestone on such a machine, or \
         build it there with `make dist`"
    )]
    Foreign {
        /// System and processor of the host.
        theirs: String,
        /// The same of this program.
        ours: String,
    },
}

impl Equipment {
    /// Reads this program.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of_this_program(afterwards: Afterwards) -> io::Result<Self> {
        let mut hash = Sha256::new();
        let size = io::copy(&mut program()?, &mut hash)?;
        let sha256: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let name = format!("drivestone-{}-{}", env!("CARGO_PKG_VERSION"), &sha256[..12]);
        Ok(Self { name, sha256, size, afterwards })
    }

    /// The command for the other host's login shell. It holds nothing that a person wrote.
    #[must_use]
    pub fn remote_command(&self) -> String {
        let Self { name, sha256, size, afterwards } = self;
        let afterwards = match afterwards {
            Afterwards::Keep => "keep",
            Afterwards::Remove => "remove",
            Afterwards::AsFound => "as-found",
        };
        format!("exec /bin/sh -c '{SCRIPT}' drivestone {name} {sha256} {size} {afterwards}")
    }

    /// Sees the other side through until the agent is about to speak, and tells how far it is.
    ///
    /// # Errors
    /// See [`EquipError`].
    pub fn hand_over(
        &self,
        from: &mut impl BufRead,
        to: &mut impl Write,
        tell: &dyn Fn(Sign),
    ) -> Result<(), EquipError> {
        let machine = answer(from)?;
        tell(Sign::Reached);
        let ours = format!("Linux {}", std::env::consts::ARCH);
        if machine != ours {
            return Err(EquipError::Foreign { theirs: machine, ours });
        }
        let mut told = answer(from)?;
        if told == "send" {
            // When it cannot take everything, its own words say why.
            let _ = self.send(to, tell);
            told = answer(from)?;
        }
        if told == "here" { Ok(()) } else { Err(EquipError::Failed(told)) }
    }

    fn send(&self, to: &mut impl Write, tell: &dyn Fn(Sign)) -> io::Result<()> {
        const CHUNK: usize = 256 * 1024;
        let mut program = program()?.take(self.size);
        let mut chunk = vec![0; CHUNK];
        loop {
            match program.read(&mut chunk)? {
                0 => return to.flush(),
                n => to.write_all(&chunk[..n])?,
            }
            tell(Sign::Sending);
        }
    }
}

/// The next line that is meant for us.
fn answer(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if from.take(64 * 1024).read_until(b'\n', &mut line)? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the connection ended"));
        }
        if let Some(told) = String::from_utf8_lossy(&line).trim().strip_prefix(MARK) {
            return Ok(told.trim().to_owned());
        }
    }
}

/// The file of this program, even if another one has taken its place.
fn program() -> io::Result<File> {
    File::open("/proc/self/exe")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn equipment() -> Equipment {
        Equipment::of_this_program(Afterwards::Remove).unwrap()
    }

    fn hand_over(said: &str) -> (Result<(), EquipError>, u64) {
        let mut sent = Vec::new();
        let result = equipment().hand_over(&mut said.as_bytes(), &mut sent, &|_| {});
        (result, sent.len() as u64)
    }

    fn here() -> String {
        format!("Linux {}", std::env::consts::ARCH)
    }

    #[test]
    fn the_program_is_sent_when_it_is_asked_for() {
        let banner = "Welcome to vm1\n\n** no use without permission **\n\u{1b}]0;vm1\u{7}";
        let (result, sent) = hand_over(&format!("{banner}\n{MARK} {}\n{MARK} send\n{MARK} here\n", here()));
        assert!(result.is_ok(), "{result:?}");
        assert_eq!(sent, equipment().size);
        let (result, sent) = hand_over(&format!("{MARK} {}\n{MARK} here\n", here()));
        assert!(result.is_ok(), "{result:?}");
        assert_eq!(sent, 0);
    }

    #[test]
    fn what_stands_against_it_is_told() {
        let failed = format!("{MARK} {}\n{MARK} could not make /x\n", here());
        let full = format!("{MARK} {}\n{MARK} send\n{MARK} could not store 7 bytes as /x\n", here());
        let told =
            [format!("{MARK} Linux riscv64\n"), failed, full, "only a banner\n".to_owned(), String::new()]
                .map(|said| hand_over(&said).0.unwrap_err().to_string());
        insta::with_settings!({filters => vec![(std::env::consts::ARCH, "ARCH")]}, {
            insta::assert_snapshot!(told.join("\n"));
        });
    }

    #[test]
    fn the_command_survives_any_login_shell() {
        assert!(!SCRIPT.contains(['\'', '\\', '\n', '!']), "{SCRIPT}");
        let command = equipment().remote_command();
        assert!(command.ends_with(" remove") && command.contains(" drivestone drivestone-"), "{command}");
    }
}

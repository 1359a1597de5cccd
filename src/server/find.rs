//! Finding the server's programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{ServerError, account};
use crate::protocol::facts::ServerFacts;

/// Names of the server, best first.
const SERVERS: [&str; 2] = ["mariadbd", "mysqld"];
/// Names of the program that initialises a data directory.
const INITIALIZERS: [&str; 2] = ["mariadb-install-db", "mysql_install_db"];
/// Folders searched after PATH: servers often stand outside a user's PATH.
const FOLDERS: [&str; 5] =
    ["/usr/sbin", "/usr/libexec", "/usr/local/sbin", "/usr/local/mysql/bin", "/usr/local/mariadb/bin"];

/// A server that can be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    /// The server.
    pub server: String,
    /// The program that initialises a data directory.
    pub initializer: String,
    /// Version, such as `10.11.14-MariaDB`.
    pub version: String,
}

impl Programs {
    /// The series a data directory belongs to, such as `MariaDB 10.11`.
    #[must_use]
    pub fn series(&self) -> String {
        series(&self.version)
    }
}

/// `MariaDB 10.11` from `10.11.14-MariaDB-0+deb12u2`.
#[must_use]
pub fn series(version: &str) -> String {
    let number: Vec<&str> = version.split(['.', '-']).take(2).collect();
    format!("MariaDB {}", number.join("."))
}

/// Finds the server and asks it for its version.
///
/// # Errors
/// When there is none, or it is not MariaDB (other servers come later), with what to install.
pub fn find(named: Option<&str>) -> Result<Programs, ServerError> {
    let server = match named {
        Some(path) if Path::new(path).is_file() => path.to_owned(),
        Some(path) => {
            return Err(ServerError::NotFound(format!(
                "server.program `{path}` is not a file; name the server's program or leave the line out"
            )));
        }
        None => search(&SERVERS).ok_or_else(|| {
            ServerError::NotFound(format!(
                "no MariaDB server found: looked for {} in PATH and {}; install the package \
                 mariadb-server-core (Debian, Ubuntu) or mariadb-server (others)",
                SERVERS.join(", "),
                FOLDERS.join(", ")
            ))
        })?,
    };
    let initializer = beside(&server).or_else(|| search(&INITIALIZERS)).ok_or_else(|| {
        ServerError::NotFound(format!(
            "found {server} but not {}; install the rest of the MariaDB server package",
            INITIALIZERS.join(" or ")
        ))
    })?;
    let output = Command::new(&server).args(["--no-defaults", "--version"]).output();
    let text = match output {
        Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
        Err(error) => return Err(ServerError::NotFound(format!("{server} cannot be run: {error}"))),
    };
    let version = parse_version(&text).ok_or_else(|| {
        ServerError::NotFound(format!(
            "`{server} --version` says `{}`, which is no server's version; name a MariaDB server in server.program",
            text.trim()
        ))
    })?;
    if !version.contains("MariaDB") {
        return Err(ServerError::NotFound(format!(
            "{server} is version {version}, not MariaDB; name a MariaDB server in server.program"
        )));
    }
    Ok(Programs { server, initializer, version })
}

/// The same as facts for preflight.
#[must_use]
pub fn facts(named: Option<&str>, account_named: Option<&str>) -> ServerFacts {
    match (find(named), account::choose(account_named)) {
        (Ok(programs), Ok(account)) => ServerFacts::Found {
            program: programs.server,
            initializer: programs.initializer,
            version: programs.version,
            account: account.map(|account| account.name),
        },
        (Err(error), _) | (_, Err(error)) => ServerFacts::Missing { reason: error.to_string() },
    }
}

fn search(names: &[&str]) -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> =
        std::env::split_paths(&path).chain(FOLDERS.iter().map(PathBuf::from)).collect();
    names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|candidate| candidate.is_file())
        .map(|found| found.to_string_lossy().into_owned())
}

/// The initialiser that came with a server: `prefix/bin`, `prefix/scripts` or the same folder.
fn beside(server: &str) -> Option<String> {
    let folder = Path::new(server).parent()?;
    let prefix = folder.parent()?;
    [folder.to_path_buf(), prefix.join("bin"), prefix.join("scripts")]
        .iter()
        .flat_map(|folder| INITIALIZERS.iter().map(move |name| folder.join(name)))
        .find(|candidate| candidate.is_file())
        .map(|found| found.to_string_lossy().into_owned())
}

/// `10.11.14-MariaDB-0+deb12u2` from `mariadbd  Ver 10.11.14-MariaDB-0+deb12u2 for debian-linux-gnu …`.
fn parse_version(text: &str) -> Option<String> {
    let mut words = text.split_whitespace();
    words.find(|word| *word == "Ver")?;
    words.next().filter(|word| word.starts_with(|c: char| c.is_ascii_digit())).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_versions() {
        let text =
            "/usr/sbin/mariadbd  Ver 10.11.14-MariaDB-0+deb12u2 for debian-linux-gnu on x86_64 (Debian 12)\n";
        assert_eq!(parse_version(text).unwrap(), "10.11.14-MariaDB-0+deb12u2");
        assert_eq!(parse_version("mysqld  Ver 9.7.0 for Linux").unwrap(), "9.7.0");
        assert_eq!(parse_version("Segmentation fault"), None);
        assert_eq!(series("10.11.14-MariaDB-0+deb12u2"), "MariaDB 10.11");
    }

    #[test]
    fn a_named_program_must_be_there() {
        let error = find(Some("/nonexistent/mariadbd")).unwrap_err();
        assert!(error.to_string().contains("/nonexistent/mariadbd"), "{error}");
    }
}

//! The unprivileged account a server runs under when the agent is root.

use std::process::Command;

use super::ServerError;

/// Accounts tried in turn when the profile names none.
const DEFAULTS: [&str; 2] = ["mysql", "nobody"];

/// A user of this system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Login name.
    pub name: String,
    /// User id.
    pub uid: u32,
    /// Primary group id.
    pub gid: u32,
}

/// The account to switch to: `None` when the agent is not root and stays who it is.
///
/// # Errors
/// When a named account does not exist, or is root itself, which database servers refuse.
pub fn choose(named: Option<&str>) -> Result<Option<Account>, ServerError> {
    if !nix::unistd::geteuid().is_root() {
        return Ok(None);
    }
    let account = match named {
        Some(name) => look_up(name).ok_or_else(|| ServerError::NoAccount(name.to_owned()))?,
        None => DEFAULTS
            .iter()
            .find_map(|name| look_up(name))
            .ok_or_else(|| ServerError::NoAccount(DEFAULTS.join("` or `")))?,
    };
    if account.uid == 0 {
        return Err(ServerError::NotFound(format!(
            "server.account `{}` is root; name an unprivileged account",
            account.name
        )));
    }
    Ok(Some(account))
}

/// Asks `getent`: name-service lookups crash inside a static glibc program.
fn look_up(name: &str) -> Option<Account> {
    let output = Command::new("getent").arg("passwd").arg("--").arg(name).output().ok()?;
    parse_passwd(std::str::from_utf8(&output.stdout).ok()?.lines().next()?)
}

fn parse_passwd(line: &str) -> Option<Account> {
    let mut fields = line.split(':');
    let name = fields.next().filter(|name| !name.is_empty())?.to_owned();
    let uid = fields.nth(1)?.parse().ok()?;
    let gid = fields.next()?.parse().ok()?;
    Some(Account { name, uid, gid })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_passwd_line() {
        let account = parse_passwd("mysql:x:101:102:MySQL Server,,,:/nonexistent:/bin/false").unwrap();
        assert_eq!(account, Account { name: "mysql".into(), uid: 101, gid: 102 });
        assert_eq!(parse_passwd(""), None);
        assert_eq!(parse_passwd("mysql:x:many:102::"), None);
    }
}

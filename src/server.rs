//! A private database server: found, initialised, configured, started, stopped, and its failures explained.
//!
//! The server lives in a folder of its own on the device under test, answers on a socket in that
//! folder (or on loopback), and is gone when the agent that started it is gone.

pub mod access;
pub mod account;
pub mod cpus;
pub mod explain;
pub mod find;
pub mod folder;
pub mod instance;
pub mod shim;

use std::path::PathBuf;

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The program is not there or does not answer.
    #[error("{0}")]
    NotFound(String),
    /// The account does not exist.
    #[error(
        "the account `{0}` does not exist here; name one that does in the hardware profile's server.account"
    )]
    NoAccount(String),
    /// The folder cannot be used.
    #[error("{path}: {reason}")]
    Folder {
        /// Which folder or file.
        path: PathBuf,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// A Unix socket's path does not fit the kernel's address.
    #[error(
        "the server's socket would be `{path}`, {length} bytes long; the kernel allows 107. \
         Use a shorter device.path, or server.transport: tcp"
    )]
    SocketPathTooLong {
        /// The path.
        path: String,
        /// Its length in bytes.
        length: usize,
    },
    /// It could not be initialised or started.
    #[error("{what}\nlikely cause: {cause}")]
    DidNotStart {
        /// What was tried and how it ended.
        what: String,
        /// Reading of the log's end.
        cause: String,
        /// End of the log.
        log_tail: String,
        /// The log.
        log: PathBuf,
    },
    /// It started and then refused what was asked of it.
    #[error("the server refused a statement while it was set up: {0}")]
    Refused(#[from] mysql::Error),
}

impl ServerError {
    /// The end of the server's log, when there is one to show.
    #[must_use]
    pub fn log_tail(&self) -> &str {
        match self {
            ServerError::DidNotStart { log_tail, .. } => log_tail,
            _ => "",
        }
    }
}

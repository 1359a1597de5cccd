//! Making datasets and loading a server: connections, threads, recording.

pub mod arrivals;
pub mod chunk;
pub mod collector;
pub mod connection;
pub mod course;
pub mod desk;
pub mod drive;
pub mod prepare;
pub mod recorder;
pub mod settle;
pub mod statements;
pub mod wire;
pub mod worker;

/// Why a load could not go on.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A connection could not be made or set up.
    #[error("load thread {thread} could not {what}: {source}")]
    Connect {
        /// Number of the thread, from 1.
        thread: u32,
        /// What it was doing.
        what: &'static str,
        /// The client library's error.
        source: mysql::Error,
    },
    /// A thread met an error that does not pass by starting again.
    #[error("load thread {thread} stopped at `{statement}`: {source}")]
    Statement {
        /// Number of the thread, from 1.
        thread: u32,
        /// The statement's text.
        statement: String,
        /// The client library's error.
        source: mysql::Error,
    },
    /// The operating system refused a thread.
    #[error("could not start load thread {thread}: {source}")]
    Thread {
        /// Number of the thread, from 1.
        thread: u32,
        /// Its error.
        source: std::io::Error,
    },
    /// It was told to stop before it began.
    #[error("told to stop before the load began")]
    Stopped,
}

//! How this host's clients reach the server.

use std::path::PathBuf;
use std::time::Duration;

use mysql::{Opts, OptsBuilder};

/// Account that drivestone makes for itself on its private server.
pub const USER: &str = "drivestone";

/// Largest message, bytes: the servers' default. Known beforehand, so that a new connection sends no SELECT of its
/// own, which the server would count among the load's.
const MOST_PACKET_BYTES: usize = 16 << 20;

/// Where the server answers, and the password made for this start. Never printed; stored only where the
/// server reads it when it starts.
#[derive(Clone)]
pub struct Access {
    address: Address,
    password: String,
}

/// Where a server answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket.
    Socket(PathBuf),
    /// A port on 127.0.0.1.
    Loopback(u16),
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Address::Socket(path) => write!(f, "{}", path.display()),
            Address::Loopback(port) => write!(f, "127.0.0.1:{port}"),
        }
    }
}

impl Access {
    /// Access with a password that must stay in memory.
    #[must_use]
    pub fn new(address: Address, password: String) -> Self {
        Self { address, password }
    }

    /// The password, for a server that is started again for the same clients.
    pub(super) fn password(&self) -> &str {
        &self.password
    }

    /// Where the server answers.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Options of a connection that holds up to `statements` prepared statements.
    ///
    /// `prefer_socket` is off: left on, a loopback connection would silently become a socket.
    #[must_use]
    pub fn options(&self, statements: usize) -> Opts {
        let builder = OptsBuilder::new()
            .user(Some(USER))
            .pass(Some(&self.password))
            .prefer_socket(false)
            .tcp_connect_timeout(Some(Duration::from_secs(10)))
            .max_allowed_packet(Some(MOST_PACKET_BYTES))
            .stmt_cache_size(statements.max(8));
        self.at_address(builder)
    }

    /// Options of a connection that gives up when an answer takes longer than `patience`. It is then of
    /// no use any more.
    #[must_use]
    pub fn impatient_options(&self, patience: Duration) -> Opts {
        OptsBuilder::from_opts(self.options(8)).read_timeout(Some(patience)).into()
    }

    fn at_address(&self, builder: OptsBuilder) -> Opts {
        match &self.address {
            Address::Socket(path) => builder.socket(Some(path.to_string_lossy().into_owned())).into(),
            Address::Loopback(port) => builder.ip_or_hostname(Some("127.0.0.1")).tcp_port(*port).into(),
        }
    }
}

//! State that the threads of one server share.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustls::ServerConfig;

use crate::serve::log::files::Files;
use crate::serve::registry::Registry;
use crate::serve::session::login::Account;
use crate::serve::stream::Stream;

/// The name of this server for its replicas, which none of them may share.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Its server id.
    pub server_id: u32,
    /// Its UUID.
    pub server_uuid: String,
}

/// Limits for peers.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections at the same time.
    pub connections: usize,
    /// Connections at the same time that have not logged in.
    pub strangers: usize,
    /// Time for a login.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 256, strangers: 16, patience: Duration::from_secs(10) }
    }
}

/// State that the threads of one server share.
pub(super) struct Shared {
    pub(super) files: Arc<Files>,
    pub(super) registry: Registry,
    pub(super) identity: Identity,
    pub(super) account: Account,
    pub(super) tls: Option<Arc<ServerConfig>>,
    pub(super) limits: Limits,
    pub(super) version: String,
    /// True to send a replica nothing before it was recorded.
    pub(super) records_replicas: bool,
    /// Transactions to send in place of the files.
    pub(super) stream: Option<Stream>,
    pub(super) stopped: AtomicBool,
}

impl Shared {
    /// Returns true if replicas of MariaDB are served.
    pub(super) fn mariadb(&self) -> bool {
        self.stream.as_ref().is_some_and(Stream::mariadb)
    }

    /// Returns the version for the greeting. MariaDB's begins with that of an older server, because replicas of MySQL's
    /// family read the first number only.
    pub(super) fn greeted_version(&self) -> String {
        let prefix = if self.mariadb() { "5.5.5-" } else { "" };
        format!("{prefix}{}", self.version)
    }

    /// Returns true unless the first transaction of the log has no GTID.
    pub(super) fn has_gtids(&self) -> bool {
        self.files.list().iter().find_map(|file| file.first.as_ref()).is_none_or(|first| first.gtid.is_some())
    }
}

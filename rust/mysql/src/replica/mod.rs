//! A replica's connection to its source: statements without rows, then the source's log, and acknowledgements during
//! it.
//!
//! The library behind [`Connection`](crate::connection::Connection) gives a source's log as a stream that cannot be written to
//! and has lost the header of semi-synchronous replication, so the few packets that a replica needs are read and written here.

// These bytes come from others: an access outside of them is an error, never a panic.
#![cfg_attr(not(test), warn(clippy::indexing_slicing))]

mod handshake;
mod login;
mod packets;
mod public_key;
mod stream;
mod tls;
mod transport;

use mysql_common::packets::binlog_request::BinlogRequest;
use mysql_common::packets::{BinlogDumpFlags, ComBinlogDump, ComRegisterSlave};

use crate::connection::{Error, Options};
use crate::replica::handshake::{odd, server_error};
use crate::replica::packets::{Packets, serialized};
#[cfg(test)]
pub(crate) use crate::replica::stream::Arrived;
pub(crate) use crate::replica::stream::{EventStream, SourceEvents};
use crate::replica::transport::Transport;

const COM_QUERY: u8 = 0x03;

/// Identity of a replica for its source.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Server id, which no other replica of the source has.
    pub server_id: u32,
    /// Host that the source's list of replicas shows; may be empty.
    pub host: String,
    /// Port that the source's list of replicas shows; 0 for none.
    pub port: u16,
}

/// A connection for receiving a source's log. Closed when dropped.
pub struct ReplicaConnection {
    packets: Packets<Transport>,
    connection_id: u32,
    version: String,
}

impl ReplicaConnection {
    /// Connects and logs in, with the same options and the same outcome as [`Connection`](crate::connection::Connection).
    pub fn open(options: &Options) -> Result<Self, Error> {
        let (packets, greeting) = login::log_in(options)?;
        // MariaDB puts the version that very old replicas expect before its own.
        let version = greeting.version.strip_prefix("5.5.5-").unwrap_or(&greeting.version).to_owned();
        Ok(Self { packets, connection_id: greeting.connection_id, version })
    }

    /// Returns the server's number of this connection.
    pub fn connection_id(&self) -> u32 {
        self.connection_id
    }

    /// Returns the server's version as text, for example `9.7.4` or `10.11.6-MariaDB`.
    pub fn server_version(&self) -> &str {
        &self.version
    }

    /// Runs one statement that returns no rows.
    pub fn execute(&mut self, sql: &str) -> Result<(), Error> {
        self.command(&[&[COM_QUERY], sql.as_bytes()].concat())
    }

    /// Registers as a replica and requests the log; with `semi_sync`, which the session must have enabled before, every
    /// event comes with the header of semi-synchronous replication.
    pub(crate) fn dump(
        self,
        identity: &Identity,
        request: &BinlogRequest<'_>,
        semi_sync: bool,
    ) -> Result<EventStream, Error> {
        self.start_dump(identity, &serialized(&request.as_cmd()), semi_sync)
    }

    /// Registers as a replica and requests every event of the source's files from a position on, also those with the
    /// text of a statement, which MariaDB leaves out otherwise.
    pub(crate) fn dump_files(self, identity: &Identity, file: &str, position: u32) -> Result<EventStream, Error> {
        // The bit of this flag is MariaDB's BINLOG_SEND_ANNOTATE_ROWS_EVENT; MySQL ignores it.
        let command = ComBinlogDump::new(identity.server_id)
            .with_pos(position)
            .with_filename(file.as_bytes())
            .with_flags(BinlogDumpFlags::BINLOG_THROUGH_POSITION);
        self.start_dump(identity, &serialized(&command), false)
    }

    fn start_dump(mut self, identity: &Identity, command: &[u8], semi_sync: bool) -> Result<EventStream, Error> {
        let registration =
            ComRegisterSlave::new(identity.server_id).with_hostname(identity.host.as_bytes()).with_port(identity.port);
        self.command(&serialized(&registration))?;
        self.packets.begin();
        self.packets.write(command)?;
        self.packets.count_loosely();
        Ok(EventStream::new(self.packets, semi_sync))
    }

    /// Sends a command that is answered by an OK or an error.
    fn command(&mut self, command: &[u8]) -> Result<(), Error> {
        self.packets.begin();
        self.packets.write(command)?;
        let mut answer = Vec::new();
        self.packets.read(&mut answer)?;
        match (server_error(&answer), answer.first()) {
            (Some(error), _) => Err(error),
            (None, Some(0)) => Ok(()),
            (None, _) => Err(odd("answer")),
        }
    }
}

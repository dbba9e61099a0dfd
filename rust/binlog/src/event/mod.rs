//! Event headers and type codes.

// These bytes come from others: an access outside of them is an error, never a panic.
#![cfg_attr(not(test), warn(clippy::indexing_slicing))]

pub mod checksum;
pub mod cursor;
pub mod format;
pub mod gtid_event;
pub mod mariadb;
pub(crate) mod partial_rows;
pub mod query;
pub(crate) mod refusal;
pub mod text;
pub(crate) mod transaction_context;

use std::sync::Arc;

use crate::error::Fault;
use crate::event::cursor::Cursor;
use crate::transaction::Format;

/// Bytes of an event's common header.
pub const HEADER_LENGTH: usize = 19;

/// Flags of the common header.
pub mod flags {
    /// The log was not closed: it is being written, or its server crashed.
    pub const BINLOG_IN_USE: u16 = 0x1;
    /// Made up by the server for one connection; not in the source's log.
    pub const ARTIFICIAL: u16 = 0x20;
    /// Written by the receiver itself into its relay log.
    pub const RELAY_LOG: u16 = 0x40;
    /// May be skipped by a reader that does not know the type.
    pub const IGNORABLE: u16 = 0x80;
}

/// Type codes, MySQL's up to 9.x and MariaDB's from 160.
#[expect(missing_docs, reason = "the names are the servers' own")]
pub mod types {
    pub const START_V3: u8 = 1;
    pub const QUERY: u8 = 2;
    pub const STOP: u8 = 3;
    pub const ROTATE: u8 = 4;
    pub const INTVAR: u8 = 5;
    pub const LOAD: u8 = 6;
    pub const SLAVE: u8 = 7;
    pub const CREATE_FILE: u8 = 8;
    pub const APPEND_BLOCK: u8 = 9;
    pub const EXEC_LOAD: u8 = 10;
    pub const DELETE_FILE: u8 = 11;
    pub const NEW_LOAD: u8 = 12;
    pub const RAND: u8 = 13;
    pub const USER_VAR: u8 = 14;
    pub const FORMAT_DESCRIPTION: u8 = 15;
    pub const XID: u8 = 16;
    pub const BEGIN_LOAD_QUERY: u8 = 17;
    pub const EXECUTE_LOAD_QUERY: u8 = 18;
    pub const TABLE_MAP: u8 = 19;
    pub const PRE_GA_WRITE_ROWS: u8 = 20;
    pub const PRE_GA_UPDATE_ROWS: u8 = 21;
    pub const PRE_GA_DELETE_ROWS: u8 = 22;
    pub const WRITE_ROWS_V1: u8 = 23;
    pub const UPDATE_ROWS_V1: u8 = 24;
    pub const DELETE_ROWS_V1: u8 = 25;
    pub const INCIDENT: u8 = 26;
    pub const HEARTBEAT: u8 = 27;
    pub const IGNORABLE: u8 = 28;
    pub const ROWS_QUERY: u8 = 29;
    pub const WRITE_ROWS: u8 = 30;
    pub const UPDATE_ROWS: u8 = 31;
    pub const DELETE_ROWS: u8 = 32;
    pub const GTID: u8 = 33;
    pub const ANONYMOUS_GTID: u8 = 34;
    pub const PREVIOUS_GTIDS: u8 = 35;
    pub const TRANSACTION_CONTEXT: u8 = 36;
    pub const VIEW_CHANGE: u8 = 37;
    pub const XA_PREPARE: u8 = 38;
    pub const PARTIAL_UPDATE_ROWS: u8 = 39;
    pub const TRANSACTION_PAYLOAD: u8 = 40;
    pub const HEARTBEAT_V2: u8 = 41;
    pub const GTID_TAGGED: u8 = 42;

    pub const AURORA_PADDING: u8 = 100;

    pub const MARIADB_ANNOTATE_ROWS: u8 = 160;
    pub const MARIADB_BINLOG_CHECKPOINT: u8 = 161;
    pub const MARIADB_GTID: u8 = 162;
    pub const MARIADB_GTID_LIST: u8 = 163;
    pub const MARIADB_START_ENCRYPTION: u8 = 164;
    pub const MARIADB_QUERY_COMPRESSED: u8 = 165;
    pub const MARIADB_WRITE_ROWS_COMPRESSED_V1: u8 = 166;
    pub const MARIADB_UPDATE_ROWS_COMPRESSED_V1: u8 = 167;
    pub const MARIADB_DELETE_ROWS_COMPRESSED_V1: u8 = 168;
    pub const MARIADB_WRITE_ROWS_COMPRESSED: u8 = 169;
    pub const MARIADB_UPDATE_ROWS_COMPRESSED: u8 = 170;
    pub const MARIADB_DELETE_ROWS_COMPRESSED: u8 = 171;
    pub const MARIADB_PARTIAL_ROW_DATA: u8 = 172;
}

/// Returns the name of an event's type as in `SHOW BINLOG EVENTS`; none for types that never accompany row events.
pub fn type_name(type_code: u8) -> Option<&'static str> {
    Some(match type_code {
        types::START_V3 => "Start_v3",
        types::QUERY => "Query",
        types::STOP => "Stop",
        types::ROTATE => "Rotate",
        types::INTVAR => "Intvar",
        types::RAND => "RAND",
        types::USER_VAR => "User var",
        types::FORMAT_DESCRIPTION => "Format_desc",
        types::XID => "Xid",
        types::BEGIN_LOAD_QUERY => "Begin_load_query",
        types::EXECUTE_LOAD_QUERY => "Execute_load_query",
        types::TABLE_MAP => "Table_map",
        types::WRITE_ROWS_V1 => "Write_rows_v1",
        types::UPDATE_ROWS_V1 => "Update_rows_v1",
        types::DELETE_ROWS_V1 => "Delete_rows_v1",
        types::INCIDENT => "Incident",
        types::HEARTBEAT | types::HEARTBEAT_V2 => "Heartbeat",
        types::IGNORABLE => "Ignorable",
        types::ROWS_QUERY => "Rows_query",
        types::AURORA_PADDING => "Aurora_padding",
        types::WRITE_ROWS => "Write_rows",
        types::UPDATE_ROWS => "Update_rows",
        types::DELETE_ROWS => "Delete_rows",
        types::GTID | types::MARIADB_GTID => "Gtid",
        types::ANONYMOUS_GTID => "Anonymous_Gtid",
        types::PREVIOUS_GTIDS => "Previous_gtids",
        types::TRANSACTION_CONTEXT => "Transaction_context",
        types::VIEW_CHANGE => "View_change",
        types::XA_PREPARE => "XA_prepare",
        types::PARTIAL_UPDATE_ROWS => "Update_rows_partial",
        types::TRANSACTION_PAYLOAD => "Transaction_payload",
        types::GTID_TAGGED => "Gtid_tagged",
        types::MARIADB_ANNOTATE_ROWS => "Annotate_rows",
        types::MARIADB_BINLOG_CHECKPOINT => "Binlog_checkpoint",
        types::MARIADB_GTID_LIST => "Gtid_list",
        types::MARIADB_START_ENCRYPTION => "Start_encryption",
        types::MARIADB_QUERY_COMPRESSED => "Query_compressed",
        types::MARIADB_WRITE_ROWS_COMPRESSED_V1 => "Write_rows_compressed_v1",
        types::MARIADB_UPDATE_ROWS_COMPRESSED_V1 => "Update_rows_compressed_v1",
        types::MARIADB_DELETE_ROWS_COMPRESSED_V1 => "Delete_rows_compressed_v1",
        types::MARIADB_WRITE_ROWS_COMPRESSED => "Write_rows_compressed",
        types::MARIADB_UPDATE_ROWS_COMPRESSED => "Update_rows_compressed",
        types::MARIADB_DELETE_ROWS_COMPRESSED => "Delete_rows_compressed",
        types::MARIADB_PARTIAL_ROW_DATA => "Partial_rows",
        _ => return None,
    })
}

/// The common header of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventHeader {
    /// Second of the statement's start (UTC).
    pub timestamp: u32,
    /// One of [`types`].
    pub type_code: u8,
    /// The server on which the event began.
    pub server_id: u32,
    /// Bytes of the whole event in the file: header, body and checksum.
    pub event_size: u32,
    /// Offset after the event in the log that it was first written to.
    pub log_pos: u32,
    /// See [`flags`].
    pub flags: u16,
}

impl EventHeader {
    /// Reads the first 19 bytes of an event.
    pub fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        let mut cursor = Cursor::new(bytes);
        Ok(Self {
            timestamp: cursor.u32()?,
            type_code: cursor.u8()?,
            server_id: cursor.u32()?,
            event_size: cursor.u32()?,
            log_pos: cursor.u32()?,
            flags: cursor.u16()?,
        })
    }

    /// Returns true if a flag is set.
    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

/// An event in the reader's buffer.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    /// File offset of its first byte.
    pub offset: u64,
    /// File offset after its last byte, checksum included.
    pub end_offset: u64,
    /// The header as in the file (its size counts the checksum).
    pub header: EventHeader,
    /// Header and body, without the checksum.
    pub bytes: &'a [u8],
    /// The format of the event.
    pub format: &'a Arc<Format>,
    /// True if it is in a relay log, as far as was read.
    pub relay_log: bool,
}

impl<'a> Event<'a> {
    /// Returns true for the padding that Amazon Aurora puts behind the GTID of a transaction: an ignorable event of type
    /// 100 with nothing but asterisks (a public log of the project mysql-binlog-connector-java has one).
    pub fn is_padding(&self) -> bool {
        self.header.type_code == types::AURORA_PADDING
            && self.header.has(flags::IGNORABLE)
            && self.body().iter().all(|&byte| byte == b'*')
    }

    /// Returns the bytes after the common header, without the checksum.
    pub fn body(&self) -> &'a [u8] {
        self.bytes.get(HEADER_LENGTH..).unwrap_or_default()
    }
}

/// An event with bytes of its own, as [`crate::read::file::events`] gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedEvent {
    /// File offset of its first byte.
    pub offset: u64,
    /// The header as in the file (its size counts the checksum).
    pub header: EventHeader,
    /// Header and body, without the checksum.
    pub bytes: Vec<u8>,
}

impl OwnedEvent {
    /// Returns the bytes after the common header, without the checksum.
    pub fn body(&self) -> &[u8] {
        self.bytes.get(HEADER_LENGTH..).unwrap_or_default()
    }
}

impl From<Event<'_>> for OwnedEvent {
    fn from(event: Event<'_>) -> Self {
        Self { offset: event.offset, header: event.header, bytes: event.bytes.to_vec() }
    }
}

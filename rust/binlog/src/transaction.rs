//! A transaction as it is read from a log: its header, its statements and its raw row events.

use std::ops::Range;
use std::sync::Arc;

use paraply_core::gtid::{Gtid, GtidSet};
use paraply_spool::Data;

/// Format of a transaction's events: the last format description event before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    /// The format description event itself, its checksum cut off and its checksum algorithm set to none.
    pub event: Vec<u8>,
    /// The server's version as text, for example `9.7.4` or `10.11.6-MariaDB-log`.
    pub server_version: String,
    /// True if a MariaDB server wrote the log.
    pub mariadb: bool,
    /// The version as numbers: major, minor, patch.
    pub version: (u8, u8, u8),
    /// Post-header lengths by event type, starting with type 1.
    pub post_header_lengths: Vec<u8>,
    /// True if events end with a CRC32 in the file.
    pub checksum: bool,
    /// The server that wrote the log; with the creation time the identity of a log without GTIDs.
    pub server_id: u32,
    /// Creation time of the log, seconds since 1970.
    pub created: u32,
}

/// Kind of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Row changes only.
    Dml,
    /// A statement that commits by itself (DDL, GRANT, ...), or CREATE TABLE ... SELECT with its rows.
    Ddl,
    /// Nothing but begin and commit, or a GTID alone.
    Empty,
    /// A group's view change.
    ViewChange,
    /// XA PREPARE: row changes that stay prepared under a XID.
    XaPrepare,
    /// XA COMMIT or XA ROLLBACK of an earlier XA PREPARE.
    XaEnd,
}

/// Kind of a row event, with the images that it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowsKind {
    /// After images.
    Insert,
    /// Before and after images in turn.
    Update,
    /// Before and after images in turn, the after image with partial JSON.
    PartialUpdate,
    /// Before images.
    Delete,
}

/// A raw event inside a transaction: a whole event with header, uncompressed and without checksum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawEvent {
    /// The event's type code as in the header.
    pub type_code: u8,
    /// The event's bytes in [`Transaction::data`].
    pub range: Range<usize>,
    /// The file offset of the event (of the payload event where it was compressed).
    pub offset: u64,
}

/// The status variables of a statement, which determine its meaning (rule R33).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StatementContext {
    /// The session that ran it (`thread_id`).
    pub thread_id: u32,
    /// The event's error code; not zero where the statement ended in an error on the source.
    pub error_code: u16,
    /// `Q_FLAGS2_CODE`: `OPTION_NO_FOREIGN_KEY_CHECKS`, `OPTION_RELAXED_UNIQUE_CHECKS`, `OPTION_NOT_AUTOCOMMIT`, ...
    pub flags2: Option<u32>,
    /// `sql_mode` as its bit set.
    pub sql_mode: Option<u64>,
    /// `auto_increment_increment` and `auto_increment_offset`.
    pub auto_increment: Option<(u16, u16)>,
    /// `character_set_client`, `collation_connection`, `collation_server` as collation numbers.
    pub charset: Option<(u16, u16, u16)>,
    /// `time_zone`.
    pub time_zone: Option<String>,
    /// `lc_time_names` as a number.
    pub lc_time_names: Option<u16>,
    /// `collation_database` as a number.
    pub charset_database: Option<u16>,
    /// User and host of the definer.
    pub invoker: Option<(String, String)>,
    /// Databases that the statement changed, if the source names them.
    pub updated_databases: Vec<String>,
    /// `explicit_defaults_for_timestamp`.
    pub explicit_defaults_for_timestamp: Option<bool>,
    /// MariaDB's `character_set_collations`: pairs of a character set and its default collation, as collation numbers.
    pub character_set_collations: Vec<(u16, u16)>,
    /// `default_collation_for_utf8mb4` as a number.
    pub default_collation_for_utf8mb4: Option<u16>,
    /// `sql_require_primary_key`.
    pub sql_require_primary_key: Option<u8>,
    /// `default_table_encryption`.
    pub default_table_encryption: Option<u8>,
    /// Microseconds of the statement's start, added to the event's second.
    pub microseconds: Option<u32>,
    /// Codes of status variables that this version does not know: the statement must not be run.
    pub unknown: Vec<u8>,
}

/// Settings of the source's session under which it computed the rows of a transaction: those of its BEGIN.
///
/// A target that computes generated columns and checks constraints again needs the same.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RowSettings {
    /// `sql_mode` as its bit set.
    pub sql_mode: Option<u64>,
    /// `time_zone`; none where no row of the transaction depended on it.
    pub time_zone: Option<String>,
    /// `lc_time_names` as a number; none for `en_US`.
    pub lc_time_names: Option<u16>,
}

/// A statement that is in the log as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The statement, in `character_set_client`.
    pub sql: Vec<u8>,
    /// The default database; empty where there was none.
    pub database: String,
    /// The event's second (UTC).
    pub timestamp: u32,
    /// Seconds that it took on the source (`exec_time`), in whole seconds of the clock.
    pub seconds: u32,
    /// Its status variables.
    pub context: StatementContext,
    /// File offset of the event.
    pub offset: u64,
}

/// The identity that a transaction has in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// A GTID of MySQL (with or without tag) or of MariaDB.
    Gtid(Gtid),
    /// MySQL's anonymous transactions and logs older than GTIDs: identified by file and offset only.
    Anonymous,
}

/// One transaction of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own: any of their combinations may occur")]
pub struct Transaction {
    /// GTID or none.
    pub identity: Identity,
    /// Kind of the transaction.
    pub kind: Kind,
    /// The server on which it began.
    pub server_id: u32,
    /// The number that the source or the certifier stamped; none where the log has none.
    pub last_committed: Option<i64>,
    /// The number that the source or the certifier stamped; none where the log has none.
    pub sequence_number: Option<i64>,
    /// MariaDB's group-commit number and flags (FL_*) where the log has them.
    pub mariadb_commit_id: Option<u64>,
    /// MariaDB's GTID flags.
    pub mariadb_flags: u8,
    /// The session (thread id) that ran it, if the log has it.
    pub session: Option<u32>,
    /// Set that its group member had executed before it: only where a log holds the context of certification.
    pub snapshot: Option<Arc<GtidSet>>,
    /// Commit time on the original source, microseconds since 1970 UTC; whole seconds where the log has no better.
    pub committed_at: Option<i64>,
    /// True if any of its row events has `FLAG_NO_FOREIGN_KEY_CHECKS`.
    pub no_foreign_key_checks: bool,
    /// Settings of the session that made its rows; none where the log has no BEGIN, as MariaDB's.
    pub row_settings: Option<Arc<RowSettings>>,
    /// Statements in text: the DDL, or `XA ...`; `BEGIN` and `COMMIT` are left out.
    pub statements: Vec<Statement>,
    /// The XID text of XA transactions (`X'..',X'..',n`).
    pub xid: Option<String>,
    /// All table-map and row events in order (uncompressed, no checksum).
    pub events: Vec<RawEvent>,
    /// The bytes that [`RawEvent::range`] points into.
    pub data: Data,
    /// Changed rows, as counted from the row events (an update's two images are one row). Filled by the row decoder.
    pub rows: u64,
    /// True if a filter removed everything but its identity.
    pub filtered: bool,
    /// True if it is left out by name; a statement or a part of an XA transaction still has its content.
    pub skipped: bool,
    /// True if changes of paraply's own tables were removed from it.
    pub own_left_out: bool,
    /// Bytes that the transaction takes in the file.
    pub bytes: u64,
    /// Index of its file in the reader's list.
    pub file: u32,
    /// File offset of its first event.
    pub offset: u64,
    /// File offset after its last event.
    pub end_offset: u64,
    /// The format of its events.
    pub format: Arc<Format>,
}

impl Transaction {
    /// Removes everything but the identity, so that the transaction still takes its turn and is recorded (rule R19).
    pub fn empty_out(&mut self) {
        self.kind = Kind::Empty;
        self.filtered = true;
        self.statements = Vec::new();
        self.events = Vec::new();
        self.data = Data::default();
        self.rows = 0;
    }
}

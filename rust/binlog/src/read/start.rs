//! Start of a transaction: the content of its first event.

use std::sync::Arc;

use paraply_spool::Data;

use crate::error::{Fault, LogError};
use crate::event::Event;
use crate::event::gtid_event::GtidEvent;
use crate::event::mariadb::{EXTRA_ROLLBACK_ALTER, EXTRA_START_ALTER, FL_PREPARED_XA, MariadbGtid};
use crate::event::partial_rows::Pieces;
use crate::transaction::{Format, Identity, Kind, Transaction};

/// Memory reserved for a transaction's bytes at once; it grows as needed.
const MOST_RESERVED: u64 = 1 << 20;

/// The first version that writes BEGIN and COMMIT around the row changes of each statement.
const FIRST_WITH_BEGIN: (u8, u8, u8) = (5, 5, 0);

/// A savepoint that can be rolled back to.
#[derive(Debug)]
pub(crate) struct Savepoint {
    pub(crate) name: Vec<u8>,
    pub(crate) events: usize,
    pub(crate) data: usize,
    pub(crate) row_bytes: u64,
    pub(crate) no_foreign_key_checks: bool,
}

/// A transaction that has begun and not yet ended.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each met or not met on the way through the events"
)]
pub(crate) struct Group {
    /// The transaction as far as it is known.
    pub(crate) transaction: Transaction,
    /// Name of the file that it begins in.
    pub(crate) name: Arc<str>,
    /// True if a BEGIN was read, or the GTID event shows that there is none.
    pub(crate) begun: bool,
    /// MariaDB: true if the transaction is the one statement after the GTID.
    pub(crate) standalone: bool,
    /// MariaDB: true for the start or the failure of an ALTER TABLE, of which only the end counts.
    pub(crate) unfinished_alter: bool,
    /// True for an XA transaction up to its XA PREPARE.
    pub(crate) xa: bool,
    /// True if a view change was read.
    pub(crate) view_change: bool,
    /// True if the receiver began a new file or connected again inside the transaction; the transaction may be
    /// repeated.
    pub(crate) interrupted: bool,
    /// Bytes of row events, whether they are kept or not.
    pub(crate) row_bytes: u64,
    /// Savepoints that are set, the oldest first.
    pub(crate) savepoints: Vec<Savepoint>,
    /// True if the last row event was not the last one of its statement.
    pub(crate) inside_statement: bool,
    /// True for one statement whose row events are in a log of MySQL 5.1 without BEGIN and COMMIT.
    pub(crate) one_statement: bool,
    /// Pieces of an incomplete row event.
    pub(crate) pieces: Option<Pieces>,
    /// Error of the events before a change in statement format, up to its text.
    pub(crate) before_text: Option<Box<LogError>>,
    /// True if a change in statement format was passed over because of the filter.
    pub(crate) left_out: bool,
}

impl Group {
    /// Starts a transaction of a log without GTIDs with its first statement.
    pub(crate) fn without_gtid(event: &Event<'_>, name: &Arc<str>, file: u32) -> Self {
        Self {
            transaction: empty_transaction(event, file),
            name: Arc::clone(name),
            begun: false,
            standalone: false,
            unfinished_alter: false,
            xa: false,
            view_change: false,
            interrupted: false,
            row_bytes: 0,
            savepoints: Vec::new(),
            inside_statement: false,
            one_statement: false,
            pieces: None,
            before_text: None,
            left_out: false,
        }
    }

    /// Starts a transaction after one of MySQL's GTID events.
    pub(crate) fn of_mysql(event: &Event<'_>, gtid: GtidEvent, name: &Arc<str>, file: u32) -> Self {
        let mut group = Self::without_gtid(event, name, file);
        let transaction = &mut group.transaction;
        transaction.identity = gtid.gtid.map_or(Identity::Anonymous, Identity::Gtid);
        transaction.last_committed = gtid.last_committed;
        transaction.sequence_number = gtid.sequence_number;
        transaction.committed_at = gtid.committed_at.or(transaction.committed_at);
        transaction.data.reserve(gtid.transaction_length.unwrap_or(0).min(MOST_RESERVED) as usize);
        group
    }

    /// Starts a transaction after MariaDB's GTID event, which is its BEGIN too.
    pub(crate) fn of_mariadb(event: &Event<'_>, gtid: MariadbGtid, name: &Arc<str>, file: u32) -> Result<Self, Fault> {
        if gtid.gtid.number == 0 {
            return Err(Fault::damaged("0 cannot be the number of a GTID"));
        }
        let mut group = Self::without_gtid(event, name, file);
        group.standalone = gtid.is_standalone();
        group.begun = !group.standalone;
        group.xa = gtid.flags & FL_PREPARED_XA != 0;
        group.unfinished_alter = gtid.extra_flags & (EXTRA_START_ALTER | EXTRA_ROLLBACK_ALTER) != 0;
        let transaction = &mut group.transaction;
        transaction.identity = Identity::Gtid(gtid.gtid);
        transaction.mariadb_commit_id = gtid.commit_id;
        transaction.mariadb_flags = gtid.flags;
        transaction.session = gtid.thread_id;
        transaction.xid = gtid.xid;
        Ok(group)
    }

    /// Returns the error of a transaction without an end.
    pub(crate) fn unfinished(&self, because: &str) -> LogError {
        LogError::Truncated {
            file: self.name.to_string(),
            position: self.transaction.offset,
            message: format!("the transaction that begins here has no end: {because}"),
        }
    }
}

fn empty_transaction(event: &Event<'_>, file: u32) -> Transaction {
    Transaction {
        identity: Identity::Anonymous,
        kind: Kind::Empty,
        server_id: event.header.server_id,
        last_committed: None,
        sequence_number: None,
        mariadb_commit_id: None,
        mariadb_flags: 0,
        session: None,
        snapshot: None,
        row_settings: None,
        committed_at: Some(i64::from(event.header.timestamp) * 1_000_000),
        no_foreign_key_checks: false,
        statements: Vec::new(),
        xid: None,
        events: Vec::new(),
        data: Data::default(),
        rows: 0,
        filtered: false,
        own_left_out: false,
        skipped: false,
        bytes: 0,
        file,
        offset: event.offset,
        end_offset: event.end_offset,
        format: Arc::clone(event.format),
    }
}

/// Returns true if logs of this format, as those of MySQL 5.1, have row changes of tables without transactions outside
/// of BEGIN and COMMIT.
pub(crate) fn is_without_begin(format: &Format) -> bool {
    format.version < FIRST_WITH_BEGIN && !format.mariadb
}

//! The log's row events, as far as a statement needs them.

use paraply_binlog::rows::{CHILDREN_STAY, NO_FOREIGN_KEY_CHECKS};
use paraply_binlog::transaction::{Format, RawEvent, Transaction};

/// Length of an event's common header.
pub(super) const HEADER: usize = 19;
/// `TABLE_MAP_EVENT`.
pub(super) const TABLE_MAP: u8 = 19;
/// `STMT_END_F`: the last row event of a statement; the server then forgets the table maps.
pub(super) const STATEMENT_END: u8 = 1;

/// Error of events that are to become a statement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An event's range lies outside of the transaction's bytes, or the event is too short for its type.
    #[error("the event at offset {offset} is too short for its type")]
    Malformed {
        /// File offset of the event.
        offset: u64,
    },
    /// A row event without the table map that it needs.
    #[error("the row event at offset {offset} has no table map before it")]
    NoTableMap {
        /// File offset of the event.
        offset: u64,
    },
    /// The rows of a transaction stop in the middle of a statement.
    #[error("the rows of the transaction at offset {offset} stop before the statement's end")]
    Unfinished {
        /// File offset of the transaction.
        offset: u64,
    },
    /// A time that the server's version cannot hold.
    #[error(
        "the row event at offset {offset} has a TIMESTAMP later than 2038-01-19 03:14:07 UTC, where those of MariaDB before 11.5 end: \
         use a target of 11.5 or later"
    )]
    TooLate {
        /// File offset of the event.
        offset: u64,
    },
    /// One event that is larger than the server takes.
    #[error(
        "the row event at offset {offset} needs {bytes} bytes of statement and the server takes {limit}: raise max_allowed_packet"
    )]
    TooLarge {
        /// File offset of the event.
        offset: u64,
        /// Bytes needed.
        bytes: usize,
        /// Bytes allowed.
        limit: usize,
    },
}

/// A table-map or row event, parsed as far as fusing needs it.
#[derive(Clone, Copy)]
pub(super) struct RowEvent<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) format: &'a Format,
    pub(super) type_code: u8,
    pub(super) offset: u64,
    pub(super) table_map: bool,
    /// Offset of the flags, after the table's id.
    pub(super) flags_at: usize,
    pub(super) ends_statement: bool,
    /// True if the server need not check foreign keys for it.
    pub(super) unchecked: bool,
}

impl<'a> RowEvent<'a> {
    pub(super) fn read(transaction: &'a Transaction, event: &RawEvent) -> Result<Self, Error> {
        let malformed = Error::Malformed { offset: event.offset };
        let bytes = transaction.data.get(event.range.clone()).ok_or_else(|| malformed.clone())?;
        let table_map = event.type_code == TABLE_MAP;
        // Servers before 5.1.4 wrote table ids of four bytes, in a post-header of six.
        let lengths = &transaction.format.post_header_lengths;
        let short = usize::from(event.type_code).checked_sub(1).and_then(|i| lengths.get(i)) == Some(&6);
        let flags_at = HEADER + if short { 4 } else { 6 };
        // After two bytes of flags every event has more.
        if bytes.len() < flags_at + 3 {
            return Err(malformed);
        }
        let ends_statement = !table_map && bytes[flags_at] & STATEMENT_END != 0;
        Ok(Self {
            bytes,
            format: &transaction.format,
            type_code: event.type_code,
            offset: event.offset,
            table_map,
            flags_at,
            ends_statement,
            unchecked: false,
        })
    }

    /// Returns the table's id as the source wrote it.
    pub(super) fn table_id(&self) -> &'a [u8] {
        &self.bytes[HEADER..self.flags_at]
    }

    /// Returns the flags for the server, without that for the statement's end.
    pub(super) fn flags(&self) -> [u8; 2] {
        let own = u16::from_le_bytes([self.bytes[self.flags_at], self.bytes[self.flags_at + 1]]);
        let unchecked = self.unchecked || own & CHILDREN_STAY != 0;
        let more = if unchecked { NO_FOREIGN_KEY_CHECKS } else { 0 };
        (own & !CHILDREN_STAY & !u16::from(STATEMENT_END) | more).to_le_bytes()
    }
}

//! `BINLOG '...'` statements: the log's own row events, handed to a server of the same family (rule R31).
//!
//! A server executes the events as its replication applier would. It needs the log's format description event first,
//! in a statement of its own, once a session.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use paraply_binlog::transaction::{Format, RawEvent, Transaction};

/// Length of an event's common header.
const HEADER: usize = 19;
/// `TABLE_MAP_EVENT`.
const TABLE_MAP: u8 = 19;
/// `STMT_END_F`: the last row event of a statement; the server then forgets the table maps.
const STATEMENT_END: u8 = 1;
const PREFIX: &[u8] = b"BINLOG '";

/// What may be wrong with events that are to become a statement.
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

/// How much one statement may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Events a statement; a statement's rows that stand together are not cut for it.
    pub events: usize,
    /// Bytes of statement text (the server's `max_allowed_packet`); rows are cut for it where they must be.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { events: usize::MAX, bytes: 16 << 20 }
    }
}

/// The statement that gives the server the log's format description event.
///
/// On MySQL it leaves `gtid_next` undetermined; set it again afterwards.
pub fn format_statement(format: &Format) -> Vec<u8> {
    statement(&format.event)
}

/// The statements with the row events of some transactions, in order.
pub fn binlog_statements<'a>(
    transactions: impl IntoIterator<Item = &'a Transaction>,
    limits: Limits,
) -> Result<Vec<Vec<u8>>, Error> {
    let mut writer = Writer::new(limits);
    for transaction in transactions {
        let mut group = Group::default();
        for event in &transaction.events {
            let raw = RowEvent::read(transaction, event)?;
            let ends = raw.ends_statement;
            group.push(raw)?;
            if ends {
                writer.add(&std::mem::take(&mut group))?;
            }
        }
        if !group.rows.is_empty() {
            return Err(Error::Unfinished { offset: transaction.offset });
        }
    }
    Ok(writer.finish())
}

/// A table-map or row event, looked at as far as cutting needs it.
#[derive(Clone, Copy)]
struct RowEvent<'a> {
    bytes: &'a [u8],
    offset: u64,
    table_map: bool,
    flags_at: usize,
    ends_statement: bool,
}

impl<'a> RowEvent<'a> {
    fn read(transaction: &'a Transaction, event: &RawEvent) -> Result<Self, Error> {
        let malformed = Error::Malformed { offset: event.offset };
        let bytes = transaction.data.get(event.range.clone()).ok_or_else(|| malformed.clone())?;
        let table_map = event.type_code == TABLE_MAP;
        // Servers before 5.1.4 wrote table ids of four bytes, in a post-header of six.
        let lengths = &transaction.format.post_header_lengths;
        let short = usize::from(event.type_code).checked_sub(1).and_then(|i| lengths.get(i)) == Some(&6);
        let flags_at = HEADER + if short { 4 } else { 6 };
        let flags = *bytes.get(flags_at).ok_or(malformed)?;
        let ends_statement = !table_map && flags & STATEMENT_END != 0;
        Ok(Self { bytes, offset: event.offset, table_map, flags_at, ends_statement })
    }
}

/// The events of one statement of the source: its table maps, then its rows.
#[derive(Default)]
struct Group<'a> {
    maps: Vec<RowEvent<'a>>,
    rows: Vec<RowEvent<'a>>,
    bytes: usize,
}

impl<'a> Group<'a> {
    fn push(&mut self, event: RowEvent<'a>) -> Result<(), Error> {
        self.bytes += event.bytes.len();
        if event.table_map {
            self.maps.push(event);
        } else if self.maps.is_empty() {
            return Err(Error::NoTableMap { offset: event.offset });
        } else {
            self.rows.push(event);
        }
        Ok(())
    }

    fn events(&self) -> usize {
        self.maps.len() + self.rows.len()
    }
}

/// Collects events and closes a statement when it is full.
struct Writer {
    limits: Limits,
    /// Raw bytes that fit a statement of `limits.bytes` in base64.
    raw_limit: usize,
    buffer: Vec<u8>,
    events: usize,
    statements: Vec<Vec<u8>>,
}

impl Writer {
    fn new(limits: Limits) -> Self {
        // The packet also carries the command's byte.
        let raw_limit = limits.bytes.saturating_sub(PREFIX.len() + 2) / 4 * 3;
        Self { limits, raw_limit, buffer: Vec::new(), events: 0, statements: Vec::new() }
    }

    fn add(&mut self, group: &Group<'_>) -> Result<(), Error> {
        let full =
            self.events + group.events() > self.limits.events || self.buffer.len() + group.bytes > self.raw_limit;
        if full {
            self.close();
        }
        if group.bytes > self.raw_limit {
            return self.add_in_pieces(group);
        }
        for event in group.maps.iter().chain(&group.rows) {
            self.buffer.extend_from_slice(event.bytes);
        }
        self.events += group.events();
        Ok(())
    }

    /// A statement of the source that is too large for one of ours: every piece repeats the table maps, and its last
    /// event is marked as the statement's end. Rows are applied one by one anyway, so nothing else changes.
    fn add_in_pieces(&mut self, group: &Group<'_>) -> Result<(), Error> {
        let maps: Vec<u8> = group.maps.iter().flat_map(|e| e.bytes).copied().collect();
        let mut last_flags = None;
        for event in &group.rows {
            let alone = maps.len() + event.bytes.len();
            if alone > self.raw_limit {
                let bytes = alone.div_ceil(3) * 4 + PREFIX.len() + 2;
                return Err(Error::TooLarge { offset: event.offset, bytes, limit: self.limits.bytes });
            }
            if self.buffer.len() + event.bytes.len() > self.raw_limit {
                self.mark_end(last_flags.take());
                self.close();
            }
            if self.buffer.is_empty() {
                self.buffer.extend_from_slice(&maps);
            }
            last_flags = Some(self.buffer.len() + event.flags_at);
            self.buffer.extend_from_slice(event.bytes);
            self.events += 1;
        }
        self.close();
        Ok(())
    }

    fn mark_end(&mut self, flags_at: Option<usize>) {
        if let Some(flags) = flags_at.and_then(|at| self.buffer.get_mut(at)) {
            *flags |= STATEMENT_END;
        }
    }

    fn close(&mut self) {
        if !self.buffer.is_empty() {
            self.statements.push(statement(&self.buffer));
            self.buffer.clear();
            self.events = 0;
        }
    }

    fn finish(mut self) -> Vec<Vec<u8>> {
        self.close();
        self.statements
    }
}

fn statement(events: &[u8]) -> Vec<u8> {
    let mut sql = String::with_capacity(PREFIX.len() + events.len().div_ceil(3) * 4 + 1);
    sql.push_str("BINLOG '");
    STANDARD.encode_string(events, &mut sql);
    sql.push('\'');
    sql.into_bytes()
}

#[cfg(test)]
mod tests;

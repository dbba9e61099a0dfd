//! Writing of events: a group member's log, in the form in which MySQL 9.7 writes it.
//!
//! Events carry no checksum and no position: the code that appends them to a log adds both.

mod columns;
mod error;
#[cfg(test)]
mod tests;

use paraply_core::gtid::{Gtid, Origin as GtidOrigin};
use paraply_core::schema::Table;
use paraply_core::value::Value;

use self::columns::lenenc;
pub use self::error::{Collations, EncodeError};
use crate::event::{EventHeader, HEADER_LENGTH, types};
use crate::transaction::Transaction;

/// Bytes of a checksum, which count in a transaction's length.
const CHECKSUM: u64 = 4;
/// Bytes after which a new row event is begun, as by `binlog_row_event_max_size`.
const MOST_ROW_BYTES: usize = 8192;
/// The server version of the events.
const SERVER_VERSION: u32 = 90_700;
/// `utf8mb4_0900_ai_ci`, as client, connection and server.
const CHARSETS: [u8; 6] = [255, 0, 255, 0, 255, 0];
/// Header of a transaction.
#[derive(Debug, Clone)]
pub struct Head {
    /// Its GTID.
    pub gtid: Gtid,
    /// The number that must be committed before it starts.
    pub last_committed: i64,
    /// Its own number.
    pub sequence_number: i64,
    /// The server on which the transaction began.
    pub server_id: u32,
    /// The session on that server.
    pub session: u32,
    /// Commit time on that server, microseconds since 1970, UTC.
    pub committed_at: u64,
}

/// Properties of a transaction that every event's header repeats.
#[derive(Debug, Clone, Copy)]
struct Origin {
    server_id: u32,
    seconds: u32,
}

impl Head {
    fn origin(&self) -> Origin {
        Origin { server_id: self.server_id, seconds: (self.committed_at / 1_000_000) as u32 }
    }
}

/// One changed row; images have all columns.
#[derive(Debug, Clone)]
pub struct RowChange<'a> {
    /// Its table.
    pub table: &'a Table,
    /// The row before; none for an insert.
    pub before: Option<Vec<Value<'a>>>,
    /// The row after; none for a delete.
    pub after: Option<Vec<Value<'a>>>,
}

impl RowChange<'_> {
    fn type_code(&self) -> u8 {
        match (&self.before, &self.after) {
            (None, _) => types::WRITE_ROWS,
            (Some(_), None) => types::DELETE_ROWS,
            (Some(_), Some(_)) => types::UPDATE_ROWS,
        }
    }
}

/// Returns table maps and row events, joined: the inner part of a transaction, which is the same in every log.
pub fn rows(
    collations: &Collations,
    server_id: u32,
    committed_at: u64,
    changes: &[RowChange<'_>],
) -> Result<Vec<u8>, EncodeError> {
    let origin = Origin { server_id, seconds: (committed_at / 1_000_000) as u32 };
    let mut events = Vec::new();
    let mut rest = changes;
    while let Some(first) = rest.first() {
        let alike =
            |change: &&RowChange<'_>| change.table.name == first.table.name && change.type_code() == first.type_code();
        let count = rest.iter().take_while(alike).count();
        let (alike, later) = rest.split_at_checked(count).unwrap_or((rest, &[]));
        row_events(origin, collations, alike, &mut events)?;
        rest = later;
    }
    Ok(events.concat())
}

/// Returns the row events of a transaction that was read, joined, as [`rows`] returns them.
pub fn rows_of(transaction: &Transaction) -> Vec<u8> {
    let mut joined = Vec::new();
    for event in &transaction.events {
        let Some(bytes) = transaction.data.get(event.range.clone()) else { continue };
        let start = joined.len();
        joined.extend_from_slice(bytes);
        if let Some(place) = joined.get_mut(start + 9..start + 17) {
            // Its size without a checksum, and no position.
            place.copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        }
    }
    joined
}

/// Returns the events of a transaction of rows: its inner part, as [`rows`] returns it, between its first and last
/// events.
pub fn transaction(head: &Head, rows: &[u8]) -> Result<Vec<Vec<u8>>, EncodeError> {
    let mut events = vec![query(head, "", b"BEGIN", 8)];
    let mut rest = rows;
    while !rest.is_empty() {
        let size = EventHeader::parse(rest).map_or(0, |header| header.event_size as usize);
        let event = rest.get(..size).filter(|_| size >= HEADER_LENGTH).ok_or(EncodeError::Rows)?;
        events.push(event.to_vec());
        rest = rest.get(size..).unwrap_or_default();
    }
    events.push(made(types::XID, head.origin(), &head.gtid.number.to_le_bytes()));
    with_gtid(head, events)
}

/// Returns the events of a DDL statement.
pub fn statement(head: &Head, database: &str, sql: &str) -> Result<Vec<Vec<u8>>, EncodeError> {
    with_gtid(head, vec![query(head, database, sql.as_bytes(), 0)])
}

/// Returns the events of a view change.
pub fn view_change(head: &Head, view_id: &str, number: u64) -> Result<Vec<Vec<u8>>, EncodeError> {
    let mut body = view_id.as_bytes().to_vec();
    body.resize(40, 0);
    body.extend(number.to_le_bytes());
    body.extend(0_u32.to_le_bytes());
    let begin = query(head, "", b"BEGIN", 0);
    let commit = query(head, "", b"COMMIT", 0);
    with_gtid(head, vec![begin, made(types::VIEW_CHANGE, head.origin(), &body), commit])
}

fn row_events(
    origin: Origin,
    collations: &Collations,
    changes: &[RowChange<'_>],
    events: &mut Vec<Vec<u8>>,
) -> Result<(), EncodeError> {
    let Some(first) = changes.first() else { return Ok(()) };
    let kinds = columns::kinds(first.table, collations)?;
    let id = table_id(first.table);
    events.push(made(types::TABLE_MAP, origin, &columns::table_map(first.table, &kinds, id)?));
    let both = first.type_code() == types::UPDATE_ROWS;
    let mut rows = Vec::new();
    for (index, change) in changes.iter().enumerate() {
        for image in [&change.before, &change.after].into_iter().flatten() {
            columns::image(first.table, &kinds, image, &mut rows)?;
        }
        let last = index + 1 == changes.len();
        if last || rows.len() > MOST_ROW_BYTES {
            events.push(rows_event(origin, first.type_code(), id, kinds.len(), both, last, &rows));
            rows.clear();
        }
    }
    Ok(())
}

fn rows_event(origin: Origin, type_code: u8, id: u64, columns: usize, both: bool, last: bool, rows: &[u8]) -> Vec<u8> {
    let mut body = id.to_le_bytes()[..6].to_vec();
    body.extend(u16::from(last).to_le_bytes()); // STMT_END
    body.extend([2, 0]); // no extra data
    lenenc(&mut body, columns as u64);
    for _ in 0..if both { 2 } else { 1 } {
        body.extend(columns::low_bits((0..columns).map(|_| true)));
    }
    body.extend(rows);
    made(type_code, origin, &body)
}

/// Returns the same number for the same table, so that maps in a log do not contradict each other.
fn table_id(table: &Table) -> u64 {
    let name = table.name.to_string();
    xxhash_rust::xxh64::xxh64(name.as_bytes(), 0) >> 24 | 1
}

fn query(head: &Head, database: &str, sql: &[u8], flags: u16) -> Vec<u8> {
    let mut event = made(types::QUERY, head.origin(), &query_body(head.session, database, sql));
    if let Some(field) = event.get_mut(17..19) {
        field.copy_from_slice(&flags.to_le_bytes());
    }
    event
}

/// Returns the body of a query event with the default settings of a session.
pub(crate) fn query_body(session: u32, database: &str, sql: &[u8]) -> Vec<u8> {
    let mut status = vec![0, 0, 0, 0, 0, 1];
    status.extend(0x45a0_0020_u64.to_le_bytes()); // the default sql_mode
    status.extend(*b"\x06\x03std\x04");
    status.extend(CHARSETS);
    let mut body = session.to_le_bytes().to_vec();
    body.extend([0; 4]);
    body.push(database.len() as u8);
    body.extend([0; 2]);
    body.extend((status.len() as u16).to_le_bytes());
    body.extend(status);
    body.extend(database.as_bytes());
    body.push(0);
    body.extend(sql);
    body
}

/// Prepends the GTID event.
fn with_gtid(head: &Head, mut events: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, EncodeError> {
    let GtidOrigin::MySql { uuid, tag } = &head.gtid.origin else { return Err(EncodeError::Gtid(head.gtid.clone())) };
    if !tag.is_empty() {
        return Err(EncodeError::Gtid(head.gtid.clone()));
    }
    let mut body = vec![0];
    body.extend(uuid);
    body.extend(head.gtid.number.to_le_bytes());
    body.push(2);
    body.extend(head.last_committed.to_le_bytes());
    body.extend(head.sequence_number.to_le_bytes());
    body.extend(&head.committed_at.to_le_bytes()[..7]);
    let rest: u64 = events.iter().map(|event| event.len() as u64 + CHECKSUM).sum();
    let own = (HEADER_LENGTH + body.len()) as u64 + CHECKSUM + 4;
    let mut length = Vec::new();
    // The length includes the bytes of the length itself.
    for width in [1, 3, 4, 9] {
        length.clear();
        lenenc(&mut length, rest + own + width);
        if length.len() as u64 == width {
            break;
        }
    }
    body.extend(&length);
    body.extend(SERVER_VERSION.to_le_bytes());
    events.insert(0, made(types::GTID, head.origin(), &body));
    Ok(events)
}

fn made(type_code: u8, origin: Origin, body: &[u8]) -> Vec<u8> {
    event(type_code, origin.server_id, origin.seconds, body)
}

fn event(type_code: u8, server_id: u32, timestamp: u32, body: &[u8]) -> Vec<u8> {
    let mut out = timestamp.to_le_bytes().to_vec();
    out.push(type_code);
    out.extend(server_id.to_le_bytes());
    out.extend(((HEADER_LENGTH + body.len()) as u32).to_le_bytes());
    out.extend([0; 6]);
    out.extend(body);
    out
}

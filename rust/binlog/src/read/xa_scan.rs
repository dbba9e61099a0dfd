//! Finds XA transactions (rule R35) and row changes in statement format (rule R27) before the log is read: anything
//! that a target cannot replay is refused, or announced, before the first write.
//!
//! Only the events that begin and end transactions are read, and nothing is unpacked or copied, so a scan takes a
//! fraction of the time of reading. This scan reports no errors of a log: it ends at the error, and the reader reports
//! it.

use std::path::PathBuf;
use std::sync::Arc;

use paraply_core::gtid::Gtid;
use paraply_core::schema::TableName;

use crate::error::{Fault, LogError};
use crate::event::gtid_event::{self, GtidEvent};
use crate::event::mariadb::{FL_COMPLETED_XA, FL_PREPARED_XA, MariadbGtid};
use crate::event::query::QueryEvent;
use crate::event::text::{TextKind, changed_table, emptied_table};
use crate::event::{Event, types};
use crate::read::file::EventReader;
use crate::read::passed_over::PassedOver;
use crate::read::payload::Payload;
use crate::read::piece::Place;
use crate::read::start::is_without_begin;
use crate::read::unmatched::Unmatched;
use crate::rows::table_map::name_of;

/// One part of a transaction that is prepared and ended separately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XaFound {
    /// The file, as it was named.
    pub file: String,
    /// Offset of the start of the part.
    pub offset: u64,
    /// The file's number and the offset after the XA event; for MySQL's logs the end of the part.
    pub end: Place,
    /// Its GTID, if it has one.
    pub gtid: Option<Gtid>,
    /// The XID as servers write it.
    pub xid: String,
    /// True for XA COMMIT or XA ROLLBACK; false for XA PREPARE.
    pub ends: bool,
    /// Tables of its row events, each once; an end has none.
    pub tables: Vec<TableName>,
}

/// A change of rows in statement format, or another statement that is refused. Payloads that MySQL compresses as a whole hold none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementFound {
    /// The file, as it was named.
    pub file: String,
    /// Offset of the start of its transaction.
    pub offset: u64,
    /// The file's number and the offset after the statement.
    pub end: Place,
    /// The transaction's GTID, if it has one.
    pub gtid: Option<Gtid>,
    /// Offset of the statement.
    pub statement_offset: u64,
    /// The table that it names first; else its first word.
    pub table: String,
    /// Its text; empty after the first hundred statements.
    pub sql: Vec<u8>,
}

/// Number of statements whose texts are kept.
const MOST_TEXTS: usize = 100;

/// Result of scanning some logs.
#[derive(Debug, Default)]
pub struct Found {
    /// Every XA PREPARE, XA COMMIT and XA ROLLBACK, in order. XA transactions that commit in one phase are ordinary ones.
    pub xa: Vec<XaFound>,
    /// Every change of rows in statement format, and every other statement that is refused, in order.
    pub statements: Vec<StatementFound>,
    /// Names of the filter that no event has; none where a file could not be read to its end.
    pub unmatched: Unmatched,
}

/// Returns every XA PREPARE, XA COMMIT and XA ROLLBACK of some logs, in order.
pub fn xa_transactions(paths: &[PathBuf]) -> Vec<XaFound> {
    look_ahead(paths, &PassedOver::default()).xa
}

/// Scans some logs, for an apply that passes over some changes in statement format.
pub fn look_ahead(paths: &[PathBuf], passed_over: &PassedOver) -> Found {
    let mut found = Found { unmatched: Unmatched::of(&passed_over.tables), ..Found::default() };
    let mut complete = true;
    for (path, file) in paths.iter().zip(0..) {
        // Anything but a plain file can be read only once, and the reader does that.
        // An error ends the scan of this file; the reader reports it.
        complete &= path.is_file()
            && EventReader::open(path, true).and_then(|events| in_file(events, file, passed_over, &mut found)).is_ok();
    }
    if !complete {
        found.unmatched = Unmatched::default();
    }
    found
}

/// Scans one file.
fn in_file(mut events: EventReader<'_>, file: u32, passed_over: &PassedOver, all: &mut Found) -> Result<(), LogError> {
    let mut start = Start::default();
    let mut tables = Tables::default();
    let name = Arc::clone(events.name());
    while let Some(event) = events.next_event()? {
        let fault = |fault: Fault| fault.at(&name, event.offset);
        all.unmatched.note(&event, &name)?;
        if event.header.type_code == types::TABLE_MAP {
            // MariaDB's GTID event has already shown that the rows are of an XA transaction.
            let has_begun = tables.has_begun;
            let of_last = tables.is_of_mariadb.then(|| all.xa.last_mut()).flatten();
            let into = of_last.map_or(&mut tables.names, |found| &mut found.tables);
            add_table(has_begun, into, &event).map_err(fault)?;
            continue;
        }
        if start.note(&event) {
            tables = Tables::default();
            continue;
        }
        let with_text = all.statements.len() < MOST_TEXTS;
        if let Some((table, sql)) = row_change(&event, &mut start, passed_over, with_text).map_err(fault)? {
            let gtid = start.gtid(&event).map_err(fault)?;
            let offset = start.offset.unwrap_or(event.offset);
            let end = Place { file, offset: event.end_offset };
            let statement_offset = event.offset;
            all.statements.push(StatementFound {
                file: name.to_string(),
                offset,
                end,
                gtid,
                statement_offset,
                table,
                sql,
            });
            continue;
        }
        let found = match event.header.type_code {
            types::TRANSACTION_PAYLOAD => in_payload(&name, &event)?,
            _ => part_of(&event, &mut tables).map_err(fault)?,
        };
        let Some(Part { xid, ends, tables }) = found else { continue };
        let gtid = start.gtid(&event).map_err(fault)?;
        let offset = start.offset.unwrap_or(event.offset);
        let end = Place { file, offset: event.end_offset };
        all.xa.push(XaFound { file: name.to_string(), offset, end, gtid, xid, ends, tables });
    }
    Ok(())
}

/// An event's part of an XA transaction in two phases.
struct Part {
    xid: String,
    ends: bool,
    tables: Vec<TableName>,
}

/// The tables of an XA transaction that has begun.
#[derive(Default)]
struct Tables {
    names: Vec<TableName>,
    has_begun: bool,
    is_of_mariadb: bool,
}

/// Notes the table of a table map.
fn add_table(has_begun: bool, into: &mut Vec<TableName>, event: &Event<'_>) -> Result<(), Fault> {
    if has_begun {
        let (_, name) = name_of(event.bytes, event.format)?;
        if !into.contains(&name) {
            into.push(name);
        }
    }
    Ok(())
}

/// Returns the table and the text of a statement that is refused, as a change of rows in statement format is.
fn row_change(
    event: &Event<'_>,
    start: &mut Start,
    passed_over: &PassedOver,
    with_text: bool,
) -> Result<Option<(String, Vec<u8>)>, Fault> {
    let is_query = match event.header.type_code {
        types::XID => {
            start.begun = false;
            false
        }
        types::QUERY | types::EXECUTE_LOAD_QUERY => true,
        types::MARIADB_QUERY_COMPRESSED => event.format.mariadb,
        _ => false,
    };
    if !is_query {
        return Ok(None);
    }
    let query = QueryEvent::parse(event.header.type_code, event.body(), event.format)?;
    let kind = query.kind()?;
    match kind {
        TextKind::Begin | TextKind::XaStart => start.begun = true,
        TextKind::Commit | TextKind::Rollback => start.begun = false,
        _ => {}
    }
    let TextKind::Refused(word) = kind else { return Ok(None) };
    // The reader takes such a statement as TRUNCATE TABLE.
    let is_alone = !start.begun && !is_without_begin(event.format);
    if is_alone && emptied_table(&query.sql).is_some() {
        return Ok(None);
    }
    if passed_over.leaves_out(&query)? {
        return Ok(None);
    }
    let table = changed_table(&query.sql, &String::from_utf8_lossy(query.database)).unwrap_or(word);
    Ok(Some((table, if with_text { query.sql.to_vec() } else { Vec::new() })))
}

/// The GTID event that the events after it belong to; parsed only if needed.
#[derive(Default)]
struct Start {
    type_code: u8,
    server_id: u32,
    body: Vec<u8>,
    offset: Option<u64>,
    /// True between BEGIN and COMMIT.
    begun: bool,
}

impl Start {
    /// Takes a GTID event; returns false if the event has more to evaluate.
    fn note(&mut self, event: &Event<'_>) -> bool {
        let type_code = event.header.type_code;
        let mariadb = type_code == types::MARIADB_GTID && event.format.mariadb;
        if !mariadb && !matches!(type_code, types::GTID | types::ANONYMOUS_GTID | types::GTID_TAGGED) {
            return false;
        }
        (self.type_code, self.server_id, self.offset) = (type_code, event.header.server_id, Some(event.offset));
        self.body.clear();
        self.body.extend_from_slice(event.body());
        let gtid = mariadb.then(|| MariadbGtid::parse(&self.body, self.server_id));
        self.begun = gtid.is_some_and(|gtid| gtid.is_ok_and(|gtid| !gtid.is_standalone()));
        !mariadb
    }

    fn gtid(&self, event: &Event<'_>) -> Result<Option<Gtid>, Fault> {
        if self.offset.is_none() {
            return Ok(None);
        }
        if event.format.mariadb {
            return MariadbGtid::parse(&self.body, self.server_id).map(|gtid| Some(gtid.gtid));
        }
        GtidEvent::parse(self.type_code, &self.body).map(|event| event.gtid)
    }
}

/// Returns the part that an event begins or ends, if it belongs to an XA transaction in two phases.
fn part_of(event: &Event<'_>, tables: &mut Tables) -> Result<Option<Part>, Fault> {
    match event.header.type_code {
        types::MARIADB_GTID if event.format.mariadb => {
            let gtid = MariadbGtid::parse(event.body(), event.header.server_id)?;
            let (ends, prepares) = (gtid.flags & FL_COMPLETED_XA != 0, gtid.flags & FL_PREPARED_XA != 0);
            *tables = Tables { names: Vec::new(), has_begun: prepares, is_of_mariadb: prepares };
            Ok(gtid.xid.filter(|_| ends || prepares).map(|xid| Part { xid, ends, tables: Vec::new() }))
        }
        types::XA_PREPARE => {
            let (one_phase, xid) = gtid_event::xa_prepare(event.body())?;
            let names = std::mem::take(tables).names;
            // MariaDB's GTID event has already shown it.
            Ok((!one_phase && !event.format.mariadb).then_some(Part { xid, ends: false, tables: names }))
        }
        types::QUERY if !event.format.mariadb => {
            match QueryEvent::parse(event.header.type_code, event.body(), event.format)?.kind()? {
                TextKind::XaStart => {
                    *tables = Tables { has_begun: true, ..Tables::default() };
                    Ok(None)
                }
                TextKind::XaFinish { xid, .. } => Ok(Some(Part { xid, ends: true, tables: Vec::new() })),
                _ => Ok(None),
            }
        }
        _ => Ok(None),
    }
}

/// Returns the part of a payload's events, which are unpacked only as far as needed: an XA transaction starts as one.
fn in_payload(name: &Arc<str>, event: &Event<'_>) -> Result<Option<Part>, LogError> {
    let fault = |fault: Fault| fault.at(name, event.offset);
    let payload = Payload::parse(event.body()).map_err(fault)?;
    let mut inner = payload.events(name, event).map_err(fault)?;
    let mut tables = Tables::default();
    let mut first = true;
    while let Some(event) = inner.next_event()? {
        let found = part_of(&event, &mut tables).map_err(fault)?;
        if std::mem::take(&mut first) && !tables.has_begun {
            return Ok(None);
        }
        if event.header.type_code == types::TABLE_MAP {
            add_table(true, &mut tables.names, &event).map_err(fault)?;
        }
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

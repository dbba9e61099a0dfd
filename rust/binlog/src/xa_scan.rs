//! Finds XA transactions ahead of reading (rule R35): whoever cannot replay them refuses before the first write.
//!
//! Only the events that begin and end transactions are looked at, nothing is unpacked or copied, so a scan takes a fraction
//! of what reading takes. What is wrong with a log is not this scan's to say: it ends there, and the reader tells.

use std::path::PathBuf;
use std::sync::Arc;

use paraply_core::gtid::Gtid;

use crate::error::{Fault, LogError};
use crate::event::{Event, types};
use crate::file::EventReader;
use crate::gtid_event::{self, GtidEvent};
use crate::mariadb::{FL_COMPLETED_XA, FL_PREPARED_XA, MariadbGtid};
use crate::payload::Payload;
use crate::plan::{Passed, Place};
use crate::query::QueryEvent;
use crate::text::TextKind;

/// A transaction of a two-phase commit that is prepared and ended apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XaFound {
    /// The file, as it was named.
    pub file: String,
    /// Where the transaction begins.
    pub offset: u64,
    /// Its GTID, where it has one.
    pub gtid: Option<Gtid>,
    /// The XID as servers write it.
    pub xid: String,
}

/// The first XA PREPARE, XA COMMIT or XA ROLLBACK that was not applied before.
///
/// XA transactions that commit in one phase are ordinary ones.
pub fn first_xa(paths: &[PathBuf], passed: &Passed) -> Option<XaFound> {
    paths.iter().zip(0..).find_map(|(path, file)| {
        // What is no plain file can be read only once, and that is the reader's.
        if !path.is_file() {
            return None;
        }
        let is_passed = |found: &XaFound, end: u64| match &found.gtid {
            Some(gtid) => passed.executed.contains(gtid),
            None => passed.after.is_some_and(|place| Place { file, offset: end } <= place),
        };
        in_file(EventReader::open(path, true).ok()?, is_passed).ok().flatten()
    })
}

/// The first XA transaction of one file that was not passed already.
fn in_file(mut events: EventReader<'_>, passed: impl Fn(&XaFound, u64) -> bool) -> Result<Option<XaFound>, LogError> {
    let mut start = Start::default();
    let name = Arc::clone(events.name());
    while let Some(event) = events.next_event()? {
        let fault = |fault: Fault| fault.at(&name, event.offset);
        if start.note(&event) {
            continue;
        }
        let xid = match event.header.type_code {
            types::TRANSACTION_PAYLOAD => in_payload(&name, &event)?,
            _ => xid_of(&event).map_err(fault)?,
        };
        let Some(xid) = xid else { continue };
        let gtid = start.gtid(&event).map_err(fault)?;
        let found = XaFound { file: name.to_string(), offset: start.offset.unwrap_or(event.offset), gtid, xid };
        if !passed(&found, event.end_offset) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The GTID event that the events behind it belong to; read only where it is needed.
#[derive(Default)]
struct Start {
    type_code: u8,
    server_id: u32,
    body: Vec<u8>,
    offset: Option<u64>,
}

impl Start {
    /// Takes a GTID event; false if there is more to see in the event.
    fn note(&mut self, event: &Event<'_>) -> bool {
        let type_code = event.header.type_code;
        let mariadb = type_code == types::MARIADB_GTID && event.format.mariadb;
        if !mariadb && !matches!(type_code, types::GTID | types::ANONYMOUS_GTID | types::GTID_TAGGED) {
            return false;
        }
        (self.type_code, self.server_id, self.offset) = (type_code, event.header.server_id, Some(event.offset));
        self.body.clear();
        self.body.extend_from_slice(event.body());
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

/// The XID, if the event belongs to an XA transaction in two phases.
fn xid_of(event: &Event<'_>) -> Result<Option<String>, Fault> {
    match event.header.type_code {
        types::MARIADB_GTID if event.format.mariadb => {
            let gtid = MariadbGtid::parse(event.body(), event.header.server_id)?;
            Ok(gtid.xid.filter(|_| gtid.flags & (FL_PREPARED_XA | FL_COMPLETED_XA) != 0))
        }
        types::XA_PREPARE => {
            let (one_phase, xid) = gtid_event::xa_prepare(event.body())?;
            Ok((!one_phase).then_some(xid))
        }
        types::QUERY => match QueryEvent::parse(event.header.type_code, event.body(), event.format)?.kind()? {
            TextKind::XaFinish(xid) => Ok(Some(xid)),
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

/// The same for the events of a payload, which are unpacked only as far as needed: an XA transaction starts as one.
fn in_payload(name: &Arc<str>, event: &Event<'_>) -> Result<Option<String>, LogError> {
    let fault = |fault: Fault| fault.at(name, event.offset);
    let payload = Payload::parse(event.body()).map_err(fault)?;
    let mut inner = payload.events(name, event).map_err(fault)?;
    let mut first = true;
    while let Some(event) = inner.next_event()? {
        if std::mem::take(&mut first) {
            let query = QueryEvent::parse(event.header.type_code, event.body(), event.format).map_err(fault)?;
            if query.kind().map_err(fault)? != TextKind::XaStart {
                return Ok(None);
            }
        } else if let Some(found) = xid_of(&event).map_err(fault)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

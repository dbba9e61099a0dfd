//! The events around the rows of a transaction, where other rows are sent in place of those that the log has.

use std::sync::Arc;

use crate::error::Fault;
use crate::event::{Event, EventHeader, HEADER_LENGTH, types};
use crate::read::payload::Payload;
use crate::transaction::Format;

/// An event and its header.
pub(super) type Logged<'a> = (EventHeader, &'a [u8]);

/// The events around the rows of an uncompressed transaction that is not in XA.
pub(super) struct Frame<'a> {
    pub(super) gtid: Logged<'a>,
    /// The `BEGIN`; none in `MariaDB`'s logs, whose GTID event stands for it.
    pub(super) begin: Option<Logged<'a>>,
    pub(super) end: Logged<'a>,
}

impl<'a> Frame<'a> {
    /// Returns the frame of a transaction's events; none if they are compressed as a whole, or not as expected.
    pub(super) fn of(events: &[Logged<'a>]) -> Option<Self> {
        let (gtid, rest) = events.split_first()?;
        let (end, rest) = rest.split_last()?;
        if !matches!(end.0.type_code, types::XID | types::QUERY) {
            return None;
        }
        if gtid.0.type_code == types::MARIADB_GTID {
            return Some(Self { gtid: *gtid, begin: None, end: *end });
        }
        let begin = rest.first().filter(|event| event.0.type_code == types::QUERY)?;
        Some(Self { gtid: *gtid, begin: Some(*begin), end: *end })
    }
}

/// Returns the events of a transaction that is compressed as a whole.
pub(super) fn unpacked(
    (header, event): Logged<'_>,
    checksum: usize,
    format: &Arc<Format>,
) -> Result<Vec<(EventHeader, Vec<u8>)>, Fault> {
    if header.type_code != types::TRANSACTION_PAYLOAD {
        return Err(Fault::not_understood("a transaction of which only some rows are applied has another form"));
    }
    let bytes = without_checksum(event, checksum)?;
    let outer = Event { offset: 0, end_offset: 0, header, bytes, format, relay_log: false };
    let mut inner = Payload::parse(outer.body())?.events(&Arc::from("a compressed transaction"), &outer)?;
    let mut events = Vec::new();
    while let Some(event) = inner.next_event().map_err(|error| Fault::damaged(error.to_string()))? {
        events.push((event.header, event.bytes.to_vec()));
    }
    Ok(events)
}

/// Returns an event of a log without its last `checksum` bytes.
pub(super) fn without_checksum(event: &[u8], checksum: usize) -> Result<&[u8], Fault> {
    let length = event.len().saturating_sub(checksum).max(HEADER_LENGTH);
    event.get(..length).ok_or_else(|| Fault::damaged("an event is shorter than its header"))
}

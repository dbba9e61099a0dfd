//! Transactions whose row events are sent in another form, or of which only some rows are sent.

use std::sync::Arc;

use crate::error::Fault;
use crate::event::checksum::CHECKSUM_LENGTH;
use crate::event::{Event, EventHeader, HEADER_LENGTH, types};
use crate::read::payload::Payload;
use crate::transaction::Format;
use crate::write::dump::{Dump, is_of_transaction, split};
use crate::write::restamp::Stamps;

type Logged<'a> = (EventHeader, &'a [u8]);

/// The events around the rows of an uncompressed transaction that is not in XA.
pub(super) struct Frame<'a> {
    gtid: Logged<'a>,
    /// The `BEGIN`; none in `MariaDB`'s logs, whose GTID event stands for it.
    begin: Option<Logged<'a>>,
    end: Logged<'a>,
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

impl Dump {
    /// Appends a transaction with only some of its rows, in place of all that the log has: `rows` holds their table maps
    /// and row events, without checksums. The transaction may be compressed as a whole, but not prepared by XA.
    pub fn remaining(
        &mut self,
        out: &mut Vec<u8>,
        events: &[u8],
        rows: &[u8],
        format: &Arc<Format>,
        stamps: Stamps,
    ) -> Result<(), Fault> {
        self.begin_transaction(out, format, stamps);
        let stamps = self.rebased(stamps);
        let checksum = if format.checksum { CHECKSUM_LENGTH } else { 0 };
        let events: Vec<_> = split(events)?.into_iter().filter(|(header, _)| is_of_transaction(header)).collect();
        if let Some(frame) = Frame::of(&events) {
            return self.framed(out, &frame, rows, checksum, stamps);
        }
        let [gtid, payload] = events.as_slice() else {
            return Err(Fault::not_understood("a transaction of which only some rows are applied has another form"));
        };
        self.event(out, *gtid, checksum, stamps)?;
        let inner = unpacked(*payload, checksum, format)?;
        let [begin, .., end] = inner.as_slice() else {
            return Err(Fault::damaged("a compressed transaction has no beginning or no end"));
        };
        self.event(out, (begin.0, &begin.1), 0, stamps)?;
        self.rows(out, rows, stamps)?;
        self.event(out, (end.0, &end.1), 0, stamps)
    }

    /// Appends the events of a frame, and rows between them.
    pub(super) fn framed(
        &mut self,
        out: &mut Vec<u8>,
        frame: &Frame<'_>,
        rows: &[u8],
        checksum: usize,
        stamps: Stamps,
    ) -> Result<(), Fault> {
        self.event(out, frame.gtid, checksum, stamps)?;
        if let Some(begin) = frame.begin {
            self.event(out, begin, checksum, stamps)?;
        }
        self.rows(out, rows, stamps)?;
        self.event(out, frame.end, checksum, stamps)
    }

    fn rows(&mut self, out: &mut Vec<u8>, rows: &[u8], stamps: Stamps) -> Result<(), Fault> {
        split(rows)?.into_iter().try_for_each(|event| self.event(out, event, 0, stamps))
    }
}

/// Returns the events of a transaction that is compressed as a whole.
fn unpacked(
    (header, event): Logged<'_>,
    checksum: usize,
    format: &Arc<Format>,
) -> Result<Vec<(EventHeader, Vec<u8>)>, Fault> {
    if header.type_code != types::TRANSACTION_PAYLOAD {
        return Err(Fault::not_understood("a transaction of which only some rows are applied has another form"));
    }
    let bytes = &event[..event.len().saturating_sub(checksum).max(HEADER_LENGTH)];
    let outer = Event { offset: 0, end_offset: 0, header, bytes, format, relay_log: false };
    let mut inner = Payload::parse(outer.body())?.events(&Arc::from("a compressed transaction"), &outer)?;
    let mut events = Vec::new();
    while let Some(event) = inner.next_event().map_err(|error| Fault::damaged(error.to_string()))? {
        events.push((event.header, event.bytes.to_vec()));
    }
    Ok(events)
}

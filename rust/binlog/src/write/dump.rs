//! Events that a source sends to a replica that asks for its log (`COM_BINLOG_DUMP_GTID`, or MariaDB's
//! `COM_BINLOG_DUMP`): a log's transactions as those of a log of paraply's own, which has checksums. MySQL's get other
//! stamps; MariaDB's have none.

mod frame;
mod mariadb;

use std::sync::Arc;

use crate::error::Fault;
use crate::event::checksum::CHECKSUM_LENGTH;
use crate::event::{Event, EventHeader, HEADER_LENGTH, flags, types};
use crate::read::payload::Payload;
use crate::transaction::Format;
use crate::write::dump::frame::{Frame, unpacked, without_checksum};
use crate::write::encode::query_body;
use crate::write::relay::{Head, compose_event, rotate_body};
use crate::write::restamp::{Stamps, restamped};

/// Position in a format description event of the second in which its log was begun.
const CREATED: std::ops::Range<usize> = HEADER_LENGTH + 52..HEADER_LENGTH + 56;
const ALGORITHM_CRC32: u8 = 1;
const SERVER_ID: std::ops::Range<usize> = 5..9;
const SIZE: std::ops::Range<usize> = 9..13;
const POSITION: std::ops::Range<usize> = 13..17;
const FLAGS: std::ops::Range<usize> = 17..19;
/// Bytes after which a log file of the dump is ended; positions have 32 bits.
const MOST_BYTES: u64 = 1 << 30;
/// The first position of a log.
const FIRST: u64 = 4;
/// The most that one packet of the protocol holds; a full packet is followed by another one.
const MOST_PACKET: usize = 0xff_ffff;
/// The byte before an event, and the one before an error.
const EVENT: u8 = 0;
const ERROR: u8 = 0xff;
/// The error of a source that does not send its log.
const REFUSED: u16 = 1236;

/// Events of one dump, as packets.
#[derive(Debug)]
pub struct Dump {
    server_id: u32,
    replica_id: u32,
    packet: u8,
    file: u32,
    position: u64,
    /// The number of the last transaction before the file: each file's numbers begin with 1, as a server's do.
    base: u64,
    format: Option<Arc<Format>>,
    most_bytes: u64,
}

impl Dump {
    /// Creates a dump of which nothing was sent.
    ///
    /// `packet` is the number of its first packet, `server_id` the source's. A replica ignores events with its own
    /// server id, `replica_id`; such events get the source's.
    pub fn new(server_id: u32, replica_id: u32, packet: u8) -> Self {
        Self { server_id, replica_id, packet, file: 0, position: FIRST, base: 0, format: None, most_bytes: MOST_BYTES }
    }

    /// Returns the dump with shorter files.
    #[must_use]
    pub fn with_files_of(self, most_bytes: u64) -> Self {
        Self { most_bytes, ..self }
    }

    /// Appends a transaction: the events of a log between its beginning and its end.
    ///
    /// Events that are no part of a transaction (those of a relay log's own, a certifier's context, a group's view) are
    /// left out. `rows` may hold the table maps and row events in another form, joined and without checksums. These
    /// replace those between the transaction's `BEGIN` and its end, if the latter are uncompressed and in no XA
    /// transaction.
    pub fn transaction(
        &mut self,
        out: &mut Vec<u8>,
        events: &[u8],
        rows: Option<&[u8]>,
        format: &Arc<Format>,
        stamps: Stamps,
    ) -> Result<(), Fault> {
        if format.mariadb && mariadb::is_unfinished_alter(events, if format.checksum { CHECKSUM_LENGTH } else { 0 })? {
            return self.emptied(out, events, format, stamps);
        }
        self.begin_transaction(out, format, stamps);
        let stamps = self.rebased(stamps);
        let events = split(events)?;
        let events: Vec<_> = events.into_iter().filter(|(header, _)| is_of_transaction(header)).collect();
        let checksum = if format.checksum { CHECKSUM_LENGTH } else { 0 };
        if let Some(rows) = rows
            && let Some(frame) = Frame::of(&events)
        {
            return self.framed(out, &frame, rows, checksum, stamps);
        }
        events.into_iter().try_for_each(|event| self.of_log(out, event, format, stamps))
    }

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
    fn framed(
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

    /// Appends an empty transaction under the GTID of a transaction that is left out; `events` begins with its GTID
    /// event.
    pub fn emptied(
        &mut self,
        out: &mut Vec<u8>,
        events: &[u8],
        format: &Arc<Format>,
        stamps: Stamps,
    ) -> Result<(), Fault> {
        self.begin_transaction(out, format, stamps);
        let stamps = self.rebased(stamps);
        let gtid = size_of_first(events)?.and_then(|size| events.get(..size));
        let gtid = gtid.ok_or_else(|| Fault::damaged("an event goes beyond its transaction"))?;
        let header = EventHeader::parse(gtid)?;
        let (timestamp, server_id) = (header.timestamp, header.server_id);
        if header.type_code == types::MARIADB_GTID {
            self.event(out, (header, &mariadb::empty_gtid(gtid)?), 0, stamps)?;
            let mut end = Vec::new();
            let head = Head { type_code: types::XID, flags: 0, timestamp, server_id, offset: None };
            compose_event(&mut end, head, &0_u64.to_le_bytes(), false);
            return self.event(out, (EventHeader::parse(&end)?, &end), 0, stamps);
        }
        self.event(out, (header, gtid), if format.checksum { CHECKSUM_LENGTH } else { 0 }, stamps)?;
        for sql in [&b"BEGIN"[..], b"COMMIT"] {
            let mut event = Vec::new();
            let head = Head { type_code: types::QUERY, flags: 0, timestamp, server_id, offset: None };
            compose_event(&mut event, head, &query_body(0, "", sql), false);
            self.event(out, (EventHeader::parse(&event)?, &event), 0, stamps)?;
        }
        Ok(())
    }

    /// Appends the complete events at the start of `events`, and returns their length in bytes; for a transaction that
    /// is too large to be sent in one piece. `first` is true if the transaction begins with them.
    pub fn part(
        &mut self,
        out: &mut Vec<u8>,
        events: &[u8],
        format: &Arc<Format>,
        stamps: Stamps,
        first: bool,
    ) -> Result<usize, Fault> {
        if first {
            self.begin_transaction(out, format, stamps);
        }
        let stamps = self.rebased(stamps);
        let mut taken = 0;
        while let Some(size) = size_of_first(events.get(taken..).unwrap_or_default())?
            && let Some(event) = events.get(taken..taken + size)
        {
            let header = EventHeader::parse(event)?;
            if is_of_transaction(&header) {
                self.of_log(out, (header, event), format, stamps)?;
            }
            taken += size;
        }
        Ok(taken)
    }

    /// Begins another file if the current one is full.
    fn begin_transaction(&mut self, out: &mut Vec<u8>, format: &Arc<Format>, stamps: Stamps) {
        let known = self.format.as_ref().is_some_and(|known| self.is_same(known, format));
        if !known || self.position > self.most_bytes {
            self.begin_file(out, format, stamps.sequence_number.saturating_sub(1));
        }
    }

    /// Returns the stamps relative to the file.
    fn rebased(&self, stamps: Stamps) -> Stamps {
        let sequence_number = stamps.sequence_number.saturating_sub(self.base);
        // An applier waits for everything before a transaction whose last_committed is 0, which stands for "not known".
        let last_committed = stamps.last_committed.saturating_sub(self.base).max(u64::from(sequence_number > 1));
        Stamps { last_committed, sequence_number }
    }

    /// Appends a heartbeat with the position in the log; nothing before its first transaction.
    pub fn heartbeat(&mut self, out: &mut Vec<u8>) {
        if self.format.is_none() {
            return;
        }
        let body = self.name().into_bytes();
        self.made(out, types::HEARTBEAT, 0, self.position, &body);
    }

    /// Appends an error, with which the replica's receiver stops.
    pub fn refusal(&mut self, out: &mut Vec<u8>, message: &str) {
        let mut packet = vec![ERROR];
        packet.extend_from_slice(&REFUSED.to_le_bytes());
        packet.extend_from_slice(b"#HY000");
        packet.extend_from_slice(message.as_bytes());
        out.extend_from_slice(&(packet.len() as u32).to_le_bytes()[..3]);
        out.push(self.packet);
        out.extend_from_slice(&packet);
        self.packet = self.packet.wrapping_add(1);
    }

    fn name(&self) -> String {
        format!("paraply.{:06}", self.file)
    }

    /// Begins a file as a server does: with a rotate event, which no log holds, and a format description.
    fn begin_file(&mut self, out: &mut Vec<u8>, format: &Arc<Format>, base: u64) {
        self.file += 1;
        self.position = FIRST;
        self.base = base;
        let rotate = rotate_body(&self.name(), FIRST);
        self.made(out, types::ROTATE, flags::ARTIFICIAL, 0, &rotate);
        let mut event = self.described(format);
        self.place(&mut event);
        sum_up(&mut event);
        self.send(out, &event);
        self.format = Some(Arc::clone(format));
    }

    /// Returns the format description of the dump: it declares checksums, and does not show that the source was just
    /// started.
    fn described(&self, format: &Format) -> Vec<u8> {
        let mut event = format.event.clone();
        put(&mut event, SERVER_ID, &self.server_id.to_le_bytes());
        put(&mut event, FLAGS, &[0; 2]);
        put(&mut event, CREATED, &[0; 4]);
        let algorithm = event.len().saturating_sub(CHECKSUM_LENGTH + 1);
        if format.knows_checksums() {
            put(&mut event, algorithm..algorithm + 1, &[ALGORITHM_CRC32]);
        }
        event
    }

    /// Returns true if events of `format` can follow the description of `known`.
    fn is_same(&self, known: &Arc<Format>, format: &Arc<Format>) -> bool {
        if Arc::ptr_eq(known, format) || known.event == format.event {
            return true;
        }
        // Two files of one server differ by their times.
        let (known, format) = (self.described(known), self.described(format));
        let content =
            |event: &[u8]| event.get(HEADER_LENGTH..event.len().saturating_sub(CHECKSUM_LENGTH)).map(<[u8]>::to_vec);
        content(&known).is_some_and(|known| content(&format) == Some(known))
    }

    /// Appends an event of a log, unpacked where a replica would ignore packed content.
    fn of_log(
        &mut self,
        out: &mut Vec<u8>,
        (header, event): (EventHeader, &[u8]),
        format: &Arc<Format>,
        stamps: Stamps,
    ) -> Result<(), Fault> {
        let checksum = if format.checksum { CHECKSUM_LENGTH } else { 0 };
        if header.type_code != types::TRANSACTION_PAYLOAD || header.server_id != self.replica_id {
            return self.event(out, (header, event), checksum, stamps);
        }
        let bytes = without_checksum(event, checksum)?;
        let outer = Event { offset: 0, end_offset: 0, header, bytes, format, relay_log: false };
        let mut inner = Payload::parse(outer.body())?.events(&Arc::from("a compressed transaction"), &outer)?;
        while let Some(event) = inner.next_event().map_err(|error| Fault::damaged(error.to_string()))? {
            self.event(out, (event.header, event.bytes), 0, stamps)?;
        }
        Ok(())
    }

    /// Appends an event, whose last `checksum` bytes are left out.
    fn event(
        &mut self,
        out: &mut Vec<u8>,
        (header, event): (EventHeader, &[u8]),
        checksum: usize,
        stamps: Stamps,
    ) -> Result<(), Fault> {
        let content = event.len().checked_sub(checksum).and_then(|length| event.get(..length));
        let content = content.filter(|content| content.len() >= HEADER_LENGTH);
        let content = content.ok_or_else(|| Fault::damaged("an event is shorter than its checksum"))?;
        let mut event = content.to_vec();
        if matches!(header.type_code, types::GTID | types::GTID_TAGGED) {
            let body = restamped(header.type_code, content.get(HEADER_LENGTH..).unwrap_or_default(), stamps)?;
            event.truncate(HEADER_LENGTH);
            event.extend_from_slice(&body);
        }
        if header.type_code == types::MARIADB_GTID {
            mariadb::prepare_gtid(&header, &mut event, self.replica_id)?;
        } else if header.server_id == self.replica_id {
            put(&mut event, SERVER_ID, &self.server_id.to_le_bytes());
        }
        let size = event.len() + CHECKSUM_LENGTH;
        event.resize(size, 0);
        put(&mut event, SIZE, &(size as u32).to_le_bytes());
        self.place(&mut event);
        sum_up(&mut event);
        self.send(out, &event);
        Ok(())
    }

    /// Sets the position of an event in the dumped log.
    fn place(&mut self, event: &mut [u8]) {
        self.position += event.len() as u64;
        put(event, POSITION, &(self.position as u32).to_le_bytes());
    }

    /// Appends an event that is in no log.
    fn made(&mut self, out: &mut Vec<u8>, type_code: u8, flags: u16, position: u64, body: &[u8]) {
        let mut event = Vec::new();
        let head = Head { type_code, flags, timestamp: 0, server_id: self.server_id, offset: None };
        compose_event(&mut event, head, body, true);
        put(&mut event, POSITION, &(position as u32).to_le_bytes());
        sum_up(&mut event);
        self.send(out, &event);
    }

    fn send(&mut self, out: &mut Vec<u8>, event: &[u8]) {
        let mut left = event.len() + 1;
        let mut rest = event;
        let mut first = true;
        loop {
            let size = left.min(MOST_PACKET);
            out.extend_from_slice(&(size as u32).to_le_bytes()[..3]);
            out.push(self.packet);
            self.packet = self.packet.wrapping_add(1);
            let mut bytes = size;
            if first {
                out.push(EVENT);
                bytes -= 1;
            }
            let (now, later) = rest.split_at(bytes);
            out.extend_from_slice(now);
            (rest, first) = (later, false);
            left -= size;
            if size < MOST_PACKET {
                return;
            }
        }
    }
}

/// Returns the number of bytes of the first event; none where its header is incomplete.
fn size_of_first(bytes: &[u8]) -> Result<Option<usize>, Fault> {
    if bytes.len() < HEADER_LENGTH {
        return Ok(None);
    }
    let size = EventHeader::parse(bytes)?.event_size as usize;
    if size <= HEADER_LENGTH {
        return Err(Fault::damaged("an event is shorter than its header"));
    }
    Ok(Some(size))
}

/// Splits bytes into consecutive events.
fn split(mut bytes: &[u8]) -> Result<Vec<(EventHeader, &[u8])>, Fault> {
    let mut events = Vec::new();
    while !bytes.is_empty() {
        let header = EventHeader::parse(bytes)?;
        let size = header.event_size as usize;
        let (event, rest) = bytes
            .split_at_checked(size)
            .filter(|_| size > HEADER_LENGTH)
            .ok_or_else(|| Fault::damaged("an event goes beyond its transaction"))?;
        events.push((header, event));
        bytes = rest;
    }
    Ok(events)
}

/// Sets a field of an event, which has it.
fn put(event: &mut [u8], field: std::ops::Range<usize>, bytes: &[u8]) {
    let field = event.get_mut(field);
    debug_assert!(field.is_some(), "an event without this field");
    if let Some(field) = field {
        field.copy_from_slice(bytes);
    }
}

fn sum_up(event: &mut [u8]) {
    if let Some((content, sum)) = event.split_last_chunk_mut::<CHECKSUM_LENGTH>() {
        *sum = crc32fast::hash(content).to_le_bytes();
    }
}

/// Returns true if an event between the first and the last one of a transaction belongs to it.
fn is_of_transaction(header: &EventHeader) -> bool {
    !header.has(flags::ARTIFICIAL)
        && !matches!(
            header.type_code,
            types::ROTATE
                | types::FORMAT_DESCRIPTION
                | types::STOP
                | types::HEARTBEAT
                | types::HEARTBEAT_V2
                | types::PREVIOUS_GTIDS
                | types::TRANSACTION_CONTEXT
                | types::VIEW_CHANGE
                | types::MARIADB_BINLOG_CHECKPOINT
                | types::MARIADB_GTID_LIST
                | types::MARIADB_START_ENCRYPTION
        )
}

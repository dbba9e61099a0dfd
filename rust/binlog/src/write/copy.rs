//! Copies of a source's log files, byte for byte, made of the events that the source sends to a replica.
//!
//! A source adds events that are in no file, and clears the in-use flag of a format description, as it does in the file
//! when it closes it. The added ones are left out. Every other event must begin where the one before it ended.

use std::collections::VecDeque;
use std::sync::Arc;

use paraply_core::gtid::GtidSet;
use xxhash_rust::xxh64::xxh64;

use crate::error::{Fault, LogError};
use crate::event::{Event, EventHeader, HEADER_LENGTH, checksum, flags, types};
use crate::read::file::MAGIC;
use crate::read::head::{next_file, previous_gtids};
use crate::transaction::Format;
use crate::write::relay::{Boundary, Step};

#[cfg(test)]
mod tests;

/// The last event of a copy that goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownEvent {
    /// Its offset in the file.
    pub begin: u64,
    /// The offset after it.
    pub end: u64,
    /// Hash of all its bytes. A CRC32 would be the same for every event that ends with its own CRC32.
    pub hash: u64,
}

/// Properties of the transactions in a piece.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Set executed before the file, if the piece has the event that states it.
    pub previous_gtids: Option<GtidSet>,
    /// GTIDs of the transactions that end in the piece.
    pub gtids: GtidSet,
    /// Number of these transactions.
    pub transactions: u64,
    /// Earliest and latest of their commit times, microseconds since 1970, UTC.
    pub committed: Option<(i64, i64)>,
    /// Size and hash of the file's head, up to its format description, if the piece has it.
    pub head: Option<(u64, u64)>,
}

/// Consecutive bytes of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The file's name.
    pub file: String,
    /// Offset of the first byte.
    pub begin: u64,
    /// The bytes: whole events, after the file's first four bytes.
    pub bytes: Vec<u8>,
    /// Offset after the file's last whole transaction so far.
    pub whole: u64,
    /// The last event.
    pub last: KnownEvent,
    /// Properties of the transactions in it.
    pub facts: Facts,
    /// True if the file has ended.
    pub closed: bool,
    /// Name of the next file, where the file ends with it.
    pub next_file: Option<String>,
}

fn hash(bytes: &[u8]) -> u64 {
    xxh64(bytes, 0)
}

/// The file that is copied.
#[derive(Debug)]
struct Current {
    name: String,
    /// Offset of the first byte in the buffer.
    begin: u64,
    buffer: Vec<u8>,
    /// Offset of the event that comes next.
    next: u64,
    /// Offset of the event that came last.
    last: u64,
    whole: u64,
    /// Offset of the event that ends at `whole`.
    whole_event: u64,
    /// The last event of the present copy; earlier ones are passed over, and this one is compared.
    known: Option<KnownEvent>,
    boundary: Boundary,
    facts: Facts,
}

/// Copies the files of one source, event by event.
#[derive(Debug)]
pub struct LogCopy {
    current: Option<Current>,
    expected_file: Option<String>,
    format: Option<Arc<Format>>,
    done: VecDeque<Piece>,
    events: u64,
}

impl LogCopy {
    /// Begins with the first byte of a file.
    pub fn begin(file: &str) -> Self {
        Self {
            current: Some(Current::first(file)),
            expected_file: None,
            format: None,
            done: VecDeque::new(),
            events: 0,
        }
    }

    /// Continues after the last event of a copy.
    pub fn resume(file: &str, known: KnownEvent) -> Self {
        let mut copy = Self::begin(file);
        copy.current = Some(Current::after(file, known));
        copy
    }

    /// Returns the file and the position to request from the source; a request has 32 bits for the position.
    pub fn request(&self) -> (String, u64) {
        match &self.current {
            Some(current) => (current.name.clone(), current.next),
            None => (self.expected_file.clone().unwrap_or_default(), MAGIC.len() as u64),
        }
    }

    /// Returns the number of events that were copied, or compared with a present copy.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Returns the number of bytes that were not taken yet.
    pub fn waiting(&self) -> usize {
        let done: usize = self.done.iter().map(|piece| piece.bytes.len()).sum();
        done + self.current.as_ref().map_or(0, |current| current.buffer.len())
    }

    /// Returns true if a file has ended, or there are `enough` bytes of the present one.
    pub fn is_ready(&self, enough: usize) -> bool {
        !self.done.is_empty() || self.current.as_ref().is_some_and(|current| current.buffer.len() >= enough)
    }

    /// Returns the oldest piece. The bytes of a file that goes on end after a whole transaction, or, with `enough`
    /// bytes of one transaction, inside it.
    pub fn take(&mut self, enough: usize) -> Option<Piece> {
        self.done.pop_front().or_else(|| self.current.as_mut().and_then(|current| current.cut(enough)))
    }

    /// Appends one event as the source sent it, with its checksum if it has one.
    pub fn append(&mut self, event: &[u8]) -> Result<(), LogError> {
        let (file, position) = self.request();
        self.accept(event).map_err(|fault| fault.at(&file, position))
    }

    fn accept(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let header = EventHeader::parse(bytes)?;
        if header.event_size as usize != bytes.len() || bytes.len() < HEADER_LENGTH {
            return Err(Fault::damaged(format!("an event of {} bytes came as {}", header.event_size, bytes.len())));
        }
        let made_up = header.has(flags::ARTIFICIAL) || header.log_pos == 0;
        match header.type_code {
            types::HEARTBEAT | types::HEARTBEAT_V2 => Ok(()),
            types::ROTATE if made_up => self.note_file(bytes),
            types::FORMAT_DESCRIPTION => {
                let format = Arc::new(Format::parse(bytes, true)?);
                self.format = Some(Arc::clone(&format));
                if made_up { Ok(()) } else { self.copy(bytes, header, &format) }
            }
            _ if header.has(flags::ARTIFICIAL) => Ok(()),
            types::MARIADB_START_ENCRYPTION => Err(Fault::not_understood(
                "the source encrypts its binlog, and sends the events decrypted, so that the file cannot be copied as it is; copy \
                 the encrypted files and their keys with the tools of the file system",
            )),
            _ => {
                let format =
                    self.format.clone().ok_or_else(|| Fault::damaged("an event came before the format description"))?;
                self.copy(bytes, header, &format)
            }
        }
    }

    /// Takes the name of the file whose events follow.
    fn note_file(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let plain = if bytes.len() > HEADER_LENGTH + checksum::CHECKSUM_LENGTH {
            checksum::strip(bytes, true).unwrap_or(bytes)
        } else {
            bytes
        };
        let name = plain.get(HEADER_LENGTH + 8..).and_then(|name| std::str::from_utf8(name).ok());
        let name =
            name.filter(|name| !name.is_empty()).ok_or_else(|| Fault::damaged("a rotate event names no file"))?;
        if self.current.as_ref().is_some_and(|current| current.name == name) {
            return Ok(());
        }
        if let Some(mut current) = self.current.take() {
            // The server was stopped or crashed: nothing is appended to its file any more.
            if current.known.is_some() {
                return Err(Fault::damaged("the source has fewer events in this file than were copied"));
            }
            self.done.push_back(current.end(None));
        } else if let Some(expected) = self.expected_file.take().filter(|expected| expected != name) {
            return Err(Fault::damaged(format!("the file {expected} was announced, but {name} follows")));
        }
        self.current = Some(Current::first(name));
        Ok(())
    }

    fn copy(&mut self, bytes: &[u8], header: EventHeader, format: &Arc<Format>) -> Result<(), Fault> {
        let current = self.current.as_mut().ok_or_else(|| Fault::damaged("an event came after the end of the file"))?;
        let begin = current.next;
        let end = begin + bytes.len() as u64;
        // MariaDB 11.4 and later leave out the position inside a transaction.
        if header.log_pos != end as u32 && !(format.mariadb && header.log_pos == 0) {
            return Err(Fault::damaged(format!(
                "an event that ends at {} came where one that ends at {end} was expected",
                header.log_pos
            )));
        }
        let description = header.type_code == types::FORMAT_DESCRIPTION;
        let plain = match (format.checksum, description) {
            (true, false) => checksum::strip(bytes, true)?,
            _ => bytes,
        };
        current.next = end;
        if let Some(known) = current.known {
            if begin < known.begin {
                return Ok(());
            }
            if (begin, end, hash(bytes)) != (known.begin, known.end, known.hash) {
                return Err(Fault::damaged("the source has another event here than the one that was copied"));
            }
            current.known = None;
            self.events += 1;
            return Ok(());
        }
        self.events += 1;
        current.last = begin;
        current.buffer.extend_from_slice(bytes);
        if description && begin == MAGIC.len() as u64 {
            current.facts.head = Some((end, hash(&current.buffer)));
        }
        let event = Event { offset: begin, end_offset: end, header, bytes: plain, format, relay_log: false };
        current.follow(&event)?;
        if let Some(next) = next_file(&event) {
            if let Some(mut closed) = self.current.take() {
                self.done.push_back(closed.end(Some(next.clone())));
            }
            self.expected_file = Some(next);
        }
        Ok(())
    }
}

impl Current {
    fn first(file: &str) -> Self {
        let start = MAGIC.len() as u64;
        Self {
            name: file.to_owned(),
            begin: 0,
            buffer: MAGIC.to_vec(),
            next: start,
            last: start,
            whole: start,
            whole_event: start,
            known: None,
            boundary: Boundary::default(),
            facts: Facts::default(),
        }
    }

    fn after(file: &str, known: KnownEvent) -> Self {
        // A request for a position beyond 4 GiB is not possible: the file is read again from its start.
        let next = if u32::try_from(known.begin).is_ok() { known.begin } else { MAGIC.len() as u64 };
        Self {
            begin: known.end,
            buffer: Vec::new(),
            next,
            last: known.begin,
            whole: known.end,
            whole_event: known.begin,
            known: Some(known),
            ..Self::first(file)
        }
    }

    /// Takes the transactions' boundaries and properties from the next event.
    fn follow(&mut self, event: &Event<'_>) -> Result<(), Fault> {
        if let Some(ranges) = previous_gtids(event) {
            let mut set = GtidSet::new();
            for range in ranges? {
                set.add_range(&range.origin, range.first, range.last);
            }
            self.facts.previous_gtids = Some(set);
        }
        if let Step::Ends(ended) = self.boundary.accept(event)? {
            let facts = &mut self.facts;
            facts.transactions += 1;
            if let Some(gtid) = &ended.gtid {
                facts.gtids.add(gtid);
            }
            let time = ended.committed_at;
            facts.committed =
                Some(facts.committed.map_or((time, time), |(first, last)| (first.min(time), last.max(time))));
        }
        if !self.boundary.is_inside() {
            self.whole = event.end_offset;
            self.whole_event = event.offset;
        }
        Ok(())
    }

    /// Returns the bytes up to the last whole transaction; inside a transaction with `enough` bytes all.
    fn cut(&mut self, enough: usize) -> Option<Piece> {
        if self.known.is_some() || self.buffer.len() <= MAGIC.len() && self.begin == 0 {
            return None;
        }
        if self.whole > self.begin {
            let facts = std::mem::take(&mut self.facts);
            return Some(self.piece(self.whole, self.whole_event, facts));
        }
        (!self.buffer.is_empty() && self.buffer.len() >= enough)
            .then(|| self.piece(self.next, self.last, Facts::default()))
    }

    /// Returns all remaining bytes of a file that has ended.
    fn end(&mut self, next_file: Option<String>) -> Piece {
        let facts = std::mem::take(&mut self.facts);
        let mut piece = self.piece(self.next, self.last, facts);
        piece.closed = true;
        piece.next_file = next_file;
        piece
    }

    fn piece(&mut self, end: u64, last: u64, facts: Facts) -> Piece {
        let length = usize::try_from(end.saturating_sub(self.begin)).unwrap_or(usize::MAX).min(self.buffer.len());
        let rest = self.buffer.split_off(length);
        let bytes = std::mem::replace(&mut self.buffer, rest);
        let begin = std::mem::replace(&mut self.begin, end);
        let event = usize::try_from(last.saturating_sub(begin)).ok().filter(|_| last >= begin);
        let hash = event.and_then(|at| bytes.get(at..)).map_or(0, hash);
        let last = KnownEvent { begin: last, end, hash };
        Piece { file: self.name.clone(), begin, bytes, whole: self.whole, last, facts, closed: false, next_file: None }
    }
}

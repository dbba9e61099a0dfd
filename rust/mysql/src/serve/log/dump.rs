//! Sending the log to one replica.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use paraply_binlog::error::Fault;
use paraply_binlog::event::checksum::CHECKSUM_LENGTH;
use paraply_binlog::event::gtid_event::GtidEvent;
use paraply_binlog::event::{EventHeader, HEADER_LENGTH, types};
use paraply_binlog::transaction::Format;
use paraply_core::gtid::GtidSet;

use crate::serve::log::files::{Files, LogFile};
use crate::serve::log::made;
use crate::serve::log::place::{Place, is_made_up, is_of_receiver};
use crate::serve::log::start::{FIRST, Start, raw_event};
use crate::serve::registry::Progress;
use crate::serve::wire::{EventSink, Refusal};

/// Bytes of the log that are read at once; a larger event is sent in pieces of this size.
const BLOCK: usize = 1 << 20;
/// Time after which a connection is looked at, if its replica wants no heartbeats.
const LOOK: Duration = Duration::from_secs(5);

/// Terms of a replica's request, apart from the start.
#[derive(Debug, Clone, Copy)]
pub(in crate::serve) struct Terms {
    /// The server id of this source.
    pub(in crate::serve) server_id: u32,
    /// True if the replica wants checksums before the first format description too; none if it does not know any.
    pub(in crate::serve) checksums: Option<bool>,
    /// Time without an event after which a heartbeat is sent; none for no heartbeats.
    pub(in crate::serve) heartbeat: Option<Duration>,
    pub(in crate::serve) heartbeats_v2: bool,
    /// False if the dump ends with the log.
    pub(in crate::serve) waits: bool,
}

/// End of a dump.
#[derive(Debug)]
pub(in crate::serve) enum End {
    /// Everything was sent to a peer that does not wait.
    Whole,
    /// The server was stopped.
    Stopped,
    /// The peer has closed the connection.
    Gone,
    /// The log cannot be sent any more.
    Failed(Refusal),
}

enum Failure {
    Peer(io::Error),
    Log(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Peer(error)
    }
}

/// One dump, which reads with a descriptor of its own and keeps one block in memory.
pub(in crate::serve) struct Dump<'a, W> {
    sink: EventSink<W>,
    terms: Terms,
    files: &'a Files,
    progress: &'a Progress,
    log: Arc<LogFile>,
    file: File,
    /// Offset of the next event in the file.
    offset: u64,
    block: Vec<u8>,
    block_at: u64,
    /// The position as the replica counts it; none before a relay log has named it.
    place: Option<Place>,
    /// The source's format description in use.
    format: Vec<u8>,
    /// True if the events that are sent have checksums.
    checksums: bool,
    /// Bytes of a checksum in the file.
    file_checksum: usize,
    received: Option<GtidSet>,
    skipping: bool,
    /// True once the first file's format description was sent.
    begun: bool,
    spoke: Instant,
}

impl<'a, W: Write> Dump<'a, W> {
    /// Prepares a dump.
    pub(in crate::serve) fn new(
        sink: EventSink<W>,
        terms: Terms,
        files: &'a Files,
        progress: &'a Progress,
        start: Start,
    ) -> io::Result<Self> {
        Ok(Self {
            sink,
            terms,
            files,
            progress,
            file: File::open(&start.file.path)?,
            log: start.file,
            offset: start.offset,
            block: Vec::new(),
            block_at: 0,
            place: start.place,
            format: start.format.unwrap_or_default(),
            checksums: terms.checksums == Some(true),
            file_checksum: 0,
            received: start.received,
            skipping: false,
            begun: false,
            spoke: Instant::now(),
        })
    }

    /// Sends the log until an end is reached; `is_closed` looks whether the peer has left.
    pub(in crate::serve) fn run(&mut self, is_closed: impl Fn(&W) -> bool) -> io::Result<End> {
        match self.send_all(is_closed) {
            Ok(end) => Ok(end),
            Err(Failure::Peer(error)) => Err(error),
            Err(Failure::Log(message)) => {
                let refusal = Refusal::log(message);
                self.sink.refuse(&refusal)?;
                Ok(End::Failed(refusal))
            }
        }
    }

    fn send_all(&mut self, is_closed: impl Fn(&W) -> bool) -> Result<End, Failure> {
        self.begin_file()?;
        loop {
            let (end, complete) = self.log.extent();
            if self.offset < end {
                self.send_up_to(end)?;
                continue;
            }
            if complete && let Some(next) = self.files.after(self.log.number) {
                self.file = File::open(&next.path).map_err(|error| Failure::Log(format!("{}: {error}", next.name)))?;
                (self.log, self.offset) = (next, FIRST);
                self.begin_file()?;
                continue;
            }
            self.flush()?;
            if let Some(failure) = self.files.failure() {
                return Err(Failure::Log(failure.to_string()));
            }
            if !self.terms.waits {
                self.sink.end()?;
                return Ok(End::Whole);
            }
            self.progress.wait(true);
            let longest =
                self.terms.heartbeat.map_or(LOOK, |period| period.saturating_sub(self.spoke.elapsed()).min(LOOK));
            let open = self.files.wait(&self.log, self.offset, longest);
            self.progress.wait(false);
            if !open {
                return Ok(End::Stopped);
            }
            self.beat()?;
            if is_closed(self.sink.stream()) {
                return Ok(End::Gone);
            }
        }
    }

    /// Sends a heartbeat if nothing was sent for the replica's period.
    fn beat(&mut self) -> Result<(), Failure> {
        if self.terms.heartbeat.is_none_or(|period| self.spoke.elapsed() < period) {
            return Ok(());
        }
        if let Some(place) = &self.place {
            let (terms, checksums) = (self.terms, self.checksums);
            let event = made::heartbeat(&place.file, place.position, terms.heartbeats_v2, terms.server_id, checksums);
            self.sink.event(&event)?;
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let before = self.sink.sent();
        self.sink.flush()?;
        if self.sink.sent() > before {
            self.spoke = Instant::now();
        }
        self.progress.moved(&self.log, self.place.as_ref(), self.sink.sent());
        Ok(())
    }

    /// Begins a file as a source does: with its name and its format description.
    fn begin_file(&mut self) -> Result<(), Failure> {
        self.skipping = false;
        self.block.clear();
        let format = raw_event(&self.log.path, FIRST);
        let format = format.map_err(|error| Failure::Log(format!("{}: {error}", self.log.name)))?;
        let checksums = Format::parse(&format, false).map_err(|fault| self.damaged(fault))?.checksum;
        self.file_checksum = if checksums { CHECKSUM_LENGTH } else { 0 };
        if self.log.relay_log {
            if self.place.is_some() && !self.format.is_empty() && !self.begun {
                self.announce(false)?;
            }
            return Ok(());
        }
        self.format = format;
        let after = FIRST + self.format.len() as u64;
        self.place = Some(Place { file: Arc::clone(&self.log.name), position: self.offset });
        self.announce(true)?;
        self.offset = self.offset.max(after);
        self.place = Some(Place { file: Arc::clone(&self.log.name), position: self.offset });
        Ok(())
    }

    /// Sends the position and the format of what follows.
    ///
    /// A dump by GTIDs begins with the start of a file, wherever the first transaction is that the replica needs: that
    /// is how the replica's applier knows that the transaction which it may have half of is sent again.
    fn announce(&mut self, fresh: bool) -> Result<(), Failure> {
        let format = Format::parse(&self.format, false).map_err(|fault| self.damaged(fault))?;
        if format.checksum && self.terms.checksums.is_none() {
            let message =
                "Replica can not handle replication events with the checksum that source is configured to log";
            return Err(Failure::Log(message.to_owned()));
        }
        let Some(place) = &self.place else {
            return Err(self.damaged(Fault::damaged("the relay log does not name a position in its source's log")));
        };
        let by_gtids = !self.begun && self.received.is_some();
        let position = if by_gtids { FIRST } else { place.position };
        self.sink.event(&made::rotate(&place.file, position, self.terms.server_id, self.checksums))?;
        self.checksums = format.checksum;
        let end = if position == FIRST { FIRST + self.format.len() as u64 } else { 0 };
        let fresh = fresh && end > 0 && (self.begun || self.received.as_ref().is_none_or(GtidSet::is_empty));
        self.sink.event(&made::format_description(&self.format, end, fresh, format.knows_checksums()))?;
        self.begun = true;
        // A heartbeat must not name a position before that of the format description.
        self.place.as_mut().into_iter().for_each(|place| place.position = place.position.max(end));
        Ok(())
    }

    fn send_up_to(&mut self, end: u64) -> Result<(), Failure> {
        let mut block = std::mem::take(&mut self.block);
        let sent = self.send_blocks(&mut block, end);
        self.block = block;
        sent
    }

    fn send_blocks(&mut self, block: &mut Vec<u8>, end: u64) -> Result<(), Failure> {
        while self.offset < end {
            let rest = self.ahead(block);
            let size = EventHeader::parse(rest).map(|header| header.event_size as usize);
            let whole = size.as_ref().is_ok_and(|&size| rest.len() >= size.max(HEADER_LENGTH));
            if !whole && (rest.len() as u64) < (end - self.offset).min(BLOCK as u64) {
                self.fill(block, end)?;
                continue;
            }
            let size = size.map_err(|fault| self.damaged(fault))?;
            if size < HEADER_LENGTH || size as u64 > end - self.offset {
                let message = format!("the event states a size of {size} bytes, which does not fit into the file");
                return Err(self.damaged(Fault::damaged(message)));
            }
            let rest = self.ahead(block);
            if let Some(event) = rest.get(..size) {
                self.event(event)?;
            } else {
                self.large_event(size, block)?;
            }
            self.offset += size as u64;
            if self.skipping {
                self.beat()?;
            }
        }
        self.progress.moved(&self.log, self.place.as_ref(), self.sink.sent());
        Ok(())
    }

    /// Returns the bytes of the block from the offset on.
    fn ahead<'b>(&self, block: &'b [u8]) -> &'b [u8] {
        let at = self.offset.checked_sub(self.block_at).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| block.get(at..)).unwrap_or_default()
    }

    fn fill(&mut self, block: &mut Vec<u8>, end: u64) -> Result<(), Failure> {
        let length = (end - self.offset).min(BLOCK as u64) as usize;
        block.resize(length, 0);
        self.block_at = self.offset;
        self.progress.moved(&self.log, self.place.as_ref(), self.sink.sent());
        self.read(block, self.offset)
    }

    fn read(&self, into: &mut [u8], offset: u64) -> Result<(), Failure> {
        let read = self.file.read_exact_at(into, offset);
        read.map_err(|error| Failure::Log(format!("{} cannot be read at {offset}: {error}", self.log.path.display())))
    }

    /// Sends an event that is longer than a block, piece by piece.
    fn large_event(&mut self, size: usize, block: &mut [u8]) -> Result<(), Failure> {
        let header = EventHeader::parse(self.ahead(block)).map_err(|fault| self.damaged(fault))?;
        if self.skipping {
            self.moved(&header);
            return Ok(());
        }
        if matches!(header.type_code, types::GTID | types::GTID_TAGGED | types::ROTATE | types::FORMAT_DESCRIPTION) {
            return Err(self.damaged(Fault::damaged("an event is longer than any of its type")));
        }
        self.sink.begin_event(size)?;
        let mut done = 0;
        while done < size {
            let length = (size - done).min(block.len());
            let piece = block.get_mut(..length).unwrap_or_default();
            self.read(piece, self.offset + done as u64)?;
            self.sink.push(piece)?;
            done += length;
        }
        // The block holds another part of the file now.
        self.block_at = u64::MAX;
        self.moved(&header);
        Ok(())
    }

    /// Sends one event of the file, or leaves it out.
    fn event(&mut self, event: &[u8]) -> Result<(), Failure> {
        let header = EventHeader::parse(event).map_err(|fault| self.damaged(fault))?;
        if self.log.relay_log && self.is_for_relay_log(&header, event)? {
            return Ok(());
        }
        match header.type_code {
            types::GTID | types::GTID_TAGGED | types::ANONYMOUS_GTID => {
                self.skipping = self.has(header.type_code, event)?;
                self.progress.counted(!self.skipping);
            }
            types::ROTATE | types::STOP | types::FORMAT_DESCRIPTION => self.skipping = false,
            _ => {}
        }
        if !self.skipping {
            self.sink.event(event)?;
        }
        self.moved(&header);
        if self.log.relay_log && header.type_code == types::ROTATE {
            self.place = Some(Place::of_rotate(self.body(event)).map_err(|fault| self.damaged(fault))?);
            self.announce(false)?;
        }
        Ok(())
    }

    /// Takes an event of a relay log that is not a part of the source's log; returns false for any other.
    fn is_for_relay_log(&mut self, header: &EventHeader, event: &[u8]) -> Result<bool, Failure> {
        if is_of_receiver(header) {
            return Ok(true);
        }
        if is_made_up(header) {
            let place = Place::of_rotate(self.body(event)).map_err(|fault| self.damaged(fault))?;
            let moved = self.place.as_ref() != Some(&place);
            self.place = Some(place);
            if moved && self.begun {
                self.announce(false)?;
            }
            return Ok(true);
        }
        if header.type_code == types::FORMAT_DESCRIPTION {
            if self.format != event || !self.begun {
                event.clone_into(&mut self.format);
                self.announce(true)?;
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Returns true if the replica has the transaction that the event begins.
    fn has(&self, type_code: u8, event: &[u8]) -> Result<bool, Failure> {
        let Some(received) = self.received.as_ref().filter(|received| !received.is_empty()) else { return Ok(false) };
        let gtid = GtidEvent::parse(type_code, self.body(event)).map_err(|fault| self.damaged(fault))?.gtid;
        Ok(gtid.is_some_and(|gtid| received.contains(&gtid)))
    }

    fn body<'b>(&self, event: &'b [u8]) -> &'b [u8] {
        let end = event.len().saturating_sub(self.file_checksum);
        event.get(HEADER_LENGTH..end).unwrap_or_default()
    }

    fn moved(&mut self, header: &EventHeader) {
        let Some(place) = &mut self.place else { return };
        if self.log.relay_log {
            place.move_after(header);
        } else {
            place.position = self.offset + u64::from(header.event_size);
        }
    }

    fn damaged(&self, fault: Fault) -> Failure {
        Failure::Log(fault.at(&self.log.name, self.offset).to_string())
    }
}

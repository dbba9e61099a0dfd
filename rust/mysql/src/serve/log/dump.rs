//! Sending the log to one replica.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use paraply_binlog::error::Fault;
use paraply_binlog::event::checksum::CHECKSUM_LENGTH;
use paraply_binlog::event::gtid_event::GtidEvent;
use paraply_binlog::event::{EventHeader, HEADER_LENGTH, types};
use paraply_binlog::transaction::Format;
use paraply_binlog::write::rewrite::begins_transaction;
use paraply_core::gtid::GtidSet;

use crate::serve::log::block::BlockReader;
use crate::serve::log::files::{Files, LogFile};
use crate::serve::log::log_position::{LogPosition, is_made_up, is_of_receiver};
use crate::serve::log::made;
use crate::serve::log::restamper::Restamper;
use crate::serve::log::start::{FIRST, Start, raw_event};
use crate::serve::log::terms::{End, Failure, Piece, Terms};
use crate::serve::registry::Progress;
use crate::serve::wire::{EventSink, Refusal};

/// Time after which a connection is looked at, if its replica wants no heartbeats.
const LOOK: Duration = Duration::from_secs(5);

/// One dump, which reads with a descriptor of its own and keeps one block in memory.
pub(in crate::serve) struct Dump<'a, W> {
    sink: EventSink<W>,
    terms: Terms,
    files: &'a Files,
    progress: &'a Progress,
    log: Arc<LogFile>,
    block: BlockReader,
    /// Offset of the next event in the file.
    offset: u64,
    /// Changes the events where transactions get new numbers.
    restamper: Option<Restamper>,
    /// Bytes by which the first event to send is sent after its offset.
    shift: i64,
    /// Bytes by which the events of a relay log that were sent are longer than in the source's log.
    growth: i64,
    /// The position as the replica counts it; none before a relay log has named it.
    log_position: Option<LogPosition>,
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
            block: BlockReader::open(&start.file.path)?,
            log: start.file,
            offset: start.offset,
            restamper: None,
            shift: start.shift,
            growth: 0,
            log_position: start.log_position,
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
                let opened = self.block.reopen(&next.path);
                opened.map_err(|error| Failure::Log(format!("{}: {error}", next.name)))?;
                (self.log, self.offset, self.shift) = (next, FIRST, 0);
                self.begin_file()?;
                continue;
            }
            self.flush()?;
            if let Some(failure) = self.files.failure_after(&self.log) {
                return Err(Failure::Log(failure.to_string()));
            }
            if !self.terms.waits && self.files.is_whole(&self.log, self.offset) {
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
        if let Some(log_position) = &self.log_position {
            let (terms, checksums) = (self.terms, self.checksums);
            // The receiver counts the bytes that it gets, and refuses a heartbeat with a position before that.
            let position = log_position.position.saturating_add_signed(self.growth.max(0));
            let event = made::heartbeat(&log_position.file, position, terms.heartbeats_v2, terms.server_id, checksums);
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
        self.progress.moved(&self.log, self.log_position.as_ref(), self.sink.sent());
        Ok(())
    }

    /// Begins a file as a source does: with its name and its format description.
    fn begin_file(&mut self) -> Result<(), Failure> {
        self.skipping = false;
        self.block.forget();
        let format = raw_event(&self.log.path, FIRST);
        let format = format.map_err(|error| Failure::Log(format!("{}: {error}", self.log.name)))?;
        let checksums = Format::parse(&format, false).map_err(|fault| self.damaged(fault))?.checksum;
        self.file_checksum = if checksums { CHECKSUM_LENGTH } else { 0 };
        let restamper = Restamper::begin(&self.log, self.offset, self.shift, self.file_checksum);
        self.restamper = restamper.map_err(|error| Failure::Log(format!("{}: {error}", self.log.name)))?;
        if self.log.relay_log {
            if self.log_position.is_some() && !self.format.is_empty() && !self.begun {
                self.announce(false)?;
            }
            return Ok(());
        }
        self.format = format;
        let after = FIRST + self.format.len() as u64;
        let position = self.offset.saturating_add_signed(self.shift);
        self.log_position = Some(LogPosition { file: Arc::clone(&self.log.name), position });
        self.announce(true)?;
        self.offset = self.offset.max(after);
        let position = self.offset.saturating_add_signed(self.shift);
        self.log_position = Some(LogPosition { file: Arc::clone(&self.log.name), position });
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
        let Some(log_position) = &self.log_position else {
            return Err(self.damaged(Fault::damaged("the relay log does not name a position in its source's log")));
        };
        let by_gtids = !self.begun && self.received.is_some();
        let position = if by_gtids { FIRST } else { log_position.position };
        self.sink.event(&made::rotate(&log_position.file, position, self.terms.server_id, self.checksums))?;
        (self.checksums, self.growth) = (format.checksum, 0);
        let end = if position == FIRST { FIRST + self.format.len() as u64 } else { 0 };
        let fresh = fresh && end > 0 && (self.begun || self.received.as_ref().is_none_or(GtidSet::is_empty));
        self.sink.event(&made::format_description(&self.format, end, fresh, format.knows_checksums()))?;
        self.begun = true;
        // A heartbeat must not name a position before that of the format description.
        self.log_position
            .as_mut()
            .into_iter()
            .for_each(|log_position| log_position.position = log_position.position.max(end));
        Ok(())
    }

    fn send_up_to(&mut self, end: u64) -> Result<(), Failure> {
        while self.offset < end {
            let rest = self.block.ahead(self.offset);
            let size = EventHeader::parse(rest).map(|header| header.event_size as usize);
            let whole = size.as_ref().is_ok_and(|&size| rest.len() >= size.max(HEADER_LENGTH));
            if !whole && !self.block.is_full(self.offset, end) {
                self.progress.moved(&self.log, self.log_position.as_ref(), self.sink.sent());
                let read = self.block.fill(self.offset, end);
                read.map_err(|error| self.unreadable(&error))?;
                continue;
            }
            let size = size.map_err(|fault| self.damaged(fault))?;
            if size < HEADER_LENGTH || size as u64 > end - self.offset {
                let message = format!("the event states a size of {size} bytes, which does not fit into the file");
                return Err(self.damaged(Fault::damaged(message)));
            }
            if whole {
                let (block, place) = self.block.lend(self.offset, size);
                let sent = self.event(block.get(place).unwrap_or_default());
                self.block.give_back(block);
                sent?;
            } else {
                self.large_event(size)?;
            }
            self.offset += size as u64;
            if self.skipping {
                self.beat()?;
            }
        }
        self.progress.moved(&self.log, self.log_position.as_ref(), self.sink.sent());
        Ok(())
    }

    /// Sends an event that is longer than a block, piece by piece.
    fn large_event(&mut self, size: usize) -> Result<(), Failure> {
        let start = self.block.ahead(self.offset);
        let header = EventHeader::parse(start).map_err(|fault| self.damaged(fault))?;
        if self.skipping {
            self.moved(&header);
            return Ok(());
        }
        if begins_transaction(header.type_code) || matches!(header.type_code, types::ROTATE | types::FORMAT_DESCRIPTION)
        {
            return Err(self.damaged(Fault::damaged("an event is longer than any of its type")));
        }
        self.sink.begin_event(size)?;
        let head = self.restamper.as_ref().and_then(|restamper| restamper.head(self.offset, start, &header));
        let sum_length = if head.is_some() { self.file_checksum } else { 0 };
        let (from, content) = (head.as_ref().map_or(0, Vec::len), size - sum_length);
        let mut hasher = crc32fast::Hasher::new();
        let head = head.unwrap_or_default();
        hasher.update(&head);
        self.sink.push(&head)?;
        let sink = &mut self.sink;
        let sent = self.block.pieces(self.offset + from as u64, content - from, |piece| {
            if sum_length > 0 {
                hasher.update(piece);
            }
            sink.push(piece).map_err(Piece::Peer)
        });
        match sent {
            Ok(()) => {}
            Err(Piece::Peer(error)) => return Err(error.into()),
            Err(Piece::Log(error)) => return Err(self.unreadable(&error)),
        }
        if sum_length > 0 {
            self.sink.push(&hasher.finalize().to_le_bytes())?;
        }
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
            kind if begins_transaction(kind) => {
                self.skipping = self.has(kind, event)?;
                self.progress.counted(!self.skipping);
            }
            types::ROTATE | types::STOP | types::FORMAT_DESCRIPTION => self.skipping = false,
            _ => {}
        }
        let event_to_send = self.restamped(&header, event)?;
        if !self.skipping {
            self.sink.event(&event_to_send)?;
        }
        self.moved(&header);
        if self.log.relay_log && header.type_code == types::ROTATE {
            self.log_position = Some(LogPosition::of_rotate(self.body(event)).map_err(|fault| self.damaged(fault))?);
            self.announce(false)?;
        }
        Ok(())
    }

    /// Returns an event as it is sent.
    fn restamped<'e>(&mut self, header: &EventHeader, event: &'e [u8]) -> Result<Cow<'e, [u8]>, Failure> {
        let Some(restamper) = &mut self.restamper else { return Ok(Cow::Borrowed(event)) };
        if !begins_transaction(header.type_code) {
            return Ok(restamper.other(self.offset, event, header));
        }
        let new = restamper.gtid(self.offset, event, header);
        self.shift = restamper.shift();
        let new = new.map_err(|fault| self.damaged(fault))?;
        let growth = new.len() as i64 - event.len() as i64;
        if self.log.relay_log && growth != 0 {
            self.growth += growth;
            if self.received.is_none() {
                let message = "With new numbers the event of a tagged GTID has another length, so that the source's \
                               positions do not fit any more: use SOURCE_AUTO_POSITION = 1";
                return Err(Failure::Log(message.to_owned()));
            }
        }
        Ok(Cow::Owned(new))
    }

    /// Takes an event of a relay log that is not a part of the source's log; returns false for any other.
    fn is_for_relay_log(&mut self, header: &EventHeader, event: &[u8]) -> Result<bool, Failure> {
        if is_of_receiver(header) {
            return Ok(true);
        }
        if is_made_up(header) {
            let log_position = LogPosition::of_rotate(self.body(event)).map_err(|fault| self.damaged(fault))?;
            let moved = self.log_position.as_ref() != Some(&log_position);
            self.log_position = Some(log_position);
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
        let Some(log_position) = &mut self.log_position else { return };
        if self.log.relay_log {
            log_position.move_after(header);
        } else {
            let end = self.offset + u64::from(header.event_size);
            log_position.position = end.saturating_add_signed(self.shift);
        }
    }

    fn unreadable(&self, error: &io::Error) -> Failure {
        Failure::Log(format!("{} cannot be read at {}: {error}", self.log.path.display(), self.offset))
    }

    fn damaged(&self, fault: Fault) -> Failure {
        Failure::Log(fault.at(&self.log.name, self.offset).to_string())
    }
}

//! A log as a sequence of events: buffered, in bounded memory, sizes and checksums checked.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use crate::cpu::{Stage, within};
use crate::error::{Fault, LogError};
use crate::event::checksum;
use crate::event::{Event, EventHeader, HEADER_LENGTH, OwnedEvent, flags, types};
use crate::read::piece::Resume;
use crate::transaction::Format;

/// The first four bytes of every log.
pub const MAGIC: [u8; 4] = [0xfe, b'b', b'i', b'n'];
const ENCRYPTED_MAGIC: [u8; 4] = [0xfd, b'b', b'i', b'n'];
/// A GTID index, which MariaDB writes beside each binlog since 11.4.
const GTID_INDEX_MAGIC: [u8; 4] = [0xfe, 0xfe, 0x0c, 0x01];
/// A file of MariaDB's binlog in `InnoDB`, since 12.3.
const INNODB_MAGIC: [u8; 4] = [0xfe, 0xfe, 0x0d, 0x01];
/// No event is larger: servers bound packets and payloads at 1 GiB; a little is left for headers.
const MAX_EVENT_SIZE: u32 = (1 << 30) + (1 << 20);
const BUFFER_SIZE: usize = 256 << 10;
/// A buffer that grew beyond this for one event is released after the event.
const KEPT_BUFFER_SIZE: usize = 4 << 20;

/// Source of bytes: a file, memory, or a decompressor.
pub type Source<'s> = Box<dyn Read + Send + 's>;

/// A window over a source that grows only as far as bytes really arrive.
struct Window<'s> {
    source: Source<'s>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    offset: u64,
    least: usize,
}

impl<'s> Window<'s> {
    /// Creates a window that first has `least` bytes.
    fn new(source: Source<'s>, least: usize) -> Self {
        Self { source, buffer: Vec::new(), start: 0, end: 0, offset: 0, least }
    }

    /// Reads until `wanted` bytes are available or the source ends; returns the number of these available.
    fn fill(&mut self, wanted: usize) -> io::Result<usize> {
        if self.end - self.start < wanted {
            self.make_room(wanted);
        }
        while self.end - self.start < wanted {
            if self.end == self.buffer.len() {
                let grown = (self.buffer.len() * 2).clamp(self.least, wanted.max(self.least));
                self.buffer.resize(grown, 0);
            }
            let room = self.buffer.get_mut(self.end..).unwrap_or_default();
            match within(Stage::Read, || self.source.read(room)) {
                Ok(0) => break,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok((self.end - self.start).min(wanted))
    }

    /// Moves the rest to the front where the wanted bytes would not fit after it.
    fn make_room(&mut self, wanted: usize) {
        if self.start == 0 || self.start + wanted <= self.buffer.len() {
            return;
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() > KEPT_BUFFER_SIZE && wanted.max(self.end) <= BUFFER_SIZE {
            self.buffer.truncate(BUFFER_SIZE);
            self.buffer.shrink_to_fit();
        }
    }

    fn peek(&self, count: usize) -> &[u8] {
        self.buffer.get(self.start..self.start + count).unwrap_or_default()
    }

    fn consume(&mut self, count: usize) {
        self.start += count;
        self.offset += count as u64;
    }
}

/// Returns a source over a file, or over its first `bytes` bytes.
fn bounded<'s>(file: File, bytes: Option<u64>) -> Source<'s> {
    match bytes {
        Some(bytes) => Box::new(file.take(bytes)),
        None => Box::new(file),
    }
}

/// The events of one file in order, each with its checksum verified and cut off.
///
/// Format description events take effect as they are met.
#[expect(clippy::struct_excessive_bools, reason = "an option of the caller and three independent facts of the file")]
pub struct EventReader<'s> {
    name: Arc<str>,
    window: Window<'s>,
    format: Option<Arc<Format>>,
    verify_checksums: bool,
    relay: bool,
    /// Events of a decompressed payload: no magic, no checksums, no positions.
    nested: bool,
    pending: usize,
    /// True if the last event was a format description.
    new_format: bool,
    /// Offset of the format description in use.
    format_at: u64,
    /// Size of the file when it was opened, without what was written since.
    size: Option<u64>,
}

impl<'s> EventReader<'s> {
    /// Opens a file and checks its magic.
    pub fn open(path: &Path, verify_checksums: bool) -> Result<Self, LogError> {
        Self::open_sized(path, None, verify_checksums)
    }

    /// Opens the first `size` bytes of a file: what is written after them is not read.
    pub fn open_sized(path: &Path, size: Option<u64>, verify_checksums: bool) -> Result<Self, LogError> {
        let name: Arc<str> = path.display().to_string().into();
        match File::open(path) {
            Ok(file) => Ok(Self { size, ..Self::new(name, bounded(file, size), verify_checksums)? }),
            Err(error) => Err(LogError::io(&name, 0, error)),
        }
    }

    /// Reads a log from any source; `name` is used in errors.
    pub fn new(name: Arc<str>, source: Source<'s>, verify_checksums: bool) -> Result<Self, LogError> {
        let mut window = Window::new(source, BUFFER_SIZE);
        let there = window.fill(MAGIC.len()).map_err(|error| LogError::io(&name, 0, error))?;
        check_magic(window.peek(there)).map_err(|(not_a_log, message)| {
            let file = name.to_string();
            if not_a_log {
                LogError::NotALog { file, position: 0, message }
            } else {
                LogError::NotUnderstood { file, position: 0, message }
            }
        })?;
        window.consume(MAGIC.len());
        Ok(Self {
            name,
            window,
            format: None,
            verify_checksums,
            relay: false,
            nested: false,
            pending: 0,
            new_format: false,
            format_at: 0,
            size: None,
        })
    }

    /// Opens a file, or its first `size` bytes, between two of its events, under the format in use there.
    pub fn open_at(path: &Path, place: Resume, size: Option<u64>, verify_checksums: bool) -> Result<Self, LogError> {
        let mut reader = Self::open_sized(path, size, verify_checksums)?;
        reader.relay = place.relay_log;
        reader.move_to(path, place.format)?;
        reader.next_event()?;
        reader.relay = place.relay_log;
        reader.move_to(path, place.offset)?;
        Ok(reader)
    }

    fn move_to(&mut self, path: &Path, offset: u64) -> Result<(), LogError> {
        let failed = |error| LogError::io(&self.name, offset, error);
        let mut file = File::open(path).map_err(failed)?;
        file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        let rest = self.size.map(|size| size.saturating_sub(offset));
        self.window = Window::new(bounded(file, rest), BUFFER_SIZE);
        self.window.offset = offset;
        self.pending = 0;
        Ok(())
    }

    /// Returns the position after the last event returned.
    pub fn place(&self) -> Resume {
        Resume { offset: self.offset(), format: self.format_at, relay_log: self.relay }
    }

    /// Reads the events inside a decompressed payload of about `size` bytes; errors name the file that holds the
    /// payload.
    pub(crate) fn nested(name: Arc<str>, source: Source<'s>, format: Arc<Format>, size: usize) -> Self {
        let window = Window::new(source, size.clamp(1 << 10, BUFFER_SIZE));
        Self {
            name,
            window,
            format: Some(format),
            verify_checksums: false,
            relay: false,
            nested: true,
            pending: 0,
            new_format: false,
            format_at: 0,
            size: None,
        }
    }

    /// Returns the name that is used in errors.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns the format of the last event returned.
    pub fn format(&self) -> Option<&Arc<Format>> {
        self.format.as_ref()
    }

    /// Returns true if this is a relay log, as far as was read.
    pub fn is_relay_log(&self) -> bool {
        self.relay
    }

    /// Returns the offset after the last event returned.
    pub fn offset(&self) -> u64 {
        self.window.offset + self.pending as u64
    }

    /// Returns the last event returned as it is in the file, with its checksum.
    pub fn raw_event(&self) -> &[u8] {
        self.window.peek(self.pending)
    }

    /// Returns the next event, or none at the end of the file.
    pub fn next_event(&mut self) -> Result<Option<Event<'_>>, LogError> {
        self.window.consume(std::mem::take(&mut self.pending));
        let offset = self.window.offset;
        let Some(header) = self.next_header()? else { return Ok(None) };
        let size = header.event_size as usize;
        let there = self.fill(size)?;
        if there < size {
            return Err(self.truncated(format!("the event needs {size} bytes, the file has only {there} more")));
        }
        self.pending = size;
        let end_offset = offset + size as u64;
        self.check(&header, end_offset).map_err(|fault| fault.at(&self.name, offset))?;
        let (format, bytes) = self.content(&header).map_err(|fault| fault.at(&self.name, offset))?;
        Ok(Some(Event { offset, end_offset, header, bytes, format, relay_log: self.relay }))
    }

    fn next_header(&mut self) -> Result<Option<EventHeader>, LogError> {
        let there = self.fill(HEADER_LENGTH)?;
        if there == 0 {
            return Ok(None);
        }
        if there < HEADER_LENGTH {
            return Err(self.truncated(format!("an event's header has 19 bytes, the file has only {there} more")));
        }
        let fault = |fault: Fault| fault.at(&self.name, self.window.offset);
        let header = EventHeader::parse(self.window.peek(HEADER_LENGTH)).map_err(fault)?;
        let least = HEADER_LENGTH as u32;
        if !(least..=MAX_EVENT_SIZE).contains(&header.event_size) {
            let message = format!("the event states a size of {} bytes, which no event has", header.event_size);
            return Err(fault(Fault::damaged(message)));
        }
        Ok(Some(header))
    }

    fn check(&mut self, header: &EventHeader, end_offset: u64) -> Result<(), Fault> {
        if let Some(format) = self.described_format(header)? {
            self.relay |= self.format.is_some() || header.has(flags::RELAY_LOG);
            self.format = Some(Arc::new(format));
            self.format_at = end_offset - u64::from(header.event_size);
            self.new_format = true;
        } else if std::mem::take(&mut self.new_format) && self.format.as_ref().is_some_and(|format| !format.checksum) {
            checksum::expect_none(self.window.peek(self.pending))?;
        }
        self.check_position(header, end_offset)
    }

    fn described_format(&self, header: &EventHeader) -> Result<Option<Format>, Fault> {
        match header.type_code {
            types::FORMAT_DESCRIPTION if !self.nested => {
                Format::parse(self.window.peek(self.pending), self.verify_checksums).map(Some)
            }
            types::START_V3 => Err(Fault::not_understood(
                "the log is older than MySQL 5.0 (it starts with a Start_v3 event); replay it with mysqlbinlog",
            )),
            _ if self.format.is_none() => Err(Fault::damaged("the log does not start with a format description event")),
            _ => Ok(None),
        }
    }

    /// Checks an event's end position. In a binlog every event has the offset after it; in a relay log that is the
    /// source's.
    fn check_position(&mut self, header: &EventHeader, end_offset: u64) -> Result<(), Fault> {
        self.relay |= header.type_code == types::ROTATE && header.log_pos == 0;
        if self.relay || self.nested || header.log_pos == 0 || header.log_pos == end_offset as u32 {
            return Ok(());
        }
        Err(Fault::damaged(format!(
            "the event states its end as {}, but it ends at {end_offset}: part of the log is missing before it",
            header.log_pos
        )))
    }

    fn content(&self, header: &EventHeader) -> Result<(&Arc<Format>, &[u8]), Fault> {
        let missing = || Fault::damaged("the log does not start with a format description event");
        let format = self.format.as_ref().ok_or_else(missing)?;
        let bytes = self.window.peek(self.pending);
        if self.nested || !format.checksum {
            return Ok((format, bytes));
        }
        let content = if header.type_code == types::FORMAT_DESCRIPTION {
            checksum::strip_format(bytes, self.verify_checksums)
        } else {
            checksum::strip(bytes, self.verify_checksums)
        }?;
        if content.len() < HEADER_LENGTH {
            return Err(Fault::damaged("the event is too short to have a checksum"));
        }
        Ok((format, content))
    }

    fn fill(&mut self, wanted: usize) -> Result<usize, LogError> {
        let name = &self.name;
        let position = self.window.offset;
        self.window.fill(wanted).map_err(|error| LogError::io(name, position, error))
    }

    fn truncated(&self, message: String) -> LogError {
        LogError::Truncated { file: self.name.to_string(), position: self.window.offset, message }
    }
}

/// Checks the magic: `Err((true, ..))` for a file that is no log, `Err((false, ..))` for a log that cannot be read.
fn check_magic(start: &[u8]) -> Result<(), (bool, String)> {
    if start == MAGIC {
        Ok(())
    } else if start == ENCRYPTED_MAGIC {
        let message = "the log is encrypted; name the server's keyring file in PARAPLY_KEYRING, or fetch the log from the \
                       server, which decrypts it (mysqlbinlog --read-from-remote-server --raw)";
        Err((false, message.to_owned()))
    } else if start == INNODB_MAGIC {
        let message = "it is a file of MariaDB's binlog in InnoDB (binlog_storage_engine=innodb), which is not read; start the \
                       server without binlog_storage_engine, and use the log that it writes from then on";
        Err((false, message.to_owned()))
    } else if start == GTID_INDEX_MAGIC {
        Err((true, "it is the GTID index that MariaDB writes beside a binlog; name the binlog itself".to_owned()))
    } else if start.is_empty() {
        Err((true, "the file is empty; name a file that a server wrote with log_bin".to_owned()))
    } else {
        let message = "it does not start with fe 62 69 6e; name a file that a server wrote with log_bin, \
                       uncompressed and not as text";
        Err((true, message.to_owned()))
    }
}

/// Iterates over the events of a file, with bytes of their own: for tests and tools.
pub fn events(path: &Path) -> Result<Events, LogError> {
    Ok(Events { reader: EventReader::open(path, true)?, failed: false })
}

/// Iterator of [`events`].
pub struct Events {
    reader: EventReader<'static>,
    failed: bool,
}

impl Events {
    /// Returns the format of the last event.
    pub fn format(&self) -> Option<&Arc<Format>> {
        self.reader.format()
    }
}

impl Iterator for Events {
    type Item = Result<OwnedEvent, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = self.reader.next_event();
        self.failed = next.is_err();
        next.map(|event| event.map(OwnedEvent::from)).transpose()
    }
}

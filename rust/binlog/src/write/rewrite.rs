//! Log files that are written again with other numbers in their GTID events (rule R37).
//!
//! Nothing else changes but what follows from the numbers. The event of a tagged GTID may become longer or shorter, which
//! moves the events after it. A transaction's compressed payload holds no position: servers write 0 into its events.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Fault, LogError};
use crate::event::checksum::CHECKSUM_LENGTH;
use crate::event::gtid_event::GtidEvent;
use crate::event::{Event, EventHeader, HEADER_LENGTH, types};
use crate::read::file::{EventReader, MAGIC};
use crate::write::restamp::{Stamps, restamped};

const SIZE: std::ops::Range<usize> = 9..13;
const POSITION: std::ops::Range<usize> = 13..17;
const BUFFER_SIZE: usize = 1 << 20;
/// Mode of a file until it is complete; then it has that of the log.
const PRIVATE: u32 = 0o600;

/// Reason why a log cannot be written again.
#[derive(Debug, thiserror::Error)]
pub enum RewriteError {
    /// The log cannot be read, or holds something that must not be numbered.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The new file cannot be written.
    #[error("{}: cannot be written: {source}", file.display())]
    Write {
        /// The new file.
        file: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// One log file, and the file to write.
#[derive(Debug, Clone)]
pub struct Copied {
    /// The log.
    pub from: PathBuf,
    /// Bytes to read of the log, as if it ended there.
    pub size: u64,
    /// The new file. It must not exist.
    pub to: PathBuf,
}

/// Copies log files, one after the other, with other numbers.
pub struct Rewriter {
    files: VecDeque<Copied>,
    open: Option<OpenFile>,
    /// Index of the open file.
    file: u32,
    written: u64,
}

struct OpenFile {
    name: Arc<str>,
    reader: EventReader<'static>,
    to: PathBuf,
    permissions: Permissions,
    out: BufWriter<File>,
    position: u64,
}

/// The GTID event that is to be written next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextGtid {
    /// True if it is in a relay log.
    pub relay_log: bool,
    /// The number that it has in the log.
    pub sequence_number: i64,
    /// The number up to which everything must be committed before, as in the log.
    pub last_committed: i64,
}

impl Rewriter {
    /// Creates a rewriter that has written nothing.
    pub fn new(files: impl IntoIterator<Item = Copied>) -> Self {
        Self { files: files.into_iter().collect(), open: None, file: 0, written: 0 }
    }

    /// Returns the bytes written.
    pub fn written(&self) -> u64 {
        self.written + self.open.as_ref().map_or(0, |open| open.position)
    }

    /// Copies everything before the transaction that begins at an offset of a file, and reads its GTID event.
    ///
    /// # Errors
    /// Another transaction begins before it, or it has no numbers that could be changed.
    pub fn advance(&mut self, file: u32, offset: u64) -> Result<NextGtid, RewriteError> {
        while (self.open.is_none() || self.file < file) && !self.files.is_empty() {
            self.next_file()?;
        }
        let open = self.open.as_mut().filter(|_| self.file == file);
        let open = open.ok_or_else(|| Fault::damaged("the transaction is in no file to be copied").at("", offset))?;
        while open.reader.offset() < offset && open.copy_event()? {}
        open.read_gtid(offset)
    }

    /// Writes the GTID event that [`advance`](Self::advance) found, with other numbers.
    pub fn write_gtid(&mut self, stamps: Stamps) -> Result<(), RewriteError> {
        match &mut self.open {
            Some(open) => open.write_gtid(stamps),
            None => Ok(()),
        }
    }

    /// Copies the rest of all files.
    pub fn finish(&mut self) -> Result<(), RewriteError> {
        while self.open.is_some() || !self.files.is_empty() {
            self.next_file()?;
        }
        Ok(())
    }

    /// Completes the open file, and begins the next one if there is one.
    fn next_file(&mut self) -> Result<(), RewriteError> {
        if let Some(open) = self.open.take() {
            self.written += open.complete()?;
            self.file += 1;
        }
        self.open = self.files.pop_front().map(|copied| OpenFile::begin(&copied)).transpose()?;
        Ok(())
    }
}

impl OpenFile {
    fn begin(copied: &Copied) -> Result<Self, RewriteError> {
        let name: Arc<str> = copied.from.display().to_string().into();
        let reader = EventReader::open_sized(&copied.from, Some(copied.size), true)?;
        let metadata = std::fs::metadata(&copied.from).map_err(|error| LogError::io(&name, 0, error))?;
        let failed = |source| RewriteError::Write { file: copied.to.clone(), source };
        let file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&copied.to).map_err(failed)?;
        let mut open = Self {
            name,
            reader,
            to: copied.to.clone(),
            permissions: metadata.permissions(),
            out: BufWriter::with_capacity(BUFFER_SIZE, file),
            position: 0,
        };
        open.write(&MAGIC)?;
        Ok(open)
    }

    /// Copies the rest of the file, and makes it durable; returns its size.
    fn complete(mut self) -> Result<u64, RewriteError> {
        while self.copy_event()? {}
        let Self { to, permissions, out, position, .. } = self;
        let synced = out.into_inner().map_err(io::IntoInnerError::into_error).and_then(|file| {
            file.set_permissions(permissions)?;
            file.sync_all()
        });
        synced.map_err(|source| RewriteError::Write { file: to, source })?;
        Ok(position)
    }

    /// Copies one event that begins no transaction; returns false at the end of the file.
    fn copy_event(&mut self) -> Result<bool, RewriteError> {
        let position = self.position;
        let Some(event) = self.reader.next_event()? else { return Ok(false) };
        if begins_transaction(event.header.type_code) {
            return Err(cut_off().at(&self.name, event.offset).into());
        }
        let moved = moves(&event, position);
        if moved {
            let content = event.bytes.to_vec();
            let (header, checksum) = (event.header, event.format.checksum);
            self.write_event(header, content, checksum, true)?;
        } else {
            let raw = self.reader.raw_event();
            self.out.write_all(raw).map_err(|source| failed(&self.to, source))?;
            self.position += raw.len() as u64;
        }
        Ok(true)
    }

    fn read_gtid(&mut self, offset: u64) -> Result<NextGtid, RewriteError> {
        let found = self.reader.offset();
        if found != offset {
            let message = format!("an event was expected at position {offset}, after the one that ends at {found}");
            return Err(Fault::damaged(message).at(&self.name, found).into());
        }
        let at = |fault: Fault| fault.at(&self.name, offset);
        let Some(event) = self.reader.next_event()? else {
            return Err(at(Fault::damaged("the log became shorter while it was read")).into());
        };
        if !begins_transaction(event.header.type_code) {
            return Err(at(without_numbers()).into());
        }
        let gtid = GtidEvent::parse(event.header.type_code, event.body()).map_err(at)?;
        let (Some(last_committed), Some(sequence_number)) = (gtid.last_committed, gtid.sequence_number) else {
            return Err(at(without_numbers()).into());
        };
        Ok(NextGtid { relay_log: event.relay_log, sequence_number, last_committed })
    }

    /// Writes the event that was read last with other numbers.
    fn write_gtid(&mut self, stamps: Stamps) -> Result<(), RewriteError> {
        let Some(format) = self.reader.format().cloned() else { return Ok(()) };
        let (relay_log, end) = (self.reader.is_relay_log(), self.reader.offset());
        let raw = self.reader.raw_event();
        let offset = end - raw.len() as u64;
        let at = |fault: Fault| fault.at(&self.name, offset);
        let header = EventHeader::parse(raw).map_err(at)?;
        let body = raw.len().checked_sub(if format.checksum { CHECKSUM_LENGTH } else { 0 });
        let body = body.and_then(|end| raw.get(HEADER_LENGTH..end));
        let body = body.ok_or_else(|| at(Fault::damaged("a GTID event is too short")))?;
        let mut content = raw.get(..HEADER_LENGTH).unwrap_or_default().to_vec();
        content.extend_from_slice(&restamped(header.type_code, body, stamps).map_err(at)?);
        self.write_event(header, content, format.checksum, !relay_log && header.log_pos != 0)
    }

    /// Writes an event with its size, its checksum and, if `placed`, its position.
    fn write_event(
        &mut self,
        header: EventHeader,
        mut content: Vec<u8>,
        checksum: bool,
        placed: bool,
    ) -> Result<(), RewriteError> {
        let size = content.len() + if checksum { CHECKSUM_LENGTH } else { 0 };
        let end = if placed { (self.position + size as u64) as u32 } else { header.log_pos };
        for (range, value) in [(SIZE, size as u32), (POSITION, end)] {
            if let Some(place) = content.get_mut(range) {
                place.copy_from_slice(&value.to_le_bytes());
            }
        }
        if checksum {
            content.extend_from_slice(&crc32fast::hash(&content).to_le_bytes());
        }
        self.write(&content)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), RewriteError> {
        self.out.write_all(bytes).map_err(|source| failed(&self.to, source))?;
        self.position += bytes.len() as u64;
        Ok(())
    }
}

/// Returns true if an event states its position in this file, and gets another one. The events of a relay log state
/// their position in the source's log, which stays.
fn moves(event: &Event<'_>, position: u64) -> bool {
    position != event.offset && !event.relay_log && event.header.log_pos != 0
}

/// Returns true for the first event of a transaction that has numbers.
pub fn begins_transaction(type_code: u8) -> bool {
    matches!(type_code, types::GTID | types::ANONYMOUS_GTID | types::GTID_TAGGED)
}

fn failed(file: &Path, source: io::Error) -> RewriteError {
    RewriteError::Write { file: file.to_owned(), source }
}

/// Returns the fault of a transaction that has no numbers which could be changed.
pub fn without_numbers() -> Fault {
    Fault::not_understood(
        "the transaction that begins here carries no last_committed and sequence_number, which servers write since \
         MySQL 5.7; there are no numbers to change",
    )
}

/// Returns the fault of a transaction that is in a relay log twice, first without its end.
pub fn cut_off() -> Fault {
    Fault::not_understood(
        "the transaction that begins here is cut off and repeated later, as its receiver lost the connection; no number \
         is known to be right for its first part: stamp the source's own log instead",
    )
}

//! The one writer of a relay log.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use paraply_core::gtid::GtidSet;

use crate::error::Fault;
use crate::event::{Event, EventHeader, HEADER_LENGTH, flags, types};
use crate::read::file::MAGIC;
use crate::transaction::Format;
use crate::write::relay::boundary::Step;
use crate::write::relay::compose::{self, Head};
use crate::write::relay::error::RelayError;
use crate::write::relay::files::{LogFile, LogFiles, SystemFiles};
use crate::write::relay::index::Index;
use crate::write::relay::purge::Purger;
use crate::write::relay::repair::{Cut, Whole, repair};
use crate::write::relay::shared::{LiveFile, Received, Shared};
use crate::write::relay::tracker::Tracker;

/// Number of waiting bytes at which whole transactions are published at the latest.
const PUBLISH_BYTES: usize = 64 << 10;
/// Number of bytes of one transaction that are kept in memory.
const MOST_BUFFERED: usize = 1 << 20;

/// Options for writing a relay log.
#[derive(Debug, Clone)]
pub struct WriterOptions {
    /// Start of the files' names.
    pub stem: String,
    /// Size at which a file is followed by the next one, after the end of the transaction.
    pub max_bytes: u64,
    /// The server id in events that the receiver writes itself.
    pub server_id: u32,
    /// The clock for the timestamps of these events.
    pub clock: fn() -> SystemTime,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self { stem: "relay-bin".to_owned(), max_bytes: 256 << 20, server_id: 0, clock: SystemTime::now }
    }
}

/// The file that is appended to.
#[derive(Debug)]
struct Current {
    file: Box<dyn LogFile>,
    live: Arc<LiveFile>,
    path: PathBuf,
    /// Number of its bytes on disk; after them comes the buffer.
    written: u64,
    /// Offset after the last whole transaction, on disk or in the buffer.
    whole: u64,
}

/// Appends the events that a source sends. Dropped without [`close`](Self::close), it leaves what a crash would leave.
#[derive(Debug)]
pub struct RelayWriter {
    folder: PathBuf,
    options: WriterOptions,
    files: Arc<dyn LogFiles>,
    index: Arc<Mutex<Index>>,
    shared: Arc<Shared>,
    current: Option<Current>,
    buffer: Vec<u8>,
    format: Option<Arc<Format>>,
    tracker: Tracker,
    cut: Option<Cut>,
    failed: bool,
}

impl RelayWriter {
    /// Opens the relay log of a folder, or begins one; a torn last transaction is cut.
    pub fn open(folder: &Path, options: WriterOptions) -> Result<Self, RelayError> {
        Self::open_on(Arc::new(SystemFiles), folder, options)
    }

    /// Opens the relay log as [`open`](Self::open) does, with another access to its files.
    pub fn open_on(files: Arc<dyn LogFiles>, folder: &Path, options: WriterOptions) -> Result<Self, RelayError> {
        let mut index = Index::open(Arc::clone(&files), folder, &options.stem)?;
        let mut whole = None;
        while let Some(&last) = index.numbers().last() {
            whole = repair(files.as_ref(), &index.file_path(last))?;
            if whole.is_some() {
                break;
            }
            // A file of which not even the head is whole was begun and never used.
            let kept = index.numbers().iter().copied().filter(|&number| number < last).collect();
            index.replace(kept)?;
        }
        let live = live_files(&index, whole.as_ref());
        let mut tracker = whole.as_ref().map(|whole| whole.tracker.clone()).unwrap_or_default();
        if let Some(last) = live.last() {
            tracker.received.relay_file = Arc::clone(&last.name);
            tracker.received.relay_position = last.extent().0;
        }
        let current = match (&whole, live.last()) {
            (Some(whole), Some(live)) if !whole.rotated => Some(Current::reopen(files.as_ref(), live, whole.end)?),
            _ => None,
        };
        let shared = Arc::new(Shared::new(live, tracker.received.clone()));
        let (format, cut) = whole.map_or((None, None), |whole| (Some(whole.format), whole.cut));
        let index = Arc::new(Mutex::new(index));
        let (folder, buffer) = (folder.to_owned(), Vec::new());
        Ok(Self { folder, options, files, index, shared, current, buffer, format, tracker, cut, failed: false })
    }

    /// Returns the state shared with readers and status queries.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Removes applied files.
    pub fn purger(&self) -> Purger {
        Purger::new(&self.index, &self.shared)
    }

    /// Returns the part that was cut when the log was opened.
    pub fn cut(&self) -> Option<&Cut> {
        self.cut.as_ref()
    }

    /// Returns the state of the receiver, published or not.
    pub fn received(&self) -> &Received {
        &self.tracker.received
    }

    /// Returns true if a transaction has begun and not yet ended.
    pub fn is_inside(&self) -> bool {
        self.tracker.is_inside()
    }

    /// Counts transactions as received that the applier has from elsewhere; the next file states them.
    pub fn hold(&mut self, gtids: &GtidSet) {
        self.tracker.received.gtids.extend(gtids);
        self.shared.show(self.tracker.received.clone());
    }

    /// Appends one event of the source's stream, with or without the checksum that it came with.
    ///
    /// Heartbeats and the source's own sets of previous GTIDs are ignored. Transactions are published at their ends,
    /// when enough bytes are waiting or [`publish`](Self::publish) is called.
    pub fn append(&mut self, event: &[u8], checksum: bool) -> Result<(), RelayError> {
        self.check_usable()?;
        let header = EventHeader::parse(event).map_err(|fault| self.damaged(fault, 0))?;
        if header.event_size as usize != event.len() || event.len() < HEADER_LENGTH {
            let fault = Fault::damaged(format!("an event of {} bytes came as {}", header.event_size, event.len()));
            return Err(self.damaged(fault, header.log_pos));
        }
        match header.type_code {
            types::FORMAT_DESCRIPTION => return self.take_format(event, header.log_pos),
            types::HEARTBEAT | types::HEARTBEAT_V2 | types::PREVIOUS_GTIDS | types::MARIADB_GTID_LIST => return Ok(()),
            _ => {}
        }
        let plain = if checksum { compose::without_checksum(event, &header) } else { Ok(event) };
        let plain = plain.map_err(|fault| self.damaged(fault, header.log_pos))?;
        let format = match &self.format {
            Some(format) if self.current.is_some() => Arc::clone(format),
            // A connection begins with the position in the source's log; the format follows.
            _ if header.type_code == types::ROTATE => {
                let body = plain.get(HEADER_LENGTH..).unwrap_or_default();
                return self.tracker.note_rotate(body).map_err(|fault| self.damaged(fault, header.log_pos));
            }
            _ => {
                let fault = Fault::damaged("an event came before the format description event");
                return Err(self.damaged(fault, header.log_pos));
            }
        };
        if self.is_known_place(&header, plain) {
            return Ok(());
        }
        let event = Event { offset: 0, end_offset: 0, header, bytes: plain, format: &format, relay_log: true };
        let step = self.tracker.accept(&event).map_err(|fault| self.damaged(fault, header.log_pos))?;
        if step == Step::Interrupts {
            self.cut_open()?;
        }
        let before = self.buffer.len();
        compose::taken_over(&mut self.buffer, plain, format.knows_checksums());
        self.tracker.received.bytes += (self.buffer.len() - before) as u64;
        self.appended(&step)
    }

    /// Makes everything up to the last whole transaction readable.
    pub fn publish(&mut self) -> Result<(), RelayError> {
        self.check_usable()?;
        self.write_out()?;
        let Some(current) = &self.current else { return Ok(()) };
        let received = &mut self.tracker.received;
        received.relay_position = current.whole;
        self.shared.publish(&current.live, current.whole, received.clone());
        Ok(())
    }

    /// Publishes, and writes everything to disk.
    pub fn sync(&mut self) -> Result<(), RelayError> {
        self.publish()?;
        let Some(current) = &self.current else { return Ok(()) };
        current.file.sync_data().map_err(|error| self.broken(error))
    }

    /// Cuts an unfinished transaction after the connection broke; it is sent again from its beginning.
    pub fn interrupted(&mut self) -> Result<(), RelayError> {
        self.check_usable()?;
        if self.tracker.is_inside() {
            self.tracker.reset();
            self.cut_open()?;
        }
        self.publish()
    }

    /// Ends the current file and begins the next one.
    pub fn flush(&mut self) -> Result<(), RelayError> {
        self.check_usable()?;
        let Some(current) = &self.current else { return Ok(()) };
        if self.tracker.is_inside() {
            return Err(RelayError::InsideTransaction { file: current.live.name.to_string() });
        }
        self.rotate()
    }

    /// Publishes and syncs; readers end after the present content.
    pub fn close(&mut self) -> Result<(), RelayError> {
        let done = if self.failed { Ok(()) } else { self.interrupted().and_then(|()| self.sync()) };
        self.failed = true;
        self.shared.close();
        done
    }

    fn check_usable(&self) -> Result<(), RelayError> {
        if self.failed { Err(RelayError::Closed { file: self.folder.display().to_string() }) } else { Ok(()) }
    }

    /// Notes a failed write. The content of the file is then unknown: opening it again determines it.
    fn broken(&mut self, error: std::io::Error) -> RelayError {
        self.failed = true;
        self.shared.close();
        RelayError::write(self.current.as_ref().map_or(&self.folder, |current| &current.path), error)
    }

    fn damaged(&self, fault: Fault, position: u32) -> RelayError {
        let file = &self.tracker.received.source_file;
        RelayError::Log(fault.at(if file.is_empty() { "the source's log" } else { file }, u64::from(position)))
    }

    /// Returns true for the made-up rotate event at the start of a connection if it names the position that was
    /// reached.
    fn is_known_place(&self, header: &EventHeader, plain: &[u8]) -> bool {
        let received = &self.tracker.received;
        header.type_code == types::ROTATE
            && (header.log_pos == 0 || header.has(flags::ARTIFICIAL))
            && !self.tracker.is_inside()
            && plain.get(HEADER_LENGTH..)
                == Some(&compose::rotate_body(&received.source_file, received.source_position)[..])
    }

    fn take_format(&mut self, event: &[u8], position: u32) -> Result<(), RelayError> {
        let format = Format::parse(event, true).map_err(|fault| self.damaged(fault, position))?;
        let known = self.format.as_ref().is_some_and(|known| same_layout(known, &format));
        let format = Arc::new(format);
        if self.tracker.is_inside() {
            self.tracker.reset();
            self.cut_open()?;
        }
        if self.current.is_none() {
            self.format = Some(format);
            return self.begin_file();
        }
        if !known {
            let bytes = compose::format_description(&format, 0, false);
            self.buffer.extend_from_slice(&bytes);
            self.format = Some(format);
            return self.appended(&Step::Apart);
        }
        Ok(())
    }

    fn appended(&mut self, step: &Step) -> Result<(), RelayError> {
        let waiting = self.buffer.len();
        let Some(current) = &mut self.current else { return Ok(()) };
        if !matches!(step, Step::Ends(_) | Step::Apart) && self.tracker.is_inside() {
            return if waiting > MOST_BUFFERED { self.write_out() } else { Ok(()) };
        }
        current.whole = current.written + waiting as u64;
        if current.whole >= self.options.max_bytes && matches!(step, Step::Ends(_)) {
            return self.rotate();
        }
        if waiting > PUBLISH_BYTES { self.publish() } else { Ok(()) }
    }

    /// Removes everything after the last whole transaction: it was not published.
    fn cut_open(&mut self) -> Result<(), RelayError> {
        let Some(current) = &mut self.current else { return Ok(()) };
        if let Some(kept) = current.whole.checked_sub(current.written) {
            self.buffer.truncate(usize::try_from(kept).unwrap_or(usize::MAX));
            return Ok(());
        }
        self.buffer.clear();
        current.written = current.whole;
        let end = current.whole;
        current.file.cut(end).map_err(|error| self.broken(error))
    }

    fn write_out(&mut self) -> Result<(), RelayError> {
        let Some(current) = &mut self.current else { return Ok(()) };
        if self.buffer.is_empty() {
            return Ok(());
        }
        if let Err(error) = current.file.write_all(&self.buffer) {
            return Err(self.broken(error));
        }
        current.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    fn rotate(&mut self) -> Result<(), RelayError> {
        if let (Some(current), Some(format)) = (&mut self.current, &self.format) {
            let index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
            let body = compose::rotate_body(&index.file_name(current.live.number + 1), MAGIC.len() as u64);
            drop(index);
            let offset = current.written + self.buffer.len() as u64;
            let head = own(types::ROTATE, &self.options, offset);
            compose::event(&mut self.buffer, head, &body, format.knows_checksums());
            current.whole = current.written + self.buffer.len() as u64;
        }
        self.sync()?;
        self.begin_file()
    }

    fn begin_file(&mut self) -> Result<(), RelayError> {
        let Some(format) = self.format.clone() else { return Ok(()) };
        let index = Arc::clone(&self.index);
        let mut index = index.lock().unwrap_or_else(PoisonError::into_inner);
        let number = index.numbers().last().map_or(1, |last| last + 1);
        let path = index.file_path(number);
        let head = self.file_head(&format);
        let create = || {
            let mut file = self.files.create(&path)?;
            file.write_all(&head)?;
            file.sync_all()?;
            Ok(file)
        };
        let file = create().map_err(|error: std::io::Error| {
            self.failed = true;
            self.shared.close();
            RelayError::write(&path, error)
        })?;
        index.append(number)?;
        // Files that another process has removed are forgotten here too.
        let first = index.numbers().first().copied().unwrap_or(number);
        drop(index);
        self.shared.forget_before(first);
        let end = head.len() as u64;
        let live = Arc::new(LiveFile::new(number, path.clone(), end, false));
        self.tracker.received.relay_file = Arc::clone(&live.name);
        self.current = Some(Current { file, live: Arc::clone(&live), path, written: end, whole: end });
        self.shared.add_file(&live);
        self.publish()
    }

    /// Returns the start of a file: the format of its own events, the position in the source's log, the source's format
    /// (without which `mysqlbinlog` takes no rows), and what was received before.
    fn file_head(&self, format: &Format) -> Vec<u8> {
        let checksums = format.knows_checksums();
        let received = &self.tracker.received;
        let mut head = MAGIC.to_vec();
        let description = compose::format_description(format, head.len() as u64, true);
        head.extend_from_slice(&description);
        if !received.source_file.is_empty() {
            let place = compose::rotate_body(&received.source_file, received.source_position);
            let rotate = own(types::ROTATE, &self.options, 0);
            let event = Head { flags: flags::ARTIFICIAL, offset: None, server_id: format.server_id, ..rotate };
            compose::event(&mut head, event, &place, checksums);
        }
        head.extend_from_slice(&compose::format_description(format, head.len() as u64, false));
        let (type_code, body) = compose::previous_gtids(&received.gtids, format.mariadb);
        let event = own(type_code, &self.options, head.len() as u64);
        compose::event(&mut head, event, &body, checksums);
        head
    }
}

impl Current {
    fn reopen(files: &dyn LogFiles, live: &Arc<LiveFile>, end: u64) -> Result<Self, RelayError> {
        let path = live.path.clone();
        let file = files.append(&path, end).map_err(|error| RelayError::write(&path, error))?;
        Ok(Self { file, live: Arc::clone(live), path, written: end, whole: end })
    }
}

/// Returns the header of an event that the receiver writes on its own.
fn own(type_code: u8, options: &WriterOptions, offset: u64) -> Head {
    let now = (options.clock)().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() as u32;
    Head { type_code, flags: flags::RELAY_LOG, timestamp: now, server_id: options.server_id, offset: Some(offset) }
}

/// Returns true if events of both have the same layout and come from the same server.
fn same_layout(one: &Format, other: &Format) -> bool {
    one.server_version == other.server_version
        && one.server_id == other.server_id
        && one.post_header_lengths == other.post_header_lengths
}

fn live_files(index: &Index, whole: Option<&Whole>) -> Vec<Arc<LiveFile>> {
    let last = index.numbers().last().copied();
    let file = |number: u64| {
        let path = index.file_path(number);
        let size = index.files().size(&path).unwrap_or(0);
        let end = whole.filter(|_| Some(number) == last).map_or(size, |whole| whole.end);
        Arc::new(LiveFile::new(number, path, end, Some(number) != last))
    };
    index.numbers().iter().map(|&number| file(number)).collect()
}

//! Giving new numbers to the transactions that are served (rule R37), in the order of the log.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use paraply_binlog::error::{Fault, LogError};
use paraply_binlog::event::checksum::CHECKSUM_LENGTH;
use paraply_binlog::event::{EventHeader, HEADER_LENGTH, types};
use paraply_binlog::transaction::{Format, Transaction};
use paraply_binlog::write::restamp::{Stamps, restamped};
use paraply_binlog::write::rewrite::{begins_transaction, cut_off, without_numbers};

use crate::serve::log::files::{Files, LogFile};
use crate::serve::log::log_position::{LogPosition, is_of_receiver};
use crate::serve::log::numbers::{Numbered, Store};
use crate::serve::log::start::{FIRST, raw_event};

/// Records that are kept before they are written.
const WRITTEN_AT_ONCE: usize = 4096;
/// Longest rotate event: a position and the name of a file.
const LONGEST_ROTATE: u32 = 1 << 10;

/// A log file that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    /// Number of the file in the order of files.
    pub number: u64,
    /// Path of the file.
    pub path: PathBuf,
    /// File of the source's log in which it begins, if it is a file of a relay log.
    pub source_file: Option<String>,
    /// True if the counters start over with its first transaction.
    pub restarts: bool,
}

/// Gives numbers to one transaction after the other, and so lets replicas have it. One thread owns it.
///
/// Where the counters start over follows from the log alone. Replicas start their own over at the same places: with each
/// file of a source, before which they get a rotate event.
#[derive(Debug)]
pub struct Numbering {
    files: Arc<Files>,
    store: Option<Store>,
    current: Option<Current>,
    /// Records that are not written yet.
    waiting: Vec<Numbered>,
    /// File of the source's log, in a relay log.
    source_file: Option<Arc<str>>,
    restarts: bool,
    /// True once the source has begun another file.
    source_moved: bool,
    begun: VecDeque<Begun>,
}

/// The log file whose transactions get numbers.
#[derive(Debug)]
struct Current {
    log: Arc<LogFile>,
    name: String,
    file: File,
    /// Bytes of a checksum.
    checksum: usize,
    /// Offset up to which every event was looked at.
    at: u64,
    shift: i64,
}

impl Numbering {
    pub(in crate::serve) fn new(files: Arc<Files>, source_file: Option<&str>) -> Self {
        Self {
            files,
            store: None,
            current: None,
            waiting: Vec::new(),
            source_file: source_file.map(Into::into),
            restarts: true,
            source_moved: false,
            begun: VecDeque::new(),
        }
    }

    /// Goes to a transaction, the next one of the log; returns true if the counters start over with it.
    ///
    /// # Errors
    /// Another transaction begins before it, or the log cannot be read.
    pub fn advance(&mut self, file: &str, offset: u64) -> Result<bool, LogError> {
        while self.current.as_ref().is_none_or(|current| current.name != file) {
            let end = self.current.as_ref().map_or(0, |current| current.log.published().0);
            self.walk_to(end)?;
            if !self.begin_next()? {
                let message = "a file of the log was removed before its transactions had new numbers";
                return Err(Fault::not_understood(message).at(file, offset));
            }
        }
        self.walk_to(offset)?;
        Ok(self.restarts)
    }

    /// Returns true once the source of a relay log has begun another file.
    pub fn source_moved(&self) -> bool {
        self.source_moved
    }

    /// Gives numbers to the transaction to which [`advance`](Self::advance) went.
    pub fn put(&mut self, transaction: &Transaction, stamps: Stamps) -> Result<(), LogError> {
        let Some(current) = &mut self.current else { return Ok(()) };
        let record = Numbered { offset: current.at, stamps, shift: current.shift };
        current.shift += current.growth(transaction, stamps)?;
        current.at = transaction.end_offset;
        self.restarts = false;
        self.waiting.push(record);
        if self.waiting.len() >= WRITTEN_AT_ONCE { self.flush() } else { Ok(()) }
    }

    /// Lets replicas have everything up to the next transaction that has no numbers yet.
    pub fn publish(&mut self) -> Result<(), LogError> {
        loop {
            if self.current.is_none() && !self.begin_next()? {
                return Ok(());
            }
            let (end, complete) = self.current.as_ref().map_or((0, false), |current| current.log.published());
            let all = self.walk(end)? >= end && complete;
            self.flush()?;
            if !all || !self.begin_next()? {
                return Ok(());
            }
        }
    }

    /// Returns the log files that were begun since the last call.
    pub fn take_begun(&mut self) -> Vec<Begun> {
        self.begun.drain(..).collect()
    }

    /// Ends with the log: nothing more gets numbers. Replicas then get the failure, this one if there is no other.
    pub fn end(&mut self, failure: Option<LogError>) {
        self.files.end_numbering(failure);
    }

    /// Goes over the events that belong to no transaction, which must be all up to `end`.
    fn walk_to(&mut self, end: u64) -> Result<(), LogError> {
        let at = self.walk(end)?;
        match &self.current {
            Some(current) if at != end => Err(cut_off().at(&current.name, at)),
            _ => Ok(()),
        }
    }

    /// Goes over the events that belong to no transaction, up to `end` or the next transaction; returns that offset.
    fn walk(&mut self, end: u64) -> Result<u64, LogError> {
        let Some(current) = &mut self.current else { return Ok(0) };
        if current.walk(end, &mut self.source_file)? {
            (self.restarts, self.source_moved) = (true, true);
        }
        Ok(current.at)
    }

    /// Begins the next file; returns false if there is none.
    fn begin_next(&mut self) -> Result<bool, LogError> {
        let next = match &self.current {
            Some(current) => self.files.after(current.log.number),
            None => self.files.list().first().cloned(),
        };
        // Nothing of a file that was just made may be in it yet.
        let Some(log) = next.filter(|log| log.published().0 > FIRST) else { return Ok(false) };
        self.flush()?;
        let current = Current::open(&log)?;
        if self.store.as_ref().is_none_or(Store::is_large) {
            self.store = Some(Store::create().map_err(|error| failed(&current.name, &error))?);
        }
        if let (Some(store), Some(numbers)) = (&self.store, &log.numbers) {
            store.begin(numbers);
        }
        if !log.relay_log {
            self.restarts = true;
        }
        let source_file = self.source_file.as_ref().map(ToString::to_string);
        let restarts = self.restarts && self.current.is_some();
        self.begun.push_back(Begun { number: log.number, path: log.path.clone(), source_file, restarts });
        self.current = Some(current);
        Ok(true)
    }

    /// Writes the records, and lets replicas have what they are about.
    fn flush(&mut self) -> Result<(), LogError> {
        let (Some(current), Some(store)) = (&self.current, &mut self.store) else { return Ok(()) };
        let Some(numbers) = &current.log.numbers else { return Ok(()) };
        if !self.waiting.is_empty() {
            store.append(numbers, &self.waiting).map_err(|error| failed(&current.name, &error))?;
            self.waiting.clear();
        }
        if numbers.end() != current.at {
            self.files.publish_numbers(numbers, current.at, current.shift);
        }
        Ok(())
    }
}

impl Current {
    fn open(log: &Arc<LogFile>) -> Result<Self, LogError> {
        let name = log.path.display().to_string();
        let at = |error| LogError::io(&name, FIRST, error);
        let (file, format) = (File::open(&log.path).map_err(at)?, raw_event(&log.path, FIRST).map_err(at)?);
        let format = Format::parse(&format, false).map_err(|fault| fault.at(&name, FIRST))?;
        let checksum = if format.checksum { CHECKSUM_LENGTH } else { 0 };
        Ok(Self { log: Arc::clone(log), name, file, checksum, at: FIRST, shift: 0 })
    }

    /// Goes over the events that belong to no transaction, up to `end` or the next transaction; returns true if the
    /// source of a relay log has begun another file there.
    fn walk(&mut self, end: u64, source_file: &mut Option<Arc<str>>) -> Result<bool, LogError> {
        let mut moved = false;
        while self.at < end {
            let header = self.header(self.at)?;
            if begins_transaction(header.type_code) {
                break;
            }
            if self.log.relay_log && header.type_code == types::ROTATE && !is_of_receiver(&header) {
                let event = self.event(self.at, header.event_size.min(LONGEST_ROTATE))?;
                let body = event.get(HEADER_LENGTH..event.len().saturating_sub(self.checksum)).unwrap_or_default();
                let log_position = LogPosition::of_rotate(body).map_err(|fault| fault.at(&self.name, self.at))?;
                moved |= source_file.as_ref().is_some_and(|file| *file != log_position.file);
                *source_file = Some(log_position.file);
            }
            let size = u64::from(header.event_size);
            if size < HEADER_LENGTH as u64 || size > end - self.at {
                let message = format!("the event states a size of {size} bytes, which does not fit into the file");
                return Err(Fault::damaged(message).at(&self.name, self.at));
            }
            self.at += size;
        }
        Ok(moved)
    }

    /// Returns the bytes by which the first event of a transaction becomes longer.
    fn growth(&self, transaction: &Transaction, stamps: Stamps) -> Result<i64, LogError> {
        if transaction.sequence_number.is_none() || transaction.last_committed.is_none() {
            return Err(without_numbers().at(&self.name, self.at));
        }
        let header = self.header(self.at)?;
        if header.type_code != types::GTID_TAGGED {
            return Ok(0);
        }
        let event = self.event(self.at, header.event_size.min(LONGEST_ROTATE))?;
        let body = event.get(HEADER_LENGTH..event.len().saturating_sub(self.checksum)).unwrap_or_default();
        let new = restamped(header.type_code, body, stamps).map_err(|fault| fault.at(&self.name, self.at))?;
        Ok(new.len() as i64 - body.len() as i64)
    }

    fn header(&self, offset: u64) -> Result<EventHeader, LogError> {
        let event = self.event(offset, HEADER_LENGTH as u32)?;
        EventHeader::parse(&event).map_err(|fault| fault.at(&self.name, offset))
    }

    fn event(&self, offset: u64, size: u32) -> Result<Vec<u8>, LogError> {
        let mut event = vec![0; size as usize];
        let read = self.file.read_exact_at(&mut event, offset);
        read.map_err(|error| LogError::io(&self.name, offset, error))?;
        Ok(event)
    }
}

fn failed(name: &str, error: &io::Error) -> LogError {
    LogError::io(name, 0, io::Error::new(error.kind(), format!("the new numbers cannot be kept on disk: {error}")))
}

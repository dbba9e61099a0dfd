//! The log files that are served, and what of them may be sent: whole transactions, also while a file is written.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use paraply_binlog::error::LogError;
use paraply_binlog::read::head::{FileHead, FirstTransaction};
use paraply_core::gtid::GtidSet;

use crate::serve::error::ServeError;
use crate::serve::log::numbers::Numbers;

/// Longest sleep before a condition is looked at again.
const PAUSE: Duration = Duration::from_millis(20);

/// One log file.
#[derive(Debug)]
pub(in crate::serve) struct LogFile {
    /// Its place in the order of files.
    pub(in crate::serve) number: u64,
    pub(in crate::serve) path: PathBuf,
    /// The name that replicas see.
    pub(in crate::serve) name: Arc<str>,
    /// GTIDs executed before it; none where the file does not have them.
    pub(in crate::serve) previous: Option<GtidSet>,
    /// The first transaction; it has no GTID in a log without GTIDs.
    pub(in crate::serve) first: Option<FirstTransaction>,
    pub(in crate::serve) relay_log: bool,
    pub(in crate::serve) version: String,
    /// New numbers of its transactions; none where they keep those of the log.
    pub(in crate::serve) numbers: Option<Numbers>,
    end: AtomicU64,
    complete: AtomicBool,
}

impl LogFile {
    pub(in crate::serve) fn new(number: u64, path: &Path, head: FileHead, stamped: bool) -> Result<Self, ServeError> {
        if head.format.mariadb {
            let message =
                format!("{} is a log of MariaDB: serve sends logs of MySQL to replicas of MySQL", path.display());
            return Err(ServeError::Usage(message));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned().into();
        Ok(Self {
            number,
            path: path.to_owned(),
            name,
            previous: head.previous_gtids,
            first: head.first,
            relay_log: head.relay_log,
            version: head.format.server_version.clone(),
            numbers: stamped.then(Numbers::default),
            end: AtomicU64::new(0),
            complete: AtomicBool::new(false),
        })
    }

    /// Returns the offset up to which it may be sent, and true if that is all.
    pub(in crate::serve) fn extent(&self) -> (u64, bool) {
        let (end, complete) = self.published();
        let Some(numbers) = &self.numbers else { return (end, complete) };
        let numbered = numbers.end();
        (numbered, complete && numbered >= end)
    }

    /// Returns the offset in the file of an event that is sent with this position, and the difference between both; none
    /// for a position inside of the first event of a transaction.
    pub(in crate::serve) fn original(&self, position: u64) -> io::Result<Option<(u64, i64)>> {
        let Some(numbers) = &self.numbers else { return Ok(Some((position, 0))) };
        // The first event of a transaction has the shift of its record; events after it that of the next record. The shift at
        // the end is read first: where there is no next record afterwards, none has changed it since.
        let at_end = numbers.end_shift();
        let next = numbers.first(|record| record.offset.saturating_add_signed(record.shift) >= position)?;
        let shift = numbers.get(next)?.map_or(at_end, |record| record.shift);
        let offset = position.saturating_add_signed(-shift);
        let before = next.checked_sub(1).map(|before| numbers.get(before)).transpose()?.flatten();
        Ok(before.is_none_or(|before| offset > before.offset).then_some((offset, shift)))
    }

    /// Returns the offset after its last whole transaction, and true if no more will come.
    pub(in crate::serve) fn published(&self) -> (u64, bool) {
        let complete = self.complete.load(Ordering::Acquire);
        (self.end.load(Ordering::Acquire), complete)
    }
}

#[derive(Debug, Default)]
struct State {
    files: Arc<Vec<Arc<LogFile>>>,
    /// Damage of the newest file; nothing after it is sent.
    failure: Option<LogError>,
    /// True if nothing more gets new numbers.
    numbered: bool,
    closed: bool,
}

/// The files of one log, and their readers' signal that there is more.
#[derive(Debug, Default)]
pub(in crate::serve) struct Files {
    state: Mutex<State>,
    changed: Condvar,
}

impl Files {
    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the files, oldest first.
    pub(in crate::serve) fn list(&self) -> Arc<Vec<Arc<LogFile>>> {
        Arc::clone(&self.locked().files)
    }

    /// Returns the file after the one with this number.
    pub(in crate::serve) fn after(&self, number: u64) -> Option<Arc<LogFile>> {
        self.list().iter().find(|file| file.number > number).cloned()
    }

    /// Returns the damage that ends the log.
    pub(in crate::serve) fn failure(&self) -> Option<LogError> {
        self.locked().failure.clone()
    }

    /// Returns the damage that ends the log for a replica that got everything up to the extent of this file. Transactions
    /// before the damage that have no new numbers yet are sent first.
    pub(in crate::serve) fn failure_after(&self, file: &LogFile) -> Option<LogError> {
        let state = self.locked();
        state.failure.clone().filter(|_| file.numbers.is_none() || state.numbered)
    }

    /// Returns true if a replica that got everything up to this offset of a file has the whole log.
    pub(in crate::serve) fn is_whole(&self, file: &LogFile, offset: u64) -> bool {
        let (end, _) = file.published();
        let state = self.locked();
        (offset >= end && state.files.last().is_none_or(|last| last.number <= file.number)) || state.numbered
    }

    /// Returns true if every transaction that is there has its numbers.
    pub(in crate::serve) fn is_numbered(&self) -> bool {
        let state = self.locked();
        let numbered =
            |file: &Arc<LogFile>| file.numbers.as_ref().is_none_or(|numbers| numbers.end() >= file.published().0);
        state.numbered || state.files.last().is_none_or(numbered)
    }

    /// Waits until there is more after this offset of a file, or the time is over; returns false if nothing will come.
    pub(in crate::serve) fn wait(&self, file: &LogFile, offset: u64, longest: Duration) -> bool {
        let waits = |state: &mut State| {
            let (end, complete) = file.extent();
            let next = complete && state.files.last().is_some_and(|last| last.number > file.number);
            let failed = state.failure.is_some() && (file.numbers.is_none() || state.numbered);
            end <= offset && !next && !state.closed && !failed
        };
        let waited = self.changed.wait_timeout_while(self.locked(), longest, waits);
        !waited.unwrap_or_else(PoisonError::into_inner).0.closed
    }

    /// Waits until something has changed and the condition is true, nothing will come, or the time is over.
    pub(in crate::serve) fn wait_until(&self, longest: Duration, is_met: impl Fn() -> bool) {
        let end = Instant::now() + longest;
        while !is_met() && !self.is_closed() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            drop(self.changed.wait_timeout(self.locked(), left.min(PAUSE)));
        }
    }

    /// Wakes everybody who waits.
    pub(in crate::serve) fn notify(&self) {
        drop(self.locked());
        self.changed.notify_all();
    }

    pub(in crate::serve) fn is_closed(&self) -> bool {
        self.locked().closed
    }

    /// Lets replicas have everything up to an offset of a file.
    pub(in crate::serve) fn publish_numbers(&self, numbers: &Numbers, end: u64, shift: i64) {
        let state = self.locked();
        numbers.set_end(end, shift);
        drop(state);
        self.changed.notify_all();
    }

    /// Notes that nothing more gets new numbers, for this reason if there is no earlier one.
    pub(in crate::serve) fn end_numbering(&self, failure: Option<LogError>) {
        let mut state = self.locked();
        state.numbered = true;
        if state.failure.is_none() {
            state.failure = failure;
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Ends all waits.
    pub(in crate::serve) fn close(&self) {
        self.locked().closed = true;
        self.changed.notify_all();
    }

    pub(in crate::serve) fn publish(&self, file: &LogFile, end: u64) {
        let state = self.locked();
        file.end.store(end, Ordering::Release);
        drop(state);
        self.changed.notify_all();
    }

    pub(in crate::serve) fn fail(&self, failure: LogError) {
        self.locked().failure = Some(failure);
        self.changed.notify_all();
    }

    pub(in crate::serve) fn complete(&self, file: &LogFile) {
        let state = self.locked();
        file.complete.store(true, Ordering::Release);
        drop(state);
        self.changed.notify_all();
    }

    pub(in crate::serve) fn add(&self, file: Arc<LogFile>) {
        let mut state = self.locked();
        let files = state.files.iter().cloned().chain([file]).collect();
        state.files = Arc::new(files);
        drop(state);
        self.changed.notify_all();
    }

    /// Forgets files that were removed from the folder.
    pub(in crate::serve) fn forget_removed(&self) {
        let files = self.list();
        let Some(last) = files.last() else { return };
        if files.iter().all(|file| file.number == last.number || file.path.exists()) {
            return;
        }
        let kept = files.iter().filter(|file| file.number == last.number || file.path.exists()).cloned().collect();
        self.locked().files = Arc::new(kept);
    }
}

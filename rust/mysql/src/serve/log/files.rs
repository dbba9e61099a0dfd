//! The log files that are served, and what of them may be sent: whole transactions, also while a file is written.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use paraply_binlog::error::LogError;
use paraply_binlog::read::head::{FileHead, FirstTransaction};
use paraply_core::gtid::GtidSet;

use crate::serve::error::ServeError;

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
    end: AtomicU64,
    complete: AtomicBool,
}

impl LogFile {
    pub(in crate::serve) fn new(number: u64, path: &Path, head: FileHead) -> Result<Self, ServeError> {
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
            end: AtomicU64::new(0),
            complete: AtomicBool::new(false),
        })
    }

    /// Returns the offset up to which it may be sent, and true if that is all.
    pub(in crate::serve) fn extent(&self) -> (u64, bool) {
        let complete = self.complete.load(Ordering::Acquire);
        (self.end.load(Ordering::Acquire), complete)
    }
}

#[derive(Debug, Default)]
struct State {
    files: Arc<Vec<Arc<LogFile>>>,
    /// Damage of the newest file; nothing after it is sent.
    failure: Option<LogError>,
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

    /// Waits until there is more after this offset of a file, or the time is over; returns false if nothing will come.
    pub(in crate::serve) fn wait(&self, file: &LogFile, offset: u64, longest: Duration) -> bool {
        let waits = |state: &mut State| {
            let (end, complete) = file.extent();
            let next = complete && state.files.last().is_some_and(|last| last.number > file.number);
            end <= offset && !next && !state.closed && state.failure.is_none()
        };
        let waited = self.changed.wait_timeout_while(self.locked(), longest, waits);
        !waited.unwrap_or_else(PoisonError::into_inner).0.closed
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

//! State that the writer publishes, and on which readers wait for more, without a lock between them (rules R28, R29).

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use arc_swap::ArcSwap;
use paraply_core::gtid::{Gtid, GtidSet};

/// A file of a relay log, as its readers see it.
#[derive(Debug)]
pub struct LiveFile {
    /// The number that ends its name.
    pub number: u64,
    /// Path of the file.
    pub path: PathBuf,
    /// The path as text, for errors and progress.
    pub name: Arc<str>,
    /// Offset after the last whole transaction that may be read.
    end: AtomicU64,
    /// True if nothing will be appended any more.
    complete: AtomicBool,
}

impl LiveFile {
    /// Creates a file that may be read up to `end`.
    pub fn new(number: u64, path: PathBuf, end: u64, complete: bool) -> Self {
        let name = path.display().to_string().into();
        Self { number, path, name, end: AtomicU64::new(end), complete: AtomicBool::new(complete) }
    }

    /// Returns the offset up to which it may be read now, and true if that is all.
    ///
    /// Completeness is read first: the end of a complete file does not move.
    pub fn extent(&self) -> (u64, bool) {
        let complete = self.complete.load(Ordering::Acquire);
        (self.end.load(Ordering::Acquire), complete)
    }
}

/// Summary of what was received: one moment's view, all of it from the same transaction boundary.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Received {
    /// Everything received, and everything before the log began.
    pub gtids: GtidSet,
    /// The source's file with the last event; empty before the first event.
    pub source_file: Arc<str>,
    /// The offset after that event in the source's file.
    pub source_position: u64,
    /// The relay log's file.
    pub relay_file: Arc<str>,
    /// The offset after the last transaction in it.
    pub relay_position: u64,
    /// Transactions appended since the log was opened.
    pub transactions: u64,
    /// Bytes appended since the log was opened.
    pub bytes: u64,
    /// The last whole transaction; none where there was none, or it has no GTID.
    pub last_gtid: Option<Gtid>,
    /// Commit time on its original source, microseconds since 1970, UTC; 0 before the first one.
    pub committed_at: i64,
}

/// One reader that may sleep. The writer only swaps a flag and wakes a thread: it never waits.
#[derive(Debug)]
pub struct Parker {
    asleep: AtomicBool,
    thread: ArcSwap<Thread>,
}

impl Parker {
    fn new() -> Self {
        Self { asleep: AtomicBool::new(false), thread: ArcSwap::from_pointee(thread::current()) }
    }

    fn wake(&self) {
        if self.asleep.swap(false, Ordering::SeqCst) {
            self.thread.load().unpark();
        }
    }

    /// Sleeps until the writer publishes, `ready` returns true, or the time is over.
    pub fn wait(&self, ready: impl Fn() -> bool, longest: Duration) {
        self.thread.store(Arc::new(thread::current()));
        self.asleep.store(true, Ordering::SeqCst);
        // Everything published before the flag was seen is visible now; a later publication finds the flag.
        if !ready() {
            thread::park_timeout(longest);
        }
        self.asleep.store(false, Ordering::SeqCst);
    }
}

/// State shared by one writer, its readers and status queries.
#[derive(Debug)]
pub struct Shared {
    files: ArcSwap<Vec<Arc<LiveFile>>>,
    received: ArcSwap<Received>,
    parkers: ArcSwap<Vec<Arc<Parker>>>,
    closed: AtomicBool,
}

impl Shared {
    /// Creates the state of a log with these files.
    pub fn new(files: Vec<Arc<LiveFile>>, received: Received) -> Self {
        Self {
            files: ArcSwap::from_pointee(files),
            received: ArcSwap::from_pointee(received),
            parkers: ArcSwap::from_pointee(Vec::new()),
            closed: AtomicBool::new(false),
        }
    }

    /// Returns the files, oldest first.
    pub fn files(&self) -> Arc<Vec<Arc<LiveFile>>> {
        self.files.load_full()
    }

    /// Returns the state of the receiver, as last published.
    pub fn received(&self) -> Arc<Received> {
        self.received.load_full()
    }

    /// Returns true if the writer has ended: what is published is all.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Publishes a view alone: nothing was appended.
    pub fn show(&self, received: Received) {
        self.received.store(Arc::new(received));
    }

    /// Publishes an end, and the view that goes with it.
    pub fn publish(&self, file: &LiveFile, end: u64, received: Received) {
        self.received.store(Arc::new(received));
        file.end.store(end, Ordering::SeqCst);
        self.wake();
    }

    /// Adds a file after the last one, which is complete from now on.
    pub fn add_file(&self, file: &Arc<LiveFile>) {
        let before = self.files().last().cloned();
        self.files.rcu(|files| {
            let mut grown = Vec::clone(files);
            grown.push(Arc::clone(file));
            grown
        });
        if let Some(before) = before {
            before.complete.store(true, Ordering::SeqCst);
        }
        self.wake();
    }

    /// Removes the files whose numbers are below `number`.
    pub fn forget_before(&self, number: u64) {
        self.files.rcu(|files| files.iter().filter(|file| file.number >= number).cloned().collect::<Vec<_>>());
    }

    /// Notes that nothing more will come.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Returns a parker for a new reader.
    pub fn parker(&self) -> Arc<Parker> {
        let parker = Arc::new(Parker::new());
        self.parkers.rcu(|parkers| {
            // Parkers of readers that are gone are dropped.
            let mut grown: Vec<_> = parkers.iter().filter(|parker| Arc::strong_count(parker) > 1).cloned().collect();
            grown.push(Arc::clone(&parker));
            grown
        });
        parker
    }

    /// Wakes all sleeping readers.
    pub fn wake(&self) {
        for parker in self.parkers.load().iter() {
            parker.wake();
        }
    }
}

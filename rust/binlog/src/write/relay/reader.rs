//! A reader of a relay log that grows: its own descriptor, up to what is published (rule R28).

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::error::LogError;
use crate::read::file::Source;
use crate::read::reader::GrowingLog;
use crate::write::relay::shared::{LiveFile, Parker, Shared};

/// Passes a log's files to a reader, one after the other, and waits for more.
#[derive(Debug)]
pub struct Follower {
    shared: Arc<Shared>,
    parker: Arc<Parker>,
    stopped: Arc<AtomicBool>,
    current: Option<Arc<LiveFile>>,
    /// Offset up to which `current` was read.
    offset: Arc<std::sync::atomic::AtomicU64>,
}

/// Ends a reader from another thread.
#[derive(Debug, Clone)]
pub struct StopHandle {
    shared: Arc<Shared>,
    stopped: Arc<AtomicBool>,
}

impl StopHandle {
    /// Stops the reader, which then returns nothing more.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.shared.wake();
    }
}

impl Follower {
    /// Creates a reader that begins with the log's oldest file.
    pub fn new(shared: Arc<Shared>) -> Self {
        let parker = shared.parker();
        let (stopped, offset) = (Arc::default(), Arc::default());
        Self { shared, parker, stopped, current: None, offset }
    }

    /// Returns a handle that ends this reader from another thread.
    pub fn stop_handle(&self) -> StopHandle {
        StopHandle { shared: Arc::clone(&self.shared), stopped: Arc::clone(&self.stopped) }
    }

    fn has_more(&self) -> bool {
        let Some(current) = &self.current else { return !self.shared.files().is_empty() };
        let (end, _) = current.extent();
        end > self.offset.load(Ordering::Relaxed)
            || self.shared.files().last().is_some_and(|file| file.number > current.number)
    }
}

impl GrowingLog for Follower {
    /// Returns true if the reader was stopped, or the writer has ended and all was read.
    fn is_over(&self) -> bool {
        self.stopped.load(Ordering::SeqCst) || (self.shared.is_closed() && !self.has_more())
    }

    /// Returns the file after the one that was read last, once it exists.
    fn next_file(&mut self) -> Result<Option<(Arc<str>, Source<'static>)>, LogError> {
        let after = self.current.as_ref().map(|file| file.number);
        let files = self.shared.files();
        let Some(next) = files.iter().find(|file| after.is_none_or(|number| file.number > number)) else {
            return Ok(None);
        };
        let file = File::open(&next.path).map_err(|error| LogError::io(&next.name, 0, error))?;
        self.offset.store(0, Ordering::Relaxed);
        self.current = Some(Arc::clone(next));
        let offset = Arc::clone(&self.offset);
        let tail = Tail { file, live: Arc::clone(next), offset };
        Ok(Some((Arc::clone(&next.name), Box::new(tail))))
    }

    /// Sleeps until there is more to read, the reader is stopped, or the time is over.
    fn wait(&self, longest: Duration) {
        let ready = || self.stopped.load(Ordering::SeqCst) || self.shared.is_closed() || self.has_more();
        if !ready() {
            self.parker.wait(ready, longest);
        }
    }
}

/// The published part of one file.
struct Tail {
    file: File,
    live: Arc<LiveFile>,
    offset: Arc<std::sync::atomic::AtomicU64>,
}

impl Read for Tail {
    /// Reads published bytes; fails with `WouldBlock` where more is to come. That is always between two transactions,
    /// because ends are published there.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (end, complete) = self.live.extent();
        let offset = self.offset.load(Ordering::Relaxed);
        let there = usize::try_from(end.saturating_sub(offset)).unwrap_or(usize::MAX);
        if there == 0 {
            return if complete { Ok(0) } else { Err(io::ErrorKind::WouldBlock.into()) };
        }
        let most = buffer.len().min(there);
        let room = buffer.get_mut(..most).unwrap_or_default();
        let count = self.file.read(room)?;
        if count == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file is shorter than its writer reported"));
        }
        self.offset.store(offset + count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

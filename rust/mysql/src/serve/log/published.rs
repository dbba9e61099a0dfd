//! The log that is served as a sequence of transactions, for its new numbers.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use paraply_binlog::error::LogError;
use paraply_binlog::read::file::Source;
use paraply_binlog::read::reader::GrowingLog;

use crate::serve::log::files::{Files, LogFile};
use crate::serve::log::start::FIRST;

/// The whole transactions of a log that is served, as they are written.
#[derive(Debug)]
pub struct PublishedLog {
    files: Arc<Files>,
    stopped: Arc<AtomicBool>,
    current: Option<Arc<LogFile>>,
    /// Offset up to which `current` was read.
    offset: Arc<AtomicU64>,
}

impl PublishedLog {
    pub(in crate::serve) fn new(files: Arc<Files>) -> Self {
        Self { files, stopped: Arc::default(), current: None, offset: Arc::default() }
    }

    /// Returns a function that ends this reader from another thread.
    pub fn stop(&self) -> impl Fn() + Send + Sync + 'static {
        let (files, stopped) = (Arc::clone(&self.files), Arc::clone(&self.stopped));
        move || {
            stopped.store(true, Ordering::SeqCst);
            files.notify();
        }
    }

    fn next(&self) -> Option<Arc<LogFile>> {
        let next = match &self.current {
            Some(current) => self.files.after(current.number),
            None => self.files.list().first().cloned(),
        };
        // Nothing of a file that was just made may be in it yet.
        next.filter(|file| file.published().0 > FIRST)
    }

    fn has_more(&self) -> bool {
        let Some(current) = &self.current else { return self.next().is_some() };
        let (end, complete) = current.published();
        end > self.offset.load(Ordering::Relaxed) || (complete && self.next().is_some())
    }
}

impl GrowingLog for PublishedLog {
    fn next_file(&mut self) -> Result<Option<(Arc<str>, Source<'static>)>, LogError> {
        let Some(log) = self.next() else { return Ok(None) };
        let name: Arc<str> = log.path.display().to_string().into();
        let file = File::open(&log.path).map_err(|error| LogError::io(&name, 0, error))?;
        self.offset.store(0, Ordering::Relaxed);
        self.current = Some(Arc::clone(&log));
        Ok(Some((name, Box::new(Part { file, log, offset: Arc::clone(&self.offset) }))))
    }

    fn is_over(&self) -> bool {
        let ended = || self.files.is_closed() || self.files.failure().is_some();
        self.stopped.load(Ordering::SeqCst) || (ended() && !self.has_more())
    }

    fn wait(&self, longest: Duration) {
        self.files.wait_until(longest, || self.stopped.load(Ordering::SeqCst) || self.has_more());
    }
}

/// The published part of one file.
struct Part {
    file: File,
    log: Arc<LogFile>,
    offset: Arc<AtomicU64>,
}

impl Read for Part {
    /// Reads published bytes; fails with `WouldBlock` where more is to come.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (end, complete) = self.log.published();
        let offset = self.offset.load(Ordering::Relaxed);
        let there = usize::try_from(end.saturating_sub(offset)).unwrap_or(usize::MAX);
        if there == 0 {
            return if complete { Ok(0) } else { Err(io::ErrorKind::WouldBlock.into()) };
        }
        let most = buffer.len().min(there);
        let count = self.file.read(buffer.get_mut(..most).unwrap_or_default())?;
        if count == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter while it was read"));
        }
        self.offset.store(offset + count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

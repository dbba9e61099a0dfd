//! The end of a log file that is being written: up to where it holds whole transactions.

use std::sync::Arc;
use std::time::{Duration, Instant};

use paraply_binlog::error::{Fault, LogError};
use paraply_binlog::read::file::EventReader;
use paraply_binlog::read::piece::Resume;
use paraply_binlog::write::relay::{Boundary, Step};

use crate::serve::log::files::{Files, LogFile};

/// Bytes after which a part that was read is published.
const PUBLISH_BYTES: u64 = 4 << 20;
/// Part of the time that a look may take, where a transaction is written slowly and read again from its beginning.
const SHARE: u32 = 4;

/// Follows one file.
///
/// Nothing inside a transaction is kept from one look to the next: a receiver may cut what it has written of one, and
/// write something else there.
#[derive(Debug)]
pub(in crate::serve) struct Tail {
    file: Arc<LogFile>,
    /// After the last whole transaction.
    place: Resume,
    /// Size of the file at the last look.
    seen: u64,
    looked_at: Instant,
    /// Time of the last look, if it found no whole transaction.
    pub(super) took: Duration,
}

impl Tail {
    pub(in crate::serve) fn new(file: Arc<LogFile>) -> Self {
        Self { file, place: Resume::BEGIN, seen: 0, looked_at: Instant::now(), took: Duration::ZERO }
    }

    pub(in crate::serve) fn file(&self) -> &Arc<LogFile> {
        &self.file
    }

    /// Publishes the transactions that have become whole; returns true if there were some.
    ///
    /// # Errors
    /// The file is damaged: a part that is written later would have no checksum that is wrong.
    pub(in crate::serve) fn advance(&mut self, files: &Files) -> Result<bool, LogError> {
        let Ok(size) = std::fs::metadata(&self.file.path).map(|data| data.len()) else { return Ok(false) };
        // A file that is copied again is short for a moment; what was sent of it is behind its end then.
        if size == self.seen || size < self.place.offset || self.looked_at.elapsed() < self.took * SHARE {
            return Ok(false);
        }
        let began = Instant::now();
        let before = self.place.offset;
        let read = self.read(size, files);
        (self.seen, self.looked_at, self.took) = (size, Instant::now(), began.elapsed());
        if read.is_err() && std::fs::metadata(&self.file.path).is_ok_and(|data| data.len() != size) {
            return Ok(false);
        }
        read?;
        if self.place.offset > before {
            self.took = Duration::ZERO;
            files.publish(&self.file, self.place.offset);
        }
        Ok(self.place.offset > before)
    }

    /// Returns true if everything of the file was looked at, or it is gone.
    pub(in crate::serve) fn is_at_end(&self) -> bool {
        std::fs::metadata(&self.file.path).is_ok_and(|data| data.len() == self.seen) || !self.file.path.exists()
    }

    fn read(&mut self, size: u64, files: &Files) -> Result<(), LogError> {
        let path = &self.file.path;
        let opened = if self.place == Resume::BEGIN {
            EventReader::open_sized(path, Some(size), true)
        } else {
            EventReader::open_at(path, self.place, Some(size), true)
        };
        let mut reader = match opened {
            Ok(reader) => reader,
            Err(LogError::Truncated { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        let name = Arc::clone(reader.name());
        let mut boundary = Boundary::default();
        let mut published = self.place.offset;
        loop {
            let event = match reader.next_event() {
                Ok(Some(event)) => event,
                Ok(None) | Err(LogError::Truncated { .. }) => return Ok(()),
                Err(error) => return Err(error),
            };
            let offset = event.offset;
            let step = boundary.accept(&event).map_err(|fault| fault.at(&name, offset))?;
            if step == Step::Interrupts {
                let fault = Fault::damaged("a transaction before this event has no end: it was not written whole");
                return Err(fault.at(&name, offset));
            }
            if !boundary.is_inside() {
                self.place = reader.place();
                if self.place.offset - published > PUBLISH_BYTES {
                    published = self.place.offset;
                    files.publish(&self.file, published);
                }
            }
        }
    }
}

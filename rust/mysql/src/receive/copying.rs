//! Copies of a source's log files, received over a connection.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use paraply_binlog::error::LogError;
use paraply_binlog::write::copy::{LogCopy, Piece};

use super::now;
use crate::connection::Error;
use crate::replica::{Identity, ReplicaConnection, SourceEvents};

/// Time after which a receiver that waits for room looks at the stop flag.
const LOOK: Duration = Duration::from_millis(200);

/// Reason why copying ended.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// An error of the source or the connection to it.
    #[error(transparent)]
    Source(#[from] Error),
    /// An event that does not fit, or is damaged.
    #[error(transparent)]
    Log(#[from] LogError),
}

/// A copy that one thread fills and another one empties.
#[derive(Debug)]
pub struct CopyQueue {
    copy: Mutex<LogCopy>,
    changed: Condvar,
    /// Bytes at which a piece is complete; the receiver waits while there are twice as many.
    piece_bytes: usize,
    stop: AtomicBool,
    heard_at: AtomicI64,
}

impl CopyQueue {
    /// Makes a queue for pieces of about this size.
    pub fn new(copy: LogCopy, piece_bytes: usize) -> Self {
        let (stop, heard_at) = (AtomicBool::new(false), AtomicI64::new(0));
        Self { copy: Mutex::new(copy), changed: Condvar::new(), piece_bytes, stop, heard_at }
    }

    /// Ends receiving, at the next event or heartbeat at the latest.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.changed.notify_all();
    }

    /// Returns the time when the source was heard last, microseconds since 1970, UTC; 0 before that.
    pub fn heard_at(&self) -> i64 {
        self.heard_at.load(Ordering::Relaxed)
    }

    /// Returns the number of events that were copied or compared.
    pub fn events(&self) -> u64 {
        self.locked().events()
    }

    /// Waits for a complete piece, up to the timeout or the end of receiving; returns what there is.
    pub fn take(&self, timeout: Duration) -> Option<Piece> {
        let mut copy = self.locked();
        let end = Instant::now() + timeout;
        while !copy.is_ready(self.piece_bytes) && !self.stop.load(Ordering::SeqCst) {
            let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) else { break };
            copy = self.changed.wait_timeout(copy, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let piece = copy.take(self.piece_bytes);
        drop(copy);
        self.changed.notify_all();
        piece
    }

    fn locked(&self) -> MutexGuard<'_, LogCopy> {
        self.copy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends one event as the source sent it; waits while there is no room.
    pub fn append(&self, event: &[u8]) -> Result<(), LogError> {
        let mut copy = self.locked();
        while copy.waiting() >= self.piece_bytes.saturating_mul(2) && !self.stop.load(Ordering::SeqCst) {
            copy = self.changed.wait_timeout(copy, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        copy.append(event)?;
        if copy.is_ready(self.piece_bytes) {
            drop(copy);
            self.changed.notify_all();
        }
        Ok(())
    }
}

/// Receives into the copy until the connection ends or [`CopyQueue::stop`] was called; with `most` events, until so many
/// were copied or compared.
///
/// The session's variables are set, among them that this replica knows checksums and MariaDB's own events.
pub fn copy_log(
    connection: ReplicaConnection,
    identity: &Identity,
    most: Option<u64>,
    queue: &CopyQueue,
) -> Result<(), CopyError> {
    let (file, position) = queue.locked().request();
    let position = u32::try_from(position)
        .map_err(|_| Error::Client("a source can be asked for a position up to 4 GiB of a file only".to_owned()))?;
    let mut stream = connection.dump_files(identity, &file, position)?;
    while most.is_none_or(|most| queue.events() < most) {
        let Some(arrived) = stream.next()? else {
            return Err(Error::Lost("the source ended the connection".to_owned()).into());
        };
        queue.heard_at.store(now(), Ordering::Relaxed);
        if queue.stop.load(Ordering::SeqCst) {
            return Ok(());
        }
        queue.append(arrived.event)?;
    }
    Ok(())
}

//! Errors of a log, with their position.

use std::io;
use std::sync::Arc;

/// Reason why a log cannot be read on. Every variant names the file, the offset, and what to do about it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LogError {
    /// The file is something else than a binlog or relay log.
    #[error("{file}: this is not a binlog or relay log: {message}")]
    NotALog {
        /// The file as it was named.
        file: String,
        /// Offset in the file.
        position: u64,
        /// Description of the content, and what to do.
        message: String,
    },
    /// The bytes contradict each other: a checksum, a size or a structure is wrong.
    #[error(
        "{file}: the log is damaged at position {position}: {message}; copy the file again from the source, \
         nothing from this position on was used"
    )]
    Damaged {
        /// The file as it was named.
        file: String,
        /// Offset of the event.
        position: u64,
        /// The contradiction.
        message: String,
    },
    /// The log ends inside an event or inside a transaction.
    #[error(
        "{file}: the log ends too early, at position {position}: {message}; get the rest of the log from the source, \
         nothing of the unfinished transaction was used"
    )]
    Truncated {
        /// The file as it was named.
        file: String,
        /// Offset of the event or of the unfinished transaction.
        position: u64,
        /// The missing part.
        message: String,
    },
    /// The log is intact, but holds something that cannot be applied exactly.
    #[error("{file}: the event at position {position} cannot be replayed: {message}")]
    NotUnderstood {
        /// The file as it was named.
        file: String,
        /// Offset of the event.
        position: u64,
        /// Description of the content, and what to do.
        message: String,
    },
    /// The operating system could not read the file.
    #[error("{file}: cannot be read at position {position}: {source}; check that the file exists and may be read")]
    Io {
        /// The file as it was named.
        file: String,
        /// Offset that was to be read.
        position: u64,
        /// The system's reason.
        #[source]
        source: Arc<io::Error>,
    },
}

impl LogError {
    /// Creates the error of a file that could not be read at an offset.
    pub fn io(file: &str, position: u64, source: io::Error) -> Self {
        Self::Io { file: file.to_owned(), position, source: Arc::new(source) }
    }

    /// Returns true if a log that is still written was read to its present end: nothing is wrong, more may come.
    pub(crate) fn is_caught_up(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::WouldBlock)
    }

    /// Returns the file as it was named.
    pub fn file(&self) -> &str {
        match self {
            Self::NotALog { file, .. }
            | Self::Damaged { file, .. }
            | Self::Truncated { file, .. }
            | Self::NotUnderstood { file, .. }
            | Self::Io { file, .. } => file,
        }
    }

    /// Returns the offset in the file.
    pub fn position(&self) -> u64 {
        match self {
            Self::NotALog { position, .. }
            | Self::Damaged { position, .. }
            | Self::Truncated { position, .. }
            | Self::NotUnderstood { position, .. }
            | Self::Io { position, .. } => *position,
        }
    }
}

/// A fault inside one event, before the event's position is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Becomes [`LogError::Damaged`].
    Damaged(String),
    /// Becomes [`LogError::NotUnderstood`].
    NotUnderstood(String),
}

impl Fault {
    /// Creates a fault of structure.
    pub fn damaged(message: impl Into<String>) -> Self {
        Self::Damaged(message.into())
    }

    /// Creates a fault of something intact that cannot be replayed.
    pub fn not_understood(message: impl Into<String>) -> Self {
        Self::NotUnderstood(message.into())
    }

    /// Returns the error at a position.
    pub fn at(self, file: &str, position: u64) -> LogError {
        let file = file.to_owned();
        match self {
            Self::Damaged(message) => LogError::Damaged { file, position, message },
            Self::NotUnderstood(message) => LogError::NotUnderstood { file, position, message },
        }
    }
}

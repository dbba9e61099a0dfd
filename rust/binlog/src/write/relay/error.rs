//! Errors of a relay log.

use std::io;
use std::path::Path;

use crate::error::LogError;

/// Reason why a relay log cannot be opened or written.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// A file of the log cannot be read, or data from the source is damaged or not understood.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The operating system refused to write.
    #[error(
        "{file}: the relay log cannot be written: {source}; free disk space or grant the permission, and start again; nothing is lost"
    )]
    Write {
        /// The file or folder.
        file: String,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// A flush was requested while a transaction is being received.
    #[error(
        "{file}: a transaction is being received; a relay log is not flushed inside a transaction; try again after its end"
    )]
    InsideTransaction {
        /// The current file.
        file: String,
    },
    /// The folder's content does not match its index.
    #[error("{file}: {message}")]
    Inconsistent {
        /// The file or folder.
        file: String,
        /// The mismatch, and what to do.
        message: String,
    },
    /// An earlier write failed, or the log was closed.
    #[error("{file}: the relay log takes nothing more; open it again")]
    Closed {
        /// The folder.
        file: String,
    },
}

impl RelayError {
    pub(crate) fn write(path: &Path, source: io::Error) -> Self {
        Self::Write { file: path.display().to_string(), source }
    }

    pub(crate) fn inconsistent(path: &Path, message: impl Into<String>) -> Self {
        Self::Inconsistent { file: path.display().to_string(), message: message.into() }
    }

    /// Returns the file concerned.
    pub fn file(&self) -> &str {
        match self {
            Self::Log(error) => error.file(),
            Self::Write { file, .. }
            | Self::InsideTransaction { file }
            | Self::Inconsistent { file, .. }
            | Self::Closed { file } => file,
        }
    }
}

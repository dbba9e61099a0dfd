//! The errors of this crate.

use arrow_schema::ArrowError;
use paraply_binlog::error::LogError;

/// An error of a conversion to or from Arrow.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The caller's batch or argument is not what the function takes.
    #[error("{0}")]
    Usage(String),
    /// The log holds a row event that cannot be read.
    #[error("{error}")]
    Log {
        /// The error with its file and position.
        error: LogError,
        /// The GTID of the transaction, where it has one.
        gtid: Option<String>,
    },
    /// A record batch could not be built, which is an error of this crate.
    #[error("{0}")]
    Internal(String),
}

impl Error {
    /// Return a usage error with this message.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }
}

impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Self {
        Self::Internal(error.to_string())
    }
}

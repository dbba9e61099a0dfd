//! Errors of a server.

use std::io;

use paraply_binlog::error::LogError;

/// Errors of a server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Wrong arguments.
    #[error("{0}")]
    Usage(String),
    /// The certificate or its key cannot be used.
    #[error("TLS: {0}")]
    Tls(String),
    /// A log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The address cannot be listened on.
    #[error("{0}")]
    Io(#[from] io::Error),
}

//! Native errors as the exceptions of `paraply.errors`.

use paraply_binlog::error::LogError;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

/// The exception classes of `paraply.errors`, each imported once.
mod classes {
    use pyo3::import_exception;

    import_exception!(paraply.errors, ApplyFailed);
    import_exception!(paraply.errors, ConnectionFailed);
    import_exception!(paraply.errors, ConnectionLost);
    import_exception!(paraply.errors, LogDamaged);
    import_exception!(paraply.errors, LogNotUnderstood);
    import_exception!(paraply.errors, LogTruncated);
    import_exception!(paraply.errors, LogUnreadable);
    import_exception!(paraply.errors, NotALog);
    import_exception!(paraply.errors, RelayLogError);
    import_exception!(paraply.errors, SchemaMismatch);
    import_exception!(paraply.errors, ServerError);
    import_exception!(paraply.errors, TypeNotMapped);
    import_exception!(paraply.errors, UsageError);
    import_exception!(paraply.errors, ValueNotStorable);
}

/// The cause of an error, which has an exception class of its own in Python.
#[derive(Debug, Clone, Copy)]
pub enum Cause {
    ApplyFailed,
    ConnectionFailed,
    ConnectionLost,
    LogDamaged,
    LogNotUnderstood,
    LogTruncated,
    LogUnreadable,
    NotALog,
    RelayLog,
    SchemaMismatch,
    TypeNotMapped,
    Usage,
    ValueNotStorable,
}

impl Cause {
    fn class(self, py: Python<'_>) -> Bound<'_, PyType> {
        match self {
            Self::ApplyFailed => py.get_type::<classes::ApplyFailed>(),
            Self::ConnectionFailed => py.get_type::<classes::ConnectionFailed>(),
            Self::ConnectionLost => py.get_type::<classes::ConnectionLost>(),
            Self::LogDamaged => py.get_type::<classes::LogDamaged>(),
            Self::LogNotUnderstood => py.get_type::<classes::LogNotUnderstood>(),
            Self::LogTruncated => py.get_type::<classes::LogTruncated>(),
            Self::LogUnreadable => py.get_type::<classes::LogUnreadable>(),
            Self::NotALog => py.get_type::<classes::NotALog>(),
            Self::RelayLog => py.get_type::<classes::RelayLogError>(),
            Self::SchemaMismatch => py.get_type::<classes::SchemaMismatch>(),
            Self::TypeNotMapped => py.get_type::<classes::TypeNotMapped>(),
            Self::Usage => py.get_type::<classes::UsageError>(),
            Self::ValueNotStorable => py.get_type::<classes::ValueNotStorable>(),
        }
    }
}

impl From<&LogError> for Cause {
    fn from(error: &LogError) -> Self {
        match error {
            LogError::NotALog { .. } => Self::NotALog,
            LogError::Damaged { .. } => Self::LogDamaged,
            LogError::Truncated { .. } => Self::LogTruncated,
            LogError::NotUnderstood { .. } => Self::LogNotUnderstood,
            LogError::Io { .. } => Self::LogUnreadable,
        }
    }
}

/// Position of an error; every part may be unknown.
#[derive(Debug, Default, Clone)]
pub struct Where {
    pub file: Option<String>,
    pub position: Option<u64>,
    pub gtid: Option<String>,
    pub table: Option<String>,
    pub key: Option<String>,
}

/// A native error that becomes an exception.
#[derive(Debug)]
pub enum Error {
    /// An error with its cause, message and place.
    Of(Cause, String, Box<Where>),
    /// An error that a database server answered with: message, number and SQL state.
    Server(String, u16, String),
    /// A state that cannot occur: an exception instead of a panic.
    Internal(String),
}

impl From<paraply_arrow::Error> for Error {
    fn from(error: paraply_arrow::Error) -> Self {
        match error {
            paraply_arrow::Error::Usage(message) => Self::Of(Cause::Usage, message, Box::default()),
            paraply_arrow::Error::Log { error, gtid } => Self::log(&error, gtid),
            paraply_arrow::Error::Internal(message) => Self::Internal(message),
        }
    }
}

impl Error {
    fn log(error: &LogError, gtid: Option<String>) -> Self {
        let place =
            Where { file: Some(error.file().to_owned()), position: Some(error.position()), gtid, ..Where::default() };
        Self::Of(Cause::from(error), error.to_string(), Box::new(place))
    }

    fn exception(self, py: Python<'_>) -> PyResult<PyErr> {
        Ok(match self {
            Self::Of(cause, message, place) => {
                let keywords = PyDict::new(py);
                keywords.set_item("file", &place.file)?;
                keywords.set_item("position", place.position)?;
                keywords.set_item("gtid", &place.gtid)?;
                keywords.set_item("table", &place.table)?;
                keywords.set_item("key", &place.key)?;
                PyErr::from_value(cause.class(py).call((message,), Some(&keywords))?)
            }
            Self::Server(message, code, state) => classes::ServerError::new_err((message, code, state)),
            Self::Internal(message) => PyRuntimeError::new_err(message),
        })
    }
}

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        Python::attach(|py| error.exception(py).unwrap_or_else(|failure| failure))
    }
}

/// Return an exception of this cause.
pub fn raise(cause: Cause, message: &str, place: &Where) -> PyErr {
    Error::Of(cause, message.to_owned(), Box::new(place.clone())).into()
}

/// Return a `UsageError`: an argument is not valid.
pub fn usage(message: &str) -> PyErr {
    Error::Of(Cause::Usage, message.to_owned(), Box::default()).into()
}

/// Return an exception for a state that cannot occur.
pub fn internal(message: &str) -> PyErr {
    Error::Internal(message.to_owned()).into()
}

/// Return an error of the log as an exception, with the GTID of its transaction where that is known.
pub fn log_error(error: &LogError, gtid: Option<String>) -> PyErr {
    Error::log(error, gtid).into()
}

/// Return an error that a database server answered with.
pub fn server_error(message: &str, code: u16, state: &str) -> PyErr {
    Error::Server(message.to_owned(), code, state.to_owned()).into()
}

//! Native errors as the exceptions of `paraply.errors`.

use paraply_binlog::error::LogError;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyModule};

static ERRORS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

/// Position of an error; every part may be unknown.
#[derive(Debug, Default, Clone)]
pub struct Where {
    pub file: Option<String>,
    pub position: Option<u64>,
    pub gtid: Option<String>,
    pub table: Option<String>,
    pub key: Option<String>,
}

/// Returns an exception of `paraply.errors` by its class name.
pub fn raise(py: Python<'_>, class: &str, message: &str, place: &Where) -> PyErr {
    build(py, class, message, place).unwrap_or_else(|error| error)
}

fn build(py: Python<'_>, class: &str, message: &str, place: &Where) -> PyResult<PyErr> {
    let module = ERRORS.get_or_try_init(py, || PyModule::import(py, "paraply.errors").map(Bound::unbind))?;
    let keywords = PyDict::new(py);
    keywords.set_item("file", &place.file)?;
    keywords.set_item("position", place.position)?;
    keywords.set_item("gtid", &place.gtid)?;
    keywords.set_item("table", &place.table)?;
    keywords.set_item("key", &place.key)?;
    let exception = module.bind(py).getattr(class)?.call((message,), Some(&keywords))?;
    Ok(PyErr::from_value(exception))
}

/// Returns the error of a bad argument: `UsageError`.
pub fn usage(py: Python<'_>, message: &str) -> PyErr {
    raise(py, "UsageError", message, &Where::default())
}

/// Returns an error for a state that cannot occur, instead of a panic.
pub fn internal(message: &str) -> PyErr {
    PyRuntimeError::new_err(message.to_owned())
}

/// Returns an error of the log as the exception of its cause, with the transaction that it is in where that is known.
pub fn log_error(py: Python<'_>, error: &LogError, gtid: Option<String>) -> PyErr {
    let class = match error {
        LogError::NotALog { .. } => "NotALog",
        LogError::Damaged { .. } => "LogDamaged",
        LogError::Truncated { .. } => "LogTruncated",
        LogError::NotUnderstood { .. } => "LogNotUnderstood",
        LogError::Io { .. } => "LogUnreadable",
    };
    let place =
        Where { file: Some(error.file().to_owned()), position: Some(error.position()), gtid, ..Where::default() };
    raise(py, class, &error.to_string(), &place)
}

/// Returns the error that a database server reported.
pub fn server_error(py: Python<'_>, message: &str, code: u16, state: &str) -> PyErr {
    let build = || -> PyResult<PyErr> {
        let module = ERRORS.get_or_try_init(py, || PyModule::import(py, "paraply.errors").map(Bound::unbind))?;
        Ok(PyErr::from_value(module.bind(py).getattr("ServerError")?.call1((message, code, state))?))
    };
    build().unwrap_or_else(|error| error)
}

//! Times of Python.

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// Returns a time in UTC from microseconds since 1970; none for a time that Python's `datetime` does not have.
pub fn moment(py: Python<'_>, microseconds: Option<i64>) -> PyResult<Option<Bound<'_, PyAny>>> {
    static EPOCH: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static DURATION: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let Some(microseconds) = microseconds else { return Ok(None) };
    let epoch = EPOCH.get_or_try_init(py, || {
        let module = py.import("datetime")?;
        let zone = module.getattr("timezone")?.getattr("utc")?;
        Ok::<_, PyErr>(module.getattr("datetime")?.call1((1970, 1, 1, 0, 0, 0, 0, zone))?.unbind())
    })?;
    let duration =
        DURATION.get_or_try_init(py, || Ok::<_, PyErr>(py.import("datetime")?.getattr("timedelta")?.unbind()))?;
    let found = duration.bind(py).call1((0, 0, microseconds)).and_then(|since| epoch.bind(py).add(since));
    match found {
        Ok(time) => Ok(Some(time)),
        Err(error) if error.is_instance_of::<PyOverflowError>(py) => Ok(None),
        Err(error) => Err(error),
    }
}

//! Decompression of whole log files.

use std::io::{ErrorKind, Read};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use paraply_binlog::read::unpack::{Compression, open, pack, unpack};
use pyo3::exceptions::{PyEOFError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Reader of a compressed file, as far as Python's standard library has none.
///
/// Args:
///     path: The file.
///     compression: ``zst`` or ``lz4``.
///
/// Raises:
///     OSError: The file cannot be opened; when reading, it is damaged.
///     EOFError: When reading: the file is cut off.
#[pyclass(name = "Unpacker", module = "paraply._native", frozen)]
pub struct PyUnpacker(Mutex<Box<dyn Read + Send + Sync>>);

#[pymethods]
impl PyUnpacker {
    #[new]
    fn new(py: Python<'_>, path: PathBuf, compression: &str) -> PyResult<Self> {
        let compression = match compression {
            "zst" => Compression::Zstd,
            "lz4" => Compression::Lz4,
            other => return Err(PyValueError::new_err(format!("there is no compression `{other}`: zst or lz4"))),
        };
        Ok(Self(Mutex::new(py.detach(move || open(&path, compression))?)))
    }

    /// Return up to ``size`` bytes; none at the end.
    fn read<'py>(&self, py: Python<'py>, size: usize) -> PyResult<Bound<'py, PyBytes>> {
        let read = py.detach(|| {
            let mut reader = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let mut bytes = Vec::new();
            reader.by_ref().take(size as u64).read_to_end(&mut bytes)?;
            Ok::<_, std::io::Error>(bytes)
        });
        let read = read.map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => PyEOFError::new_err(error.to_string()),
            _ => error.into(),
        })?;
        Ok(PyBytes::new(py, &read))
    }

    /// Close the file; nothing more can be read.
    fn close(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(std::io::empty());
    }
}

/// Return bytes as one Zstandard frame with a checksum.
#[pyfunction]
#[pyo3(signature = (data, level=3))]
pub fn zstd_pack<'py>(py: Python<'py>, data: &[u8], level: i32) -> PyResult<Bound<'py, PyBytes>> {
    let packed = py.detach(|| pack(data, level))?;
    Ok(PyBytes::new(py, &packed))
}

/// Return the contents of Zstandard frames.
///
/// Raises:
///     OSError: The frames are damaged.
///     EOFError: The frames are cut off.
#[pyfunction]
pub fn zstd_unpack<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let plain = py.detach(|| unpack(data)).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => PyEOFError::new_err(error.to_string()),
        _ => error.into(),
    })?;
    Ok(PyBytes::new(py, &plain))
}

//! Hashes of the keys of many rows, from Arrow columns.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field};
use paraply_arrow::values;
use paraply_core::schema::TableName;
use pyo3::prelude::*;
use pyo3_arrow::PyArray;

use crate::errors::Error;
use crate::rows::hashing::collation_of;

/// Returns the hash of one key for each row (rule R11).
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // taken over from Python
#[pyo3(signature = (key_name, database, table, columns, *, collation=None))]
pub fn write_set_hashes(
    py: Python<'_>,
    key_name: &str,
    database: &str,
    table: &str,
    columns: Vec<PyArray>,
    collation: Option<&str>,
) -> PyResult<Py<PyAny>> {
    let columns: Vec<ArrayRef> = columns.into_iter().map(|column| column.into_inner().0).collect();
    let table = TableName::new(database, table);
    let hashes = py.detach(|| values::write_set_hashes(key_name, &table, &columns, collation)).map_err(Error::from)?;
    let hashes = PyArray::new(Arc::new(hashes), Arc::new(Field::new("hash", DataType::Int64, true)));
    Ok(hashes.to_pyarrow(py)?.unbind())
}

/// Returns a hash of the equality form of each value: equal for values that the collation calls equal; null where a
/// value has no form.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // taken over from Python
#[pyo3(signature = (collation, values, mariadb=None))]
pub fn equality_hashes(py: Python<'_>, collation: &str, values: PyArray, mariadb: Option<bool>) -> PyResult<Py<PyAny>> {
    let collation = collation_of(collation, mariadb)?;
    let column = values.into_inner().0;
    let hashes = py.detach(|| values::equality_hashes(collation, &column)).map_err(Error::from)?;
    let hashes = PyArray::new(Arc::new(hashes), Arc::new(Field::new("hash", DataType::UInt64, true)));
    Ok(hashes.to_pyarrow(py)?.unbind())
}

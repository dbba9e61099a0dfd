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

/// Compute ``write_set_hash`` of many rows over Arrow, as int64; null if a part of the key is null (R11).
///
/// Args:
///     key_name: ``PRIMARY`` or the unique key's name.
///     database: The table's database.
///     table: The table.
///     columns: Anything with ``__arrow_c_array__``, one for each part of the key: integers, decimals, floats, bools, text, bytes, dates
///         and timestamps (without a zone as DATETIME, with one as TIMESTAMP).
///     collation: The collation of the text parts; None hashes their bytes.
///
/// Raises:
///     UsageError: A column has another type, columns differ in length, or the collation has no exact form.
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

/// Return hashes of the equality forms of many values, as uint64; null if ``equality_form`` would raise for the value (R12).
///
/// Args:
///     collation: The collation's full name.
///     values: Object with ``__arrow_c_array__`` that holds binary or large binary: the values in the collation's character set.
///     mariadb: Family of the name, as for ``collation_class``.
///
/// Raises:
///     UsageError: The collation does not exist, or the values are not bytes.
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

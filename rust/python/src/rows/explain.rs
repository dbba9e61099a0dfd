//! The keys of rows as they are hashed, for debugging.

use paraply_core::schema::{Catalog, Table, TableName};
use paraply_core::value::Value;
use paraply_core::write_set::{Note, Noted, Options, Row, WriteSet, WriteSetBuilder, table_hash};
use paraply_plan::explain::explain_transaction;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::errors::{log_error, usage};
use crate::log::transaction::PyTransaction;
use crate::rows::catalog::PyCatalog;
use crate::rows::hashing::hash_options;
use crate::rows::row_values::{OwnedValue, values_of};

/// Return the write set of one row: ``table``, ``exclusive``, ``shared``, ``barrier``, ``reason``, ``keys`` and ``tables``.
///
/// Raises:
///     UsageError: The table is not defined, or a value does not fit its column.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // taken over from Python
#[pyo3(signature = (catalog, database, table, before, after, *, scheme="fine", foreign_key_checks=true, cascades_logged=true))]
#[allow(clippy::too_many_arguments)]
pub fn explain_values<'py>(
    py: Python<'py>,
    catalog: &PyCatalog,
    database: &str,
    table: &str,
    before: Option<Bound<'py, PyAny>>,
    after: Option<Bound<'py, PyAny>>,
    scheme: &str,
    foreign_key_checks: bool,
    cascades_logged: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let catalog = catalog.snapshot();
    let name = TableName::new(database, table);
    let definition = catalog.get(&name).ok_or_else(|| usage(&format!("the table {name} is not defined")))?;
    let owned = |image: Option<Bound<'py, PyAny>>| image.map(|image| values_of(&image, definition)).transpose();
    let (before, after) = (owned(before)?, owned(after)?);
    let (before, after) = (before.as_deref().map(borrowed), after.as_deref().map(borrowed));
    let scheme = hash_options(scheme, false)?.scheme;
    let mut builder = WriteSetBuilder::new(Options { scheme, cascades_logged, ..Options::default() });
    let plan = builder.plan(&catalog, &name).ok_or_else(|| usage(&format!("the table {name} is not defined")))?;
    let row = Row { before: before.as_deref(), after: after.as_deref(), foreign_key_checks };
    let (set, notes) = builder.explain(&plan, &row);
    explained(py, &catalog, &name, &notes, &set, None)
}

fn borrowed(image: &[Option<OwnedValue>]) -> Vec<Option<Value<'_>>> {
    image.iter().map(|value| value.as_ref().map(OwnedValue::borrow)).collect()
}

/// Return the contributions of the first rows of a transaction, as ``explain_values`` does.
///
/// Raises:
///     UsageError: The scheme is unknown.
///     LogDamaged: A row event contradicts itself.
#[pyfunction]
#[pyo3(signature = (transaction, catalog, *, scheme="fine", rows=100))]
pub fn explain_rows<'py>(
    py: Python<'py>,
    transaction: &PyTransaction,
    catalog: &PyCatalog,
    scheme: &str,
    rows: usize,
) -> PyResult<Bound<'py, PyList>> {
    let options = hash_options(scheme, false)?;
    let catalog = catalog.snapshot();
    let found = explain_transaction(transaction.inner(), &catalog, options, rows)
        .map_err(|error| log_error(&error.into_log_error(transaction.file_name()), transaction.gtid()))?;
    let list = PyList::empty(py);
    for row in found {
        list.append(explained(py, &catalog, &row.table, &row.notes, &row.set, row.unusable)?)?;
    }
    Ok(list)
}

fn explained<'py>(
    py: Python<'py>,
    catalog: &Catalog,
    name: &TableName,
    notes: &[Note],
    set: &WriteSet,
    unusable: Option<&str>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("table", name.to_string())?;
    dict.set_item("exclusive", &set.exclusive)?;
    dict.set_item("shared", &set.shared)?;
    dict.set_item("barrier", set.barrier)?;
    dict.set_item("reason", unusable)?;
    let keys = PyList::empty(py);
    for note in notes {
        keys.append(key(py, catalog.get(name).map(AsRef::as_ref), note)?)?;
    }
    dict.set_item("keys", keys)?;
    let hashed: Vec<u64> = notes.iter().filter_map(hash_of).collect();
    let tables = PyList::empty(py);
    for hash in set.exclusive.iter().chain(&set.shared).filter(|hash| !hashed.contains(hash)) {
        tables.append((table_named(catalog, name, *hash), *hash))?;
    }
    dict.set_item("tables", tables)?;
    Ok(dict)
}

fn hash_of(note: &Note) -> Option<u64> {
    match note.result {
        Noted::Hash(hash) => Some(hash),
        Noted::Null | Noted::Lost(_) => None,
    }
}

fn key<'py>(py: Python<'py>, table: Option<&Table>, note: &Note) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let names: Vec<Option<&str>> = note
        .columns
        .iter()
        .map(|column| table.zip(*column).and_then(|(t, index)| t.columns.get(index)).map(|c| c.name.as_str()))
        .collect();
    dict.set_item("columns", names)?;
    dict.set_item("prefix", PyBytes::new(py, &note.prefix))?;
    dict.set_item("hashed", PyBytes::new(py, &note.hashed))?;
    let values: Vec<Bound<'py, PyBytes>> = note.values().iter().map(|value| PyBytes::new(py, value)).collect();
    dict.set_item("values", values)?;
    dict.set_item("hash", hash_of(note))?;
    let reason = match note.result {
        Noted::Hash(_) => None,
        Noted::Null => Some("a part is NULL"),
        Noted::Lost(reason) => Some(reason.text()),
    };
    dict.set_item("reason", reason)?;
    Ok(dict)
}

/// Returns the table that a hash of a whole table belongs to: the row's own, a parent or a relative.
fn table_named(catalog: &Catalog, name: &TableName, hash: u64) -> Option<String> {
    let own =
        catalog.get(name).map(|table| table.foreign_keys.iter().map(|key| key.parent.clone()).collect::<Vec<_>>());
    let near = std::iter::once(name.clone()).chain(own.unwrap_or_default());
    near.chain(catalog.names().cloned()).find(|name| table_hash(name) == hash).map(|name| name.to_string())
}

//! Table maps: the definitions of the source's tables when their rows were written.

use std::collections::HashSet;

use paraply_binlog::event::types::TABLE_MAP;
use paraply_binlog::rows::table_map::{MappedColumn, TableMap};
use paraply_binlog::transaction::Transaction;
use pyo3::prelude::*;

use crate::errors::{Cause, Where, raise};

/// Column as described by a table-map event.
#[pyclass(name = "ColumnInfo", module = "paraply._native", frozen)]
pub struct PyColumnInfo(MappedColumn);

#[pymethods]
impl PyColumnInfo {
    #[getter]
    fn type_code(&self) -> u8 {
        self.0.type_code
    }

    #[getter]
    fn metadata(&self) -> u16 {
        self.0.metadata
    }

    #[getter]
    fn nullable(&self) -> bool {
        self.0.nullable
    }

    #[getter]
    fn unsigned(&self) -> Option<bool> {
        self.0.unsigned
    }

    #[getter]
    fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    #[getter]
    fn collation_id(&self) -> Option<u32> {
        self.0.collation_id
    }
}

/// Table-map event: the source's table at the time when its rows were written.
#[pyclass(name = "TableMap", module = "paraply._native", frozen)]
pub struct PyTableMap(TableMap);

#[pymethods]
impl PyTableMap {
    #[getter]
    fn database(&self) -> &str {
        &self.0.name.database
    }

    #[getter]
    fn table(&self) -> &str {
        &self.0.name.table
    }

    #[getter]
    fn columns(&self) -> Vec<PyColumnInfo> {
        self.0.columns.iter().cloned().map(PyColumnInfo).collect()
    }

    /// Indexes of the primary key's columns; empty if the log does not have them.
    #[getter]
    fn primary_key(&self) -> Vec<usize> {
        self.0.primary_key.iter().map(|part| part.column).collect()
    }

    /// Hash that is equal for events with the same content except the table id.
    #[getter]
    fn fingerprint(&self) -> u64 {
        self.0.fingerprint()
    }

    fn __repr__(&self) -> String {
        format!("<TableMap {} of {} columns>", self.0.name, self.0.columns.len())
    }
}

/// Returns the distinct table maps of some transactions.
pub fn table_maps<'a>(transactions: impl Iterator<Item = &'a Transaction>) -> PyResult<Vec<PyTableMap>> {
    let mut seen = HashSet::new();
    let mut maps = Vec::new();
    for transaction in transactions {
        for event in transaction.events.iter().filter(|event| event.type_code == TABLE_MAP) {
            let bytes = transaction.data.get(event.range.clone()).unwrap_or_default();
            let map = TableMap::parse(bytes, &transaction.format).map_err(|error| {
                let place = Where { position: Some(event.offset), ..Where::default() };
                raise(Cause::LogDamaged, &error.to_string(), &place)
            })?;
            if seen.insert(map.fingerprint()) {
                maps.push(PyTableMap(map));
            }
        }
    }
    Ok(maps)
}

/// Returns the tables that a transaction writes to, as `database.table`, in order of first appearance.
pub fn table_names(transaction: &Transaction) -> PyResult<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for map in table_maps(std::iter::once(transaction))? {
        let name = map.0.name.to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

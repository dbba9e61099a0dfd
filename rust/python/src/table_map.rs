//! Table maps: the definitions of the source's tables when their rows were written.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use paraply_binlog::table_map::{MappedColumn, TableMap};
use paraply_binlog::transaction::{Kind, Transaction};
use pyo3::prelude::*;

use crate::block::PyBlock;
use crate::errors::{Where, raise};

/// The type code of a table-map event.
const TABLE_MAP_EVENT: u8 = 19;
/// Bytes of its header and of the table's number.
const BEHIND_NUMBER: usize = 19 + 6;

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

    #[getter]
    fn fingerprint(&self) -> u64 {
        self.0.fingerprint()
    }

    fn __repr__(&self) -> String {
        format!("<TableMap {} of {} columns>", self.0.name, self.0.columns.len())
    }
}

/// Table maps that were checked already, so that blocks with only these are not parsed again.
#[pyclass(name = "KnownTables", module = "paraply._native", frozen)]
pub struct PyKnownTables(Mutex<HashSet<Vec<u8>>>);

#[pymethods]
impl PyKnownTables {
    #[new]
    fn new() -> Self {
        Self(Mutex::default())
    }

    fn add(&self, block: &PyBlock) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.extend(block.block.transactions().flat_map(maps_of).map(<[u8]>::to_vec));
    }

    fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Returns the number of blocks, from the first one on, that have rows and only known tables.
    #[allow(clippy::needless_pass_by_value)] // taken over from Python
    fn leading(&self, blocks: Vec<Bound<'_, PyBlock>>) -> usize {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |block: &&Bound<'_, PyBlock>| {
            let block = &block.get().block;
            block.kind() == Kind::Dml && block.transactions().flat_map(maps_of).all(|map| known.contains(map))
        };
        blocks.iter().take_while(fits).count()
    }
}

/// Iterates over the table maps of a transaction, without their table numbers.
fn maps_of(transaction: &Transaction) -> impl Iterator<Item = &[u8]> {
    let maps = transaction.events.iter().filter(|event| event.type_code == TABLE_MAP_EVENT);
    maps.map(|event| {
        transaction.data.get(event.range.clone()).and_then(|bytes| bytes.get(BEHIND_NUMBER..)).unwrap_or_default()
    })
}

/// Returns the distinct table maps of some transactions.
pub fn table_maps<'a>(
    py: Python<'_>,
    transactions: impl Iterator<Item = &'a Transaction>,
) -> PyResult<Vec<PyTableMap>> {
    let mut seen = HashSet::new();
    let mut maps = Vec::new();
    for transaction in transactions {
        for event in transaction.events.iter().filter(|event| event.type_code == TABLE_MAP_EVENT) {
            let bytes = transaction.data.get(event.range.clone()).unwrap_or_default();
            let map = TableMap::parse(bytes, &transaction.format).map_err(|error| {
                let place = Where { position: Some(event.offset), ..Where::default() };
                raise(py, "LogDamaged", &error.to_string(), &place)
            })?;
            if seen.insert(map.fingerprint()) {
                maps.push(PyTableMap(map));
            }
        }
    }
    Ok(maps)
}

/// Returns the tables that a transaction writes to, as `database.table`, in order of first appearance.
pub fn table_names(py: Python<'_>, transaction: &Transaction) -> PyResult<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for map in table_maps(py, std::iter::once(transaction))? {
        let name = map.0.name.to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

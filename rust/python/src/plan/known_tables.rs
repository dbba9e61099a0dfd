//! Table maps that were seen already.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use paraply_binlog::event::types::TABLE_MAP;
use paraply_binlog::transaction::{Kind, Transaction};
use pyo3::prelude::*;

use crate::plan::block::PyBlock;

/// Bytes of a table map's header and of the table's number.
const BEHIND_NUMBER: usize = 19 + 6;

/// Set of checked table maps. Thread-safe.
#[pyclass(name = "KnownTables", module = "paraply._native", frozen)]
pub struct PyKnownTables(Mutex<HashSet<Vec<u8>>>);

#[pymethods]
impl PyKnownTables {
    #[new]
    fn new() -> Self {
        Self(Mutex::default())
    }

    /// Add the table maps of a block.
    fn add(&self, block: &PyBlock) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.extend(block.block.transactions().flat_map(maps_of).map(<[u8]>::to_vec));
    }

    /// Remove all table maps.
    fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Return the number of blocks, from the first one on, that have rows and only known tables.
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
    let maps = transaction.events.iter().filter(|event| event.type_code == TABLE_MAP);
    maps.map(|event| {
        transaction.data.get(event.range.clone()).and_then(|bytes| bytes.get(BEHIND_NUMBER..)).unwrap_or_default()
    })
}

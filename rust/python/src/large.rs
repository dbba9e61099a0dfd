//! The size from which on a transaction counts as large.

use pyo3::prelude::*;

/// Set the bytes of a transaction that are held in memory, and with it the other limits of large transactions; for tests.
///
/// Returns:
///     The number before.
#[pyfunction]
pub fn set_most_in_memory(count: usize) -> usize {
    let before = paraply_spool::most_in_memory();
    paraply_spool::set_most_in_memory(count);
    before
}

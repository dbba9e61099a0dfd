//! The transactions that an apply leaves out by name.

use paraply_binlog::read::skip_list::{Range, SkipList};
use pyo3::prelude::*;

use crate::plan::gtid::PyGtidSet;
use crate::records::MariadbGtidRange;

/// Transactions that are left out by name.
///
/// Args:
///     gtids: A GTID set.
///     ranges: Single GTIDs of MariaDB, as domain, server, first and last sequence number.
#[pyclass(name = "SkipList", module = "paraply._native", frozen)]
pub struct PySkipList(pub SkipList);

#[pymethods]
impl PySkipList {
    #[new]
    #[pyo3(signature = (gtids, ranges=Vec::new()))]
    fn new(gtids: &PyGtidSet, ranges: Vec<Range>) -> Self {
        Self(SkipList::new(gtids.snapshot(), ranges))
    }

    /// The GTID set.
    #[getter]
    fn gtids(&self) -> PyGtidSet {
        self.0.gtids().clone().into()
    }

    /// The ranges of MariaDB's GTIDs.
    #[getter]
    fn ranges(&self) -> Vec<MariadbGtidRange> {
        let named = |(domain, server_id, first, last)| MariadbGtidRange { domain, server_id, first, last };
        self.0.ranges().into_iter().map(named).collect()
    }
}

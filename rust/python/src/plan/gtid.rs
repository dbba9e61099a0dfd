//! `GtidSet`.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use paraply_core::gtid::{Gtid, GtidError, GtidSet, Origin};
use pyo3::basic::CompareOp;
use pyo3::prelude::*;

use crate::errors::usage;

/// Set of GTIDs, MySQL's (``uuid[:tag]:1-5``) or MariaDB's (``domain-server-sequence``).
///
/// A set can be iterated (each GTID, in the order of its text), compared (``<=`` is "subset of"), and combined by ``|``, ``&`` and ``-``.
///
/// Args:
///     text: The set as text; empty for an empty set.
///
/// Raises:
///     UsageError: The text is no GTID set.
///
/// >>> executed = GtidSet("3e11fa47-71ca-11e1-9e33-c80aa9429562:1-3:7")
/// >>> len(executed), "3e11fa47-71ca-11e1-9e33-c80aa9429562:2" in executed
/// (4, True)
/// >>> [gtid[-2:] for gtid in executed]
/// [':1', ':2', ':3', ':7']
/// >>> str(executed - GtidSet("3e11fa47-71ca-11e1-9e33-c80aa9429562:2-9"))
/// '3e11fa47-71ca-11e1-9e33-c80aa9429562:1'
#[pyclass(name = "GtidSet", module = "paraply._native", frozen)]
pub struct PyGtidSet {
    set: Mutex<GtidSet>,
}

impl From<GtidSet> for PyGtidSet {
    fn from(set: GtidSet) -> Self {
        Self { set: Mutex::new(set) }
    }
}

impl PyGtidSet {
    /// Returns a copy of the set.
    pub fn snapshot(&self) -> GtidSet {
        self.read(GtidSet::clone)
    }

    fn read<T>(&self, look: impl FnOnce(&GtidSet) -> T) -> T {
        look(&self.set.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Parses one GTID; raises `UsageError` for a bad one.
pub fn parse_gtid(text: &str) -> PyResult<Gtid> {
    text.parse().map_err(|error: GtidError| usage(&error.to_string()))
}

#[pymethods]
impl PyGtidSet {
    #[new]
    #[pyo3(signature = (text=""))]
    fn new(text: &str) -> PyResult<Self> {
        let set: GtidSet = text.parse().map_err(|error: GtidError| usage(&error.to_string()))?;
        Ok(set.into())
    }

    fn __contains__(&self, gtid: &str) -> PyResult<bool> {
        let gtid = parse_gtid(gtid)?;
        Ok(self.read(|set| set.contains(&gtid)))
    }

    fn __or__(&self, other: &Self) -> Self {
        let other = other.snapshot();
        self.read(|set| set.union(&other)).into()
    }

    fn __and__(&self, other: &Self) -> Self {
        let other = other.snapshot();
        self.read(|set| set.intersection(&other)).into()
    }

    fn __sub__(&self, other: &Self) -> Self {
        let other = other.snapshot();
        self.read(|set| set.difference(&other)).into()
    }

    fn __richcmp__(&self, other: &Self, operator: CompareOp) -> bool {
        let other = other.snapshot();
        self.read(|set| match operator {
            CompareOp::Eq => *set == other,
            CompareOp::Ne => *set != other,
            CompareOp::Le => other.contains_set(set),
            CompareOp::Lt => other.strictly_contains_set(set),
            CompareOp::Ge => set.contains_set(&other),
            CompareOp::Gt => set.strictly_contains_set(&other),
        })
    }

    fn __bool__(&self) -> bool {
        !self.read(GtidSet::is_empty)
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.read(GtidSet::count)).unwrap_or(usize::MAX)
    }

    fn __iter__(&self) -> PyGtidIterator {
        PyGtidIterator { left: self.read(|set| set.iter().collect::<Vec<_>>()).into() }
    }

    fn __str__(&self) -> String {
        self.read(ToString::to_string)
    }

    fn __repr__(&self) -> String {
        format!("GtidSet('{}')", self.__str__())
    }

    /// Add one GTID.
    ///
    /// Raises:
    ///     UsageError: The text is no GTID.
    fn add(&self, gtid: &str) -> PyResult<()> {
        let gtid = parse_gtid(gtid)?;
        self.set.lock().unwrap_or_else(PoisonError::into_inner).add(&gtid);
        Ok(())
    }

    /// Add all GTIDs of another set.
    fn update(&self, other: &Self) {
        let other = other.snapshot();
        self.set.lock().unwrap_or_else(PoisonError::into_inner).extend(&other);
    }

    /// Return a copy; changes of one do not change the other.
    fn copy(&self) -> Self {
        self.snapshot().into()
    }
}

/// Iterator over the GTIDs of a set, by origin and number; changes of the set after its begin do not count.
#[pyclass(module = "paraply._native")]
pub struct PyGtidIterator {
    left: VecDeque<(Origin, u64, u64)>,
}

#[pymethods]
impl PyGtidIterator {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&mut self) -> Option<String> {
        let (origin, first, last) = self.left.pop_front()?;
        if first < last {
            self.left.push_front((origin.clone(), first + 1, last));
        }
        Some(Gtid { origin, number: first }.to_string())
    }
}

//! Condition at which reading of a log ends.

use paraply_binlog::read::stop::StopPoint;
use pyo3::prelude::*;

use crate::plan::gtid::{PyGtidSet, parse_gtid};

/// Condition at which a ``LogReader`` ends; of several the first one that is met in the log counts.
///
/// Args:
///     time: End before the first transaction whose commit time is not earlier, microseconds since 1970, UTC.
///     before: End before this GTID.
///     after: End after this GTID.
///     view_change: End after a view change of a group that is not in this set.
///     position: End before the first transaction that does not begin before this place: base name of a file, and offset. In a relay log
///         that is still written it is a place of the source's log.
///
/// Raises:
///     UsageError: A text is no GTID.
#[pyclass(name = "StopCondition", module = "paraply._native", frozen)]
pub struct PyStopCondition(StopPoint);

#[pymethods]
impl PyStopCondition {
    #[new]
    #[pyo3(signature = (*, time=None, before=None, after=None, view_change=None, position=None))]
    fn new(
        time: Option<i64>,
        before: Option<&str>,
        after: Option<&str>,
        view_change: Option<&PyGtidSet>,
        position: Option<(String, u64)>,
    ) -> PyResult<Self> {
        let gtid = |text: Option<&str>| text.map(parse_gtid).transpose();
        let (before, after) = (gtid(before)?, gtid(after)?);
        Ok(Self(StopPoint { time, before, after, view_change: view_change.map(PyGtidSet::snapshot), position }))
    }

    #[getter]
    fn time(&self) -> Option<i64> {
        self.0.time
    }
}

/// Returns the point of a condition; without one, the log's end.
pub fn stop_point(condition: Option<&PyStopCondition>) -> StopPoint {
    condition.map_or_else(StopPoint::default, |condition| condition.0.clone())
}

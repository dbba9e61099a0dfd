//! CPU time of the stages of an apply.

use std::collections::HashMap;
use std::time::Duration;

use paraply_binlog::cpu::{STAGES, spend, spent};
use pyo3::prelude::*;

use crate::errors::usage;

/// Return the CPU seconds that this process has spent so far in each stage of an apply, over all its threads.
///
/// The stages are ``read``, ``decode``, ``hash``, ``plan``, ``render`` and ``send``; each counts by itself, with what was added by
/// ``spend_cpu``.
#[pyfunction]
pub fn stage_cpu() -> HashMap<&'static str, f64> {
    STAGES.iter().map(|(stage, name)| (*name, Duration::from_nanos(spent(*stage)).as_secs_f64())).collect()
}

/// Add CPU seconds to a stage of ``stage_cpu``. Any thread may call it.
///
/// Raises:
///     UsageError: There is no such stage, or the seconds are negative.
#[pyfunction]
pub fn spend_cpu(stage: &str, seconds: f64) -> PyResult<()> {
    let found = STAGES.iter().find(|(_, name)| *name == stage);
    let (stage, _) = found.ok_or_else(|| usage(&format!("there is no stage `{stage}`")))?;
    let time = Duration::try_from_secs_f64(seconds).map_err(|_| usage("CPU time is a positive number of seconds"))?;
    spend(*stage, u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    Ok(())
}

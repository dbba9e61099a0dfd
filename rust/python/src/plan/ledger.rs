//! `Ledger`: the acknowledged GTIDs, for the sessions' rows of progress.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use paraply_plan::ledger::{Entry, GapLedger, Ledger, MOST_PIECES, Range, Ranges};
use pyo3::prelude::*;

use crate::plan::block::PyBlock;
use crate::plan::gtid::PyGtidSet;
use crate::records::{NumberRange, RaisedPosition};

/// Acknowledged GTIDs, and the text of a session's row about them; see ``paraply.targets.progress.gtid_ledger``.
///
/// Args:
///     executed: GTIDs committed at the start.
///     low: Part without a gap before it, if MariaDB's numbers may have gaps; None if a set's text is complete.
///     beyond: Numbers after a gap: first, last, and the server of the last, by domain.
///     most_pieces: Most pieces after a gap in one row before it takes over those of all rows.
#[pyclass(name = "Ledger", module = "paraply._native", frozen)]
pub struct PyLedger(Mutex<Ledger>);

impl PyLedger {
    /// Locks the ledger, for a moment; the holder of the lock needs no interpreter.
    pub fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyLedger {
    #[new]
    #[pyo3(signature = (executed, *, low=None, beyond=None, most_pieces=None))]
    fn new(
        executed: &PyGtidSet,
        low: Option<&PyGtidSet>,
        beyond: Option<HashMap<u32, Vec<Range>>>,
        most_pieces: Option<usize>,
    ) -> Self {
        let executed = executed.snapshot();
        Self(Mutex::new(match low {
            None => Ledger::Sets(executed),
            Some(low) => {
                let beyond = Ranges::from_domains(beyond.unwrap_or_default());
                let pieces = most_pieces.unwrap_or(MOST_PIECES);
                Ledger::Gaps(Box::new(GapLedger::new(executed, low.snapshot(), beyond, pieces)))
            }
        }))
    }

    /// Return the texts to write in transactions that a session commits one after the other; each includes the earlier ones.
    #[pyo3(signature = (blocks, slot=None))]
    #[allow(clippy::needless_pass_by_value)] // taken over from Python
    fn texts(&self, blocks: Vec<Bound<'_, PyAny>>, slot: Option<i64>) -> PyResult<Vec<String>> {
        let entries = entries(&blocks)?;
        Ok(self.lock().texts(&entries, slot))
    }

    /// Note that the commits of blocks were acknowledged.
    #[pyo3(signature = (blocks, slot=None))]
    #[allow(clippy::needless_pass_by_value)] // taken over from Python
    fn acknowledge(&self, blocks: Vec<Bound<'_, PyAny>>, slot: Option<i64>) -> PyResult<()> {
        let entries = entries(&blocks)?;
        self.lock().acknowledge(entries, slot);
        Ok(())
    }

    /// Return the acknowledged GTIDs.
    fn executed(&self) -> PyGtidSet {
        self.lock().executed().clone().into()
    }
}

/// Raise a position of MariaDB's GTIDs by the numbers that follow it without a gap; return it, and the ranges after the gap.
#[pyfunction]
pub fn raise_position(low: &PyGtidSet, numbers: HashMap<u32, Vec<Range>>) -> RaisedPosition {
    let mut low = low.snapshot();
    let ahead = Ranges::from_domains(numbers).raise(&mut low);
    let named = |(first, last, server_id)| NumberRange { first, last, server_id };
    let beyond = ahead.into_domains().into_iter();
    let beyond = beyond.map(|(domain, ranges)| (domain, ranges.into_iter().map(named).collect())).collect();
    RaisedPosition { low: low.into(), beyond }
}

/// Return the text of a position and of the numbers committed after it; it is JSON if there are such numbers.
#[pyfunction]
pub fn progress_text(low: &PyGtidSet, beyond: HashMap<u32, Vec<Range>>) -> String {
    Ranges::from_domains(beyond).write(&low.snapshot().to_string())
}

fn entries(blocks: &[Bound<'_, PyAny>]) -> PyResult<Vec<Entry>> {
    blocks.iter().map(entry).collect()
}

/// Returns the entry of a `Block`, or of any object with the same attributes.
fn entry(block: &Bound<'_, PyAny>) -> PyResult<Entry> {
    if let Ok(block) = block.cast::<PyBlock>() {
        return Ok(Entry::from(&block.get().block));
    }
    let number = |name| block.getattr(name)?.extract::<u64>();
    let ordinal = number("ordinal")?;
    let numbers: Vec<(u32, u64, u32)> = block.getattr("numbers")?.extract()?;
    Ok(Entry {
        begin: ordinal.saturating_sub(number("transaction_count")? + number("skipped")?),
        ordinal,
        gtids: block.getattr("gtids")?.cast::<PyGtidSet>()?.get().snapshot(),
        numbers: Ranges::of(numbers),
    })
}

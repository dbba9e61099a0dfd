//! Statements for rows, and checks of foreign keys, as Python sees them.

use std::collections::HashSet;

use paraply_binlog::rows::row_statement::RowStatement;
use paraply_mysql::row_statement::KeyCheck;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Statement that changes rows, and must affect as many as it has keys.
///
/// Attributes:
///     kind: ``insert``, ``update`` or ``delete``.
///     table: The source's table.
///     sql: The text.
///     keys: The key of each row.
///     conditions: The condition of each row, if it changes several without ``fill``.
///     fill: Statement that puts the rows into a table of the session first; None if the text holds them.
///     clear: Statement that empties that table again.
///     search: Query for the number of the first row that ``sql`` would not find.
#[pyclass(name = "RowStatement", module = "paraply._native", frozen, get_all)]
pub struct PyRowStatement {
    kind: &'static str,
    table: String,
    sql: Py<PyBytes>,
    keys: Vec<String>,
    conditions: Vec<Py<PyBytes>>,
    fill: Option<Py<PyBytes>>,
    clear: Option<String>,
    search: Option<String>,
}

/// Query for values of a foreign key that have no parent.
///
/// Attributes:
///     child: The child table.
///     parent: The parent table.
///     sql: The text. It returns a row if the foreign key is broken.
#[pyclass(name = "KeyCheck", module = "paraply._native", frozen, get_all)]
pub struct PyKeyCheck {
    child: String,
    parent: String,
    sql: Py<PyBytes>,
}

impl PyRowStatement {
    /// Returns a statement for Python.
    pub fn of(py: Python<'_>, statement: RowStatement) -> Self {
        let bytes = |text: &[u8]| PyBytes::new(py, text).unbind();
        let staged = statement.staged.as_ref();
        Self {
            kind: statement.kind.name(),
            table: statement.table.to_string(),
            sql: bytes(&statement.sql()),
            conditions: statement.conditions().iter().map(|condition| bytes(condition)).collect(),
            fill: staged.map(|staged| bytes(&staged.fill)),
            clear: staged.map(|staged| staged.clear.clone()),
            search: staged.map(|staged| staged.search.clone()),
            keys: statement.keys,
        }
    }
}

impl PyKeyCheck {
    /// Returns a check for Python.
    pub fn of(py: Python<'_>, check: &KeyCheck, sql: &[u8]) -> Self {
        Self { child: check.child.to_string(), parent: check.parent.to_string(), sql: PyBytes::new(py, sql).unbind() }
    }
}

/// Most values of one check, and most values whose repetitions are found.
const MOST_CHECKED: usize = 1000;
const MOST_REMEMBERED: usize = 1 << 18;

/// Values for which foreign keys are checked after all changes.
#[derive(Default)]
pub struct Checks {
    found: Vec<(KeyCheck, Vec<Vec<u8>>)>,
    seen: HashSet<(usize, Vec<u8>)>,
}

impl Checks {
    /// Adds values, unless they were added lately.
    pub fn add(&mut self, check: &KeyCheck, values: Vec<u8>) {
        let place = self.found.iter().position(|(known, _)| known.query == check.query).unwrap_or_else(|| {
            self.found.push((check.clone(), Vec::new()));
            self.found.len() - 1
        });
        if self.seen.len() >= MOST_REMEMBERED {
            self.seen.clear();
        }
        if let Some((_, all)) = self.found.get_mut(place)
            && self.seen.insert((place, values.clone()))
        {
            all.push(values);
        }
    }

    /// Returns the checks with enough values, or all.
    pub fn take(&mut self, all: bool) -> Vec<(KeyCheck, Vec<u8>)> {
        let fewest = if all { 1 } else { MOST_CHECKED };
        let mut taken = Vec::new();
        for (check, values) in &mut self.found {
            while values.len() >= fewest {
                let some: Vec<Vec<u8>> = values.drain(..values.len().min(MOST_CHECKED)).collect();
                let (begin, end) = &check.query;
                taken.push((check.clone(), [begin.as_bytes(), &some.join(&b","[..]), end.as_bytes()].concat()));
            }
        }
        taken
    }
}

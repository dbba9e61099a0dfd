//! Events written by a group's members.

use paraply_binlog::write::encode::{
    Collations, EncodeError, Head, RowChange, rows, statement, transaction, view_change,
};
use paraply_core::schema::{Table, TableName};
use paraply_core::value::Value;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::usage;
use crate::plan::gtid::parse_gtid;
use crate::rows::catalog::PyCatalog;
use crate::rows::row_values::{OwnedValue, values_of};

type Change<'py> = (String, String, Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>);

/// Header of a transaction, as Python passes it: GTID, numbers, server, session, time.
type Front = (String, i64, i64, u32, u32, u64);

fn head(front: &Front) -> PyResult<Head> {
    let (gtid, last_committed, sequence_number, server_id, session, committed_at) = front;
    Ok(Head {
        gtid: parse_gtid(gtid)?,
        last_committed: *last_committed,
        sequence_number: *sequence_number,
        server_id: *server_id,
        session: *session,
        committed_at: *committed_at,
    })
}

fn joined(py: Python<'_>, events: Result<Vec<Vec<u8>>, EncodeError>) -> PyResult<Bound<'_, PyBytes>> {
    let events = events.map_err(|error| usage(&error.to_string()))?;
    Ok(PyBytes::new(py, &events.concat()))
}

/// Return table maps and row events: the inner part of a transaction, which is the same in every log.
///
/// Args:
///     catalog: The tables.
///     collations: Numbers of the collations of their text columns.
///     server_id: Server id of the member where the transaction began.
///     committed_at: Commit time at that member, microseconds since 1970, UTC.
///     changes: Database, table, row before and row after, with all columns.
///
/// Raises:
///     UsageError: A table is unknown, a type cannot be written, or a value does not fit.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // taken over from Python
pub fn encode_rows<'py>(
    py: Python<'py>,
    catalog: &PyCatalog,
    collations: Collations,
    server_id: u32,
    committed_at: u64,
    changes: Vec<Change<'py>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let catalog = catalog.snapshot();
    let mut owned = Vec::with_capacity(changes.len());
    for (database, table, before, after) in changes {
        let name = TableName::new(database, table);
        let table = catalog.get(&name).ok_or_else(|| usage(&format!("the table {name} is not defined")))?;
        let image = |image: Option<Bound<'py, PyAny>>| image.map(|image| values_of(&image, table)).transpose();
        owned.push((table, image(before)?, image(after)?));
    }
    let mut all = Vec::with_capacity(owned.len());
    for (table, before, after) in &owned {
        let before = borrowed(table, before.as_deref())?;
        all.push(RowChange { table, before, after: borrowed(table, after.as_deref())? });
    }
    let bytes = rows(&collations, server_id, committed_at, &all).map_err(|error| usage(&error.to_string()))?;
    Ok(PyBytes::new(py, &bytes))
}

/// Return the events of a transaction of rows, joined, without checksums and positions.
///
/// Args:
///     front: GTID, last_committed, sequence_number, server id, session, commit time in microseconds since 1970, UTC.
///     rows: Result of ``encode_rows`` or ``Transaction.row_events``.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // taken over from Python
pub fn encode_transaction<'py>(py: Python<'py>, front: Front, rows: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    joined(py, transaction(&head(&front)?, rows))
}

/// Return the events of a DDL statement.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // taken over from Python
pub fn encode_statement<'py>(
    py: Python<'py>,
    front: Front,
    database: &str,
    sql: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    joined(py, statement(&head(&front)?, database, sql))
}

/// Return the events of a view change.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // taken over from Python
pub fn encode_view_change<'py>(
    py: Python<'py>,
    front: Front,
    view_id: &str,
    number: u64,
) -> PyResult<Bound<'py, PyBytes>> {
    joined(py, view_change(&head(&front)?, view_id, number))
}

fn borrowed<'a>(table: &Table, image: Option<&'a [Option<OwnedValue>]>) -> PyResult<Option<Vec<Value<'a>>>> {
    let Some(image) = image else { return Ok(None) };
    let whole = image.iter().map(|value| value.as_ref().map(OwnedValue::borrow)).collect::<Option<Vec<_>>>();
    whole.map(Some).ok_or_else(|| usage(&format!("a row of {} that is logged needs all its columns", table.name)))
}

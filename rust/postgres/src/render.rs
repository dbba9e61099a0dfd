//! Row changes as DML statements, each with the number of rows that it must affect (R32).

use std::sync::Arc;

use paraply_core::schema::TableName;
use paraply_core::value::{Value, is_same_at};

pub use super::conditions::Image;
use super::conditions::{not_storable, usable_key, where_key, where_row, write_key, write_value};
pub use super::error::RenderError;
use super::json;
use super::json_patch;
use super::literal::json_text;
use super::mapping::{ColumnMapping, TableMapping};

/// One changed row.
#[derive(Debug, Clone, Copy)]
pub enum Change<'r, 'v> {
    /// A new row.
    Insert(Image<'r, 'v>),
    /// A row before and after.
    Update {
        /// Image that identifies the row.
        before: Image<'r, 'v>,
        /// Image after the change.
        after: Image<'r, 'v>,
    },
    /// A deleted row.
    Delete(Image<'r, 'v>),
}

/// One statement of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The SQL text, without a semicolon at its end.
    pub sql: Vec<u8>,
    /// Number of rows that it must affect; [`ANY_ROWS`] for a statement that affects none.
    pub rows: u64,
    /// The source table.
    pub table: TableName,
    /// The prepared statement that it executes; none for a statement that is sent as it is.
    pub prepared: Option<Arc<str>>,
}

/// The number of rows of a statement whose number of rows says nothing.
pub const ANY_ROWS: u64 = u64::MAX;

/// Bounds of one statement for several rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Rows of one statement.
    pub rows: u64,
    /// Bytes after which a statement is ended.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { rows: 500, bytes: 256 * 1024 }
    }
}

/// The kind of the current statement.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Run {
    Insert,
    Delete { key: Vec<usize> },
}

#[derive(Debug)]
struct OpenRun {
    table: Arc<TableMapping>,
    run: Run,
    sql: Vec<u8>,
    rows: u64,
}

/// Turns row changes, pushed in order, into statements.
///
/// Consecutive inserts into one table become one INSERT of several rows, consecutive deletes by one key one DELETE. An
/// update is a statement of its own: the next change may depend on its outcome.
#[derive(Debug, Default)]
pub struct StatementWriter {
    limits: Limits,
    open: Option<OpenRun>,
    done: Vec<Statement>,
}

impl StatementWriter {
    /// Creates a writer with the given bounds.
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Adds one row's change.
    pub fn push(&mut self, table: &Arc<TableMapping>, change: Change<'_, '_>) -> Result<(), RenderError> {
        match change {
            Change::Insert(after) => self.insert(table, after),
            Change::Delete(before) => self.delete(table, before),
            Change::Update { before, after } => self.update(table, before, after),
        }
    }

    /// Returns the statements in order.
    pub fn finish(mut self) -> Vec<Statement> {
        self.close();
        self.done
    }

    fn close(&mut self) {
        if let Some(OpenRun { table, run, mut sql, rows }) = self.open.take() {
            if matches!(run, Run::Delete { .. }) {
                sql.push(b')');
            }
            self.done.push(Statement { sql, rows, table: table.source.clone(), prepared: None });
        }
    }

    fn single(&mut self, table: &TableMapping, sql: Vec<u8>) {
        self.close();
        self.done.push(Statement { sql, rows: 1, table: table.source.clone(), prepared: None });
    }

    /// Returns the current statement if the run fits it, else a new one that begins with `head`.
    fn run(&mut self, table: &Arc<TableMapping>, run: Run, head: impl FnOnce() -> Vec<u8>) -> &mut Vec<u8> {
        let Limits { rows, bytes } = self.limits;
        let fits = |open: &OpenRun| {
            (Arc::ptr_eq(&open.table, table) || open.table == *table)
                && open.run == run
                && open.rows < rows
                && open.sql.len() < bytes
        };
        if !self.open.as_ref().is_some_and(fits) {
            self.close();
        }
        let open = self.open.get_or_insert_with(|| OpenRun { table: Arc::clone(table), run, sql: head(), rows: 0 });
        if open.rows > 0 {
            open.sql.push(b',');
        }
        open.rows += 1;
        &mut open.sql
    }

    fn insert(&mut self, table: &Arc<TableMapping>, after: Image<'_, '_>) -> Result<(), RenderError> {
        check_count(table, after)?;
        let mut row = Vec::with_capacity(64);
        for (i, (column, value)) in table.columns.iter().zip(after).enumerate() {
            let value = value.as_ref().ok_or_else(|| missing(table, column))?;
            row.push(if i == 0 { b'(' } else { b',' });
            write_value(&mut row, table, column, value, after)?;
        }
        row.push(b')');
        self.run(table, Run::Insert, || insert_head(table)).extend_from_slice(&row);
        Ok(())
    }

    fn delete(&mut self, table: &Arc<TableMapping>, before: Image<'_, '_>) -> Result<(), RenderError> {
        check_count(table, before)?;
        let Some(key) = usable_key(table, before) else {
            let mut sql = format!("DELETE FROM {}", table.target()).into_bytes();
            where_row(&mut sql, table, before)?;
            self.single(table, sql);
            return Ok(());
        };
        if table.is_alone || table.keys.first().map(Vec::as_slice) != Some(key) {
            let mut sql = format!("DELETE FROM {}", table.target()).into_bytes();
            where_key(&mut sql, table, key, before)?;
            self.single(table, sql);
            return Ok(());
        }
        let mut row = Vec::with_capacity(32);
        write_key(&mut row, table, key, before)?;
        self.run(table, Run::Delete { key: key.to_vec() }, || delete_head(table, key)).extend_from_slice(&row);
        Ok(())
    }

    fn update(
        &mut self,
        table: &Arc<TableMapping>,
        before: Image<'_, '_>,
        after: Image<'_, '_>,
    ) -> Result<(), RenderError> {
        check_count(table, before)?;
        check_count(table, after)?;
        let key = usable_key(table, before);
        let mut sql = format!("UPDATE {}", table.target()).into_bytes();
        let conditions = write_set(&mut sql, table, key.unwrap_or_default(), before, after)?;
        match key {
            Some(key) => where_key(&mut sql, table, key, before)?,
            None => where_row(&mut sql, table, before)?,
        }
        for condition in conditions {
            sql.extend_from_slice(b" AND ");
            sql.extend_from_slice(&condition);
        }
        self.single(table, sql);
        Ok(())
    }
}

/// Refuses a change that the source carried on to other tables without logging it.
///
/// # Errors
/// [`RenderError::UnloggedCascade`]
pub(super) fn check_cascades(table: &TableMapping, change: Change<'_, '_>) -> Result<(), RenderError> {
    let cascades = match change {
        Change::Insert(_) => false,
        Change::Delete(_) => table.cascades_delete,
        Change::Update { before, after } => table
            .cascades_update
            .iter()
            .any(|&i| matches!(after.get(i), Some(Some(value)) if before.get(i) != Some(&Some(*value)))),
    };
    if cascades { Err(RenderError::UnloggedCascade { table: table.source.clone() }) } else { Ok(()) }
}

pub(super) fn check_count(table: &TableMapping, image: Image<'_, '_>) -> Result<(), RenderError> {
    if image.len() == table.columns.len() {
        return Ok(());
    }
    let table_name = table.source.clone();
    Err(RenderError::ColumnCount { table: table_name, log: image.len(), known: table.columns.len() })
}

pub(super) fn missing(table: &TableMapping, column: &ColumnMapping) -> RenderError {
    RenderError::MissingColumn { table: table.source.clone(), column: column.name.clone() }
}

pub(super) fn insert_head(table: &TableMapping) -> Vec<u8> {
    let names: Vec<&str> = table.columns.iter().map(ColumnMapping::quoted).collect();
    format!("INSERT INTO {} ({}) VALUES ", table.target(), names.join(",")).into_bytes()
}

fn delete_head(table: &TableMapping, key: &[usize]) -> Vec<u8> {
    let names: Vec<&str> = key.iter().filter_map(|&i| table.columns.get(i)).map(ColumnMapping::quoted).collect();
    let names = if names.len() == 1 { names.concat() } else { format!("({})", names.join(",")) };
    format!("DELETE FROM {} WHERE {names} IN (", table.target()).into_bytes()
}

/// Returns the columns that an update writes: every column that the after image holds, apart from key columns that stay
/// unchanged.
///
/// A change without an effect still writes its row, so that the row counts.
pub(super) fn written_columns(key: &[usize], before: Image<'_, '_>, after: Image<'_, '_>) -> Vec<usize> {
    let stays = |i: usize| key.contains(&i) && is_same_at(before, after, i);
    let holds = |i: usize| match after.get(i) {
        // Without differences, a document stays as it is; MINIMAL images leave out the one before it.
        Some(Some(Value::JsonDiff(differences))) => !differences.is_empty() || matches!(before.get(i), Some(Some(_))),
        value => matches!(value, Some(Some(_))),
    };
    let held = || (0..after.len()).filter(|&i| holds(i));
    let chosen: Vec<usize> = held().filter(|&i| !stays(i)).collect();
    if chosen.is_empty() { held().collect() } else { chosen }
}

/// Appends the SET list of [`written_columns`]. Returns further conditions on the row.
pub(super) fn write_set(
    out: &mut Vec<u8>,
    table: &TableMapping,
    key: &[usize],
    before: Image<'_, '_>,
    after: Image<'_, '_>,
) -> Result<Vec<Vec<u8>>, RenderError> {
    let chosen = written_columns(key, before, after);
    let mut conditions = Vec::new();
    if chosen.is_empty() {
        let first = table.columns.first().map_or("ctid", ColumnMapping::quoted);
        out.extend_from_slice(format!(" SET {first}={first}").as_bytes());
    }
    for (n, &i) in chosen.iter().enumerate() {
        let (Some(column), Some(Some(value))) = (table.columns.get(i), after.get(i)) else { continue };
        out.extend_from_slice(if n == 0 { b" SET " } else { b"," });
        out.extend_from_slice(column.quoted().as_bytes());
        out.push(b'=');
        match value {
            Value::JsonDiff(diff) => conditions.extend(write_patched(out, table, column, diff, before.get(i), before)?),
            value => write_value(out, table, column, value, after)?,
        }
    }
    Ok(conditions)
}

/// Appends a document after a sequence of differences; without the document before them, as an expression on the stored one.
fn write_patched(
    out: &mut Vec<u8>,
    table: &TableMapping,
    column: &ColumnMapping,
    differences: &[u8],
    before: Option<&Option<Value<'_>>>,
    image: Image<'_, '_>,
) -> Result<Vec<Vec<u8>>, RenderError> {
    let refused = |reason| not_storable(table, column, image, reason);
    if let Some(Some(Value::Json(document))) = before {
        let text = json::patched_text(document, differences).map_err(refused)?;
        json_text(out, &text).map_err(refused)?;
        return Ok(Vec::new());
    }
    let patch =
        json_patch::patch(column.quoted(), differences).map_err(refused)?.ok_or_else(|| missing(table, column))?;
    out.extend_from_slice(&patch.value);
    Ok(patch.conditions)
}

#[cfg(test)]
mod tests;

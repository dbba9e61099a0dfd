//! Row changes of transactions as SQL statements.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paraply_arrow::batch::{Batch, file_name, gtid_text};
use paraply_binlog::rows::filter::TableFilter;
use paraply_binlog::rows::known_tables::{KnownTable, KnownTables};
use paraply_binlog::rows::row_statement::staged::ordered_columns;
use paraply_binlog::rows::row_statement::{RowStatement, RowStatements};
use paraply_binlog::rows::row_walk::RowPlan;
use paraply_binlog::rows::step_rows::{StepRow, cascading_keys, step_rows};
use paraply_binlog::transaction::Transaction;
use paraply_core::schema::{Catalog, TableName};
use paraply_mysql::row_statement::StatementTable;
use paraply_plan::dependents::uses_kept;
use paraply_postgres::Renderer;
use paraply_postgres::exact::{ExactTable, Staging};
use pyo3::prelude::*;

use crate::errors::{Cause, Error, Where};
use crate::log::table_filter::PyTableFilter;
use crate::log::transaction_batch::PyTransactionBatch;
use crate::records::SkippedRow;
use crate::rows::catalog::PyCatalog;
use crate::rows::dependents::PyDependentFinder;
use crate::rows::row_statement::{Checks, PyKeyCheck, PyRowStatement};
use crate::servers::postgres::PyPostgresRenderer;

/// A table in the target's form.
enum Form {
    MySql(StatementTable),
    Postgres(ExactTable),
}

/// Transaction whose rows become statements.
struct Open {
    batch: Batch,
    index: usize,
    catalog: Arc<Catalog>,
    /// Number of row events that are done.
    done: usize,
}

struct State {
    renderer: Option<Arc<Renderer>>,
    backwards: bool,
    filter: TableFilter,
    kept: HashSet<u64>,
    known: KnownTables,
    plan: RowPlan,
    forms: HashMap<usize, Form>,
    version: u64,
    open: Option<Open>,
    skipped: Vec<(String, String)>,
    /// Names of the session's tables for rows, by the table that these rows are in.
    staged: HashMap<TableName, String>,
    checks: Checks,
}

/// Writer of row changes as SQL statements, each with the exact row that it must find.
///
/// Args:
///     backwards: True for the statements that take the changes back, the last change first.
///     postgres: Renderer that knows the tables of a PostgreSQL; None for statements for MySQL and MariaDB.
///     tables: Tables whose rows are written; None for all.
///     kept: Finder whose kept dependents' rows are left as they are.
///     staged: By database and name of a table, the name of the session's table through which many of its rows are changed, as SQL.
#[pyclass(name = "RowStatements", module = "paraply._native", frozen)]
pub struct PyRowStatements {
    state: Mutex<State>,
}

#[pymethods]
impl PyRowStatements {
    #[new]
    #[pyo3(signature = (*, backwards, postgres=None, tables=None, kept=None, staged=None))]
    fn new(
        backwards: bool,
        postgres: Option<&PyPostgresRenderer>,
        tables: Option<&PyTableFilter>,
        kept: Option<&PyDependentFinder>,
        staged: Option<HashMap<(String, String), String>>,
    ) -> Self {
        let staged = staged.unwrap_or_default().into_iter();
        let state = State {
            renderer: postgres.map(PyPostgresRenderer::shared),
            backwards,
            filter: tables.map_or_else(TableFilter::default, |tables| tables.0.clone()),
            kept: kept.map(|finder| finder.lock().kept()).unwrap_or_default(),
            known: KnownTables::default(),
            plan: RowPlan::default(),
            forms: HashMap::new(),
            version: 0,
            open: None,
            skipped: Vec::new(),
            staged: staged.map(|((database, name), stage)| (TableName::new(database, name), stage)).collect(),
            checks: Checks::default(),
        };
        Self { state: Mutex::new(state) }
    }

    /// Begin a transaction of a batch.
    fn begin(&self, batch: &PyTransactionBatch, index: usize, catalog: &PyCatalog) {
        self.lock().open = Some(Open { batch: batch.batch(), index, catalog: catalog.snapshot(), done: 0 });
    }

    /// Return the next statements of the transaction; None after the last one.
    ///
    /// Raises:
    ///     LogDamaged: A row event is damaged.
    ///     SchemaMismatch: The definition of a table is unknown, or is not the log's.
    ///     ApplyFailed: A change cannot be written: an image lacks columns, or a foreign key changed rows that the log does not hold.
    fn next(&self, py: Python<'_>, max_bytes: usize) -> PyResult<Option<Vec<PyRowStatement>>> {
        let statements = py.detach(|| self.lock().next(max_bytes))?;
        Ok(statements
            .map(|statements| statements.into_iter().map(|statement| PyRowStatement::of(py, statement)).collect()))
    }

    /// Return table and key of the rows that kept dependents use, and forget them.
    fn take_skipped(&self) -> Vec<SkippedRow> {
        let skipped = std::mem::take(&mut self.lock().skipped);
        skipped.into_iter().map(|(table, key)| SkippedRow { table, key }).collect()
    }

    /// Return the checks of foreign keys that the statements so far need after the last one, and forget them.
    ///
    /// Args:
    ///     last: True after the last statement; before it, only checks of many values are returned.
    fn take_checks(&self, py: Python<'_>, last: bool) -> Vec<PyKeyCheck> {
        let checks = self.lock().checks.take(last);
        checks.iter().map(|(check, sql)| PyKeyCheck::of(py, check, sql)).collect()
    }
}

impl PyRowStatements {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn next(&mut self, max_bytes: usize) -> Result<Option<Vec<RowStatement>>, Error> {
        let Some(mut open) = self.open.take() else { return Ok(None) };
        let batch = open.batch.clone();
        let Some(transaction) = batch.transactions.get(open.index) else { return Ok(None) };
        let failed = |error: &paraply_binlog::rows::row_walk::RowsError| {
            let error = error.into_log_error(file_name(&batch.files, error.file));
            Error::from(paraply_arrow::Error::Log { error, gtid: gtid_text(transaction) })
        };
        if open.done == 0 {
            if self.version != open.catalog.version() {
                self.forms.clear();
                self.version = open.catalog.version();
            }
            self.plan.prepare(transaction, &open.catalog, &mut self.known).map_err(|error| failed(&error))?;
        }
        let mut statements = RowStatements::default();
        let count = self.plan.len();
        while open.done < count && statements.bytes() < max_bytes {
            let place = if self.backwards { count - 1 - open.done } else { open.done };
            open.done += 1;
            let Some(step) = self.plan.steps().get(place).copied() else { continue };
            let Some(table) = self.known.get(step.table) else { continue };
            let name = table.map.name.clone();
            if !self.filter.chooses(&name.database, &name.table) {
                continue;
            }
            let refuse = |message: String, cause: Cause| {
                let place = Where {
                    file: Some(file_name(&batch.files, transaction.file).to_owned()),
                    position: Some(transaction.offset),
                    gtid: gtid_text(transaction),
                    table: Some(name.to_string()),
                    key: None,
                };
                Error::Of(cause, message, Box::new(place))
            };
            let stage = self.staged.get(&name).map(String::as_str);
            let form = match self.forms.remove(&step.table) {
                Some(form) => form,
                None => form_of(self.renderer.as_deref(), table, &open.catalog, transaction, self.backwards, stage)
                    .map_err(|(message, cause)| refuse(message, cause))?,
            };
            let step_rows = step_rows(transaction, step, &self.known).map_err(|error| failed(&error))?;
            let hides = step_rows.hides_cascades();
            let mut rows = step_rows.rows;
            if self.backwards {
                rows.reverse();
                if hides && rows.iter().any(|row| cascading_keys(&open.catalog, &name).iter().any(|k| k.acts_on(row))) {
                    return Err(refuse(unlogged_cascade(&name), Cause::ApplyFailed));
                }
            }
            for row in rows {
                let format = &transaction.format;
                if !self.kept.is_empty() && uses_kept(&self.kept, table, &open.catalog, format, &row) {
                    self.skipped.push((name.to_string(), form.key_text(&row)));
                    continue;
                }
                let row = if self.backwards { row.reversed() } else { row };
                form.check_keys(&row, &mut self.checks).map_err(|message| refuse(message, Cause::ApplyFailed))?;
                if let Some(statement) = form.statement(&row).map_err(|message| refuse(message, Cause::ApplyFailed))? {
                    statements.push(statement);
                }
            }
            self.forms.insert(step.table, form);
        }
        let ended = open.done >= count;
        let statements = statements.take();
        if !ended || !statements.is_empty() {
            self.open = Some(open);
            return Ok(Some(statements));
        }
        Ok(None)
    }
}

fn unlogged_cascade(table: &TableName) -> String {
    format!(
        "a change of a row of {table} changed rows of other tables through foreign keys (CASCADE or SET NULL), and the log does \
         not hold those; restore the tables from a backup instead"
    )
}

fn form_of(
    renderer: Option<&Renderer>,
    table: &KnownTable,
    catalog: &Catalog,
    transaction: &Transaction,
    reversed: bool,
    stage: Option<&str>,
) -> Result<Form, (String, Cause)> {
    if let (true, Err(reason)) = (reversed, &table.definition) {
        let message = format!("the rows of {} cannot be undone: {}; give --schema", table.map.name, reason.reason());
        return Err((message, Cause::SchemaMismatch));
    }
    if let Err(reason) = &table.definition
        && table.map.columns.iter().any(|column| column.name.is_none())
    {
        let (name, reason) = (&table.map.name, reason.reason());
        let message =
            format!("the log does not name the columns of {name}, and {reason}; give --schema or --schema-from");
        return Err((message, Cause::SchemaMismatch));
    }
    match renderer {
        None => Ok(Form::MySql(StatementTable::of(table, catalog, transaction.format.mariadb, reversed, stage))),
        Some(renderer) => ExactTable::of(renderer, &table.map, &transaction.format, staging(table, catalog, stage))
            .map(Form::Postgres)
            .map_err(|error| (error.to_string(), Cause::SchemaMismatch)),
    }
}

fn staging<'s>(table: &KnownTable, catalog: &Catalog, name: Option<&'s str>) -> Staging<'s> {
    let definition = table.definition.as_deref().ok();
    let ordered = definition.map(|definition| ordered_columns(definition, catalog));
    Staging { name: name.filter(|_| ordered.is_some()), ordered: ordered.unwrap_or_default() }
}

impl Form {
    /// Collects the values for which a change may break foreign keys; `PostgreSQL` checks its own at the end by itself.
    fn check_keys(&self, row: &StepRow<'_>, checks: &mut Checks) -> Result<(), String> {
        let Self::MySql(table) = self else { return Ok(()) };
        for check in table.key_checks() {
            if let Some(values) = table.checked_values(check, row).map_err(|error| error.to_string())? {
                checks.add(check, values);
            }
        }
        Ok(())
    }

    fn statement(&self, row: &StepRow<'_>) -> Result<Option<RowStatement>, String> {
        match self {
            Self::MySql(table) => table.statement(row).map_err(|error| error.to_string()),
            Self::Postgres(table) => table.statement(row).map_err(|error| error.to_string()),
        }
    }

    fn key_text(&self, row: &StepRow<'_>) -> String {
        let image = row.after.as_ref().or(row.before.as_ref());
        match (self, image) {
            (Self::MySql(table), Some(image)) => table.key_text(image),
            (Self::Postgres(table), Some(image)) => table.key_text(image),
            _ => String::new(),
        }
    }
}

//! Row changes of transactions as SQL statements, and the search for dependents of undone transactions.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paraply_arrow::batch::{Batch, file_name, gtid_text};
use paraply_binlog::rows::filter::TableFilter;
use paraply_binlog::rows::known_tables::{KnownTable, KnownTables};
use paraply_binlog::rows::row_statement::{RowStatement, RowStatements};
use paraply_binlog::rows::row_walk::RowPlan;
use paraply_binlog::rows::step_rows::{StepRow, cascading_keys, step_rows};
use paraply_binlog::transaction::Transaction;
use paraply_core::schema::{Catalog, TableName};
use paraply_mysql::row_statement::StatementTable;
use paraply_plan::dependents::{DependentFinder, SearchError, uses_kept};
use paraply_postgres::exact::ExactTable;
use paraply_postgres::render::Renderer;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{Cause, Error, Where};
use crate::log::table_filter::PyTableFilter;
use crate::log::transaction_batch::PyTransactionBatch;
use crate::log::write_sets::PyWriteSets;
use crate::rows::catalog::PyCatalog;
use crate::servers::postgres::PyPostgresRenderer;

/// A statement for Python: kind, table, text, keys, and the conditions of a DELETE of several rows.
type StatementOf<'py> = (&'static str, String, Bound<'py, PyBytes>, Vec<String>, Vec<Bound<'py, PyBytes>>);

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
}

/// Writer of row changes as SQL statements, each with the exact row that it must find.
///
/// Args:
///     backwards: True for the statements that take the changes back, the last change first.
///     postgres: Renderer that knows the tables of a PostgreSQL; None for statements for MySQL and MariaDB.
///     tables: Tables whose rows are written; None for all.
///     kept: Finder whose kept dependents' rows are left as they are.
#[pyclass(name = "RowStatements", module = "paraply._native", frozen)]
pub struct PyRowStatements {
    state: Mutex<State>,
}

#[pymethods]
impl PyRowStatements {
    #[new]
    #[pyo3(signature = (*, backwards, postgres=None, tables=None, kept=None))]
    fn new(
        backwards: bool,
        postgres: Option<&PyPostgresRenderer>,
        tables: Option<&PyTableFilter>,
        kept: Option<&PyDependentFinder>,
    ) -> Self {
        let state = State {
            renderer: postgres.map(PyPostgresRenderer::shared),
            backwards,
            filter: tables.map_or_else(TableFilter::default, |tables| tables.0.clone()),
            kept: kept.map(|finder| finder.lock().kept().clone()).unwrap_or_default(),
            known: KnownTables::default(),
            plan: RowPlan::default(),
            forms: HashMap::new(),
            version: 0,
            open: None,
            skipped: Vec::new(),
        };
        Self { state: Mutex::new(state) }
    }

    /// Begin a transaction of a batch.
    fn begin(&self, batch: &PyTransactionBatch, index: usize, catalog: &PyCatalog) {
        self.lock().open = Some(Open { batch: batch.batch(), index, catalog: catalog.snapshot(), done: 0 });
    }

    /// Return the next statements of the transaction; None after the last one.
    ///
    /// For each: ``insert``, ``update`` or ``delete``; the table; the text; the key of each row, as many as it must affect; the
    /// conditions of its rows, if it deletes several.
    ///
    /// Raises:
    ///     LogDamaged: A row event is damaged.
    ///     SchemaMismatch: The definition of a table is unknown, or is not the log's.
    ///     ApplyFailed: A change cannot be written: an image lacks columns, or a foreign key changed rows that the log does not hold.
    fn next<'py>(&self, py: Python<'py>, max_bytes: usize) -> PyResult<Option<Vec<StatementOf<'py>>>> {
        let statements = py.detach(|| self.lock().next(max_bytes))?;
        Ok(statements.map(|statements| statements.into_iter().map(|statement| for_python(py, statement)).collect()))
    }

    /// Return table and key of the rows that kept dependents use, and forget them.
    fn take_skipped(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.lock().skipped)
    }
}

impl PyRowStatements {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn for_python(py: Python<'_>, statement: RowStatement) -> StatementOf<'_> {
    let sql = PyBytes::new(py, &statement.sql());
    let parts = statement.conditions().iter().map(|part| PyBytes::new(py, part)).collect();
    (statement.kind.name(), statement.table.to_string(), sql, statement.keys, parts)
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
            let form = match self.forms.remove(&step.table) {
                Some(form) => form,
                None => form_of(self.renderer.as_deref(), table, &open.catalog, transaction, self.backwards)
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
) -> Result<Form, (String, Cause)> {
    if let (true, Err(reason)) = (reversed, &table.definition) {
        let message = format!("the rows of {} cannot be undone: {}; give --schema", table.map.name, reason.reason());
        return Err((message, Cause::SchemaMismatch));
    }
    match renderer {
        None => Ok(Form::MySql(StatementTable::of(table, catalog, transaction.format.mariadb))),
        Some(renderer) => ExactTable::of(renderer, &table.map, &transaction.format)
            .map(Form::Postgres)
            .map_err(|error| (error.to_string(), Cause::SchemaMismatch)),
    }
}

impl Form {
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

/// A dependent for Python: its index in the batch, hashes of keys, and true if its keys are not known.
type DependentOf = (usize, Vec<u64>, bool);

/// Finder of the transactions that depend on undone ones (R38).
///
/// Args:
///     tables: Tables whose rows are undone; None for all.
///     keep: True if dependents are not undone, so that nothing depends on them.
#[pyclass(name = "DependentFinder", module = "paraply._native", frozen)]
pub struct PyDependentFinder {
    finder: Mutex<DependentFinder>,
}

#[pymethods]
impl PyDependentFinder {
    #[new]
    #[pyo3(signature = (tables=None, *, keep=false))]
    fn new(tables: Option<&PyTableFilter>, keep: bool) -> Self {
        let filter = tables.map_or_else(TableFilter::default, |tables| tables.0.clone());
        Self { finder: Mutex::new(DependentFinder::new(filter, keep)) }
    }

    /// Look at the next batch; return index, hashes of some common keys, and True if the keys are unknown, of each dependent.
    ///
    /// Args:
    ///     batch: The transactions.
    ///     write_sets: Their write sets of scheme ``fine``.
    ///     catalog: The valid definitions.
    ///     chosen: Indexes of the transactions to undo.
    ///
    /// Raises:
    ///     LogDamaged: A row event is damaged.
    ///     SchemaMismatch: The keys of a table that is undone are unknown.
    #[allow(clippy::needless_pass_by_value)] // taken over from Python
    fn observe(
        &self,
        py: Python<'_>,
        batch: &PyTransactionBatch,
        write_sets: &PyWriteSets,
        catalog: &PyCatalog,
        chosen: HashSet<usize>,
    ) -> PyResult<Vec<DependentOf>> {
        let catalog = catalog.snapshot();
        let found = py.detach(|| self.search(batch, write_sets, &catalog, &chosen))?;
        Ok(found)
    }

    /// Databases and names of the tables that are undone.
    #[getter]
    fn affected(&self) -> Vec<(String, String)> {
        let mut tables: Vec<_> =
            self.lock().affected().map(|name| (name.database.clone(), name.table.clone())).collect();
        tables.sort();
        tables
    }
}

impl PyDependentFinder {
    fn lock(&self) -> MutexGuard<'_, DependentFinder> {
        self.finder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn search(
        &self,
        batch: &PyTransactionBatch,
        write_sets: &PyWriteSets,
        catalog: &Catalog,
        chosen: &HashSet<usize>,
    ) -> Result<Vec<DependentOf>, Error> {
        let mut finder = self.lock();
        let mut found = Vec::new();
        for (index, (transaction, set)) in batch.transactions.iter().zip(&write_sets.sets).enumerate() {
            let answer = finder.observe(transaction, set, catalog, chosen.contains(&index));
            match answer {
                Ok(None) => {}
                Ok(Some((hashes, unknown))) => found.push((index, hashes, unknown)),
                Err(SearchError::Rows(error)) => {
                    let error = error.into_log_error(file_name(&batch.files, error.file));
                    return Err(paraply_arrow::Error::Log { error, gtid: gtid_text(transaction) }.into());
                }
                Err(SearchError::UnknownKeys { table, reason }) => {
                    let place = Where {
                        file: Some(file_name(&batch.files, transaction.file).to_owned()),
                        position: Some(transaction.offset),
                        gtid: gtid_text(transaction),
                        table: Some(table.to_string()),
                        key: None,
                    };
                    let message =
                        format!("nothing of {table} can be undone: {reason}; give its definition with --schema");
                    return Err(Error::Of(Cause::SchemaMismatch, message, Box::new(place)));
                }
            }
        }
        Ok(found)
    }
}

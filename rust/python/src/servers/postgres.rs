//! Row changes as PostgreSQL statements.

use std::sync::Arc;

use paraply_binlog::cpu::{Stage, within};
use paraply_core::generated::Computed;
use paraply_core::schema::TableName;
use paraply_plan::block::Block;
use paraply_postgres::mapping::{ColumnMapping, Kind, MappingError, TableMapping};
use paraply_postgres::{Form, Part, RenderError, Renderer, Statement};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{Cause, Where, raise};
use crate::plan::block::PyBlock;
use crate::rows::catalog::table_from_python;

/// Statement that writes rows into PostgreSQL.
///
/// Attributes:
///     sql: The text.
///     rows: Number of rows that it must affect; -1 for any number.
///     table: The source's table.
///     prepared: Name of the prepared statement that it executes; None for other text.
#[pyclass(name = "RenderedStatement", module = "paraply._native", frozen, get_all)]
pub struct PyRenderedStatement {
    sql: Py<PyBytes>,
    rows: i64,
    table: String,
    prepared: Option<String>,
}

#[pymethods]
impl PyRenderedStatement {
    #[new]
    #[pyo3(signature = (sql, rows, table, prepared=None))]
    fn new(sql: Py<PyBytes>, rows: i64, table: String, prepared: Option<String>) -> Self {
        Self { sql, rows, table, prepared }
    }
}

/// Renderer of the rows of blocks as PostgreSQL DML.
#[pyclass(name = "PostgresRenderer", module = "paraply._native", frozen)]
#[derive(Default)]
pub struct PyPostgresRenderer {
    renderer: Arc<Renderer>,
}

#[pymethods]
impl PyPostgresRenderer {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Set the mapping of a table's columns: the source's definition, and its mapping by ``paraply.targets.postgres.types``.
    fn define(&self, table: &Bound<'_, PyAny>, mapping: &Bound<'_, PyAny>) -> PyResult<()> {
        let source = TableName::new(
            table.getattr("database")?.extract::<String>()?,
            table.getattr("name")?.extract::<String>()?,
        );
        let mut columns = Vec::new();
        for column in mapping.getattr("columns")?.try_iter()? {
            columns.push(column_mapping(&column?, &source)?);
        }
        let schema: String = mapping.getattr("schema")?.extract()?;
        let name: String = mapping.getattr("table")?.extract()?;
        let keys: Vec<Vec<usize>> = mapping.getattr("keys")?.extract()?;
        let mapping_of = mapping;
        let mapping = TableMapping::new(source.clone(), &schema, &name, columns, keys)
            .map_err(|error| mapping_error(&error, &source))?;
        let cascades_delete = mapping_of.getattr("cascades_delete")?.is_truthy()?;
        let cascades_update: Vec<usize> = mapping_of.getattr("cascades_update")?.extract()?;
        let hashed = unique_keys(table)?;
        let definition = table_from_python(table)?;
        let computed = (0..definition.columns.len()).filter_map(|index| Computed::of(&definition, index)).collect();
        let other_keys: Vec<Vec<usize>> = mapping_of.getattr("other_keys")?.extract()?;
        let mapping = mapping.with_cascades(cascades_delete, cascades_update).with_other_keys(other_keys);
        let is_alone = mapping_of.getattr("is_alone")?.is_truthy()?;
        let recomputed: Vec<usize> = mapping_of.getattr("recomputed")?.extract()?;
        let mapping = mapping.with_key_hashes(hashed).with_computed(computed).with_recomputed(recomputed);
        self.renderer.define(mapping.with_alone(is_alone));
        Ok(())
    }

    /// Return the generated columns of a table whose values are not computed where a row image lacks them.
    #[staticmethod]
    fn uncomputed(table: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
        let definition = table_from_python(table)?;
        let columns = definition.columns.iter().enumerate();
        Ok(columns
            .filter(|(index, column)| column.generated.is_some() && Computed::of(&definition, *index).is_none())
            .map(|(_, column)| column.name.clone())
            .collect())
    }

    fn forget(&self, database: &str, table: &str) {
        self.renderer.forget(&TableName::new(database, table));
    }

    /// Return the statements of a block, in order.
    ///
    /// Args:
    ///     block: The block.
    ///     sets: True for few statements for many rows, False for statements in the log's order.
    #[pyo3(signature = (block, *, sets))]
    fn render(&self, py: Python<'_>, block: &PyBlock, sets: bool) -> PyResult<Vec<PyRenderedStatement>> {
        let form = if sets { Form::Sets } else { Form::Rows };
        let statements = py
            .detach(|| within(Stage::Render, || self.render_block(form, &block.block)))
            .map_err(|error| render_error(&error, block))?;
        Ok(statements
            .into_iter()
            .map(|Statement { sql, rows, table, prepared }| PyRenderedStatement {
                sql: PyBytes::new(py, &sql).unbind(),
                rows: rows as i64,
                table: table.to_string(),
                prepared: prepared.map(|name| name.to_string()),
            })
            .collect())
    }

    /// Return the statement that prepares the one of this name, or None if there is none.
    fn preparation<'py>(&self, py: Python<'py>, name: &str) -> Option<Bound<'py, PyBytes>> {
        self.renderer.preparation(name).map(|text| PyBytes::new(py, text.as_bytes()))
    }

    /// Count a set of a table that failed where its rows, one after the other, did not; after some, sets leave it out.
    fn set_repeated(&self, database: &str, table: &str) {
        self.renderer.set_repeated(&TableName::new(database, table));
    }
}

impl PyPostgresRenderer {
    /// Renders a block, or the piece that it is limited to.
    fn render_block(&self, form: Form, block: &Block) -> Result<Vec<Statement>, RenderError> {
        let Some(piece) = block.piece() else {
            return self.renderer.render(form, block.transactions(), |place, event| block.wants(place, event));
        };
        let Some(transaction) = block.transactions().nth(piece.transaction) else { return Ok(Vec::new()) };
        let part = Part { transaction, maps: &piece.maps, events: piece.events.clone() };
        self.renderer.render_some(form, &part, |event| block.wants(piece.transaction, event))
    }

    /// Returns the renderer, for other users.
    pub fn shared(&self) -> Arc<Renderer> {
        Arc::clone(&self.renderer)
    }
}

/// Returns the number of unique keys of a table besides the primary one.
fn unique_keys(table: &Bound<'_, PyAny>) -> PyResult<usize> {
    let mut found = 0;
    for key in table.getattr("keys")?.try_iter()? {
        let key = key?;
        found += usize::from(key.getattr("unique")?.is_truthy()? && !key.getattr("primary")?.is_truthy()?);
    }
    Ok(found)
}

fn column_mapping(column: &Bound<'_, PyAny>, source: &TableName) -> PyResult<ColumnMapping> {
    let kind: String = column.getattr("kind")?.extract()?;
    let charset: Option<String> = column.getattr("charset")?.extract()?;
    let length: Option<usize> = column.getattr("length")?.extract()?;
    let labels: Vec<String> = column.getattr("labels")?.extract()?;
    let kind =
        Kind::from_name(&kind, charset.as_deref(), length, labels).map_err(|error| mapping_error(&error, source))?;
    let name: String = column.getattr("name")?.extract()?;
    let decimals: Option<u8> = column.getattr("decimals")?.extract()?;
    let sql_type: String = column.getattr("sql_type")?.extract()?;
    let generated = column.getattr("generated")?.is_truthy()?;
    Ok(ColumnMapping::new(name, kind, generated).with_decimals(decimals).with_type(&sql_type))
}

fn mapping_error(error: &MappingError, table: &TableName) -> PyErr {
    let place = Where { table: Some(table.to_string()), ..Where::default() };
    raise(Cause::TypeNotMapped, &error.to_string(), &place)
}

fn render_error(error: &RenderError, block: &PyBlock) -> PyErr {
    let mut place = block.place();
    let class = match error {
        RenderError::NotStorable { table, key, .. } => {
            place.table = Some(table.to_string());
            place.key.clone_from(key);
            Cause::ValueNotStorable
        }
        RenderError::UnknownFraction { table, .. } => {
            place.table = Some(table.to_string());
            Cause::LogNotUnderstood
        }
        RenderError::Log { .. } => Cause::LogDamaged,
        RenderError::NoKey { table } | RenderError::UnloggedCascade { table } => {
            place.table = Some(table.to_string());
            Cause::ApplyFailed
        }
        RenderError::GeneratedColumn { table, .. } | RenderError::UncertainColumn { table, .. } => {
            place.table = Some(table.to_string());
            Cause::SchemaMismatch
        }
        _ => Cause::SchemaMismatch,
    };
    raise(class, &error.to_string(), &place)
}

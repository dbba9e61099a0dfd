//! Table definitions passed from Python to the native core.

use std::sync::{Arc, Mutex, PoisonError};

use paraply_core::schema::{Catalog, Column, ForeignKey, KeyPart, ReferenceAction, Table, TableName, UniqueKey};
use paraply_plan::write_sets::{Options, Scratch};
use pyo3::prelude::*;

use crate::errors::usage;

/// Table definitions for hashing, valid at one position of the log.
#[pyclass(name = "Catalog", module = "paraply._native", frozen)]
#[derive(Default)]
pub struct PyCatalog {
    catalog: Mutex<Arc<Catalog>>,
    /// State of hashing that is kept from one batch of a log to the next, for each set of options.
    scratches: Mutex<Vec<(Options, Scratch)>>,
}

impl PyCatalog {
    pub fn snapshot(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Calls a function with the memory for hashing with these options, which is kept between the batches of a log.
    pub fn with_scratch<T>(&self, options: Options, hash: impl FnOnce(&Catalog, &mut Scratch) -> T) -> T {
        let catalog = self.snapshot();
        let mut scratches = self.scratches.lock().unwrap_or_else(PoisonError::into_inner);
        let place = scratches.iter().position(|(kept, _)| *kept == options).unwrap_or_else(|| {
            scratches.push((options, Scratch::new(options)));
            scratches.len() - 1
        });
        hash(&catalog, &mut scratches[place].1)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Catalog) -> T) -> T {
        change(Arc::make_mut(&mut self.catalog.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

#[pymethods]
impl PyCatalog {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn put(&self, table: &Bound<'_, PyAny>) -> PyResult<()> {
        let table = table_from_python(table)?;
        self.change(|catalog| catalog.put(table));
        Ok(())
    }

    /// Forget a table and its earlier definitions.
    fn remove(&self, database: &str, table: &str) {
        self.change(|catalog| catalog.remove(&TableName::new(database, table)));
    }

    /// Remove a table whose name is gone; rows written before may still follow.
    fn retire(&self, database: &str, table: &str) {
        self.change(|catalog| catalog.retire(&TableName::new(database, table)));
    }

    /// Return a catalog with the same definitions, which later changes leave alone.
    fn copy(&self) -> Self {
        Self { catalog: Mutex::new(self.snapshot()), scratches: Mutex::default() }
    }

    /// Take over the definitions of a copy of the same catalog; the memory for hashing is kept.
    fn follow(&self, other: &Self) {
        *self.catalog.lock().unwrap_or_else(PoisonError::into_inner) = other.snapshot();
    }

    fn __len__(&self) -> usize {
        self.snapshot().len()
    }
}

/// Reads a `paraply.schema.model.Table`.
pub fn table_from_python(table: &Bound<'_, PyAny>) -> PyResult<Table> {
    let columns = sequence(table, "columns")?.iter().map(column).collect::<PyResult<Vec<_>>>()?;
    let name = TableName::new(text(table, "database")?, text(table, "name")?);
    let mut unique_keys = Vec::new();
    for key in sequence(table, "keys")? {
        if key.getattr("unique")?.is_truthy()? {
            unique_keys.push((key.getattr("position")?.extract::<u32>()?, unique_key(&key, &columns)?));
        }
    }
    unique_keys.sort_by_key(|(position, key)| (key.name != "PRIMARY", *position));
    let unique_keys = unique_keys.into_iter().map(|(_, key)| key).collect();
    let foreign_keys =
        sequence(table, "foreign_keys")?.iter().map(|key| foreign_key(key, &columns)).collect::<PyResult<Vec<_>>>()?;
    Ok(Table { name, columns, unique_keys, foreign_keys })
}

fn column(column: &Bound<'_, PyAny>) -> PyResult<Column> {
    Ok(Column {
        name: text(column, "name")?,
        data_type: text(column, "type")?,
        unsigned: column.getattr("unsigned")?.is_truthy()?,
        nullable: column.getattr("nullable")?.is_truthy()?,
        collation: column.getattr("collation")?.extract()?,
        labels: column.getattr("labels")?.extract()?,
        length: column.getattr("length")?.extract()?,
        decimals: column.getattr("scale")?.extract()?,
        generated: generated(column)?,
    })
}

/// Returns the expression of a generated column, empty where it is not known.
fn generated(column: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    if column.getattr("generated")?.is_none() {
        return Ok(None);
    }
    let expression: Option<String> = column.getattr("expression")?.extract()?;
    Ok(Some(expression.unwrap_or_default()))
}

fn unique_key(key: &Bound<'_, PyAny>, columns: &[Column]) -> PyResult<UniqueKey> {
    let parts = sequence(key, "parts")?.iter().map(|part| key_part(part, columns)).collect::<PyResult<Vec<_>>>()?;
    Ok(UniqueKey { name: text(key, "name")?, parts })
}

fn key_part(part: &Bound<'_, PyAny>, columns: &[Column]) -> PyResult<KeyPart> {
    let name: Option<String> = part.getattr("column")?.extract()?;
    let Some(name) = name else { return Ok(KeyPart::Expression) };
    let column = place(&name, columns)?;
    let prefix: Option<u32> = part.getattr("prefix")?.extract()?;
    Ok(prefix.map_or(KeyPart::Column(column), |length| KeyPart::Prefix { column, length }))
}

fn foreign_key(key: &Bound<'_, PyAny>, columns: &[Column]) -> PyResult<ForeignKey> {
    let names: Vec<String> = key.getattr("columns")?.extract()?;
    Ok(ForeignKey {
        name: text(key, "name")?,
        columns: names.iter().map(|name| place(name, columns)).collect::<PyResult<Vec<_>>>()?,
        parent: TableName::new(text(key, "parent_database")?, text(key, "parent_table")?),
        parent_columns: key.getattr("parent_columns")?.extract()?,
        on_delete: action(&key.getattr("on_delete")?)?,
        on_update: action(&key.getattr("on_update")?)?,
    })
}

fn action(value: &Bound<'_, PyAny>) -> PyResult<ReferenceAction> {
    match value.extract::<String>()?.as_str() {
        "refuse" => Ok(ReferenceAction::Refuse),
        "cascade" => Ok(ReferenceAction::Cascade),
        "set null" => Ok(ReferenceAction::SetNull),
        other => Err(usage(&format!("unknown foreign key action `{other}`"))),
    }
}

fn place(name: &str, columns: &[Column]) -> PyResult<usize> {
    let lower = name.to_lowercase();
    columns
        .iter()
        .position(|column| column.name.to_lowercase() == lower)
        .ok_or_else(|| usage(&format!("a key names the column `{name}`, which the table does not have")))
}

fn text(object: &Bound<'_, PyAny>, name: &str) -> PyResult<String> {
    object.getattr(name)?.extract()
}

fn sequence<'py>(object: &Bound<'py, PyAny>, name: &str) -> PyResult<Vec<Bound<'py, PyAny>>> {
    object.getattr(name)?.try_iter()?.collect()
}

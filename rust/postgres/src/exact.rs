//! Row changes as statements, each with the exact row that it must find.

use std::collections::HashSet;
use std::sync::Arc;

use paraply_binlog::rows::row_statement::staged::{StageTable, StagedRow};
use paraply_binlog::rows::row_statement::{RowStatement, StatementKind};
use paraply_binlog::rows::step_rows::{StepRow, Values};
use paraply_binlog::rows::table_map::TableMap;
use paraply_binlog::transaction::Format;
use paraply_core::value::{Value, is_same_at};

use super::conditions::{is_compared_as_text, key_text, usable_key, where_row, write_same, write_value};
use super::error::RenderError;
use super::events::{check_columns, logged_charsets, own};
use super::generated::complete;
use super::mapping::TableMapping;
use super::render::{Change, Image, check_count, insert_head, missing, write_set};
use super::renderer::Renderer;

/// A table whose rows become statements.
#[derive(Debug, Clone)]
pub struct ExactTable {
    mapping: Arc<TableMapping>,
    insert: Arc<str>,
    delete: Arc<str>,
    update: Arc<str>,
    stage: Option<Arc<StageTable>>,
    /// Columns whose changes are made in the log's order.
    ordered: HashSet<usize>,
}

/// A table of the session through which many rows are changed.
#[derive(Debug, Clone, Default)]
pub struct Staging<'s> {
    /// Its name, as SQL; none if there is no such table.
    pub name: Option<&'s str>,
    /// Columns whose changes are made in the log's order.
    pub ordered: HashSet<usize>,
}

impl ExactTable {
    /// Returns the table of a table map.
    ///
    /// # Errors
    /// [`RenderError`] where the log's columns are not those of the known definition.
    pub fn of(renderer: &Renderer, map: &TableMap, format: &Format, staging: Staging<'_>) -> Result<Self, RenderError> {
        let mapping = renderer.table(&map.name)?;
        check_columns(map, &mapping, format)?;
        let mapping = logged_charsets(map, mapping, format.mariadb)?;
        Ok(Self {
            insert: String::from_utf8_lossy(&insert_head(&mapping)).into(),
            delete: format!("DELETE FROM {} WHERE ", mapping.target()).into(),
            update: format!("UPDATE {}", mapping.target()).into(),
            stage: staging.name.and_then(|name| stage_table(name, &mapping)),
            ordered: staging.ordered,
            mapping,
        })
    }

    /// Returns the statement of a change.
    ///
    /// # Errors
    /// [`RenderError`]
    pub fn statement(&self, row: &StepRow<'_>) -> Result<Option<RowStatement>, RenderError> {
        let table = &self.mapping;
        let columns = table.columns.len();
        let image = |values: &'_ Option<Vec<_>>| values.is_some();
        if !image(&row.before) && !image(&row.after) {
            return Ok(None);
        }
        let before = row.before.as_deref().map(|image| own(image, columns));
        let after = row.after.as_deref().map(|image| own(image, columns));
        let completed = complete(table, before, after)?;
        let Some(change) = completed.change() else { return Ok(None) };
        let (mut part, mut staged) = (Vec::new(), None);
        let (kind, head, key) = match change {
            Change::Insert(after) => {
                self.write_row(after, &mut part)?;
                (StatementKind::Insert, &self.insert, key_text(table, after))
            }
            Change::Delete(before) => {
                check_count(table, before)?;
                staged = self.staged_row(before, None)?;
                if usable_key(table, before).is_some() {
                    part.push(b'(');
                    self.write_condition(before, &mut part)?;
                    part.push(b')');
                } else {
                    self.write_any(before, &mut part)?;
                }
                (StatementKind::Delete, &self.delete, key_text(table, before))
            }
            Change::Update { before, after } => {
                check_count(table, before)?;
                check_count(table, after)?;
                whole(table, after)?;
                staged = self.staged_row(before, Some(after))?;
                let conditions = write_set(&mut part, table, &[], before, after)?;
                part.extend_from_slice(b" WHERE ");
                if usable_key(table, before).is_some() {
                    self.write_condition(before, &mut part)?;
                } else {
                    self.write_any(before, &mut part)?;
                }
                for condition in conditions {
                    part.extend_from_slice(b" AND ");
                    part.extend_from_slice(&condition);
                }
                (StatementKind::Update, &self.update, key_text(table, before))
            }
        };
        // A row of a table without a key is found by one that is equal: each needs a statement of its own.
        let tail = if change_has_key(table, change) { "" } else { " " };
        let (keys, head, table) = (vec![key.unwrap_or_default()], Arc::clone(head), table.source.clone());
        Ok(Some(RowStatement {
            kind,
            table,
            head,
            parts: vec![part],
            tail,
            keys,
            updates: Vec::new(),
            row: staged,
            staged: None,
        }))
    }

    /// Returns the key of a row as text.
    pub fn key_text(&self, image: &Values<'_>) -> String {
        key_text(&self.mapping, own(image, self.mapping.columns.len())).unwrap_or_default()
    }

    fn write_row(&self, after: Image<'_, '_>, out: &mut Vec<u8>) -> Result<(), RenderError> {
        check_count(&self.mapping, after)?;
        whole(&self.mapping, after)?;
        for (index, (column, value)) in self.mapping.columns.iter().zip(after).enumerate() {
            out.extend_from_slice(if index == 0 { b"(" } else { b", " });
            let value = value.as_ref().ok_or_else(|| missing(&self.mapping, column))?;
            write_value(out, &self.mapping, column, value, after)?;
        }
        out.push(b')');
        Ok(())
    }

    /// Appends the condition for exactly this row: its key, and then each other column.
    fn write_condition(&self, image: Image<'_, '_>, out: &mut Vec<u8>) -> Result<(), RenderError> {
        let table = &self.mapping;
        let key = usable_key(table, image).unwrap_or_default();
        for (place, index) in key.iter().enumerate() {
            let (Some(column), Some(Some(value))) = (table.columns.get(*index), image.get(*index)) else { continue };
            out.extend_from_slice(if place == 0 { b"" } else { b" AND " });
            out.extend_from_slice(column.quoted().as_bytes());
            out.push(b'=');
            write_value(out, table, column, value, image)?;
        }
        for (index, (column, value)) in table.columns.iter().zip(image).enumerate() {
            if key.contains(&index) || (column.generated && value.is_none()) {
                continue;
            }
            let value = value.as_ref().ok_or_else(|| missing(table, column))?;
            out.extend_from_slice(b" AND ");
            write_same(out, table, column, value, image)?;
        }
        Ok(())
    }

    /// Returns the row for the table of the session, if the order among such rows does not matter.
    fn staged_row(
        &self,
        before: Image<'_, '_>,
        after: Option<Image<'_, '_>>,
    ) -> Result<Option<StagedRow>, RenderError> {
        let table = &self.mapping;
        let (Some(stage), Some(key)) = (&self.stage, table.keys.first()) else { return Ok(None) };
        let is_held = |value: &Option<Value<'_>>| !matches!(value, None | Some(Value::JsonDiff(_)));
        if usable_key(table, before) != Some(key.as_slice()) || !before.iter().chain(after.unwrap_or(&[])).all(is_held)
        {
            return Ok(None);
        }
        let after = after.unwrap_or(before);
        let changed: Vec<usize> = (0..before.len()).filter(|&index| !is_same_at(before, after, index)).collect();
        if changed.iter().any(|index| self.ordered.contains(index)) {
            return Ok(None);
        }
        let is_update = !std::ptr::eq(before, after);
        let assigned = if changed.is_empty() && is_update { (0..before.len()).collect() } else { changed };
        let literal = |index: usize, image: Image<'_, '_>| {
            let mut literal = Vec::new();
            if let (Some(column), Some(Some(value))) = (table.columns.get(index), image.get(index)) {
                write_value(&mut literal, table, column, value, image)?;
            }
            Ok::<_, RenderError>(literal)
        };
        let found: Vec<Vec<u8>> = (0..before.len()).map(|index| literal(index, before)).collect::<Result<_, _>>()?;
        let new = assigned.into_iter().map(|index| Ok::<_, RenderError>((index, literal(index, after)?)));
        let new = new.collect::<Result<_, _>>()?;
        let key = key.iter().filter_map(|index| found.get(*index)).fold(Vec::new(), |mut key, literal| {
            key.extend_from_slice(&literal.len().to_le_bytes());
            key.extend_from_slice(literal);
            key
        });
        Ok(Some(StagedRow { stage: Arc::clone(stage), key, found, new }))
    }

    /// Appends the condition for one of the rows that equal this one, of a table without a key.
    fn write_any(&self, image: Image<'_, '_>, out: &mut Vec<u8>) -> Result<(), RenderError> {
        let mut condition = Vec::new();
        where_row(&mut condition, &self.mapping, image)?;
        out.extend_from_slice(condition.strip_prefix(b" WHERE ").unwrap_or(&condition));
        Ok(())
    }
}

/// Returns the table of a session for rows that the first key finds; none without a key.
fn stage_table(name: &str, mapping: &TableMapping) -> Option<Arc<StageTable>> {
    let key = mapping.keys.first()?;
    let mut conditions = Vec::new();
    for index in key {
        conditions.push(format!("t.{}=s.f{index}", mapping.columns.get(*index)?.quoted()));
    }
    for (index, column) in mapping.columns.iter().enumerate().filter(|(index, _)| !key.contains(index)) {
        let cast = if is_compared_as_text(column) { "::text" } else { "" };
        conditions.push(format!("t.{}{cast} IS NOT DISTINCT FROM s.f{index}{cast}", column.quoted()));
    }
    let (table, condition) = (mapping.target(), conditions.join(" AND "));
    let first = mapping.columns.get(*key.first()?)?.quoted();
    Some(Arc::new(StageTable {
        name: name.to_owned(),
        columns: mapping.columns.iter().map(|column| Some(column.quoted().to_owned())).collect(),
        update: (format!("UPDATE {table} AS t SET "), format!(" FROM {name} AS s WHERE {condition}")),
        delete: format!("DELETE FROM {table} AS t USING {name} AS s WHERE {condition}"),
        search: format!(
            "SELECT s.n FROM {name} AS s LEFT JOIN {table} AS t ON {condition} WHERE t.{first} IS NULL ORDER BY s.n LIMIT 1"
        ),
        // Deleted rows would stay until the commit, and be read again with each group.
        clear: "TRUNCATE",
    }))
}

fn change_has_key(table: &TableMapping, change: Change<'_, '_>) -> bool {
    match change {
        Change::Insert(_) => true,
        Change::Delete(before) | Change::Update { before, .. } => usable_key(table, before).is_some(),
    }
}

/// Refuses an image without all columns.
fn whole(table: &TableMapping, image: Image<'_, '_>) -> Result<(), RenderError> {
    let lacking = table.columns.iter().zip(image).find(|(column, value)| value.is_none() && !column.generated);
    lacking.map_or(Ok(()), |(column, _)| Err(missing(table, column)))
}

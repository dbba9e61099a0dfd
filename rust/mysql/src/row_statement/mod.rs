//! Row changes as SQL statements for MySQL and `MariaDB`, each with the exact row that it must find.
//!
//! The session must have these settings: `sql_mode` with `NO_BACKSLASH_ESCAPES` and without `NO_ZERO_DATE`, `time_zone` `+00:00`, and
//! connection character set utf8mb4.

mod key_checks;
mod literal;
mod stage;
mod table;

use std::sync::Arc;

use paraply_binlog::rows::known_tables::KnownTable;
use paraply_binlog::rows::row_statement::staged::ordered_columns;
use paraply_binlog::rows::row_statement::{RowStatement, RowUpdate, StatementKind};
use paraply_binlog::rows::step_rows::{StepRow, Values, cascading_keys};
use paraply_binlog::rows::values::value_text::TableForm;
use paraply_core::schema::{Catalog, KeyPart, Table};
use paraply_core::value::is_same_at;

use key_checks::key_checks;
use literal::{ColumnKind, StatementColumn, quoted};

pub use table::{KeyCheck, StatementError, StatementTable};

impl StatementTable {
    /// Creates the table from the log and the definition, if there is one.
    ///
    /// # Arguments
    ///
    /// * `at_end`: true if foreign keys are checked after all statements; else each statement prevents cascades.
    /// * `stage`: name of a table of the session through which many rows are changed, as SQL.
    pub fn of(known: &KnownTable, catalog: &Catalog, mariadb: bool, at_end: bool, stage: Option<&str>) -> Self {
        let form = TableForm::of(known, mariadb);
        let definition = known.definition.as_deref().ok();
        let keyed = definition.map(|table| ordered_columns(table, catalog));
        let columns: Vec<StatementColumn> = form
            .columns
            .iter()
            .zip(&known.map.columns)
            .enumerate()
            .map(|(index, (column, mapped))| {
                let declared = definition.and_then(|table| table.columns.get(index));
                StatementColumn {
                    name: column.name.clone(),
                    quoted: quoted(&column.name).into(),
                    kind: ColumnKind::of(&column.form, mapped, declared, mariadb),
                    form: column.clone(),
                    generated: declared.is_some_and(|column| column.generated.is_some()),
                    sets_itself: literal::may_set_itself(mapped.type_code),
                    in_key: keyed.as_ref().is_none_or(|keyed| keyed.contains(&index)),
                }
            })
            .collect();
        let mut keys = if form.key.is_empty() { Vec::new() } else { vec![form.key.clone()] };
        keys.extend(definition.map(unique_keys).unwrap_or_default());
        let name = known.map.name.clone();
        let table = format!("{}.{}", quoted(&name.database), quoted(&name.table));
        let stage = stage.filter(|_| definition.is_some());
        let stage = stage.zip(keys.first()).map(|(stage, key)| stage::stage_table(stage, &table, &columns, key));
        let written: Vec<&str> = columns.iter().filter(|c| !c.generated).map(|c| &*c.quoted).collect();
        Self {
            insert: format!("INSERT INTO {table} ({}) VALUES\n  ", written.join(", ")).into(),
            delete: format!("DELETE FROM {table} WHERE ").into(),
            update: format!("UPDATE {table} SET ").into(),
            cascades: if at_end { Vec::new() } else { cascading_keys(catalog, &name) },
            checks: if at_end { key_checks(catalog, &name) } else { Vec::new() },
            stage,
            name,
            columns,
            keys,
        }
    }

    /// Returns the statement of a change.
    ///
    /// # Errors
    /// [`StatementError`]
    pub fn statement(&self, row: &StepRow<'_>) -> Result<Option<RowStatement>, StatementError> {
        let image = row.before.as_ref().or(row.after.as_ref());
        let key = image.map(|image| self.key_text(image)).unwrap_or_default();
        let (mut updates, mut staged) = (Vec::new(), None);
        let (kind, head, part, tail) = match (&row.before, &row.after) {
            (None, Some(after)) => (StatementKind::Insert, &self.insert, self.new_row(after)?, ""),
            (Some(before), None) => {
                let (mut part, tail) = self.condition(before)?;
                self.write_guards(row, before, &mut part)?;
                if tail.is_empty() {
                    part.insert(0, b'(');
                    part.push(b')');
                }
                staged = self.staged_row(row, &[])?;
                (StatementKind::Delete, &self.delete, part, tail)
            }
            (Some(before), Some(after)) => {
                let assignments = self.assignments(before, after)?;
                staged = self.staged_row(row, &assignments)?;
                let mut part = Vec::new();
                for (index, literal) in &assignments {
                    let Some(column) = self.columns.get(*index) else { continue };
                    part.extend_from_slice(if part.is_empty() { b"" } else { b", " });
                    part.extend_from_slice(column.quoted.as_bytes());
                    part.push(b'=');
                    part.extend_from_slice(literal);
                }
                let (mut condition, tail) = self.condition(before)?;
                self.write_guards(row, before, &mut condition)?;
                part.extend_from_slice(b" WHERE ");
                part.extend_from_slice(&condition);
                updates.extend(self.shared_update(before, assignments, condition));
                (StatementKind::Update, &self.update, part, tail)
            }
            (None, None) => return Ok(None),
        };
        let (table, head) = (self.name.clone(), Arc::clone(head));
        Ok(Some(RowStatement {
            kind,
            table,
            head,
            parts: vec![part],
            tail,
            keys: vec![key],
            updates,
            row: staged,
            staged: None,
        }))
    }

    /// Returns an update in the form in which rows can share a statement, if their order does not matter.
    fn shared_update(
        &self,
        before: &Values<'_>,
        assignments: Vec<(usize, Vec<u8>)>,
        condition: Vec<u8>,
    ) -> Option<RowUpdate> {
        let [key] = self.usable_key(before)? else { return None };
        let key_column = self.columns.get(*key)?;
        let in_order = assignments.iter().any(|(index, _)| self.columns.get(*index).is_none_or(|column| column.in_key));
        if in_order || !key_column.kind.is_exact() {
            return None;
        }
        let mut key_value = Vec::new();
        key_column.write(before.get(*key)?.as_ref()?, &mut key_value).ok()?;
        let columns = assignments.iter().filter_map(|(index, _)| self.columns.get(*index));
        Some(RowUpdate {
            columns: columns.map(|column| Arc::clone(&column.quoted)).collect(),
            values: assignments.into_iter().map(|(_, literal)| literal).collect(),
            key: Arc::clone(&key_column.quoted),
            key_value,
            condition,
        })
    }

    /// Returns the key of a row as text, such as `id=7`; of a table without key the first columns.
    pub fn key_text(&self, image: &Values<'_>) -> String {
        let columns: Vec<usize> = self.usable_key(image).map_or_else(|| (0..image.len()).collect(), <[usize]>::to_vec);
        let mut text = Vec::new();
        for index in columns {
            let Some((column, Some(value))) = self.columns.get(index).zip(image.get(index)) else { continue };
            if !text.is_empty() {
                text.extend_from_slice(b", ");
            }
            text.extend_from_slice(column.name.as_bytes());
            text.push(b'=');
            if column.write(value, &mut text).is_err() || text.len() > 200 {
                text.truncate(200);
                text.extend_from_slice(b"...");
                break;
            }
        }
        String::from_utf8_lossy(&text).into_owned()
    }

    fn new_row(&self, after: &Values<'_>) -> Result<Vec<u8>, StatementError> {
        let mut part = vec![b'('];
        for (index, column) in self.columns.iter().enumerate().filter(|(_, column)| !column.generated) {
            if part.len() > 1 {
                part.extend_from_slice(b", ");
            }
            self.write(column, self.value(after, index, column)?, &mut part)?;
        }
        part.push(b')');
        Ok(part)
    }

    /// Returns the assignments of an update: of the columns that change, and of those that the server would set by itself.
    fn assignments(&self, before: &Values<'_>, after: &Values<'_>) -> Result<Vec<(usize, Vec<u8>)>, StatementError> {
        let mut found = Vec::new();
        let changes = |index: usize| !is_same_at(before, after, index);
        let nothing = !(0..self.columns.len()).any(changes);
        for (index, column) in self.columns.iter().enumerate().filter(|(_, column)| !column.generated) {
            let value = self.value(after, index, column)?;
            if changes(index) || column.sets_itself || nothing {
                let mut literal = Vec::new();
                self.write(column, value, &mut literal)?;
                found.push((index, literal));
            }
        }
        Ok(found)
    }

    /// Returns the condition for exactly this row, and the end of its statement.
    fn condition(&self, image: &Values<'_>) -> Result<(Vec<u8>, &'static str), StatementError> {
        let key = self.usable_key(image);
        let mut out = Vec::new();
        for index in key.unwrap_or_default() {
            let Some(column) = self.columns.get(*index) else { continue };
            if !column.kind.is_exact() {
                and(&mut out);
                out.extend_from_slice(column.quoted.as_bytes());
                out.push(b'=');
                self.write(column, self.value(image, *index, column)?, &mut out)?;
            }
        }
        for (index, column) in self.columns.iter().enumerate().filter(|(_, column)| !column.generated) {
            and(&mut out);
            let value = self.value(image, index, column)?;
            column.write_same(value, &mut out).map_err(|reason| self.error(column, &reason))?;
        }
        Ok((out, if key.is_some() { "" } else { " LIMIT 1" }))
    }

    /// Appends the condition that no foreign key carries the change on to other rows.
    fn write_guards(&self, row: &StepRow<'_>, before: &Values<'_>, out: &mut Vec<u8>) -> Result<(), StatementError> {
        for key in self.cascades.iter().filter(|key| key.acts_on(row)) {
            if key.child == self.name {
                return Err(StatementError::OwnCascade { table: self.name.clone() });
            }
            let child = format!("{}.{}", quoted(&key.child.database), quoted(&key.child.table));
            out.extend_from_slice(format!(" AND NOT EXISTS (SELECT 1 FROM {child} WHERE ").as_bytes());
            for (place, (name, index)) in key.columns.iter().enumerate() {
                let Some(column) = self.columns.get(*index) else { continue };
                if place > 0 {
                    out.extend_from_slice(b" AND ");
                }
                out.extend_from_slice(format!("{child}.{}=", quoted(name)).as_bytes());
                self.write(column, self.value(before, *index, column)?, out)?;
            }
            out.push(b')');
        }
        Ok(())
    }
}

/// Returns the unique keys of whole columns.
fn unique_keys(table: &Table) -> Vec<Vec<usize>> {
    let whole = |part: &KeyPart| match part {
        KeyPart::Column(index) => Some(*index),
        KeyPart::Prefix { .. } | KeyPart::Expression => None,
    };
    table.unique_keys.iter().filter_map(|key| key.parts.iter().map(whole).collect()).collect()
}

fn and(out: &mut Vec<u8>) {
    if !out.is_empty() {
        out.extend_from_slice(b" AND ");
    }
}

#[cfg(test)]
mod tests;

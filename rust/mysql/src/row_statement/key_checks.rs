//! Foreign keys, checked after all changes instead of with each of them.
//!
//! A log has the changes of a cascade as rows of their own, and a session without `foreign_key_checks` changes parents and children in any
//! order. So the changes are made without these checks, and at the end no value that a change took from a parent, or gave to a child, may
//! be without its parent.

use paraply_binlog::rows::step_rows::{StepRow, Values};
use paraply_core::schema::{Catalog, ForeignKey, Table, TableName};

use super::literal::quoted;
use super::table::{KeyCheck, StatementError, StatementTable};

/// Returns the foreign keys that changes of a table may break.
pub(super) fn key_checks(catalog: &Catalog, name: &TableName) -> Vec<KeyCheck> {
    let Some(table) = catalog.get(name) else { return Vec::new() };
    let own = table.foreign_keys.iter().map(|key| check_of(table, key, key.columns.clone(), true));
    let children = catalog.children(name).iter().flat_map(|child| {
        let keys = child.foreign_keys.iter().filter(|key| key.parent == *name);
        keys.map(|key| {
            let columns = key.parent_columns.iter().filter_map(|column| table.column_index(column)).collect();
            check_of(child, key, columns, false)
        })
    });
    own.chain(children).collect()
}

fn check_of(child: &Table, key: &ForeignKey, columns: Vec<usize>, is_child: bool) -> KeyCheck {
    let names: Vec<String> = key
        .columns
        .iter()
        .map(|index| child.columns.get(*index).map(|column| quoted(&column.name)).unwrap_or_default())
        .collect();
    let pairs: Vec<String> =
        names.iter().zip(&key.parent_columns).map(|(own, far)| format!("p.{}=c.{own}", quoted(far))).collect();
    let table = |name: &TableName| format!("{}.{}", quoted(&name.database), quoted(&name.table));
    let listed = names.join(", ");
    let begin = format!("SELECT c.* FROM (SELECT DISTINCT {listed} FROM {} WHERE ({listed}) IN (", table(&child.name));
    let end = format!(
        ")) c WHERE NOT EXISTS (SELECT 1 FROM {} p WHERE {} LOCK IN SHARE MODE) LIMIT 1",
        table(&key.parent),
        pairs.join(" AND ")
    );
    KeyCheck { child: child.name.clone(), parent: key.parent.clone(), query: (begin, end), columns, is_child }
}

impl StatementTable {
    /// Returns the foreign keys that changes of the table may break.
    pub fn key_checks(&self) -> &[KeyCheck] {
        &self.checks
    }

    /// Returns the values for which a change may break a foreign key: those that it takes from a parent or gives to a child.
    ///
    /// # Errors
    /// [`StatementError`]
    pub fn checked_values(&self, check: &KeyCheck, row: &StepRow<'_>) -> Result<Option<Vec<u8>>, StatementError> {
        let (image, other) = if check.is_child { (&row.after, &row.before) } else { (&row.before, &row.after) };
        let Some(image) = image else { return Ok(None) };
        let stays = |other: &Values<'_>| check.columns.iter().all(|index| other.get(*index) == image.get(*index));
        if other.as_ref().is_some_and(stays) {
            return Ok(None);
        }
        let mut text = vec![b'('];
        for index in &check.columns {
            let Some(column) = self.columns.get(*index) else { continue };
            let value = self.value(image, *index, column)?;
            if value.is_null() {
                return Ok(None);
            }
            if text.len() > 1 {
                text.push(b',');
            }
            self.write(column, value, &mut text)?;
        }
        text.push(b')');
        Ok(Some(text))
    }
}

//! Rows of parents that a statement deletes and whose keys it inserts again.

use std::collections::HashMap;

use paraply_core::collation::Collation;
use paraply_core::schema::{Catalog, ForeignKey, Table, TableName};
use paraply_core::value::Value;

use crate::rows::filter::TableFilter;
use crate::rows::image_cursor::Decoded;
use crate::rows::known_tables::KnownTable;
use crate::rows::row_walk::Step;
use crate::rows::{NO_FOREIGN_KEY_CHECKS, Row, RowBuffer, RowsEvent, SQL_FOREIGN_KEYS};
use crate::transaction::RowsKind;

type Image<'a, 'r> = &'r [Option<Value<'a>>];

/// Columns of a parent that a child refers to.
struct Referenced {
    child: TableName,
    columns: Vec<usize>,
}

/// A row's values of such columns. Servers compare them byte by byte: `a` that comes back as `A` has cascaded.
enum Key {
    Text(String),
    Null,
    Missing,
}

/// The keys that a statement inserts or changes to, and the last event that has each.
pub(super) struct Returned<'c> {
    catalog: &'c Catalog,
    filter: &'c TableFilter,
    /// By the numbers of tables.
    referenced: HashMap<usize, Vec<Referenced>>,
    /// By table, index in its list of referenced columns, and values.
    brought: HashMap<(usize, usize, String), usize>,
    /// The last event of each table that inserts.
    inserted: HashMap<usize, usize>,
    /// The numbers of tables, by their names.
    numbers: HashMap<&'c TableName, usize>,
}

impl<'c> Returned<'c> {
    pub(super) fn new(catalog: &'c Catalog, filter: &'c TableFilter) -> Self {
        Self {
            catalog,
            filter,
            referenced: HashMap::new(),
            brought: HashMap::new(),
            inserted: HashMap::new(),
            numbers: HashMap::new(),
        }
    }

    /// Notes a row event of the statement.
    pub(super) fn note(&mut self, step: &Step, table: &'c KnownTable, event: &RowsEvent<'_>) -> Decoded<()> {
        let Ok(definition) = &table.definition else { return Ok(()) };
        self.numbers.insert(&definition.name, step.table);
        let catalog = self.catalog;
        let referenced = self.referenced.entry(step.table).or_insert_with(|| referenced_columns(catalog, definition));
        if referenced.is_empty() || event.header.kind == RowsKind::Delete {
            return Ok(());
        }
        if event.header.kind == RowsKind::Insert {
            self.inserted.insert(step.table, step.event);
        }
        let mut buffer = RowBuffer::default();
        let mut rows = event.rows(&mut buffer, Some(&table.hashed));
        while let Some(row) = rows.next_row() {
            let row = row?;
            let after = row.after.unwrap_or_default();
            for (place, of) in referenced.iter().enumerate() {
                if let Key::Text(text) = key(&of.columns, after) {
                    self.brought.insert((step.table, place, text), step.event);
                }
            }
        }
        Ok(())
    }

    /// Returns true if the children of a deleted row stay: a key that they refer to comes back later in the statement.
    ///
    /// Another key of the same row may be gone for good. Its children's changes are in the log, unless a filter leaves a child out.
    /// A minimal image may lack the key: it comes back as far as is known if the statement inserts a row later.
    pub(super) fn children_stay(&self, step: &Step, flags: u16, row: Image<'_, '_>) -> bool {
        if flags & (SQL_FOREIGN_KEYS | NO_FOREIGN_KEY_CHECKS) != SQL_FOREIGN_KEYS {
            return false;
        }
        let mut comes_back = false;
        for (place, of) in self.referenced.get(&step.table).into_iter().flatten().enumerate() {
            let is_back = match key(&of.columns, row) {
                Key::Null => continue,
                Key::Missing if self.filter.chooses_on_target(&of.child.database, &of.child.table) => {
                    self.inserted.get(&step.table).is_some_and(|at| *at > step.event)
                }
                Key::Missing => false,
                Key::Text(text) => self.brought.get(&(step.table, place, text)).is_some_and(|at| *at > step.event),
            };
            if !is_back && !self.filter.chooses_on_target(&of.child.database, &of.child.table) {
                return false;
            }
            comes_back |= is_back;
        }
        comes_back
    }
}

impl Returned<'_> {
    /// Returns true if the children of a changed row stay: a key that they refer to is written differently and yet
    /// equal.
    ///
    /// Another key of the same row may have a new value. Its children's changes are in the log, unless a filter leaves a
    /// child out. The row's own references must not change with it, because then nothing of the row is checked.
    pub(super) fn children_stay_with_change(
        &self,
        step: &Step,
        table: &KnownTable,
        flags: u16,
        row: Row<'_, '_>,
    ) -> bool {
        let (Ok(definition), Some(before), Some(after)) = (&table.definition, row.before, row.after) else {
            return false;
        };
        if flags & (SQL_FOREIGN_KEYS | NO_FOREIGN_KEY_CHECKS) != SQL_FOREIGN_KEYS {
            return false;
        }
        let changed = |column: &usize| has_changed(before, after, *column);
        if definition.foreign_keys.iter().flat_map(|key| &key.columns).any(changed) {
            return false;
        }
        let mut same = false;
        for of in self.referenced.get(&step.table).into_iter().flatten() {
            let columns: Vec<_> = of.columns.iter().copied().filter(|column| changed(column)).collect();
            if columns.is_empty() {
                continue;
            }
            let equal = |&column: &usize| {
                let form =
                    |image: Image<'_, '_>| equality_form(definition, column, image.get(column).copied().flatten());
                form(before).is_some_and(|old| form(after) == Some(old))
            };
            let is_same = columns.iter().all(equal);
            if !is_same && !self.filter.chooses_on_target(&of.child.database, &of.child.table) {
                return false;
            }
            same |= is_same;
        }
        same
    }
}

impl Returned<'_> {
    /// Returns true if a changed row refers to keys that parents get later in the statement, and to nothing else that
    /// is new.
    ///
    /// The changed columns must not be referred to, because then nothing of the row is checked.
    pub(super) fn parents_follow(&self, step: &Step, table: &KnownTable, flags: u16, row: Row<'_, '_>) -> bool {
        let (Ok(definition), Some(before), Some(after)) = (&table.definition, row.before, row.after) else {
            return false;
        };
        if flags & (SQL_FOREIGN_KEYS | NO_FOREIGN_KEY_CHECKS) != SQL_FOREIGN_KEYS {
            return false;
        }
        let changed = |column: &usize| has_changed(before, after, *column);
        if self.referenced.get(&step.table).into_iter().flatten().flat_map(|of| &of.columns).any(changed) {
            return false;
        }
        let mut follow = false;
        for foreign in definition.foreign_keys.iter().filter(|foreign| foreign.columns.iter().any(changed)) {
            match self.brings(definition, foreign, before, after) {
                Some(at) if at > step.event => follow = true,
                _ => return false,
            }
        }
        follow
    }

    /// Returns the last event that inserts the parent's key to which a changed row refers.
    fn brings(
        &self,
        child: &Table,
        foreign: &ForeignKey,
        before: Image<'_, '_>,
        after: Image<'_, '_>,
    ) -> Option<usize> {
        let parent = *self.numbers.get(&foreign.parent)?;
        let of = self.catalog.get(&foreign.parent)?;
        let columns = foreign.parent_columns.iter().map(|name| of.column_index(name)).collect::<Option<Vec<_>>>()?;
        let place = self
            .referenced
            .get(&parent)?
            .iter()
            .position(|referenced| referenced.child == child.name && referenced.columns == columns)?;
        // A minimal image leaves out unchanged columns.
        let value =
            |column: &usize| after.get(*column).copied().flatten().or_else(|| before.get(*column).copied().flatten());
        let values = foreign.columns.iter().map(value).collect::<Option<Vec<_>>>()?;
        self.brought.get(&(parent, place, format!("{values:?}"))).copied()
    }
}

/// Returns true if a column's value differs; a minimal image leaves out unchanged columns.
fn has_changed(before: Image<'_, '_>, after: Image<'_, '_>, column: usize) -> bool {
    let at = |image: Image<'_, '_>| image.get(column).copied().flatten().map(|value| format!("{value:?}"));
    at(after).is_some_and(|new| at(before) != Some(new))
}

/// Returns the common form of all texts that the column's collation calls equal; none for other values.
fn equality_form(table: &Table, column: usize, value: Option<Value<'_>>) -> Option<Vec<u8>> {
    let Some(Value::Bytes(bytes)) = value else { return None };
    let collation = Collation::by_name(table.columns.get(column)?.collation.as_deref()?)?;
    let mut form = Vec::new();
    collation.equality_form(bytes, &mut form).ok()?;
    Some(form)
}

fn referenced_columns(catalog: &Catalog, parent: &Table) -> Vec<Referenced> {
    let mut found: Vec<Referenced> = Vec::new();
    for child in catalog.children(&parent.name) {
        for key in child.foreign_keys.iter().filter(|key| key.parent == parent.name) {
            let columns = key.parent_columns.iter().map(|name| parent.column_index(name)).collect::<Option<Vec<_>>>();
            if let Some(columns) = columns {
                found.push(Referenced { child: child.name.clone(), columns });
            }
        }
    }
    found
}

fn key(columns: &[usize], row: Image<'_, '_>) -> Key {
    let mut values = Vec::with_capacity(columns.len());
    for &column in columns {
        match row.get(column).copied().flatten() {
            None => return Key::Missing,
            Some(Value::Null) => return Key::Null,
            Some(value) => values.push(value),
        }
    }
    Key::Text(format!("{values:?}"))
}

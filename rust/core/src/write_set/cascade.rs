//! Rule R15a: effects of a change of a parent row on other tables that the log does not hold.
//!
//! A table that one of its own foreign keys may change (CASCADE, SET NULL) is called affected. A change of a parent
//! takes every affected descendant exclusively. Writers of an affected table, of its parents and of its children take
//! it shared, because a cascaded change of a row must keep its order among theirs.

use super::hash::table_hash;
use crate::schema::{Catalog, ForeignKey, ReferenceAction, Table, TableName};

/// Effect of one foreign key of a child when the parent's row changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cascade {
    /// True if deleting the parent's row changes children.
    pub on_delete: bool,
    /// True if changing the parent's columns changes children.
    pub on_update: bool,
    /// The parent's columns that children refer to.
    pub columns: Vec<usize>,
    /// The hashes of all affected descendants.
    pub descendants: Vec<u64>,
}

/// Returns the cascades that start at a table.
pub(super) fn cascades_of(table: &Table, catalog: &Catalog) -> Vec<Cascade> {
    let children = catalog.children(&table.name).iter();
    children.flat_map(|child| edges(child, &table.name).map(|key| cascade(table, child, key, catalog))).collect()
}

/// Returns the affected tables that every writer of this table takes shared.
pub(super) fn affected_neighbours(table: &Table, catalog: &Catalog) -> Vec<u64> {
    let parents = table.foreign_keys.iter().filter_map(|key| catalog.get(&key.parent)).map(AsRef::as_ref);
    let children = catalog.children(&table.name).iter().map(AsRef::as_ref);
    let near = std::iter::once(table).chain(parents).chain(children);
    let mut hashes: Vec<u64> = near.filter(|t| is_affected(t)).map(|t| table_hash(&t.name)).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

fn is_affected(table: &Table) -> bool {
    table.foreign_keys.iter().any(acts)
}

fn acts(key: &ForeignKey) -> bool {
    key.on_delete != ReferenceAction::Refuse || key.on_update != ReferenceAction::Refuse
}

/// Iterates over the child's foreign keys to this parent that change the child.
fn edges<'c>(child: &'c Table, parent: &'c TableName) -> impl Iterator<Item = &'c ForeignKey> {
    child.foreign_keys.iter().filter(move |key| key.parent == *parent && acts(key))
}

fn cascade(table: &Table, child: &Table, key: &ForeignKey, catalog: &Catalog) -> Cascade {
    let mut seen = Vec::new();
    descend(child, catalog, &mut seen);
    Cascade {
        on_delete: key.on_delete != ReferenceAction::Refuse,
        on_update: key.on_update != ReferenceAction::Refuse,
        columns: key.parent_columns.iter().filter_map(|name| table.column_index(name)).collect(),
        descendants: seen.iter().map(table_hash).collect(),
    }
}

fn descend(table: &Table, catalog: &Catalog, seen: &mut Vec<TableName>) {
    if seen.contains(&table.name) {
        return;
    }
    seen.push(table.name.clone());
    for child in catalog.children(&table.name) {
        if edges(child, &table.name).next().is_some() {
            descend(child, catalog, seen);
        }
    }
}

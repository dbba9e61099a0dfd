//! What a foreign key refers to: a whole unique key of the parent, or less (rules R14 and R15).

use super::fallback::Reason;
use super::value_form::ValueForm;
use crate::schema::{Catalog, ForeignKey, KeyPart, Table, UniqueKey};

/// The parent's side of a foreign key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// A whole unique key.
    Key {
        /// Its name.
        name: String,
        /// The child's columns in the order of the key's parts.
        columns: Vec<usize>,
    },
    /// The parent table as a whole, and why.
    Table(Reason),
}

/// Finds what a child's foreign key refers to.
pub(super) fn target_of(child: &Table, key: &ForeignKey, catalog: &Catalog, bytewise: bool) -> Target {
    let Some(parent) = catalog.get(&key.parent) else { return Target::Table(Reason::UnknownParent) };
    let candidates =
        || parent.unique_keys.iter().filter_map(|key_of| Some((key_of, columns_in_order(parent, key_of, key)?)));
    // Of several keys on the same columns the server takes the one that has them in the reference's order.
    let matching = candidates().find(|(_, columns)| *columns == key.columns).or_else(|| candidates().next());
    let Some((unique, columns)) = matching else { return Target::Table(Reason::NonUniqueParentKey) };
    let agree = unique.parts.iter().zip(&columns).all(|(part, column)| match part {
        KeyPart::Column(own) => match (parent.columns.get(*own), child.columns.get(*column)) {
            (Some(own), Some(other)) => ValueForm::of(own, bytewise).agrees(ValueForm::of(other, bytewise)),
            _ => false,
        },
        _ => false,
    });
    if agree { Target::Key { name: unique.name.clone(), columns } } else { Target::Table(Reason::DifferentParentType) }
}

/// The child's columns in the order of a unique key's parts, if the foreign key names exactly that key's columns.
fn columns_in_order(parent: &Table, unique: &UniqueKey, key: &ForeignKey) -> Option<Vec<usize>> {
    if unique.parts.len() != key.parent_columns.len() {
        return None;
    }
    unique.parts.iter().map(|part| child_column(parent, part, key)).collect()
}

fn child_column(parent: &Table, part: &KeyPart, key: &ForeignKey) -> Option<usize> {
    let KeyPart::Column(index) = part else { return None };
    let name = &parent.columns.get(*index)?.name;
    let at = key.parent_columns.iter().position(|column| column.eq_ignore_ascii_case(name))?;
    key.columns.get(at).copied()
}

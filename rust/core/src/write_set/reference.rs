//! Targets of foreign keys: a whole unique key of the parent, or less (rules R14 and R15).

use xxhash_rust::xxh64::xxh64;

use super::fallback::Reason;
use super::hash::key_prefix;
use super::value_form::ValueForm;
use crate::collation::Collation;
use crate::schema::{Catalog, Column, ForeignKey, KeyPart, Table, UniqueKey};

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
    /// The parent table as a whole, with the reason.
    Table(Reason),
}

/// Finds the target of a child's foreign key.
pub(super) fn target_of(child: &Table, key: &ForeignKey, catalog: &Catalog, bytewise: bool) -> Target {
    let Some(parent) = catalog.get(&key.parent) else { return Target::Table(Reason::UnknownParent) };
    let candidates =
        || parent.unique_keys.iter().filter_map(|key_of| Some((key_of, columns_in_order(parent, key_of, key)?)));
    // Of several keys on the same columns the server takes the one that has them in the reference's order.
    let matching = candidates().find(|(_, columns)| *columns == key.columns).or_else(|| candidates().next());
    let Some((unique, columns)) = matching else { return Target::Table(Reason::NonUniqueParentKey) };
    let agree = unique.parts.iter().zip(&columns).all(|(part, column)| match part {
        KeyPart::Column(own) => match (parent.columns.get(*own), child.columns.get(*column)) {
            (Some(own), Some(other)) => agree(own, other, bytewise),
            _ => false,
        },
        _ => false,
    });
    if agree { Target::Key { name: unique.name.clone(), columns } } else { Target::Table(Reason::DifferentParentType) }
}

/// Returns true if values that the server takes for equal in a parent's and a child's column have equal bytes here.
///
/// The server compares the bytes that it stores. As DECIMAL(9,1), 10.5 has the bytes of 10.05 as DECIMAL(10,2), and as
/// YEAR, 2001 those of 101 as TINYINT (seen on MySQL 9.7 and `MariaDB` 10.11).
fn agree(parent: &Column, child: &Column, bytewise: bool) -> bool {
    let (form, other) = (ValueForm::of(parent, bytewise), ValueForm::of(child, bytewise));
    let stored_alike = parent.data_type == child.data_type
        && (parent.data_type != "decimal" || (parent.length, parent.decimals) == (child.length, child.decimals));
    form.agrees(other) && (stored_alike || !matches!(form, ValueForm::Plain))
}

/// Key under which the server hashes a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerTarget {
    /// The bytes before the values.
    pub prefix: Vec<u8>,
    /// True if the reference has all parts of the parent's key.
    pub whole: bool,
    /// For each part the length to which the server fills the child's text, where it differs from the parent's.
    pub fills: Vec<Option<u32>>,
}

/// Returns the parent's key under which the server hashes a reference.
///
/// That is the first unique key that begins with the columns in their order. It may have more columns. A reference to a
/// part of a key then conflicts with other references to the same part, but not with the parent's row. Nor does it
/// conflict with that row where the server fills the child's text to another length than the parent's; then the length
/// is put before the value.
pub(super) fn server_target(
    child: &Table,
    key: &ForeignKey,
    catalog: &Catalog,
) -> Result<Option<ServerTarget>, Reason> {
    let parent = catalog.get(&key.parent).or_else(|| catalog.previous(&key.parent).next());
    let parent = parent.ok_or(Reason::UnknownParent)?;
    let Some(unique) = parent.unique_keys.iter().find(|unique| begins_with(parent, unique, key)) else {
        return Ok(None);
    };
    let filled = |table: &Table, index: usize| table.columns.get(index).and_then(filled_length);
    let fill = |(own, part): (&usize, &KeyPart)| {
        let own = filled(child, *own);
        let parents = if let KeyPart::Column(index) = part { filled(parent, *index) } else { None };
        (own != parents).then(|| own.unwrap_or(0))
    };
    Ok(Some(ServerTarget {
        prefix: key_prefix(&unique.name, &key.parent),
        whole: unique.parts.len() == key.columns.len(),
        fills: key.columns.iter().zip(&unique.parts).map(fill).collect(),
    }))
}

/// Returns a number for a column's type: columns whose equal values the server hashes to different bytes have different
/// numbers.
pub(super) fn signature(column: &Column) -> u64 {
    let Column { data_type, unsigned, collation, labels, length, .. } = column;
    let fixed = matches!(data_type.as_str(), "decimal" | "bit" | "binary").then_some(*length);
    let text = format!("{data_type} {unsigned} {collation:?} {} {fixed:?} {:?}", labels.len(), filled_length(column));
    xxh64(text.as_bytes(), 0)
}

/// Returns the length, in characters, to which the server fills a text before it hashes it; none where the text keeps
/// its own length.
///
/// Seen on 9.7: CHAR is always filled; VARCHAR is filled under collations that pad, and its buffer includes the bytes
/// of its length.
fn filled_length(column: &Column) -> Option<u32> {
    let length = column.length?;
    let collation = Collation::by_name(column.collation.as_deref()?)?;
    let bytes_of_length = if length > 255 && collation.is_single_byte() { 2 } else { 1 };
    match column.data_type.as_str() {
        "char" => Some(length),
        "varchar" if collation.pad_space() => Some(length + bytes_of_length),
        _ => None,
    }
}

fn begins_with(parent: &Table, unique: &UniqueKey, key: &ForeignKey) -> bool {
    let is = |part: &KeyPart, name: &String| match part {
        KeyPart::Column(index) => {
            parent.columns.get(*index).is_some_and(|column| column.name.to_lowercase() == name.to_lowercase())
        }
        _ => false,
    };
    unique.parts.len() >= key.parent_columns.len()
        && unique.parts.iter().zip(&key.parent_columns).all(|(part, name)| is(part, name))
}

/// Returns the child's columns in the order of a unique key's parts, if the foreign key names exactly that key's
/// columns.
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

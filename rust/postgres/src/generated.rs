//! Generated columns that a row image leaves out, or has with another value than the column.
//!
//! `MariaDB` from 11.x on logs no generated columns in the images of UPDATE and DELETE, and the target stores their values as plain ones.

use std::borrow::Cow;

use paraply_core::value::Value;

use super::error::RenderError;
use super::mapping::TableMapping;
use super::render::{Change, Image};

type Row<'r, 'v> = Cow<'r, [Option<Value<'v>>]>;

/// A change whose images hold the generated columns that can be computed.
pub(super) struct Completed<'r, 'v> {
    before: Option<Row<'r, 'v>>,
    after: Option<Row<'r, 'v>>,
}

impl<'v> Completed<'_, 'v> {
    /// Returns the change.
    pub(super) fn change(&self) -> Option<Change<'_, 'v>> {
        Some(match (self.before.as_deref(), self.after.as_deref()) {
            (None, Some(after)) => Change::Insert(after),
            (Some(before), None) => Change::Delete(before),
            (Some(before), Some(after)) => Change::Update { before, after },
            (None, None) => return None,
        })
    }
}

/// Computes the generated columns that a row's images leave out.
///
/// # Errors
/// [`RenderError::GeneratedColumn`] where the row gets a value that is neither logged nor computed,
/// [`RenderError::UncertainColumn`] where it is logged wrongly.
pub(super) fn complete<'r, 'v>(
    table: &TableMapping,
    before: Option<Image<'r, 'v>>,
    after: Option<Image<'r, 'v>>,
) -> Result<Completed<'r, 'v>, RenderError> {
    let lacks = |image: Image<'_, '_>| {
        !table.recomputed.is_empty() || table.columns.iter().zip(image).any(|(c, value)| c.generated && value.is_none())
    };
    if ![before, after].into_iter().flatten().any(lacks) {
        return Ok(Completed { before: before.map(Cow::Borrowed), after: after.map(Cow::Borrowed) });
    }
    let before = before.map(|image| filled(table, image, None));
    let after = after.map(|image| filled(table, image, before.as_deref()));
    if let Some(after) = &after {
        check(table, after, before.is_some())?;
    }
    Ok(Completed { before: before.map(Cow::Owned), after: after.map(Cow::Owned) })
}

fn filled<'v>(table: &TableMapping, image: Image<'_, 'v>, before: Option<Image<'_, 'v>>) -> Vec<Option<Value<'v>>> {
    let mut image = image.to_vec();
    for &column in &table.recomputed {
        image.get_mut(column).map(Option::take);
    }
    for computed in &table.computed {
        let value = computed.value(|source| {
            let earlier = || before.filter(|_| !table.is_generated(source))?.get(source).copied().flatten();
            image.get(source).copied().flatten().or_else(earlier)
        });
        if let Some(slot) = image.get_mut(computed.column()).filter(|slot| slot.is_none()) {
            *slot = value;
        }
    }
    image
}

/// Refuses a row with an unknown generated column; a column whose sources an update leaves out too has not changed.
fn check(table: &TableMapping, after: Image<'_, '_>, is_update: bool) -> Result<(), RenderError> {
    let lacks = |column: usize| after.get(column).is_some_and(Option::is_none);
    let is_stable = |column: usize| {
        let computed = table.computed.iter().find(|computed| computed.column() == column);
        computed.is_some_and(|computed| computed.sources().iter().all(|&s| lacks(s) && !table.is_generated(s)))
    };
    let unknown = table
        .columns
        .iter()
        .enumerate()
        .find(|(index, column)| column.generated && lacks(*index) && !(is_update && is_stable(*index)));
    let Some((index, column)) = unknown else { return Ok(()) };
    let (table_name, column) = (table.source.clone(), column.name.clone());
    Err(if table.recomputed.contains(&index) {
        RenderError::UncertainColumn { table: table_name, column }
    } else {
        RenderError::GeneratedColumn { table: table_name, column }
    })
}

#[cfg(test)]
mod tests;

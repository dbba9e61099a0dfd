//! A row's two images, and the rules by which they complete each other.

use super::part::Part;
use super::row::{Image, Row};
use crate::generated::Computed;
use crate::value::Value;

/// A generated column that images may leave out although its value changes.
#[derive(Debug)]
pub(super) struct LeftOut {
    pub column: usize,
    /// Its computation, if its expression is understood.
    pub computed: Option<Computed>,
}

/// The values of such a column in one row.
#[derive(Debug)]
pub(super) struct GeneratedValue<'v> {
    column: usize,
    before: Option<Value<'v>>,
    after: Option<Value<'v>>,
    /// True if the change certainly left the value unchanged.
    untouched: bool,
}

/// A row's images, which complete each other.
pub(super) struct Images<'r, 'v> {
    pub before: Option<Image<'r, 'v>>,
    pub after: Option<Image<'r, 'v>>,
    generated: &'r [GeneratedValue<'v>],
}

impl<'r, 'v> Images<'r, 'v> {
    /// Creates a row's images, with the result of [`generated_values`].
    pub(super) fn new(row: &Row<'r, 'v>, generated: &'r [GeneratedValue<'v>]) -> Self {
        Self { before: row.before, after: row.after, generated }
    }

    fn generated(&self, column: usize) -> Option<&'r GeneratedValue<'v>> {
        self.generated.iter().find(|value| value.column == column)
    }

    /// Returns the value before the change.
    pub(super) fn before(&self, column: usize) -> Option<&'r Value<'v>> {
        let logged = self.before?.get(column)?.as_ref();
        logged.or_else(|| self.generated(column)?.before.as_ref())
    }

    /// Returns the value after the change. A column that an update's after image lacks is unchanged, unless it is a
    /// generated column.
    pub(super) fn after(&self, column: usize) -> Option<&'r Value<'v>> {
        let logged = self.after?.get(column)?.as_ref();
        logged.or_else(|| match self.generated(column) {
            Some(value) => value.after.as_ref(),
            None => self.before(column),
        })
    }

    /// Returns true if both images exist.
    pub(super) fn is_update(&self) -> bool {
        self.before.is_some() && self.after.is_some()
    }

    /// Returns true if an update's after image holds none of these columns.
    pub(super) fn untouched(&self, parts: &[Part]) -> bool {
        let lacks = |part: &Part| matches!(part, Part::Column { index, .. } if self.lacks(*index));
        self.is_update() && parts.iter().all(lacks)
    }

    /// Returns true if the after image leaves a column out because it has not changed.
    fn lacks(&self, column: usize) -> bool {
        self.after.and_then(|a| a.get(column)).is_some_and(Option::is_none)
            && self.generated(column).is_none_or(|value| value.untouched)
    }

    /// Returns true if an update may have changed any of these columns.
    pub(super) fn changed(&self, columns: &[usize]) -> bool {
        let changed = |column: usize| match self.generated(column) {
            Some(value) if value.untouched => false,
            Some(_) => self.after(column).is_none() || self.before(column) != self.after(column),
            None => {
                let after = self.after.and_then(|a| a.get(column)).and_then(Option::as_ref);
                after.is_some_and(|after| self.before(column) != Some(after))
            }
        };
        self.is_update() && columns.iter().any(|c| changed(*c))
    }
}

/// Computes the generated columns that a row's images leave out; `columns` are in the table's order.
pub(super) fn generated_values<'v>(columns: &[LeftOut], row: &Row<'_, 'v>) -> Vec<GeneratedValue<'v>> {
    let mut found = Vec::with_capacity(columns.len());
    for left_out in columns {
        let value = generated_value(left_out, &Images::new(row, &found));
        found.push(value);
    }
    found
}

fn generated_value<'v>(left_out: &LeftOut, images: &Images<'_, 'v>) -> GeneratedValue<'v> {
    let LeftOut { column, computed } = left_out;
    let logged = |image: Option<Image<'_, 'v>>| image.and_then(|image| image.get(*column).copied().flatten());
    let is_stable = |computed: &Computed| computed.sources().iter().all(|source| images.lacks(*source));
    let computed = computed.as_ref();
    let before = logged(images.before).or_else(|| computed?.value(|source| images.before(source).copied()));
    let untouched = images.is_update() && images.lacks(*column) && computed.is_some_and(is_stable);
    let after = match logged(images.after) {
        Some(value) => Some(value),
        None if untouched => before,
        None => computed.and_then(|computed| computed.value(|source| images.after(source).copied())),
    };
    GeneratedValue { column: *column, before, after, untouched }
}

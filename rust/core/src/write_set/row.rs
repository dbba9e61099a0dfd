//! One changed row.

use crate::value::Value;

/// The values of a row image by column; none for a column that a partial image lacks.
pub type Image<'r, 'v> = &'r [Option<Value<'v>>];

/// One changed row.
#[derive(Debug, Clone, Copy)]
pub struct Row<'r, 'v> {
    /// The row before; none for an insert.
    pub before: Option<Image<'r, 'v>>,
    /// The row after; none for a delete. A column that it lacks has not changed.
    pub after: Option<Image<'r, 'v>>,
    /// True if foreign keys were checked when the row was written (the event's own flag).
    pub foreign_key_checks: bool,
}

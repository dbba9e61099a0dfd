//! Rows of one row event with all their columns, which can be read from the last to the first.

use paraply_core::schema::{Catalog, ReferenceAction, TableName};
use paraply_core::value::Value;

use crate::rows::known_tables::KnownTables;
use crate::rows::row_walk::{RowsError, Step, event_bytes};
use crate::rows::{NO_FOREIGN_KEY_CHECKS, RowBuffer, RowsEvent, RowsHeader, SQL_FOREIGN_KEYS};
use crate::transaction::Transaction;

/// The values of a row by column; none for a column that the log leaves out.
pub type Values<'a> = Vec<Option<Value<'a>>>;

/// One changed row.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRow<'a> {
    /// The row before; none for an insert.
    pub before: Option<Values<'a>>,
    /// The row after; none for a delete.
    pub after: Option<Values<'a>>,
}

impl StepRow<'_> {
    /// Returns the change that takes this one back.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { before: self.after, after: self.before }
    }
}

/// Rows of a row event, and its flags.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRows<'a> {
    /// The event's flags.
    pub flags: u16,
    /// The rows in the log's order.
    pub rows: Vec<StepRow<'a>>,
}

impl StepRows<'_> {
    /// Returns true if foreign keys may have changed rows that the log does not hold, if there are such keys.
    pub fn hides_cascades(&self) -> bool {
        self.flags & (NO_FOREIGN_KEY_CHECKS | SQL_FOREIGN_KEYS) == 0
    }
}

/// Reads the rows of a row event.
///
/// # Errors
///
/// The event is damaged.
pub fn step_rows<'a>(
    transaction: &'a Transaction,
    step: Step,
    known: &'a KnownTables,
) -> Result<StepRows<'a>, RowsError> {
    let (Some(event), Some(table)) = (transaction.events.get(step.event), known.get(step.table)) else {
        return Ok(StepRows { flags: 0, rows: Vec::new() });
    };
    let failed = |malformed| RowsError::new(transaction, event, malformed);
    let bytes = event_bytes(transaction, event).map_err(failed)?;
    let header = RowsHeader::parse(bytes, &transaction.format).map_err(failed)?;
    let parsed = RowsEvent::with_header(header, bytes, &table.map).map_err(failed)?;
    let mut buffer = RowBuffer::default();
    let mut walk = parsed.rows(&mut buffer, None);
    let mut rows = Vec::new();
    while let Some(row) = walk.next_row() {
        let row = row.map_err(failed)?;
        rows.push(StepRow { before: row.before.map(<[_]>::to_vec), after: row.after.map(<[_]>::to_vec) });
    }
    Ok(StepRows { flags: header.flags, rows })
}

/// A foreign key by which a change of a parent row changes child rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CascadingKey {
    /// The child table.
    pub child: TableName,
    /// Columns of the child and of the parent, by name and by index.
    pub columns: Vec<(String, usize)>,
    /// True if the deletion of a parent changes children.
    pub on_delete: bool,
    /// True if a change of the parent's key changes children.
    pub on_update: bool,
}

/// Returns the foreign keys through which changes of a table's rows change others.
pub fn cascading_keys(catalog: &Catalog, table: &TableName) -> Vec<CascadingKey> {
    let Some(parent) = catalog.get(table) else { return Vec::new() };
    let mut found = Vec::new();
    for child in catalog.children(table) {
        for key in child.foreign_keys.iter().filter(|key| key.parent == *table) {
            let name = |index: &usize| child.columns.get(*index).map(|column| column.name.clone());
            let pairs = key.columns.iter().zip(&key.parent_columns);
            let columns = pairs.filter_map(|(own, far)| Some((name(own)?, parent.column_index(far)?)));
            let (on_delete, on_update) =
                (key.on_delete != ReferenceAction::Refuse, key.on_update != ReferenceAction::Refuse);
            if on_delete || on_update {
                found.push(CascadingKey {
                    child: child.name.clone(),
                    columns: columns.collect(),
                    on_delete,
                    on_update,
                });
            }
        }
    }
    found
}

impl CascadingKey {
    /// Returns true if a change of a parent row may change child rows by this key.
    pub fn acts_on(&self, row: &StepRow<'_>) -> bool {
        match (&row.before, &row.after) {
            (Some(_), None) => self.on_delete,
            (Some(before), Some(after)) => {
                self.on_update && self.columns.iter().any(|(_, index)| before.get(*index) != after.get(*index))
            }
            _ => false,
        }
    }
}

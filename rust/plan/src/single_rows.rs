//! A transaction taken apart: each row event, and each row, as a block of its own, for a target that some rows do not fit.

use paraply_binlog::event::types::TABLE_MAP;
use paraply_binlog::rows::RowsEvent;
use paraply_binlog::rows::image_cursor::Decoded;
use paraply_binlog::rows::known_tables::KnownTables;
use paraply_binlog::rows::row_walk::{RowPlan, RowsError, event_bytes};
use paraply_binlog::rows::single_rows::{SingleRow, single_rows};
use paraply_binlog::rows::step_rows::Values;
use paraply_binlog::rows::values::value_text::{TableForm, write_value};
use paraply_binlog::transaction::{RawEvent, RowsKind, Transaction};
use paraply_core::schema::{Catalog, TableName};

use crate::block::Block;
use crate::split::{Unit, header_of, part_of, units};

/// The columns that an image holds, with their values as text; none for NULL.
pub type ImageText = Vec<(String, Option<String>)>;

/// One row of a block.
#[derive(Debug, Clone)]
pub struct RowBlocks {
    /// The table.
    pub table: TableName,
    /// Kind of the change.
    pub kind: RowsKind,
    /// The row before the change; none for an insert.
    pub before: Option<ImageText>,
    /// The row after the change; none for a deletion.
    pub after: Option<ImageText>,
    /// Columns that the image after the change does not hold whole.
    pub missing: Vec<String>,
    /// The change.
    pub itself: Block,
    /// The change that makes a row that differs what it is after this change; see [`SingleRow::overwriting`].
    pub overwriting: Option<Block>,
}

/// The row events of a block, one after the other.
#[derive(Debug)]
pub struct RowEvents {
    /// Row events with their tables, and the indices of their transactions.
    units: Vec<(usize, Unit)>,
    next: usize,
}

impl RowEvents {
    /// Finds the row events of a block.
    ///
    /// # Errors
    /// A damaged row event.
    pub fn of(block: &Block) -> Result<Self, RowsError> {
        let mut found = Vec::new();
        for (place, transaction) in block.transactions().enumerate() {
            found.extend(units(transaction)?.into_iter().map(|unit| (place, unit)));
        }
        Ok(Self { units: found, next: 0 })
    }

    /// Returns the next row event as a block of its own; none after the last one.
    pub fn next_block(&mut self, block: &Block) -> Option<Block> {
        let (place, unit) = self.units.get(self.next)?;
        self.next += 1;
        Some(Block::of_part(part_of(block.transactions().nth(*place)?, &[*unit]), false, block.separate_tables))
    }
}

/// Returns the rows of a block in order, each as a block of its own.
///
/// # Errors
/// A damaged row event.
pub fn block_rows(block: &Block, catalog: &Catalog) -> Result<Vec<RowBlocks>, RowsError> {
    let mut known = KnownTables::default();
    let mut plan = RowPlan::default();
    let mut found = Vec::new();
    for transaction in block.transactions() {
        plan.prepare(transaction, catalog, &mut known)?;
        let maps = units(transaction)?;
        for step in plan.steps() {
            let (Some(event), Some(table)) = (transaction.events.get(step.event), known.get(step.table)) else {
                continue;
            };
            let Some(unit) = maps.iter().find(|unit| unit.rows == step.event) else { continue };
            let form = TableForm::of(table, transaction.format.mariadb);
            let failed = |source| RowsError::new(transaction, event, source);
            let bytes = event_bytes(transaction, event).map_err(failed)?;
            let parsed = RowsEvent::parse(bytes, &table.map, &transaction.format).map_err(failed)?;
            for row in single_rows(&parsed, &transaction.format).map_err(failed)? {
                let part = |bytes: &[u8]| one_row(transaction, unit.map, event, bytes);
                found.push(RowBlocks {
                    table: table.map.name.clone(),
                    kind: row.kind,
                    before: row
                        .row
                        .before
                        .as_ref()
                        .map(|image| text_of(&form, image, None))
                        .transpose()
                        .map_err(failed)?,
                    after: after_text(&form, &row).map_err(failed)?,
                    missing: row
                        .missing
                        .iter()
                        .filter_map(|&index| form.columns.get(index))
                        .map(|c| c.name.clone())
                        .collect(),
                    itself: part(&row.event),
                    overwriting: row.overwriting.as_deref().map(part),
                });
            }
        }
    }
    Ok(found)
}

fn after_text(form: &TableForm, row: &SingleRow<'_>) -> Decoded<Option<ImageText>> {
    row.row.after.as_ref().map(|image| text_of(form, image, row.row.before.as_ref())).transpose()
}

fn text_of(form: &TableForm, image: &Values<'_>, before: Option<&Values<'_>>) -> Decoded<ImageText> {
    let mut found = ImageText::new();
    for (index, (column, value)) in form.columns.iter().zip(image).enumerate() {
        let Some(value) = value else { continue };
        let mut text = Vec::new();
        let earlier = before.and_then(|image| image.get(index)).and_then(Option::as_ref);
        if value.is_null() {
            found.push((column.name.clone(), None));
        } else if write_value(&column.form, value, earlier, &mut text)? {
            found.push((column.name.clone(), Some(String::from_utf8_lossy(&text).into_owned())));
        }
    }
    Ok(found)
}

/// Returns a block with a table map of a transaction and another row event.
fn one_row(transaction: &Transaction, map: usize, event: &RawEvent, bytes: &[u8]) -> Block {
    let map_event = &transaction.events[map];
    let mut data = transaction.data.get(map_event.range.clone()).unwrap_or_default().to_vec();
    let map_end = data.len();
    data.extend_from_slice(bytes);
    let type_code = bytes.get(4).copied().unwrap_or(event.type_code);
    let events = vec![
        RawEvent { range: 0..map_end, type_code: TABLE_MAP, offset: map_event.offset },
        RawEvent { range: map_end..data.len(), type_code, offset: event.offset },
    ];
    let bytes = data.len() as u64;
    let data = data.into();
    Block::of_part(Transaction { events, data, bytes, rows: 1, ..header_of(transaction) }, false, false)
}

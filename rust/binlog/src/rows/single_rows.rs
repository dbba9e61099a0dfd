//! Rows of a row event, each as a row event of its own, and as the event that overwrites what another server holds.

use paraply_core::value::Value;

use crate::event::types;
use crate::rows::image_cursor::Decoded;
use crate::rows::step_rows::{StepRow, Values};
use crate::rows::table_map::bit_is_set;
use crate::rows::{RowBuffer, RowsEvent, STMT_END, flags_place};
use crate::transaction::{Format, RowsKind};

/// Position of an event's type and of its size.
const TYPE_AT: usize = 4;
const SIZE_AT: usize = 9;

/// One row of a row event.
#[derive(Debug, Clone, PartialEq)]
pub struct SingleRow<'a> {
    /// Kind of the change.
    pub kind: RowsKind,
    /// Its images.
    pub row: StepRow<'a>,
    /// A row event with this row only.
    pub event: Vec<u8>,
    /// For an insert, an update of the row with the same key; for an update, an insert of the row after it; none for a deletion, and where
    /// the log has only the differences of a document.
    pub overwriting: Option<Vec<u8>>,
    /// Columns that the image after the change does not hold whole, by index.
    pub missing: Vec<usize>,
}

/// Returns the rows of a row event in order.
///
/// # Errors
/// The event is damaged.
pub fn single_rows<'a>(event: &RowsEvent<'a>, format: &Format) -> Decoded<Vec<SingleRow<'a>>> {
    let kind = event.header.kind;
    let columns = event.table.columns.len();
    let (before_bits, after_bits) = event.columns();
    let other = match kind {
        RowsKind::Insert => after_bits.map(|bits| other_head(event, RowsKind::Update, &[bits, bits], format)),
        RowsKind::Update | RowsKind::PartialUpdate => {
            after_bits.map(|bits| other_head(event, RowsKind::Insert, &[bits], format))
        }
        RowsKind::Delete => None,
    };
    let mut buffer = RowBuffer::default();
    let mut walk = event.rows(&mut buffer, None);
    let mut found = Vec::new();
    while let Some(row) = walk.next_row() {
        let row = row?;
        let values = |image: Option<&[Option<_>]>| image.map(<[_]>::to_vec);
        let row = StepRow { before: values(row.before), after: values(row.after) };
        let bytes = walk.bytes();
        let differs = row.after.as_ref().is_some_and(has_differences);
        let rows: Vec<&[u8]> = if before_bits.is_none() { vec![bytes.after, bytes.after] } else { vec![bytes.after] };
        let missing = row.after.as_ref().map(|after| missing_columns(after, after_bits.unwrap_or_default(), columns));
        found.push(SingleRow {
            kind,
            event: ended([event.head(), bytes.whole].concat(), format),
            overwriting: other.as_ref().filter(|_| !differs).map(|head| {
                let rows: Vec<u8> = rows.concat();
                ended([head.as_slice(), &rows].concat(), format)
            }),
            missing: missing.unwrap_or_default(),
            row,
        });
    }
    Ok(found)
}

fn has_differences(image: &Values<'_>) -> bool {
    image.iter().any(|value| matches!(value, Some(Value::JsonDiff(_))))
}

fn missing_columns(image: &Values<'_>, bits: &[u8], columns: usize) -> Vec<usize> {
    let lacks = |index: usize| {
        let differs = matches!(image.get(index), Some(Some(Value::JsonDiff(_))));
        !bit_is_set(bits, index) || differs
    };
    (0..columns).filter(|&index| lacks(index)).collect()
}

/// Returns the beginning of an event of another kind, up to its rows. The extra row information is left out: it is about partitions, and
/// its form depends on the kind.
fn other_head(event: &RowsEvent<'_>, kind: RowsKind, columns: &[&[u8]], format: &Format) -> Vec<u8> {
    let old = event.event.get(TYPE_AT).copied().unwrap_or_default();
    let code = match (kind, old) {
        (RowsKind::Update, types::WRITE_ROWS_V1) => types::UPDATE_ROWS_V1,
        (RowsKind::Update, _) => types::UPDATE_ROWS,
        (_, types::UPDATE_ROWS_V1) => types::WRITE_ROWS_V1,
        _ => types::WRITE_ROWS,
    };
    let fixed = flags_place(old, format) + 2;
    let (own_before, own_after) = event.columns();
    let bitmaps = own_before.map_or(0, <[u8]>::len) + own_after.map_or(0, <[u8]>::len);
    let width = event.event.get(event.header.body..event.rows_at - bitmaps).unwrap_or_default();
    let mut head = event.event.get(..fixed).unwrap_or_default().to_vec();
    if let Some(place) = head.get_mut(TYPE_AT) {
        *place = code;
    }
    if code >= types::WRITE_ROWS {
        head.extend_from_slice(&[2, 0]);
    }
    head.extend_from_slice(width);
    for bits in columns {
        head.extend_from_slice(bits);
    }
    head
}

/// Returns an event as the last of a statement, with its size.
fn ended(mut event: Vec<u8>, format: &Format) -> Vec<u8> {
    let code = event.get(TYPE_AT).copied().unwrap_or_default();
    if let Some(low) = event.get_mut(flags_place(code, format)) {
        *low |= STMT_END.to_le_bytes()[0];
    }
    let size = u32::try_from(event.len()).unwrap_or(u32::MAX).to_le_bytes();
    if let Some(place) = event.get_mut(SIZE_AT..SIZE_AT + 4) {
        place.copy_from_slice(&size);
    }
    event
}

#[cfg(test)]
mod tests;

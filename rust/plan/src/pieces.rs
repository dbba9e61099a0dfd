//! The row events of large blocks in pieces, so that never all of them are rendered at once.

use std::ops::Range;

use paraply_binlog::event::types::TABLE_MAP;
use paraply_binlog::rows::row_walk::{RowsError, event_bytes};
use paraply_binlog::rows::table_map::split_table_id;
use paraply_binlog::transaction::{RawEvent, Transaction};
use paraply_spool::piece_bytes;

/// Consecutive events of one transaction of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Index of the transaction in the block.
    pub transaction: usize,
    /// Its events.
    pub events: Range<usize>,
    /// Indices of the table maps before them that are in use: the last one of each table id.
    pub maps: Vec<usize>,
}

impl Piece {
    /// Returns true if an event is in the piece, given by the indices of transaction and event.
    pub fn contains(&self, transaction: usize, event: usize) -> bool {
        self.transaction == transaction && self.events.contains(&event)
    }
}

/// Returns the wanted row events in pieces; none if all events together fit into two pieces.
pub(crate) fn pieces<'t>(
    transactions: impl Iterator<Item = &'t Transaction> + Clone,
    wants: impl Fn(usize, usize) -> bool,
) -> Result<Vec<Piece>, RowsError> {
    let most = piece_bytes();
    let size: usize = transactions.clone().map(|transaction| transaction.data.len()).sum();
    if size <= 2 * most {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for (place, transaction) in transactions.enumerate() {
        cut(place, transaction, most, |event| wants(place, event), &mut found)?;
    }
    Ok(found)
}

/// Cuts one transaction.
fn cut(
    place: usize,
    transaction: &Transaction,
    most: usize,
    wants: impl Fn(usize) -> bool,
    found: &mut Vec<Piece>,
) -> Result<(), RowsError> {
    let mut maps: Vec<(u64, usize)> = Vec::new();
    let begin = |at: usize, maps: &[(u64, usize)]| Piece {
        transaction: place,
        events: at..at,
        maps: maps.iter().map(|(_, map)| *map).collect(),
    };
    let mut piece = begin(0, &maps);
    let (mut bytes, mut is_wanted) = (0, false);
    for (index, event) in transaction.events.iter().enumerate() {
        let rows = event.type_code != TABLE_MAP;
        if bytes >= most {
            piece.events.end = index;
            let next = begin(index, &maps);
            let full = std::mem::replace(&mut piece, next);
            found.extend(std::mem::take(&mut is_wanted).then_some(full));
            bytes = 0;
        }
        if rows && wants(index) {
            is_wanted = true;
            bytes += event.range.len();
        } else if !rows {
            let id = table_id(transaction, event)?;
            maps.retain(|(known, _)| *known != id);
            maps.push((id, index));
        }
    }
    piece.events.end = transaction.events.len();
    found.extend(is_wanted.then_some(piece));
    Ok(())
}

fn table_id(transaction: &Transaction, event: &RawEvent) -> Result<u64, RowsError> {
    let id = event_bytes(transaction, event).and_then(|bytes| split_table_id(bytes, &transaction.format));
    id.map(|(id, _)| id).map_err(|source| RowsError::new(transaction, event, source))
}

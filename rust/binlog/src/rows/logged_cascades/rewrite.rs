//! Row events with some of their rows left out, changed or marked.

use std::collections::BTreeMap;

use paraply_spool::Data;

use crate::rows::row_walk::event_bytes;
use crate::rows::{CHILDREN_STAY, STMT_END};
use crate::transaction::{RawEvent, Transaction};

/// Positions of an event's size, a table's id and the flags after it; logs with logged cascades have ids of six bytes.
const SIZE_AT: usize = 9;
const TABLE_AT: usize = 19;
const FLAGS_AT: usize = 25;
/// The table id of an event that only ends a statement.
const NO_TABLE: [u8; 6] = [0xff, 0xff, 0xff, 0, 0, 0];

/// Treatment of a row in the corrected event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deletion<'a> {
    AsItIs(&'a [u8]),
    /// With another image than the log's.
    Other(&'a [u8]),
    /// Without checks of foreign keys.
    ChildrenStay(&'a [u8]),
    LeftOut,
}

/// Events that replace others, and the number of rows that they leave out.
#[derive(Default)]
pub(super) struct Rewritten {
    events: BTreeMap<usize, Vec<Vec<u8>>>,
    rows_left_out: u64,
}

/// Events that replace one event.
pub(super) struct Replacement {
    events: Vec<Vec<u8>>,
    rows_left_out: u64,
}

#[cfg(test)]
impl Replacement {
    pub(super) fn events(&self) -> &[Vec<u8>] {
        &self.events
    }

    pub(super) fn rows_left_out(&self) -> u64 {
        self.rows_left_out
    }
}

/// Returns the replacement of an event, given by its bytes before the rows; none if it stays.
pub(super) fn rewrite(head: &[u8], rows: &[Deletion<'_>]) -> Option<Replacement> {
    if rows.iter().all(|row| matches!(row, Deletion::AsItIs(_))) {
        return None;
    }
    let own = u16::from_le_bytes([*head.get(FLAGS_AT)?, *head.get(FLAGS_AT + 1)?]);
    let mut events: Vec<(u16, Vec<u8>)> = Vec::new();
    let mut rows_left_out = 0;
    for row in rows {
        let (flags, bytes) = match row {
            Deletion::AsItIs(bytes) | Deletion::Other(bytes) => (own & !STMT_END, *bytes),
            Deletion::ChildrenStay(bytes) => (own & !STMT_END | CHILDREN_STAY, *bytes),
            Deletion::LeftOut => {
                rows_left_out += 1;
                continue;
            }
        };
        match events.last_mut() {
            Some((of, event)) if *of == flags => event.extend_from_slice(bytes),
            _ => events.push((flags, [head, bytes].concat())),
        }
    }
    let ends = own & STMT_END;
    if events.is_empty() && ends != 0 {
        let mut end = head.to_vec();
        end.get_mut(TABLE_AT..FLAGS_AT)?.copy_from_slice(&NO_TABLE);
        events.push((own, end));
    }
    let last = events.len();
    for (index, (flags, event)) in events.iter_mut().enumerate() {
        let flags = if index + 1 == last { *flags | ends } else { *flags };
        event.get_mut(FLAGS_AT..FLAGS_AT + 2)?.copy_from_slice(&flags.to_le_bytes());
        let size = u32::try_from(event.len()).ok()?.to_le_bytes();
        event.get_mut(SIZE_AT..SIZE_AT + 4)?.copy_from_slice(&size);
    }
    Some(Replacement { events: events.into_iter().map(|(_, event)| event).collect(), rows_left_out })
}

impl Rewritten {
    /// Replaces the transaction's event with this number.
    pub(super) fn put(&mut self, event: usize, replacement: Replacement) {
        self.rows_left_out += replacement.rows_left_out;
        self.events.insert(event, replacement.events);
    }

    /// Returns the transaction with the replacements; none if there are none.
    pub(super) fn into_transaction(mut self, of: &Transaction) -> Option<Transaction> {
        if self.events.is_empty() {
            return None;
        }
        let mut corrected = of.clone();
        corrected.events = Vec::with_capacity(of.events.len());
        corrected.data = Data::default();
        for (index, event) in of.events.iter().enumerate() {
            let put = |bytes: &[u8], corrected: &mut Transaction| {
                let range = corrected.data.append(bytes);
                corrected.events.push(RawEvent { range, ..event.clone() });
            };
            match self.events.remove(&index) {
                Some(events) => events.iter().for_each(|bytes| put(bytes, &mut corrected)),
                None => put(event_bytes(of, event).unwrap_or_default(), &mut corrected),
            }
        }
        corrected.rows = of.rows.saturating_sub(self.rows_left_out);
        Some(corrected)
    }
}

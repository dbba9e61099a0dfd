//! Combines what is known inside and outside of a chunk into the two numbers of its transactions.

use super::wire::{WireError, read_crossings, read_rows};
use super::{FIRST_LAST_COMMITTED, KeyAnswer, Role};
use crate::certifier::Numbers;

/// A transaction's position and its numbers; a local one has none (R4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbered {
    /// Its position in the trace.
    pub position: i64,
    /// Its numbers.
    pub numbers: Option<Numbers>,
}

/// Appends the numbers of a chunk's transactions in the order of their positions.
///
/// `answers` are those of all parts of the keys; none for a chunk that is the whole trace. `collections` are the
/// numbers after which a collection ran, ascending (R7).
pub fn number_rows(
    rows: &[u8],
    answers: &[KeyAnswer],
    collections: &[i64],
    out: &mut Vec<Numbered>,
) -> Result<(), WireError> {
    let base = answers.first().map_or(FIRST_LAST_COMMITTED, |answer| answer.base);
    let floor = answers.first().map_or(FIRST_LAST_COMMITTED, |answer| answer.floor);
    let (count, rows) = read_rows(rows)?;
    let mut crossed = vec![0; if answers.is_empty() { 0 } else { count + 1 }];
    for answer in answers {
        for (number, dependency) in read_crossings(&answer.crossings)? {
            let newest: &mut i64 = crossed.get_mut(number as usize).ok_or(WireError)?;
            *newest = dependency.max(*newest);
        }
    }
    let mut collected = Collections { numbers: collections, newest: 0 };
    out.reserve(count);
    for row in rows {
        let row = row?;
        let sequence_number = base + i64::from(row.number);
        let inside = if row.dependency == 0 { floor } else { base + i64::from(row.dependency) };
        let across = crossed.get(row.number as usize).copied().unwrap_or_default();
        let numbers = match row.role {
            Role::ViewChange => Some(Numbers::ALONE),
            Role::Local => None,
            // R6: the first remote transaction of all.
            _ if sequence_number == FIRST_LAST_COMMITTED + 1 => Some(Numbers::ALONE),
            Role::Barrier => Some(Numbers { last_committed: sequence_number - 1, sequence_number }),
            Role::Rows => {
                let last_committed = inside.max(across).max(collected.before(sequence_number));
                Some(Numbers { last_committed, sequence_number })
            }
        };
        out.push(Numbered { position: row.position, numbers });
    }
    Ok(())
}

/// The collections that are still to come, and the newest that has run.
struct Collections<'a> {
    numbers: &'a [i64],
    newest: i64,
}

impl Collections<'_> {
    /// Returns the newest collection that ran before a number was assigned; numbers ascend from call to call.
    fn before(&mut self, sequence_number: i64) -> i64 {
        while let Some((first, rest)) = self.numbers.split_first()
            && *first < sequence_number
        {
            self.newest = *first;
            self.numbers = rest;
        }
        self.newest
    }
}

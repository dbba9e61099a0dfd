//! MariaDB's GTIDs where commits leave gaps, which the text of a position cannot hold.
//!
//! A row holds the position up to which everything was acknowledged, and the numbers that were acknowledged after a
//! gap. Blocks follow each other by their positions in the log, so the next block is always known. Where the slot is
//! given, a row only holds numbers that no other row does: its own. Numbers that earlier runs left are in the channel's
//! row.
//!
//! After a long gap a slot's own numbers become many small ranges. Its row then takes over the numbers after the gap
//! from all rows, which is one range for each block in flight. Once that is committed, the other rows need not hold
//! these numbers any more.

use std::collections::HashMap;
use std::mem::take;

use paraply_core::gtid::GtidSet;

use super::entry::Entry;
use super::ranges::{Ranges, Reached, reached};

/// Number of pieces after a gap that a row holds before it takes over those of all rows; without a long gap it holds a
/// few.
pub const MOST_PIECES: usize = 16;
/// Number of commits that are noted before they are merged, if nothing reads them.
const MOST_LATE: usize = 256;

/// Numbers in a row, and the count of acknowledgements when they were written.
type Piece = (u64, Ranges);

/// Tracks the acknowledged GTIDs, and the rows that hold them.
#[derive(Debug)]
pub struct GapLedger {
    executed: GtidSet,
    low: GtidSet,
    text: String,
    /// The last number of each domain in the position.
    reached: Reached,
    initial: Ranges,
    through: u64,
    /// Blocks after the position, by the number of transactions before them.
    early: HashMap<u64, Entry>,
    /// The numbers after a gap, without those acknowledged recently.
    ahead: Ranges,
    late: Vec<Ranges>,
    acknowledged: u64,
    /// Numbers that are in a slot's row and in no other, piece by piece.
    written: HashMap<i64, Vec<Piece>>,
    /// Rows that will take everything over: the number of transactions before the block, and the piece.
    taking: HashMap<i64, (u64, Piece)>,
    most_pieces: usize,
}

impl GapLedger {
    /// Creates a ledger from what is committed.
    ///
    /// # Arguments
    ///
    /// * `executed`: the GTIDs that are committed.
    /// * `low`: the part of `executed` that has no gap before it.
    /// * `beyond`: the numbers after a gap.
    /// * `most_pieces`: see [`MOST_PIECES`].
    pub fn new(executed: GtidSet, low: GtidSet, beyond: Ranges, most_pieces: usize) -> Self {
        let reached = reached(&low);
        Self {
            executed,
            text: low.to_string(),
            low,
            reached,
            initial: beyond,
            through: 0,
            early: HashMap::new(),
            ahead: Ranges::default(),
            late: Vec::new(),
            acknowledged: 0,
            written: HashMap::new(),
            taking: HashMap::new(),
            most_pieces,
        }
    }

    /// Returns the acknowledged GTIDs.
    pub fn executed(&self) -> &GtidSet {
        &self.executed
    }

    pub(super) fn texts(&mut self, entries: &[Entry], slot: Option<i64>) -> Vec<String> {
        let Some(first) = entries.first() else { return Vec::new() };
        let mut held = match slot {
            None => self.initial.clone().union(self.everything()),
            Some(slot) => self.held(slot, first.begin),
        };
        let mut texts = Vec::with_capacity(entries.len());
        for entry in entries {
            held = held.union(&entry.numbers).behind(&self.reached);
            texts.push(held.write(&self.text));
        }
        texts
    }

    pub(super) fn acknowledge(&mut self, entries: Vec<Entry>, slot: Option<i64>) {
        if entries.is_empty() {
            return;
        }
        let numbers = Ranges::union_of(entries.iter().map(|entry| &entry.numbers));
        let taken = slot.and_then(|slot| self.taking.remove(&slot));
        let taken = taken.filter(|(begin, _)| entries.iter().any(|entry| entry.begin == *begin));
        for entry in entries {
            entry.add_to(&mut self.executed);
            self.early.insert(entry.begin, entry);
        }
        self.raise();
        self.acknowledged += 1;
        if let Some(slot) = slot {
            if let Some((_, piece)) = taken {
                self.take_over(slot, piece);
            }
            self.written.entry(slot).or_default().push((self.acknowledged, numbers.clone()));
        }
        self.late.push(numbers);
        if self.late.len() > MOST_LATE {
            self.everything();
        }
    }

    /// Returns the numbers after a gap that a row must hold besides its new ones.
    fn held(&mut self, slot: i64, begin: u64) -> Ranges {
        self.taking.remove(&slot);
        let Some(written) = self.written.get_mut(&slot) else { return Ranges::default() };
        for (_, ranges) in written.iter_mut() {
            *ranges = take(ranges).behind(&self.reached);
        }
        written.retain(|(_, ranges)| !ranges.is_empty());
        if written.len() <= self.most_pieces {
            return Ranges::union_of(written.iter().map(|(_, ranges)| ranges));
        }
        let everything = self.everything().clone();
        self.taking.insert(slot, (begin, (self.acknowledged, everything.clone())));
        everything
    }

    /// Notes that a slot's row now holds everything that was acknowledged up to a time.
    fn take_over(&mut self, slot: i64, piece: Piece) {
        for pieces in self.written.values_mut() {
            pieces.retain(|(then, _)| *then > piece.0);
        }
        self.written.insert(slot, vec![piece]);
    }

    /// Returns all numbers after the position.
    fn everything(&mut self) -> &Ranges {
        let late = take(&mut self.late);
        let ahead = take(&mut self.ahead);
        self.ahead = Ranges::union_of(late.iter().chain([&ahead])).behind(&self.reached);
        &self.ahead
    }

    /// Moves the position over everything that follows it without a gap.
    fn raise(&mut self) {
        let before = self.through;
        while let Some(entry) = self.early.remove(&self.through) {
            self.through = entry.ordinal;
            entry.add_to(&mut self.low);
            for (domain, last) in entry.numbers.last() {
                let reached = self.reached.entry(domain).or_default();
                *reached = last.max(*reached);
            }
        }
        if self.through != before {
            self.text = self.low.to_string();
        }
    }
}

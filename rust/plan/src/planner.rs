//! Cutting transactions into blocks, and finding the blocks that each block must wait for (rules R13 to R15, R19, R21).

use std::collections::BTreeSet;
use std::sync::Arc;

use paraply_binlog::event::types::TABLE_MAP;
use paraply_binlog::read::piece::Place;
use paraply_binlog::transaction::{Identity, Kind, Transaction};
use paraply_core::gtid::{Gtid, GtidSet, Origin};
use paraply_core::schedule::{Dependencies, DependencyTracker, EarlyRows};
use paraply_core::write_set::WriteSet;

use crate::block::{Block, Needs};

/// Greatest size of a block.
#[derive(Debug, Clone, Copy)]
pub struct BlockLimits {
    /// Transactions that may become one commit; 1 merges nothing.
    pub transactions: usize,
    /// Bytes of log after which a block is full.
    pub bytes: u64,
}

/// Transactions applied before: GTIDs decide, and the position counts only for transactions without one (rule R25).
#[derive(Debug, Clone, Default)]
pub struct Passed {
    /// By GTID.
    pub executed: GtidSet,
    /// Last position for transactions without GTID.
    pub after: Option<Place>,
}

impl Passed {
    /// Returns true if a transaction was applied before.
    pub fn contains(&self, transaction: &Transaction) -> bool {
        match &transaction.identity {
            Identity::Gtid(gtid) => self.executed.contains(gtid),
            Identity::Anonymous => self
                .after
                .is_some_and(|place| Place { file: transaction.file, offset: transaction.end_offset } <= place),
        }
    }
}

/// Cuts batches into blocks.
#[derive(Debug, Default)]
pub struct Planner {
    tracker: DependencyTracker,
    executed: Arc<GtidSet>,
    passed: Passed,
    next_id: u64,
    ordinal: u64,
    skipped: u64,
    gathers: bool,
    steps: Option<EarlyRows>,
    reached: BTreeSet<u32>,
    disorder: Option<usize>,
}

impl Planner {
    /// Creates a planner that skips what was applied before, without use of its write sets.
    pub fn new(passed: Passed) -> Self {
        Self { executed: Arc::new(passed.executed.clone()), passed, next_id: 1, ..Self::default() }
    }

    /// Allows transactions that a filter emptied to join any block, so that they cost no commit of their own.
    ///
    /// Not for use where each transaction must keep its own commit on the target (rules R21a, R26).
    #[must_use]
    pub fn gathering_filtered(mut self, gathers: bool) -> Self {
        self.gathers = gathers;
        self
    }

    /// Allows early rows of a block, if the hashes of each row event are known ([`WriteSet::events`]).
    ///
    /// Only where commits are in order: early rows wait for a block up to which everything is committed.
    #[must_use]
    pub fn early_rows(mut self, early_rows: bool) -> Self {
        self.steps = early_rows.then(EarlyRows::default);
        self
    }

    /// Returns the number of transactions skipped since the last block: they count as done once that block is
    /// committed.
    pub fn trailing_skipped(&self) -> u64 {
        self.skipped
    }

    /// Returns the number of the last transaction seen, dense from 1.
    pub fn ordinal(&self) -> u64 {
        self.ordinal
    }

    /// Returns the index of the first transaction of the last batch that a position holds by its number, although it
    /// follows that position in the log (rule R25).
    pub fn disorder(&self) -> Option<usize> {
        self.disorder
    }

    /// Cuts a batch into blocks.
    ///
    /// `sets` holds one write set for each transaction; `committed` is the low-water mark: the block up to which
    /// everything is committed, so that nothing needs to wait for it any more.
    pub fn plan(
        &mut self,
        batch: &Arc<Vec<Transaction>>,
        sets: &[WriteSet],
        limits: BlockLimits,
        committed: u64,
    ) -> Vec<Block> {
        self.tracker.forget_up_to(committed);
        let mut blocks = Vec::new();
        let mut open: Option<Block> = None;
        for (index, (transaction, set)) in batch.iter().zip(sets).enumerate() {
            self.ordinal += 1;
            if self.passed.contains(transaction) {
                self.skipped += 1;
                if self.follows_position(transaction) {
                    self.disorder = self.disorder.or(Some(index));
                }
                continue;
            }
            let alone = stands_alone(transaction, set);
            let joins = |block: &Block| {
                let costless = self.gathers && transaction.filtered;
                same_format(block, transaction) && (costless || fits(block, transaction, limits, self.gathers))
            };
            if alone || !open.as_ref().is_some_and(joins) {
                blocks.extend(open.take());
            }
            let mut block = open.take().unwrap_or_else(|| self.begin(batch));
            self.join(&mut block, index, transaction, set);
            if alone {
                blocks.push(block);
            } else {
                open = Some(block);
            }
        }
        blocks.extend(open);
        for block in &mut blocks {
            block.close_steps();
            block.needs.blocks.retain(|&older| older > committed);
        }
        blocks
    }

    /// Returns true for a transaction whose number is in the position of its MariaDB domain, and which follows that
    /// position in the log: numbers of the domain go back there, so the position does not say whether it was applied.
    fn follows_position(&mut self, transaction: &Transaction) -> bool {
        let Identity::Gtid(Gtid { origin: Origin::MariaDb { domain, server }, number }) = &transaction.identity else {
            return false;
        };
        if self.passed.executed.position(*domain) == Some((*number, *server)) {
            self.reached.insert(*domain);
            return false;
        }
        !transaction.skipped && self.reached.contains(domain)
    }

    fn begin(&mut self, batch: &Arc<Vec<Transaction>>) -> Block {
        let block = Block::new(self.next_id, Arc::clone(batch));
        self.next_id += 1;
        if let Some(steps) = &mut self.steps {
            steps.begin();
        }
        block
    }

    fn join(&mut self, block: &mut Block, index: usize, transaction: &Transaction, set: &WriteSet) {
        block.push(index);
        block.skipped += std::mem::take(&mut self.skipped);
        block.ordinal = self.ordinal;
        if let Identity::Gtid(gtid) = &transaction.identity {
            Arc::make_mut(&mut self.executed).add(gtid);
        }
        block.executed = Arc::clone(&self.executed);
        if changes_nothing(transaction.kind) {
            block.steps.add(transaction, &[]);
            return;
        }
        block.keyed &= !set.missing_keys && (!set.barrier || set.too_many);
        block.separate_tables |= set.separate_tables;
        let found = self.find(block, transaction, set);
        let Needs { blocks, all } = &mut block.needs;
        *all |= found.all;
        blocks.extend(found.blocks);
        blocks.sort_unstable();
        blocks.dedup();
    }

    /// Returns the dependencies that this transaction gives its block; with early rows, those of each row event.
    fn find(&mut self, block: &mut Block, transaction: &Transaction, set: &WriteSet) -> Dependencies {
        let barrier = is_barrier(transaction, set);
        let (tracker, id) = (&mut self.tracker, block.id);
        let (Some(steps), Some(events), false) = (&mut self.steps, &set.events, barrier) else {
            if transaction.events.iter().all(|event| event.type_code == TABLE_MAP) {
                block.steps.add(transaction, &[]); // a filter took its rows out
            }
            return tracker.add(id, &set.exclusive, &set.shared, barrier);
        };
        let mut found = Dependencies::default();
        let (mut exclusive, mut shared) = (Vec::new(), Vec::new());
        let mut waits = Vec::new();
        for (place, touches) in events.iter() {
            split_touches(touches, &mut exclusive, &mut shared);
            let event = tracker.add(id, &exclusive, &shared, false);
            waits.push((place, steps.add(touches, event.blocks.last().copied().unwrap_or_default())));
            found.blocks.extend(event.blocks);
        }
        block.steps.add(transaction, &waits);
        found
    }
}

/// Splits hashes into those that are taken exclusively, and the others.
fn split_touches(touches: &[(u64, bool)], exclusive: &mut Vec<u64>, shared: &mut Vec<u64>) {
    exclusive.clear();
    shared.clear();
    for (key, exclusively) in touches {
        if *exclusively { &mut *exclusive } else { &mut *shared }.push(*key);
    }
}

/// Returns true for an empty transaction or a view change, which only has an identity to record.
fn changes_nothing(kind: Kind) -> bool {
    matches!(kind, Kind::Empty | Kind::ViewChange)
}

fn is_barrier(transaction: &Transaction, set: &WriteSet) -> bool {
    set.barrier || !matches!(transaction.kind, Kind::Dml)
}

/// Returns true if the transaction never shares a commit: statements, XA and transactions whose keys are not known
/// (rules R13, R35).
fn stands_alone(transaction: &Transaction, set: &WriteSet) -> bool {
    !changes_nothing(transaction.kind) && is_barrier(transaction, set)
}

fn same_format(block: &Block, transaction: &Transaction) -> bool {
    block.last().is_some_and(|last| Arc::ptr_eq(&last.format, &transaction.format))
}

/// Returns true if the transaction fits into the block; transactions that a filter emptied always fit where they are
/// gathered.
fn fits(block: &Block, transaction: &Transaction, limits: BlockLimits, gathers: bool) -> bool {
    let counted = block.len() - if gathers { block.filtered() } else { 0 };
    counted < limits.transactions && block.bytes() + transaction.bytes <= limits.bytes
}

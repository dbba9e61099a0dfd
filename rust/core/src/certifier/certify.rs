//! The rules of certification, R1 to R6 and R10.

use std::hint::black_box;

use super::blocks::GtidBlocks;
use super::sweep::Sweep;
use super::table::{Mark, Table};
use super::versions::Versions;
use super::{Candidate, GtidFrom, Kind, Numbers, Options, Outcome, Rejection, Stats};
use crate::gtid::{Gtid, GtidSet};

/// Items whose cache lines are fetched together, ahead of their certification: enough to keep the memory busy, few
/// enough to find them in the first-level cache.
const AHEAD: usize = 64;

/// R1: the number that everything may depend on at the start.
const FIRST_LAST_COMMITTED: i64 = 1;
/// R1: the first number that is assigned.
const FIRST_NUMBER: i64 = 2;
/// R4, R9: value that is stored where there is no number.
pub(super) const NO_NUMBER: i64 = -1;

/// Decides which transactions of a group may commit, and stamps them with the numbers of the logical clock.
///
/// Every member that certifies the same transactions and collections in the same order comes to the same answers.
#[derive(Debug)]
pub struct Certifier {
    pub(super) options: Options,
    pub(super) table: Table,
    pub(super) versions: Versions,
    pub(super) last_committed_global: i64,
    pub(super) next_number: i64,
    /// Base that is subtracted from a number to keep it in 32 bits.
    base: i64,
    first_remote_pending: bool,
    pub(super) known: GtidSet,
    committed: GtidSet,
    pub(super) blocks: Option<GtidBlocks>,
    pub(super) stats: Stats,
    pub(super) sweep: Sweep,
}

impl Certifier {
    /// Creates a certifier of a member that has just started (R1).
    pub fn new(options: Options) -> Self {
        Self {
            options,
            table: Table::new(),
            versions: Versions::default(),
            last_committed_global: FIRST_LAST_COMMITTED,
            next_number: FIRST_NUMBER,
            base: 0,
            first_remote_pending: options.first_remote_alone,
            known: GtidSet::new(),
            committed: GtidSet::new(),
            blocks: None,
            stats: Stats::default(),
            sweep: Sweep::default(),
        }
    }

    /// Assigns GTIDs from `blocks` to transactions that ask for one with [`GtidFrom::Block`] (R10).
    #[must_use]
    pub fn with_blocks(mut self, blocks: GtidBlocks) -> Self {
        self.blocks = Some(blocks);
        self
    }

    /// Certifies one transaction.
    pub fn certify(&mut self, candidate: &Candidate<'_>) -> Outcome {
        self.sweep_on(candidate.items.len());
        match self.reason_to_reject(candidate) {
            Some(rejection) => {
                match rejection {
                    Rejection::Conflict { .. } => self.stats.conflicts += 1,
                    Rejection::GtidUsed(_) => self.stats.gtids_used += 1,
                }
                Outcome::Rejected(rejection)
            }
            None => self.accept(candidate),
        }
    }

    /// Certifies transactions in their order. The result is the same as one by one, but the memory is fetched for many
    /// items at once.
    pub fn certify_batch(&mut self, candidates: &[Candidate<'_>]) -> Vec<Outcome> {
        let mut outcomes = Vec::with_capacity(candidates.len());
        let mut rest = candidates;
        while !rest.is_empty() {
            let mut items = 0;
            let fits = rest.iter().take_while(|candidate| {
                items += candidate.items.len();
                items <= AHEAD
            });
            let (group, later) = rest.split_at(fits.count().max(1));
            self.fetch(group);
            outcomes.extend(group.iter().map(|candidate| self.certify(candidate)));
            rest = later;
        }
        outcomes
    }

    /// Starts the loads for a group of transactions; none waits for another.
    fn fetch(&self, group: &[Candidate<'_>]) {
        let mut seen = 0;
        for item in group.iter().flat_map(|candidate| candidate.items).take(AHEAD) {
            seen ^= self.table.touch(*item);
        }
        for candidate in group.iter().filter(|candidate| candidate.snapshot.is_some()) {
            for mark in candidate.items.iter().take(AHEAD).filter_map(|item| self.table.get(*item)) {
                seen ^= mark.version().map_or(0, |version| self.versions.touch(version));
            }
        }
        black_box(seen);
    }

    fn reason_to_reject(&mut self, candidate: &Candidate<'_>) -> Option<Rejection> {
        if let GtidFrom::Own(gtid) = candidate.gtid
            && self.known.contains(gtid)
            && self.committed.contains(gtid)
        {
            return Some(Rejection::GtidUsed(gtid.clone()));
        }
        let item = self.first_conflict(candidate.items, candidate.snapshot?)?;
        Some(Rejection::Conflict { item })
    }

    /// R2: Returns the first item that was written at a version that `snapshot` does not contain.
    fn first_conflict(&mut self, items: &[u64], snapshot: &GtidSet) -> Option<u64> {
        let reference = self.versions.reference(snapshot);
        let mut passed = None;
        for item in items {
            let Some(version) = self.table.get(*item).and_then(Mark::version) else { continue };
            if passed == Some(version) {
                continue;
            }
            if !self.versions.is_within(version, &reference) && !self.versions.is_dead(version) {
                return Some(*item);
            }
            passed = Some(version);
        }
        None
    }

    fn accept(&mut self, candidate: &Candidate<'_>) -> Outcome {
        let gtid = self.gtid_for(candidate.gtid);
        let barrier = candidate.kind == Kind::Barrier || candidate.items.is_empty();
        let number = (!candidate.local).then(|| self.take_number());
        let before = self.store(candidate, number, gtid.as_ref());
        self.count(candidate, barrier);
        let numbers = number.map(|number| self.number_remote(number, before, barrier));
        Outcome::Certified { numbers, gtid }
    }

    fn gtid_for(&mut self, from: GtidFrom<'_>) -> Option<Gtid> {
        let gtid = match from {
            GtidFrom::Nowhere => return None,
            GtidFrom::Own(gtid) => gtid.clone(),
            GtidFrom::Block(member) => self.blocks.as_mut()?.assign(member, &self.known)?,
        };
        self.known.add(&gtid);
        Some(gtid)
    }

    fn take_number(&mut self) -> i64 {
        let number = self.next_number;
        self.next_number += 1;
        if number - self.base > i64::from(Mark::MAX_NUMBER) {
            self.rebase();
        }
        number
    }

    /// Raises the base, so that larger numbers fit. Numbers that no longer fit count as the smallest number that does,
    /// which is never too low. The difference shows only after a thousand million transactions without a barrier or a
    /// collection.
    fn rebase(&mut self) {
        let shift = Mark::MAX_NUMBER / 2;
        self.base += i64::from(shift);
        self.last_committed_global = self.last_committed_global.max(self.base);
        self.table.lower_numbers(shift);
    }

    /// R3 and R4: Stores the write set, and returns the highest number stored with it before, or -1.
    fn store(&mut self, candidate: &Candidate<'_>, number: Option<i64>, gtid: Option<&Gtid>) -> i64 {
        let version = match candidate.snapshot {
            Some(snapshot) if !candidate.items.is_empty() => {
                Some(self.versions.keep(snapshot, gtid, number.unwrap_or(NO_NUMBER)))
            }
            _ => None,
        };
        let relative = number.map_or(0, |number| (number - self.base) as u32);
        let own = version.map_or(Mark::of_number(relative), Mark::of_version);
        // Held once more than the version has items, so that it is not freed between two of them.
        if let Some(version) = version {
            self.versions.hold(version, candidate.items.len() as u32 + 1);
        }
        let highest = self.replace(candidate.items, own);
        if let Some(version) = version {
            self.versions.release(version);
        }
        highest
    }

    /// Marks the items as written by this transaction; returns the highest number that others stored with them, or -1.
    fn replace(&mut self, items: &[u64], own: Mark) -> i64 {
        let window = self.window();
        let sweeping = self.is_sweeping();
        let Self { table, versions, base, .. } = self;
        let mut highest_relative = 0;
        let mut highest = NO_NUMBER;
        for item in items {
            let old = table.put(*item, own, |mark| drop_if_dead(mark, versions, window, sweeping));
            match old.map(|mark| (mark, mark.version())) {
                Some((mark, Some(version))) => {
                    if mark != own {
                        highest = highest.max(versions.number(version));
                    }
                    versions.release(version);
                }
                Some((mark, None)) if mark != own => highest_relative = mark.number().max(highest_relative),
                _ => {}
            }
        }
        if highest_relative == 0 { highest } else { highest.max(i64::from(highest_relative) + *base) }
    }

    /// R3 and R5: Returns the numbers of a remote transaction whose items' highest number was `before`.
    fn number_remote(&mut self, number: i64, before: i64, barrier: bool) -> Numbers {
        let last_committed = if barrier {
            self.last_committed_global = number;
            number - 1
        } else {
            self.last_committed_global.max(before)
        };
        self.stamp(Numbers { last_committed, sequence_number: number })
    }

    /// Returns the last number that every transaction depends on, as it is stored.
    pub(super) fn window(&self) -> u32 {
        (self.last_committed_global - self.base).max(0) as u32
    }

    /// R6: The first remote transaction runs alone, though its numbers are used up.
    fn stamp(&mut self, numbers: Numbers) -> Numbers {
        if std::mem::take(&mut self.first_remote_pending) { Numbers::ALONE } else { numbers }
    }

    fn count(&mut self, candidate: &Candidate<'_>, barrier: bool) {
        self.stats.positive += 1;
        self.stats.items += candidate.items.len() as u64;
        self.stats.local += u64::from(candidate.local);
        self.stats.barriers += u64::from(barrier && !candidate.local);
    }

    /// Returns the numbers of a view change: it runs alone and uses up no number (R6). Releases the unused numbers of
    /// the members' blocks, so that a member that joins with this view assigns the same GTIDs as all others (R10).
    pub fn view_change(&mut self) -> Numbers {
        if let Some(blocks) = &mut self.blocks {
            blocks.release();
        }
        Numbers::ALONE
    }

    /// Notes that the member has committed these transactions (R10).
    pub fn commit(&mut self, gtids: &GtidSet) {
        self.committed.extend(gtids);
    }

    /// Returns the GTIDs that were certified or came with the certification info.
    pub fn known(&self) -> &GtidSet {
        &self.known
    }

    /// Returns the number that the next remote transaction gets.
    pub fn next_number(&self) -> i64 {
        self.next_number
    }

    /// Returns the number that every remote transaction depends on at least.
    pub fn last_committed_global(&self) -> i64 {
        self.last_committed_global
    }

    /// Returns the counters of this certifier.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Returns the number of items held, including those that a collection has removed but that are not swept yet.
    pub fn items_held(&self) -> usize {
        self.table.len()
    }

    /// Returns the size of the certification info in bytes.
    pub fn memory(&self) -> usize {
        self.table.memory() + self.versions.memory()
    }
}

/// Returns true if an item need not be kept: its version was collected, or it has no version and its number is below
/// the number that every transaction depends on anyway. Releases the item's version. Versions are only checked while
/// `sweeping`.
pub(super) fn drop_if_dead(mark: Mark, versions: &mut Versions, window: u32, sweeping: bool) -> bool {
    let Some(version) = mark.version() else { return mark.number() <= window };
    let dead = sweeping && versions.is_dead(version);
    if dead {
        versions.release(version);
    }
    dead
}

//! Compares recomputed numbers with those that a server stamped, and infers the collections that the log does not show.

// These numbers come from logs and traces: an access outside of a list is an error, never a panic.
#![cfg_attr(not(test), warn(clippy::indexing_slicing))]

/// The two numbers of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The newest transaction that must be committed before this one starts.
    pub last_committed: i64,
    /// Its own number.
    pub sequence_number: i64,
}

/// One transaction whose numbers differ; `place` is whatever the caller needs to find it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference<P> {
    /// Position of the transaction.
    pub place: P,
    /// Numbers in the log.
    pub logged: Stamp,
    /// Numbers by the rules.
    pub computed: Stamp,
}

/// Least distance of two collections, in microseconds: they run once a minute, so closer ones are not believed.
const COLLECTIONS_APART: i64 = 20_000_000;

/// Number of differences that are kept one by one; all are counted.
const MOST_DIFFERENCES: usize = 1000;

/// Number of raised transactions that make a suspected collection certain: the first one alone may be a missed
/// dependency.
const RAISED_TO_BELIEVE: u64 = 2;

/// A suspected collection: `last_committed` jumped to `floor`, and nothing has contradicted it yet.
#[derive(Debug, Clone)]
struct Suspect<P> {
    floor: i64,
    raised: u64,
    since: Option<i64>,
    first: Difference<P>,
}

/// Compares stamps in the order of certification.
///
/// A garbage collection leaves no event in a log. It raises every later transaction's `last_committed` to the last
/// number assigned (rule R7), so it is inferred where several transactions are raised to one and the same number and
/// none falls below.
#[derive(Debug, Clone)]
pub struct StampComparison<P> {
    infer_collections: bool,
    floor: i64,
    suspect: Option<Suspect<P>>,
    transactions: u64,
    different: u64,
    missed: u64,
    differences: Vec<Difference<P>>,
    collections: Vec<i64>,
}

impl<P: Clone> StampComparison<P> {
    /// Starts a comparison; `infer_collections` allows unseen garbage collections.
    pub fn new(infer_collections: bool) -> Self {
        Self {
            infer_collections,
            floor: 0,
            suspect: None,
            transactions: 0,
            different: 0,
            missed: 0,
            differences: Vec::new(),
            collections: Vec::new(),
        }
    }

    /// Notes that the certifier started over: earlier collections do not count any more.
    pub fn restart(&mut self) {
        self.reject_suspect();
        self.floor = 0;
    }

    /// Compares one transaction; `committed_at` in microseconds helps to tell collections from missed dependencies.
    pub fn observe(&mut self, logged: Stamp, computed: Stamp, committed_at: Option<i64>, place: P) {
        self.transactions += 1;
        let expected = self.raised(computed);
        if self.settle_suspect(logged, expected, committed_at) {
            return;
        }
        let expected = self.raised(computed);
        if logged == expected {
            return;
        }
        let difference = Difference { place, logged, computed: expected };
        if self.infer_collections && may_be_collection(logged, expected) {
            self.suspect =
                Some(Suspect { floor: logged.last_committed, raised: 1, since: committed_at, first: difference });
        } else {
            self.record(1, difference);
        }
    }

    /// Notes a collection after this number that the log itself shows.
    pub fn note_collection(&mut self, number: i64) {
        self.collections.push(number);
    }

    /// Ends the comparison; a collection that only one transaction indicates is not believed.
    pub fn finish(&mut self) {
        self.reject_suspect();
    }

    /// Returns the number of transactions compared.
    pub fn transactions(&self) -> u64 {
        self.transactions
    }

    /// Returns the number of transactions whose numbers differ.
    pub fn different(&self) -> u64 {
        self.different
    }

    /// Returns the number of transactions whose computed `last_committed` is smaller than the server's: a dependency
    /// that the rules miss.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Returns the first transaction that differs.
    pub fn first_difference(&self) -> Option<&Difference<P>> {
        self.differences.first()
    }

    /// Returns the first thousand transactions that differ.
    pub fn differences(&self) -> &[Difference<P>] {
        &self.differences
    }

    /// Returns the numbers after which a collection ran.
    pub fn collections(&self) -> &[i64] {
        &self.collections
    }

    fn raised(&self, computed: Stamp) -> Stamp {
        if computed == (Stamp { last_committed: 0, sequence_number: 0 }) {
            return computed;
        }
        Stamp { last_committed: computed.last_committed.max(self.floor), ..computed }
    }

    /// Checks a transaction against the suspected collection; returns true if the collection explains it.
    fn settle_suspect(&mut self, logged: Stamp, expected: Stamp, committed_at: Option<i64>) -> bool {
        let Some(suspect) = &mut self.suspect else { return false };
        if logged.sequence_number == 0 {
            return false;
        }
        if logged.last_committed < suspect.floor {
            self.reject_suspect();
            return false;
        }
        let with_floor = Stamp { last_committed: expected.last_committed.max(suspect.floor), ..expected };
        if logged == with_floor {
            suspect.raised += u64::from(expected.last_committed < suspect.floor);
            if suspect.raised >= RAISED_TO_BELIEVE {
                self.accept_suspect();
            }
            return true;
        }
        if apart(suspect.since, committed_at) {
            self.accept_suspect();
        } else {
            self.reject_suspect();
        }
        false
    }

    fn accept_suspect(&mut self) {
        if let Some(suspect) = self.suspect.take() {
            self.floor = suspect.floor;
            self.collections.push(suspect.floor);
        }
    }

    fn reject_suspect(&mut self) {
        if let Some(suspect) = self.suspect.take() {
            self.record(suspect.raised, suspect.first);
        }
    }

    fn record(&mut self, count: u64, difference: Difference<P>) {
        self.different += count;
        if difference.computed.last_committed < difference.logged.last_committed {
            self.missed += count;
        }
        if self.differences.len() < MOST_DIFFERENCES {
            self.differences.push(difference);
        }
    }
}

fn may_be_collection(logged: Stamp, expected: Stamp) -> bool {
    logged.sequence_number == expected.sequence_number
        && logged.last_committed > expected.last_committed
        && logged.last_committed < logged.sequence_number
}

fn apart(earlier: Option<i64>, later: Option<i64>) -> bool {
    matches!((earlier, later), (Some(earlier), Some(later)) if later - earlier >= COLLECTIONS_APART)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(last_committed: i64, sequence_number: i64) -> Stamp {
        Stamp { last_committed, sequence_number }
    }

    fn compare(infer: bool, pairs: &[(Stamp, Stamp)]) -> StampComparison<usize> {
        let mut comparison = StampComparison::new(infer);
        for (place, &(logged, computed)) in pairs.iter().enumerate() {
            comparison.observe(logged, computed, None, place);
        }
        comparison.finish();
        comparison
    }

    #[test]
    fn equal_numbers_are_no_difference() {
        let result = compare(true, &[(stamp(0, 0), stamp(0, 0)), (stamp(1, 3), stamp(1, 3))]);
        assert_eq!((result.transactions(), result.different()), (2, 0));
        assert!(result.collections().is_empty());
    }

    #[test]
    fn r7_collection_is_inferred_from_raised_transactions() {
        let pairs = [
            (stamp(1, 3), stamp(1, 3)),
            (stamp(3, 4), stamp(1, 4)),
            (stamp(3, 5), stamp(1, 5)),
            (stamp(3, 6), stamp(2, 6)),
        ];
        let result = compare(true, &pairs);
        assert_eq!((result.different(), result.collections()), (0, &[3][..]));
        assert_eq!(compare(false, &pairs).different(), 3);
    }

    #[test]
    fn missed_dependency_is_not_taken_for_a_collection() {
        let pairs = [(stamp(3, 4), stamp(1, 4)), (stamp(1, 5), stamp(1, 5)), (stamp(2, 6), stamp(2, 6))];
        let result = compare(true, &pairs);
        assert_eq!((result.different(), result.missed()), (1, 1));
        assert_eq!(result.first_difference().map(|d| d.place), Some(0));
        assert!(result.collections().is_empty());
    }

    #[test]
    fn a_single_raised_transaction_at_the_end_stays_a_difference() {
        assert_eq!(compare(true, &[(stamp(1, 3), stamp(1, 3)), (stamp(3, 4), stamp(1, 4))]).different(), 1);
    }

    #[test]
    fn smaller_number_than_computed_is_a_difference() {
        let result = compare(true, &[(stamp(1, 4), stamp(3, 4))]);
        assert_eq!((result.different(), result.missed()), (1, 0));
    }
}

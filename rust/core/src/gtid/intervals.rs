//! Ascending, disjoint, non-adjacent intervals of numbers.

use std::iter::Peekable;

/// A set of numbers from 1, kept as intervals.
///
/// Adding the number after the last one is O(1), any other O(log n) plus the moving of the intervals after it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Intervals {
    /// First and last number of each interval, both inclusive; ascending, with at least one number between two.
    ranges: Vec<(u64, u64)>,
}

impl Intervals {
    /// Returns the numbers from `first` to `last`, both inclusive; empty if `last` is less.
    pub fn from_range(first: u64, last: u64) -> Self {
        Self { ranges: if first <= last { vec![(first, last)] } else { Vec::new() } }
    }

    /// Iterates over the first and last number of each interval, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + Clone + '_ {
        self.ranges.iter().copied()
    }

    /// Returns true if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns the number of members.
    pub fn count(&self) -> u64 {
        self.ranges.iter().fold(0_u64, |sum, (first, last)| sum.saturating_add((last - first).saturating_add(1)))
    }

    /// Returns the highest number.
    pub fn last(&self) -> Option<u64> {
        self.ranges.last().map(|range| range.1)
    }

    /// Returns true if `number` is in the set.
    pub fn contains(&self, number: u64) -> bool {
        self.contains_range(number, number)
    }

    /// Returns true if every number from `first` to `last` is in the set.
    pub fn contains_range(&self, first: u64, last: u64) -> bool {
        let at = self.ranges.partition_point(|range| range.1 < first);
        first > last || self.ranges.get(at).is_some_and(|range| range.0 <= first && last <= range.1)
    }

    /// Returns true if every number of `other` is in the set.
    pub fn contains_all(&self, other: &Self) -> bool {
        other.iter().all(|(first, last)| self.contains_range(first, last))
    }

    /// Adds one number.
    pub fn add(&mut self, number: u64) {
        self.add_range(number, number);
    }

    /// Adds every number from `first` to `last`; none if `last` is less.
    pub fn add_range(&mut self, first: u64, last: u64) {
        if first > last {
            return;
        }
        if let Some(tail) = self.ranges.last_mut()
            && tail.0 <= first
            && first <= tail.1.saturating_add(1)
        {
            tail.1 = tail.1.max(last);
            return;
        }
        let from = self.ranges.partition_point(|range| range.1.saturating_add(1) < first);
        let upto = self.ranges.partition_point(|range| range.0 <= last.saturating_add(1));
        let touched = self.ranges.get(from..upto).unwrap_or_default();
        let low = touched.first().map_or(first, |range| range.0.min(first));
        let high = touched.last().map_or(last, |range| range.1.max(last));
        self.ranges.splice(from..upto, [(low, high)]);
    }

    /// Returns every number that is in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut result = Self { ranges: Vec::with_capacity(self.ranges.len() + other.ranges.len()) };
        let (mut left, mut right) = (self.iter().peekable(), other.iter().peekable());
        while let Some((first, last)) = take_lower(&mut left, &mut right) {
            result.add_range(first, last);
        }
        result
    }

    /// Returns every number that is in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let mut ranges = Vec::new();
        let (mut left, mut right) = (self.iter().peekable(), other.iter().peekable());
        while let (Some(a), Some(b)) = (left.peek().copied(), right.peek().copied()) {
            let (first, last) = (a.0.max(b.0), a.1.min(b.1));
            if first <= last {
                ranges.push((first, last));
            }
            if a.1 <= b.1 {
                left.next()
            } else {
                right.next()
            };
        }
        Self { ranges }
    }

    /// Returns every number of this set that is not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let mut ranges = Vec::new();
        for (mut first, last) in self.iter() {
            let mut used_up = false;
            let from = other.ranges.partition_point(|range| range.1 < first);
            for hole in other.ranges.iter().skip(from).take_while(|hole| hole.0 <= last) {
                if first < hole.0 {
                    ranges.push((first, hole.0 - 1));
                }
                used_up = hole.1 >= last;
                first = hole.1.saturating_add(1);
            }
            if !used_up {
                ranges.push((first, last));
            }
        }
        Self { ranges }
    }

    /// Returns the first run of numbers from `from` on that are missing, and not above `limit`.
    pub fn first_gap(&self, from: u64, limit: u64) -> Option<(u64, u64)> {
        let mut first = from;
        let at = self.ranges.partition_point(|range| range.1 < from);
        for range in self.ranges.iter().skip(at) {
            if first < range.0 {
                return (first <= limit).then_some((first, (range.0 - 1).min(limit)));
            }
            first = range.1.checked_add(1)?;
        }
        (first <= limit).then_some((first, limit))
    }
}

/// Takes the interval that begins first.
fn take_lower(
    left: &mut Peekable<impl Iterator<Item = (u64, u64)>>,
    right: &mut Peekable<impl Iterator<Item = (u64, u64)>>,
) -> Option<(u64, u64)> {
    match (left.peek(), right.peek()) {
        (Some(a), Some(b)) if b < a => right.next(),
        (None, _) => right.next(),
        _ => left.next(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn from_numbers(numbers: &BTreeSet<u64>) -> Intervals {
        let mut result = Intervals::default();
        for number in numbers {
            result.add(*number);
        }
        result
    }

    fn numbers(intervals: &Intervals) -> BTreeSet<u64> {
        intervals.iter().flat_map(|(first, last)| first..=last).collect()
    }

    fn is_canonical(intervals: &Intervals) -> bool {
        intervals.iter().all(|(first, last)| first <= last)
            && intervals.iter().zip(intervals.iter().skip(1)).all(|(a, b)| a.1 + 1 < b.0)
    }

    #[test]
    fn consecutive_numbers_stay_one_interval() {
        let mut intervals = Intervals::default();
        (1..=1000).for_each(|number| intervals.add(number));
        assert_eq!(intervals.iter().collect::<Vec<_>>(), [(1, 1000)]);
    }

    #[test]
    fn the_highest_numbers_do_not_overflow() {
        let mut intervals = Intervals::from_range(u64::MAX, u64::MAX);
        intervals.add(u64::MAX - 1);
        intervals.add(u64::MAX);
        assert_eq!(intervals, Intervals::from_range(u64::MAX - 1, u64::MAX));
        assert!(intervals.difference(&intervals.clone()).is_empty());
        assert_eq!(intervals.first_gap(u64::MAX, u64::MAX), None);
        assert_eq!(Intervals::from_range(1, u64::MAX).count(), u64::MAX);
    }

    proptest! {
        #[test]
        fn the_algebra_equals_that_of_a_plain_set(
            ranges in prop::collection::vec((1_u64..60, 0_u64..6), 0..12),
            b in prop::collection::btree_set(1_u64..60, 0..30),
        ) {
            let mut left = Intervals::default();
            let mut a = BTreeSet::new();
            for (first, more) in ranges {
                left.add_range(first, first + more);
                a.extend(first..=first + more);
            }
            let right = from_numbers(&b);
            prop_assert!(is_canonical(&left));
            prop_assert_eq!(numbers(&left), a.clone());
            for (ours, plain) in [
                (left.union(&right), &a | &b),
                (left.intersection(&right), &a & &b),
                (left.difference(&right), &a - &b),
            ] {
                prop_assert!(is_canonical(&ours));
                prop_assert_eq!(ours.count(), plain.len() as u64);
                prop_assert_eq!(numbers(&ours), plain);
            }
            prop_assert_eq!(left.contains_all(&right), a.is_superset(&b));
            let gap = (1..80).find(|number| !a.contains(number));
            prop_assert_eq!(left.first_gap(1, 79).map(|gap| gap.0), gap);
        }
    }
}

//! Numbers of MariaDB's GTIDs, by domain.

use std::collections::BTreeMap;
use std::fmt::Write;

use paraply_core::gtid::{GtidSet, Origin};

/// The highest number of each domain in a position.
pub type Reached = BTreeMap<u32, u64>;

/// Returns the last numbers of a position.
pub fn reached(low: &GtidSet) -> Reached {
    let number = |(origin, _, last)| match origin {
        Origin::MariaDb { domain, .. } => Some((domain, last)),
        Origin::MySql { .. } => None,
    };
    low.iter().filter_map(number).collect()
}

/// Ranges of numbers of each domain, in order and disjoint, with the server of the last number of each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ranges(BTreeMap<u32, Vec<Range>>);

/// First and last number, and the server of the last one.
pub type Range = (u64, u64, u32);

impl Ranges {
    /// Creates the ranges of some numbers, each with its domain and server.
    pub fn of(numbers: impl IntoIterator<Item = (u32, u64, u32)>) -> Self {
        let mut ranges = Self::default();
        for (domain, number, server) in numbers {
            ranges.0.entry(domain).or_default().push((number, number, server));
        }
        ranges.joined()
    }

    /// Creates the ranges of each domain, in any order.
    pub fn from_domains(domains: impl IntoIterator<Item = (u32, Vec<Range>)>) -> Self {
        Self(domains.into_iter().collect()).joined()
    }

    /// Returns the ranges of each domain.
    pub fn into_domains(self) -> BTreeMap<u32, Vec<Range>> {
        self.0
    }

    /// Returns true if there are no numbers.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the last number of each domain.
    pub fn last(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.0.iter().filter_map(|(domain, numbers)| Some((*domain, numbers.last()?.1)))
    }

    /// Returns the numbers of both.
    #[must_use]
    pub fn union(mut self, other: &Self) -> Self {
        if self.is_empty() {
            return other.clone();
        }
        for (domain, numbers) in &other.0 {
            self.0.entry(*domain).or_default().extend_from_slice(numbers);
        }
        self.joined()
    }

    /// Returns the numbers of all.
    pub fn union_of<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut union = Self::default();
        for ranges in all {
            for (domain, numbers) in &ranges.0 {
                union.0.entry(*domain).or_default().extend_from_slice(numbers);
            }
        }
        union.joined()
    }

    /// Returns the numbers that a position does not cover.
    #[must_use]
    pub fn behind(mut self, reached: &Reached) -> Self {
        for (domain, numbers) in &mut self.0 {
            let end = reached.get(domain).copied().unwrap_or(0);
            if numbers.first().is_some_and(|range| range.0 <= end) {
                numbers.retain(|range| range.1 > end);
                if let Some(first) = numbers.first_mut() {
                    first.0 = first.0.max(end + 1);
                }
            }
        }
        self.0.retain(|_, numbers| !numbers.is_empty());
        self
    }

    /// Raises a position to the first gap, and returns the numbers after it.
    #[must_use]
    pub fn raise(self, low: &mut GtidSet) -> Self {
        let reached = reached(low);
        let mut ahead = self.behind(&reached);
        for (&domain, numbers) in &mut ahead.0 {
            let (first, last, server) = numbers[0]; // no domain is empty after `behind`
            if first == reached.get(&domain).copied().unwrap_or(0) + 1 {
                low.add_range(&Origin::MariaDb { domain, server }, first, last);
                numbers.remove(0);
            }
        }
        ahead.0.retain(|_, numbers| !numbers.is_empty());
        ahead
    }

    /// Returns the same numbers in as few ranges as possible.
    fn joined(mut self) -> Self {
        for numbers in self.0.values_mut() {
            if numbers.len() < 2 {
                continue;
            }
            numbers.sort_unstable();
            let mut kept: Vec<Range> = Vec::with_capacity(numbers.len());
            for &(first, last, server) in numbers.iter() {
                match kept.last_mut() {
                    Some(before) if first <= before.1.saturating_add(1) => {
                        if last > before.1 {
                            (before.1, before.2) = (last, server);
                        }
                    }
                    _ => kept.push((first, last, server)),
                }
            }
            *numbers = kept;
        }
        self
    }

    /// Returns the text in the progress beside a position: the position alone, if there are no numbers after it; else
    /// JSON.
    pub fn write(&self, low: &str) -> String {
        if self.is_empty() {
            return low.to_owned();
        }
        let mut text = format!("{{\"low\":\"{low}\",\"beyond\":{{");
        for (place, (domain, numbers)) in self.0.iter().enumerate() {
            let _ = write!(text, "{}\"{domain}\":[", if place == 0 { "" } else { "," });
            for (place, (first, last, server)) in numbers.iter().enumerate() {
                let _ = write!(text, "{}[{first},{last},{server}]", if place == 0 { "" } else { "," });
            }
            text.push(']');
        }
        text.push_str("}}");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_become_one_range_with_the_last_ones_server() {
        let ranges = Ranges::of([(0, 7, 1), (0, 5, 2), (0, 6, 3), (1, 9, 1), (0, 9, 1)]);
        assert_eq!(ranges.write("0-1-2"), r#"{"low":"0-1-2","beyond":{"0":[[5,7,1],[9,9,1]],"1":[[9,9,1]]}}"#);
    }

    #[test]
    fn what_a_position_covers_is_left_out() {
        let ranges = Ranges::from_domains([(0, vec![(5, 7, 1), (9, 9, 1)]), (1, vec![(3, 4, 1)])]);
        let left = ranges.clone().behind(&Reached::from([(0, 6), (1, 4)]));
        assert_eq!(left.write(""), r#"{"low":"","beyond":{"0":[[7,7,1],[9,9,1]]}}"#);
        assert_eq!(ranges.behind(&Reached::from([(0, 9), (1, 9)])).write("0-1-9"), "0-1-9");
    }

    #[test]
    fn a_position_is_raised_to_the_first_gap() {
        let mut low: GtidSet = "0-1-4,2-1-1".parse().unwrap();
        let ahead = Ranges::from_domains([
            (0, vec![(3, 5, 1), (6, 7, 9), (9, 9, 1)]),
            (1, vec![(1, 2, 3)]),
            (2, vec![(3, 3, 1)]),
        ]);
        let ahead = ahead.raise(&mut low);
        assert_eq!(low.to_string(), "0-9-7,1-3-2,2-1-1");
        assert_eq!(ahead.write(""), r#"{"low":"","beyond":{"0":[[9,9,1]],"2":[[3,3,1]]}}"#);
    }

    #[test]
    fn a_union_holds_each_number_once() {
        let (left, right) = (Ranges::of([(0, 1, 1), (0, 2, 1)]), Ranges::of([(0, 2, 1), (0, 3, 1), (2, 1, 1)]));
        let union = left.clone().union(&right);
        assert_eq!(union, Ranges::union_of([&left, &right]));
        assert_eq!(union.write(""), r#"{"low":"","beyond":{"0":[[1,3,1]],"2":[[1,1,1]]}}"#);
    }
}

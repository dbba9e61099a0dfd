//! Sets of GTIDs.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{Gtid, Intervals, Origin};

/// Up to this number, intervals are added to a set one by one, as the set may have many.
const FEW: usize = 4;

/// A set of GTIDs, MySQL's and MariaDB's.
///
/// A MySQL set holds intervals of numbers for each UUID and tag.
///
/// MariaDB writes positions, not sets: `D-S-N` is the last transaction of domain `D`, and because sequence numbers
/// grow within a domain whatever server wrote them, it stands for everything in the domain up to `N`. So the set is
/// kept by domain and the server does not count: [`contains`](Self::contains) answers for `0-1-7` and `0-2-7` alike,
/// and two sets that differ only in servers are equal. Reading the text `D-S-N` gives the numbers 1 to `N`;
/// [`add`](Self::add) adds one number alone, so that gaps are not lost in memory. The text form knows no gaps:
/// ask [`is_position`](Self::is_position) before relying on it.
/// A log of a source without `gtid_strict_mode`, whose numbers go back within a domain, is not described by such a
/// position. A reader of such a log has to notice a number that does not grow.
#[derive(Debug, Clone, Default)]
pub struct GtidSet {
    /// By UUID and tag, in the order in which the server prints them. No value is empty.
    pub(super) mysql: BTreeMap<Origin, Intervals>,
    /// By domain. No value is empty.
    pub(super) mariadb: BTreeMap<u32, Intervals>,
    /// The last known server of each domain, for printing, with the number that it wrote.
    pub(super) servers: BTreeMap<u32, (u64, u32)>,
}

/// Sets are equal if they hold the same numbers; MariaDB's servers do not count.
impl PartialEq for GtidSet {
    fn eq(&self, other: &Self) -> bool {
        self.mysql == other.mysql && self.mariadb == other.mariadb
    }
}

impl Eq for GtidSet {}

impl GtidSet {
    /// Returns the empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns true if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.mysql.is_empty() && self.mariadb.is_empty()
    }

    /// Returns the number of GTIDs in the set.
    pub fn count(&self) -> u64 {
        let counts = self.mysql.values().chain(self.mariadb.values()).map(Intervals::count);
        counts.fold(0, u64::saturating_add)
    }

    /// Adds one GTID.
    pub fn add(&mut self, gtid: &Gtid) {
        self.add_range(&gtid.origin, gtid.number, gtid.number);
    }

    /// Adds the numbers `first` to `last` of `origin`; none if `last` is less.
    pub fn add_range(&mut self, origin: &Origin, first: u64, last: u64) {
        if first > last {
            return;
        }
        match origin {
            Origin::MySql { .. } => {
                if let Some(intervals) = self.mysql.get_mut(origin) {
                    intervals.add_range(first, last);
                } else {
                    self.mysql.insert(origin.clone(), Intervals::from_range(first, last));
                }
            }
            Origin::MariaDb { domain, server } => {
                self.mariadb.entry(*domain).or_default().add_range(first, last);
                self.note_server(*domain, (last, *server));
            }
        }
    }

    fn note_server(&mut self, domain: u32, seen: (u64, u32)) {
        let known = self.servers.entry(domain).or_insert(seen);
        *known = (*known).max(seen);
    }

    /// Returns the numbers of `origin`, if there are any; for a MariaDB origin those of its whole domain.
    pub fn intervals(&self, origin: &Origin) -> Option<&Intervals> {
        match origin {
            Origin::MySql { .. } => self.mysql.get(origin),
            Origin::MariaDb { domain, .. } => self.mariadb.get(domain),
        }
    }

    /// Returns the number of the position that the set has in a MariaDB domain, and the server that wrote it.
    pub fn position(&self, domain: u32) -> Option<(u64, u32)> {
        self.servers.get(&domain).copied()
    }

    /// Returns true if `gtid` is in the set.
    pub fn contains(&self, gtid: &Gtid) -> bool {
        self.contains_range(&gtid.origin, gtid.number, gtid.number)
    }

    /// Returns true if all numbers from `first` to `last` of `origin` are in the set.
    pub fn contains_range(&self, origin: &Origin, first: u64, last: u64) -> bool {
        first > last || self.intervals(origin).is_some_and(|intervals| intervals.contains_range(first, last))
    }

    /// Returns true if `other` is a subset of this set, or equal to it.
    pub fn contains_set(&self, other: &Self) -> bool {
        covers(&self.mysql, &other.mysql) && covers(&self.mariadb, &other.mariadb)
    }

    /// Returns true if `other` is a proper subset of this set.
    pub fn strictly_contains_set(&self, other: &Self) -> bool {
        self.contains_set(other) && self != other
    }

    /// Returns every GTID that is in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut result = self.clone();
        result.extend(other);
        result
    }

    /// Adds every GTID of `other`.
    pub fn extend(&mut self, other: &Self) {
        merge(&mut self.mysql, &other.mysql);
        merge(&mut self.mariadb, &other.mariadb);
        for (domain, seen) in &other.servers {
            self.note_server(*domain, *seen);
        }
    }

    /// Returns every GTID that is in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.pick(
            keep(&self.mysql, |origin, numbers| other.mysql.get(origin).map(|b| numbers.intersection(b))),
            keep(&self.mariadb, |domain, numbers| other.mariadb.get(domain).map(|b| numbers.intersection(b))),
        )
    }

    /// Returns every GTID of this set that is not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let less = |numbers: &Intervals, taken: Option<&Intervals>| {
            Some(taken.map_or_else(|| numbers.clone(), |taken| numbers.difference(taken)))
        };
        self.pick(
            keep(&self.mysql, |origin, numbers| less(numbers, other.mysql.get(origin))),
            keep(&self.mariadb, |domain, numbers| less(numbers, other.mariadb.get(domain))),
        )
    }

    /// Returns a part of this set, with the servers of the domains that are left.
    fn pick(&self, mysql: BTreeMap<Origin, Intervals>, mariadb: BTreeMap<u32, Intervals>) -> Self {
        let servers = self.servers.iter().filter(|(domain, _)| mariadb.contains_key(domain));
        Self { servers: servers.map(|(domain, seen)| (*domain, *seen)).collect(), mysql, mariadb }
    }

    /// Iterates over every origin and its numbers; the server of a MariaDB origin is 0.
    pub(crate) fn by_origin(&self) -> impl Iterator<Item = (Cow<'_, Origin>, &Intervals)> + '_ {
        let mysql = self.mysql.iter().map(|(origin, numbers)| (Cow::Borrowed(origin), numbers));
        let domain = |domain: &u32| Cow::Owned(Origin::MariaDb { domain: *domain, server: 0 });
        mysql.chain(self.mariadb.iter().map(move |(key, numbers)| (domain(key), numbers)))
    }

    /// Iterates over every interval: its origin, first and last number (inclusive), in the order of the text form.
    ///
    /// The server of a MariaDB origin is the domain's last known one.
    pub fn iter(&self) -> impl Iterator<Item = (Origin, u64, u64)> + '_ {
        let mysql = self.mysql.iter().map(|(origin, intervals)| (origin.clone(), intervals));
        let mariadb = self.mariadb.iter().map(|(domain, intervals)| (self.mariadb_origin(*domain), intervals));
        mysql
            .chain(mariadb)
            .flat_map(|(origin, intervals)| intervals.iter().map(move |(first, last)| (origin.clone(), first, last)))
    }

    fn mariadb_origin(&self, domain: u32) -> Origin {
        Origin::MariaDb { domain, server: self.last_server(domain) }
    }

    /// Returns the server that wrote the last known transaction of a MariaDB domain; 0 if none is known.
    pub(super) fn last_server(&self, domain: u32) -> u32 {
        self.servers.get(&domain).map_or(0, |seen| seen.1)
    }

    /// Returns true if the text form is complete: no MariaDB domain has a gap before its last number.
    pub fn is_position(&self) -> bool {
        self.mariadb.values().all(|numbers| numbers.last().is_some_and(|last| numbers.contains_range(1, last)))
    }
}

impl FromIterator<Gtid> for GtidSet {
    fn from_iter<I: IntoIterator<Item = Gtid>>(gtids: I) -> Self {
        let mut result = Self::new();
        gtids.into_iter().for_each(|gtid| result.add(&gtid));
        result
    }
}

/// Returns true if every number of `small` is in `big`.
fn covers<K: Ord>(big: &BTreeMap<K, Intervals>, small: &BTreeMap<K, Intervals>) -> bool {
    small.iter().all(|(key, numbers)| big.get(key).is_some_and(|all| all.contains_all(numbers)))
}

/// Adds the numbers of `from` to `into`.
fn merge<K: Ord + Clone>(into: &mut BTreeMap<K, Intervals>, from: &BTreeMap<K, Intervals>) {
    for (key, numbers) in from {
        if let Some(present) = into.get_mut(key) {
            if numbers.iter().nth(FEW).is_none() {
                numbers.iter().for_each(|(first, last)| present.add_range(first, last));
            } else {
                *present = present.union(numbers);
            }
        } else {
            into.insert(key.clone(), numbers.clone());
        }
    }
}

/// Applies `choose` to every key's numbers, and drops the keys that have none left.
fn keep<K: Ord + Clone>(
    map: &BTreeMap<K, Intervals>,
    choose: impl Fn(&K, &Intervals) -> Option<Intervals>,
) -> BTreeMap<K, Intervals> {
    let chosen = map.iter().filter_map(|(key, numbers)| Some((key.clone(), choose(key, numbers)?)));
    chosen.filter(|(_, numbers)| !numbers.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn origin(which: u8) -> Origin {
        match which {
            0 => Origin::MySql { uuid: [1; 16], tag: String::new() },
            1 => Origin::MySql { uuid: [1; 16], tag: "tag".to_owned() },
            2 => Origin::MySql { uuid: [2; 16], tag: String::new() },
            _ => Origin::MariaDb { domain: u32::from(which), server: 7 },
        }
    }

    fn set(plain: &BTreeSet<(u8, u64)>) -> GtidSet {
        plain.iter().map(|(which, number)| Gtid { origin: origin(*which), number: *number }).collect()
    }

    fn plain_set() -> impl Strategy<Value = BTreeSet<(u8, u64)>> {
        prop::collection::btree_set((0_u8..5, 1_u64..12), 0..40)
    }

    proptest! {
        #[test]
        fn the_algebra_equals_that_of_a_plain_set(a in plain_set(), b in plain_set()) {
            let (left, right) = (set(&a), set(&b));
            prop_assert_eq!(left.union(&right), set(&(&a | &b)));
            prop_assert_eq!(left.intersection(&right), set(&(&a & &b)));
            prop_assert_eq!(left.difference(&right), set(&(&a - &b)));
            prop_assert_eq!(left.contains_set(&right), a.is_superset(&b));
            prop_assert_eq!(left.strictly_contains_set(&right), a.is_superset(&b) && a != b);
            prop_assert_eq!(left.count(), a.len() as u64);
            prop_assert_eq!(left.is_empty(), a.is_empty());
            for which in 0..5 {
                for number in 1..13 {
                    let gtid = Gtid { origin: origin(which), number };
                    prop_assert_eq!(left.contains(&gtid), a.contains(&(which, number)));
                }
            }
        }

        #[test]
        fn the_text_reads_back(plain in plain_set()) {
            let mysql: BTreeSet<_> = plain.into_iter().filter(|(which, _)| *which < 3).collect();
            let set = set(&mysql);
            prop_assert_eq!(set.to_string().parse::<GtidSet>(), Ok(set.clone()));
            prop_assert_eq!(format!("{set:#}").parse::<GtidSet>(), Ok(set));
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in "[0-9a-fA-F:,{} _t-]{0,60}|\\PC{0,40}") {
            let _ = text.parse::<GtidSet>();
            let _ = text.parse::<Gtid>();
        }
    }

    #[test]
    fn a_mariadb_position_stands_for_everything_before_it_in_its_domain() {
        let position: GtidSet = "0-1-100,1-2-7".parse().expect("a position");
        for (text, within) in [
            ("0-1-100", true),
            ("0-2-50", true),
            ("0-1-101", false),
            ("1-9-7", true),
            ("1-2-8", false),
            ("2-1-1", false),
        ] {
            assert_eq!(position.contains(&text.parse().expect("a GTID")), within, "{text}");
        }
        assert_eq!(position.count(), 107);
        assert!(position.is_position());
    }

    #[test]
    fn a_mariadb_set_with_gaps_says_that_it_is_no_position() {
        let mut set: GtidSet = "0-1-5".parse().expect("a position");
        set.add(&"0-2-7".parse().expect("a GTID"));
        assert!(!set.is_position());
        assert!(!set.contains(&"0-1-6".parse().expect("a GTID")));
        set.add(&"0-1-6".parse().expect("a GTID"));
        assert!(set.is_position());
        assert_eq!(set.to_string(), "0-2-7");
    }
}

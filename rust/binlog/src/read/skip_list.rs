//! Transactions that a user leaves out by name: a MariaDB GTID stands for itself, and not for all before it.

use std::collections::BTreeMap;

use paraply_core::gtid::{Gtid, GtidSet, Origin};

use crate::transaction::Identity;

/// GTIDs of single transactions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkipList {
    /// A GTID set, with the meaning that such a set has.
    gtids: GtidSet,
    /// First and last sequence number of ranges, by MariaDB's domain and server.
    mariadb: BTreeMap<(u32, u32), Vec<(u64, u64)>>,
}

/// A range of MariaDB's GTIDs: domain, server, first and last sequence number.
pub type Range = (u32, u32, u64, u64);

impl SkipList {
    /// Returns the list of the GTIDs of a set, and of ranges of MariaDB.
    pub fn new(gtids: GtidSet, ranges: impl IntoIterator<Item = Range>) -> Self {
        let mut mariadb: BTreeMap<(u32, u32), Vec<(u64, u64)>> = BTreeMap::new();
        for (domain, server, first, last) in ranges {
            mariadb.entry((domain, server)).or_default().push((first, last));
        }
        Self { gtids, mariadb }
    }

    /// Returns true if the list names no transaction.
    pub fn is_empty(&self) -> bool {
        self.gtids.is_empty() && self.mariadb.is_empty()
    }

    /// Returns true if the list names a transaction.
    pub fn names(&self, identity: &Identity) -> bool {
        let Identity::Gtid(gtid) = identity else { return false };
        let in_ranges = |origin: &Origin| match origin {
            Origin::MariaDb { domain, server } => self
                .mariadb
                .get(&(*domain, *server))
                .is_some_and(|ranges| ranges.iter().any(|(first, last)| (first..=last).contains(&&gtid.number))),
            Origin::MySql { .. } => false,
        };
        self.gtids.contains(gtid) || in_ranges(&gtid.origin)
    }

    /// Adds one transaction; one without GTID is not added.
    pub fn add(&mut self, identity: &Identity) {
        let Identity::Gtid(gtid) = identity else { return };
        self.gtids.add(gtid);
        if let Gtid { origin: Origin::MariaDb { domain, server }, number } = gtid {
            let ranges = self.mariadb.entry((*domain, *server)).or_default();
            match ranges.last_mut().filter(|(_, last)| last + 1 == *number) {
                Some((_, last)) => *last = *number,
                None => ranges.push((*number, *number)),
            }
        }
    }

    /// Returns the GTID set.
    pub fn gtids(&self) -> &GtidSet {
        &self.gtids
    }

    /// Returns the ranges of MariaDB's GTIDs.
    pub fn ranges(&self) -> Vec<Range> {
        let of = |(&(domain, server), ranges): (&(u32, u32), &Vec<(u64, u64)>)| {
            ranges.iter().map(move |&(first, last)| (domain, server, first, last)).collect::<Vec<_>>()
        };
        self.mariadb.iter().flat_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(text: &str) -> Identity {
        Identity::Gtid(text.parse().expect("a GTID"))
    }

    #[test]
    fn a_gtid_of_mariadb_is_one_transaction() {
        let list = SkipList::new(GtidSet::new(), [(0, 1, 5, 5), (0, 1, 9, 11)]);
        let named = |text: &str| list.names(&identity(text));
        assert!(named("0-1-5") && named("0-1-9") && named("0-1-11"));
        assert!(!named("0-1-4") && !named("0-1-6") && !named("0-2-5") && !named("1-1-5"));
        assert!(!list.names(&Identity::Anonymous));
    }

    #[test]
    fn what_was_found_is_joined_to_ranges() {
        let mut found = SkipList::default();
        for text in ["0-1-5", "0-1-6", "0-1-9", "0-2-10"] {
            found.add(&identity(text));
        }
        found.add(&identity("3e11fa47-71ca-11e1-9e33-c80aa9429562:3"));
        assert_eq!(found.ranges(), [(0, 1, 5, 6), (0, 1, 9, 9), (0, 2, 10, 10)]);
        assert_eq!(found.gtids().to_string().split(',').next(), Some("3e11fa47-71ca-11e1-9e33-c80aa9429562:3"));
    }
}

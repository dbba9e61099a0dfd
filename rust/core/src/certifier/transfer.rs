//! Transfer of the certification info to a joining member, R9.

use std::collections::BTreeMap;

use super::Options;
use super::certify::{Certifier, NO_NUMBER};
use super::table::Mark;
use crate::gtid::GtidSet;

/// The certification info of a member, for one that joins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Export {
    /// Each version, with the items last written at it in ascending order; sorted by the first item.
    pub versions: Vec<(GtidSet, Vec<u64>)>,
    /// The GTIDs certified so far.
    pub known: GtidSet,
}

impl Certifier {
    /// Returns the certification info for a joining member. Items without a version, which reject no transaction, are
    /// left out.
    pub fn export(&mut self) -> Export {
        let mut by_version: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        for (item, mark) in self.table.iter() {
            if let Some(version) = mark.version() {
                by_version.entry(version).or_default().push(item);
            }
        }
        by_version.retain(|version, _| !self.versions.is_dead(*version));
        let unpack = |(version, mut items): (u32, Vec<u64>)| {
            items.sort_unstable();
            (self.versions.unpack(version), items)
        };
        let mut versions: Vec<_> = by_version.into_iter().map(unpack).collect();
        versions.sort_unstable_by(|a, b| a.1.cmp(&b.1));
        Export { versions, known: self.known.clone() }
    }

    /// Creates the certifier of a member that joins: the numbers start anew (R1) and the items carry none (R9).
    pub fn import(options: Options, export: &Export) -> Self {
        let mut certifier = Self::new(options);
        certifier.known = export.known.clone();
        for (set, items) in &export.versions {
            let version = certifier.versions.keep(set, None, NO_NUMBER);
            certifier.versions.hold(version, items.len() as u32 + 1);
            for item in items {
                if let Some(old) = certifier.table.put(*item, Mark::of_version(version), |_| false)
                    && let Some(old) = old.version()
                {
                    certifier.versions.release(old);
                }
            }
            certifier.versions.release(version);
        }
        certifier
    }
}

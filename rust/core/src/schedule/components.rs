//! Parts of a transaction that may be applied separately: connected components of hashes (R21a), distributed over parts
//! of similar size.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use crate::certifier::Seeds;
use crate::write_set::WriteSet;

/// Groups items that must stay together: two that have a key in common which at least one of them takes exclusively.
///
/// ```
/// use paraply_core::schedule::Components;
/// use paraply_core::write_set::WriteSet;
///
/// let set = |exclusive: &[u64], shared: &[u64]| WriteSet {
///     exclusive: exclusive.to_vec(),
///     shared: shared.to_vec(),
///     ..WriteSet::default()
/// };
/// let mut components = Components::default();
/// components.add(&set(&[1], &[9]));
/// components.add(&set(&[2], &[9]));
/// components.add(&set(&[1], &[]));
/// assert_eq!(components.groups(), [vec![0, 2], vec![1]]);
/// ```
#[derive(Debug, Default)]
pub struct Components {
    leader: Vec<u32>,
    holder: HashMap<u64, u32, Seeds>,
    shared: Vec<(u32, u64)>,
    barrier: bool,
}

impl Components {
    /// Adds the next item.
    pub fn add(&mut self, set: &WriteSet) {
        let index = self.leader.len() as u32;
        self.leader.push(index);
        self.barrier |= set.barrier;
        for &key in &set.exclusive {
            let holder = *self.holder.entry(key).or_insert(index);
            self.join(holder, index);
        }
        self.shared.extend(set.shared.iter().map(|&key| (index, key)));
    }

    /// Returns the indices of the items in each group, ascending, the groups by their first; one group if there is a
    /// barrier.
    pub fn groups(mut self) -> Vec<Vec<usize>> {
        if self.barrier {
            return vec![(0..self.leader.len()).collect()];
        }
        for (index, key) in std::mem::take(&mut self.shared) {
            if let Some(&holder) = self.holder.get(&key) {
                self.join(holder, index);
            }
        }
        let mut groups: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for index in 0..self.leader.len() {
            groups.entry(self.head(index as u32)).or_default().push(index);
        }
        groups.into_values().collect()
    }

    /// Joins two groups. The smaller head leads, so that a group is named by its first member.
    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.head(one), self.head(other));
        self.leader[one.max(other) as usize] = one.min(other);
    }

    fn head(&mut self, mut index: u32) -> u32 {
        while self.leader[index as usize] != index {
            let next = self.leader[index as usize];
            self.leader[index as usize] = self.leader[next as usize];
            index = next;
        }
        index
    }
}

/// Distributes groups over at most `most` parts, the largest first, each to the part that holds least; returns each
/// part's members, ascending.
///
/// ```
/// use paraply_core::schedule::spread;
///
/// assert_eq!(spread(vec![vec![0], vec![1], vec![2, 3]], &[5, 4, 3, 3], 2), [vec![2, 3], vec![0, 1]]);
/// ```
pub fn spread(groups: Vec<Vec<usize>>, sizes: &[usize], most: usize) -> Vec<Vec<usize>> {
    let weight = |group: &[usize]| group.iter().map(|&member| sizes[member]).sum::<usize>();
    let mut weighed: Vec<_> = groups.into_iter().map(|group| (weight(&group), group)).collect();
    weighed.sort_by_key(|(weight, _)| Reverse(*weight));
    let mut parts = vec![(0, Vec::new()); most.min(weighed.len())];
    for (weight, group) in weighed {
        if let Some((load, members)) = parts.iter_mut().min_by_key(|(load, _)| *load) {
            *load += weight;
            members.extend(group);
        }
    }
    let sorted = parts.into_iter().map(|(_, mut members)| {
        members.sort_unstable();
        members
    });
    sorted.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(sets: &[(&[u64], &[u64])]) -> Vec<Vec<usize>> {
        let mut components = Components::default();
        for (exclusive, shared) in sets {
            components.add(&WriteSet { exclusive: exclusive.to_vec(), shared: shared.to_vec(), ..WriteSet::default() });
        }
        components.groups()
    }

    #[test]
    fn r21a_what_shares_an_exclusive_key_stays_together() {
        assert_eq!(groups(&[(&[1, 2], &[]), (&[3], &[]), (&[2], &[])]), [vec![0, 2], vec![1]]);
        assert_eq!(groups(&[(&[1], &[]), (&[2], &[]), (&[3], &[]), (&[3, 1], &[])]), [vec![0, 2, 3], vec![1]]);
    }

    #[test]
    fn r21a_children_of_one_parent_are_apart_unless_the_parent_itself_changes() {
        assert_eq!(groups(&[(&[1], &[9]), (&[2], &[9])]), [vec![0], vec![1]]);
        assert_eq!(groups(&[(&[1], &[9]), (&[9], &[]), (&[2], &[9]), (&[4], &[])]), [vec![0, 1, 2], vec![3]]);
    }

    #[test]
    fn r13_one_barrier_keeps_everything_together() {
        let mut components = Components::default();
        components.add(&WriteSet { exclusive: vec![1], ..WriteSet::default() });
        components.add(&WriteSet { barrier: true, ..WriteSet::default() });
        assert_eq!(components.groups(), [vec![0, 1]]);
    }

    #[test]
    fn parts_have_similar_sizes_and_none_is_empty() {
        assert_eq!(spread(vec![vec![0], vec![1], vec![2], vec![3]], &[4, 3, 2, 1], 2), [vec![0, 3], vec![1, 2]]);
        assert_eq!(spread(vec![vec![0], vec![1]], &[1, 1], 8), [vec![0], vec![1]]);
        assert_eq!(spread(Vec::new(), &[], 8), Vec::<Vec<usize>>::new());
    }
}

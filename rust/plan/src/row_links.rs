//! Row changes that are undone together or not at all.

use std::collections::{HashMap, HashSet};

/// Keys of undone row changes, connected where one change uses both.
///
/// A change can be taken back only if every later change of the same row is, and it must be if an earlier one is. The same
/// holds for a row and the parent that came or went with it. So all changes whose keys are connected stay if one does.
#[derive(Debug, Default)]
pub(crate) struct RowLinks {
    /// The number of each key.
    numbers: HashMap<u64, u32>,
    /// Another key of the same changes, by number; of one key in a group itself.
    parents: Vec<u32>,
    /// Keys that only one of the images of a change has.
    changed: HashSet<u64>,
    /// Keys of parents, and the number of a key of the change that refers to them.
    references: Vec<(u64, u32)>,
}

impl RowLinks {
    /// Adds a change.
    ///
    /// # Arguments
    ///
    /// * `keys`: all keys of the row, before and after.
    /// * `changed`: those that only one image has.
    /// * `references`: keys of parents.
    pub(crate) fn add(&mut self, keys: &[u64], changed: impl Iterator<Item = u64>, references: &[u64]) {
        let numbers: Vec<u32> = keys.iter().map(|&key| self.number(key)).collect();
        let Some((&first, others)) = numbers.split_first() else { return };
        for &other in others {
            join(&mut self.parents, first, other);
        }
        self.changed.extend(changed);
        self.references.extend(references.iter().map(|&parent| (parent, first)));
    }

    /// Returns keys, and all those that are connected with one of them.
    pub(crate) fn connected(&self, keys: &HashSet<u64>) -> HashSet<u64> {
        let mut parents = self.parents.clone();
        for (parent, number) in self.references.iter().filter(|(parent, _)| self.changed.contains(parent)) {
            if let Some(&other) = self.numbers.get(parent) {
                join(&mut parents, other, *number);
            }
        }
        let of = |key| self.numbers.get(key).copied();
        let groups: HashSet<u32> = keys.iter().filter_map(of).map(|number| root(&mut parents, number)).collect();
        let mut found = keys.clone();
        let more = self.numbers.iter().filter(|(_, number)| groups.contains(&root(&mut parents, **number)));
        found.extend(more.map(|(key, _)| *key));
        found
    }

    fn number(&mut self, key: u64) -> u32 {
        let next = u32::try_from(self.parents.len()).unwrap_or(u32::MAX);
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.parents.push(next);
        }
        number
    }
}

/// Returns the key that stands for the group of a key, and shortens the way to it.
fn root(parents: &mut [u32], number: u32) -> u32 {
    let mut place = number;
    while let Some(&parent) = parents.get(place as usize).filter(|&&parent| parent != place) {
        let above = parents.get(parent as usize).copied().unwrap_or(parent);
        if let Some(slot) = parents.get_mut(place as usize) {
            *slot = above;
        }
        place = above;
    }
    place
}

fn join(parents: &mut [u32], one: u32, other: u32) {
    let (one, other) = (root(parents, one), root(parents, other));
    if let Some(slot) = parents.get_mut(other as usize) {
        *slot = one;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connected(links: &RowLinks, key: u64) -> Vec<u64> {
        let mut found: Vec<u64> = links.connected(&HashSet::from([key])).into_iter().collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn changes_with_a_common_key_are_connected() {
        let mut links = RowLinks::default();
        links.add(&[1, 10], [].into_iter(), &[]);
        links.add(&[1, 10, 11], [10, 11].into_iter(), &[]);
        links.add(&[2, 20], [].into_iter(), &[]);
        links.add(&[3, 11], [].into_iter(), &[]);
        assert_eq!(connected(&links, 10), [1, 3, 10, 11]);
        assert_eq!(connected(&links, 2), [2, 20]);
        assert_eq!(connected(&links, 99), [99]);
    }

    #[test]
    fn rows_are_connected_with_a_parent_that_came_or_went_only() {
        let mut links = RowLinks::default();
        links.add(&[1], [1].into_iter(), &[100]);
        links.add(&[2], [2].into_iter(), &[100]);
        links.add(&[3], [3].into_iter(), &[200]);
        links.add(&[4], [4].into_iter(), &[200]);
        links.add(&[100], [100].into_iter(), &[]);
        links.add(&[200], [].into_iter(), &[]);
        assert_eq!(connected(&links, 1), [1, 2, 100]);
        assert_eq!(connected(&links, 3), [3]);
    }
}

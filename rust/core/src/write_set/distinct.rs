//! Distinct hashes in the order of their first appearance, each exclusive or shared.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};

/// Greatest number of items for which a plain search is faster than a map.
const FEW: usize = 24;
/// Greatest size of a map that is kept for the next transaction; a larger one is freed.
const KEEP: usize = 1 << 16;

/// The items are hashes already.
#[derive(Debug, Default, Clone, Copy)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |n, byte| n << 8 ^ u64::from(*byte));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

/// The items of a transaction so far.
#[derive(Debug, Default)]
pub(super) struct Distinct {
    /// Items in order, each true if it is exclusive.
    items: Vec<(u64, bool)>,
    /// Index of each item, once there are more than a few.
    places: HashMap<u64, usize, BuildHasherDefault<Identity>>,
    /// Number of items added, repeats included.
    added: u64,
    /// Everything that was added, if it is kept; an item that is repeated at once is there once.
    journal: Option<Vec<(u64, bool)>>,
    /// Number of items kept before the current event.
    kept: usize,
}

impl Distinct {
    /// Adds an exclusive item; one that was shared becomes exclusive.
    #[inline]
    pub(super) fn exclusive(&mut self, item: u64) {
        self.add(item, true);
    }

    /// Adds a shared item unless it is present.
    #[inline]
    pub(super) fn shared(&mut self, item: u64) {
        self.add(item, false);
    }

    fn add(&mut self, item: u64, exclusive: bool) {
        self.added += 1;
        // An update's two images mostly have the same key.
        if let Some(journal) = &mut self.journal
            && journal.get(self.kept..).is_none_or(|event| event.last() != Some(&(item, exclusive)))
        {
            journal.push((item, exclusive));
        }
        match self.find_or_place(item) {
            Some(known) => known.1 |= exclusive,
            None => self.items.push((item, exclusive)),
        }
    }

    /// Returns the item if it is known, else appends a new one.
    fn find_or_place(&mut self, item: u64) -> Option<&mut (u64, bool)> {
        if self.items.len() < FEW {
            return self.items.iter_mut().find(|(known, _)| *known == item);
        }
        if self.places.is_empty() {
            self.places.extend(self.items.iter().enumerate().map(|(place, (known, _))| (*known, place)));
        }
        match self.places.entry(item) {
            Entry::Occupied(place) => self.items.get_mut(*place.get()),
            Entry::Vacant(place) => {
                place.insert(self.items.len());
                None
            }
        }
    }

    /// Keeps what is added from here on until it is taken, and returns the number of items kept before.
    pub(super) fn keep(&mut self) -> usize {
        self.kept = self.journal.get_or_insert_default().len();
        self.kept
    }

    /// Returns the kept values, and stops keeping.
    pub(super) fn take_kept(&mut self) -> Vec<(u64, bool)> {
        self.kept = 0;
        self.journal.take().unwrap_or_default()
    }

    /// Counts the last item once more.
    pub(super) fn repeat(&mut self) {
        self.added += 1;
    }

    /// Returns the number of different items.
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns the number of items added since the last [`Self::take`], repeats included.
    pub(super) fn added(&self) -> u64 {
        self.added
    }

    /// Takes the exclusive and the shared items, each in order, and leaves this empty.
    pub(super) fn take(&mut self) -> (Vec<u64>, Vec<u64>) {
        let of = |wanted: bool| self.items.iter().filter(|(_, e)| *e == wanted).map(|(item, _)| *item).collect();
        let result = (of(true), of(false));
        self.items.clear();
        self.places.clear();
        self.added = 0;
        if self.places.capacity() > KEEP {
            self.places = HashMap::default();
            self.items = Vec::new();
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_event_repeats_at_once_is_kept_once_and_each_event_keeps_its_own() {
        let mut items = Distinct::default();
        assert_eq!(items.keep(), 0);
        items.exclusive(7);
        items.exclusive(7);
        items.shared(7);
        assert_eq!(items.keep(), 2);
        items.shared(7);
        items.shared(7);
        assert_eq!((items.added(), items.take_kept()), (5, vec![(7, true), (7, false), (7, false)]));
    }

    #[test]
    fn order_is_of_first_appearance_and_exclusive_wins() {
        let mut items = Distinct::default();
        for n in (0..100).chain(0..100) {
            items.shared(n);
        }
        items.exclusive(50);
        items.exclusive(200);
        assert_eq!(items.added(), 202);
        let (exclusive, shared) = items.take();
        assert_eq!(exclusive, [50, 200]);
        assert_eq!(shared, (0..100).filter(|n| *n != 50).collect::<Vec<_>>());
        assert_eq!(items.take(), (Vec::new(), Vec::new()));
    }
}

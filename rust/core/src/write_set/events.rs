//! Touches of the row events of a transaction, one by one.

/// The hashes of each row event, so that its rows can be ordered among those of other transactions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventTouches {
    /// Hashes, each true if it is taken exclusively; one may come several times.
    items: Vec<(u64, bool)>,
    /// Each event's index in the transaction, and the index of its first hash.
    begins: Vec<(usize, usize)>,
}

impl EventTouches {
    /// Begins an event at index `at` of the hashes.
    pub(super) fn begin(&mut self, event: usize, at: usize) {
        self.begins.push((event, at));
    }

    /// Sets the hashes of all events.
    pub(super) fn fill(&mut self, items: Vec<(u64, bool)>) {
        self.items = items;
    }

    /// Iterates over the events in order: index in the transaction, and hashes, each true if it is taken exclusively.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &[(u64, bool)])> {
        let ends = self.begins.iter().skip(1).map(|(_, at)| *at).chain([self.items.len()]);
        self.begins.iter().zip(ends).map(|((event, at), end)| (*event, self.items.get(*at..end).unwrap_or_default()))
    }
}

//! What the row events of a transaction touch, one by one.

/// The hashes of each row event, so that its rows can be ordered among those of other transactions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventTouches {
    /// Hashes, and whether each is taken exclusively; one may come several times.
    items: Vec<(u64, bool)>,
    /// Each event's place among those of its transaction, and where its hashes begin.
    begins: Vec<(usize, usize)>,
}

impl EventTouches {
    /// An event's hashes begin.
    pub(super) fn begin(&mut self, event: usize, at: usize) {
        self.begins.push((event, at));
    }

    /// All hashes are there.
    pub(super) fn fill(&mut self, items: Vec<(u64, bool)>) {
        self.items = items;
    }

    /// The events in order: place in the transaction, hashes and whether each is taken exclusively.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &[(u64, bool)])> {
        let ends = self.begins.iter().skip(1).map(|(_, at)| *at).chain([self.items.len()]);
        self.begins.iter().zip(ends).map(|((event, at), end)| (*event, self.items.get(*at..end).unwrap_or_default()))
    }
}

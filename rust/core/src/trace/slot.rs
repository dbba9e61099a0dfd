//! Who touched a key last inside a chunk.

/// The last touches of a key; numbers count inside the chunk, 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    /// The last exclusive touch.
    pub(super) exclusive: u32,
    /// The last shared touch since.
    pub(super) shared: u32,
    /// No exclusive touch yet: those before the chunk still count.
    pub(super) open: bool,
}

impl Slot {
    /// What a local transaction leaves: no number, and nothing earlier to be seen (R4).
    pub(super) const LOCAL: Self = Self { exclusive: 0, shared: 0, open: false };

    /// A key that `number` takes exclusively as the first one.
    pub(super) fn taken(number: u32) -> Self {
        Self { exclusive: number, shared: 0, open: false }
    }

    /// A key that `number` shares as the first one.
    pub(super) fn shared(number: u32) -> Self {
        Self { exclusive: 0, shared: number, open: true }
    }

    /// Takes the key exclusively; gives whom `number` depends on.
    pub(super) fn take(&mut self, number: u32) -> u32 {
        let others = |touch: u32| if touch == number { 0 } else { touch };
        let newest = others(self.exclusive).max(others(self.shared));
        *self = Self::taken(number);
        newest
    }

    /// Shares the key; gives whom `number` depends on.
    pub(super) fn share(&mut self, number: u32) -> u32 {
        if self.exclusive == number {
            return 0;
        }
        self.shared = number;
        self.exclusive
    }

    /// Whether `number` was here before: a repeated item says nothing new (R3).
    pub(super) fn was_touched_by(self, number: u32) -> bool {
        self.exclusive == number || self.shared == number
    }

    /// The newest touch.
    pub(super) fn newest(self) -> u32 {
        self.exclusive.max(self.shared)
    }
}

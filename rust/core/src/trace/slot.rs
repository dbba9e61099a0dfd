//! The transactions that touched a key last inside a chunk.

/// The last touches of a key; numbers count inside the chunk, 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    /// The last exclusive touch.
    pub(super) exclusive: u32,
    /// The last shared touch since.
    pub(super) shared: u32,
    /// True until the first exclusive touch: those before the chunk still count.
    pub(super) open: bool,
}

impl Slot {
    /// Effect of a local transaction: no number, and it hides everything earlier (R4).
    pub(super) const LOCAL: Self = Self { exclusive: 0, shared: 0, open: false };

    /// Returns the slot of a key whose first touch is exclusive, by `number`.
    pub(super) fn taken(number: u32) -> Self {
        Self { exclusive: number, shared: 0, open: false }
    }

    /// Returns the slot of a key whose first touch is shared, by `number`.
    pub(super) fn shared(number: u32) -> Self {
        Self { exclusive: 0, shared: number, open: true }
    }

    /// Takes the key exclusively; returns the transaction that `number` depends on.
    pub(super) fn take(&mut self, number: u32) -> u32 {
        let others = |touch: u32| if touch == number { 0 } else { touch };
        let newest = others(self.exclusive).max(others(self.shared));
        *self = Self::taken(number);
        newest
    }

    /// Shares the key; returns the transaction that `number` depends on.
    pub(super) fn share(&mut self, number: u32) -> u32 {
        if self.exclusive == number {
            return 0;
        }
        self.shared = number;
        self.exclusive
    }

    /// Returns true if `number` touched the key before: a repeated item adds nothing (R3).
    pub(super) fn was_touched_by(self, number: u32) -> bool {
        self.exclusive == number || self.shared == number
    }

    /// Returns the newest touch.
    pub(super) fn newest(self) -> u32 {
        self.exclusive.max(self.shared)
    }
}

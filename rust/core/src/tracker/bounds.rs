//! Bounds of a number that a log leaves open.

/// The lower and the upper bound of a transaction's `last_committed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The lower bound.
    pub least: i64,
    /// The upper bound.
    pub most: i64,
}

impl Bounds {
    /// Returns true if there is only one possible number.
    pub fn exact(self) -> bool {
        self.least == self.most
    }

    /// Returns the possible number nearest to this one.
    pub fn nearest(self, number: i64) -> i64 {
        number.min(self.most).max(self.least)
    }

    /// Returns these bounds after write sets have lowered the commit-order parent.
    pub(super) fn lowered(self, parent: i64) -> Self {
        Self { least: self.least.min(parent), most: self.most.min(parent) }
    }

    /// Returns these bounds, but not before `number`.
    pub(super) fn raised(self, number: i64) -> Self {
        Self { least: self.least.max(number), most: self.most.max(number) }
    }
}

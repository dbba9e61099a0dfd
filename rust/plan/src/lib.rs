//! Which transactions of a log are applied together, and which have been applied.

pub mod ledger;

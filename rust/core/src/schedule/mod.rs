//! Which transactions have to wait for which.

mod dependency;
mod history;

pub use dependency::{Dependencies, DependencyTracker};

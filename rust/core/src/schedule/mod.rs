//! Which transactions have to wait for which.

mod components;
mod dependency;
mod history;

pub use components::{Components, spread};
pub use dependency::{Dependencies, DependencyTracker};

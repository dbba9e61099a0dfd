//! Dependencies between transactions.

mod components;
mod dependency;
mod generations;
mod history;
mod waves;

pub use components::{Components, spread};
pub use dependency::{Dependencies, DependencyTracker};
pub use waves::Waves;

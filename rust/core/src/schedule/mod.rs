//! Dependencies between transactions.

mod components;
mod dependency;
mod early_rows;
mod generations;
mod history;

pub use components::{Components, spread};
pub use dependency::{Dependencies, DependencyTracker};
pub use early_rows::EarlyRows;

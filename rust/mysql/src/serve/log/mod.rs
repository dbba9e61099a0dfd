//! The log that is served: its files, also growing ones, the start of a dump and its events.

pub(in crate::serve) mod dump;
pub(in crate::serve) mod files;
mod made;
pub(in crate::serve) mod place;
pub(in crate::serve) mod start;
mod tail;
pub(in crate::serve) mod watcher;

//! The log that is served: its files, also growing ones, the start of a dump and its events.

mod block;
pub(in crate::serve) mod dump;
pub(in crate::serve) mod files;
pub(in crate::serve) mod log_position;
mod made;
pub(in crate::serve) mod numbering;
pub(in crate::serve) mod numbers;
pub(in crate::serve) mod published;
mod restamper;
pub(in crate::serve) mod start;
mod tail;
pub(in crate::serve) mod terms;
pub(in crate::serve) mod watcher;

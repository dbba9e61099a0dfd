//! The relay log: a receiver writes it and appliers read it, at the same time and without a lock between them (R28,
//! R29).
//!
//! The format is MySQL's binlog, so that `mysqlbinlog` reads it. A file begins with the format of its own events, then
//! names the position in the source's log, repeats the source's format, and states what was received before it. Events
//! keep the positions of the source's log. So the received set and the source's position are part of the log itself:
//! they are recorded with the append, not beside it.
//!
//! Ends are published only after whole transactions. What a crash or a lost connection leaves of an unfinished one is
//! cut, and no reader has seen it.

mod boundary;
mod compose;
mod error;
mod files;
mod index;
mod purge;
mod reader;
mod repair;
mod shared;
mod tracker;
mod writer;

pub use boundary::{Boundary, Ended, Step};
pub use compose::{Head, event as compose_event, mysql_format, rotate_body};
pub use error::RelayError;
pub use files::{LogFile, LogFiles, SystemFiles};
pub use purge::{Purger, purge_folder};
pub use reader::{Follower, StopHandle};
pub use repair::Cut;
pub use shared::{LiveFile, Received, Shared};
pub use writer::{RelayWriter, WriterOptions};

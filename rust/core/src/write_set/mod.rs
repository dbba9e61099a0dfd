//! Write sets: the 64-bit hashes of the keys that a transaction's rows have (rules R11 to R15a).
//!
//! A [`WriteSetBuilder`] takes the rows of one transaction after another. It asks a [`TablePlan`] what to hash of a row of that table;
//! the plan is made once from the schema, so that a row costs no look-up of names, collations or other tables.
//!
//! What a MySQL server was seen to do, and [`Scheme::Group`] repeats: a prefix key gives two hashes, one with the prefixes and one
//! with the whole values, or what fits of them (`server_cut`); a foreign key gives a hash only where it refers to a whole unique key,
//! and none where the session had switched foreign key checks off.

mod builder;
mod cascade;
mod decimal;
mod distinct;
mod events;
mod fallback;
mod hash;
mod images;
mod note;
mod plan;
mod reference;
mod server_bytes;
mod server_cut;
mod value_form;

pub use builder::{Image, Row, WriteSetBuilder};
pub use events::EventTouches;
pub use fallback::{Fallbacks, Reason};
pub use hash::{KeyHasher, key_prefix, table_hash};
pub use note::{Note, Noted};
pub use plan::TablePlan;
pub use value_form::plain_form;

/// Whose conflicts the hashes show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Scheme {
    /// The applier's: never misses a dependency (R13 to R15a), and two children of one parent do not conflict.
    #[default]
    Fine,
    /// The server's own, as its certifier and its source-side tracker hash (R11).
    Group,
}

/// How rows become hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // independent properties of a log, set by name
pub struct Options {
    /// Whose conflicts the hashes show.
    pub scheme: Scheme,
    /// Whether the log holds the rows that foreign keys' cascades changed (MySQL 9.6 and later). If not, rule R15a applies.
    pub cascades_logged: bool,
    /// Whether the log is known to have partial row images. Writers of tables with several unique keys or with children then take the
    /// table shared, so that a row with an unknown key blocks that table; otherwise such a row makes its transaction a barrier.
    pub partial_images: bool,
    /// Whether the log is one of a server that may leave generated columns out of images although their values change (`MariaDB`).
    pub generated_left_out: bool,
    /// For tests only: hash text by its bytes as if collations did not exist (Bug#86078).
    pub bytewise: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            scheme: Scheme::Fine,
            cascades_logged: true,
            partial_images: false,
            generated_left_out: false,
            bytewise: false,
        }
    }
}

/// What a transaction touches: distinct hashes in the order of their first appearance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WriteSet {
    /// Keys that nobody else may touch at the same time.
    pub exclusive: Vec<u64>,
    /// Keys that others may share, but not take exclusively; none of them is exclusive here.
    pub shared: Vec<u64>,
    /// Whether the transaction conflicts with every other: something of what it touches is not known (R13).
    pub barrier: bool,
    /// How many hashes there were before repeats were left out: what a server's tracker counts (R16).
    pub hashed: u64,
    /// Whether it changes a table with a key that is some foreign key's parent (R16).
    pub touches_parent: bool,
    /// Whether it changes a table that has no unique key of columns declared NOT NULL: a server then stamps commit order (R16).
    pub missing_keys: bool,
    /// What each of its row events touches, where that was asked for.
    pub events: Option<EventTouches>,
}

impl WriteSet {
    /// Whether nothing was hashed.
    pub fn is_empty(&self) -> bool {
        self.exclusive.is_empty() && self.shared.is_empty()
    }
}

#[cfg(test)]
mod tests;

//! Write sets: the 64-bit hashes of the keys that a transaction's rows have (rules R11 to R15a).
//!
//! A [`WriteSetBuilder`] takes the rows of one transaction after another. A [`TablePlan`] states what to hash of a row
//! of its table. The plan is made once from the schema, so that a row costs no look-up of names, collations or other
//! tables.
//!
//! Behaviour seen on a MySQL server, which [`Scheme::Group`] repeats: a prefix key gives two hashes, one with the
//! prefixes and one with the whole values, or as much of them as fits (`server_cut`); a foreign key gives a hash only
//! where it refers to a whole unique key, and none where the session had switched foreign key checks off.

mod builder;
mod cascade;
mod decimal;
mod distinct;
mod events;
mod fallback;
mod hash;
mod images;
mod note;
mod part;
mod plan;
mod reference;
mod row;
mod server_bytes;
mod server_cut;
mod value_form;

pub use builder::WriteSetBuilder;
pub use events::EventTouches;
pub use fallback::{Fallbacks, Reason};
pub use hash::{KeyHasher, key_prefix, table_hash};
pub use note::{Note, Noted};
pub use plan::TablePlan;
pub use row::{Image, Row};
pub use value_form::plain_form;

/// Party whose conflicts the hashes show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Scheme {
    /// The applier: never misses a dependency (R13 to R15a), and two children of one parent do not conflict.
    #[default]
    Fine,
    /// The server: hashes as in its certifier and its source-side tracker (R11).
    Group,
}

/// Properties of a log that determine how rows are hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // independent properties of a log, set by name
pub struct Options {
    /// Party whose conflicts the hashes show.
    pub scheme: Scheme,
    /// True if the log holds the rows that foreign keys' cascades changed (MySQL 9.6 and later). If not, rule R15a
    /// applies.
    pub cascades_logged: bool,
    /// True if the log is known to have partial row images. Writers of tables with several unique keys or with children
    /// then take the table shared, so that a row with an unknown key blocks that table; otherwise such a row makes its
    /// transaction a barrier.
    pub partial_images: bool,
    /// True if the log's server may leave generated columns out of images although their values change (`MariaDB`).
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

/// Keys that a transaction touches: distinct hashes in the order of their first appearance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, which different readers ask for")]
pub struct WriteSet {
    /// Keys that no other transaction may touch at the same time.
    pub exclusive: Vec<u64>,
    /// Keys that others may share, but not take exclusively; none of them is exclusive here.
    pub shared: Vec<u64>,
    /// True if the transaction conflicts with every other: some of its keys are not known (R13).
    pub barrier: bool,
    /// True if the transaction is a barrier only because it has very many keys: they were not kept.
    pub too_many: bool,
    /// Number of hashes before repeats were left out, as a server's tracker counts them (R16).
    pub hashed: u64,
    /// True if it changes a table with a key that is some foreign key's parent (R16).
    pub touches_parent: bool,
    /// True if it changes a table that has no unique key of columns declared NOT NULL: a server then stamps commit
    /// order (R16).
    pub missing_keys: bool,
    /// True if it changes a table with generated columns whose rows also change by foreign keys: a server that applies
    /// row events must not have it open in one statement with its parent.
    pub separate_tables: bool,
    /// Touches of each row event, if they were requested.
    pub events: Option<EventTouches>,
}

impl WriteSet {
    /// Returns true if nothing was hashed.
    pub fn is_empty(&self) -> bool {
        self.exclusive.is_empty() && self.shared.is_empty()
    }
}

#[cfg(test)]
mod tests;

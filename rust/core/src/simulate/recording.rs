//! Record of each transaction of a log: some tens of bytes, whatever its size.

use std::collections::HashMap;

use super::cause::Cause;

/// Mark of a key that one of two transactions shares (R15).
const SHARED: u32 = 1 << 31;

/// Short form of a key: 31 bits of its hash, and whether the conflict is between a shared and an exclusive touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct KeyTag(u32);

impl KeyTag {
    /// Returns the tag of a key.
    pub fn new(hash: u64, shared: bool) -> Self {
        Self((hash as u32 & !SHARED) | if shared { SHARED } else { 0 })
    }

    /// Returns the tag without the mark of a shared touch: the same for all conflicts over a key.
    #[must_use]
    pub fn key(self) -> Self {
        Self(self.0 & !SHARED)
    }

    /// Returns true if one of the two transactions shares the key.
    pub fn is_shared(self) -> bool {
        self.0 & SHARED != 0
    }

    /// Returns the tag as a number.
    pub fn number(self) -> u32 {
        self.0
    }

    /// Returns the tag of a number.
    pub fn from_number(number: u32) -> Self {
        Self(number)
    }
}

/// A transaction that another one has to wait for, and the key that both touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// Index of the older transaction.
    pub older: u32,
    /// The key.
    pub key: KeyTag,
}

/// Identity of a transaction: a number of its GTID's origin, and the GTID's own number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Identity {
    /// Number of the origin in the caller's list.
    pub origin: u16,
    /// The GTID's number; 0 for a transaction without GTID.
    pub number: i64,
}

/// Place of a transaction in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// Index of the file.
    pub file: u32,
    /// Offset in the file.
    pub offset: u64,
}

const OFFSET_BITS: u32 = 44;
const NUMBER_BITS: u32 = 48;

/// The transactions of a log in order, in columns.
///
/// A need is a number of transactions: all with a smaller index must be committed first.
#[derive(Debug, Default)]
pub struct Recording {
    pub(super) rows: Vec<u32>,
    pub(super) bytes: Vec<u32>,
    /// Code of the cause that makes a transaction run alone; 0 for none.
    pub(super) barriers: Vec<u8>,
    /// Code of the reason why the stamped need is greater than that of the keys; 0 if it is not.
    pub(super) narrow: Vec<u8>,
    pub(super) stamped: Vec<u32>,
    pub(super) write_set: Vec<u32>,
    pub(super) group: Vec<u32>,
    /// Index of each transaction's first edge, and the number of edges at the end.
    pub(super) first_edges: Vec<u32>,
    pub(super) edges: Vec<Edge>,
    pub(super) places: Vec<u64>,
    /// Origin in the upper bits, number in the others.
    pub(super) identities: Vec<u64>,
    /// Microseconds that each DDL statement took on the source; 0 where the log does not say.
    pub(super) statements: HashMap<u32, u64>,
    /// Causes of keys that have another one than the mark of their tag says.
    pub(super) causes: HashMap<KeyTag, Cause>,
    pub(super) has_stamps: bool,
    pub(super) has_recomputed: bool,
}

impl Recording {
    /// Returns the number of transactions.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns true if there are no transactions.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns true if the transactions carry numbers of a source or a certifier.
    pub fn has_stamps(&self) -> bool {
        self.has_stamps
    }

    /// Returns true if the numbers of a source and a certifier were computed.
    pub fn has_recomputed(&self) -> bool {
        self.has_recomputed
    }

    /// Returns the number of rows of a transaction.
    pub fn rows(&self, index: usize) -> u32 {
        self.rows[index]
    }

    /// Returns the bytes of a transaction in the log.
    pub fn bytes(&self, index: usize) -> u32 {
        self.bytes[index]
    }

    /// Returns the cause that makes a transaction run alone.
    pub fn barrier(&self, index: usize) -> Option<Cause> {
        Cause::from_code(self.barriers[index])
    }

    /// Returns the microseconds that a DDL statement took on the source, 0 if they are not known; none for other transactions.
    pub fn statement_us(&self, index: usize) -> Option<u64> {
        if self.barriers[index] == 0 { None } else { self.statements.get(&(index as u32)).copied() }
    }

    /// Returns the transactions that one has to wait for, ascending.
    pub fn edges(&self, index: usize) -> &[Edge] {
        &self.edges[self.first_edges[index] as usize..self.first_edges[index + 1] as usize]
    }

    /// Returns the place of a transaction in the log.
    pub fn place(&self, index: usize) -> Place {
        let packed = self.places[index];
        Place { file: (packed >> OFFSET_BITS) as u32, offset: packed & ((1 << OFFSET_BITS) - 1) }
    }

    /// Returns the identity of a transaction.
    pub fn identity(&self, index: usize) -> Identity {
        let packed = self.identities[index];
        Identity { origin: (packed >> NUMBER_BITS) as u16, number: (packed & ((1 << NUMBER_BITS) - 1)) as i64 }
    }

    pub(super) fn put_place(&mut self, place: Place) {
        self.places.push(u64::from(place.file) << OFFSET_BITS | place.offset & ((1 << OFFSET_BITS) - 1));
    }

    pub(super) fn put_identity(&mut self, identity: Identity) {
        let number = identity.number as u64 & ((1 << NUMBER_BITS) - 1);
        self.identities.push(u64::from(identity.origin) << NUMBER_BITS | number);
    }

    /// Sets the cause of the conflicts over a key.
    pub fn set_cause(&mut self, key: KeyTag, cause: Cause) {
        self.causes.insert(key.key(), cause);
    }

    /// Returns the cause of a conflict over a key.
    pub fn cause(&self, key: KeyTag) -> Cause {
        let marked = if key.is_shared() { Cause::ForeignKeyParent } else { Cause::HotRow };
        if self.causes.is_empty() { marked } else { self.causes.get(&key.key()).copied().unwrap_or(marked) }
    }

    /// Returns the bytes of memory in use.
    pub fn memory(&self) -> usize {
        self.len() * (4 * 6 + 2 + 8 + 8) + self.edges.capacity() * size_of::<Edge>()
    }
}

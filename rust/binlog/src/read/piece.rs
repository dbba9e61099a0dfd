//! Parts of a file that can be read by themselves: from one position outside of any transaction to another.

/// A place in the log right after a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Index in the reader's list of files.
    pub file: u32,
    /// Offset in that file.
    pub offset: u64,
}

/// A position between two events, and what a reader must know to continue there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resume {
    /// Offset of the next event.
    pub offset: u64,
    /// Offset of the format description event in use there.
    pub format: u64,
    /// True if the file is a relay log.
    pub relay_log: bool,
}

impl Resume {
    /// The start of a file of which nothing is known yet.
    pub const BEGIN: Self = Self { offset: 4, format: 4, relay_log: false };
}

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Start of the part.
    pub start: Resume,
    /// Offset after its last event; none where it goes to the end of the file, whatever is there.
    pub end: Option<u64>,
}

//! The columns of a table-map event.

use crate::rows::layout::{Layout, type_code};

/// One column of a table-map event.
///
/// Everything from `unsigned` on is known only where the source wrote it (`binlog_row_metadata`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedColumn {
    /// The type's code; the real one where CHAR, ENUM and SET share a code.
    pub type_code: u8,
    /// The type's metadata: a length, digits, or digits of a second; big-endian where it is two numbers.
    pub metadata: u16,
    /// Layout of values in the row image.
    pub layout: Layout,
    /// True if NULL may be stored.
    pub nullable: bool,
    /// True if a number is UNSIGNED.
    pub unsigned: Option<bool>,
    /// The collation's number of a character column, an ENUM or a SET.
    pub collation_id: Option<u32>,
    /// The name.
    pub name: Option<String>,
    /// The labels of ENUM and SET, in the column's character set.
    pub labels: Vec<Vec<u8>>,
    /// The geometry's kind: 0 geometry, 1 point, 2 line string, ...
    pub geometry_type: Option<u32>,
    /// True if `SELECT *` shows the column.
    pub visible: Option<bool>,
    /// The numbers of a VECTOR.
    pub dimensions: Option<u32>,
}

impl MappedColumn {
    pub(crate) fn may_be_key_hash(&self) -> bool {
        let named = self.name.as_ref().is_none_or(|name| name.starts_with("DB_ROW_HASH_"));
        self.type_code == type_code::LONGLONG && self.unsigned != Some(false) && named
    }
}

/// A column of the primary key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrimaryKeyPart {
    /// The column's index.
    pub column: usize,
    /// Number of characters that count; 0 for the whole column.
    pub prefix: u32,
}

/// Returns true if a number of this type may be UNSIGNED.
pub(crate) fn has_sign(code: u8) -> bool {
    use type_code::{DOUBLE, FLOAT, INT24, LONG, LONGLONG, NEWDECIMAL, SHORT, TINY};
    matches!(code, TINY | SHORT | INT24 | LONG | LONGLONG | FLOAT | DOUBLE | NEWDECIMAL)
}

//! The server's binary JSON: reading it, printing it as the server does, and applying the differences of partial updates.
//!
//! Source: MySQL's `sql-common/json_binary.h` describes the format; the text form was compared with a 9.7 server.

mod binary;
mod diff;
mod text;

use std::borrow::Cow;

use crate::rows::image_cursor::{Decoded, Malformed};

pub use diff::{Difference, Leg, Operation, apply_differences, differences};

/// The deepest nesting that the server itself takes.
pub(crate) const MAX_DEPTH: usize = 100;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Json<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// A floating-point number.
    Double(f64),
    /// A text in utf8mb4.
    Text(Cow<'a, str>),
    /// A value of another SQL type, in the form of a column of that type.
    Opaque {
        /// The type's code.
        type_code: u8,
        /// The value's bytes.
        bytes: Cow<'a, [u8]>,
    },
    /// `[...]`
    Array(Vec<Json<'a>>),
    /// `{...}`, in the stored order: shorter names first, then by bytes.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// Reads a binary document; the empty one, which an update of an invalid value leaves, is `null`.
    ///
    /// The work and the memory are bounded by the document's length, whatever its bytes are.
    pub fn parse(document: &'a [u8]) -> Decoded<Self> {
        binary::parse(document)
    }

    /// Appends the text that the server prints.
    pub fn write_text(&self, out: &mut Vec<u8>) -> Decoded<()> {
        text::write(self, 0, out)
    }

    fn holds_opaque(&self) -> bool {
        match self {
            Self::Opaque { .. } => true,
            Self::Array(values) => values.iter().any(Self::holds_opaque),
            Self::Object(members) => members.iter().any(|(_, value)| value.holds_opaque()),
            _ => false,
        }
    }
}

/// Appends the text that the server prints for a binary document.
pub fn json_text(document: &[u8], out: &mut Vec<u8>) -> Decoded<()> {
    Json::parse(document)?.write_text(out)
}

/// Returns true if a document holds a value of another SQL type, such as a date, whose text does not show the type.
pub fn holds_opaque(document: &[u8]) -> Decoded<bool> {
    Ok(Json::parse(document)?.holds_opaque())
}

/// Appends the text of a document after a partial update: the document before it, and the differences.
pub fn updated_json_text(before: &[u8], differences: &[u8], out: &mut Vec<u8>) -> Decoded<()> {
    let mut document = Json::parse(before)?;
    apply_differences(&mut document, differences)?;
    document.write_text(out)
}

pub(crate) fn malformed<T>(what: &'static str, at: usize) -> Decoded<T> {
    Err(Malformed { what, at })
}

#[cfg(test)]
mod tests;

//! A JSON value.

use std::borrow::Cow;

use crate::rows::image_cursor::{Decoded, Malformed};

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

impl Json<'_> {
    pub(super) fn holds_opaque(&self) -> bool {
        match self {
            Self::Opaque { .. } => true,
            Self::Array(values) => values.iter().any(Self::holds_opaque),
            Self::Object(members) => members.iter().any(|(_, value)| value.holds_opaque()),
            _ => false,
        }
    }
}

pub(crate) fn malformed<T>(what: &'static str, at: usize) -> Decoded<T> {
    Err(Malformed { what, at })
}

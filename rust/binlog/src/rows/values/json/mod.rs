//! The server's binary JSON: reading it, printing it as the server does, and applying the differences of partial updates.
//!
//! Source: MySQL's `sql-common/json_binary.h` describes the format; the text form was compared with a 9.7 server.

mod binary;
mod diff;
mod text;
mod value;

use crate::rows::image_cursor::Decoded;

pub use diff::{Difference, Leg, Operation, apply_differences, differences};
pub use value::Json;

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

#[cfg(test)]
mod tests;

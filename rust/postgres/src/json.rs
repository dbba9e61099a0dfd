//! JSON documents in the server's binary form as text.

use paraply_binlog::rows::image_cursor::Malformed;
use paraply_binlog::rows::values::json::{json_text, updated_json_text};

use super::error::NotStorable;

/// Returns the text of a document.
///
/// # Errors
/// [`NotStorable`] if the document is damaged or not UTF-8.
pub fn text(document: &[u8]) -> Result<String, NotStorable> {
    let mut out = Vec::with_capacity(document.len() * 2);
    json_text(document, &mut out).map_err(|error| damaged(&error))?;
    utf8(out)
}

/// Returns the text of a document after a sequence of differences was applied to it
/// (`binlog_row_value_options=PARTIAL_JSON`).
///
/// # Errors
/// [`NotStorable`] if either is damaged or they do not fit each other.
pub fn patched_text(document: &[u8], differences: &[u8]) -> Result<String, NotStorable> {
    let mut out = Vec::with_capacity(document.len() * 2);
    updated_json_text(document, differences, &mut out).map_err(|error| damaged(&error))?;
    utf8(out)
}

pub(super) fn damaged(error: &Malformed) -> NotStorable {
    NotStorable::new(format!("a JSON document that is damaged: {error}"))
}

pub(super) fn utf8(text: Vec<u8>) -> Result<String, NotStorable> {
    String::from_utf8(text).map_err(|_| NotStorable::new("a JSON document that is not valid UTF-8"))
}

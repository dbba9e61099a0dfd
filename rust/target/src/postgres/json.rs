//! The seam to the JSON decoder: documents in the server's binary form as JSON text.

use super::literal::NotStorable;

/// The text of a document.
///
/// # Errors
/// [`NotStorable`] if the document is damaged.
pub fn text(_document: &[u8]) -> Result<String, NotStorable> {
    Err(NotStorable::new("JSON documents cannot be read yet"))
}

/// The text of a document after a sequence of differences was applied to it (`binlog_row_value_options=PARTIAL_JSON`).
///
/// # Errors
/// [`NotStorable`] if either is damaged or they do not fit each other.
pub fn patched_text(_document: &[u8], _differences: &[u8]) -> Result<String, NotStorable> {
    Err(NotStorable::new("partial JSON updates cannot be read yet"))
}

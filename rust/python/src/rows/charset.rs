//! Text in the servers' character sets.

use paraply_binlog::rows::values::charset::Charset;
use pyo3::prelude::*;

use crate::errors::usage;

/// Return the text of bytes in one of the servers' character sets; None if the bytes are not valid in it.
///
/// Args:
///     charset: Name of the character set.
///     value: The bytes.
///
/// Raises:
///     UsageError: The character set does not exist.
#[pyfunction]
pub fn decode_text(charset: &str, value: &[u8]) -> PyResult<Option<String>> {
    match Charset::of_collation(charset) {
        None | Some(Charset::Unknown) => Err(usage(&format!("the character set `{charset}` is not known"))),
        Some(charset) => Ok(charset.decode(value).map(std::borrow::Cow::into_owned)),
    }
}

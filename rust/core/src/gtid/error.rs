//! Errors in the text of a GTID.

/// A text that is no GTID or no set of GTIDs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("malformed GTID text: {problem} at character {position}, marked by [HERE] in \"{excerpt}\"")]
pub struct GtidError {
    /// The problem at the position.
    pub problem: &'static str,
    /// Position in bytes from the beginning of the text.
    pub position: usize,
    /// The text around the position, with `[HERE]` before the offending character.
    pub excerpt: String,
}

/// Bytes of text that an error shows on either side of the position.
const SHOWN: usize = 24;

impl GtidError {
    /// Creates an error at `position` of `text`.
    pub(super) fn at(problem: &'static str, text: &[u8], position: usize) -> Self {
        let position = position.min(text.len());
        let start = position.saturating_sub(SHOWN);
        let end = text.len().min(position + SHOWN);
        let before = text.get(start..position).unwrap_or_default();
        let after = text.get(position..end).unwrap_or_default();
        let excerpt = format!(
            "{}{}[HERE]{}{}",
            if start > 0 { "..." } else { "" },
            String::from_utf8_lossy(before),
            String::from_utf8_lossy(after),
            if end < text.len() { "..." } else { "" },
        );
        Self { problem, position, excerpt }
    }
}

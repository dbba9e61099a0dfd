//! What can be wrong with the text of a GTID.

/// A text that is no GTID or no set of GTIDs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("malformed GTID text: {problem} at character {position}, marked by [HERE] in \"{excerpt}\"")]
pub struct GtidError {
    /// What was found or missed there.
    pub problem: &'static str,
    /// Where, in bytes from the beginning of the text.
    pub position: usize,
    /// The text around the place, with `[HERE]` before the offending character.
    pub excerpt: String,
}

/// How much text an error shows on either side of the place.
const SHOWN: usize = 24;

impl GtidError {
    /// An error at `position` of `text`.
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

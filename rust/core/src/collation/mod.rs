//! Equality forms of text: two values that a column's collation calls equal give the same bytes, others give different ones (rule R12).
//!
//! The weights are the servers' own (`tools/collation_tables.py` asked them). A collation that weighs characters together
//! (contractions, reordering) or that is not known has no equality form here; the caller falls back as rule R13 demands.

mod bytes;
mod codes;
mod levels;
mod names;
mod weights;

use self::bytes::ByteTable;
use self::weights::Family;

/// Why a value has no equality form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CollationError {
    /// The collation's rules are not known exactly.
    #[error("the rules of collation {0} are not known exactly")]
    Unknown(&'static str),
    /// The value is no text in the collation's character set.
    #[error("a value is not valid text for collation {collation}: invalid byte sequence at byte {offset}")]
    InvalidText {
        /// The collation.
        collation: &'static str,
        /// Bytes before the first invalid one.
        offset: usize,
    },
}

/// How well a collation's equality is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// [`Collation::equality_form`] is exact.
    Exact,
    /// There is no form: a key with such a column counts as one value.
    WholeKey,
}

/// How many bytes a character takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    One,
    Utf8,
    Other,
}

/// What a collation compares.
#[derive(Debug)]
enum Rule {
    /// The bytes themselves.
    Identity,
    /// A weight for each byte.
    Byte(ByteTable),
    /// Weights of a Unicode family; with `three_bytes` (utf8mb3) there are no supplementary characters.
    Unicode { family: Family, levels: usize, three_bytes: bool },
    /// Not known.
    Unknown,
}

/// A collation of MySQL or MariaDB.
#[derive(Debug)]
pub struct Collation {
    name: &'static str,
    width: Width,
    pad_space: bool,
    rule: Rule,
}

impl Collation {
    /// The collation of this name, without regard to ASCII case; `utf8_...` is taken as `utf8mb3_...`.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        names::registry().by_name(name)
    }

    /// The collation with this number, as a MySQL or MariaDB server counts them.
    pub fn by_id(id: u16, mariadb: bool) -> Option<&'static Self> {
        name_of(id, mariadb).and_then(Self::by_name)
    }

    /// Its full name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether each of its character set's characters has one byte.
    pub fn is_single_byte(&self) -> bool {
        matches!(self.width, Width::One)
    }

    /// Whether spaces at the end of a value count for nothing (PAD SPACE).
    pub fn pad_space(&self) -> bool {
        self.pad_space
    }

    /// How well its equality is known.
    pub fn class(&self) -> Class {
        if matches!(self.rule, Rule::Unknown) { Class::WholeKey } else { Class::Exact }
    }

    /// Whether [`Self::prefix`] can count this character set's characters.
    pub fn has_prefix(&self) -> bool {
        self.width != Width::Other
    }

    /// Appends the equality form of a value, given in the collation's character set.
    ///
    /// On an error nothing is appended.
    pub fn equality_form(&self, value: &[u8], out: &mut Vec<u8>) -> Result<(), CollationError> {
        let start = out.len();
        match &self.rule {
            Rule::Identity => out.extend_from_slice(value),
            Rule::Byte(table) => table.append(value, out),
            Rule::Unicode { family, levels, three_bytes } => {
                return self.unicode_form(*family, *levels, *three_bytes, value, out);
            }
            Rule::Unknown => return Err(CollationError::Unknown(self.name)),
        }
        if self.pad_space {
            let space = if let Rule::Byte(table) = &self.rule { table.space() } else { b' ' };
            strip_trailing(out, start, space);
        }
        Ok(())
    }

    fn unicode_form(
        &self,
        family: Family,
        levels: usize,
        three_bytes: bool,
        value: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), CollationError> {
        let tables = family.tables();
        if value.is_ascii() {
            tables.append_ascii(value, levels, self.pad_space, out);
            return Ok(());
        }
        let invalid = |offset| CollationError::InvalidText { collation: self.name, offset };
        let text = std::str::from_utf8(value).map_err(|e| invalid(e.valid_up_to()))?;
        if three_bytes && let Some(offset) = value.iter().position(|b| *b >= 0xF0) {
            return Err(invalid(offset));
        }
        tables.append_text(text, levels, self.pad_space, out);
        Ok(())
    }

    /// The first characters of a value: what a prefix key stores. A shorter value is given back whole.
    pub fn prefix<'v>(&self, value: &'v [u8], characters: u32) -> Result<&'v [u8], CollationError> {
        let characters = characters as usize;
        if value.len() <= characters {
            return Ok(value);
        }
        match self.width {
            Width::One => Ok(value.get(..characters).unwrap_or(value)),
            Width::Other => Err(CollationError::Unknown(self.name)),
            Width::Utf8 => {
                let text = std::str::from_utf8(value)
                    .map_err(|e| CollationError::InvalidText { collation: self.name, offset: e.valid_up_to() })?;
                let end = text.char_indices().nth(characters).map_or(value.len(), |(offset, _)| offset);
                Ok(value.get(..end).unwrap_or(value))
            }
        }
    }
}

/// The full name of a collation number; MySQL and MariaDB give some numbers to different collations.
pub fn name_of(id: u16, mariadb: bool) -> Option<&'static str> {
    names::registry().name_of(id, mariadb)
}

/// Cuts the bytes of one kind off the end, but nothing before `start`.
fn strip_trailing(out: &mut Vec<u8>, start: usize, byte: u8) {
    let kept = out.get(start..).map_or(0, |form| form.iter().rposition(|b| *b != byte).map_or(0, |last| last + 1));
    out.truncate(start + kept);
}

#[cfg(test)]
mod tests;

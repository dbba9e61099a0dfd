//! Equality forms of text: two values that a column's collation calls equal give the same bytes, others give different ones (rule R12).
//!
//! The weights are the servers' own (`tools/collation_tables.py` asked them): of single characters, and of the sequences that a
//! language weighs together. A collation that is not known has no equality form here; the caller falls back as rule R13 demands.

mod archive;
mod ascii;
mod bytes;
mod charset;
mod codes;
mod contractions;
mod fold;
mod gb18030;
mod levels;
mod names;
mod raw;
mod runs;
mod signatures;
mod thai;
mod weights;
mod writer;

use std::cell::RefCell;

use self::archive::Entry;
use self::bytes::{ByteTable, strip_trailing};
use self::charset::Charset;
use self::fold::Fold;
use self::weights::{Comparison, Tables};

pub use self::names::name_of;

/// Longest text of ASCII characters, in a set that writes them in several bytes, that takes the short path.
const NARROW: usize = 128;

/// Reusable buffers.
#[derive(Debug)]
struct Scratch {
    /// The characters of a text.
    text: Vec<u32>,
    /// Runs of their signatures in the later levels.
    runs: Vec<runs::Run>,
}

thread_local! {
    /// Buffers of this thread.
    static ROOM: RefCell<Scratch> = const { RefCell::new(Scratch { text: Vec::new(), runs: Vec::new() }) };
}

/// Reason why a value has no equality form.
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

/// Exactness of what is known of a collation's equality.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// [`Collation::equality_form`] is exact.
    Exact,
    /// Equal values give the same form; some that are not equal do too.
    Safe,
    /// There is no form: a key with such a column counts as one value.
    WholeKey,
}

impl Class {
    /// Returns the name for reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Safe => "safe",
            Self::WholeKey => "whole-key",
        }
    }
}

/// Rule by which a collation compares.
#[derive(Debug)]
enum Rule {
    /// The bytes themselves.
    Identity,
    /// A weight for each byte.
    Byte(ByteTable),
    /// Thai letters in the order of speech.
    Thai,
    /// Characters of a multi-byte set, some of which are equal.
    Fold(&'static Fold),
    /// Weights of Unicode characters.
    Unicode { table: &'static Entry, by: Comparison },
    /// Not known.
    Unknown,
}

/// A collation of MySQL or MariaDB.
#[derive(Debug)]
pub struct Collation {
    name: &'static str,
    charset: Charset,
    pad_space: bool,
    class: Class,
    rule: Rule,
}

impl Collation {
    /// Returns the full name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns true if each character of the character set has one byte.
    pub fn is_single_byte(&self) -> bool {
        matches!(self.charset, Charset::One)
    }

    /// Returns true if spaces at the end of a value are ignored (PAD SPACE).
    pub fn pad_space(&self) -> bool {
        self.pad_space
    }

    /// Returns the exactness with which the collation's equality is known.
    pub fn class(&self) -> Class {
        self.class
    }

    /// Appends the equality form of a value, given in the collation's character set.
    ///
    /// # Errors
    ///
    /// The collation is not known, or the value is no text in its character set. Nothing is appended then.
    pub fn equality_form(&self, value: &[u8], out: &mut Vec<u8>) -> Result<(), CollationError> {
        let start = out.len();
        match &self.rule {
            Rule::Identity => out.extend_from_slice(value),
            Rule::Byte(table) => table.append(value, out),
            Rule::Thai => thai::append(value, self.pad_space, out),
            Rule::Fold(fold) => fold.append(self.charset, value, out).map_err(|offset| self.invalid(offset))?,
            Rule::Unicode { table, by } => return self.unicode_form(table.tables(), *by, value, out),
            Rule::Unknown => return Err(CollationError::Unknown(self.name)),
        }
        if self.pad_space {
            match &self.rule {
                Rule::Byte(table) => strip_trailing(out, start, table.space()),
                Rule::Identity => strip_spaces(out, start, self.charset.space()),
                _ => strip_trailing(out, start, b' '),
            }
        }
        Ok(())
    }

    fn invalid(&self, offset: usize) -> CollationError {
        CollationError::InvalidText { collation: self.name, offset }
    }

    fn unicode_form(
        &self,
        tables: &Tables,
        by: Comparison,
        value: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), CollationError> {
        let mut narrow = [0; NARROW];
        let ascii = if self.charset.has_ascii() {
            value.is_ascii().then_some(value)
        } else {
            self.charset.narrow(value, &mut narrow).and_then(|length| narrow.get(..length))
        };
        if ascii.is_some_and(|ascii| tables.append_ascii(ascii, by, out)) {
            return Ok(());
        }
        ROOM.with_borrow_mut(|Scratch { text, runs }| {
            if self.charset.is_utf8() {
                let text = self.utf8(value)?.chars().map(u32::from);
                tables.append_text(text, value.len(), by, runs, out);
                return Ok(());
            }
            text.clear();
            self.charset.decode(value, text).map_err(|offset| self.invalid(offset))?;
            if self.charset == Charset::Gb18030 {
                for character in &mut *text {
                    // A character that Unicode lacks is text to the server, but not to its conversion, and so has no
                    // known weight.
                    *character = gb18030::code_point(*character).ok_or_else(|| self.invalid(0))?;
                }
            }
            tables.append_text(text.iter().copied(), text.len(), by, runs, out);
            Ok(())
        })
    }

    /// Returns a value as text of one of the UTF-8 sets.
    fn utf8<'v>(&self, value: &'v [u8]) -> Result<&'v str, CollationError> {
        let text = std::str::from_utf8(value).map_err(|e| self.invalid(e.valid_up_to()))?;
        if self.charset == Charset::Utf8mb3
            && let Some(offset) = value.iter().position(|byte| *byte >= 0xF0)
        {
            return Err(self.invalid(offset));
        }
        Ok(text)
    }

    /// Returns the number of bytes of a value's first character; 1 where it is no character.
    pub fn character_length(&self, value: &[u8]) -> usize {
        self.charset.first(value).map_or(1, |(_, length)| length)
    }

    /// Returns a value without the spaces at its end.
    pub fn without_end_spaces<'v>(&self, value: &'v [u8]) -> &'v [u8] {
        value.get(..without_spaces(value, self.charset.space())).unwrap_or(value)
    }

    /// Returns the first characters of a value, as a prefix key stores them. A shorter value is returned whole.
    ///
    /// # Errors
    ///
    /// The value is no text in the collation's character set.
    pub fn prefix<'v>(&self, value: &'v [u8], characters: u32) -> Result<&'v [u8], CollationError> {
        let characters = characters as usize;
        if value.len() <= characters {
            return Ok(value);
        }
        if self.charset == Charset::One {
            return Ok(value.get(..characters).unwrap_or(value));
        }
        let mut read = self.charset.characters(value);
        let count = read.by_ref().take(characters).count();
        if count < characters && read.at() < value.len() {
            return Err(self.invalid(read.at()));
        }
        Ok(value.get(..read.at()).unwrap_or(value))
    }
}

/// Cuts spaces off the end, but nothing before `start`; a space may take several bytes.
fn strip_spaces(out: &mut Vec<u8>, start: usize, space: &[u8]) {
    let kept = out.get(start..).map_or(0, |form| without_spaces(form, space));
    out.truncate(start + kept);
}

/// Returns the number of bytes before the spaces at the end.
fn without_spaces(value: &[u8], space: &[u8]) -> usize {
    let spaces = value.rchunks_exact(space.len()).take_while(|unit| *unit == space).count();
    value.len() - spaces * space.len()
}

#[cfg(test)]
mod tests;

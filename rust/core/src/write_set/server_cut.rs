//! The part of long values that MySQL leaves out: of a TEXT or BLOB it hashes the first weights alone.
//!
//! The server turns a value into its collation's weights in a buffer that is made for the column's *stored* length. A
//! TEXT or BLOB stores a length and a pointer, 9 to 12 bytes, so its weights are cut off where those of such a short
//! text would end. Values with the same beginning then have the same hash. Seen on 9.7, for every collation, in the
//! hash of a prefix key with whole values. No other key can have such a part.
//!
//! A key is hashed a second time, with whole values, where the buffer for some stored value differs from that for the
//! key's part: mostly for a prefix, and for any VARCHAR, whose length takes space too. Values that are filled to the
//! end of the buffer then have two different hashes. Others have the same hash twice if the prefix is the whole value.

use crate::collation::{Class, Collation};
use crate::schema::Column;

/// Separator before each later level of an equality form.
const LEVEL: u8 = 0xFF;
/// Bytes of a run in a later level: a weight, and the number of its repetitions.
const RUN: (usize, usize) = (2, 4);
/// Weights that the collations of Unicode 9 reserve for a character in each level.
const LEVEL_ROOM: usize = 8;
/// Languages whose scripts those collations put in another order, for which the server reserves one more level.
const REORDERED: [&str; 8] = ["bg", "bs", "hr", "mn_cyrl", "ru", "sr_latn", "ja", "zh"];

/// Part of a column's whole values that the server hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hashed {
    /// The whole value.
    Whole,
    /// The beginning of the value.
    Beginning(Cut),
    /// The beginning of the value, of unknown length.
    Unknown,
}

/// Part of a value's equality form that the server hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut {
    capacity: Capacity,
    /// A space in the form, where spaces at the end are ignored.
    space: Option<u8>,
}

/// The server's buffer, in units of the equality form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Capacity {
    /// Number of bytes.
    Bytes(usize),
    /// Number of UTF-8 characters.
    Characters(usize),
    /// Number of weights of Unicode characters; the separator of two levels takes the space of one.
    Weights(usize),
}

impl Hashed {
    /// Returns the part of this column's values that the server hashes.
    pub(super) fn of(column: &Column) -> Self {
        let Some(stored) = stored_length(&column.data_type) else { return Self::Whole };
        let Some(name) = column.collation.as_deref().filter(|name| *name != "binary") else {
            return Self::Beginning(Cut { capacity: Capacity::Bytes(stored), space: None });
        };
        let known = Collation::by_name(name).filter(|collation| collation.class() == Class::Exact);
        let cut =
            known.and_then(|collation| Some(Cut { capacity: capacity(collation, stored)?, space: space(collation) }));
        cut.map_or(Self::Unknown, Self::Beginning)
    }
}

/// Second hash of a part of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    /// The same buffer as the first time.
    Alike,
    /// A different buffer.
    Otherwise {
        /// True if the value is filled to the buffer's end, so that its bytes differ however short it is.
        filled: bool,
    },
}

impl Again {
    /// Returns the second hash of a column of a key, or of its first `prefix` characters.
    pub(super) fn of(column: &Column, prefix: Option<u32>) -> Self {
        let collation = column.collation.as_deref().and_then(Collation::by_name);
        let pads = collation.is_some_and(Collation::pad_space);
        let kind = column.data_type.as_str();
        match prefix {
            None if kind.starts_with("var") => Self::Otherwise { filled: pads },
            None => Self::Alike,
            Some(_) if stored_length(kind).is_none() => {
                Self::Otherwise { filled: pads || matches!(kind, "char" | "binary") }
            }
            Some(characters) => {
                let characters = characters as usize;
                let alike = stored_length(kind).is_some_and(|stored| match collation {
                    Some(collation) => capacity(collation, stored).is_some_and(|whole| {
                        capacity(collation, characters * longest_character(collation)) == Some(whole)
                    }),
                    None => stored == characters,
                });
                if alike { Self::Alike } else { Self::Otherwise { filled: pads } }
            }
        }
    }
}

/// Returns the length in bytes of the longest character of a collation's character set.
fn longest_character(collation: &Collation) -> usize {
    match collation.name().split('_').next().unwrap_or_default() {
        "utf8mb4" | "utf16" | "utf16le" | "utf32" | "gb18030" => 4,
        "utf8mb3" | "ujis" | "eucjpms" => 3,
        _ if collation.is_single_byte() => 1,
        _ => 2,
    }
}

impl Cut {
    /// Cuts the form that begins at `start`.
    pub(super) fn apply(self, form: &mut Vec<u8>, start: usize) {
        let value = form.get(start..).unwrap_or_default();
        let kept = match self.capacity {
            Capacity::Bytes(capacity) => capacity.min(value.len()),
            Capacity::Characters(capacity) => first_characters(value, capacity),
            Capacity::Weights(capacity) => first_weights(form, start, capacity),
        };
        if start + kept >= form.len() {
            return;
        }
        form.truncate(start + kept);
        if let Some(space) = self.space {
            let text = form.get(start..).unwrap_or_default();
            let kept = text.iter().rposition(|byte| *byte != space).map_or(0, |last| last + 1);
            form.truncate(start + kept);
        }
    }
}

/// Returns the number of bytes that a row stores for such a column: a length and a pointer; none for other types.
fn stored_length(data_type: &str) -> Option<usize> {
    let bytes_of_length = match data_type {
        "tinytext" | "tinyblob" => 1,
        "text" | "blob" => 2,
        "mediumtext" | "mediumblob" => 3,
        "longtext" | "longblob" => 4,
        _ => return None,
    };
    Some(bytes_of_length + size_of::<u64>())
}

/// Returns the buffer for a text of this many bytes; none for collations whose forms are not made of the server's
/// weights.
fn capacity(collation: &Collation, stored: usize) -> Option<Capacity> {
    let name = collation.name();
    let (charset, kind) = name.split_once('_').unwrap_or((name, ""));
    let bmp = matches!(kind, "general_ci" | "general_mysql500_ci" | "tolower_ci");
    Some(match charset {
        "utf8mb4" if kind == "0900_bin" => Capacity::Bytes(stored),
        "utf8mb4" if kind == "bin" => Capacity::Characters(stored.div_ceil(4)),
        "utf8mb4" if bmp => Capacity::Weights(stored.div_ceil(4)),
        "utf8mb4" if kind.contains("0900_") => Capacity::Weights(unicode_9_room(kind, stored)),
        "utf8mb3" if kind == "bin" => Capacity::Characters(stored.div_ceil(3)),
        "utf8mb3" if bmp => Capacity::Weights(stored.div_ceil(3)),
        "ucs2" if kind == "bin" => Capacity::Bytes(stored),
        "ucs2" | "utf16" | "utf16le" | "utf32" if kind == "bin" || bmp => return None,
        "utf8mb4" | "utf8mb3" | "ucs2" | "utf16" | "utf32" => Capacity::Weights(4 * stored),
        "gb18030" if kind == "unicode_520_ci" => Capacity::Weights(4 * stored),
        "big5" | "gbk" | "gb2312" | "gb18030" | "sjis" | "cp932" | "ujis" | "eucjpms" | "euckr" if kind == "bin" => {
            Capacity::Bytes(stored)
        }
        _ if !collation.is_single_byte() || kind == "thai_ci" || kind == "czech_cs" => return None,
        _ if kind == "german2_ci" => Capacity::Bytes(2 * stored),
        _ => Capacity::Bytes(stored),
    })
}

/// Returns the number of weights that fit for a collation of Unicode 9, given by the part of its name after the
/// character set.
fn unicode_9_room(kind: &str, stored: usize) -> usize {
    let (language, levels) = kind.split_once("0900_").unwrap_or(("", kind));
    let levels = match levels {
        "ai_ci" => 1,
        "as_ci" => 2,
        "as_cs" => 3,
        _ => 4,
    };
    let reordered = usize::from(REORDERED.contains(&language.trim_end_matches('_')));
    LEVEL_ROOM * stored.div_ceil(4) * (levels + reordered) + levels - 1
}

/// Returns a space in the form of a collation that pads.
fn space(collation: &Collation) -> Option<u8> {
    let mut form = Vec::new();
    let known = collation.pad_space() && collation.equality_form(b" a", &mut form).is_ok();
    known.then(|| form.first().copied()).flatten()
}

/// Returns the number of bytes of the first `count` characters of UTF-8.
fn first_characters(text: &[u8], count: usize) -> usize {
    let begins = text.iter().enumerate().filter(|(_, byte)| **byte & 0xC0 != 0x80);
    begins.map(|(at, _)| at).nth(count).unwrap_or(text.len())
}

/// Returns the number of bytes of the first weights of a form; shortens the run in which the buffer ends.
fn first_weights(form: &mut [u8], start: usize, mut capacity: usize) -> usize {
    let Some(value) = form.get_mut(start..) else { return 0 };
    let mut at = 0;
    while let Some(byte) = value.get(at).copied().filter(|byte| *byte != LEVEL) {
        if capacity == 0 {
            return at;
        }
        capacity -= 1;
        at += if byte < 0x80 { 1 } else { 3 };
    }
    while let Some(byte) = value.get(at).copied() {
        if capacity == 0 {
            return at;
        }
        if byte == LEVEL {
            capacity -= 1;
            at += 1;
            continue;
        }
        let end = at + RUN.0 + RUN.1;
        let Some(Ok(length)) = value.get(at + RUN.0..end).map(<[u8; RUN.1]>::try_from) else { return at };
        let length = u32::from_be_bytes(length) as usize;
        if length > capacity {
            let shortened = u32::try_from(capacity).unwrap_or(u32::MAX).to_be_bytes();
            value.get_mut(at + RUN.0..end).into_iter().for_each(|bytes| bytes.copy_from_slice(&shortened));
            return end;
        }
        capacity -= length;
        at = end;
    }
    at
}

//! Collations of multi-byte character sets in which each character equals itself and perhaps some others, one by one.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::OnceLock;

use super::charset::Charset;
use super::raw::unpack;

/// Number of blocks of characters that are distinguished; a power of two.
const BLOCKS: usize = 4096;

/// A hash for numbers of characters. They are those of the compiled-in table, so no attacker chooses them.
type Quick = BuildHasherDefault<Mixed>;

/// Mixes one number.
#[derive(Debug, Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The characters that equal another: by number, the least one that each equals.
#[derive(Debug)]
pub(super) struct Fold {
    ascii: [u8; 128],
    others: HashMap<u32, u32, Quick>,
    /// For each block (its last bits): true if a character in it, or one that equals it, is in the fold.
    blocks: Box<[bool; BLOCKS]>,
    /// Least character of each group of equal characters with different numbers of bytes. MySQL compares wrongly after
    /// such a character: it takes as many bytes of both values as the shorter one has, so that the rest may be cut off.
    uneven: HashSet<u32, Quick>,
}

impl Fold {
    /// Returns the fold of a collation.
    pub(super) fn by_name(name: &str) -> Option<&'static Self> {
        static FOLDS: OnceLock<HashMap<String, Fold>> = OnceLock::new();
        FOLDS.get_or_init(|| read(&unpack(include_bytes!("../../data/folds.zst")))).get(name)
    }

    /// Returns true if all values that differ have different forms; else the form ends at a character that equals a
    /// longer or shorter one.
    pub(super) fn is_exact(&self) -> bool {
        self.uneven.is_empty()
    }

    /// Appends the form of a value.
    ///
    /// # Errors
    ///
    /// The offset of the first byte that begins no character.
    pub(super) fn append(&self, charset: Charset, value: &[u8], out: &mut Vec<u8>) -> Result<(), usize> {
        let start = out.len();
        if value.is_ascii() {
            out.extend(value.iter().map(|byte| self.ascii[usize::from(*byte & 0x7F)]));
            return Ok(());
        }
        let mut characters = charset.characters(value);
        let mut ended = false;
        for (character, _) in characters.by_ref() {
            if ended {
                continue;
            }
            if let Some(byte) = self.ascii.get(character as usize) {
                out.push(*byte);
                continue;
            }
            let block = self.blocks[(character >> 8) as usize % BLOCKS];
            let equal = if block { self.others.get(&character).copied().unwrap_or(character) } else { character };
            match equal.to_be_bytes() {
                [0, 0, 0, d] => out.push(d),
                [0, 0, c, d] => out.extend_from_slice(&[c, d]),
                [0, b, c, d] => out.extend_from_slice(&[b, c, d]),
                all => out.extend_from_slice(&all),
            }
            ended = block && self.uneven.contains(&equal);
        }
        if characters.at() == value.len() {
            return Ok(());
        }
        out.truncate(start);
        Err(characters.at())
    }
}

/// Reads lines of collation, character and the one it equals, both in hexadecimal.
fn read(data: &[u8]) -> HashMap<String, Fold> {
    let mut folds: HashMap<String, Fold> = HashMap::new();
    for line in String::from_utf8_lossy(data).lines() {
        let mut fields = line.split(' ');
        let Some(name) = fields.next() else { continue };
        let fold = folds.entry(name.into()).or_insert_with(|| Fold {
            ascii: std::array::from_fn(|byte| byte as u8),
            others: HashMap::default(),
            blocks: Box::new([false; BLOCKS]),
            uneven: HashSet::default(),
        });
        let mut number = || fields.next().and_then(|field| u32::from_str_radix(field, 16).ok());
        if let (Some(character), Some(equal)) = (number(), number()) {
            for number in [character, equal] {
                fold.blocks[(number >> 8) as usize % BLOCKS] = true;
            }
            if character.leading_zeros() / 8 != equal.leading_zeros() / 8 {
                fold.uneven.insert(equal);
            }
            match (fold.ascii.get_mut(character as usize), u8::try_from(equal)) {
                (Some(byte), Ok(equal)) => *byte = equal,
                _ => {
                    fold.others.insert(character, equal);
                }
            }
        }
    }
    folds
}

//! Collations of multi-byte character sets in which each character equals itself and perhaps some others, one by one.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use super::archive::unpack;
use super::charset::Charset;

/// The characters that equal another: by number, the least one that each equals.
#[derive(Debug, Default)]
pub(super) struct Fold {
    ascii: Vec<u8>,
    others: HashMap<u32, u32>,
    /// The least of each group of equal characters with different numbers of bytes. MySQL compares wrongly behind them: it takes
    /// as many bytes of both values as the shorter one has, so that what follows may be cut off.
    uneven: HashSet<u32>,
}

impl Fold {
    /// The fold of a collation.
    pub(super) fn by_name(name: &str) -> Option<&'static Self> {
        static FOLDS: OnceLock<HashMap<String, Fold>> = OnceLock::new();
        FOLDS.get_or_init(|| read(&unpack(include_bytes!("../../data/folds.zst")))).get(name)
    }

    /// Whether all values are told apart that differ; else the form ends at a character that equals a longer or shorter one.
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
            let equal = self.others.get(&character).copied().unwrap_or(character);
            let zeros = equal.leading_zeros() as usize / 8;
            out.extend_from_slice(equal.to_be_bytes().get(zeros..).unwrap_or_default());
            ended = self.uneven.contains(&equal);
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
        let fold = folds.entry(name.into()).or_insert_with(|| Fold { ascii: (0..128).collect(), ..Fold::default() });
        let mut number = || fields.next().and_then(|field| u32::from_str_radix(field, 16).ok());
        if let (Some(character), Some(equal)) = (number(), number()) {
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

//! Collations of multi-byte character sets in which each character equals itself and perhaps some others, one by one.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::archive::unpack;
use super::charset::Charset;

/// The characters that equal another: by number, the least one that each equals.
#[derive(Debug, Default)]
pub(super) struct Fold {
    ascii: Vec<u8>,
    others: HashMap<u32, u32>,
}

impl Fold {
    /// The fold of a collation.
    pub(super) fn by_name(name: &str) -> Option<&'static Self> {
        static FOLDS: OnceLock<HashMap<String, Fold>> = OnceLock::new();
        FOLDS.get_or_init(|| read(&unpack(include_bytes!("../../data/folds.zst")))).get(name)
    }

    /// Appends the form of a value.
    ///
    /// # Errors
    ///
    /// The offset of the first byte that begins no character.
    pub(super) fn append(&self, charset: Charset, value: &[u8], out: &mut Vec<u8>) -> Result<(), usize> {
        let start = out.len();
        let mut characters = charset.characters(value);
        for (character, _) in characters.by_ref() {
            if let Some(byte) = self.ascii.get(character as usize) {
                out.push(*byte);
                continue;
            }
            let equal = self.others.get(&character).copied().unwrap_or(character).to_be_bytes();
            let zeros = equal.iter().take_while(|byte| **byte == 0).count();
            out.extend_from_slice(equal.get(zeros..).unwrap_or_default());
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
        let fold =
            folds.entry(name.into()).or_insert_with(|| Fold { ascii: (0..128).collect(), others: HashMap::new() });
        let mut number = || fields.next().and_then(|field| u32::from_str_radix(field, 16).ok());
        if let (Some(character), Some(equal)) = (number(), number()) {
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

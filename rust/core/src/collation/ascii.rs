//! Texts of ASCII characters only: their first level's codes, and the positions of their capitals.

use super::codes::IGNORED;
use super::contractions::ASCII;

/// Kinds of characters that contractions may begin with.
const KINDS: usize = 8;
/// Position in an entry of the bit for the kind of the character as the head of a contraction.
const HEAD: u32 = 8;
/// Position in an entry of the bits for the kinds of heads that the character follows in a contraction.
const SECOND: u32 = 16;

/// First-level code of each ASCII character, and its part in contractions.
#[derive(Debug)]
pub(super) struct Ascii {
    /// The code; a bit for the kind as a head; bits for the kinds of heads that the character follows.
    entries: Box<[u32; 256]>,
    has_contractions: bool,
}

impl Ascii {
    /// Creates the table from the codes and, for each character, a bit for each character that follows it in a
    /// contraction.
    pub(super) fn new(codes: &[u8; 256], seconds: Option<&[u128; ASCII]>) -> Self {
        let mut entries = Box::new(codes.map(u32::from));
        let mut kinds: Vec<u128> = Vec::new();
        for (head, seconds) in seconds.into_iter().flatten().enumerate().filter(|(_, seconds)| **seconds != 0) {
            let kind = kinds.iter().position(|known| known == seconds).unwrap_or_else(|| {
                kinds.push(*seconds);
                kinds.len() - 1
            });
            // Kinds share bits where there are many of them; then more texts take the exact search.
            let bit = 1 << (kind % KINDS);
            entries[head] |= bit << HEAD;
            for (second, entry) in entries.iter_mut().take(ASCII).enumerate() {
                *entry |= (seconds >> second & 1) as u32 * (bit << SECOND);
            }
        }
        Self { entries, has_contractions: !kinds.is_empty() }
    }

    /// Appends the codes of a text, and returns true if there may be a contraction in it.
    #[inline]
    pub(super) fn append(&self, text: &[u8], out: &mut Vec<u8>) -> bool {
        if self.has_contractions { self.append_with::<true>(text, out) } else { self.append_with::<false>(text, out) }
    }

    #[inline]
    fn append_with<const CONTRACTIONS: bool>(&self, text: &[u8], out: &mut Vec<u8>) -> bool {
        let start = out.len();
        let (mut all, mut found, mut before) = (0, 0, 0);
        // The codes of eight characters are assembled in a register: bytes that are stored one by one cannot be
        // loaded at once.
        let mut codes = |bytes: &[u8]| {
            let mut codes = 0;
            for (byte, at) in bytes.iter().zip((0..).step_by(8)) {
                let entry = self.entries[usize::from(*byte)];
                codes |= u64::from(entry as u8) << at;
                if CONTRACTIONS {
                    found |= before << (SECOND - HEAD) & entry;
                    before = entry;
                }
            }
            all |= codes;
            codes.to_le_bytes()
        };
        let (eights, rest) = text.as_chunks::<8>();
        for eight in eights {
            out.extend_from_slice(&codes(eight));
        }
        out.extend_from_slice(&codes(rest));
        out.truncate(start + text.len());
        if all & HIGH != 0 {
            drop_ignored(out, start);
        }
        found >> SECOND != 0
    }
}

/// Drops bytes of characters without a weight, from `start` on.
#[cold]
fn drop_ignored(out: &mut Vec<u8>, start: usize) {
    let mut end = start;
    for at in start..out.len() {
        if out[at] != IGNORED {
            out[end] = out[at];
            end += 1;
        }
    }
    out.truncate(end);
}

/// A one in each byte of a word.
const ONES: u64 = 0x0101_0101_0101_0101;
/// The bit of each byte that no ASCII character has.
const HIGH: u64 = ONES << 7;
/// Moves the lowest bit of byte n of a word to bit 56 + n.
const GATHER: u64 = 0x0102_0408_1020_4080;
/// Number of characters that are checked at once.
const GO: usize = u64::BITS as usize;

/// Returns a bit for each capital letter of a text of up to 64 printable ASCII characters, the first character's
/// lowest.
///
/// Returns none for longer texts and for control characters.
#[inline]
pub(super) fn capitals(text: &[u8]) -> Option<u64> {
    if text.len() > GO {
        return None;
    }
    let (eights, rest) = text.as_chunks::<8>();
    let (mut found, mut odd) = (0, 0);
    for (n, eight) in eights.iter().enumerate() {
        let word = u64::from_le_bytes(*eight);
        found |= capitals_of(word) << (8 * n);
        odd |= controls_in(word);
    }
    // Assembled in a register: a word that is stored byte by byte cannot be loaded at once.
    let word = rest.iter().rev().fold(ONES * u64::from(b' '), |word, byte| word << 8 | u64::from(*byte));
    found |= capitals_of(word).checked_shl(8 * eights.len() as u32).unwrap_or(0);
    odd |= controls_in(word);
    (odd == 0).then_some(found)
}

/// Sets the high bit of each of eight ASCII characters that is `first` or greater.
#[inline]
fn from(first: u8, word: u64) -> u64 {
    // No byte's sum carries into the next byte.
    (word + ONES * u64::from(0x80 - first)) & HIGH
}

#[inline]
fn capitals_of(word: u64) -> u64 {
    let found = from(b'A', word) & !from(b'Z' + 1, word);
    (found >> 7).wrapping_mul(GATHER) >> 56
}

#[inline]
fn controls_in(word: u64) -> u64 {
    !from(b' ', word) & HIGH | from(0x7F, word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_appended_and_contractions_noticed() {
        let mut codes: [u8; 256] = std::array::from_fn(|byte| byte as u8 & 0x7F);
        codes[7] = IGNORED;
        let mut seconds = [0; ASCII];
        seconds[usize::from(b'c')] = 1 << b'h' | 1 << b's';
        seconds[usize::from(b'g')] = 1 << b'y';
        for (count, seconds) in [(0, None), (3, Some(&seconds))] {
            let ascii = Ascii::new(&codes, seconds);
            let mut noticed = 0;
            for length in 0..30 {
                for two in ["ch", "cs", "gy", "ab", "hc", "gs", "\u{7}c"] {
                    let text = format!("{}{two}{}", "x".repeat(length), "y".repeat(length % 9));
                    let mut out = b"before".to_vec();
                    noticed += u32::from(ascii.append(text.as_bytes(), &mut out));
                    assert_eq!(out, format!("before{}", text.replace('\u{7}', "")).into_bytes());
                }
            }
            assert_eq!(noticed, count * 30);
        }
    }

    #[test]
    fn many_kinds_of_contractions_share_bits() {
        let seconds = std::array::from_fn(|head| if head < 40 { 1 << (head + 50) | 1 << 100 } else { 0 });
        let ascii = Ascii::new(&[b'a'; 256], Some(&seconds));
        for head in 0..40 {
            assert!(ascii.append(&[b'z', head, head + 50], &mut Vec::new()));
            assert!(ascii.append(&[head, 100], &mut Vec::new()));
            assert!(!ascii.append(&[head, 49], &mut Vec::new()));
        }
    }

    #[test]
    fn capitals_are_found_wherever_they_stand() {
        for length in 0..=GO {
            for byte in 0..128 {
                let mut text = vec![b'a'; length];
                for at in 0..length {
                    text[at] = byte;
                    let expected = match byte {
                        b'A'..=b'Z' => Some(1 << at),
                        b' '..=b'~' => Some(0),
                        _ => None,
                    };
                    assert_eq!(capitals(&text), expected, "{byte} at {at} of {length}");
                    text[at] = b'z';
                }
            }
        }
        assert_eq!(capitals(b"PaRaPlY @[`{"), Some(0b101_0101));
    }
}

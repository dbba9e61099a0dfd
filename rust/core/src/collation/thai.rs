//! `tis620_thai_ci`: letters without case, a vowel that is written before its consonant after it, tone marks at the
//! end.

/// Vowels that are written before the consonant they follow in speech.
const LEADING_VOWELS: std::ops::RangeInclusive<u8> = 0xE0..=0xE4;
const CONSONANTS: std::ops::RangeInclusive<u8> = 0xA1..=0xCE;
const THAI: std::ops::RangeInclusive<u8> = 0x80..=0xFF;
/// Tone marks and the like, in the order of their weights from 1.
const MARKS: [u8; 6] = [0xEC, 0xE7, 0xE8, 0xE9, 0xEA, 0xEB];

/// Appends the bytes that a server compares for a value, but for spaces at the end.
///
/// MariaDB's collation without padding compares up to the first zero byte.
pub(super) fn append(value: &[u8], pads: bool, out: &mut Vec<u8>) {
    let start = out.len();
    append_in_order(value, out);
    let zero = out.get(start..).and_then(|form| form.iter().position(|byte| *byte == 0));
    if let Some(zero) = zero.filter(|_| !pads) {
        out.truncate(start + zero);
    }
}

/// Appends a value's bytes in the order in which they are compared.
///
/// A mark moves to the end as a weight that encodes the number of characters before it. The characters after it move
/// up, but only the unread ones, so that a later mark replaces an earlier one.
fn append_in_order(value: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(value);
    let Some(text) = out.get_mut(start..) else { return };
    if text.is_ascii() {
        text.make_ascii_lowercase();
        return;
    }
    let (mut at, mut unread) = (0, text.len());
    let mut place = 256_usize - 8;
    while unread > 0 {
        let Some(byte) = text.get(at).copied() else { return };
        if THAI.contains(&byte) {
            if CONSONANTS.contains(&byte) {
                place = place.wrapping_sub(8);
            }
            let next = text.get(at + 1).copied().filter(|_| unread > 1);
            if LEADING_VOWELS.contains(&byte) && next.is_some_and(|next| CONSONANTS.contains(&next)) {
                text.swap(at, at + 1);
                at += 2;
                unread -= 2;
                continue;
            }
            if let Some(mark) = MARKS.iter().position(|mark| *mark == byte) {
                text.copy_within(at + 1..at + unread, at);
                if let Some(last) = text.last_mut() {
                    *last = (place + mark + 1) as u8;
                }
                unread -= 1;
                continue;
            }
        } else {
            place = place.wrapping_sub(8);
            if let Some(byte) = text.get_mut(at) {
                byte.make_ascii_lowercase();
            }
        }
        at += 1;
        unread -= 1;
    }
}

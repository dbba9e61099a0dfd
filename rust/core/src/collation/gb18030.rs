//! Code points of gb18030's characters, for its one collation with Unicode weights.

use std::sync::OnceLock;

use super::raw::unpack;

/// Number of characters of two bytes for each first byte.
const TWO_BYTE_ROW: u32 = 190;
const TWO_BYTES: u32 = 126 * TWO_BYTE_ROW;
/// First index of a character of four bytes in the supplementary planes.
const SUPPLEMENTARY: u32 = 189_000;

/// Returns the code point of a character, given as its bytes in a number; none if it has no code point.
#[inline]
pub(super) fn code_point(character: u32) -> Option<u32> {
    let byte = |shift: u32| character >> shift & 0xFF;
    let [one, two, three, four] = [byte(24), byte(16), byte(8), byte(0)];
    if character < 0x80 {
        return Some(character);
    }
    if one == 0 {
        let column = four.checked_sub(if four > 0x7F { 0x41 } else { 0x40 })?;
        return listed(three.checked_sub(0x81)? * TWO_BYTE_ROW + column);
    }
    let place = (one.checked_sub(0x81)? * 10 + two.checked_sub(0x30)?) * 1260
        + three.checked_sub(0x81)? * 10
        + four.checked_sub(0x30)?;
    match place.checked_sub(SUPPLEMENTARY) {
        Some(above) => Some(0x1_0000 + above).filter(|code_point| *code_point < 0x11_0000),
        None => listed(TWO_BYTES + place),
    }
}

/// Returns the code point at an index of the list: all characters of two bytes, then those of four below the
/// supplementary planes.
#[inline]
fn listed(place: u32) -> Option<u32> {
    static LIST: OnceLock<Vec<u8>> = OnceLock::new();
    let list = LIST.get_or_init(|| unpack(include_bytes!("../../data/gb18030.zst")));
    let at = place as usize * 2;
    let code_point = u16::from_le_bytes(*list.get(at..)?.first_chunk()?);
    (code_point != 0).then_some(code_point.into())
}

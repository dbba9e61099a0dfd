//! DECIMAL's packed form as text.

use super::fallback::Reason;

/// Number of digits in a group of four bytes.
const GROUP: usize = 9;
/// Number of bytes for each number of leftover digits.
const BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];

/// Appends the number with its declared scale, `-12.50`; returns an error for a packed form of the wrong length or with
/// impossible digits.
pub(super) fn append(packed: &[u8], precision: u8, scale: u8, out: &mut Vec<u8>) -> Result<(), Reason> {
    let scale = usize::from(scale);
    let integer = usize::from(precision).checked_sub(scale).ok_or(Reason::InvalidValue)?;
    let expected = bytes_of(integer) + bytes_of(scale);
    let (Some(first), true) = (packed.first(), packed.len() == expected) else { return Err(Reason::InvalidValue) };
    let negative = first & 0x80 == 0;
    let start = out.len();
    if negative {
        out.push(b'-');
    }
    let mut bytes = packed.iter().enumerate().map(|(at, byte)| {
        let byte = if at == 0 { byte ^ 0x80 } else { *byte };
        if negative { !byte } else { byte }
    });
    let digits_at = out.len();
    push_digits(&mut bytes, &mut std::iter::once(integer % GROUP).chain((0..integer / GROUP).map(|_| GROUP)), out)?;
    let leading = out.iter().skip(digits_at).take_while(|d| **d == b'0').count();
    out.drain(digits_at..digits_at + leading);
    if out.len() == digits_at {
        out.push(b'0');
    }
    if scale > 0 {
        out.push(b'.');
        push_digits(&mut bytes, &mut (0..scale / GROUP).map(|_| GROUP).chain(std::iter::once(scale % GROUP)), out)?;
    }
    if negative && out.iter().skip(digits_at).all(|d| matches!(d, b'0' | b'.')) {
        out.remove(start);
    }
    Ok(())
}

fn bytes_of(digits: usize) -> usize {
    digits / GROUP * 4 + BYTES[digits % GROUP]
}

/// Appends the digits of some groups, each with its leading zeros.
fn push_digits(
    bytes: &mut impl Iterator<Item = u8>,
    groups: &mut dyn Iterator<Item = usize>,
    out: &mut Vec<u8>,
) -> Result<(), Reason> {
    for digits in groups.filter(|digits| *digits > 0) {
        let mut number = bytes.by_ref().take(BYTES[digits]).fold(0_u64, |n, byte| n << 8 | u64::from(byte));
        let start = out.len();
        out.resize(start + digits, b'0');
        for digit in out[start..].iter_mut().rev() {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
        }
        if number > 0 {
            return Err(Reason::InvalidValue);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(packed: &[u8], precision: u8, scale: u8) -> Result<String, Reason> {
        let mut out = Vec::new();
        append(packed, precision, scale, &mut out).map(|()| String::from_utf8(out).expect("digits"))
    }

    #[test]
    fn the_manuals_example_in_both_signs() {
        // 1234567890.1234 as DECIMAL(14,4), from the server's own description of the format.
        assert_eq!(text(&[0x81, 0x0D, 0xFB, 0x38, 0xD2, 0x04, 0xD2], 14, 4).as_deref(), Ok("1234567890.1234"));
        assert_eq!(text(&[0x7E, 0xF2, 0x04, 0xC7, 0x2D, 0xFB, 0x2D], 14, 4).as_deref(), Ok("-1234567890.1234"));
    }

    #[test]
    fn zero_has_no_sign_and_no_lost_digits() {
        assert_eq!(text(&[0x80, 0x00], 3, 1).as_deref(), Ok("0.0"));
        assert_eq!(text(&[0x80, 0x00], 4, 2).as_deref(), Ok("0.00"));
        assert_eq!(text(&[0x7F, 0xFF], 4, 2).as_deref(), Ok("0.00"));
        assert_eq!(text(&[0x80, 0x05], 4, 2).as_deref(), Ok("0.05"));
        assert_eq!(text(&[0x80, 0x63, 0x05], 4, 2).as_deref(), Err(&Reason::InvalidValue));
        assert_eq!(text(&[], 4, 2).as_deref(), Err(&Reason::InvalidValue));
    }
}

//! Decoding of one column's bytes to a value.

use std::io::Read;

use paraply_core::value::Value;

use crate::rows::image_cursor::{Cursor, Decoded, Malformed, UNKNOWN_FRACTION};
use crate::rows::layout::{Layout, decimal_bytes, fraction_bytes};

/// Decodes the next value of a row image.
///
/// A compressed column of `MariaDB` is refused here, so that its bytes are never taken for the value; [`decompress`]
/// unpacks them.
#[inline]
pub fn decode<'a>(layout: Layout, cursor: &mut Cursor<'a>) -> Decoded<Value<'a>> {
    Ok(match layout {
        Layout::Int { width, unsigned: true } => Value::UInt(cursor.uint_le(usize::from(width))?),
        Layout::Int { width, unsigned: false } => Value::Int(signed(cursor, width)?),
        Layout::Bytes { prefix } => Value::Bytes(prefixed(cursor, prefix)?),
        Layout::Float => Value::Float(f32::from_le_bytes(cursor.array()?)),
        Layout::Double => Value::Double(f64::from_le_bytes(cursor.array()?)),
        Layout::Decimal { precision, scale, width } => {
            Value::Decimal { packed: cursor.take(usize::from(width))?, precision, scale }
        }
        Layout::Bit { bits } => Value::Bit { bytes: cursor.take(usize::from(bits).div_ceil(8))?, bits },
        Layout::Year => Value::Year(match cursor.u8()? {
            0 => 0,
            year => 1900 + u16::from(year),
        }),
        Layout::Date => date(cursor)?,
        Layout::OldTime => old_time(cursor)?,
        Layout::OldDateTime => old_datetime(cursor)?,
        Layout::OldTimestamp => Value::Timestamp { seconds: i64::from(cursor.u32()?), micros: 0, decimals: 0 },
        Layout::OldUnknown => return Err(cursor.malformed(UNKNOWN_FRACTION)),
        Layout::HiresTime { decimals } => hires_time(cursor, layout, decimals)?,
        Layout::HiresDateTime { decimals } => hires_datetime(cursor, layout, decimals)?,
        Layout::HiresTimestamp { decimals } => {
            let seconds = cursor.uint_be(4)? as i64;
            let at = cursor.position();
            let micros = cursor.uint_be(fraction_bytes(decimals))? * micros_of_unit(decimals);
            if micros > 999_999 {
                return Err(Malformed { what: "a fraction of more than a second", at });
            }
            Value::Timestamp { seconds, micros: micros as u32, decimals }
        }
        Layout::Time { decimals } => time(cursor, decimals)?,
        Layout::DateTime { decimals } => datetime(cursor, decimals)?,
        Layout::Timestamp { decimals } => {
            let seconds = cursor.uint_be(4)? as i64;
            Value::Timestamp { seconds, micros: fraction(cursor, decimals)?, decimals }
        }
        Layout::Enum { width } => Value::Enum(cursor.uint_le(usize::from(width))? as u32),
        Layout::Set { width } => Value::Set(cursor.uint_le(usize::from(width))?),
        Layout::Json { prefix } => Value::Json(prefixed(cursor, prefix)?),
        Layout::Geometry { prefix } => Value::Geometry(prefixed(cursor, prefix)?),
        Layout::Vector { prefix } => Value::Vector(prefixed(cursor, prefix)?),
        Layout::Compressed { prefix } => {
            let limit = u32::MAX >> (32 - 8 * u32::from(prefix.clamp(1, 4)));
            Value::Compressed { stored: prefixed(cursor, prefix)?, limit }
        }
    })
}

/// Decodes the difference of a partial JSON update.
pub(crate) fn decode_json_diff<'a>(prefix: u8, cursor: &mut Cursor<'a>) -> Decoded<Value<'a>> {
    Ok(Value::JsonDiff(prefixed(cursor, prefix)?))
}

/// Unpacks a value of a `COMPRESSED` column of `MariaDB`, to at most `limit` bytes.
///
/// The first byte is the method: 0 is not compressed, 8x is zlib with a raw-stream flag and the width of the original
/// length.
pub fn decompress(stored: &[u8], limit: u32) -> Decoded<Vec<u8>> {
    let Some((&method, rest)) = stored.split_first() else { return Ok(Vec::new()) };
    if method == 0 {
        return Ok(rest.to_vec());
    }
    let damaged = |what| Malformed { what, at: 0 };
    if method >> 4 != 8 {
        return Err(damaged("an unknown method of column compression"));
    }
    let mut header = Cursor::new(stored, 1);
    let length = header.uint_be(usize::from(method & 7))?;
    if length > u64::from(limit) {
        return Err(damaged("a compressed value larger than its column"));
    }
    let mut out = Vec::new();
    let bound = length + 1;
    let read = if method & 8 == 0 {
        flate2::read::ZlibDecoder::new(header.rest()).take(bound).read_to_end(&mut out)
    } else {
        flate2::read::DeflateDecoder::new(header.rest()).take(bound).read_to_end(&mut out)
    };
    match read {
        Ok(got) if got as u64 == length => Ok(out),
        _ => Err(damaged("a damaged compressed value")),
    }
}

#[inline]
fn prefixed<'a>(cursor: &mut Cursor<'a>, prefix: u8) -> Decoded<&'a [u8]> {
    let length = match prefix {
        1 => usize::from(cursor.u8()?),
        2 => usize::from(cursor.u16()?),
        _ => cursor.uint_le(usize::from(prefix))? as usize,
    };
    cursor.take(length)
}

#[inline]
fn signed(cursor: &mut Cursor<'_>, width: u8) -> Decoded<i64> {
    Ok(match width {
        1 => i64::from(i8::from_le_bytes(cursor.array()?)),
        2 => i64::from(i16::from_le_bytes(cursor.array()?)),
        4 => i64::from(i32::from_le_bytes(cursor.array()?)),
        8 => i64::from_le_bytes(cursor.array()?),
        _ => {
            let unused = 64 - 8 * u32::from(width).min(8);
            (cursor.uint_le(usize::from(width))? << unused) as i64 >> unused
        }
    })
}

fn date<'a>(cursor: &mut Cursor<'_>) -> Decoded<Value<'a>> {
    let at = cursor.position();
    let number = cursor.uint_le(3)?;
    let (year, month, day) = ((number >> 9) as u16, (number >> 5 & 15) as u8, (number & 31) as u8);
    if month > 12 || year > 9999 {
        return Err(Malformed { what: "a DATE with an impossible part", at });
    }
    Ok(Value::Date { year, month, day })
}

fn old_time<'a>(cursor: &mut Cursor<'_>) -> Decoded<Value<'a>> {
    let at = cursor.position();
    let number = signed(cursor, 3)?;
    let parts = number.unsigned_abs();
    time_value(number < 0, parts / 10_000, parts / 100 % 100, parts % 100, 0, 0, at)
}

fn old_datetime<'a>(cursor: &mut Cursor<'_>) -> Decoded<Value<'a>> {
    let at = cursor.position();
    let number = cursor.u64()?;
    let (date, time) = (number / 1_000_000, number % 1_000_000);
    let date = (date / 10_000, date / 100 % 100, date % 100);
    datetime_value(date, (time / 10_000, time / 100 % 100, time % 100), 0, 0, at)
}

/// Returns the microseconds in one unit of the last digit that a column keeps.
fn micros_of_unit(decimals: u8) -> u64 {
    10_u64.pow(6 - u32::from(decimals.min(6)))
}

/// Reads the number in which `MariaDB` before 10.1.2 kept a time with a fraction, in microseconds.
fn hires_number(cursor: &mut Cursor<'_>, layout: Layout, decimals: u8) -> Decoded<i64> {
    let bytes = layout.fixed_width().unwrap_or_default();
    let number = cursor.uint_be(bytes)?.checked_mul(micros_of_unit(decimals));
    number.and_then(|number| i64::try_from(number).ok()).ok_or(cursor.malformed("a time out of range"))
}

/// Decodes a TIME: units of the last digit since -838:59:60, which is the first value that is none.
fn hires_time<'a>(cursor: &mut Cursor<'_>, layout: Layout, decimals: u8) -> Decoded<Value<'a>> {
    const ZERO: i64 = (838 * 3600 + 59 * 60 + 60) * 1_000_000;
    let at = cursor.position();
    let number = hires_number(cursor, layout, decimals)? - ZERO;
    let (seconds, micros) = (number.unsigned_abs() / 1_000_000, number.unsigned_abs() % 1_000_000);
    time_value(number < 0, seconds / 3600, seconds / 60 % 60, seconds % 60, micros as u32, decimals, at)
}

/// Decodes a DATETIME: units of the last digit, where each year has 13 months, and each month 32 days.
fn hires_datetime<'a>(cursor: &mut Cursor<'_>, layout: Layout, decimals: u8) -> Decoded<Value<'a>> {
    let at = cursor.position();
    let number = hires_number(cursor, layout, decimals)?.unsigned_abs();
    let (seconds, micros) = (number / 1_000_000, number % 1_000_000);
    let (days, hour) = (seconds / 86_400, seconds / 3600 % 24);
    let date = (days / 32 / 13, days / 32 % 13, days % 32);
    datetime_value(date, (hour, seconds / 60 % 60, seconds % 60), micros as u32, decimals, at)
}

/// Decodes a TIME since 5.6: 1 bit sign, 1 unused, 10 hour, 6 minute, 6 second, then the fraction; negative values as a
/// whole in two's complement, shifted so that bytes sort.
fn time<'a>(cursor: &mut Cursor<'_>, decimals: u8) -> Decoded<Value<'a>> {
    let at = cursor.position();
    let bytes = 3 + fraction_bytes(decimals);
    let offset = 1_i64 << (bytes * 8 - 1);
    let number = cursor.uint_be(bytes)? as i64 - offset;
    let parts = number.unsigned_abs();
    let fraction_bits = fraction_bytes(decimals) * 8;
    let (whole, fraction) = (parts >> fraction_bits, parts & ((1 << fraction_bits) - 1));
    let micros = micros(fraction, decimals, at)?;
    time_value(number < 0, whole >> 12, whole >> 6 & 63, whole & 63, micros, decimals, at)
}

/// Decodes a DATETIME since 5.6: 1 bit sign (set), 17 year * 13 + month, 5 day, 5 hour, 6 minute, 6 second, then the
/// fraction.
fn datetime<'a>(cursor: &mut Cursor<'_>, decimals: u8) -> Decoded<Value<'a>> {
    let at = cursor.position();
    let number = cursor.uint_be(5)? as i64 - 0x80_0000_0000;
    if number < 0 {
        return Err(Malformed { what: "a DATETIME before zero", at });
    }
    let number = number as u64;
    let months = number >> 22;
    let date = (months / 13, months % 13, number >> 17 & 31);
    let time = (number >> 12 & 31, number >> 6 & 63, number & 63);
    let micros = fraction(cursor, decimals)?;
    datetime_value(date, time, micros, decimals, at)
}

fn time_value<'a>(
    negative: bool,
    hours: u64,
    minutes: u64,
    seconds: u64,
    micros: u32,
    decimals: u8,
    at: usize,
) -> Decoded<Value<'a>> {
    if hours > 838 || minutes > 59 || seconds > 59 {
        return Err(Malformed { what: "a TIME with an impossible part", at });
    }
    let (hours, minutes, seconds) = (hours as u16, minutes as u8, seconds as u8);
    Ok(Value::Time { negative, hours, minutes, seconds, micros, decimals })
}

fn datetime_value<'a>(
    (year, month, day): (u64, u64, u64),
    (hour, minute, second): (u64, u64, u64),
    micros: u32,
    decimals: u8,
    at: usize,
) -> Decoded<Value<'a>> {
    if year > 9999 || month > 12 || day > 31 || hour > 23 || minute > 59 || second > 59 {
        return Err(Malformed { what: "a DATETIME with an impossible part", at });
    }
    let (year, month, day) = (year as u16, month as u8, day as u8);
    let (hour, minute, second) = (hour as u8, minute as u8, second as u8);
    Ok(Value::DateTime { year, month, day, hour, minute, second, micros, decimals })
}

fn fraction(cursor: &mut Cursor<'_>, decimals: u8) -> Decoded<u32> {
    let at = cursor.position();
    let number = cursor.uint_be(fraction_bytes(decimals))?;
    micros(number, decimals, at)
}

fn micros(fraction: u64, decimals: u8, at: usize) -> Decoded<u32> {
    let scale = [1, 10_000, 100, 1].get(fraction_bytes(decimals)).copied().unwrap_or(1);
    match fraction.checked_mul(scale) {
        Some(micros) if micros < 1_000_000 => Ok(micros as u32),
        _ => Err(Malformed { what: "a fraction of more than a second", at }),
    }
}

/// Appends a packed DECIMAL as the server prints it.
///
/// The first bit is the sign (set: not negative), a negative value has all bits inverted; nine digits take four bytes.
pub fn decimal_text(packed: &[u8], precision: u8, scale: u8, out: &mut Vec<u8>) -> Decoded<()> {
    let damaged = |what| Malformed { what, at: 0 };
    if scale > precision || packed.len() != decimal_bytes(precision, scale) || packed.len() > 32 {
        return Err(damaged("a DECIMAL of the wrong length"));
    }
    let mut digits = [0_u8; 32];
    let bytes = digits.get_mut(..packed.len()).ok_or(damaged("a DECIMAL that is too long"))?;
    bytes.copy_from_slice(packed);
    let Some(first) = bytes.first_mut() else { return Err(damaged("a DECIMAL without digits")) };
    let negative = *first & 0x80 == 0;
    *first ^= 0x80;
    if negative {
        for byte in bytes.iter_mut() {
            *byte ^= 0xff;
        }
    }
    let mut cursor = Cursor::new(bytes, 0);
    if negative {
        out.push(b'-');
    }
    let start = out.len();
    let whole = precision - scale;
    push_group(&mut cursor, whole % 9, out)?;
    for _ in 0..whole / 9 {
        push_group(&mut cursor, 9, out)?;
    }
    let zeros = out.get(start..).unwrap_or_default().iter().take_while(|&&digit| digit == b'0').count();
    out.drain(start..start + zeros);
    if out.len() == start {
        out.push(b'0');
    }
    if scale > 0 {
        out.push(b'.');
    }
    for _ in 0..scale / 9 {
        push_group(&mut cursor, 9, out)?;
    }
    push_group(&mut cursor, scale % 9, out)
}

/// Appends one group of 0 to 9 digits.
fn push_group(cursor: &mut Cursor<'_>, digits: u8, out: &mut Vec<u8>) -> Decoded<()> {
    let at = cursor.position();
    let mut number = cursor.uint_be(if digits == 9 { 4 } else { decimal_bytes(digits, 0) })?;
    let mut text = [b'0'; 9];
    let text = text.get_mut(..usize::from(digits)).unwrap_or_default();
    for digit in text.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    if number > 0 {
        return Err(Malformed { what: "a DECIMAL with digits beyond its precision", at });
    }
    out.extend_from_slice(text);
    Ok(())
}

#[cfg(test)]
mod tests;

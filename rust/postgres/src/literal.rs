//! One value as PostgreSQL literal text, always in quotes.
//!
//! Literals carry no type: as unknown literals they take the type of the column that they are written to or compared
//! with. The session has `standard_conforming_strings` on, so only the quote itself is doubled.

use std::io::Write as _;

use paraply_binlog::rows::image_cursor::Malformed;
use paraply_binlog::rows::values::address::{write_inet4, write_inet6, write_uuid};
use paraply_binlog::rows::values::charset::Charset;
use paraply_binlog::rows::values::decode::decompress;
use paraply_core::schema::NO_TEXT;
use paraply_core::value::Value;

use super::error::NotStorable;
use super::json;
use super::mapping::Kind;
use paraply_core::calendar::{civil_from_days, days_in_month};

/// Appends a value as a literal.
///
/// # Errors
/// [`NotStorable`] where PostgreSQL has no such value, or the value is not of the column's kind.
pub fn write_literal(out: &mut Vec<u8>, kind: &Kind, value: &Value<'_>) -> Result<(), NotStorable> {
    match (kind, *value) {
        (_, Value::Null) => out.extend_from_slice(b"NULL"),
        (_, Value::Compressed { stored, limit }) => {
            let damaged =
                |fault: Malformed| NotStorable::new(format!("a damaged value of a COMPRESSED column: {}", fault.what));
            return write_literal(out, kind, &Value::Bytes(&decompress(stored, limit).map_err(damaged)?));
        }
        (Kind::Integer, Value::Int(number)) => print(out, format_args!("'{number}'")),
        (Kind::Unsigned, Value::UInt(number)) => print(out, format_args!("'{number}'")),
        (Kind::Decimal, Value::Decimal { packed, precision, scale }) => decimal(out, packed, precision, scale)?,
        (Kind::Real, Value::Float(number)) if number.is_finite() => print(out, format_args!("'{number:e}'")),
        (Kind::Double, Value::Double(number)) if number.is_finite() => print(out, format_args!("'{number:e}'")),
        (Kind::Real | Kind::Double, Value::Float(_) | Value::Double(_)) => {
            return Err(NotStorable::new("a number that is not finite"));
        }
        (Kind::Bit, Value::Bit { bytes, bits }) => bit(out, bytes, bits)?,
        (Kind::Text(charset), Value::Bytes(bytes)) => text(out, *charset, bytes)?,
        (Kind::Binary(width), Value::Bytes(bytes)) => binary(out, bytes, *width),
        (Kind::Varbinary, Value::Bytes(bytes)) => binary(out, bytes, 0),
        (Kind::Uuid, Value::Bytes(bytes)) => address(out, bytes, write_uuid)?,
        (Kind::Inet4, Value::Bytes(bytes)) => address(out, bytes, write_inet4)?,
        (Kind::Inet6, Value::Bytes(bytes)) => address(out, bytes, write_inet6)?,
        (Kind::Year, Value::Year(year)) => self::year(out, year)?,
        (Kind::Enum(labels), Value::Enum(index)) => enum_label(out, labels, index)?,
        (Kind::Set(labels), Value::Set(bits)) => set_labels(out, labels, bits)?,
        (Kind::Json, Value::Json(document)) => json_text(out, &json::text(document)?)?,
        (_, time) => return temporal(out, kind, &time),
    }
    Ok(())
}

/// Appends a JSON document's text as a literal.
///
/// # Errors
/// [`NotStorable`] for `\u0000`, which jsonb refuses.
pub fn json_text(out: &mut Vec<u8>, text: &str) -> Result<(), NotStorable> {
    if text.contains('\0') || holds_escaped_nul(text) {
        return Err(NotStorable::new("a JSON string with a NUL character"));
    }
    quoted(out, text.as_bytes());
    Ok(())
}

/// Returns true if JSON text holds the escape `\u0000`, and not an escaped backslash before `u0000`.
fn holds_escaped_nul(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let escape = &rest[at + 1..];
        if escape.starts_with("u0000") {
            return true;
        }
        rest = escape.get(1..).unwrap_or_default();
    }
    false
}

fn temporal(out: &mut Vec<u8>, kind: &Kind, value: &Value<'_>) -> Result<(), NotStorable> {
    match (kind, *value) {
        (Kind::Date, Value::Date { year, month, day }) => {
            check_date(year, month, day)?;
            print(out, format_args!("'{year:04}-{month:02}-{day:02}'"));
        }
        (Kind::Timestamp, Value::DateTime { year, month, day, hour, minute, second, micros, decimals }) => {
            check_date(year, month, day)?;
            print(out, format_args!("'{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"));
            fraction(out, micros, decimals);
            out.push(b'\'');
        }
        (Kind::TimestampTz, Value::Timestamp { seconds, micros, decimals }) => {
            instant(out, seconds, micros, decimals)?;
        }
        (Kind::Interval, Value::Time { negative, hours, minutes, seconds, micros, decimals }) => {
            let sign = if negative { "-" } else { "" };
            print(out, format_args!("'{sign}{hours:02}:{minutes:02}:{seconds:02}"));
            fraction(out, micros, decimals);
            out.push(b'\'');
        }
        _ => {
            return Err(NotStorable::new(
                "a value that is not of the column's type: the log's table and the definition that is known of it differ",
            ));
        }
    }
    Ok(())
}

fn check_date(year: u16, month: u8, day: u8) -> Result<(), NotStorable> {
    if year == 0 && month == 0 && day == 0 {
        return Err(NotStorable::new("the zero date 0000-00-00"));
    }
    if year == 0 || month == 0 || day == 0 {
        return Err(NotStorable::new(format!("a date with a zero part: {year:04}-{month:02}-{day:02}")));
    }
    if year > 9999 || days_in_month(year, month).is_none_or(|last| day > last) {
        return Err(NotStorable::new(format!("a date that does not exist: {year:04}-{month:02}-{day:02}")));
    }
    Ok(())
}

fn instant(out: &mut Vec<u8>, seconds: i64, micros: u32, decimals: u8) -> Result<(), NotStorable> {
    if seconds == 0 && micros == 0 {
        return Err(NotStorable::new("the zero timestamp 0000-00-00 00:00:00"));
    }
    let (year, month, day) = civil_from_days(seconds.div_euclid(86_400));
    if !(1..=9999).contains(&year) {
        return Err(NotStorable::new(format!("a timestamp out of range: {seconds} seconds since 1970")));
    }
    let time = seconds.rem_euclid(86_400);
    let (hour, minute, second) = (time / 3_600, time / 60 % 60, time % 60);
    print(out, format_args!("'{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"));
    fraction(out, micros, decimals);
    out.extend_from_slice(b"+00'");
    Ok(())
}

/// Appends the digits after the seconds' point: as many as the column keeps, and never fewer than the value has.
fn fraction(out: &mut Vec<u8>, micros: u32, decimals: u8) {
    if decimals > 0 || micros > 0 {
        print(out, format_args!(".{micros:06}"));
    }
}

fn year(out: &mut Vec<u8>, year: u16) -> Result<(), NotStorable> {
    if year != 0 && !(1901..=2155).contains(&year) {
        return Err(NotStorable::new(format!("a YEAR out of range: {year}")));
    }
    print(out, format_args!("'{year}'"));
    Ok(())
}

/// Number of bytes for each number of decimal digits in a group of a packed DECIMAL.
const BYTES_OF_DIGITS: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];

/// Appends a packed DECIMAL: groups of nine digits in four bytes, the odd digits outermost, the sign in the inverted
/// first bit.
fn decimal(out: &mut Vec<u8>, packed: &[u8], precision: u8, scale: u8) -> Result<(), NotStorable> {
    let damaged = || NotStorable::new("a DECIMAL that is damaged");
    let (precision, scale) = (usize::from(precision), usize::from(scale));
    let whole = precision.checked_sub(scale).ok_or_else(damaged)?;
    let first = *packed.first().ok_or_else(damaged)?;
    let negative = first & 0x80 == 0;
    let flip = if negative { 0xff } else { 0 };
    let mut bytes = packed.iter().enumerate().map(|(i, b)| (if i == 0 { b ^ 0x80 } else { *b }) ^ flip);
    let mut group = |digits: usize| -> Option<u32> {
        let width = *BYTES_OF_DIGITS.get(digits)?;
        let number = (0..width).try_fold(0u32, |sum, _| Some((sum << 8) | u32::from(bytes.next()?)))?;
        (u64::from(number) < 10u64.pow(digits as u32)).then_some(number)
    };
    let mut digits = String::with_capacity(precision + 2);
    for width in std::iter::once(whole % 9).chain(std::iter::repeat_n(9, whole / 9)).filter(|&w| w > 0) {
        push_digits(&mut digits, group(width).ok_or_else(damaged)?, width);
    }
    let kept = digits.trim_start_matches('0').len();
    let mut number = if kept == 0 { "0".to_owned() } else { digits.split_off(digits.len() - kept) };
    if scale > 0 {
        number.push('.');
        for width in std::iter::repeat_n(9, scale / 9).chain(std::iter::once(scale % 9)).filter(|&w| w > 0) {
            push_digits(&mut number, group(width).ok_or_else(damaged)?, width);
        }
    }
    print(out, format_args!("'{}{number}'", if negative { "-" } else { "" }));
    Ok(())
}

fn push_digits(text: &mut String, number: u32, width: usize) {
    use std::fmt::Write as _;
    let _ = write!(text, "{number:0width$}");
}

fn bit(out: &mut Vec<u8>, bytes: &[u8], bits: u8) -> Result<(), NotStorable> {
    let bits = usize::from(bits);
    if bytes.len() > 8 || bytes.len() * 8 < bits {
        return Err(NotStorable::new("a BIT value that is damaged"));
    }
    let number = bytes.iter().fold(0u64, |sum, &byte| (sum << 8) | u64::from(byte));
    if bits < 64 && number >> bits != 0 {
        return Err(NotStorable::new("a BIT value wider than its column"));
    }
    print(out, format_args!("'{number:0bits$b}'"));
    Ok(())
}

/// Appends a UUID or an address, by the function that writes its text.
fn address(out: &mut Vec<u8>, bytes: &[u8], write: fn(&[u8], &mut Vec<u8>) -> bool) -> Result<(), NotStorable> {
    out.push(b'\'');
    if !write(bytes, out) {
        return Err(NotStorable::new("a value that is longer than its type"));
    }
    out.push(b'\'');
    Ok(())
}

fn binary(out: &mut Vec<u8>, bytes: &[u8], width: usize) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(b"'\\x");
    for byte in bytes {
        out.extend([byte >> 4, byte & 15].map(|nibble| HEX[usize::from(nibble)]));
    }
    for _ in bytes.len()..width {
        out.extend_from_slice(b"00");
    }
    out.push(b'\'');
}

fn text(out: &mut Vec<u8>, charset: Option<Charset>, bytes: &[u8]) -> Result<(), NotStorable> {
    let Some(charset) = charset else { return text_of_unknown_charset(out, bytes) };
    let invalid = || NotStorable::new("text that is not valid in its character set, or that Unicode does not have");
    let text = charset.decode(bytes).ok_or_else(invalid)?;
    if text.contains('\0') {
        return Err(NotStorable::new("text with a NUL byte"));
    }
    quoted(out, text.as_bytes());
    Ok(())
}

/// Appends text that is the same in every character set that extends ASCII; other text is refused.
///
/// The default of a database may be one that does not extend it (`ucs2`, `utf16`, `utf16le`, `utf32`, `swe7`); the
/// documents name these.
fn text_of_unknown_charset(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), NotStorable> {
    if !bytes.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r')) {
        return Err(NotStorable::new(
            "text whose character set neither the log nor the schema gives; give the tables' definitions with --schema \
             dump.sql, or set binlog_row_metadata=MINIMAL on the source and begin with a later log",
        ));
    }
    quoted(out, bytes);
    Ok(())
}

fn enum_label(out: &mut Vec<u8>, labels: &[String], index: u32) -> Result<(), NotStorable> {
    let label = match index.checked_sub(1) {
        Some(place) => labels.get(place as usize).map(String::as_str),
        None => (!labels.iter().any(String::is_empty)).then_some(""),
    };
    let label = label.ok_or_else(|| NotStorable::new(format!("ENUM value number {index}, which has no label")))?;
    label_text(out, label)
}

fn set_labels(out: &mut Vec<u8>, labels: &[String], bits: u64) -> Result<(), NotStorable> {
    if labels.len() < 64 && bits >> labels.len() != 0 {
        return Err(NotStorable::new(format!("a SET value with a bit that has no label: {bits:#x}")));
    }
    let chosen: Vec<&str> =
        labels.iter().take(64).enumerate().filter(|(i, _)| bits >> i & 1 == 1).map(|(_, l)| l.as_str()).collect();
    label_text(out, &chosen.join(","))
}

/// Appends labels.
fn label_text(out: &mut Vec<u8>, labels: &str) -> Result<(), NotStorable> {
    if let Some((_, after)) = labels.split_once(NO_TEXT) {
        let digits = after.split(',').next().unwrap_or_default();
        return Err(NotStorable::new(format!(
            "the label 0x{digits}, which is no text in its character set or has a NUL"
        )));
    }
    text(out, Some(Charset::Utf8), labels.as_bytes())
}

pub(super) fn quoted(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'\'');
    let mut parts = text.split(|&byte| byte == b'\'');
    out.extend_from_slice(parts.next().unwrap_or_default());
    for part in parts {
        out.extend_from_slice(b"''");
        out.extend_from_slice(part);
    }
    out.push(b'\'');
}

/// Appends formatted text. Writing to a vector cannot fail.
fn print(out: &mut Vec<u8>, arguments: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(arguments);
}

#[cfg(test)]
mod tests;

//! Printing of values as the server's text.

use std::io::Write;

use crate::rows::image_cursor::{Cursor, Decoded, Malformed};
use crate::rows::layout::type_code;
use crate::rows::values::decode::decimal_text;
use crate::rows::values::json::value::{Json, MAX_DEPTH, malformed};

impl Json<'_> {
    /// Appends the text that the server prints.
    pub fn write_text(&self, out: &mut Vec<u8>) -> Decoded<()> {
        write(self, 0, out)
    }
}

/// Appends a value's text: `{"a": 1, "b": [1, 2]}`.
fn write(value: &Json<'_>, depth: usize, out: &mut Vec<u8>) -> Decoded<()> {
    if depth > MAX_DEPTH {
        return malformed("JSON nested more than 100 levels deep", 0);
    }
    match value {
        Json::Null => out.extend_from_slice(b"null"),
        Json::Bool(true) => out.extend_from_slice(b"true"),
        Json::Bool(false) => out.extend_from_slice(b"false"),
        Json::Int(number) => print(out, format_args!("{number}")),
        Json::UInt(number) => print(out, format_args!("{number}")),
        Json::Double(number) => write_double(*number, out),
        Json::Text(text) => write_quoted(text, out),
        Json::Opaque { type_code, bytes } => write_opaque(*type_code, bytes, out)?,
        Json::Array(values) => {
            out.push(b'[');
            for (index, value) in values.iter().enumerate() {
                separate(index, out);
                write(value, depth + 1, out)?;
            }
            out.push(b']');
        }
        Json::Object(members) => {
            out.push(b'{');
            for (index, (name, value)) in members.iter().enumerate() {
                separate(index, out);
                write_quoted(name, out);
                out.extend_from_slice(b": ");
                write(value, depth + 1, out)?;
            }
            out.push(b'}');
        }
    }
    Ok(())
}

fn print(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing into memory does not fail.
    let _ = out.write_fmt(text);
}

fn separate(index: usize, out: &mut Vec<u8>) {
    if index > 0 {
        out.extend_from_slice(b", ");
    }
}

/// Quotes a text as `Json_string::double_quote` does.
fn write_quoted(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut plain = 0;
    for (index, &byte) in bytes.iter().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(bytes.get(plain..index).unwrap_or_default());
        plain = index + 1;
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            8 => out.extend_from_slice(b"\\b"),
            9 => out.extend_from_slice(b"\\t"),
            10 => out.extend_from_slice(b"\\n"),
            12 => out.extend_from_slice(b"\\f"),
            13 => out.extend_from_slice(b"\\r"),
            _ => print(out, format_args!("\\u{byte:04x}")),
        }
    }
    out.extend_from_slice(bytes.get(plain..).unwrap_or_default());
    out.push(b'"');
}

/// Prints a number as the server's `my_gcvt` does: the shortest digits that read back, an exponent from 1e15 on and
/// below 1e-15, and `.0` after a whole number.
pub(super) fn write_double(number: f64, out: &mut Vec<u8>) {
    let scientific = format!("{number:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if !(-15..15).contains(&exponent) {
        return print(out, format_args!("{mantissa}e{exponent}"));
    }
    let fixed = format!("{number}");
    let whole = if fixed.contains('.') { "" } else { ".0" };
    print(out, format_args!("{fixed}{whole}"));
}

fn write_opaque(code: u8, bytes: &[u8], out: &mut Vec<u8>) -> Decoded<()> {
    match code {
        type_code::NEWDECIMAL => {
            let mut cursor = Cursor::new(bytes, 0);
            let (precision, scale) = (cursor.u8()?, cursor.u8()?);
            decimal_text(cursor.rest(), precision, scale, out)
        }
        type_code::DATE => write_temporal(bytes, out, Temporal::Date),
        type_code::TIME => write_temporal(bytes, out, Temporal::Time),
        type_code::DATETIME | type_code::TIMESTAMP => write_temporal(bytes, out, Temporal::DateTime),
        _ => {
            print(out, format_args!("\"base64:type{code}:"));
            write_base64(bytes, out);
            out.push(b'"');
            Ok(())
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Temporal {
    Date,
    Time,
    DateTime,
}

/// Prints a temporal value, which is packed into 64 bits: the fraction in 24, second 6, minute 6, hour 5 (10 in a
/// TIME), day 5, and year * 13 + month.
fn write_temporal(bytes: &[u8], out: &mut Vec<u8>, kind: Temporal) -> Decoded<()> {
    let exact: [u8; 8] =
        bytes.try_into().map_err(|_| Malformed { what: "a JSON date or time that is not eight bytes", at: 0 })?;
    let packed = i64::from_le_bytes(exact);
    let parts = packed.unsigned_abs();
    let (micros, whole) = (parts & 0x00ff_ffff, parts >> 24);
    let (second, minute) = (whole & 63, whole >> 6 & 63);
    out.push(b'"');
    if kind == Temporal::Time {
        let sign = if packed < 0 { "-" } else { "" };
        print(out, format_args!("{sign}{:02}:{minute:02}:{second:02}.{micros:06}", whole >> 12 & 1023));
    } else {
        let (day, months) = (whole >> 17 & 31, whole >> 22);
        print(out, format_args!("{:04}-{:02}-{day:02}", months / 13, months % 13));
        if kind == Temporal::DateTime {
            print(out, format_args!(" {:02}:{minute:02}:{second:02}.{micros:06}", whole >> 12 & 31));
        }
    }
    out.push(b'"');
    Ok(())
}

/// Prints base64 with a line feed, quoted as `\n`, after each 76 characters, as the server's own encoder does.
fn write_base64(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (index, group) in bytes.chunks(3).enumerate() {
        if index > 0 && index % 19 == 0 {
            out.extend_from_slice(b"\\n");
        }
        let number =
            group.iter().enumerate().fold(0_u32, |sum, (place, &byte)| sum | u32::from(byte) << (16 - 8 * place));
        for place in 0..4 {
            let digit = DIGITS.get((number >> (18 - 6 * place) & 63) as usize).copied().unwrap_or(b'=');
            out.push(if place <= group.len() { digit } else { b'=' });
        }
    }
}

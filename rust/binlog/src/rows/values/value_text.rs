//! Values of row images as text, under the names and types of their columns.
//!
//! Numbers, dates and times as the server prints them, a TIMESTAMP in UTC, text as UTF-8, ENUM and SET by their labels, BIT as a number,
//! JSON as the server's text, UUID, INET4 and INET6 as the server shows them, and binary strings, geometries and vectors as hexadecimal
//! digits. Bytes of a text that are none in its character set are a hexadecimal literal: `0x` and the digits.

use std::borrow::Cow;
use std::io::Write as _;

use paraply_core::calendar::civil_from_days;
use paraply_core::collation::name_of;
use paraply_core::schema::{Column, KeyPart, Table, label_bytes};
use paraply_core::value::Value;

use crate::rows::image_cursor::Decoded;
use crate::rows::known_tables::KnownTable;
use crate::rows::layout::type_code;
use crate::rows::table_map::MappedColumn;
use crate::rows::values::address::{write_inet4, write_inet6, write_uuid};
use crate::rows::values::charset::Charset;
use crate::rows::values::decode::{decimal_text, decompress};
use crate::rows::values::json::{json_text, updated_json_text};

/// Meaning of a column's bytes.
#[derive(Debug, Clone, PartialEq)]
pub enum Form {
    /// A value whose type determines its text.
    Plain,
    /// Text.
    Text(Charset),
    /// Binary strings; BINARY is padded with zero bytes to this length, because the log leaves them out.
    Binary(usize),
    /// `MariaDB`'s UUID.
    Uuid,
    /// `MariaDB`'s INET4.
    Inet4,
    /// `MariaDB`'s INET6.
    Inet6,
    /// ENUM.
    Enum(Vec<String>),
    /// SET.
    Set(Vec<String>),
}

/// A column of a table, as its values are written.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnForm {
    /// The name; `@1`, `@2`, ... if neither the log nor a definition has it.
    pub name: String,
    /// Meaning of its bytes.
    pub form: Form,
}

/// A table, as its rows are written.
#[derive(Debug, Clone, PartialEq)]
pub struct TableForm {
    /// The database.
    pub database: String,
    /// The table.
    pub table: String,
    /// Its columns in the order of the row image.
    pub columns: Vec<ColumnForm>,
    /// The columns of the primary key; none where it is not known.
    pub key: Vec<usize>,
    /// Fingerprint of the table map, which distinguishes it from others.
    pub fingerprint: u64,
}

impl TableForm {
    /// Combines the log and the definition; the log's own names and labels count first.
    pub fn of(known: &KnownTable, mariadb: bool) -> Self {
        let map = &known.map;
        let definition = known.definition.as_deref().ok();
        // After them MariaDB may log hashes of keys.
        let own = definition.map_or_else(|| map.named_columns(), |table| table.columns.len());
        let column = |(index, mapped): (usize, &MappedColumn)| {
            let declared = definition.and_then(|table| table.columns.get(index));
            let name = mapped.name.clone().or_else(|| declared.map(|column| column.name.clone()));
            ColumnForm {
                name: name.unwrap_or_else(|| format!("@{}", index + 1)),
                form: form_of(mapped, declared, mariadb),
            }
        };
        let mut key: Vec<usize> = map.primary_key.iter().map(|part| part.column).collect();
        if key.is_empty() {
            key = definition.map(primary_key).unwrap_or_default();
        }
        Self {
            database: map.name.database.clone(),
            table: map.name.table.clone(),
            columns: map.columns.iter().enumerate().take(own).map(column).collect(),
            key,
            fingerprint: map.fingerprint(),
        }
    }
}

fn primary_key(table: &Table) -> Vec<usize> {
    let Some(key) = table.unique_keys.iter().find(|key| key.name == "PRIMARY") else { return Vec::new() };
    let column = |part: &KeyPart| match part {
        KeyPart::Column(column) | KeyPart::Prefix { column, .. } => Some(*column),
        KeyPart::Expression => None,
    };
    key.parts.iter().filter_map(column).collect()
}

fn form_of(mapped: &MappedColumn, declared: Option<&Column>, mariadb: bool) -> Form {
    use type_code as t;
    let logged = mapped.collation_id.and_then(|id| u16::try_from(id).ok()).and_then(|id| name_of(id, mariadb));
    let collation = logged.or_else(|| declared?.collation.as_deref());
    if let Some(form) = declared.and_then(|column| declared_form(mapped, &column.data_type)) {
        return form;
    }
    // Text of unknown collation is taken for UTF-8.
    let charset = collation.map_or(Some(Charset::Utf8), Charset::of_collation);
    let labels = || {
        let text = |label: &[u8]| text_or_literal(charset.unwrap_or(Charset::Utf8), label);
        let of_definition = |label: &String| label_bytes(label).map_or_else(|| label.clone(), |bytes| text(&bytes));
        let logged: Vec<String> = mapped.labels.iter().map(|label| text(label)).collect();
        let defined = || declared.map(|column| column.labels.iter().map(of_definition).collect());
        if logged.is_empty() { defined().unwrap_or_default() } else { logged }
    };
    match mapped.type_code {
        t::ENUM => Form::Enum(labels()),
        t::SET => Form::Set(labels()),
        t::STRING | t::VARCHAR | t::VAR_STRING | t::VARCHAR_COMPRESSED | t::BLOB_COMPRESSED => {
            let width = if mapped.type_code == t::STRING { usize::from(mapped.metadata) } else { 0 };
            charset.map_or(Form::Binary(width), Form::Text)
        }
        t::BLOB | t::TINY_BLOB | t::MEDIUM_BLOB | t::LONG_BLOB => charset.map_or(Form::Binary(0), Form::Text),
        t::GEOMETRY | t::VECTOR => Form::Binary(0),
        _ => Form::Plain,
    }
}

/// Returns the form of a type of `MariaDB` that the log does not distinguish from BINARY and VARBINARY; none for all
/// others.
fn declared_form(mapped: &MappedColumn, data_type: &str) -> Option<Form> {
    match (mapped.type_code, data_type) {
        (type_code::STRING, "uuid") => Some(Form::Uuid),
        (type_code::STRING, "inet4") => Some(Form::Inet4),
        (type_code::STRING, "inet6") => Some(Form::Inet6),
        (type_code::VARCHAR, "vector") => Some(Form::Binary(0)),
        _ => None,
    }
}

fn text_or_literal(charset: Charset, bytes: &[u8]) -> String {
    charset.decode(bytes).map_or_else(|| literal(bytes), Cow::into_owned)
}

/// Returns a hexadecimal literal, as both servers read it.
fn literal(bytes: &[u8]) -> String {
    let mut out = b"0x".to_vec();
    hexadecimal(bytes, 0, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

impl Form {
    /// Returns true if values are bytes, which [`write_value`] writes as hexadecimal digits.
    pub fn is_binary(&self) -> bool {
        matches!(self, Self::Binary(_))
    }

    /// Returns the bytes of a binary value, and the number of zero bytes that the log left out after them.
    ///
    /// # Errors
    /// The value of a compressed column is damaged.
    pub fn bytes<'v>(&self, value: &Value<'v>) -> Decoded<Option<(Cow<'v, [u8]>, usize)>> {
        let Self::Binary(width) = self else { return Ok(None) };
        Ok(match *value {
            Value::Bytes(bytes) => Some((bytes.into(), width.saturating_sub(bytes.len()))),
            Value::Geometry(bytes) | Value::Vector(bytes) => Some((bytes.into(), 0)),
            Value::Compressed { stored, limit } => Some((decompress(stored, limit)?.into(), 0)),
            _ => None,
        })
    }
}

/// Appends a value, which is not NULL, as UTF-8 text.
///
/// `before` is the same column before the change: a partial update of JSON is written as the resulting document.
/// Returns false, without a text, where the log lacks the document before.
///
/// # Errors
/// A DECIMAL, a JSON document or the value of a compressed column is damaged.
pub fn write_value(form: &Form, value: &Value<'_>, before: Option<&Value<'_>>, out: &mut Vec<u8>) -> Decoded<bool> {
    match (form, *value) {
        (_, Value::Compressed { stored, limit }) => {
            return write_value(form, &Value::Bytes(&decompress(stored, limit)?), before, out);
        }
        (Form::Text(charset), Value::Bytes(bytes)) => match charset.decode(bytes) {
            Some(text) => out.extend_from_slice(text.as_bytes()),
            None => out.extend_from_slice(literal(bytes).as_bytes()),
        },
        (Form::Uuid, Value::Bytes(bytes)) if write_uuid(bytes, out) => {}
        (Form::Inet4, Value::Bytes(bytes)) if write_inet4(bytes, out) => {}
        (Form::Inet6, Value::Bytes(bytes)) if write_inet6(bytes, out) => {}
        (Form::Binary(_), _) => {
            let (bytes, padding) = form.bytes(value)?.unwrap_or_default();
            hexadecimal(&bytes, padding, out);
        }
        (Form::Enum(labels), Value::Enum(index)) => label(labels, index, out),
        (Form::Set(labels), Value::Set(bits)) => set(labels, bits, out),
        (_, Value::JsonDiff(differences)) => {
            let Some(Value::Json(document)) = before else { return Ok(false) };
            updated_json_text(document, differences, out)?;
        }
        (_, Value::Json(document)) => json_text(document, out)?,
        (_, Value::Decimal { packed, precision, scale }) => decimal_text(packed, precision, scale, out)?,
        (_, plain) => write_plain(&plain, out),
    }
    Ok(true)
}

/// Appends the label of an index from 1; the error value 0 is empty, and an index without a label is written as a
/// number.
fn label(labels: &[String], index: u32, out: &mut Vec<u8>) {
    let Some(place) = index.checked_sub(1) else { return };
    match labels.get(place as usize) {
        Some(label) => out.extend_from_slice(label.as_bytes()),
        None => print(out, format_args!("{index}")),
    }
}

fn set(labels: &[String], bits: u64, out: &mut Vec<u8>) {
    if labels.len() < 64 && bits >> labels.len() != 0 {
        return print(out, format_args!("{bits}"));
    }
    let start = out.len();
    for (place, label) in labels.iter().enumerate().take(64) {
        if bits >> place & 1 == 1 {
            if out.len() > start {
                out.push(b',');
            }
            out.extend_from_slice(label.as_bytes());
        }
    }
}

fn write_plain(value: &Value<'_>, out: &mut Vec<u8>) {
    match *value {
        Value::Int(number) => integer(number < 0, number.unsigned_abs(), out),
        Value::UInt(number) | Value::Set(number) => integer(false, number, out),
        Value::Enum(number) => integer(false, u64::from(number), out),
        Value::Year(year) => print(out, format_args!("{year:04}")),
        Value::Bit { bytes, .. } => {
            integer(false, bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)), out);
        }
        Value::Float(number) => real(&format!("{number:e}"), &format!("{number}"), out),
        Value::Double(number) => real(&format!("{number:e}"), &format!("{number}"), out),
        Value::Date { year, month, day } => date(u32::from(year), month, day, out),
        Value::DateTime { year, month, day, hour, minute, second, micros, decimals } => {
            date(u32::from(year), month, day, out);
            out.push(b' ');
            clock([hour, minute, second], out);
            fraction(micros, decimals, out);
        }
        Value::Timestamp { seconds: 0, micros: 0, decimals } => {
            out.extend_from_slice(b"0000-00-00 00:00:00");
            fraction(0, decimals, out);
        }
        Value::Timestamp { seconds, micros, decimals } => {
            let (year, month, day) = civil_from_days(seconds.div_euclid(86_400));
            let time = seconds.rem_euclid(86_400);
            date(year as u32, month, day, out);
            out.push(b' ');
            clock([(time / 3600) as u8, (time / 60 % 60) as u8, (time % 60) as u8], out);
            fraction(micros, decimals, out);
        }
        Value::Time { negative, hours, minutes, seconds, micros, decimals } => {
            let sign = if negative { "-" } else { "" };
            print(out, format_args!("{sign}{hours:02}:{minutes:02}:{seconds:02}"));
            fraction(micros, decimals, out);
        }
        Value::Bytes(bytes) | Value::Geometry(bytes) | Value::Vector(bytes) => hexadecimal(bytes, 0, out),
        Value::Null | Value::Decimal { .. } | Value::Json(_) | Value::JsonDiff(_) | Value::Compressed { .. } => {}
    }
}

/// Appends a number as the servers print it: with an exponent from 1e15 on and below 1e-15.
fn real(scientific: &str, plain: &str, out: &mut Vec<u8>) {
    let exponent: i32 = scientific.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or_default();
    let text = if (-15..15).contains(&exponent) { plain } else { scientific };
    out.extend_from_slice(text.as_bytes());
}

/// Appends two digits.
fn two(number: u8, out: &mut Vec<u8>) {
    out.extend([b'0' + number / 10 % 10, b'0' + number % 10]);
}

fn date(year: u32, month: u8, day: u8, out: &mut Vec<u8>) {
    two((year / 100) as u8, out);
    two((year % 100) as u8, out);
    out.push(b'-');
    two(month, out);
    out.push(b'-');
    two(day, out);
}

fn clock([hour, minute, second]: [u8; 3], out: &mut Vec<u8>) {
    two(hour, out);
    out.push(b':');
    two(minute, out);
    out.push(b':');
    two(second, out);
}

/// Appends as many digits as the column keeps.
fn fraction(micros: u32, decimals: u8, out: &mut Vec<u8>) {
    if decimals > 0 {
        let start = out.len() + 1;
        print(out, format_args!(".{micros:06}"));
        out.truncate(start + usize::from(decimals));
    }
}

fn integer(negative: bool, mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [b'0'; 20];
    let mut start = digits.len();
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
        start -= 1;
        if number == 0 {
            break;
        }
    }
    if negative {
        out.push(b'-');
    }
    out.extend_from_slice(digits.get(start..).unwrap_or_default());
}

fn hexadecimal(bytes: &[u8], zeros: usize, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or_default();
    out.extend(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]));
    out.resize(out.len() + zeros * 2, b'0');
}

/// Appends formatted text. Writing to a vector cannot fail.
fn print(out: &mut Vec<u8>, arguments: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(arguments);
}

#[cfg(test)]
mod tests;

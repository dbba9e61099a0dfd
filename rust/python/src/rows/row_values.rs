//! Python values as the values of a row image, by the column's type.

use paraply_core::schema::{Column, Table};
use paraply_core::value::Value;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyString};

use crate::errors::usage;

/// A value that owns its bytes.
pub enum OwnedValue {
    Plain(Value<'static>),
    Bytes(Vec<u8>),
    Bit(Vec<u8>, u8),
    Decimal { packed: Vec<u8>, precision: u8, scale: u8 },
}

impl OwnedValue {
    /// Returns the value in the form for hashing.
    pub fn borrow(&self) -> Value<'_> {
        match self {
            Self::Plain(value) => *value,
            Self::Bytes(bytes) => Value::Bytes(bytes),
            Self::Bit(bytes, bits) => Value::Bit { bytes, bits: *bits },
            Self::Decimal { packed, precision, scale } => {
                Value::Decimal { packed, precision: *precision, scale: *scale }
            }
        }
    }
}

/// Reads a row image: a dict by column names, which may leave columns out, or a sequence of all columns.
pub fn values_of(image: &Bound<'_, PyAny>, table: &Table) -> PyResult<Vec<Option<OwnedValue>>> {
    if let Ok(dict) = image.cast::<PyDict>() {
        for name in dict.keys() {
            let name: String = name.extract()?;
            if table.column_index(&name).is_none() {
                return Err(usage(&format!("the table {} has no column `{name}`", table.name)));
            }
        }
        let found = |column: &Column| -> PyResult<Option<OwnedValue>> {
            for (name, value) in dict.iter() {
                if name.extract::<String>()?.eq_ignore_ascii_case(&column.name) {
                    return Ok(Some(value_of(&value, column)?));
                }
            }
            Ok(None)
        };
        return table.columns.iter().map(found).collect();
    }
    let values: Vec<Bound<'_, PyAny>> = image.try_iter()?.collect::<PyResult<_>>()?;
    if values.len() != table.columns.len() {
        let (have, want) = (values.len(), table.columns.len());
        return Err(usage(&format!("a row of {} has {want} values, not {have}; or give a dict", table.name)));
    }
    values.iter().zip(&table.columns).map(|(value, column)| value_of(value, column).map(Some)).collect()
}

fn value_of(value: &Bound<'_, PyAny>, column: &Column) -> PyResult<OwnedValue> {
    if value.is_none() {
        return Ok(OwnedValue::Plain(Value::Null));
    }
    typed(value, column).map_err(|error| {
        let kind = value.get_type().name().map_or_else(|_| String::new(), |name| name.to_string());
        let message =
            format!("a value of {kind} does not fit the column `{}` ({}): {error}", column.name, column.data_type);
        usage(&message)
    })
}

fn typed(value: &Bound<'_, PyAny>, column: &Column) -> PyResult<OwnedValue> {
    Ok(OwnedValue::Plain(match column.data_type.as_str() {
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" if column.unsigned => Value::UInt(number(value)?),
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" => Value::Int(signed(value)?),
        "float" => Value::Float(value.extract()?),
        "double" => Value::Double(value.extract()?),
        "year" => Value::Year(value.extract()?),
        "enum" => Value::Enum(label(value, column)?),
        "set" => Value::Set(labels(value, column)?),
        "bit" => return bit(value, column),
        "decimal" => return decimal(value),
        "date" => Value::Date { year: part(value, "year")?, month: part(value, "month")?, day: part(value, "day")? },
        "datetime" => date_time(value)?,
        "timestamp" => timestamp(value)?,
        "time" => time(value)?,
        _ => return bytes(value, column),
    }))
}

fn part<T: TryFrom<i64>>(value: &Bound<'_, PyAny>, name: &str) -> PyResult<T> {
    let number: i64 = value.getattr(name)?.extract()?;
    T::try_from(number).map_err(|_| usage(&format!("its {name} is out of range")))
}

fn signed(value: &Bound<'_, PyAny>) -> PyResult<i64> {
    value.extract()
}

fn number(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    value.extract()
}

fn label(value: &Bound<'_, PyAny>, column: &Column) -> PyResult<u32> {
    let Ok(text) = value.cast::<PyString>() else { return value.extract() };
    let text = text.to_string();
    let place = column.labels.iter().position(|label| *label == text);
    place.map(|place| place as u32 + 1).ok_or_else(|| usage(&format!("`{text}` is none of its labels")))
}

fn labels(value: &Bound<'_, PyAny>, column: &Column) -> PyResult<u64> {
    if value.cast::<PyString>().is_err() {
        return value.extract();
    }
    let text: String = value.extract()?;
    let mut bits = 0;
    for name in text.split(',').filter(|name| !name.is_empty()) {
        let place = column.labels.iter().position(|label| label == name);
        bits |= 1_u64 << place.ok_or_else(|| usage(&format!("`{name}` is none of its labels")))?;
    }
    Ok(bits)
}

fn bit(value: &Bound<'_, PyAny>, column: &Column) -> PyResult<OwnedValue> {
    let number: u64 = if value.is_instance_of::<PyBool>() { value.is_truthy()?.into() } else { value.extract()? };
    let bits = column.length.unwrap_or(1).clamp(1, 64) as u8;
    let bytes = number.to_be_bytes();
    let skip = bytes.len() - usize::from(bits.div_ceil(8));
    Ok(OwnedValue::Bit(bytes.iter().skip(skip).copied().collect(), bits))
}

fn date_time(value: &Bound<'_, PyAny>) -> PyResult<Value<'static>> {
    Ok(Value::DateTime {
        year: part(value, "year")?,
        month: part(value, "month")?,
        day: part(value, "day")?,
        hour: part(value, "hour")?,
        minute: part(value, "minute")?,
        second: part(value, "second")?,
        micros: part(value, "microsecond")?,
        decimals: 6,
    })
}

/// Converts a moment with its time zone; one without is taken as UTC.
fn timestamp(value: &Bound<'_, PyAny>) -> PyResult<Value<'static>> {
    let py = value.py();
    let utc = py.import("datetime")?.getattr("timezone")?.getattr("utc")?;
    let keywords = PyDict::new(py);
    keywords.set_item("tzinfo", &utc)?;
    let naive = value.getattr("tzinfo")?.is_none();
    let moment = if naive { value.call_method("replace", (), Some(&keywords))? } else { value.clone() };
    let whole = PyDict::new(py);
    whole.set_item("microsecond", 0)?;
    let seconds: f64 = moment.call_method("replace", (), Some(&whole))?.call_method0("timestamp")?.extract()?;
    Ok(Value::Timestamp { seconds: seconds.round() as i64, micros: part(value, "microsecond")?, decimals: 6 })
}

/// Converts a timedelta.
fn time(value: &Bound<'_, PyAny>) -> PyResult<Value<'static>> {
    let (days, seconds, micros): (i64, i64, i64) =
        (part(value, "days")?, part(value, "seconds")?, part(value, "microseconds")?);
    let total = (days * 86_400 + seconds) * 1_000_000 + micros;
    let whole = total.unsigned_abs() / 1_000_000;
    Ok(Value::Time {
        negative: total < 0,
        hours: u16::try_from(whole / 3600).unwrap_or(u16::MAX),
        minutes: (whole / 60 % 60) as u8,
        seconds: (whole % 60) as u8,
        micros: (total.unsigned_abs() % 1_000_000) as u32,
        decimals: 6,
    })
}

fn bytes(value: &Bound<'_, PyAny>, column: &Column) -> PyResult<OwnedValue> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(OwnedValue::Bytes(bytes.as_bytes().to_vec()));
    }
    if let Ok(bytes) = value.cast::<PyByteArray>() {
        return Ok(OwnedValue::Bytes(bytes.to_vec()));
    }
    let text: String = value.extract()?;
    let charset = column.collation.as_deref().and_then(|name| name.split('_').next()).unwrap_or("utf8mb4");
    if text.is_ascii() && !matches!(charset, "ucs2" | "utf16" | "utf16le" | "utf32") || charset.starts_with("utf8") {
        return Ok(OwnedValue::Bytes(text.into_bytes()));
    }
    Err(usage(&format!("text in {charset} must be given as bytes")))
}

/// Packs a number as the server does: groups of nine digits in four bytes, the first bit set for positive numbers.
fn decimal(value: &Bound<'_, PyAny>) -> PyResult<OwnedValue> {
    let text: String = value.py().import("builtins")?.getattr("format")?.call1((value, "f"))?.extract()?;
    let (negative, digits) = text.strip_prefix('-').map_or((false, text.as_str()), |rest| (true, rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.len() > 65 || fraction.len() > 30 || !whole.bytes().chain(fraction.bytes()).all(|d| d.is_ascii_digit()) {
        return Err(usage("it is no decimal number"));
    }
    let mut packed = Vec::new();
    let (head, groups) = whole.split_at(whole.len() % 9);
    push_group(&mut packed, head);
    groups.as_bytes().chunks(9).for_each(|group| push_group(&mut packed, &String::from_utf8_lossy(group)));
    fraction.as_bytes().chunks(9).for_each(|group| push_group(&mut packed, &String::from_utf8_lossy(group)));
    if let Some(first) = packed.first_mut() {
        *first |= 0x80;
    }
    if negative {
        for byte in &mut packed {
            *byte = !*byte;
        }
    }
    let (precision, scale) = ((whole.len() + fraction.len()) as u8, fraction.len() as u8);
    Ok(OwnedValue::Decimal { packed, precision, scale })
}

fn push_group(out: &mut Vec<u8>, digits: &str) {
    const BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];
    let Some(width) = BYTES.get(digits.len()).copied().filter(|width| *width > 0) else { return };
    let number: u32 = digits.parse().unwrap_or(0);
    let bytes = number.to_be_bytes();
    out.extend(bytes.iter().skip(bytes.len() - width));
}

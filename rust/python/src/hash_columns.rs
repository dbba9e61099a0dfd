//! Hashes of the keys of many rows, from Arrow columns.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, DurationMicrosecondType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, Int64Array, UInt64Array};
use arrow_schema::{DataType, Field, TimeUnit};
use paraply_core::collation::Collation;
use paraply_core::schema::TableName;
use paraply_core::value::Value;
use paraply_core::write_set::{KeyHasher, key_prefix, plain_form};
use pyo3::prelude::*;
use pyo3_arrow::PyArray;

use crate::errors::usage;
use crate::hashing::collation_of;

const MICROS: i64 = 1_000_000;
const SECONDS_OF_DAY: i64 = 86_400;
/// TIME ends one second before this hour, on both sides of zero.
const HOURS: i64 = 839;

/// Returns the hash of one key for each row (rule R11).
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // taken over from Python
#[pyo3(signature = (key_name, database, table, columns, *, collation=None))]
pub fn write_set_hashes(
    py: Python<'_>,
    key_name: &str,
    database: &str,
    table: &str,
    columns: Vec<PyArray>,
    collation: Option<&str>,
) -> PyResult<Py<PyAny>> {
    let columns: Vec<ArrayRef> = columns.into_iter().map(|column| column.into_inner().0).collect();
    let prefix = key_prefix(key_name, &TableName::new(database, table));
    let hashes: Int64Array =
        py.detach(|| hash_rows(&prefix, &columns, collation)).map_err(|message| usage(py, &message))?;
    let hashes = PyArray::new(Arc::new(hashes), Arc::new(Field::new("hash", DataType::Int64, true)));
    Ok(hashes.to_pyarrow(py)?.unbind())
}

/// Returns a hash of the equality form of each value: equal for values that the collation calls equal; null where a
/// value has no form.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // taken over from Python
#[pyo3(signature = (collation, values, mariadb=None))]
pub fn equality_hashes(py: Python<'_>, collation: &str, values: PyArray, mariadb: Option<bool>) -> PyResult<Py<PyAny>> {
    let collation = collation_of(py, collation, mariadb)?;
    let values = values.into_inner().0;
    let hashes = match values.data_type() {
        DataType::Binary => py.detach(|| hash_forms(collation, values.as_binary::<i32>().iter())),
        DataType::LargeBinary => py.detach(|| hash_forms(collation, values.as_binary::<i64>().iter())),
        other => return Err(usage(py, &format!("the values are bytes in the collation's character set, not {other}"))),
    };
    let hashes = PyArray::new(Arc::new(hashes), Arc::new(Field::new("hash", DataType::UInt64, true)));
    Ok(hashes.to_pyarrow(py)?.unbind())
}

fn hash_forms<'v>(collation: &Collation, values: impl Iterator<Item = Option<&'v [u8]>>) -> UInt64Array {
    let mut hasher = KeyHasher::default();
    let mut form = Vec::new();
    let hash = |value: Option<&[u8]>| {
        form.clear();
        collation.equality_form(value?, &mut form).ok()?;
        hasher.begin(&[]);
        hasher.part(&form);
        Some(hasher.finish())
    };
    values.map(hash).collect()
}

fn hash_rows(prefix: &[u8], columns: &[ArrayRef], collation: Option<&str>) -> Result<Int64Array, String> {
    let collation = match collation {
        None => None,
        Some(name) => Some(Collation::by_name(name).ok_or_else(|| {
            format!("the collation `{name}` has no exact form here; leave it out to hash the text as it is")
        })?),
    };
    let Some(length) = columns.first().map(Array::len) else {
        return Err("a key has at least one column".to_owned());
    };
    if columns.iter().any(|column| column.len() != length) {
        return Err("the columns of the key have different lengths".to_owned());
    }
    let mut hasher = KeyHasher::default();
    let mut form = Vec::new();
    // A column without a type has no bitmap for null values.
    let untyped = columns.iter().any(|column| *column.data_type() == DataType::Null);
    let hash = |row: usize| {
        if untyped || columns.iter().any(|column| column.is_null(row)) {
            return Ok(None);
        }
        hasher.begin(prefix);
        for column in columns {
            form.clear();
            append_form(column, row, collation, &mut form)?;
            hasher.part(&form);
        }
        Ok(Some(hasher.finish() as i64))
    };
    (0..length).map(hash).collect()
}

/// Appends the canonical bytes of a value that is not null.
fn append_form(column: &ArrayRef, row: usize, collation: Option<&Collation>, out: &mut Vec<u8>) -> Result<(), String> {
    let value = match column.data_type() {
        DataType::Utf8 => return append_text(column.as_string::<i32>().value(row), collation, out),
        DataType::LargeUtf8 => return append_text(column.as_string::<i64>().value(row), collation, out),
        DataType::Decimal128(..) => {
            out.extend_from_slice(column.as_primitive::<Decimal128Type>().value_as_string(row).as_bytes());
            return Ok(());
        }
        DataType::Binary => Value::Bytes(column.as_binary::<i32>().value(row)),
        DataType::LargeBinary => Value::Bytes(column.as_binary::<i64>().value(row)),
        DataType::Boolean => Value::Int(i64::from(column.as_boolean().value(row))),
        DataType::Int8 => Value::Int(i64::from(column.as_primitive::<Int8Type>().value(row))),
        DataType::Int16 => Value::Int(i64::from(column.as_primitive::<Int16Type>().value(row))),
        DataType::Int32 => Value::Int(i64::from(column.as_primitive::<Int32Type>().value(row))),
        DataType::Int64 => Value::Int(column.as_primitive::<Int64Type>().value(row)),
        DataType::UInt8 => Value::UInt(u64::from(column.as_primitive::<UInt8Type>().value(row))),
        DataType::UInt16 => Value::UInt(u64::from(column.as_primitive::<UInt16Type>().value(row))),
        DataType::UInt32 => Value::UInt(u64::from(column.as_primitive::<UInt32Type>().value(row))),
        DataType::UInt64 => Value::UInt(column.as_primitive::<UInt64Type>().value(row)),
        DataType::Float32 => Value::Float(column.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => Value::Double(column.as_primitive::<Float64Type>().value(row)),
        DataType::Date32 => {
            let (year, month, day) = civil(i64::from(column.as_primitive::<Date32Type>().value(row)))?;
            Value::Date { year, month, day }
        }
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let micros = column.as_primitive::<TimestampMicrosecondType>().value(row);
            timestamp(micros, zone.is_some())?
        }
        DataType::Time64(TimeUnit::Microsecond) => time(column.as_primitive::<Time64MicrosecondType>().value(row))?,
        DataType::Time64(TimeUnit::Nanosecond) => {
            time(column.as_primitive::<Time64NanosecondType>().value(row) / 1000)?
        }
        DataType::Duration(TimeUnit::Microsecond) => time(column.as_primitive::<DurationMicrosecondType>().value(row))?,
        other => return Err(format!("a key's column cannot be {other}; cast it to what the table's column is")),
    };
    plain_form(&value, out).map_err(|reason| reason.text().to_owned())
}

fn append_text(text: &str, collation: Option<&Collation>, out: &mut Vec<u8>) -> Result<(), String> {
    let Some(collation) = collation else {
        out.extend_from_slice(text.as_bytes());
        return Ok(());
    };
    collation.equality_form(text.as_bytes(), out).map_err(|error| error.to_string())
}

/// Returns a moment as TIMESTAMP, or a time without a zone as DATETIME.
fn timestamp(micros: i64, zone: bool) -> Result<Value<'static>, String> {
    let (seconds, fraction) = (micros.div_euclid(MICROS), micros.rem_euclid(MICROS) as u32);
    if zone {
        return Ok(Value::Timestamp { seconds, micros: fraction, decimals: 6 });
    }
    let (year, month, day) = civil(seconds.div_euclid(SECONDS_OF_DAY))?;
    let second = seconds.rem_euclid(SECONDS_OF_DAY);
    let (hour, minute, second) = ((second / 3600) as u8, (second / 60 % 60) as u8, (second % 60) as u8);
    Ok(Value::DateTime { year, month, day, hour, minute, second, micros: fraction, decimals: 6 })
}

/// Returns a time of day, or an interval of days to seconds, as TIME.
fn time(micros: i64) -> Result<Value<'static>, String> {
    let (seconds, fraction) = ((micros / MICROS).abs(), (micros % MICROS).unsigned_abs() as u32);
    let hours = seconds / 3600;
    if hours >= HOURS {
        return Err(format!("an interval of {hours} hours is no TIME, which has less than {HOURS}"));
    }
    let (minutes, seconds) = ((seconds / 60 % 60) as u8, (seconds % 60) as u8);
    Ok(Value::Time { negative: micros < 0, hours: hours as u16, minutes, seconds, micros: fraction, decimals: 6 })
}

/// Returns the date of a day counted from 1970.
fn civil(day: i64) -> Result<(u16, u8, u8), String> {
    // Days from 0000-03-01, so that a leap day ends its year.
    let shifted = day.checked_add(719_468).ok_or("a date is out of range")?;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    let year = u16::try_from(year).ok().filter(|year| *year <= 9999).ok_or("a date is out of range")?;
    Ok((year, month as u8, day as u8))
}

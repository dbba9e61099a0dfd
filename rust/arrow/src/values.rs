//! Hashes of the keys of many rows, from Arrow columns.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, DurationMicrosecondType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, Int64Array, UInt64Array};
use arrow_schema::{DataType, TimeUnit};
use paraply_core::calendar::civil_from_days;
use paraply_core::collation::Collation;
use paraply_core::schema::TableName;
use paraply_core::value::Value;
use paraply_core::write_set::{KeyHasher, key_prefix, plain_form};

use crate::error::Error;

const MICROS: i64 = 1_000_000;
const SECONDS_OF_DAY: i64 = 86_400;
/// Days on both sides of 1970 that are beyond the years 0 to 9999.
const FAR_DAYS: i64 = 4_000_000;
/// TIME ends one second before this hour, on both sides of zero.
const HOURS: i64 = 839;

/// Return the hash of one key for each row (rule R11): null where a value of the key is null.
///
/// # Arguments
///
/// * `key_name`: name of the unique key.
/// * `table`: its table.
/// * `columns`: a column of values for each column of the key.
/// * `collation`: collation of text; without one text is hashed as it is.
///
/// # Errors
///
/// [`Error::Usage`] for columns that are no key's.
pub fn write_set_hashes(
    key_name: &str,
    table: &TableName,
    columns: &[ArrayRef],
    collation: Option<&str>,
) -> Result<Int64Array, Error> {
    hash_rows(&key_prefix(key_name, table), columns, collation).map_err(Error::Usage)
}

/// Return a hash of the equality form of each value: equal for values that the collation calls equal, and null where a value has no
/// form.
///
/// # Errors
///
/// [`Error::Usage`] for a column that holds no bytes.
pub fn equality_hashes(collation: &Collation, values: &ArrayRef) -> Result<UInt64Array, Error> {
    match values.data_type() {
        DataType::Binary => Ok(hash_forms(collation, values.as_binary::<i32>().iter())),
        DataType::LargeBinary => Ok(hash_forms(collation, values.as_binary::<i64>().iter())),
        other => Err(Error::usage(format!("the values are bytes in the collation's character set, not {other}"))),
    }
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
    let (year, month, day) = civil_from_days(day.clamp(-FAR_DAYS, FAR_DAYS));
    let year = u16::try_from(year).ok().filter(|year| *year <= 9999).ok_or("a date is out of range")?;
    Ok((year, month, day))
}

#[cfg(test)]
mod tests;

//! Some columns of the rows that transactions change, in a form that outlives the log's bytes: for errors that name a row.

use std::fmt::Write as _;

use paraply_core::schema::TableName;
use paraply_core::value::Value;

use crate::event::types::TABLE_MAP;
use crate::rows::image_cursor::Decoded;
use crate::rows::table_map::TableMap;
use crate::rows::values::decode::{decimal_text, decompress};
use crate::rows::{RowBuffer, RowsEvent, RowsHeader, rows_kind};
use crate::transaction::Transaction;

/// A value by itself.
#[derive(Debug, Clone, PartialEq)]
pub enum PlainValue {
    /// SQL NULL.
    Null,
    /// Integers, YEAR.
    Int(i64),
    /// Unsigned integers, BIT, the index of an ENUM and the bits of a SET.
    UInt(u64),
    /// FLOAT and DOUBLE.
    Double(f64),
    /// DECIMAL and times as the server prints them; a TIMESTAMP as seconds since 1970.
    Text(String),
    /// Text and binary in the column's character set; JSON, geometries and vectors as stored.
    Bytes(Vec<u8>),
}

/// The wanted columns of one image with their indexes; those that the image lacks are left out.
pub type PlainImage = Vec<(usize, PlainValue)>;

/// One changed row.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Before the change; none for an insert.
    pub before: Option<PlainImage>,
    /// After the change; none for a delete.
    pub after: Option<PlainImage>,
}

/// Returns the first `most` changes of one table's rows in order, with the columns that are named by their index.
///
/// # Errors
/// An event is damaged, or a wanted column cannot be decoded.
pub fn changes<'a>(
    transactions: impl Iterator<Item = &'a Transaction>,
    table: &TableName,
    columns: &[usize],
    most: usize,
) -> Decoded<Vec<Change>> {
    let mut found = Vec::new();
    for transaction in transactions {
        collect(transaction, table, columns, most, &mut found)?;
    }
    Ok(found)
}

fn collect(
    transaction: &Transaction,
    table: &TableName,
    columns: &[usize],
    most: usize,
    found: &mut Vec<Change>,
) -> Decoded<()> {
    let mut map: Option<TableMap> = None;
    for event in &transaction.events {
        let Some(bytes) = transaction.data.get(event.range.clone()) else { continue };
        if event.type_code == TABLE_MAP {
            let next = TableMap::parse(bytes, &transaction.format)?;
            // A number may be given to another table inside one transaction.
            if next.name == *table || map.as_ref().is_some_and(|known| known.table_id == next.table_id) {
                map = Some(next).filter(|next| next.name == *table);
            }
        } else if let Some(map) = &map
            && rows_kind(event.type_code).is_some()
            && RowsHeader::parse(bytes, &transaction.format)?.table_id == map.table_id
        {
            let wanted: Vec<bool> = (0..map.columns.len()).map(|index| columns.contains(&index)).collect();
            let rows = RowsEvent::parse(bytes, map, &transaction.format)?;
            let mut buffer = RowBuffer::default();
            let mut rows = rows.rows(&mut buffer, Some(&wanted));
            while let Some(row) = rows.next_row() {
                if found.len() >= most {
                    return Ok(());
                }
                let row = row?;
                found.push(Change {
                    before: row.before.map(image).transpose()?,
                    after: row.after.map(image).transpose()?,
                });
            }
        }
    }
    Ok(())
}

fn image(values: &[Option<Value<'_>>]) -> Decoded<PlainImage> {
    let present = values.iter().enumerate().filter_map(|(index, value)| Some((index, value.as_ref()?)));
    present.map(|(index, value)| Ok((index, plain(value)?))).collect()
}

fn plain(value: &Value<'_>) -> Decoded<PlainValue> {
    Ok(match *value {
        Value::Null => PlainValue::Null,
        Value::Int(number) => PlainValue::Int(number),
        Value::UInt(number) | Value::Set(number) => PlainValue::UInt(number),
        Value::Year(number) => PlainValue::UInt(u64::from(number)),
        Value::Enum(number) => PlainValue::UInt(u64::from(number)),
        Value::Bit { bytes, .. } => {
            PlainValue::UInt(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
        }
        Value::Float(number) => PlainValue::Double(f64::from(number)),
        Value::Double(number) => PlainValue::Double(number),
        Value::Decimal { packed, precision, scale } => {
            let mut text = Vec::new();
            decimal_text(packed, precision, scale, &mut text)?;
            PlainValue::Text(String::from_utf8_lossy(&text).into_owned())
        }
        Value::Bytes(bytes)
        | Value::Json(bytes)
        | Value::JsonDiff(bytes)
        | Value::Geometry(bytes)
        | Value::Vector(bytes) => PlainValue::Bytes(bytes.to_vec()),
        Value::Compressed { stored, limit } => PlainValue::Bytes(decompress(stored, limit)?),
        Value::Date { year, month, day } => PlainValue::Text(format!("{year:04}-{month:02}-{day:02}")),
        Value::DateTime { year, month, day, hour, minute, second, micros, decimals } => PlainValue::Text(
            with_fraction(format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"), micros, decimals),
        ),
        Value::Timestamp { seconds, micros, decimals } => {
            PlainValue::Text(with_fraction(seconds.to_string(), micros, decimals))
        }
        Value::Time { negative, hours, minutes, seconds, micros, decimals } => {
            let sign = if negative { "-" } else { "" };
            PlainValue::Text(with_fraction(format!("{sign}{hours:02}:{minutes:02}:{seconds:02}"), micros, decimals))
        }
    })
}

fn with_fraction(mut text: String, micros: u32, decimals: u8) -> String {
    if decimals > 0 {
        let start = text.len() + 1;
        let _ = write!(text, ".{micros:06}");
        text.truncate(start + usize::from(decimals));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_as_the_server_prints_them() {
        let time = Value::Time { negative: true, hours: 1, minutes: 2, seconds: 3, micros: 450_000, decimals: 2 };
        assert_eq!(plain(&time), Ok(PlainValue::Text("-01:02:03.45".to_owned())));
        let date = Value::Date { year: 2026, month: 1, day: 9 };
        assert_eq!(plain(&date), Ok(PlainValue::Text("2026-01-09".to_owned())));
        assert_eq!(plain(&Value::Bit { bytes: &[1, 2], bits: 9 }), Ok(PlainValue::UInt(258)));
        let instant = Value::Timestamp { seconds: 7, micros: 5, decimals: 6 };
        assert_eq!(plain(&instant), Ok(PlainValue::Text("7.000005".to_owned())));
    }
}

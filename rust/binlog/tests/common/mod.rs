//! Helpers of the tests on real logs: the logs' folder, iterating over rows, and values as text.

#![allow(dead_code, reason = "each test uses a part")]

use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use paraply_binlog::event::types;
use paraply_binlog::read::reader::{LogReader, ReaderOptions};
use paraply_binlog::rows::layout::type_code;
use paraply_binlog::rows::table_map::{MappedColumn, TableMap};
use paraply_binlog::rows::values::decode::decimal_text;
use paraply_binlog::rows::values::json::json_text;
use paraply_binlog::rows::{Row, RowBuffer, RowsEvent, RowsHeader};
use paraply_binlog::transaction::Transaction;
use paraply_core::value::Value;

/// The number of the `binary` collation.
const BINARY: u32 = 63;
/// The number of `latin1_swedish_ci`.
const LATIN1: u32 = 8;

/// Returns the folder with the unpacked logs of real servers.
pub fn truth() -> PathBuf {
    PathBuf::from(std::env::var_os("PARAPLY_TRUTH").expect("PARAPLY_TRUTH"))
}

/// Calls a function for each row of a log.
pub fn each_row(path: &Path, mut visit: impl FnMut(&TableMap, &RowsHeader<'_>, Row<'_, '_>)) {
    let mut log = LogReader::open(&[path.to_owned()], ReaderOptions::default()).expect("the log opens");
    while let Some(transaction) = log.next_transaction() {
        each_row_of(&transaction.expect("the transaction is read"), &mut visit);
    }
}

/// Calls a function for each row of a transaction.
pub fn each_row_of(transaction: &Transaction, mut visit: impl FnMut(&TableMap, &RowsHeader<'_>, Row<'_, '_>)) {
    let mut maps: HashMap<u64, TableMap> = HashMap::new();
    for event in &transaction.events {
        let bytes = &transaction.data[event.range.clone()];
        if event.type_code == types::TABLE_MAP {
            let map = TableMap::parse(bytes, &transaction.format).expect("the table map is read");
            maps.insert(map.table_id, map);
            continue;
        }
        let header = RowsHeader::parse(bytes, &transaction.format).expect("the header is read");
        let map = maps.get(&header.table_id).expect("the table map came first");
        let rows_event = RowsEvent::with_header(header, bytes, map).expect("the event is read");
        let mut buffer = RowBuffer::default();
        let mut rows = rows_event.rows(&mut buffer, None);
        while let Some(row) = rows.next_row() {
            visit(map, &header, row.expect("the row is read"));
        }
    }
}

/// Returns a row as a JSON array, as in the dumps beside the logs.
pub fn row_text(map: &TableMap, image: &[Option<Value<'_>>]) -> String {
    let texts: Vec<String> = map
        .columns
        .iter()
        .zip(image)
        .map(|(column, value)| value_text(column, &value.expect("a full image")))
        .collect();
    format!("[{}]", texts.join(", "))
}

/// Returns a value as JSON: numbers as numbers, binary as hex, everything else as the server's text.
pub fn value_text(column: &MappedColumn, value: &Value<'_>) -> String {
    match *value {
        Value::Null => "null".to_owned(),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::Double(number) => format!("{number:?}"),
        Value::Year(year) => year.to_string(),
        Value::Decimal { packed, precision, scale } => {
            let mut text = Vec::new();
            decimal_text(packed, precision, scale, &mut text).expect("a sound decimal");
            quoted(std::str::from_utf8(&text).expect("digits"))
        }
        Value::Bytes(bytes) if column.collation_id == Some(BINARY) && column.type_code == type_code::STRING => {
            // The server pads a BINARY when it is read.
            let mut padded = bytes.to_vec();
            padded.resize(usize::from(column.metadata), 0);
            hex(&padded)
        }
        Value::Bytes(bytes) if column.collation_id == Some(BINARY) => hex(bytes),
        Value::Bytes(bytes) if column.collation_id == Some(LATIN1) => {
            quoted(&bytes.iter().map(|&byte| char::from(byte)).collect::<String>())
        }
        Value::Bytes(bytes) => quoted(&String::from_utf8_lossy(bytes)),
        Value::Bit { bytes, .. } | Value::Geometry(bytes) | Value::Vector(bytes) | Value::JsonDiff(bytes) => hex(bytes),
        Value::Enum(number) => {
            let label = column.labels.get((number as usize).wrapping_sub(1));
            quoted(&String::from_utf8_lossy(label.map_or(b"", Vec::as_slice)))
        }
        Value::Set(bits) => {
            let labels = column.labels.iter().enumerate().filter(|(place, _)| bits >> place & 1 == 1);
            let labels: Vec<_> = labels.map(|(_, label)| String::from_utf8_lossy(label)).collect();
            quoted(&labels.join(","))
        }
        Value::Json(document) => {
            let mut text = Vec::new();
            json_text(document, &mut text).expect("sound JSON");
            quoted(std::str::from_utf8(&text).expect("UTF-8"))
        }
        ref temporal => quoted(&temporal_text(temporal)),
    }
}

fn temporal_text(value: &Value<'_>) -> String {
    match *value {
        Value::Date { year, month, day } => format!("{year:04}-{month:02}-{day:02}"),
        Value::DateTime { year, month, day, hour, minute, second, micros, decimals } => {
            let fraction = fraction(micros, decimals);
            format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}{fraction}")
        }
        Value::Time { negative, hours, minutes, seconds, micros, decimals } => {
            let sign = if negative { "-" } else { "" };
            format!("{sign}{hours:02}:{minutes:02}:{seconds:02}{}", fraction(micros, decimals))
        }
        Value::Timestamp { seconds: 0, micros: 0, decimals } => format!("0000-00-00 00:00:00{}", fraction(0, decimals)),
        Value::Timestamp { seconds, micros, decimals } => {
            let (year, month, day) = civil(seconds.div_euclid(86_400));
            let second = seconds.rem_euclid(86_400);
            let time = format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
            format!("{year:04}-{month:02}-{day:02} {time}{}", fraction(micros, decimals))
        }
        _ => panic!("not temporal: {value:?}"),
    }
}

fn fraction(micros: u32, decimals: u8) -> String {
    if decimals == 0 {
        return String::new();
    }
    let digits = format!("{micros:06}");
    format!(".{}", &digits[..usize::from(decimals)])
}

/// Returns year, month and day of a day counted from 1970 (proleptic Gregorian calendar).
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::from("\"0x");
    for byte in bytes {
        write!(text, "{byte:02x}").expect("memory");
    }
    text + "\""
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for char in text.chars() {
        match char {
            '"' | '\\' => out.extend(['\\', char]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            char => out.push(char),
        }
    }
    out + "\""
}

/// Returns the files of a tar archive by name.
pub fn untar(archive: &[u8]) -> HashMap<String, String> {
    let mut files = HashMap::new();
    let mut at = 0;
    while let Some(header) = archive.get(at..at + 512).filter(|header| header[0] != 0) {
        let text =
            |range: std::ops::Range<usize>| String::from_utf8_lossy(&header[range]).trim_matches('\0').to_owned();
        let size = usize::from_str_radix(text(124..136).trim(), 8).expect("a size");
        let content = archive[at + 512..at + 512 + size].to_vec();
        files.insert(text(0..100), String::from_utf8(content).expect("UTF-8"));
        at += 512 + size.div_ceil(512) * 512;
    }
    files
}

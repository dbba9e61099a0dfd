use proptest::prelude::*;

use super::*;

fn literal(kind: &Kind, value: Value<'_>) -> Result<String, String> {
    let mut out = Vec::new();
    write_literal(&mut out, kind, &value).map_err(|e| e.to_string())?;
    Ok(String::from_utf8(out).expect("literals are UTF-8"))
}

fn labels(names: &[&str]) -> Vec<String> {
    names.iter().map(|&n| n.to_owned()).collect()
}

#[test]
fn numbers_keep_every_digit() {
    assert_eq!(literal(&Kind::Unsigned, Value::UInt(u64::MAX)).unwrap(), "'18446744073709551615'");
    assert_eq!(literal(&Kind::Integer, Value::Int(i64::MIN)).unwrap(), "'-9223372036854775808'");
    assert_eq!(literal(&Kind::Real, Value::Float(1.1)).unwrap(), "'1.1e0'");
    assert_eq!(literal(&Kind::Double, Value::Double(1e300)).unwrap(), "'1e300'");
    assert!(literal(&Kind::Double, Value::Double(f64::NAN)).is_err());
    assert!(literal(&Kind::Real, Value::Float(f32::INFINITY)).is_err());
}

#[test]
fn packed_decimals_are_unpacked() {
    let value = |packed, precision, scale| literal(&Kind::Decimal, Value::Decimal { packed, precision, scale });
    // The two examples that the server's source documents for DECIMAL(14,4).
    assert_eq!(value(&[0x81, 0x0d, 0xfb, 0x38, 0xd2, 0x04, 0xd2], 14, 4).unwrap(), "'1234567890.1234'");
    assert_eq!(value(&[0x7e, 0xf2, 0x04, 0xc7, 0x2d, 0xfb, 0x2d], 14, 4).unwrap(), "'-1234567890.1234'");
    assert_eq!(value(&[0x80, 0x05], 4, 2).unwrap(), "'0.05'");
    assert_eq!(value(&[0x80, 0x00], 4, 0).unwrap(), "'0'");
    assert!(value(&[0x81], 14, 4).is_err(), "cut off");
    assert!(value(&[0x80, 0xff], 4, 2).is_err(), "255 has no place in two digits");
}

#[test]
fn text_is_quoted_and_checked() {
    let utf8 = Kind::Text(Some(Charset::Utf8));
    assert_eq!(literal(&utf8, Value::Bytes(b"'; DROP TABLE x; --\\")).unwrap(), "'''; DROP TABLE x; --\\'");
    assert!(literal(&utf8, Value::Bytes(b"a\0b")).is_err());
    assert!(literal(&utf8, Value::Bytes(b"\xff")).is_err());
    let latin1 = Kind::Text(Charset::of_collation("latin1_bin"));
    let utf16 = Kind::Text(Some(Charset::Utf16));
    assert_eq!(literal(&utf16, Value::Bytes(b"\0'\x20\xac")).unwrap(), "'''€'");
    assert!(literal(&utf16, Value::Bytes(b"\0a\0\0")).is_err(), "NUL");
    assert_eq!(
        literal(&Kind::Text(None), Value::Bytes(b"it's\n~")).unwrap(),
        "'it''s\n~'",
        "the same in all that extend ASCII"
    );
    for other in ["é".as_bytes(), b"\xe9", b"\0a", b"\x0e", b"a\x7f"] {
        assert!(literal(&Kind::Text(None), Value::Bytes(other)).is_err(), "{other:?} in a set that is not known");
    }
    assert!(literal(&Kind::Text(Some(Charset::Ascii)), Value::Bytes("é".as_bytes())).is_err());
    assert_eq!(literal(&latin1, Value::Bytes(b"\x80\xe9\x81")).unwrap(), "'€é\u{81}'");
}

#[test]
fn binary_strings_get_their_zero_bytes_back() {
    assert_eq!(literal(&Kind::Binary(4), Value::Bytes(b"a\xff")).unwrap(), "'\\x61ff0000'");
    assert_eq!(literal(&Kind::Varbinary, Value::Bytes(b"")).unwrap(), "'\\x'");
}

#[test]
fn dates_that_do_not_exist_are_refused() {
    let date = |year, month, day| literal(&Kind::Date, Value::Date { year, month, day });
    assert_eq!(date(9999, 12, 31).unwrap(), "'9999-12-31'");
    assert_eq!(date(2024, 2, 29).unwrap(), "'2024-02-29'");
    for (year, month, day) in [(0, 0, 0), (2024, 0, 1), (2024, 1, 0), (0, 1, 1), (2023, 2, 29), (2023, 13, 1)] {
        assert!(date(year, month, day).is_err(), "{year}-{month}-{day}");
    }
}

#[test]
fn times_keep_their_fraction() {
    let time = Value::Time { negative: true, hours: 838, minutes: 59, seconds: 59, micros: 500_000, decimals: 1 };
    assert_eq!(literal(&Kind::Interval, time).unwrap(), "'-838:59:59.500000'");
    let stamp = Value::Timestamp { seconds: 1_700_000_000, micros: 0, decimals: 0 };
    assert_eq!(literal(&Kind::TimestampTz, stamp).unwrap(), "'2023-11-14 22:13:20+00'");
    let zero = Value::Timestamp { seconds: 0, micros: 0, decimals: 0 };
    assert!(literal(&Kind::TimestampTz, zero).unwrap_err().contains("zero timestamp"));
}

#[test]
fn years_out_of_range_are_refused() {
    assert_eq!(literal(&Kind::Year, Value::Year(0)).unwrap(), "'0'");
    assert_eq!(literal(&Kind::Year, Value::Year(2155)).unwrap(), "'2155'");
    assert!(literal(&Kind::Year, Value::Year(1900)).is_err());
}

#[test]
fn enums_and_sets_become_labels() {
    let kind = Kind::Enum(labels(&["new", "it's"]));
    assert_eq!(literal(&kind, Value::Enum(2)).unwrap(), "'it''s'");
    assert_eq!(literal(&kind, Value::Enum(0)).unwrap(), "''");
    assert!(literal(&kind, Value::Enum(3)).is_err());
    assert!(literal(&Kind::Enum(labels(&["", "a"])), Value::Enum(0)).is_err(), "two meanings of the empty string");
    let kind = Kind::Set(labels(&["a", "b", "c"]));
    assert_eq!(literal(&kind, Value::Set(0b101)).unwrap(), "'a,c'");
    assert_eq!(literal(&kind, Value::Set(0)).unwrap(), "''");
    assert!(literal(&kind, Value::Set(0b1000)).is_err());
}

#[test]
fn labels_that_are_no_text_are_refused_with_their_bytes() {
    let names = labels(&["\u{ffff}0xE4", "b", "\u{ffff}0x00"]);
    let refused = |kind: &Kind, value: Value<'_>| literal(kind, value).unwrap_err();
    let kind = Kind::Enum(names.clone());
    assert_eq!(literal(&kind, Value::Enum(2)).unwrap(), "'b'");
    assert!(refused(&kind, Value::Enum(1)).starts_with("the label 0xE4, which is no text"));
    assert!(refused(&kind, Value::Enum(3)).starts_with("the label 0x00, which is no text"));
    let kind = Kind::Set(names);
    assert_eq!(literal(&kind, Value::Set(0b10)).unwrap(), "'b'");
    assert!(refused(&kind, Value::Set(0b11)).starts_with("the label 0xE4, which is no text"));
    assert!(refused(&kind, Value::Set(0b110)).starts_with("the label 0x00, which is no text"));
}

#[test]
fn bits_are_written_in_full_width() {
    assert_eq!(literal(&Kind::Bit, Value::Bit { bytes: &[5], bits: 4 }).unwrap(), "'0101'");
    let all = literal(&Kind::Bit, Value::Bit { bytes: &[0xff; 8], bits: 64 }).unwrap();
    assert_eq!(all.len(), 66);
    assert!(literal(&Kind::Bit, Value::Bit { bytes: &[0x1f], bits: 4 }).is_err());
}

#[test]
fn json_text_with_a_nul_character_is_refused() {
    let mut out = Vec::new();
    assert!(json_text(&mut out, r#"{"a": "\u0000"}"#).is_err());
    assert!(json_text(&mut out, r#"{"a": "\\\u0000"}"#).is_err());
    assert!(json_text(&mut out, r#"{"a": "\\u0000"}"#).is_ok(), "an escaped backslash");
}

#[test]
fn a_value_of_another_type_is_refused() {
    assert!(literal(&Kind::Date, Value::Int(3)).unwrap_err().contains("differ"));
    assert!(literal(&Kind::Integer, Value::Bytes(b"3")).is_err());
}

/// Packs a decimal as the server does, by another method: through its digits as text.
fn pack(digits: &str, precision: usize, scale: usize, negative: bool) -> Vec<u8> {
    let (whole, part) = digits.split_at(precision - scale);
    let (head, rest) = whole.split_at(whole.len() % 9);
    let groups = std::iter::once(head).chain(rest.as_bytes().chunks(9).map(|g| std::str::from_utf8(g).unwrap()));
    let groups = groups.chain(part.as_bytes().chunks(9).map(|g| std::str::from_utf8(g).unwrap()));
    let mut packed: Vec<u8> = groups
        .filter(|g| !g.is_empty())
        .flat_map(|g| g.parse::<u32>().unwrap().to_be_bytes()[4 - BYTES_OF_DIGITS[g.len()]..].to_vec())
        .collect();
    packed[0] ^= 0x80;
    if negative {
        packed = packed.iter().map(|b| !b).collect();
    }
    packed
}

proptest! {
    #[test]
    fn every_decimal_comes_back(digits in "[0-9]{1,65}", scale in 0usize..31, negative: bool) {
        let precision = digits.len();
        let scale = scale.min(precision);
        let packed = pack(&digits, precision, scale, negative);
        let value = Value::Decimal { packed: &packed, precision: precision as u8, scale: scale as u8 };
        let (whole, part) = digits.split_at(precision - scale);
        let whole = whole.trim_start_matches('0');
        let sign = if negative { "-" } else { "" };
        let point = if scale > 0 { "." } else { "" };
        let whole = if whole.is_empty() { "0" } else { whole };
        prop_assert_eq!(literal(&Kind::Decimal, value).unwrap(), format!("'{sign}{whole}{point}{part}'"));
    }

    #[test]
    fn no_text_leaves_its_quotes(text in "[^\0]*") {
        let written = literal(&Kind::Text(Some(Charset::Utf8)), Value::Bytes(text.as_bytes())).unwrap();
        let inside = &written[1..written.len() - 1];
        prop_assert_eq!(inside.replace("''", ""), text.replace('\'', ""));
        prop_assert_eq!(inside.matches('\'').count(), 2 * text.matches('\'').count());
    }

    #[test]
    fn damaged_values_are_errors_and_never_panics(bytes: Vec<u8>, precision: u8, scale: u8, bits: u8) {
        let _ = literal(&Kind::Decimal, Value::Decimal { packed: &bytes, precision, scale });
        let _ = literal(&Kind::Bit, Value::Bit { bytes: &bytes, bits });
        let _ = literal(&Kind::Text(Some(Charset::Utf8)), Value::Bytes(&bytes));
        let _ = literal(&Kind::TimestampTz, Value::Timestamp { seconds: i64::MIN + 1, micros: 0, decimals: 0 });
    }

    #[test]
    fn floating_point_numbers_come_back(bits: u64) {
        let number = f64::from_bits(bits);
        if number.is_finite() {
            let written = literal(&Kind::Double, Value::Double(number)).unwrap();
            prop_assert_eq!(written.trim_matches('\'').parse::<f64>().unwrap().to_bits(), bits);
        }
    }
}

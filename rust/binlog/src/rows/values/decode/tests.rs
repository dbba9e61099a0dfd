use super::*;
use crate::rows::layout::type_code as t;

fn layout(code: u8, metadata: u16) -> Layout {
    Layout::new(code, metadata, 0).unwrap()
}

/// Decodes all bytes as one value, and checks that skipping the value takes as many.
fn value(layout: Layout, bytes: &[u8]) -> Value<'_> {
    let mut cursor = Cursor::new(bytes, 0);
    let value = decode(layout, &mut cursor).unwrap();
    assert!(cursor.is_at_end(), "{layout:?} left bytes");
    let mut cursor = Cursor::new(bytes, 0);
    layout.skip(&mut cursor).unwrap();
    assert!(cursor.is_at_end(), "{layout:?} skips another number of bytes");
    for end in 0..bytes.len() {
        assert!(decode(layout, &mut Cursor::new(&bytes[..end], 0)).is_err(), "{layout:?} reads a cut value");
    }
    value
}

fn unsigned(code: u8) -> Layout {
    match layout(code, 0) {
        Layout::Int { width, .. } => Layout::Int { width, unsigned: true },
        other => other,
    }
}

#[test]
fn integers_at_their_limits() {
    for (code, width) in [(t::TINY, 1), (t::SHORT, 2), (t::INT24, 3), (t::LONG, 4), (t::LONGLONG, 8)] {
        let ones = vec![0xff; width];
        let bits = 8 * width as u32;
        assert_eq!(value(layout(code, 0), &ones), Value::Int(-1));
        assert_eq!(value(unsigned(code), &ones), Value::UInt(u64::MAX >> (64 - bits)));
        let mut lowest = vec![0; width];
        lowest[width - 1] = 0x80;
        assert_eq!(value(layout(code, 0), &lowest), Value::Int(i64::MIN >> (64 - bits)));
        assert_eq!(value(unsigned(code), &lowest), Value::UInt(1 << (bits - 1)));
    }
}

#[test]
fn floats_bits_years_and_sets() {
    assert_eq!(value(layout(t::FLOAT, 4), &1.5_f32.to_le_bytes()), Value::Float(1.5));
    assert_eq!(value(layout(t::DOUBLE, 8), &(-0.1_f64).to_le_bytes()), Value::Double(-0.1));
    assert_eq!(value(layout(t::BIT, 0x0101), &[1, 2]), Value::Bit { bytes: &[1, 2], bits: 9 });
    assert_eq!(value(layout(t::BIT, 0x0008), &[255; 8]), Value::Bit { bytes: &[255; 8], bits: 64 });
    assert_eq!(value(layout(t::YEAR, 0), &[0]), Value::Year(0));
    assert_eq!(value(layout(t::YEAR, 0), &[255]), Value::Year(2155));
    assert_eq!(value(layout(t::ENUM, 2), &[1, 1]), Value::Enum(257));
    assert_eq!(value(layout(t::SET, 8), &[0, 0, 0, 0, 0, 0, 0, 0x80]), Value::Set(1 << 63));
    assert_eq!(value(layout(t::SET, 3), &[1, 0, 1]), Value::Set(0x1_0001));
}

#[test]
fn strings_by_the_width_of_their_length() {
    assert_eq!(value(layout(t::VARCHAR, 255), &[2, b'a', b'b']), Value::Bytes(b"ab"));
    assert_eq!(value(layout(t::VARCHAR, 256), &[1, 0, b'a']), Value::Bytes(b"a"));
    assert_eq!(value(layout(t::STRING, 1020), &[1, 0, b'a']), Value::Bytes(b"a"));
    for prefix in 1..=4_u16 {
        let mut bytes = vec![3];
        bytes.resize(usize::from(prefix), 0);
        bytes.extend_from_slice(b"abc");
        assert_eq!(value(layout(t::BLOB, prefix), &bytes), Value::Bytes(b"abc"));
    }
    assert_eq!(value(layout(t::JSON, 4), &[1, 0, 0, 0, 4]), Value::Json(&[4]));
    assert_eq!(value(layout(t::GEOMETRY, 4), &[1, 0, 0, 0, 4]), Value::Geometry(&[4]));
    assert_eq!(value(layout(t::VECTOR, 4), &[4, 0, 0, 0, 0, 0, 128, 63]), Value::Vector(&[0, 0, 128, 63]));
    assert!(decode(layout(t::BLOB, 4), &mut Cursor::new(&[255, 255, 255, 255, 1], 0)).is_err());
}

#[test]
fn dates_and_times_before_5_6() {
    assert_eq!(value(layout(t::DATE, 0), &[0, 0, 0]), Value::Date { year: 0, month: 0, day: 0 });
    let last = (9999_u32 << 9 | 12 << 5 | 31).to_le_bytes();
    assert_eq!(value(layout(t::NEWDATE, 0), &last[..3]), Value::Date { year: 9999, month: 12, day: 31 });
    let time = (-8_385_959_i32).to_le_bytes();
    let expected = Value::Time { negative: true, hours: 838, minutes: 59, seconds: 59, micros: 0, decimals: 0 };
    assert_eq!(value(layout(t::TIME, 0), &time[..3]), expected);
    let Value::DateTime { year, month, day, hour, minute, second, micros, decimals } =
        value(layout(t::DATETIME, 0), &20_201_231_235_958_u64.to_le_bytes())
    else {
        panic!("a DATETIME")
    };
    assert_eq!((year, month, day, hour, minute, second, micros, decimals), (2020, 12, 31, 23, 59, 58, 0, 0));
    let expected = Value::Timestamp { seconds: 0xffff_ffff, micros: 0, decimals: 0 };
    assert_eq!(value(layout(t::TIMESTAMP, 0), &[255; 4]), expected);
}

#[test]
fn times_with_fractions_and_signs() {
    // Bytes as MySQL 9.7 logged them.
    type Case = (u16, &'static [u8], bool, (u16, u8, u8), u32);
    let cases: [Case; 5] = [
        (0, &[0x80, 0, 0], false, (0, 0, 0), 0),
        (0, &[0x7f, 0x3c, 0xb2], true, (12, 13, 14), 0),
        (2, &[0x7f, 0xff, 0xfe, 0xce], true, (0, 0, 1), 500_000),
        (3, &[0x80, 0, 1, 0x13, 0x88], false, (0, 0, 1), 500_000),
        (6, &[0x7f, 0xff, 0xff, 0xff, 0xff, 0xff], true, (0, 0, 0), 1),
    ];
    for (decimals, bytes, negative, (hours, minutes, seconds), micros) in cases {
        let decimals_u8 = decimals as u8;
        let expected = Value::Time { negative, hours, minutes, seconds, micros, decimals: decimals_u8 };
        assert_eq!(value(layout(t::TIME2, decimals), bytes), expected);
    }
    assert!(decode(layout(t::TIME2, 0), &mut Cursor::new(&[255; 3], 0)).is_err(), "1023 hours");
}

#[test]
fn datetimes_and_timestamps_with_fractions() {
    let packed = |y: u64, m: u64, d: u64, h: u64, i: u64, s: u64| {
        ((y * 13 + m) << 22 | d << 17 | h << 12 | i << 6 | s) + 0x80_0000_0000
    };
    for (decimals, fraction, micros) in [
        (0, &[][..], 0),
        (1, &[90][..], 900_000),
        (4, &[0x27, 0x0f][..], 999_900),
        (6, &[0x0f, 0x42, 0x3f][..], 999_999),
    ] {
        let mut bytes = packed(9999, 12, 31, 23, 59, 59).to_be_bytes()[3..].to_vec();
        bytes.extend_from_slice(fraction);
        let expected = Value::DateTime {
            year: 9999,
            month: 12,
            day: 31,
            hour: 23,
            minute: 59,
            second: 59,
            micros,
            decimals: decimals as u8,
        };
        assert_eq!(value(layout(t::DATETIME2, decimals), &bytes), expected);
        let mut bytes = vec![0x7f, 0xff, 0xff, 0xff];
        bytes.extend_from_slice(fraction);
        let expected = Value::Timestamp { seconds: 0x7fff_ffff, micros, decimals: decimals as u8 };
        assert_eq!(value(layout(t::TIMESTAMP2, decimals), &bytes), expected);
    }
    let zero = packed(0, 0, 0, 0, 0, 0).to_be_bytes();
    assert!(matches!(value(layout(t::DATETIME2, 0), &zero[3..]), Value::DateTime { year: 0, month: 0, day: 0, .. }));
    assert!(decode(layout(t::DATETIME2, 0), &mut Cursor::new(&[0; 5], 0)).is_err(), "before zero");
    assert!(decode(layout(t::TIMESTAMP2, 6), &mut Cursor::new(&[255; 7], 0)).is_err(), "more than a second");
}

fn text(packed: &[u8], precision: u8, scale: u8) -> String {
    let mut out = Vec::new();
    decimal_text(packed, precision, scale, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn decimals_as_the_server_prints_them() {
    // 1234567890.1234 and its negative are the format's own example.
    let packed = [0x81, 0x0d, 0xfb, 0x38, 0xd2, 0x04, 0xd2];
    assert_eq!(text(&packed, 14, 4), "1234567890.1234");
    let negative: Vec<u8> = packed.iter().map(|byte| !byte).collect();
    assert_eq!(text(&negative, 14, 4), "-1234567890.1234");
    assert_eq!(text(&[0x80], 2, 0), "0");
    assert_eq!(text(&[0x80, 0], 3, 2), "0.00");
    assert_eq!(text(&[0x7f, 0xfe], 3, 2), "-0.01");
    assert_eq!(text(&[0xb2], 2, 2), "0.50");
    assert_eq!(
        value(layout(t::NEWDECIMAL, 0x0302), &[0x80, 1]),
        Value::Decimal { packed: &[0x80, 1], precision: 3, scale: 2 }
    );
    let mut nines = [0x3b, 0x9a, 0xc9, 0xff].repeat(7);
    nines.splice(0..0, [0xe3]); // 99 with the sign bit, then 63 digits
    assert_eq!(text(&nines, 65, 0), "9".repeat(65));
    assert_eq!(text(&[0x80, 0, 0, 7], 9, 0), "7");
}

#[test]
fn damaged_decimals_are_refused() {
    let mut out = Vec::new();
    assert!(decimal_text(&[0xff], 2, 0, &mut out).is_err(), "127 is no two digits");
    assert!(decimal_text(&[0x80], 3, 0, &mut out).is_err(), "too short");
    assert!(decimal_text(&[0x80], 1, 2, &mut out).is_err(), "more scale than digits");
    assert!(decimal_text(&[], 0, 0, &mut out).is_err(), "no digits");
    assert!(Layout::new(t::NEWDECIMAL, 0x4200, 0).is_err());
    assert!(Layout::new(t::NEWDECIMAL, 0x0203, 0).is_err());
}

#[test]
fn types_that_are_not_read_are_refused() {
    for code in [t::DECIMAL, t::NULL, 20, 100, 243, 244] {
        assert!(Layout::new(code, 0, 7).is_err_and(|error| error.at == 7), "type {code}");
    }
    for (code, metadata) in
        [(t::BLOB, 5), (t::BLOB, 0), (t::TIME2, 7), (t::BIT, 0x0008 + 9), (t::BIT, 0), (t::SET, 9), (t::ENUM, 0)]
    {
        assert!(Layout::new(code, metadata, 0).is_err(), "type {code}, metadata {metadata}");
    }
}

#[test]
fn compressed_columns_are_decoded_as_they_are_stored_and_unpacked_on_request() {
    use std::io::Write;
    let layout = layout(t::VARCHAR_COMPRESSED, 300);
    let stored = decode(layout, &mut Cursor::new(&[2, 0, 0, b'a'], 0)).unwrap();
    assert_eq!(stored, Value::Compressed { stored: &[0, b'a'], limit: 65_535 });
    assert_eq!(decompress(&[0, b'a'], 10).unwrap(), b"a");
    assert_eq!(decompress(&[], 10).unwrap(), b"");
    let mut encoder = flate2::write::ZlibEncoder::new(vec![0x82, 1, 44], flate2::Compression::fast());
    encoder.write_all(&[b'x'; 300]).unwrap();
    let stored = encoder.finish().unwrap();
    assert_eq!(decompress(&stored, 300).unwrap(), [b'x'; 300]);
    assert!(decompress(&stored, 299).is_err(), "larger than its column");
    assert!(decompress(&stored[..stored.len() - 6], 300).is_err(), "cut");
    assert!(decompress(&[0x92, 1, 44, 1], 300).is_err(), "an unknown method");
}

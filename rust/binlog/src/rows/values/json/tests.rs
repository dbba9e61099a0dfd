use super::*;

fn double(number: f64) -> String {
    printed(&Json::Double(number))
}

fn printed(value: &Json<'_>) -> String {
    let mut out = Vec::new();
    value.write_text(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn doubles_as_mysql_9_7_prints_them() {
    let cases = [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1e14, "100000000000000.0"),
        (1e15, "1e15"),
        (123_456_789_012_345_680.0, "1.2345678901234568e17"),
        (1_234_567_890_123_456.0, "1.234567890123456e15"),
        (1.25e-5, "0.0000125"),
        (1e-15, "0.000000000000001"),
        (1.234e-15, "0.000000000000001234"),
        (1e-16, "1e-16"),
        (f64::MAX, "1.7976931348623157e308"),
        (5e-324, "5e-324"),
        (1_234_567.125, "1234567.125"),
        (0.000_123_456_789_012_345_67, "0.00012345678901234567"),
    ];
    for (number, expected) in cases {
        assert_eq!(double(number), expected);
    }
}

#[test]
fn texts_are_escaped_as_mysql_does() {
    let text = Json::Text("a\"b\\c\n\t\r\u{8}\u{c}\0\u{1a}/é\u{7f}".into());
    assert_eq!(printed(&text), "\"a\\\"b\\\\c\\n\\t\\r\\b\\f\\u0000\\u001a/é\u{7f}\"");
}

#[test]
fn opaque_values_as_mysql_prints_them() {
    let opaque = |type_code, bytes: &[u8]| printed(&Json::Opaque { type_code, bytes: bytes.to_vec().into() });
    assert_eq!(opaque(15, b"x"), "\"base64:type15:eA==\"");
    assert_eq!(opaque(15, &[b'x'; 57]), format!("\"base64:type15:{}\"", "eHh4".repeat(19)));
    assert_eq!(opaque(15, &[b'x'; 58]), format!("\"base64:type15:{}\\neA==\"", "eHh4".repeat(19)));
    assert_eq!(opaque(246, &[3, 2, 0x81, 50]), "1.50");
    let whole = 12_i64 * 4096 + 13 * 64 + 14;
    let time = -((whole << 24) + 500_000);
    assert_eq!(opaque(11, &time.to_le_bytes()), "\"-12:13:14.500000\"");
    let date = ((2020_i64 * 13 + 1) << 22 | 2 << 17) << 24;
    assert_eq!(opaque(10, &date.to_le_bytes()), "\"2020-01-02\"");
    let datetime = date | (3 << 12 | 4 << 6 | 5) << 24;
    assert_eq!(opaque(12, &datetime.to_le_bytes()), "\"2020-01-02 03:04:05.000000\"");
    assert!(Json::Opaque { type_code: 12, bytes: vec![0; 7].into() }.write_text(&mut Vec::new()).is_err());
}

#[test]
fn documents_have_the_servers_spacing() {
    // {"a": 1, "bb": [true, null]}
    let document =
        [0, 2, 0, 31, 0, 18, 0, 1, 0, 19, 0, 2, 0, 5, 1, 0, 2, 21, 0, b'a', b'b', b'b', 2, 0, 10, 0, 4, 1, 0, 4, 0, 0];
    let mut out = Vec::new();
    json_text(&document, &mut out).unwrap();
    assert_eq!(out, b"{\"a\": 1, \"bb\": [true, null]}");
    for end in 1..document.len() {
        assert!(Json::parse(&document[..end]).is_err(), "cut at {end}");
    }
    assert_eq!(Json::parse(&[]), Ok(Json::Null));
}

#[test]
fn values_that_share_bytes_cannot_blow_up() {
    // An array of two arrays whose offsets both point at the array itself.
    let document = [2, 2, 0, 10, 0, 2, 0, 0, 2, 0, 0];
    assert!(Json::parse(&document).is_err());
    // A hundred and one arrays in one another, each at the end of the one before.
    let nested = |depth: usize| {
        let mut document = vec![2];
        for level in 0..depth {
            let rest = (7 * (depth - level - 1) + 7) as u16;
            document.extend([1, 0]);
            document.extend(rest.to_le_bytes());
            document.extend(if level + 1 == depth { [4, 0, 0] } else { [2, 7, 0] });
        }
        document
    };
    assert!(Json::parse(&nested(100)).is_ok());
    assert!(Json::parse(&nested(101)).is_err());
}

#[test]
fn differences_that_do_not_fit_are_errors() {
    let document = [2, 1, 0, 7, 0, 5, 3, 0]; // [3]
    let apply = |differences: &[u8]| {
        let mut out = Vec::new();
        updated_json_text(&document, differences, &mut out).map(|()| String::from_utf8(out).unwrap())
    };
    assert_eq!(apply(b""), Ok("[3]".to_owned()));
    assert_eq!(apply(b"\x01\x04$[1]\x02\x04\x01"), Ok("[3, true]".to_owned()));
    assert_eq!(apply(b"\x00\x01$\x02\x04\x02"), Ok("false".to_owned()));
    assert_eq!(apply(b"\x00\x07$[last]\x02\x04\x01"), Ok("[true]".to_owned()));
    assert_eq!(apply(b"\x01\x07$[last]\x02\x04\x01"), Ok("[true, 3]".to_owned()), "before the last one");
    assert_eq!(apply(b"\x01\x09$[last-7]\x02\x04\x01"), Ok("[true, 3]".to_owned()), "at the beginning");
    assert_eq!(apply(b"\x02\x07$[last]"), Ok("[]".to_owned()));
    assert!(apply(b"\x02\x09$[last-1]").is_err(), "nothing to remove");
    assert!(apply(b"\x02\x0a$[last - x]").is_err(), "a bad path");
    assert!(apply(b"\x00\x04$[1]\x02\x04\x01").is_err(), "nothing to replace");
    assert!(apply(b"\x02\x04$[1]").is_err(), "nothing to remove");
    assert!(apply(b"\x01\x03$.a\x02\x04\x01").is_err(), "no object");
    assert!(apply(b"\x01\x01$\x02\x04\x01").is_err(), "an insert needs a place");
    assert!(apply(b"\x03\x04$[0]").is_err(), "an unknown operation");
    assert!(apply(b"\x02\x04$[x]").is_err(), "a bad path");
    assert!(apply(b"\x02\x04$\"a\"").is_err(), "a bad path");
}

use super::*;

fn text(form: &Form, value: &Value<'_>) -> String {
    let mut out = Vec::new();
    assert_eq!(write_value(form, value, None, &mut out), Ok(true));
    String::from_utf8(out).unwrap()
}

#[test]
fn numbers_and_times_read_as_the_server_prints_them() {
    for (value, expected) in [
        (Value::Int(i64::MIN), "-9223372036854775808"),
        (Value::Int(0), "0"),
        (Value::UInt(u64::MAX), "18446744073709551615"),
        (Value::Bit { bytes: &[1, 2], bits: 9 }, "258"),
        (Value::Year(0), "0000"),
        (Value::Float(0.1), "0.1"),
        (Value::Date { year: 2026, month: 1, day: 9 }, "2026-01-09"),
        (Value::Timestamp { seconds: 0, micros: 0, decimals: 3 }, "0000-00-00 00:00:00.000"),
        (Value::Timestamp { seconds: 1_700_000_000, micros: 120_000, decimals: 2 }, "2023-11-14 22:13:20.12"),
        (
            Value::Time { negative: true, hours: 838, minutes: 2, seconds: 3, micros: 450_000, decimals: 2 },
            "-838:02:03.45",
        ),
        (
            Value::DateTime { year: 1, month: 0, day: 0, hour: 1, minute: 2, second: 3, micros: 5, decimals: 6 },
            "0001-00-00 01:02:03.000005",
        ),
    ] {
        assert_eq!(text(&Form::Plain, &value), expected);
    }
}

#[test]
fn labels_stand_for_enum_and_set_and_numbers_where_there_is_none() {
    let labels = vec!["new".to_owned(), "old".to_owned()];
    assert_eq!(text(&Form::Enum(labels.clone()), &Value::Enum(2)), "old");
    assert_eq!(text(&Form::Enum(labels.clone()), &Value::Enum(0)), "");
    assert_eq!(text(&Form::Enum(Vec::new()), &Value::Enum(2)), "2");
    assert_eq!(text(&Form::Set(labels.clone()), &Value::Set(3)), "new,old");
    assert_eq!(text(&Form::Set(labels), &Value::Set(5)), "5");
}

#[test]
fn binary_is_hexadecimal_and_padded_where_the_log_left_zeros_out() {
    assert_eq!(text(&Form::Binary(4), &Value::Bytes(b"\x01\xff")), "01FF0000");
    assert_eq!(text(&Form::Binary(0), &Value::Bytes(b"")), "");
    assert_eq!(text(&Form::Text(Charset::Utf8), &Value::Bytes(b"a\xff")), "0x61FF");
}

#[test]
fn differences_of_a_document_that_is_not_there_say_nothing() {
    let mut out = Vec::new();
    assert_eq!(write_value(&Form::Plain, &Value::JsonDiff(b""), None, &mut out), Ok(false));
    assert_eq!(out, b"");
}

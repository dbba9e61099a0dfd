use std::sync::Arc;

use arrow_array::{BinaryArray, Date32Array, Int32Array, NullArray, StringArray, TimestampMicrosecondArray};

use super::*;

fn table() -> TableName {
    TableName::new("shop", "orders")
}

fn hashes(columns: &[ArrayRef], collation: Option<&str>) -> Vec<Option<i64>> {
    write_set_hashes("PRIMARY", &table(), columns, collation).expect("a key").iter().collect()
}

fn refused(columns: &[ArrayRef], collation: Option<&str>) -> String {
    write_set_hashes("PRIMARY", &table(), columns, collation).expect_err("no key").to_string()
}

#[test]
fn a_number_has_the_hash_of_its_digits() {
    let mut hasher = KeyHasher::default();
    hasher.begin(&key_prefix("PRIMARY", &table()));
    hasher.part(b"42");
    let expected = hasher.finish() as i64;
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(42), None, Some(43)]));
    let found = hashes(&[numbers], None);
    assert_eq!(found[..2], [Some(expected), None]);
    assert_ne!(found[2], found[0]);
    assert_eq!(hashes(&[Arc::new(StringArray::from(vec!["42"]))], None), [Some(expected)]);
}

#[test]
fn equal_text_has_equal_hashes_under_a_collation() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["Ab", "aB", "ac"]));
    let with = hashes(std::slice::from_ref(&texts), Some("utf8mb4_general_ci"));
    assert_eq!(with[0], with[1]);
    assert_ne!(with[0], with[2]);
    let without = hashes(&[texts], None);
    assert_ne!(without[0], without[1]);
}

#[test]
fn columns_that_are_no_key_are_refused() {
    let one: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let two: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    assert!(refused(&[], None).contains("at least one column"));
    assert!(refused(&[Arc::clone(&one), two], None).contains("different lengths"));
    assert!(refused(&[one], Some("no_such_collation")).contains("no_such_collation"));
    let far: ArrayRef = Arc::new(Date32Array::from(vec![i32::MAX]));
    assert!(refused(&[far], None).contains("out of range"));
    assert_eq!(hashes(&[Arc::new(NullArray::new(2))], None), [None, None]);
}

#[test]
fn days_are_dates_and_moments_too() {
    assert_eq!(civil(0), Ok((1970, 1, 1)));
    assert_eq!(civil(-719_528), Ok((0, 1, 1)));
    assert_eq!(civil(2_932_896), Ok((9999, 12, 31)));
    assert!(civil(2_932_897).is_err() && civil(-719_529).is_err() && civil(i64::MIN).is_err());
    let date: ArrayRef = Arc::new(Date32Array::from(vec![19_782]));
    assert_eq!(hashes(&[date], None), hashes(&[Arc::new(StringArray::from(vec!["2024-02-29"]))], None));
    let moment: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![-1]));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["1969-12-31 23:59:59.999999"]));
    assert_eq!(hashes(&[moment], None), hashes(&[text], None));
}

#[test]
fn equality_hashes_take_bytes_only() {
    let collation = Collation::by_name("latin1_swedish_ci").expect("a collation");
    let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![Some(&b"Ab"[..]), Some(b"aB"), None]));
    let found: Vec<_> = equality_hashes(collation, &bytes).expect("bytes").iter().collect();
    assert_eq!(found[0], found[1]);
    assert!(found[0].is_some() && found[2].is_none());
    let text: ArrayRef = Arc::new(StringArray::from(vec!["Ab"]));
    assert!(matches!(equality_hashes(collation, &text), Err(Error::Usage(_))));
}

//! Compares the builder with a plain implementation of the same rules on texts and lists.

use std::collections::HashMap;

use proptest::prelude::*;

use super::tables::*;
use crate::schema::{Catalog, KeyPart::Column, ReferenceAction};
use crate::value::Value::{self, Bytes, Int, Null};
use crate::write_set::*;

/// A row of `p` (id, s) or of `c` (id, pid): its first column and its second, which may be NULL.
#[derive(Debug, Clone)]
struct Plain {
    child: bool,
    before: Option<(i64, Option<String>)>,
    after: Option<(i64, Option<String>)>,
}

fn shop() -> Catalog {
    let parent = table(
        "p",
        &["id int", "s varchar utf8mb4_0900_ai_ci null"],
        &[("PRIMARY", &[Column(0)]), ("us", &[Column(1)])],
    );
    let child = table("c", &["id int", "pid int null"], &[("PRIMARY", &[Column(0)])]);
    catalog([parent, referring(child, 1, "p", "id", ReferenceAction::Refuse)])
}

/// Returns the touches of one image: a text for each key, true if it is exclusive in the applier's scheme.
fn touches(child: bool, image: &(i64, Option<String>), scheme: Scheme) -> Vec<(String, bool)> {
    let (id, other) = image;
    let own = if child { "c" } else { "p" };
    let mut items = vec![(format!("PRIMARY of {own}: {id}"), true)];
    match other {
        Some(pid) if child => items.push((format!("PRIMARY of p: {}", pid.len()), false)),
        Some(s) => items.push((format!("us of p: {}", s.to_lowercase()), true)),
        // The server leaves a reference's NULL out and hashes the rest.
        None if child && scheme == Scheme::Group => items.push(("PRIMARY of p".to_owned(), true)),
        None => {}
    }
    items
}

/// Returns the distinct texts of a transaction in order of first appearance; exclusive ones and shared ones.
fn reference(rows: &[Plain], scheme: Scheme) -> (Vec<String>, Vec<String>) {
    let mut all: Vec<(String, bool)> = Vec::new();
    for row in rows {
        let images: Vec<_> =
            [&row.before, &row.after].into_iter().flatten().map(|i| touches(row.child, i, scheme)).collect();
        // Key by key, before image first.
        for n in 0..2 {
            for (item, exclusive) in images.iter().filter_map(|keys| keys.get(n)) {
                let exclusive = *exclusive || scheme == Scheme::Group;
                match all.iter_mut().find(|(known, _)| known == item) {
                    Some(known) => known.1 |= exclusive,
                    None => all.push((item.clone(), exclusive)),
                }
            }
        }
    }
    let of = |wanted| all.iter().filter(|(_, e)| *e == wanted).map(|(item, _)| item.clone()).collect();
    (of(true), of(false))
}

fn values(child: bool, image: &(i64, Option<String>)) -> Vec<Option<Value<'_>>> {
    let second = match &image.1 {
        None => Null,
        Some(pid) if child => Int(pid.len() as i64),
        Some(s) => Bytes(s.as_bytes()),
    };
    vec![Some(Int(image.0)), Some(second)]
}

fn change(row: &Plain) -> Change<'_> {
    let before = row.before.as_ref().map(|i| values(row.child, i));
    let after = row.after.as_ref().map(|i| values(row.child, i));
    (if row.child { "c" } else { "p" }, before, after)
}

fn any_row() -> impl Strategy<Value = Plain> {
    let image = || (0..6_i64, prop::option::of("[aAbBcC]{0,3}"));
    (any::<bool>(), 0..3_u8, image(), image()).prop_map(|(child, kind, before, after)| Plain {
        child,
        before: (kind != 0).then_some(before),
        after: (kind != 1).then_some(after),
    })
}

proptest! {
    #[test]
    fn r11_and_r15_agree_with_the_plain_reference(
        transactions in prop::collection::vec(prop::collection::vec(any_row(), 1..40), 1..6),
        fine in any::<bool>(),
    ) {
        let scheme = if fine { Scheme::Fine } else { Scheme::Group };
        let catalog = shop();
        let (mut hash_of, mut text_of) = (HashMap::new(), HashMap::new());
        for rows in &transactions {
            let changes: Vec<_> = rows.iter().map(change).collect();
            let (set, fallbacks) = write_set(&catalog, Options { scheme, ..Options::default() }, &changes);
            prop_assert!(fallbacks.is_empty() && !set.barrier);
            let (exclusive, shared) = reference(rows, scheme);
            prop_assert_eq!((set.exclusive.len(), set.shared.len()), (exclusive.len(), shared.len()));
            let hashes = set.exclusive.iter().chain(&set.shared);
            for (hash, text) in hashes.zip(exclusive.into_iter().chain(shared)) {
                // One hash for each text, and one text for each hash.
                prop_assert_eq!(*hash_of.entry(text.clone()).or_insert(*hash), *hash);
                prop_assert_eq!(text_of.entry(*hash).or_insert_with(|| text.clone()), &text);
            }
        }
    }

    #[test]
    fn a_decimal_is_read_as_it_was_packed(number in -999_999_999_999_i64..=999_999_999_999) {
        let mut packed = pack_12_2(number.unsigned_abs());
        if number < 0 {
            for byte in &mut packed {
                *byte = !*byte;
            }
        }
        let mut out = Vec::new();
        prop_assert_eq!(crate::write_set::decimal::append(&packed, 12, 2, &mut out), Ok(()));
        let sign = if number < 0 { "-" } else { "" };
        let expected = format!("{sign}{}.{:02}", number.unsigned_abs() / 100, number.unsigned_abs() % 100);
        prop_assert_eq!(String::from_utf8(out).expect("digits"), expected);
    }
}

/// Packs hundredths as a positive DECIMAL(12,2): one leading digit, a group of nine, two after the point.
fn pack_12_2(hundredths: u64) -> Vec<u8> {
    let integer = hundredths / 100;
    let mut packed = vec![(integer / 1_000_000_000) as u8 | 0x80];
    packed.extend(((integer % 1_000_000_000) as u32).to_be_bytes());
    packed.push((hundredths % 100) as u8);
    packed
}

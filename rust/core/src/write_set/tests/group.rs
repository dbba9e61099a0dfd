//! The server's scheme: hashes as MySQL 9.7 was seen to compute them.

use super::tables::*;
use crate::schema::{Catalog, ForeignKey, KeyPart::*, ReferenceAction, Table, TableName};
use crate::value::Value::{self, Bytes, Int, Null};
use crate::write_set::*;

const GROUP: Options = Options {
    scheme: Scheme::Group,
    cascades_logged: true,
    partial_images: false,
    generated_left_out: false,
    bytewise: false,
};

fn hash(key: &str, table: &str, values: &[&str]) -> u64 {
    let mut hasher = KeyHasher::default();
    hasher.begin(&key_prefix(key, &TableName::new("test", table)));
    for value in values {
        hasher.part(value.as_bytes());
    }
    hasher.finish()
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

#[test]
fn r11_every_unique_key_of_both_images_without_null() {
    let (set, fallbacks) = write_set(&shop(), GROUP, &[update("p", &[Int(1), Bytes(b"a")], &[Int(1), Null])]);
    // Of the characters that are equal to a letter, the first in ASCII stands for it.
    assert_eq!(set.exclusive, [hash("PRIMARY", "p", &["1"]), hash("us", "p", &["A"])]);
    assert!(set.shared.is_empty() && !set.barrier && set.touches_parent && fallbacks.is_empty());
}

#[test]
fn r11_a_child_hashes_its_parents_key() {
    let (child, _) = write_set(&shop(), GROUP, &[insert("c", &[Int(5), Int(7)])]);
    assert_eq!(child.exclusive, [hash("PRIMARY", "c", &["5"]), hash("PRIMARY", "p", &["7"])]);
}

#[test]
fn r11_a_reference_leaves_its_null_parts_out() {
    let (orphan, _) = write_set(&shop(), GROUP, &[insert("c", &[Int(5), Null])]);
    assert_eq!(orphan.exclusive, [hash("PRIMARY", "c", &["5"]), hash("PRIMARY", "p", &[])]);
    let columns = ["id int", "a int null", "b int null"];
    let mut child = table("c", &columns, &[("PRIMARY", &[Column(0)])]);
    child.foreign_keys.push(ForeignKey {
        name: "ab".into(),
        columns: vec![1, 2],
        parent: name("p"),
        parent_columns: vec!["a".into(), "b".into()],
        on_delete: ReferenceAction::Refuse,
        on_update: ReferenceAction::Refuse,
    });
    let parent = table("p", &["a int", "b int"], &[("PRIMARY", &[Column(0), Column(1)])]);
    let (child_keys, references) = (child.unique_keys.clone(), child.foreign_keys.clone());
    let catalog = catalog([parent.clone(), child]);
    let row = |id, a, b| insert("c", &[Int(id), a, b]);
    assert!(conflicting(&catalog, GROUP, &row(1, Int(1), Null), &row(2, Null, Int(1))), "seen on MySQL 9.7");
    assert!(!conflicting(&catalog, GROUP, &row(1, Int(1), Null), &row(2, Null, Null)));
    let (zero, numbers) =
        ([0x80, 0, 0, 0, 0, 0, 0, 0], table("c", &["id int", "a double null", "b decimal null"], &[]));
    let numbers = Table { unique_keys: child_keys, foreign_keys: references, ..numbers };
    let decimal = Value::Decimal { packed: &zero, precision: 18, scale: 0 };
    let (catalog_of_numbers, one) = (self::catalog([parent.clone(), numbers]), row(1, Value::Double(0.0), Null));
    assert!(conflicting(&catalog_of_numbers, GROUP, &one, &row(2, Null, decimal)), "the same eight bytes on MySQL 9.7");
    assert!(!conflicting(&catalog_of_numbers, GROUP, &row(1, Value::Double(1.0), Null), &row(2, Null, decimal)));
    let fine = Options { scheme: Scheme::Fine, ..GROUP };
    let parent_gone = delete("p", &[Int(1), Int(1)]);
    assert!(!conflicting(&catalog, fine, &row(1, Int(1), Null), &parent_gone));
}

#[test]
fn r11_a_reference_takes_the_key_in_its_own_order() {
    let keys: [(&str, &[_]); 2] = [("PRIMARY", &[Column(0), Column(1)]), ("ba", &[Column(1), Column(0)])];
    let parent = table("p", &["a int", "b int"], &keys);
    let mut child = table("c", &["id int", "b int", "a int"], &[("PRIMARY", &[Column(0)])]);
    child.foreign_keys.push(ForeignKey {
        name: "f".into(),
        columns: vec![1, 2],
        parent: name("p"),
        parent_columns: vec!["b".into(), "a".into()],
        on_delete: ReferenceAction::Refuse,
        on_update: ReferenceAction::Refuse,
    });
    let (set, _) = write_set(&catalog([parent, child]), GROUP, &[insert("c", &[Int(5), Int(2), Int(1)])]);
    assert_eq!(set.exclusive, [hash("PRIMARY", "c", &["5"]), hash("ba", "p", &["2", "1"])]);
}

/// Returns a child of `p` whose columns 1, 2 and so on refer to these columns.
fn child_of_p(columns: &[&str], to: &[&str]) -> crate::schema::Table {
    let mut child = table("c", columns, &[("PRIMARY", &[Column(0)])]);
    child.foreign_keys.push(ForeignKey {
        name: "f".into(),
        columns: (1..=to.len()).collect(),
        parent: name("p"),
        parent_columns: to.iter().map(ToString::to_string).collect(),
        on_delete: ReferenceAction::Refuse,
        on_update: ReferenceAction::Refuse,
    });
    child
}

#[test]
fn r11_a_reference_to_a_part_of_a_key_meets_its_like_but_not_the_parent() {
    let keys: [(&str, &[_]); 2] = [("PRIMARY", &[Column(0), Column(1)]), ("a", &[Column(0)])];
    let parent = table("p", &["a int", "b int"], &keys);
    let catalog = catalog([parent, child_of_p(&["id int", "a int"], &["a"])]);
    // PRIMARY is the first key that begins with `a`, and the server takes it though there is a key of `a` alone.
    let gone = delete("p", &[Int(1), Int(2)]);
    assert!(!conflicting(&catalog, GROUP, &gone, &insert("c", &[Int(5), Int(1)])));
    assert!(conflicting(&catalog, GROUP, &insert("c", &[Int(6), Int(1)]), &insert("c", &[Int(5), Int(1)])));
    let fine = Options { scheme: Scheme::Fine, ..GROUP };
    assert!(
        conflicting(&catalog, fine, &gone, &insert("c", &[Int(5), Int(1)])),
        "the applier must not miss what the server does"
    );
}

#[test]
fn r11_without_a_key_that_begins_with_the_columns_there_is_no_reference() {
    let parent = table("p", &["a int", "b int"], &[("PRIMARY", &[Column(0), Column(1)])]);
    let catalog = catalog([parent, child_of_p(&["id int", "b int"], &["b"])]);
    assert_eq!(write_set(&catalog, GROUP, &[insert("c", &[Int(5), Int(1)])]).0.exclusive.len(), 1);
}

#[test]
fn r11_left_out_parts_of_other_types_do_not_meet() {
    let parent = table("p", &["a int", "b bigint"], &[("PRIMARY", &[Column(0), Column(1)])]);
    let catalog = catalog([parent, child_of_p(&["id int", "a int null", "b bigint null"], &["a", "b"])]);
    let row = |id, a, b| insert("c", &[Int(id), a, b]);
    assert!(!conflicting(&catalog, GROUP, &row(1, Int(1), Null), &row(2, Null, Int(1))));
    assert!(conflicting(&catalog, GROUP, &row(1, Int(1), Null), &row(2, Int(1), Null)));
    assert!(conflicting(&catalog, GROUP, &row(1, Int(1), Int(2)), &delete("p", &[Int(1), Int(2)])));
}

#[test]
fn r11_text_that_is_filled_to_another_length_does_not_meet_the_parent() {
    for (collation, kind, meets) in [
        ("utf8mb4_0900_ai_ci", "varchar", true),
        ("utf8mb4_general_ci", "varchar", false),
        ("utf8mb4_bin", "varchar", false),
        ("utf8mb4_0900_ai_ci", "char", false),
    ] {
        let parent = table("p", &[&format!("a {kind} {collation}")], &[("PRIMARY", &[Column(0)])]);
        let mut child = child_of_p(&["id int", &format!("a {kind} {collation}")], &["a"]);
        child.columns[1].length = Some(20);
        let catalog = catalog([parent, child]);
        let (one, other) = (insert("c", &[Int(1), Bytes(b"x")]), insert("c", &[Int(2), Bytes(b"x")]));
        assert_eq!(conflicting(&catalog, GROUP, &one, &delete("p", &[Bytes(b"x")])), meets, "{kind} {collation}");
        assert!(conflicting(&catalog, GROUP, &one, &other));
    }
}

#[test]
fn r11_a_length_counts_only_where_there_is_a_text_to_fill() {
    let parent = table("p", &["a varchar utf8mb4_general_ci"], &[("PRIMARY", &[Column(0)])]);
    let child = child_of_p(&["id int", "a varchar utf8mb4_general_ci null"], &["a"]);
    let mut wide = crate::schema::Table { name: name("w"), ..child.clone() };
    wide.columns[1].length = Some(20);
    let catalog = catalog([parent, child, wide]);
    let row = |table, value| insert(table, &[Int(1), value]);
    assert!(conflicting(&catalog, GROUP, &row("c", Null), &row("w", Null)), "seen on MySQL 9.7");
    assert!(!conflicting(&catalog, GROUP, &row("c", Bytes(b"x")), &row("w", Bytes(b"x"))));
}

#[test]
fn r11_no_reference_without_foreign_key_checks() {
    let catalog = shop();
    let mut builder = WriteSetBuilder::new(GROUP);
    let plan = builder.plan(&catalog, &name("c")).expect("known");
    let after = image(&[Int(5), Int(7)]);
    builder.add_row(&plan, &Row { before: None, after: Some(&after), foreign_key_checks: false });
    assert_eq!(builder.finish().exclusive, [hash("PRIMARY", "c", &["5"])]);
}

#[test]
fn r12_values_that_the_collation_calls_equal_hash_alike() {
    let (a, b) = (insert("p", &[Int(1), Bytes("\u{c9}a".as_bytes())]), insert("p", &[Int(2), Bytes(b"eA")]));
    assert!(conflicting(&shop(), GROUP, &a, &b));
    assert!(!conflicting(&shop(), Options { bytewise: true, ..GROUP }, &a, &b), "the switch of Bug#86078");
}

#[test]
fn a_prefix_key_hashes_prefix_and_whole_value() {
    let one = table(
        "p",
        &["id int", "s varchar utf8mb4_0900_ai_ci"],
        &[("PRIMARY", &[Column(0)]), ("u", &[Prefix { column: 1, length: 3 }])],
    );
    let catalog = catalog([one]);
    let row = |id, s| insert("p", &[Int(id), Bytes(s)]);
    assert_eq!(write_set(&catalog, GROUP, &[row(1, b"abcX")]).0.exclusive.len(), 3);
    assert!(conflicting(&catalog, GROUP, &row(1, b"abcX"), &row(2, b"ABCY")));
    assert!(conflicting(&catalog, GROUP, &row(1, "ab\u{ad}cd".as_bytes()), &row(2, b"abcd")), "equal as a whole only");
    assert!(!conflicting(&catalog, GROUP, &row(1, b"abX"), &row(2, b"abY")));
}

#[test]
fn r16_keys_with_parts_of_variable_length_count_twice() {
    let columns = ["id int", "s varchar utf8mb4_0900_ai_ci", "c char utf8mb4_0900_ai_ci"];
    let keys = [("PRIMARY", &[Column(0)][..]), ("s", &[Column(1)][..]), ("c", &[Column(2)][..])];
    let catalog = catalog([table("v", &columns, &keys)]);
    let (set, _) = write_set(&catalog, GROUP, &[insert("v", &[Int(1), Bytes(b"a"), Bytes(b"b")])]);
    assert_eq!((set.exclusive.len(), set.hashed), (3, 4));
}

#[test]
fn r16_values_that_are_filled_have_two_hashes_and_others_one() {
    // History that each row used up on a MySQL 9.7: distinct hashes, and all of them, without those of the key on
    // `id`.
    for (kind, prefix, distinct, hashed) in [
        ("text utf8mb4_0900_ai_ci", Some(5), 1, 2),
        ("text utf8mb4_0900_ai_ci", Some(3), 1, 1),
        ("text utf8mb4_general_ci", Some(5), 2, 2),
        ("text utf8mb4_general_ci", Some(3), 1, 1),
        ("tinytext latin1_swedish_ci", Some(3), 2, 2),
        ("blob binary", Some(3), 1, 2),
        ("varchar utf8mb4_0900_ai_ci", Some(5), 1, 2),
        ("varchar utf8mb4_0900_ai_ci", None, 1, 2),
        ("varchar utf8mb4_bin", Some(5), 2, 2),
        ("varchar utf8mb4_bin", None, 2, 2),
        ("varbinary binary", None, 1, 2),
        ("char utf8mb4_0900_ai_ci", Some(5), 2, 2),
        ("char utf8mb4_0900_ai_ci", None, 1, 1),
        ("binary binary", Some(5), 2, 2),
        ("binary binary", None, 1, 1),
    ] {
        let part = prefix.map_or(Column(1), |length| Prefix { column: 1, length });
        let keys = [("PRIMARY", &[Column(0)][..]), ("u", &[part][..])];
        let catalog = catalog([table("p", &["id int", &format!("s {kind}")], &keys)]);
        let (set, _) = write_set(&catalog, GROUP, &[insert("p", &[Int(1), Bytes(b"ab")])]);
        assert_eq!((set.exclusive.len(), set.hashed), (distinct + 1, hashed + 1), "{kind} {prefix:?}");
    }
}

#[test]
fn r16_a_prefix_key_alone_does_not_tell_the_rows_for_the_server() {
    let columns = ["s varchar utf8mb4_0900_ai_ci"];
    let catalog = catalog([table("n", &columns, &[("u", &[Prefix { column: 0, length: 3 }])])]);
    let (set, _) = write_set(&catalog, GROUP, &[insert("n", &[Bytes(b"abc")])]);
    assert!(set.missing_keys && set.barrier && set.exclusive.is_empty());
}

#[test]
fn a_table_without_declared_key_has_missing_keys() {
    let catalog = catalog([table("n", &["id int null"], &[("id", &[Column(0)])])]);
    let (set, _) = write_set(&catalog, GROUP, &[insert("n", &[Int(1)])]);
    assert!(set.missing_keys && set.barrier);
}

#[test]
fn canonical_values_are_equal_where_the_server_says_so() {
    let catalog = catalog([table("v", &["v double"], &[("PRIMARY", &[Column(0)])])]);
    let same = |a: Value<'_>, b: Value<'_>| conflicting(&catalog, GROUP, &insert("v", &[a]), &insert("v", &[b]));
    assert!(same(Value::Double(0.0), Value::Double(-0.0)));
    assert!(!same(Value::Double(0.1), Value::Double(0.2)));
    assert!(same(Value::UInt(7), Int(7)));
    assert!(same(Value::Bit { bytes: &[0, 7], bits: 16 }, Value::UInt(7)));
    let time = |micros, decimals| Value::Time { negative: false, hours: 1, minutes: 2, seconds: 3, micros, decimals };
    assert!(same(time(500_000, 1), time(500_000, 6)));
    assert!(!same(time(5, 6), time(50, 6)));
    let date = |month, day| Value::Date { year: 2024, month, day };
    assert!(!same(date(1, 11), date(11, 1)));
}

#[test]
fn r14_a_primary_key_over_a_prefix_tells_rows_apart_for_the_server_and_a_unique_one_does_not() {
    for (name, has_keys) in [("PRIMARY", true), ("u", false)] {
        let prefixed = table("t", &["a varchar utf8mb4_bin"], &[(name, &[Prefix { column: 0, length: 2 }])]);
        let set = write_set(&catalog([prefixed]), GROUP, &[insert("t", &[Bytes(b"abc")])]).0;
        assert_eq!((set.missing_keys, set.barrier), (!has_keys, !has_keys), "{name}");
    }
}

#[test]
fn r11_of_a_long_text_the_server_hashes_the_beginning_twice() {
    // The figures are those of a MySQL 9.7, whose tracker was asked which of two long values it takes for the same.
    for (kind, equal_from) in [
        ("tinytext latin2_general_ci", 9),
        ("longtext latin2_general_ci", 12),
        ("text latin1_german2_ci", 20),
        ("text utf8mb4_general_ci", 3),
        ("tinytext utf8mb3_general_ci", 3),
        ("text utf8mb3_bin", 4),
        ("mediumtext utf8mb4_bin", 3),
        ("mediumtext utf8mb4_0900_bin", 11),
        ("mediumtext utf8mb4_unicode_ci", 44),
        ("longtext utf8mb4_0900_ai_ci", 24),
        ("longtext utf8mb4_0900_as_ci", 49),
        ("longtext utf8mb4_ru_0900_ai_ci", 48),
        ("tinyblob binary", 9),
    ] {
        let keys = [("PRIMARY", &[Column(0)][..]), ("u", &[Prefix { column: 1, length: 60 }][..])];
        let catalog = catalog([table("p", &["id int", &format!("s {kind}")], &keys)]);
        let other = |at: usize| format!("{}b{}", "a".repeat(at), "a".repeat(59 - at));
        let meets = |at: usize| {
            let (one, two) = ("a".repeat(60), other(at));
            let rows = [insert("p", &[Int(1), Bytes(one.as_bytes())]), insert("p", &[Int(2), Bytes(two.as_bytes())])];
            conflicting(&catalog, GROUP, &rows[0], &rows[1])
        };
        assert!(meets(equal_from) && !meets(equal_from - 1), "{kind}");
        assert!(!conflicting(
            &catalog,
            Options { scheme: Scheme::Fine, ..GROUP },
            &insert("p", &[Int(1), Bytes("a".repeat(60).as_bytes())]),
            &insert("p", &[Int(2), Bytes(other(59).as_bytes())])
        ));
    }
}

#[test]
fn r11_later_levels_of_a_long_text_are_left_out_where_the_room_ends() {
    let keys = [("PRIMARY", &[Column(0)][..]), ("u", &[Prefix { column: 1, length: 60 }][..])];
    let catalog = catalog([table("p", &["id int", "s text utf8mb4_0900_as_cs"], &keys)]);
    // 25 letters, 25 accents and the separators of the levels leave space for the cases of 22 letters.
    for (at, meets) in [(21, false), (22, true)] {
        let one = "a".repeat(25);
        let two = format!("{}A{}", "a".repeat(at), "a".repeat(24 - at));
        let (one, two) = (insert("p", &[Int(1), Bytes(one.as_bytes())]), insert("p", &[Int(2), Bytes(two.as_bytes())]));
        assert_eq!(conflicting(&catalog, GROUP, &one, &two), meets, "{at}");
    }
}

#[test]
fn r13_a_long_text_whose_room_is_not_known_counts_as_one_value() {
    let keys = [("PRIMARY", &[Column(0)][..]), ("u", &[Prefix { column: 1, length: 2 }][..])];
    let catalog = catalog([table("p", &["id int", "s text gbk_chinese_ci"], &keys)]);
    let (one, two) = (insert("p", &[Int(1), Bytes(b"ab")]), insert("p", &[Int(2), Bytes(b"xy")]));
    assert!(conflicting(&catalog, GROUP, &one, &two));
    assert_eq!(write_set(&catalog, GROUP, &[one]).1, [("p: unknown collation".to_owned(), 1)]);
}

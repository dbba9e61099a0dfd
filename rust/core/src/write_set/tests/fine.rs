//! The applier's scheme, rule by rule (R13 to R15a).

use super::tables::*;
use crate::schema::{Catalog, KeyPart::*, ReferenceAction, Table};
use crate::value::Value::{self, Bytes, Int, Null};
use crate::write_set::*;

const FINE: Options = Options {
    scheme: Scheme::Fine,
    cascades_logged: true,
    partial_images: false,
    generated_left_out: false,
    bytewise: false,
};
const PARTIAL: Options = Options { partial_images: true, ..FINE };
const UNLOGGED: Options = Options { cascades_logged: false, ..FINE };

fn family(action: ReferenceAction) -> Catalog {
    let parent = table("p", &["id int", "x int"], &[("PRIMARY", &[Column(0)])]);
    let child = table("c", &["id int", "pid int null"], &[("PRIMARY", &[Column(0)])]);
    let grandchild = table("g", &["id int", "cid int null"], &[("PRIMARY", &[Column(0)])]);
    let child = referring(child, 1, "p", "id", action);
    catalog([parent, child, referring(grandchild, 1, "c", "id", ReferenceAction::Refuse)])
}

#[test]
fn r15_children_of_one_parent_do_not_conflict_but_the_parent_does() {
    let catalog = family(ReferenceAction::Refuse);
    let (one, two) = (insert("c", &[Int(1), Int(7)]), insert("c", &[Int(2), Int(7)]));
    assert!(!conflicting(&catalog, FINE, &one, &two));
    assert!(conflicting(&catalog, FINE, &one, &delete("p", &[Int(7), Int(0)])));
    assert!(!conflicting(&catalog, FINE, &one, &delete("p", &[Int(8), Int(0)])));
    assert!(conflicting(
        &catalog,
        FINE,
        &update("c", &[Int(1), Int(7)], &[Int(1), Null]),
        &delete("p", &[Int(7), Int(0)])
    ));
}

#[test]
fn r15_a_child_finds_its_parent_through_type_and_collation() {
    let parent = table("p", &["k char utf8mb4_general_ci"], &[("PRIMARY", &[Column(0)])]);
    let child = table("c", &["id int", "k varchar utf8mb4_general_ci null"], &[("PRIMARY", &[Column(0)])]);
    let both = catalog([parent, referring(child, 1, "p", "k", ReferenceAction::Refuse)]);
    let one = insert("c", &[Int(1), Bytes(b"abc  ")]);
    assert!(conflicting(&both, FINE, &one, &delete("p", &[Bytes(b"ABC")])));
    assert!(!conflicting(&both, FINE, &one, &delete("p", &[Bytes(b"ABD")])));
    // A BINARY(10) parent arrives without its zero bytes; the server finds it only by all ten.
    let parent = table("p", &["k binary"], &[("PRIMARY", &[Column(0)])]);
    let child = table("c", &["id int", "k varbinary null"], &[("PRIMARY", &[Column(0)])]);
    let both = catalog([parent, referring(child, 1, "p", "k", ReferenceAction::Refuse)]);
    let one = insert("c", &[Int(1), Bytes(b"ab\0\0\0\0\0\0\0\0")]);
    assert!(conflicting(&both, FINE, &one, &delete("p", &[Bytes(b"ab")])));
}

#[test]
fn r15_a_reference_of_a_type_that_stores_other_bytes_takes_the_parent_table() {
    let decimal = |table: Table, scale| {
        let mut table = table;
        table.columns.iter_mut().filter(|column| column.name == "k").for_each(|column| column.decimals = Some(scale));
        table
    };
    // DECIMAL(10,1) 10.5 refers to DECIMAL(10,2) 10.05, and TINYINT 101 to YEAR 2001.
    let coarse = Value::Decimal { packed: b"\x80\0\0\x0a\x05", precision: 10, scale: 1 };
    let exact = Value::Decimal { packed: b"\x80\0\0\x0a\x05", precision: 10, scale: 2 };
    for (own, of, scales, value, parent_value) in
        [("decimal", "decimal", (2, 1), coarse, exact), ("year", "tinyint", (0, 0), Int(101), Value::Year(2001))]
    {
        let parent = decimal(table("p", &[&format!("k {own}")], &[("PRIMARY", &[Column(0)])]), scales.0);
        let child = table("c", &["id int", &format!("k {of} null")], &[("PRIMARY", &[Column(0)])]);
        let both = catalog([parent, referring(decimal(child, scales.1), 1, "p", "k", ReferenceAction::Refuse)]);
        let one = insert("c", &[Int(1), value]);
        assert!(conflicting(&both, FINE, &one, &delete("p", &[parent_value])), "{own} {of}");
        let reason = "c: foreign key and parent key compare differently".to_string();
        assert_eq!(write_set(&both, FINE, &[one]).1, [(reason, 1)]);
    }
    let parent = decimal(table("p", &["k decimal"], &[("PRIMARY", &[Column(0)])]), 2);
    let child = table("c", &["id int", "k decimal null"], &[("PRIMARY", &[Column(0)])]);
    let both = catalog([parent, referring(decimal(child, 2), 1, "p", "k", ReferenceAction::Refuse)]);
    assert!(conflicting(&both, FINE, &insert("c", &[Int(1), exact]), &delete("p", &[exact])));
    assert!(write_set(&both, FINE, &[insert("c", &[Int(1), exact])]).1.is_empty());
}

#[test]
fn r14_a_table_without_declared_key_is_taken_as_a_whole() {
    let catalog = catalog([table("n", &["a int null", "b int"], &[("a", &[Column(0)])]), table("w", &["b int"], &[])]);
    let (full, lacking) = (insert("n", &[Int(1), Int(0)]), update("n", &[Int(1), Int(0)], &[Null, Int(0)]));
    assert!(!conflicting(&catalog, FINE, &full, &insert("n", &[Int(2), Int(0)])));
    assert!(conflicting(&catalog, FINE, &lacking, &update("n", &[Null, Int(0)], &[Int(5), Int(0)])));
    assert!(conflicting(&catalog, FINE, &lacking, &insert("n", &[Int(9), Int(0)])));
    assert!(conflicting(&catalog, FINE, &insert("w", &[Int(1)]), &insert("w", &[Int(2)])));
    let (_, fallbacks) = write_set(&catalog, FINE, &[full, lacking]);
    assert_eq!(fallbacks, [("n: no unique key".to_string(), 1)]);
}

#[test]
fn r14_a_reference_to_a_non_unique_key_takes_the_parent_table() {
    let parent = table("p", &["id int", "x int"], &[("PRIMARY", &[Column(0)])]);
    let child = table("c", &["id int", "x int null"], &[("PRIMARY", &[Column(0)])]);
    let catalog = catalog([parent, referring(child, 1, "p", "x", ReferenceAction::Refuse)]);
    let (one, two) = (insert("c", &[Int(1), Int(7)]), insert("c", &[Int(2), Int(7)]));
    assert!(!conflicting(&catalog, FINE, &one, &two));
    assert!(conflicting(&catalog, FINE, &one, &delete("p", &[Int(3), Int(7)])));
    assert!(!conflicting(&catalog, FINE, &insert("c", &[Int(3), Null]), &delete("p", &[Int(3), Int(7)])));
    assert_eq!(write_set(&catalog, FINE, &[one]).1, [("c: foreign key to a non-unique parent key".to_string(), 1)]);
}

#[test]
fn r13_an_unknown_collation_or_expression_makes_the_key_one_value() {
    let key = |columns: &[&str], part| table("t", columns, &[("PRIMARY", &[Column(0)]), ("u", &[part])]);
    for (one, reason) in [
        (key(&["id int", "s varchar utf8mb4_klingon_ci"], Column(1)), "t: unknown collation"),
        (key(&["id int", "s varchar"], Column(1)), "t: unknown collation"),
        (key(&["id int", "s varchar utf8mb4_bin"], Expression), "t: expression key"),
    ] {
        let catalog = catalog([one]);
        let (a, b) = (insert("t", &[Int(1), Bytes(b"a")]), insert("t", &[Int(2), Bytes(b"b")]));
        assert!(conflicting(&catalog, FINE, &a, &b), "{reason}");
        assert_eq!(write_set(&catalog, FINE, &[a, b]).1, [(reason.to_string(), 2)]);
    }
}

#[test]
fn r13_a_prefix_key_is_exact() {
    let one =
        table("t", &["id int", "b blob"], &[("PRIMARY", &[Column(0)]), ("u", &[Prefix { column: 1, length: 2 }])]);
    let catalog = catalog([one]);
    let row = |id, b| insert("t", &[Int(id), Bytes(b)]);
    assert!(conflicting(&catalog, FINE, &row(1, b"abc"), &row(2, b"abd")));
    assert!(!conflicting(&catalog, FINE, &row(1, b"abc"), &row(2, b"acc")));
    assert!(write_set(&catalog, FINE, &[row(1, b"abc")]).1.is_empty());
}

#[test]
fn r12_spaces_at_the_end_of_a_prefix_of_a_char_do_not_count() {
    let keys = [("PRIMARY", &[Column(0)][..]), ("u", &[Prefix { column: 1, length: 3 }][..])];
    let row = |id, s| insert("t", &[Int(id), Bytes(s)]);
    for collation in ["utf8mb4_0900_ai_ci", "utf8mb4_0900_bin", "utf8mb4_general_nopad_ci", "latin1_nopad_bin"] {
        for (kind, meet) in [("char", true), ("varchar", false)] {
            let catalog = catalog([table("t", &["id int", &format!("s {kind} {collation}")], &keys)]);
            for options in [FINE, Options { scheme: Scheme::Group, ..FINE }] {
                let found = conflicting(&catalog, options, &row(1, b"ab"), &row(2, b"ab c"));
                assert_eq!(found, meet, "{kind} {collation} {options:?}");
                assert!(!conflicting(&catalog, options, &row(1, b"abc"), &row(2, b"ab c")));
            }
        }
    }
    let catalog = catalog([table("t", &["id int", "s char ucs2_nopad_bin"], &keys)]);
    assert!(conflicting(&catalog, FINE, &row(1, b"\0a\0b"), &row(2, b"\0a\0b\0 \0c")));
}

#[test]
fn r15_a_char_may_refer_to_a_varchar_with_spaces_at_its_end_where_mariadb_compares_without_them() {
    for (collation, meet) in [("utf8mb4_nopad_bin", true), ("utf8mb4_0900_bin", false)] {
        let of = |kind: &str| format!("s {kind} {collation}");
        let parent = table("p", &[&of("varchar")], &[("PRIMARY", &[Column(0)])]);
        let child = table("c", &["id int", &of("char")], &[("PRIMARY", &[Column(0)])]);
        let catalog = catalog([parent, referring(child, 1, "p", "s", ReferenceAction::Refuse)]);
        let (gone, refers) = (delete("p", &[Bytes(b"ab ")]), insert("c", &[Int(1), Bytes(b"ab")]));
        assert_eq!(conflicting(&catalog, FINE, &gone, &refers), meet, "{collation}");
        assert!(conflicting(&catalog, FINE, &delete("p", &[Bytes(b"ab")]), &refers));
    }
}

#[test]
fn r13_unknown_tables_and_invalid_text_are_barriers() {
    let catalog = catalog([table("t", &["s varchar utf8mb4_0900_ai_ci"], &[("PRIMARY", &[Column(0)])])]);
    let (set, fallbacks) = write_set(&catalog, FINE, &[insert("nowhere", &[])]);
    assert!(set.barrier);
    assert_eq!(fallbacks, [("nowhere: unknown table".to_string(), 1)]);
    let (set, fallbacks) = write_set(&catalog, FINE, &[insert("t", &[Bytes(b"\xff")])]);
    assert!(set.barrier);
    assert_eq!(fallbacks, [("t: invalid value".to_string(), 1)]);
    let (set, _) = write_set(&catalog, FINE, &[insert("t", &[])]);
    assert!(set.barrier, "a row shorter than the schema");
}

#[test]
fn r13_partial_images() {
    let parent = table("p", &["id int"], &[("PRIMARY", &[Column(0)])]);
    let child =
        table("c", &["id int", "u int null", "pid int null"], &[("PRIMARY", &[Column(0)]), ("u", &[Column(1)])]);
    let catalog = catalog([parent, referring(child, 2, "p", "id", ReferenceAction::Refuse)]);
    let key_only = |id| vec![Some(Int(id)), None, None];
    let gone = ("c", Some(key_only(1)), None);
    let full = insert("c", &[Int(2), Int(5), Int(7)]);
    let (set, fallbacks) = write_set(&catalog, FINE, std::slice::from_ref(&gone));
    assert!(set.barrier);
    assert_eq!(fallbacks, [("c: key column missing in a partial row image".to_string(), 2)]);
    assert!(!write_set(&catalog, PARTIAL, std::slice::from_ref(&gone)).0.barrier);
    assert!(conflicting(&catalog, PARTIAL, &gone, &full), "the row that is gone may have had this key");
    assert!(conflicting(&catalog, PARTIAL, &gone, &delete("p", &[Int(9)])), "or this parent");
    // An update that touches neither the key nor the reference needs the primary key only.
    let other = ("c", Some(key_only(1)), Some(vec![None, None, None]));
    let (set, fallbacks) = write_set(&catalog, PARTIAL, std::slice::from_ref(&other));
    assert!(!set.barrier && fallbacks.is_empty());
    assert!(!conflicting(&catalog, PARTIAL, &other, &full));
    assert!(conflicting(&catalog, PARTIAL, &other, &gone));
    // One that sets the key: its old value is not known.
    let set_key = ("c", Some(key_only(1)), Some(vec![None, Some(Int(6)), None]));
    assert!(conflicting(&catalog, PARTIAL, &set_key, &full));
}

#[test]
fn r15a_a_cascade_that_is_not_logged_takes_the_descendants() {
    let catalog = family(ReferenceAction::Cascade);
    let gone = delete("p", &[Int(7), Int(0)]);
    let far = insert("c", &[Int(1), Int(8)]);
    let grandchild = insert("g", &[Int(1), Int(1)]);
    assert!(!conflicting(&catalog, FINE, &gone, &far));
    assert!(conflicting(&catalog, UNLOGGED, &gone, &far));
    assert!(conflicting(&catalog, UNLOGGED, &gone, &grandchild), "its parent may be going");
    assert!(!conflicting(&catalog, UNLOGGED, &far, &insert("c", &[Int(2), Int(8)])));
    assert!(!conflicting(&catalog, UNLOGGED, &insert("p", &[Int(9), Int(0)]), &far));
    let harmless = update("p", &[Int(7), Int(0)], &[Int(7), Int(1)]);
    assert!(!conflicting(&catalog, UNLOGGED, &harmless, &far), "the columns that children refer to have not changed");
    assert!(conflicting(&catalog, UNLOGGED, &update("p", &[Int(7), Int(0)], &[Int(6), Int(0)]), &far));
}

#[test]
fn r15a_another_parent_of_a_cascaded_row_waits() {
    let parent = |name| table(name, &["id int"], &[("PRIMARY", &[Column(0)])]);
    let child = table("c", &["id int", "a int null", "b int null"], &[("PRIMARY", &[Column(0)])]);
    let child = referring(child, 1, "pa", "id", ReferenceAction::Cascade);
    let catalog = catalog([parent("pa"), parent("pb"), referring(child, 2, "pb", "id", ReferenceAction::Refuse)]);
    // The cascade removed the child that prevented the deletion of the other parent.
    assert!(conflicting(&catalog, UNLOGGED, &delete("pa", &[Int(1)]), &delete("pb", &[Int(3)])));
}

#[test]
fn a_builder_follows_the_catalog() {
    let mut catalog = catalog([table("t", &["a int", "b int"], &[("PRIMARY", &[Column(0)])])]);
    let mut builder = WriteSetBuilder::new(FINE);
    let values: Vec<Option<Value<'_>>> = image(&[Int(1), Int(2)]);
    let row = Row { before: None, after: Some(&values), foreign_key_checks: true };
    let plan = builder.plan(&catalog, &name("t")).expect("known");
    builder.add_row(&plan, &row);
    assert_eq!(builder.finish().exclusive.len(), 1);
    catalog.put(table("t", &["a int", "b int"], &[("PRIMARY", &[Column(0)]), ("b", &[Column(1)])]));
    let plan = builder.plan(&catalog, &name("t")).expect("known");
    builder.add_row(&plan, &row);
    assert_eq!(builder.finish().exclusive.len(), 2);
    assert!(builder.finish().is_empty());
}

/// Returns a catalog of `g (id INT PRIMARY KEY, a INT, x INT AS (expression), UNIQUE (x))`.
fn with_generated(expression: &str) -> Catalog {
    let mut table =
        table("g", &["id int", "a int null", "x int null"], &[("PRIMARY", &[Column(0)]), ("x", &[Column(2)])]);
    table.columns[2].generated = Some(expression.into());
    catalog([table])
}

const LEFT_OUT: Options = Options { generated_left_out: true, ..PARTIAL };

fn without_x(id: i64, a: i64) -> Vec<Option<Value<'static>>> {
    vec![Some(Int(id)), Some(Int(a)), None]
}

#[test]
fn r31_a_child_whose_generated_columns_follow_its_parent_is_known() {
    let child = || table("g", &["id int", "a int null", "x int null"], &[("PRIMARY", &[Column(0)])]);
    let separate = |action, generated: bool| {
        let mut child = referring(child(), 1, "p", "id", action);
        child.columns[2].generated = generated.then(|| "a".to_owned());
        let both = catalog([table("p", &["id int"], &[("PRIMARY", &[Column(0)])]), child]);
        write_set(&both, PARTIAL, &[insert("g", &[Int(1), Int(1), Int(1)])]).0.separate_tables
    };
    assert!(separate(ReferenceAction::Cascade, true) && separate(ReferenceAction::SetNull, true));
    assert!(!separate(ReferenceAction::Refuse, true) && !separate(ReferenceAction::Cascade, false));
}

#[test]
fn r13_a_generated_column_that_no_image_holds_is_not_unchanged() {
    let frees = ("g", Some(without_x(1, 1)), Some(without_x(1, -1)));
    let takes = insert("g", &[Int(2), Int(1), Int(2)]);
    let other = insert("g", &[Int(3), Int(9), Int(18)]);
    let gone = ("g", Some(without_x(1, 1)), None);
    for freeing in [&frees, &gone] {
        // The expression is understood: exactly the writer of the value waits.
        let catalog = with_generated("a * 2");
        assert!(conflicting(&catalog, LEFT_OUT, freeing, &takes));
        assert!(!conflicting(&catalog, LEFT_OUT, freeing, &other));
        // An expression that is not understood: every writer of the table waits.
        let catalog = with_generated("a div 1 * 2");
        assert!(conflicting(&catalog, LEFT_OUT, freeing, &takes));
        assert!(conflicting(&catalog, LEFT_OUT, freeing, &other));
        let (set, fallbacks) = write_set(&catalog, LEFT_OUT, std::slice::from_ref(freeing));
        assert!(!set.barrier);
        assert_eq!(fallbacks.len(), 1);
        assert!(fallbacks[0].0.starts_with("g: key column missing"), "{fallbacks:?}");
    }
    let (set, fallbacks) = write_set(&with_generated("a * 2"), LEFT_OUT, std::slice::from_ref(&frees));
    assert_eq!((set.exclusive.len(), fallbacks.len()), (3, 0), "the primary key, and x before and after");
}

#[test]
fn r13_a_generated_column_whose_sources_are_left_out_too_is_unchanged() {
    let id_only = || vec![Some(Int(1)), None, None];
    let other = insert("g", &[Int(3), Int(9), Int(18)]);
    let unchanged = ("g", Some(id_only()), Some(vec![Some(Int(7)), None, None]));
    assert!(!conflicting(&with_generated("a * 2"), LEFT_OUT, &unchanged, &other));
    assert!(conflicting(&with_generated("a / 2"), LEFT_OUT, &unchanged, &other), "what it is made of is not known");
    let changed = ("g", Some(id_only()), Some(vec![None, Some(Int(3)), None]));
    assert!(conflicting(&with_generated("a * 2"), LEFT_OUT, &changed, &other), "the value before is not known");
    // A server that never leaves out what changed.
    assert!(!conflicting(&with_generated("a / 2"), PARTIAL, &unchanged, &other));
}

#[test]
fn r15_a_reference_by_a_generated_column_is_not_unchanged() {
    let parent = table("p", &["id int"], &[("PRIMARY", &[Column(0)])]);
    let mut child = table("g", &["id int", "a int null", "x int null"], &[("PRIMARY", &[Column(0)])]);
    let change = ("g", Some(without_x(1, 1)), Some(without_x(1, 2)));
    for (expression, others_wait) in [("a * 2", false), ("a / 2", true)] {
        child.columns[2].generated = Some(expression.into());
        let catalog = catalog([parent.clone(), referring(child.clone(), 2, "p", "id", ReferenceAction::Refuse)]);
        assert!(conflicting(&catalog, LEFT_OUT, &change, &delete("p", &[Int(2)])), "{expression}: let go");
        assert!(conflicting(&catalog, LEFT_OUT, &change, &insert("p", &[Int(4)])), "{expression}: taken");
        assert_eq!(conflicting(&catalog, LEFT_OUT, &change, &insert("p", &[Int(9)])), others_wait, "{expression}");
    }
}

#[test]
fn r15a_a_parents_generated_column_that_changes_unseen_cascades() {
    let mut parent =
        table("g", &["id int", "a int null", "x int null"], &[("PRIMARY", &[Column(0)]), ("x", &[Column(2)])]);
    let child = referring(
        table("c", &["id int", "p int null"], &[("PRIMARY", &[Column(0)])]),
        1,
        "g",
        "x",
        ReferenceAction::Cascade,
    );
    let unlogged = Options { cascades_logged: false, ..LEFT_OUT };
    let far = insert("c", &[Int(1), Int(50)]);
    for (expression, after, cascades) in [("a * 2", 1, false), ("a * 2", 5, true), ("a / 2", 1, true)] {
        parent.columns[2].generated = Some(expression.into());
        let catalog = catalog([parent.clone(), child.clone()]);
        let change = ("g", Some(without_x(1, 1)), Some(without_x(1, after)));
        assert_eq!(conflicting(&catalog, unlogged, &change, &far), cascades, "{expression} {after}");
    }
}

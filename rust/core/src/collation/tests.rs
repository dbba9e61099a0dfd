//! Tests of the equality forms against what real servers answered.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn form(collation: &str, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Collation::by_name(collation).expect(collation).equality_form(value, &mut out).expect("valid text");
    out
}

/// Bytes of a hexadecimal text.
fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hexadecimal")).collect()
}

#[test]
fn r12_forms_agree_with_the_servers_equality() {
    let data = zstd::decode_all(&include_bytes!("../../tests/data/collation_pairs.zst")[..]).expect("fixture");
    let text = String::from_utf8(data).expect("fixture");
    let mut wrong: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut pairs = 0;
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [collation, a, b, equal] = fields[..] else { panic!("{line}") };
        pairs += 1;
        if (form(collation, &unhex(a)) == form(collation, &unhex(b))) != (equal == "1") {
            wrong.entry(collation).or_default().push(line);
        }
    }
    assert!(pairs > 25_000, "{pairs}");
    let counts: Vec<_> = wrong.iter().map(|(collation, lines)| (collation, lines.len(), lines[0])).collect();
    assert!(wrong.is_empty(), "{counts:#?}");
}

#[test]
fn r12_the_required_collations_are_exact() {
    let unicode = ["bin", "general_ci", "unicode_ci", "unicode_520_ci"];
    let latin1 =
        ["swedish_ci", "general_ci", "general_cs", "bin", "german1_ci", "german2_ci", "danish_ci", "spanish_ci"];
    let mut names = vec!["binary".to_string(), "ascii_general_ci".into(), "ascii_bin".into()];
    names.extend(["0900_ai_ci", "0900_as_ci", "0900_as_cs", "0900_bin"].map(|s| format!("utf8mb4_{s}")));
    names.extend(["nopad_bin", "general_nopad_ci", "unicode_nopad_ci"].map(|s| format!("utf8mb4_{s}")));
    for charset in ["utf8mb4", "utf8mb3", "utf8", "UTF8"] {
        names.extend(unicode.map(|s| format!("{charset}_{s}")));
    }
    names.extend(latin1.map(|s| format!("latin1_{s}")));
    for name in names {
        assert_eq!(Collation::by_name(&name).map(Collation::class), Some(Class::Exact), "{name}");
    }
}

#[test]
fn r13_what_weighs_characters_together_is_not_exact() {
    for name in
        ["utf8mb4_ja_0900_as_cs", "utf8mb4_da_0900_ai_ci", "utf8mb4_uca1400_ai_ci", "latin2_czech_cs", "tis620_thai_ci"]
    {
        let collation = Collation::by_name(name).expect(name);
        assert_eq!(collation.class(), Class::WholeKey, "{name}");
        assert_eq!(collation.equality_form(b"a", &mut Vec::new()), Err(CollationError::Unknown(collation.name())));
    }
    assert!(Collation::by_name("klingon_ci").is_none());
}

#[test]
fn r13_invalid_text_is_an_error_and_leaves_nothing_behind() {
    for (name, value) in [("utf8mb4_0900_ai_ci", &b"ab\xff"[..]), ("utf8mb3_general_ci", "ab\u{1F600}".as_bytes())] {
        let mut out = b"kept".to_vec();
        let result = Collation::by_name(name).expect(name).equality_form(value, &mut out);
        assert!(matches!(result, Err(CollationError::InvalidText { offset: 2, .. })), "{name} {result:?}");
        assert_eq!(out, b"kept");
    }
}

#[test]
fn numbers_are_resolved_for_each_server_family() {
    assert_eq!(name_of(255, false), Some("utf8mb4_0900_ai_ci"));
    assert_eq!(name_of(45, false), Some("utf8mb4_general_ci"));
    assert_eq!(name_of(45, true), Some("utf8mb4_general_ci"));
    assert_eq!(name_of(8, true), Some("latin1_swedish_ci"));
    assert_eq!(name_of(2304, true), Some("utf8mb4_uca1400_ai_ci"));
    assert_eq!(name_of(2304, false), None);
    assert_eq!(name_of(63, false), Some("binary"));
}

#[test]
fn a_prefix_counts_characters() {
    let utf8 = Collation::by_name("utf8mb4_0900_ai_ci").expect("known");
    assert_eq!(utf8.prefix("a\u{e9}\u{1F600}z".as_bytes(), 3).expect("valid"), "a\u{e9}\u{1F600}".as_bytes());
    assert_eq!(utf8.prefix(b"ab", 3).expect("valid"), b"ab");
    let latin1 = Collation::by_name("latin1_bin").expect("known");
    assert_eq!(latin1.prefix(b"\xe9\xe9\xe9", 2).expect("valid"), b"\xe9\xe9");
}

#[test]
fn later_levels_tell_accents_and_case() {
    assert_eq!(form("utf8mb4_0900_ai_ci", "\u{c9}a".as_bytes()), form("utf8mb4_0900_ai_ci", b"eA"));
    assert_ne!(form("utf8mb4_0900_as_ci", "\u{c9}a".as_bytes()), form("utf8mb4_0900_as_ci", b"eA"));
    assert_eq!(form("utf8mb4_0900_as_ci", b"EA"), form("utf8mb4_0900_as_ci", b"ea"));
    assert_ne!(form("utf8mb4_0900_as_cs", b"EA"), form("utf8mb4_0900_as_cs", b"ea"));
    assert_eq!(form("utf8mb4_0900_as_cs", "a\u{ad}b".as_bytes()), form("utf8mb4_0900_as_cs", b"ab"));
}

proptest! {
    /// The shorter way for ASCII gives what the general way gives: a grapheme joiner, which weighs nothing, forces the latter.
    #[test]
    fn both_ways_give_the_same_form(text in "[ -~\t\0]{0,30}") {
        for collation in ["utf8mb4_0900_ai_ci", "utf8mb4_0900_as_ci", "utf8mb4_0900_as_cs", "utf8mb4_unicode_520_ci"] {
            let mut longer = text.clone();
            longer.insert(0, '\u{34f}');
            prop_assert_eq!(form(collation, text.as_bytes()), form(collation, longer.as_bytes()), "{}", collation);
        }
    }

    #[test]
    fn r13_any_bytes_give_a_form_or_an_error(value in prop::collection::vec(any::<u8>(), 0..40), at in 0..300_usize) {
        let id = at as u16;
        if let Some(collation) = Collation::by_id(id, false) {
            let mut out = vec![7];
            let done = collation.equality_form(&value, &mut out);
            prop_assert!(done.is_ok() || out == [7]);
            let _ = collation.prefix(&value, 3);
        }
    }

    /// A form never merges what differs in more than the collation ignores: binary collations tell all texts apart but for spaces.
    #[test]
    fn r12_binary_forms_are_the_text_without_its_last_spaces(text in "\\PC{0,20} {0,3}") {
        prop_assert_eq!(form("utf8mb4_bin", text.as_bytes()), text.trim_end_matches(' ').as_bytes());
        prop_assert_eq!(form("utf8mb4_0900_bin", text.as_bytes()), text.as_bytes());
    }
}

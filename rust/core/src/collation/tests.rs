//! Tests of the equality forms against what real servers answered.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn form(collation: &str, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Collation::by_name(collation).expect(collation).equality_form(value, &mut out).expect("valid text");
    out
}

/// Returns the bytes of a hexadecimal text.
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
        let [family, name, a, b, equal] = fields[..] else { panic!("{line}") };
        let collation = Collation::of_server(name, family == "mariadb").expect(name);
        let form = |value: &str| {
            let mut out = Vec::new();
            collation.equality_form(&unhex(value), &mut out).map(|()| out)
        };
        let (Ok(one), Ok(other)) = (form(a), form(b)) else { continue };
        pairs += 1;
        let exact = collation.class() == Class::Exact;
        let wrongly = if equal == "1" { one != other } else { exact && one == other };
        if wrongly {
            wrong.entry(name).or_default().push(line);
        }
        let either = Collation::by_name(name).expect(name);
        if either.class() == Class::Safe && equal == "1" && a_form(either, a) != a_form(either, b) {
            wrong.entry(name).or_default().push(line);
        }
    }
    assert!(pairs > 25_000, "{pairs}");
    let counts: Vec<_> = wrong.iter().map(|(collation, lines)| (collation, lines.len(), lines[0])).collect();
    assert!(wrong.is_empty(), "{counts:#?}");
}

fn a_form(collation: &Collation, hexadecimal: &str) -> Vec<u8> {
    let mut out = Vec::new();
    collation.equality_form(&unhex(hexadecimal), &mut out).expect("valid text");
    out
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
fn r13_every_collation_of_both_families_has_a_form() {
    for (mariadb, least) in [(false, 280), (true, 400)] {
        let known: Vec<_> = (0..=u16::MAX).filter_map(|id| Collation::by_id(id, mariadb)).collect();
        assert!(known.len() > least, "{}", known.len());
        let unknown: Vec<_> = known.iter().filter(|c| c.class() != Class::Exact).map(|c| c.name()).collect();
        assert_eq!(unknown, if mariadb { vec![] } else { vec!["gb18030_chinese_ci"] });
    }
    assert!(Collation::by_name("klingon_ci").is_none());
}

#[test]
fn r13_a_name_with_two_meanings_is_safe_for_both() {
    let name = "utf8mb4_croatian_ci";
    assert_eq!(Collation::by_name(name).map(Collation::class), Some(Class::Safe));
    for mariadb in [false, true] {
        assert_eq!(Collation::of_server(name, mariadb).map(Collation::class), Some(Class::Exact));
    }
    assert_eq!(form(name, "\u{1c9}".as_bytes()), form(name, b"LJ"));
    assert_eq!(form(name, b"lJ"), form(name, b"LJ"));
}

#[test]
fn r12_languages_weigh_characters_together() {
    for (collation, equal, different) in [
        ("utf8mb4_da_0900_ai_ci", ("aa", "\u{e5}"), ("ab", "\u{e5}b")),
        ("utf8mb4_german2_ci", ("\u{e4}", "AE"), ("\u{e4}", "a")),
        ("utf8mb4_cs_0900_ai_ci", ("CH", "ch"), ("\u{10d}", "c")),
        ("utf8mb4_ja_0900_as_cs", ("\u{30ab}\u{30fc}", "\u{304b}\u{30fc}"), ("\u{30ab}\u{30fc}", "\u{30ad}\u{30fc}")),
        ("utf8mb4_uca1400_hungarian_ai_ci", ("dzs", "DZS"), ("dzs", "zsd")),
    ] {
        assert_eq!(form(collation, equal.0.as_bytes()), form(collation, equal.1.as_bytes()), "{collation}");
        assert_ne!(form(collation, different.0.as_bytes()), form(collation, different.1.as_bytes()), "{collation}");
    }
}

#[test]
fn r12_character_sets_are_read_in_their_own_bytes() {
    assert_eq!(form("utf16le_general_ci", b"a\0 \0"), form("utf16le_general_ci", b"A\0"));
    assert_eq!(form("utf32_bin", b"\0\0\0a\0\0\0 "), b"\0\0\0a");
    assert_eq!(form("gbk_chinese_ci", b"\xb0\xa1A"), form("gbk_chinese_ci", b"\xb0\xa1a "));
    assert_ne!(form("sjis_japanese_ci", b"\x83A"), form("sjis_japanese_ci", b"\x83a"));
    // The server takes these two as equal, because the letter before has four bytes in one case and two in the other.
    assert_eq!(
        form("gb18030_chinese_ci", b"\x81\x30\x8d\x35s\xde\xae"),
        form("gb18030_chinese_ci", b"\xa8\xa5s\xde\xae\t")
    );
    // Characters of two bytes are no ASCII characters, whatever their bytes.
    assert_ne!(
        form("utf16_general_ci", "\u{6161}".encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>().as_slice()),
        b"A"
    );
    assert_eq!(form("utf32_general_ci", b"\0\0\0a\0\0\0B"), form("utf8mb4_general_ci", b"Ab"));
    // A vowel that is written before its consonant is compared after it.
    assert_eq!(form("tis620_thai_ci", b"\xe0\xa1"), form("tis620_thai_ci", b"\xa1\xe0"));
}

#[test]
fn r12_a_name_is_compared_as_its_server_does() {
    let form = |mariadb, value: &[u8]| {
        let mut out = Vec::new();
        let collation = Collation::of_server("euckr_korean_ci", mariadb).expect("known");
        collation.equality_form(value, &mut out).expect("valid text");
        out
    };
    assert_eq!(form(false, b"\x89Xa"), form(false, b"\x89xA "));
    assert_ne!(form(true, b"\x89Xa"), form(true, b"\x89xA "));
}

#[test]
fn r12_a_japanese_mark_is_weighed_by_the_kana_before_it() {
    let ja = |text: &str| form("utf8mb4_ja_0900_as_cs", text.as_bytes());
    assert_eq!(ja("\u{30ab}\u{30fd}"), ja("\u{304b}\u{309d}"));
    assert_ne!(ja("\u{304b}\u{30fc}"), ja("\u{304b}\u{1}\u{30fc}"));
    // At the start the mark is weighed by the last character, in all levels but the first.
    assert_ne!(ja("\u{30fc}\u{304b}"), ja("\u{30fc}\u{304b}\u{1}"));
    assert_eq!(ja("\u{1}\u{30fc}\u{304b}"), ja("\u{30fc}\u{304b}\u{1}"));
    assert_ne!(ja("\u{31f0}\u{30fc}"), ja("\u{31f0}\u{1}\u{30fc}"));
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
    let sjis = Collation::by_name("sjis_bin").expect("known");
    assert_eq!(sjis.prefix(b"\xb1\x83A\x83a", 2).expect("valid"), b"\xb1\x83A");
    let utf16 = Collation::by_name("utf16_bin").expect("known");
    assert_eq!(utf16.prefix(b"\xd8\x3d\xde\0\0a", 1).expect("valid"), b"\xd8\x3d\xde\0");
    assert!(utf16.prefix(b"\xd8\x3d\0a\0a", 2).is_err());
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
    /// The short path for ASCII gives the same form as the general path: a grapheme joiner, which weighs nothing,
    /// forces the latter.
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

    /// A form only merges texts whose difference the collation ignores: under binary collations, spaces at the end.
    #[test]
    fn r12_binary_forms_are_the_text_without_its_last_spaces(text in "\\PC{0,20} {0,3}") {
        prop_assert_eq!(form("utf8mb4_bin", text.as_bytes()), text.trim_end_matches(' ').as_bytes());
        prop_assert_eq!(form("utf8mb4_0900_bin", text.as_bytes()), text.as_bytes());
    }
}

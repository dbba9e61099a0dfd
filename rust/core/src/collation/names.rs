//! All collations by name and by number, and what is known of each.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::bytes::{self, ByteTable};
use super::weights::Family;
use super::{Collation, Rule, Width, weights::unpack};

/// The collations of both server families.
pub(super) struct Registry {
    collations: HashMap<&'static str, Collation>,
    mysql: HashMap<u16, &'static str>,
    mariadb: HashMap<u16, &'static str>,
}

impl Registry {
    pub(super) fn by_name(&self, name: &str) -> Option<&Collation> {
        if let Some(found) = self.collations.get(name) {
            return Some(found);
        }
        let lower = name.to_ascii_lowercase();
        match lower.strip_prefix("utf8_") {
            Some(rest) => self.collations.get(format!("utf8mb3_{rest}").as_str()),
            None => self.collations.get(lower.as_str()),
        }
    }

    pub(super) fn name_of(&self, id: u16, mariadb: bool) -> Option<&'static str> {
        if mariadb { self.mariadb.get(&id).copied() } else { self.mysql.get(&id).copied() }
    }
}

/// The registry, read from the compiled-in list on first use.
pub(super) fn registry() -> &'static Registry {
    static LIST: OnceLock<String> = OnceLock::new();
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let list =
            LIST.get_or_init(|| String::from_utf8(unpack(include_bytes!("../../data/names.zst"))).unwrap_or_default());
        read(list, &bytes::read(&unpack(include_bytes!("../../data/bytes.zst"))))
    })
}

/// Reads lines of server family, number, name and character set.
fn read(list: &'static str, tables: &HashMap<String, ByteTable>) -> Registry {
    let mut registry = Registry { collations: HashMap::new(), mysql: HashMap::new(), mariadb: HashMap::new() };
    for line in list.lines() {
        let mut fields = line.split('\t');
        let (Some(family), Some(id), Some(name), Some(charset)) =
            (fields.next(), fields.next().and_then(|f| f.parse().ok()), fields.next(), fields.next())
        else {
            continue;
        };
        let numbers = if family == "mariadb" { &mut registry.mariadb } else { &mut registry.mysql };
        numbers.insert(id, name);
        registry.collations.entry(name).or_insert_with(|| describe(name, charset, tables));
    }
    registry
}

/// What is known of a collation.
fn describe(name: &'static str, charset: &str, tables: &HashMap<String, ByteTable>) -> Collation {
    let pad_space = !(name == "binary" || name.contains("_nopad_") || name.contains("_0900_"));
    let plain = name.replace("_nopad_", "_");
    let suffix = plain.strip_prefix(charset).map_or("", |rest| rest.trim_start_matches('_'));
    let width = match charset {
        "utf8mb4" | "utf8mb3" => Width::Utf8,
        "big5" | "gb2312" | "gbk" | "gb18030" | "sjis" | "cp932" | "ujis" | "eucjpms" | "euckr" | "ucs2" | "utf16"
        | "utf16le" | "utf32" => Width::Other,
        _ => Width::One,
    };
    let rule = match width {
        _ if name == "binary" => Rule::Identity,
        Width::One | Width::Utf8 if suffix == "bin" || suffix == "0900_bin" => Rule::Identity,
        // Multi-byte sets whose later bytes are never a space, so that spaces at the end can be seen in the bytes.
        Width::Other if suffix == "bin" && !charset.starts_with("utf") && charset != "ucs2" => Rule::Identity,
        Width::Utf8 => unicode_rule(suffix, charset == "utf8mb3"),
        Width::One => tables.get(plain.as_str()).map_or(Rule::Unknown, |table| Rule::Byte(table.clone())),
        Width::Other => Rule::Unknown,
    };
    Collation { name, width, pad_space, rule }
}

fn unicode_rule(suffix: &str, three_bytes: bool) -> Rule {
    let (family, levels) = match suffix {
        "general_ci" => (Family::General, 1),
        "unicode_ci" => (Family::Uca400, 1),
        "unicode_520_ci" => (Family::Uca520, 1),
        "0900_ai_ci" => (Family::Uca900, 1),
        "0900_as_ci" => (Family::Uca900, 2),
        "0900_as_cs" => (Family::Uca900, 3),
        _ => return Rule::Unknown,
    };
    Rule::Unicode { family, levels, three_bytes }
}

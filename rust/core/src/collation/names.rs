//! All collations by name and by number, and the rule of each.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::archive::Entry;
use super::bytes::{self, ByteTable};
use super::charset::Charset;
use super::fold::Fold;
use super::raw::unpack;
use super::weights::Comparison;
use super::{Class, Collation, Rule};

/// The collations of both server families.
struct Registry {
    /// Collations with a name of one meaning, or the common part of both meanings.
    by_name: HashMap<&'static str, Collation>,
    /// Collations with a name that the other server family uses for a different one.
    apart: HashMap<(bool, &'static str), Collation>,
    mysql: HashMap<u16, &'static str>,
    mariadb: HashMap<u16, &'static str>,
}

impl Registry {
    fn by_name(&self, name: &str) -> Option<&Collation> {
        if let Some(found) = self.by_name.get(name) {
            return Some(found);
        }
        let lower = name.to_ascii_lowercase();
        match lower.strip_prefix("utf8_") {
            Some(rest) => self.by_name.get(format!("utf8mb3_{rest}").as_str()),
            None => self.by_name.get(lower.as_str()),
        }
    }

    fn of_server(&self, name: &str, mariadb: bool) -> Option<&Collation> {
        let known = self.by_name(name)?;
        self.apart.get(&(mariadb, known.name)).or(Some(known))
    }

    fn name_of(&self, id: u16, mariadb: bool) -> Option<&'static str> {
        if mariadb { self.mariadb.get(&id).copied() } else { self.mysql.get(&id).copied() }
    }
}

impl Collation {
    /// Returns the collation of this name, without regard to ASCII case; `utf8_...` is taken as `utf8mb3_...`.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        registry().by_name(name)
    }

    /// Returns the collation that a MySQL or MariaDB server means by a name.
    ///
    /// A few names mean different collations in MySQL and MariaDB. This function returns the collation of the server's
    /// family. [`Self::by_name`], which does not know the server, returns a coarser one that is right for both.
    pub fn of_server(name: &str, mariadb: bool) -> Option<&'static Self> {
        registry().of_server(name, mariadb)
    }

    /// Returns the collation with this number in MySQL or MariaDB.
    pub fn by_id(id: u16, mariadb: bool) -> Option<&'static Self> {
        name_of(id, mariadb).and_then(|name| Self::of_server(name, mariadb))
    }
}

/// Returns the full name of a collation number; MySQL and MariaDB give some numbers to different collations.
pub fn name_of(id: u16, mariadb: bool) -> Option<&'static str> {
    registry().name_of(id, mariadb)
}

/// Returns the registry, read from the compiled-in list on first use.
fn registry() -> &'static Registry {
    static LIST: OnceLock<String> = OnceLock::new();
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let list =
            LIST.get_or_init(|| String::from_utf8(unpack(include_bytes!("../../data/names.zst"))).unwrap_or_default());
        read(list, &bytes::read(&unpack(include_bytes!("../../data/bytes.zst"))))
    })
}

/// Reads lines of server family (or `both`), number, name, character set, padding levels (`pad` all, `later` all but
/// the first, `nopad` none), and rule.
///
/// A name under `both` is one that the two families give to different collations: the line holds what is true for
/// either.
fn read(list: &'static str, tables: &HashMap<String, ByteTable>) -> Registry {
    let mut registry =
        Registry { by_name: HashMap::new(), apart: HashMap::new(), mysql: HashMap::new(), mariadb: HashMap::new() };
    for line in list.lines() {
        let fields: Vec<&'static str> = line.split('\t').collect();
        let [family, id, name, charset, pad, rule] = fields[..] else { continue };
        let Ok(id) = id.parse() else { continue };
        let collation = || describe(name, charset, pad, rule, tables);
        match family {
            "both" => {
                registry.by_name.insert(name, Collation { class: Class::Safe, ..collation() });
                continue;
            }
            "mariadb" => registry.mariadb.insert(id, name),
            _ => registry.mysql.insert(id, name),
        };
        // The lines under `both` come first.
        if registry.by_name.get(name).is_some_and(|known| known.class == Class::Safe) {
            registry.apart.insert((family == "mariadb", name), collation());
        } else {
            registry.by_name.entry(name).or_insert_with(collation);
        }
    }
    registry
}

/// Returns a collation by its rule as the list has it: a word, and for some the name of a table.
fn describe(
    name: &'static str,
    charset: &str,
    pad: &str,
    rule: &str,
    tables: &HashMap<String, ByteTable>,
) -> Collation {
    let pad_space = pad == "pad";
    let (word, rest) = rule.split_once(' ').unwrap_or((rule, ""));
    let found = match word {
        "identity" => Some(Rule::Identity),
        "thai" => Some(Rule::Thai),
        "bytes" => tables.get(rest).map(|table| Rule::Byte(table.clone())),
        "fold" => Fold::by_name(rest).map(Rule::Fold),
        "unicode" | "gb18030" => rest.split_once(' ').and_then(|(table, levels)| {
            let levels = levels.bytes().fold(0, |all, digit| all | 1 << (digit - b'1'));
            let by = Comparison { levels, pads_first: pad_space, pads_later: pad != "nopad" };
            Entry::by_name(table).map(|table| Rule::Unicode { table, by })
        }),
        _ => None,
    };
    let class = match &found {
        None => Class::WholeKey,
        Some(Rule::Fold(fold)) if !fold.is_exact() => Class::Safe,
        Some(_) => Class::Exact,
    };
    let rule = found.unwrap_or(Rule::Unknown);
    Collation { name, charset: Charset::by_name(charset), pad_space, class, rule }
}

//! The compiled-in archive of Unicode tables: the roots whole, a language as its differences from its root.

use std::sync::OnceLock;

use super::raw::{Raw, unpack};
use super::weights::Tables;

/// One table of the archive; unpacked when a collation first needs it.
#[derive(Debug)]
pub(super) struct Entry {
    name: &'static str,
    root: Option<&'static Entry>,
    packed: &'static [u8],
    raw: OnceLock<Raw>,
    tables: OnceLock<Tables>,
}

impl Entry {
    /// Returns the table of this name.
    pub(super) fn by_name(name: &str) -> Option<&'static Self> {
        entries().iter().find(|entry| entry.name == name)
    }

    /// Returns the weights, unpacked on first use.
    pub(super) fn tables(&self) -> &Tables {
        self.tables.get_or_init(|| Tables::new(self.raw()))
    }

    fn raw(&self) -> &Raw {
        self.raw.get_or_init(|| Raw::read(&unpack(self.packed), self.root.map(Self::raw)))
    }
}

/// Reads the archive's list: lines of name, root or `-`, and packed length, an empty line, then the packed tables.
fn entries() -> &'static [Entry] {
    static ENTRIES: OnceLock<Vec<Entry>> = OnceLock::new();
    static ROOTS: OnceLock<Vec<Entry>> = OnceLock::new();
    static ALL: &[u8] = include_bytes!("../../data/unicode.bin");
    ENTRIES.get_or_init(|| {
        let roots = ROOTS.get_or_init(|| list(ALL, &[]));
        list(ALL, roots)
    })
}

/// Returns the entries of an archive; a language shares the tables of its root in `roots`.
fn list(archive: &'static [u8], roots: &'static [Entry]) -> Vec<Entry> {
    let end = archive.windows(2).position(|two| two == b"\n\n").unwrap_or(0);
    let (head, mut rest) = archive.split_at_checked(end).unwrap_or_default();
    rest = rest.get(2..).unwrap_or_default();
    let mut out = Vec::new();
    for line in std::str::from_utf8(head).unwrap_or_default().lines() {
        let mut fields = line.split(' ');
        let (Some(name), Some(root), Some(length)) =
            (fields.next(), fields.next(), fields.next().and_then(|f| f.parse::<usize>().ok()))
        else {
            break;
        };
        let Some((packed, after)) = rest.split_at_checked(length) else { break };
        rest = after;
        let root = roots.iter().find(|entry| entry.name == root);
        out.push(Entry { name, root, packed, raw: OnceLock::new(), tables: OnceLock::new() });
    }
    out
}

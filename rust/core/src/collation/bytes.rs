//! Collations of single-byte character sets: a weight, or for German's second collation up to two, for each byte.

use std::collections::HashMap;

/// The weights of the 256 bytes.
#[derive(Debug, Clone)]
pub(super) struct ByteTable {
    first: Box<[u8; 256]>,
    /// The second weight of the bytes that expand; none where no byte does.
    second: Option<Box<[Option<u8>; 256]>>,
}

impl ByteTable {
    /// Returns the weight of a space.
    pub(super) fn space(&self) -> u8 {
        self.first[usize::from(b' ')]
    }

    /// Appends the weights of a value.
    pub(super) fn append(&self, value: &[u8], out: &mut Vec<u8>) {
        let Some(second) = &self.second else {
            out.extend(value.iter().map(|b| self.first[usize::from(*b)]));
            return;
        };
        for byte in value {
            out.push(self.first[usize::from(*byte)]);
            out.extend(second[usize::from(*byte)]);
        }
    }
}

/// Cuts the bytes of one kind off the end, but nothing before `start`.
pub(super) fn strip_trailing(out: &mut Vec<u8>, start: usize, byte: u8) {
    let kept = out.get(start..).map_or(0, |form| form.iter().rposition(|b| *b != byte).map_or(0, |last| last + 1));
    out.truncate(start + kept);
}

/// Reads the tables by collation name; a damaged file gives fewer of them, and their collations are then unknown.
pub(super) fn read(data: &[u8]) -> HashMap<String, ByteTable> {
    let mut tables = HashMap::new();
    let mut rest = data.iter().copied();
    while let Some((name, table)) = read_one(&mut rest) {
        tables.insert(name, table);
    }
    tables
}

fn read_one(rest: &mut impl Iterator<Item = u8>) -> Option<(String, ByteTable)> {
    let length = usize::from(rest.next()?);
    let name: Vec<u8> = rest.take(length).collect();
    let mut first = Box::new([0; 256]);
    let mut second = Box::new([None; 256]);
    for (one, two) in first.iter_mut().zip(second.iter_mut()) {
        let count = rest.next()?;
        *one = rest.next()?;
        if count == 2 {
            *two = Some(rest.next()?);
        }
    }
    let second = second.iter().any(Option::is_some).then_some(second);
    Some((String::from_utf8(name).ok()?, ByteTable { first, second }))
}

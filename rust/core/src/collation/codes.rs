//! The first level's weights in a code of one or three bytes each.

use std::collections::HashMap;

use super::levels::{Level, PAGE, Page};

/// An ASCII character without a weight.
const IGNORED: u8 = 0xFF;
/// Stands in an entry's upper byte where the codes are in the arena; else that byte is the number of bytes in the entry.
const IN_ARENA: u32 = 0xFF;

/// The codes of all characters.
#[derive(Debug)]
pub(super) struct Codes {
    ascii: [u8; 256],
    ascii_ignores: bool,
    /// Whether every ASCII character has one weight at most.
    ascii_regular: bool,
    coder: Coder,
    pages: Vec<CodePage>,
    /// A length byte and so many bytes of codes, again and again.
    arena: Vec<u8>,
}

#[derive(Debug)]
enum CodePage {
    /// One weight each, evenly growing: first and step.
    One([u16; 2]),
    /// Two weights each, as characters have that are in no table.
    Two([u16; 4]),
    /// No weight, or more than two.
    Even(Vec<(u16, u16)>),
    Listed(Box<[u32; PAGE]>),
}

/// What a weight is written as: an ASCII character, or three bytes with the high bit.
#[derive(Debug)]
struct Coder {
    ascii: HashMap<u16, u8>,
}

impl Coder {
    fn code(&self, weight: u16, out: &mut Vec<u8>) {
        match self.ascii.get(&weight) {
            Some(byte) => out.push(*byte),
            None => out.extend_from_slice(&three_bytes(weight)),
        }
    }
}

fn three_bytes(weight: u16) -> [u8; 3] {
    let seven = |shift: u16| 0x80 | (weight >> shift & 0x7F) as u8;
    [seven(14), seven(7), seven(0)]
}

/// The weight of a code point on a page that grows evenly.
fn nth(first: u16, step: u16, code_point: usize) -> u16 {
    first.wrapping_add(step.wrapping_mul((code_point % PAGE) as u16))
}

impl Codes {
    /// Codes a level.
    pub(super) fn new(level: &Level) -> Self {
        let mut ascii = [IGNORED; 256];
        let mut coder = Coder { ascii: HashMap::new() };
        let mut ascii_regular = true;
        for byte in 0..128_u8 {
            let mut count = 0;
            level.weights(u32::from(byte), |weight| {
                ascii[usize::from(byte)] = *coder.ascii.entry(weight).or_insert(byte);
                count += 1;
            });
            ascii_regular &= count < 2;
        }
        let mut arena = Vec::new();
        let pages = level.pages().map(|page| code_page(page, &coder, &mut arena)).collect();
        Self { ascii, ascii_ignores: ascii[..128].contains(&IGNORED), ascii_regular, coder, pages, arena }
    }

    /// Appends the code of one weight.
    pub(super) fn code(&self, weight: u16, out: &mut Vec<u8>) {
        self.coder.code(weight, out);
    }

    /// Whether every ASCII character has one weight at most, so that [`Self::append_ascii`] may be called.
    pub(super) fn ascii_regular(&self) -> bool {
        self.ascii_regular
    }

    /// Whether an ASCII character has a weight.
    pub(super) fn weighs(&self, ascii: u8) -> bool {
        self.ascii[usize::from(ascii)] != IGNORED
    }

    /// The code of a space.
    pub(super) fn space(&self) -> u8 {
        self.ascii[usize::from(b' ')]
    }

    /// Appends the codes of a text of ASCII characters only.
    pub(super) fn append_ascii(&self, value: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend(value.iter().map(|b| self.ascii[usize::from(*b)]));
        if self.ascii_ignores {
            retain_from(out, start, |byte| byte != IGNORED);
        }
    }

    /// Appends the codes of one character.
    #[inline]
    pub(super) fn append_one(&self, code_point: u32, out: &mut Vec<u8>) {
        if code_point < 0x80 && self.ascii_regular {
            let code = self.ascii[code_point as usize & 0x7F];
            if code != IGNORED {
                out.push(code);
            }
        } else {
            self.append_character(code_point as usize, out);
        }
    }

    #[inline]
    fn append_character(&self, code_point: usize, out: &mut Vec<u8>) {
        match self.pages.get(code_point / PAGE) {
            Some(CodePage::Listed(entries)) => {
                let entry = entries[code_point % PAGE];
                let low = entry.to_be_bytes();
                match entry >> 24 {
                    3 => out.extend_from_slice(&low[1..]),
                    1 => out.push(low[3]),
                    0 => {}
                    _ => self.append_from_arena((entry & 0x00FF_FFFF) as usize, out),
                }
            }
            Some(CodePage::One([first, step])) => {
                out.extend_from_slice(&three_bytes(nth(*first, *step, code_point)));
            }
            Some(CodePage::Two([first, step, second, second_step])) => {
                let mut both = [0; 6];
                both[..3].copy_from_slice(&three_bytes(nth(*first, *step, code_point)));
                both[3..].copy_from_slice(&three_bytes(nth(*second, *second_step, code_point)));
                out.extend_from_slice(&both);
            }
            Some(CodePage::Even(steps)) => {
                for (first, step) in steps {
                    out.extend_from_slice(&three_bytes(nth(*first, *step, code_point)));
                }
            }
            None => {}
        }
    }

    fn append_from_arena(&self, at: usize, out: &mut Vec<u8>) {
        let length = self.arena.get(at).map_or(0, |length| usize::from(*length));
        out.extend_from_slice(self.arena.get(at + 1..at + 1 + length).unwrap_or_default());
    }
}

fn code_page(page: &Page, coder: &Coder, arena: &mut Vec<u8>) -> CodePage {
    let mut has_ascii_weight = false;
    for n in 0..PAGE {
        page.weights(n, |weight| has_ascii_weight |= coder.ascii.contains_key(&weight));
    }
    if let (Page::Even(steps), false) = (page, has_ascii_weight) {
        return match *steps.as_slice() {
            [(first, step)] => CodePage::One([first, step]),
            [(first, step), (second, second_step)] => CodePage::Two([first, step, second, second_step]),
            _ => CodePage::Even(steps.clone()),
        };
    }
    let mut entries = Box::new([0; PAGE]);
    for (n, entry) in entries.iter_mut().enumerate() {
        let mut bytes = Vec::new();
        page.weights(n, |weight| coder.code(weight, &mut bytes));
        *entry = match *bytes.as_slice() {
            [] => 0,
            [a] => u32::from_be_bytes([1, 0, 0, a]),
            [a, b, c] if a >= 0x80 => u32::from_be_bytes([3, a, b, c]),
            _ => {
                let at = arena.len() as u32;
                arena.push(bytes.len() as u8);
                arena.append(&mut bytes);
                IN_ARENA << 24 | at
            }
        };
    }
    CodePage::Listed(entries)
}

/// Drops the bytes after `start` that are not wanted.
fn retain_from(out: &mut Vec<u8>, start: usize, keep: impl Fn(u8) -> bool) {
    if out[start..].iter().all(|byte| keep(*byte)) {
        return;
    }
    let mut end = start;
    for at in start..out.len() {
        if keep(out[at]) {
            out[end] = out[at];
            end += 1;
        }
    }
    out.truncate(end);
}

//! The first level's weights in a code of one or three bytes each.

use std::collections::HashMap;

use super::levels::{Level, PAGE, Page};
use super::writer::{PADDED, Writer};

/// An ASCII character without a weight.
const IGNORED: u8 = 0xFF;
/// Stands for the length of codes that are in the arena.
const IN_ARENA: u8 = 0xFF;
/// Set in an entry's signature if there is more to the character than the entry says.
const NOT_PLAIN: u32 = 1 << 31;

/// A character's codes, and what it weighs in the later levels.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Entry {
    /// Up to seven codes, then how many; more are in the arena, and the first four bytes are the place.
    codes: [u8; 8],
    signature: u32,
}

impl Entry {
    fn length(&self) -> u8 {
        let [.., length] = self.codes;
        length
    }

    /// Appends the codes of a plain character, and gives its signature.
    #[inline]
    pub(super) fn append_to(&self, out: &mut Writer<'_>) -> u32 {
        out.put(self.codes, usize::from(self.length()));
        self.signature
    }
}

/// The codes of all characters.
#[derive(Debug)]
pub(super) struct Codes {
    ascii: [u8; 256],
    ascii_ignores: bool,
    /// Whether every ASCII character has one weight at most.
    ascii_regular: bool,
    coder: Coder,
    pages: Vec<CodePage>,
    /// A length byte and so many bytes of codes, again and again; then so many bytes that each can be read padded.
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
    Listed(Box<[Entry; PAGE]>),
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
            None => out.extend_from_slice(&three_bytes(weight).to_le_bytes()[..3]),
        }
    }
}

/// The three bytes of a weight, the first one in the lowest bits.
#[inline]
fn three_bytes(weight: u16) -> u64 {
    let weight = u64::from(weight);
    0x80_8080 | weight >> 14 | (weight >> 7 & 0x7F) << 8 | (weight & 0x7F) << 16
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
        arena.extend([0; PADDED]);
        Self { ascii, ascii_ignores: ascii[..128].contains(&IGNORED), ascii_regular, coder, pages, arena }
    }

    /// Gives each entry its signature; `begins` says of which characters there may be more to say.
    pub(super) fn mark(&mut self, signature: impl Fn(u32) -> u32, begins: impl Fn(u32) -> bool) {
        for (number, page) in self.pages.iter_mut().enumerate() {
            if let CodePage::Listed(entries) = page {
                for (n, entry) in entries.iter_mut().enumerate() {
                    let code_point = (number * PAGE + n) as u32;
                    let plain = entry.length() != IN_ARENA && !begins(code_point);
                    entry.signature = signature(code_point) | if plain { 0 } else { NOT_PLAIN };
                }
            }
        }
    }

    /// A character that its entry says all about, as most do.
    #[inline]
    pub(super) fn plain(&self, code_point: u32) -> Option<&Entry> {
        match self.pages.get(code_point as usize / PAGE) {
            Some(CodePage::Listed(entries)) => {
                let entry = &entries[code_point as usize % PAGE];
                (entry.signature & NOT_PLAIN == 0).then_some(entry)
            }
            _ => None,
        }
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

    /// Appends the codes of any character.
    #[inline]
    pub(super) fn append_one(&self, code_point: u32, out: &mut Writer<'_>) {
        let code_point = code_point as usize;
        match self.pages.get(code_point / PAGE) {
            Some(CodePage::Listed(entries)) => {
                let entry = &entries[code_point % PAGE];
                match (entry.length(), entry.codes) {
                    (IN_ARENA, [a, b, c, d, ..]) => self.append_from_arena(u32::from_le_bytes([a, b, c, d]), out),
                    (length, codes) => out.put(codes, usize::from(length)),
                }
            }
            Some(CodePage::One([first, step])) => {
                out.put(three_bytes(nth(*first, *step, code_point)).to_le_bytes(), 3);
            }
            Some(CodePage::Two([first, step, second, second_step])) => {
                let first = three_bytes(nth(*first, *step, code_point));
                let second = three_bytes(nth(*second, *second_step, code_point));
                out.put((first | second << 24).to_le_bytes(), 6);
            }
            Some(CodePage::Even(steps)) => {
                for (first, step) in steps {
                    out.put(three_bytes(nth(*first, *step, code_point)).to_le_bytes(), 3);
                }
            }
            None => {}
        }
    }

    #[inline]
    fn append_from_arena(&self, at: u32, out: &mut Writer<'_>) {
        if let Some((length, codes)) = self.arena.get(at as usize..).and_then(<[u8]>::split_first) {
            out.put_padded(codes, usize::from(*length));
        }
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
    let mut entries = Box::new([Entry::default(); PAGE]);
    for (n, entry) in entries.iter_mut().enumerate() {
        let mut bytes = Vec::new();
        page.weights(n, |weight| coder.code(weight, &mut bytes));
        let [all @ .., last] = &mut entry.codes;
        if let Some(own) = all.get_mut(..bytes.len()) {
            own.copy_from_slice(&bytes);
            *last = bytes.len() as u8;
        } else {
            all[..4].copy_from_slice(&(arena.len() as u32).to_le_bytes());
            *last = IN_ARENA;
            arena.push(bytes.len() as u8);
            arena.append(&mut bytes);
        }
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

//! The first level's weights in a code of one or three bytes each.

use std::collections::HashMap;

use super::levels::{Level, PAGE, Page};
use super::writer::{LONG, SHORT, Writer};

/// An ASCII character without a weight; no code has its high bit.
pub(super) const IGNORED: u8 = 0xFF;
/// Stands for the length of codes that are in the arena.
const IN_ARENA: u8 = 0xFF;
/// Flag in an entry's signature: the entry does not hold everything about the character.
const NOT_PLAIN: u32 = 1 << 31;

/// A character's codes, and its weights in the later levels.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(16))]
pub(super) struct Entry {
    /// Up to eleven codes and their number; longer codes are in the arena, and the first four bytes are their position.
    /// Then the signature.
    ///
    /// All together, so that a whole entry is read and stored in one go.
    bytes: [u8; SHORT],
}

impl Entry {
    /// Number of codes that fit into an entry.
    const ROOM: usize = 11;

    fn new(codes: &[u8], arena: &mut Vec<u8>) -> Self {
        let mut bytes = [0; SHORT];
        let short = codes.len() <= Self::ROOM;
        let place = (arena.len() as u32).to_le_bytes();
        let own = if short { codes } else { &place };
        bytes[..own.len()].copy_from_slice(own);
        bytes[Self::ROOM] = if short { codes.len() as u8 } else { IN_ARENA };
        if !short {
            arena.push(codes.len() as u8);
            arena.extend_from_slice(codes);
        }
        Self { bytes }
    }

    fn length(&self) -> u8 {
        self.bytes[Self::ROOM]
    }

    fn place(&self) -> u32 {
        let [a, b, c, d, ..] = self.bytes;
        u32::from_le_bytes([a, b, c, d])
    }

    fn signature(&self) -> u32 {
        let [.., a, b, c, d] = self.bytes;
        u32::from_le_bytes([a, b, c, d])
    }

    fn sign(&mut self, signature: u32) {
        self.bytes[SHORT - 4..].copy_from_slice(&signature.to_le_bytes());
    }

    /// Appends the codes of a plain character, and returns its signature.
    #[inline]
    pub(super) fn append_to(&self, out: &mut Writer<'_>) -> u32 {
        out.put(&self.bytes, usize::from(self.length()));
        self.signature()
    }
}

/// The codes of all characters.
#[derive(Debug)]
pub(super) struct Codes {
    ascii: [u8; 256],
    /// True if every ASCII character has one weight at most.
    ascii_regular: bool,
    coder: Coder,
    pages: Vec<CodePage>,
    /// Repeated: a length byte, then that many bytes of codes. Padded at the end, so that each can be read as a long
    /// piece.
    arena: Vec<u8>,
}

#[derive(Debug)]
enum CodePage {
    /// One or two weights for each character, as most characters outside the tables have.
    Growing(Growing),
    /// No weight, or more than two: each weight of the first character, and its increment from one character to the
    /// next.
    Even(Vec<(u16, u16)>),
    Listed(Box<[Entry; PAGE]>),
}

/// A page of characters, each with one or two weights, which grow evenly.
#[derive(Debug)]
struct Growing {
    first: [u16; 2],
    step: [u16; 2],
    /// Bytes of codes.
    length: usize,
    signature: u32,
}

impl Growing {
    #[inline]
    fn append_to(&self, code_point: usize, out: &mut Writer<'_>) -> u32 {
        let code = |weight: usize| three_bytes(nth(self.first[weight], self.step[weight], code_point));
        out.put(&(code(0) | code(1) << 24).to_le_bytes(), self.length);
        self.signature
    }
}

/// Writes a weight as an ASCII character, or as three bytes with the high bit.
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

/// Returns the three bytes of a weight, the first one in the lowest bits.
#[inline]
fn three_bytes(weight: u16) -> u64 {
    let weight = u64::from(weight);
    0x80_8080 | weight >> 14 | (weight >> 7 & 0x7F) << 8 | (weight & 0x7F) << 16
}

/// Returns the weight of a code point on a page that grows evenly.
fn nth(first: u16, step: u16, code_point: usize) -> u16 {
    first.wrapping_add(step.wrapping_mul((code_point % PAGE) as u16))
}

impl Codes {
    /// Encodes a level.
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
        arena.extend([0; LONG]);
        Self { ascii, ascii_regular, coder, pages, arena }
    }

    /// Notes the weights of each character in the later levels. `begins` returns true for the heads of contractions;
    /// `of_page` returns the common signature of a page that has no such heads.
    pub(super) fn mark(
        &mut self,
        signature: impl Fn(u32) -> u32,
        begins: impl Fn(u32) -> bool,
        of_page: impl Fn(usize) -> Option<u32>,
    ) {
        for (number, page) in self.pages.iter_mut().enumerate() {
            match page {
                CodePage::Listed(entries) => {
                    for (n, entry) in entries.iter_mut().enumerate() {
                        let code_point = (number * PAGE + n) as u32;
                        let plain = entry.length() != IN_ARENA && !begins(code_point);
                        entry.sign(signature(code_point) | if plain { 0 } else { NOT_PLAIN });
                    }
                }
                CodePage::Growing(growing) => growing.signature = of_page(number).unwrap_or(NOT_PLAIN),
                CodePage::Even(_) => {}
            }
        }
    }

    /// Appends the codes of a plain character, as most are, and returns its signature; none for other characters.
    #[expect(
        clippy::inline_always,
        reason = "so that the writer's end stays in a register from one character to the next"
    )]
    #[inline(always)]
    pub(super) fn append_plain(&self, code_point: u32, out: &mut Writer<'_>) -> Option<u32> {
        let code_point = code_point as usize;
        match self.pages.get(code_point / PAGE)? {
            CodePage::Listed(entries) => {
                let entry = &entries[code_point % PAGE];
                (entry.signature() & NOT_PLAIN == 0).then(|| entry.append_to(out))
            }
            CodePage::Growing(growing) if growing.signature & NOT_PLAIN == 0 => {
                Some(growing.append_to(code_point, out))
            }
            _ => None,
        }
    }

    /// Appends the code of one weight.
    pub(super) fn code(&self, weight: u16, out: &mut Vec<u8>) {
        self.coder.code(weight, out);
    }

    /// Returns true if every ASCII character has one weight at most, so that [`Self::of_ascii`] is complete.
    pub(super) fn ascii_regular(&self) -> bool {
        self.ascii_regular
    }

    /// Returns the code of each ASCII character's one weight.
    pub(super) fn of_ascii(&self) -> &[u8; 256] {
        &self.ascii
    }

    /// Returns true if an ASCII character has a weight.
    pub(super) fn weighs(&self, ascii: u8) -> bool {
        self.ascii[usize::from(ascii)] != IGNORED
    }

    /// Returns the code of a space.
    pub(super) fn space(&self) -> u8 {
        self.ascii[usize::from(b' ')]
    }

    /// Appends the codes of any character.
    #[inline]
    pub(super) fn append_one(&self, code_point: u32, out: &mut Writer<'_>) {
        let code_point = code_point as usize;
        match self.pages.get(code_point / PAGE) {
            Some(CodePage::Listed(entries)) => {
                let entry = &entries[code_point % PAGE];
                if entry.length() == IN_ARENA {
                    self.append_from_arena(entry.place(), out);
                } else {
                    entry.append_to(out);
                }
            }
            Some(CodePage::Growing(growing)) => {
                growing.append_to(code_point, out);
            }
            Some(CodePage::Even(steps)) => {
                for (first, step) in steps {
                    out.put(&three_bytes(nth(*first, *step, code_point)).to_le_bytes(), 3);
                }
            }
            None => {}
        }
    }

    #[inline]
    fn append_from_arena(&self, at: u32, out: &mut Writer<'_>) {
        if let Some((length, codes)) = self.arena.get(at as usize..).and_then(<[u8]>::split_first) {
            out.put_long(codes, usize::from(*length));
        }
    }
}

fn code_page(page: &Page, coder: &Coder, arena: &mut Vec<u8>) -> CodePage {
    let mut has_ascii_weight = false;
    for n in 0..PAGE {
        page.weights(n, |weight| has_ascii_weight |= coder.ascii.contains_key(&weight));
    }
    if let (Page::Even(steps), false) = (page, has_ascii_weight) {
        let growing = |[first, second]: [(u16, u16); 2], length| {
            CodePage::Growing(Growing {
                first: [first.0, second.0],
                step: [first.1, second.1],
                length,
                signature: NOT_PLAIN,
            })
        };
        return match *steps.as_slice() {
            [first] => growing([first, (0, 0)], 3),
            [first, second] => growing([first, second], 6),
            _ => CodePage::Even(steps.clone()),
        };
    }
    let mut entries = Box::new([Entry::default(); PAGE]);
    for (n, entry) in entries.iter_mut().enumerate() {
        let mut bytes = Vec::new();
        page.weights(n, |weight| coder.code(weight, &mut bytes));
        *entry = Entry::new(&bytes, arena);
    }
    CodePage::Listed(entries)
}

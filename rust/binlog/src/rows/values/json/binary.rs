//! Decoding of binary JSON documents to values.

use std::borrow::Cow;

use crate::rows::image_cursor::{Cursor, Decoded, Malformed};
use crate::rows::values::json::value::{Json, MAX_DEPTH, malformed};

const SMALL_OBJECT: u8 = 0;
const LARGE_OBJECT: u8 = 1;
const SMALL_ARRAY: u8 = 2;
const LARGE_ARRAY: u8 = 3;
const LITERAL: u8 = 4;
const INT16: u8 = 5;
const UINT16: u8 = 6;
const INT32: u8 = 7;
const UINT32: u8 = 8;
const INT64: u8 = 9;
const UINT64: u8 = 10;
const DOUBLE: u8 = 11;
const STRING: u8 = 12;
const OPAQUE: u8 = 15;

impl<'a> Json<'a> {
    /// Reads a binary document; the empty one, which an update of an invalid value leaves, is `null`.
    ///
    /// The work and the memory are bounded by the document's length, whatever its bytes are.
    pub fn parse(document: &'a [u8]) -> Decoded<Self> {
        parse(document)
    }
}

/// Reads a whole document.
fn parse(document: &[u8]) -> Decoded<Json<'_>> {
    let Some((&kind, _)) = document.split_first() else { return Ok(Json::Null) };
    let mut reader = Reader { document, budget: document.len() };
    reader.value(kind, 1, 0)
}

/// Reads a document and keeps count of what was read.
///
/// In a sound document no two values share bytes. Offsets of a damaged one may point anywhere, and a few bytes could
/// describe a tree of any size: so each value and each text is charged against the document's length.
struct Reader<'a> {
    document: &'a [u8],
    budget: usize,
}

/// Range of a container and the width of its numbers.
#[derive(Clone, Copy)]
struct Container {
    start: usize,
    /// The byte after its last one.
    end: usize,
    /// 2 bytes in a small container, 4 in a large one.
    width: usize,
}

impl<'a> Reader<'a> {
    fn charge(&mut self, bytes: usize, at: usize) -> Decoded<()> {
        match self.budget.checked_sub(bytes) {
            Some(left) => self.budget = left,
            None => return malformed("JSON values that overlap", at),
        }
        Ok(())
    }

    /// Reads a value that starts at an offset of the document.
    fn value(&mut self, kind: u8, at: usize, depth: usize) -> Decoded<Json<'a>> {
        let mut cursor = Cursor::new(self.document, at);
        Ok(match kind {
            SMALL_OBJECT | LARGE_OBJECT | SMALL_ARRAY | LARGE_ARRAY => self.container(kind, at, depth)?,
            LITERAL => literal(u32::from(cursor.u8()?), at)?,
            INT16 => Json::Int(i64::from(i16::from_le_bytes(cursor.array()?))),
            UINT16 => Json::UInt(u64::from(cursor.u16()?)),
            INT32 => Json::Int(i64::from(i32::from_le_bytes(cursor.array()?))),
            UINT32 => Json::UInt(u64::from(cursor.u32()?)),
            INT64 => Json::Int(i64::from_le_bytes(cursor.array()?)),
            UINT64 => Json::UInt(cursor.u64()?),
            DOUBLE => Json::Double(f64::from_le_bytes(cursor.array()?)),
            STRING => Json::Text(self.text(&mut cursor)?),
            OPAQUE => {
                let type_code = cursor.u8()?;
                Json::Opaque { type_code, bytes: Cow::Borrowed(self.bytes(&mut cursor)?) }
            }
            _ => return malformed("an unknown kind of JSON value", at),
        })
    }

    fn text(&mut self, cursor: &mut Cursor<'a>) -> Decoded<Cow<'a, str>> {
        let at = cursor.position();
        text(self.bytes(cursor)?, at)
    }

    /// Reads a length in groups of seven bits, the lowest first, and as many bytes.
    fn bytes(&mut self, cursor: &mut Cursor<'a>) -> Decoded<&'a [u8]> {
        let at = cursor.position();
        let mut length = 0_u64;
        for shift in [0, 7, 14, 21, 28] {
            let byte = cursor.u8()?;
            length |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                let bytes = cursor.take(usize::try_from(length).unwrap_or(usize::MAX))?;
                self.charge(bytes.len(), at)?;
                return Ok(bytes);
            }
        }
        malformed("a JSON length of more than five bytes", at)
    }

    fn container(&mut self, kind: u8, start: usize, depth: usize) -> Decoded<Json<'a>> {
        if depth >= MAX_DEPTH {
            return malformed("JSON nested more than 100 levels deep", start);
        }
        let width = if matches!(kind, LARGE_OBJECT | LARGE_ARRAY) { 4 } else { 2 };
        let mut cursor = Cursor::new(self.document, start);
        let count = cursor.uint_le(width)? as usize;
        let size = cursor.uint_le(width)? as usize;
        if size > self.document.len().saturating_sub(start) {
            return malformed("a JSON container larger than its document", start);
        }
        let container = Container { start, end: start + size, width };
        let is_object = matches!(kind, SMALL_OBJECT | LARGE_OBJECT);
        let entry = if is_object { width + 2 } else { 0 } + 1 + width;
        if count.checked_mul(entry).is_none_or(|bytes| bytes > size.saturating_sub(2 * width)) {
            return malformed("a JSON container with more members than bytes", start);
        }
        self.charge(count, start)?;
        if is_object {
            self.object(container, count, cursor, depth)
        } else {
            self.array(container, count, cursor, depth)
        }
    }

    fn array(
        &mut self,
        container: Container,
        count: usize,
        mut entries: Cursor<'a>,
        depth: usize,
    ) -> Decoded<Json<'a>> {
        let mut values = Vec::with_capacity(count);
        for _ in 0..count {
            values.push(self.entry(container, &mut entries, depth)?);
        }
        Ok(Json::Array(values))
    }

    fn object(&mut self, container: Container, count: usize, mut keys: Cursor<'a>, depth: usize) -> Decoded<Json<'a>> {
        let mut entries = Cursor::new(self.document, keys.position() + count * (container.width + 2));
        let mut members = Vec::with_capacity(count);
        for _ in 0..count {
            let at = keys.position();
            let offset = keys.uint_le(container.width)? as usize;
            let length = usize::from(keys.u16()?);
            let name = self.within(container, offset, at)?.take(length)?;
            self.charge(length, at)?;
            members.push((text(name, at)?, self.entry(container, &mut entries, depth)?));
        }
        Ok(Json::Object(members))
    }

    /// Reads a value entry: a kind, and the value itself where it is small enough, else its offset.
    fn entry(&mut self, container: Container, entries: &mut Cursor<'a>, depth: usize) -> Decoded<Json<'a>> {
        let at = entries.position();
        let kind = entries.u8()?;
        let inline = entries.position();
        let number = entries.uint_le(container.width)?;
        Ok(match (kind, container.width) {
            (LITERAL, _) => literal(number as u32, at)?,
            (INT16, _) => Json::Int(i64::from(number as u16 as i16)),
            (UINT16, _) => Json::UInt(number & 0xffff),
            (INT32 | UINT32, 4) => self.value(kind, inline, depth)?,
            _ => {
                let offset = self.within(container, number as usize, at)?.position();
                self.value(kind, offset, depth + 1)?
            }
        })
    }

    /// Returns a cursor at an offset inside a container.
    fn within(&self, container: Container, offset: usize, at: usize) -> Decoded<Cursor<'a>> {
        match container.start.checked_add(offset) {
            // The name of an empty key may be right after the last byte.
            Some(position) if position <= container.end => Ok(Cursor::new(self.document, position)),
            _ => malformed("a JSON offset after the end of its container", at),
        }
    }
}

fn literal<'a>(number: u32, at: usize) -> Decoded<Json<'a>> {
    match number {
        0 => Ok(Json::Null),
        1 => Ok(Json::Bool(true)),
        2 => Ok(Json::Bool(false)),
        _ => malformed("an unknown JSON literal", at),
    }
}

fn text(bytes: &[u8], at: usize) -> Decoded<Cow<'_, str>> {
    let text = std::str::from_utf8(bytes);
    Ok(Cow::Borrowed(text.map_err(|_| Malformed { what: "JSON text that is not UTF-8", at })?))
}

//! The differences of partial JSON updates (`binlog_row_value_options=PARTIAL_JSON`).

use std::borrow::Cow;

use crate::rows::image_cursor::{Cursor, Decoded, Malformed};
use crate::rows::values::json::value::{Json, malformed};

/// Effect of a difference on the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Replaces a value by another.
    Replace,
    /// Adds a member to an object, or a value to an array.
    Insert,
    /// Removes a value.
    Remove,
}

/// One difference.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference<'a> {
    /// Effect on the document.
    pub operation: Operation,
    /// Target of the change, as a path: `$.member[3]."quoted member"`.
    pub path: &'a str,
    /// The new value; `null` for a removal.
    pub value: Json<'a>,
}

impl<'a> Difference<'a> {
    /// Returns the steps of the path.
    pub fn legs(&self) -> Decoded<Vec<Leg<'a>>> {
        parse_path(self.path)
    }
}

/// Reads the sequence of differences that replaces a column's value.
pub fn differences(bytes: &[u8]) -> Decoded<Vec<Difference<'_>>> {
    let mut cursor = Cursor::new(bytes, 0);
    let mut found = Vec::new();
    while !cursor.is_at_end() {
        let operation = match cursor.u8()? {
            0 => Operation::Replace,
            1 => Operation::Insert,
            2 => Operation::Remove,
            _ => return Err(cursor.malformed("an unknown kind of JSON difference")),
        };
        let at = cursor.position();
        let path = std::str::from_utf8(cursor.packed_bytes()?);
        let path = path.map_err(|_| Malformed { what: "a JSON path that is not UTF-8", at })?;
        let value = if operation == Operation::Remove { Json::Null } else { Json::parse(cursor.packed_bytes()?)? };
        found.push(Difference { operation, path, value });
    }
    Ok(found)
}

/// Changes a document by a sequence of differences.
///
/// A difference that does not fit the document is an error: it was made for a different one.
pub fn apply_differences<'a>(document: &mut Json<'a>, bytes: &'a [u8]) -> Decoded<()> {
    for difference in differences(bytes)? {
        let legs = difference.legs()?;
        apply(document, &legs, difference)?;
    }
    Ok(())
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leg<'a> {
    /// A member of an object, by its name.
    Member(Cow<'a, str>),
    /// An element of an array, by its index.
    Cell(usize),
    /// The number of elements after it: 0 for the last one.
    FromEnd(usize),
}

impl Leg<'_> {
    /// Returns the index that the step has in an array; none for a member's name or before the first element.
    fn index_in(&self, values: &[Json<'_>]) -> Option<usize> {
        match self {
            Leg::Cell(index) => Some(*index),
            Leg::FromEnd(behind) => values.len().checked_sub(behind + 1),
            Leg::Member(_) => None,
        }
    }
}

fn no_fit<T>() -> Decoded<T> {
    malformed("a JSON difference that does not fit the document before it", 0)
}

fn apply<'a>(document: &mut Json<'a>, legs: &[Leg<'_>], difference: Difference<'a>) -> Decoded<()> {
    let Some((last, parents)) = legs.split_last() else {
        if difference.operation != Operation::Replace {
            return no_fit();
        }
        *document = difference.value;
        return Ok(());
    };
    let mut target = document;
    for leg in parents {
        let Some(next) = child(target, leg) else { return no_fit() };
        target = next;
    }
    match (difference.operation, target, last) {
        (Operation::Replace, target, leg) => match child(target, leg) {
            Some(place) => *place = difference.value,
            None => return no_fit(),
        },
        (Operation::Insert, Json::Array(values), Leg::Cell(_) | Leg::FromEnd(_)) => {
            let index = last.index_in(values).unwrap_or(0); // before the first element is at the beginning
            values.insert(index.min(values.len()), difference.value);
        }
        (Operation::Insert, Json::Object(members), Leg::Member(name)) => {
            insert_member(members, name, difference.value)?;
        }
        (Operation::Remove, Json::Array(values), leg) => match leg.index_in(values) {
            Some(index) if index < values.len() => drop(values.remove(index)),
            _ => return no_fit(),
        },
        (Operation::Remove, Json::Object(members), Leg::Member(name)) => match position(members, name) {
            Ok(index) => {
                members.remove(index);
            }
            Err(_) => return no_fit(),
        },
        _ => return no_fit(),
    }
    Ok(())
}

fn child<'d, 'a>(target: &'d mut Json<'a>, leg: &Leg<'_>) -> Option<&'d mut Json<'a>> {
    match (target, leg) {
        (Json::Array(values), leg) => {
            let index = leg.index_in(values)?;
            values.get_mut(index)
        }
        (Json::Object(members), Leg::Member(name)) => {
            let index = position(members, name).ok()?;
            members.get_mut(index).map(|(_, value)| value)
        }
        _ => None,
    }
}

/// Returns a member's index: objects are ordered by the length of the name, then by its bytes.
fn position(members: &[(Cow<'_, str>, Json<'_>)], name: &str) -> Result<usize, usize> {
    members.binary_search_by(|(member, _)| (member.len(), member.as_bytes()).cmp(&(name.len(), name.as_bytes())))
}

fn insert_member<'a>(members: &mut Vec<(Cow<'a, str>, Json<'a>)>, name: &str, value: Json<'a>) -> Decoded<()> {
    match position(members, name) {
        Ok(_) => no_fit(),
        Err(index) => {
            members.insert(index, (Cow::Owned(name.to_owned()), value));
            Ok(())
        }
    }
}

/// Parses a path as the server writes it: `$`, then `.name`, `."quoted name"`, `[index]`, `[last]` or `[last-n]` in turn.
fn parse_path(path: &str) -> Decoded<Vec<Leg<'_>>> {
    const BAD: Malformed = Malformed { what: "a JSON path that cannot be read", at: 0 };
    let mut rest = path.strip_prefix('$').ok_or(BAD)?;
    let mut legs = Vec::new();
    while !rest.is_empty() {
        if let Some(cell) = rest.strip_prefix('[') {
            let (index, behind) = cell.split_once(']').ok_or(BAD)?;
            legs.push(parse_cell(index.trim()).ok_or(BAD)?);
            rest = behind;
        } else if let Some(quoted) = rest.strip_prefix(".\"") {
            let (name, behind) = unquote(quoted).ok_or(BAD)?;
            legs.push(Leg::Member(Cow::Owned(name)));
            rest = behind;
        } else {
            let member = rest.strip_prefix('.').ok_or(BAD)?;
            let end = member.find(['.', '[']).unwrap_or(member.len());
            let (name, behind) = member.split_at(end);
            legs.push(Leg::Member(Cow::Borrowed(name)));
            rest = behind;
        }
    }
    Ok(legs)
}

fn parse_cell(text: &str) -> Option<Leg<'_>> {
    let Some(behind) = text.strip_prefix("last") else { return text.parse().ok().map(Leg::Cell) };
    match behind.trim_start() {
        "" => Some(Leg::FromEnd(0)),
        behind => behind.strip_prefix('-')?.trim_start().parse().ok().map(Leg::FromEnd),
    }
}

/// Reads a JSON string after its opening quote; returns the text and what follows the closing quote.
fn unquote(quoted: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut chars = quoted.char_indices();
    while let Some((index, char)) = chars.next() {
        match char {
            '"' => return Some((name, quoted.get(index + 1..)?)),
            '\\' => name.push(match chars.next()?.1 {
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'u' => unicode_escape(&mut chars)?,
                other => other,
            }),
            other => name.push(other),
        }
    }
    None
}

/// Reads a `\u` escape. The server escapes only control characters this way, which are no surrogates.
fn unicode_escape(chars: &mut std::str::CharIndices<'_>) -> Option<char> {
    let mut code = 0;
    for _ in 0..4 {
        code = code * 16 + chars.next()?.1.to_digit(16)?;
    }
    char::from_u32(code)
}

//! Format of what processes send to one another: columns of little-endian numbers after their counts.

use super::Role;
use super::slot::Slot;

/// The highest bit of a number: the touch is shared, or the key open.
const FLAG: u32 = 1 << 31;

/// Bytes that were not written by this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a part of the trace arrived damaged, or was made by another version of this program")]
pub struct WireError;

/// Result for a transaction, as far as it can be found inside its chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) position: i64,
    pub(super) number: u32,
    /// The newest transaction of the chunk that it depends on, barriers included; 0 for none.
    pub(super) dependency: u32,
    pub(super) role: Role,
}

/// A touch that may depend on one before its chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) key: u64,
    pub(super) number: u32,
    pub(super) shared: bool,
}

/// The last touches of a key in a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tail {
    pub(super) key: u64,
    pub(super) slot: Slot,
}

/// A dependency across chunks: a number of the chunk and the absolute number that it depends on.
pub(super) type Crossing = (u32, i64);

/// Reads counts and columns.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub(super) fn count(&mut self) -> Result<usize, WireError> {
        let mut column = self.column::<4>(1)?;
        column.next().map(|bytes| u32::from_le_bytes(bytes) as usize).ok_or(WireError)
    }

    /// Returns the next `count` values of `N` bytes.
    pub(super) fn column<const N: usize>(
        &mut self,
        count: usize,
    ) -> Result<impl Iterator<Item = [u8; N]> + use<'a, N>, WireError> {
        let length = count.checked_mul(N).ok_or(WireError)?;
        let (column, rest) = self.bytes.split_at_checked(length).ok_or(WireError)?;
        self.bytes = rest;
        Ok(column.chunks_exact(N).map(|value| {
            let mut bytes = [0; N];
            bytes.copy_from_slice(value);
            bytes
        }))
    }

    pub(super) fn end(&self) -> Result<(), WireError> {
        if self.bytes.is_empty() { Ok(()) } else { Err(WireError) }
    }
}

fn flagged(number: u32, flag: bool) -> [u8; 4] {
    (number | if flag { FLAG } else { 0 }).to_le_bytes()
}

fn count_of<T>(items: &[T]) -> [u8; 4] {
    (items.len() as u32).to_le_bytes()
}

pub(super) fn write_rows(rows: &[Row]) -> Vec<u8> {
    let mut out = Vec::with_capacity(4 + rows.len() * 17);
    out.extend(count_of(rows));
    out.extend(rows.iter().flat_map(|row| row.position.to_le_bytes()));
    out.extend(rows.iter().flat_map(|row| row.number.to_le_bytes()));
    out.extend(rows.iter().flat_map(|row| row.dependency.to_le_bytes()));
    out.extend(rows.iter().map(|row| row.role.code()));
    out
}

type Rows<I> = (usize, I);

/// Returns the number of rows, and the rows.
pub(super) fn read_rows(bytes: &[u8]) -> Result<Rows<impl Iterator<Item = Result<Row, WireError>> + '_>, WireError> {
    let mut reader = Reader::new(bytes);
    let count = reader.count()?;
    let positions = reader.column::<8>(count)?.map(i64::from_le_bytes);
    let numbers = reader.column::<4>(count)?.map(u32::from_le_bytes);
    let dependencies = reader.column::<4>(count)?.map(u32::from_le_bytes);
    let roles = reader.column::<1>(count)?;
    reader.end()?;
    let rows = positions.zip(numbers).zip(dependencies).zip(roles);
    let rows = rows.map(|(((position, number), dependency), [code])| {
        let role = Role::from_code(code).ok_or(WireError)?;
        Ok(Row { position, number, dependency, role })
    });
    Ok((count, rows))
}

pub(super) fn write_edges(heads: &[Head], tails: &[Tail]) -> Vec<u8> {
    let mut out = Vec::with_capacity(8 + heads.len() * 12 + tails.len() * 16);
    out.extend(count_of(heads));
    out.extend(count_of(tails));
    out.extend(heads.iter().flat_map(|head| head.key.to_le_bytes()));
    out.extend(heads.iter().flat_map(|head| flagged(head.number, head.shared)));
    out.extend(tails.iter().flat_map(|tail| tail.key.to_le_bytes()));
    out.extend(tails.iter().flat_map(|tail| flagged(tail.slot.exclusive, tail.slot.open)));
    out.extend(tails.iter().flat_map(|tail| tail.slot.shared.to_le_bytes()));
    out
}

type Edges<H, T> = (H, T);

pub(super) fn read_edges(
    bytes: &[u8],
) -> Result<Edges<impl Iterator<Item = Head> + '_, impl Iterator<Item = Tail> + '_>, WireError> {
    let mut reader = Reader::new(bytes);
    let (heads, tails) = (reader.count()?, reader.count()?);
    let head_keys = reader.column::<8>(heads)?.map(u64::from_le_bytes);
    let head_numbers = reader.column::<4>(heads)?.map(u32::from_le_bytes);
    let tail_keys = reader.column::<8>(tails)?.map(u64::from_le_bytes);
    let exclusive = reader.column::<4>(tails)?.map(u32::from_le_bytes);
    let shared = reader.column::<4>(tails)?.map(u32::from_le_bytes);
    reader.end()?;
    let heads = head_keys.zip(head_numbers);
    let heads = heads.map(|(key, number)| Head { key, number: number & !FLAG, shared: number & FLAG != 0 });
    let tails = tail_keys.zip(exclusive.zip(shared)).map(|(key, (exclusive, shared))| {
        let slot = Slot { exclusive: exclusive & !FLAG, shared, open: exclusive & FLAG != 0 };
        Tail { key, slot }
    });
    Ok((heads, tails))
}

pub(super) fn write_crossings(crossings: &[Crossing]) -> Vec<u8> {
    let mut out = Vec::with_capacity(4 + crossings.len() * 12);
    out.extend(count_of(crossings));
    out.extend(crossings.iter().flat_map(|(number, _)| number.to_le_bytes()));
    out.extend(crossings.iter().flat_map(|(_, dependency)| dependency.to_le_bytes()));
    out
}

pub(super) fn read_crossings(bytes: &[u8]) -> Result<impl Iterator<Item = Crossing> + '_, WireError> {
    let mut reader = Reader::new(bytes);
    let count = reader.count()?;
    let numbers = reader.column::<4>(count)?.map(u32::from_le_bytes);
    let dependencies = reader.column::<8>(count)?.map(i64::from_le_bytes);
    reader.end()?;
    Ok(numbers.zip(dependencies))
}

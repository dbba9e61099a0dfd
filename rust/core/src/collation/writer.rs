//! Appending of short pieces of bytes, each with one store.

/// Number of bytes stored for a short piece, whatever its length.
pub(super) const SHORT: usize = 16;
/// Number of bytes stored for a longer piece.
pub(super) const LONG: usize = 32;
/// Least number of bytes by which the buffer grows.
const ROOM: usize = 256;

/// Appends pieces of a few bytes to a buffer.
///
/// A piece is stored with a fixed number of bytes, which costs no branch on its length. The bytes after its end are
/// overwritten by the next piece.
pub(super) struct Writer<'r> {
    room: &'r mut Vec<u8>,
    start: usize,
    end: usize,
}

impl<'r> Writer<'r> {
    /// Begins after the present content, with space for `bytes` more; the buffer grows where that is not enough.
    pub(super) fn behind(room: &'r mut Vec<u8>, bytes: usize) -> Self {
        let start = room.len();
        room.resize(start + bytes, 0);
        Self { room, start, end: start }
    }

    /// Appends the first `length` bytes of a piece.
    #[expect(clippy::inline_always, reason = "so that the end stays in a register from one piece to the next")]
    #[inline(always)]
    pub(super) fn put<const N: usize>(&mut self, piece: &[u8; N], length: usize) {
        if let Some(room) = self.room.get_mut(self.end..).and_then(<[u8]>::first_chunk_mut) {
            *room = *piece;
        } else {
            put_at_end(self.room, self.end, piece);
        }
        self.end += length;
    }

    /// Appends the first `length` bytes of a piece that has [`LONG`] bytes at least.
    #[inline]
    pub(super) fn put_long(&mut self, piece: &[u8], length: usize) {
        match piece.first_chunk::<LONG>() {
            Some(first) if length <= LONG => self.put(first, length),
            _ => {
                put_at_end(self.room, self.end, piece.get(..length).unwrap_or(piece));
                self.end += length;
            }
        }
    }

    /// Cuts off the last `bytes` bytes.
    pub(super) fn cut(&mut self, bytes: usize) {
        self.end = self.end.saturating_sub(bytes).max(self.start);
    }

    /// Cuts bytes of one kind off the end of what was appended.
    pub(super) fn strip_trailing(&mut self, byte: u8) {
        let put = self.room.get(self.start..self.end).unwrap_or_default();
        self.end = self.start + put.iter().rposition(|b| *b != byte).map_or(0, |last| last + 1);
    }

    /// Drops the unused space.
    pub(super) fn end(self) {
        self.room.truncate(self.end);
    }
}

/// A piece with its padding, ready to be appended.
#[derive(Debug)]
pub(super) struct Padded {
    short: [u8; SHORT],
    /// The whole piece, where it is longer.
    long: Box<[u8]>,
    length: usize,
}

impl Padded {
    pub(super) fn new(mut piece: Vec<u8>) -> Self {
        let length = piece.len();
        piece.resize(length.max(LONG), 0);
        let short = *piece.first_chunk().unwrap_or(&[0; SHORT]);
        Self { short, long: piece.into_boxed_slice(), length }
    }

    #[inline]
    pub(super) fn append_to(&self, out: &mut Writer<'_>) {
        if self.length <= SHORT {
            out.put(&self.short, self.length);
        } else {
            out.put_long(&self.long, self.length);
        }
    }
}

/// Appends a piece after the first `end` bytes of the buffer, which is too small for it.
#[cold]
fn put_at_end(room: &mut Vec<u8>, end: usize, piece: &[u8]) {
    let needed = end + piece.len() + ROOM;
    if room.len() < needed {
        room.resize(needed * 2, 0);
    }
    if let Some(place) = room.get_mut(end..end + piece.len()) {
        place.copy_from_slice(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_follow_one_another_however_little_room_there_was() {
        for size in 0..40 {
            let mut out = b"before".to_vec();
            let mut expected = out.clone();
            let mut writer = Writer::behind(&mut out, size);
            for n in 0..40_u8 {
                let length = usize::from(n % 5);
                writer.put(&[n, n + 1, n + 2, n + 3, n + 4], length);
                expected.extend_from_slice(&[n, n + 1, n + 2, n + 3][..length]);
                let piece = [n; 60];
                writer.put_long(&piece, usize::from(n));
                expected.extend_from_slice(&piece[..usize::from(n)]);
            }
            writer.end();
            assert_eq!(out, expected, "{size}");
        }
    }

    #[test]
    fn only_one_kind_of_byte_is_stripped_and_nothing_of_what_was_there() {
        for (bytes, left) in [(" ", " a b"), (" b", " a"), (" ba", "")] {
            let mut out = b"before   ".to_vec();
            let mut writer = Writer::behind(&mut out, 0);
            writer.put(b" a b   ", 7);
            for byte in bytes.bytes().flat_map(|byte| [byte, b' ']) {
                writer.strip_trailing(byte);
            }
            writer.end();
            assert_eq!(out, format!("before   {left}").into_bytes());
        }
    }
}

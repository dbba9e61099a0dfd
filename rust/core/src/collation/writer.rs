//! Short pieces of bytes, one behind the other, each stored in one go.

/// Bytes that every padded piece has, whatever its length.
pub(super) const PADDED: usize = 16;
/// Room that is made at a time, at least.
const ROOM: usize = 256;

/// Appends pieces of a few bytes, in room that is used again and again.
///
/// A piece is stored with a fixed number of bytes, which costs no branch on its length; what stands behind its end is overwritten by
/// the next one.
pub(super) struct Writer<'r> {
    room: &'r mut Vec<u8>,
    end: usize,
}

impl<'r> Writer<'r> {
    /// Begins at the start of the room.
    pub(super) fn new(room: &'r mut Vec<u8>) -> Self {
        Self { room, end: 0 }
    }

    /// Appends the first `length` bytes of a piece.
    #[expect(clippy::inline_always, reason = "so that the end stays in a register from one piece to the next")]
    #[inline(always)]
    pub(super) fn put<const N: usize>(&mut self, piece: [u8; N], length: usize) {
        if let Some(room) = self.room.get_mut(self.end..).and_then(<[u8]>::first_chunk_mut) {
            *room = piece;
        } else {
            put_at_end(self.room, self.end, &piece);
        }
        self.end += length;
    }

    /// Appends the first `length` bytes of a piece that has [`PADDED`] bytes at least.
    #[expect(clippy::inline_always, reason = "so that the end stays in a register from one piece to the next")]
    #[inline(always)]
    pub(super) fn put_padded(&mut self, piece: &[u8], length: usize) {
        match piece.first_chunk::<PADDED>() {
            Some(first) if length <= PADDED => self.put(*first, length),
            _ => {
                put_at_end(self.room, self.end, piece.get(..length).unwrap_or(piece));
                self.end += length;
            }
        }
    }

    /// Cuts bytes of one kind off the end.
    pub(super) fn strip_trailing(&mut self, byte: u8) {
        self.end = self.written().iter().rposition(|b| *b != byte).map_or(0, |last| last + 1);
    }

    /// All pieces.
    pub(super) fn written(&self) -> &[u8] {
        self.room.get(..self.end).unwrap_or_default()
    }
}

/// A piece that is kept as it is put.
#[derive(Debug)]
pub(super) struct Padded {
    short: [u8; PADDED],
    /// All of it, where it is longer.
    long: Box<[u8]>,
    length: usize,
}

impl Padded {
    pub(super) fn new(mut piece: Vec<u8>) -> Self {
        let length = piece.len();
        piece.resize(length.max(PADDED), 0);
        let short = *piece.first_chunk().unwrap_or(&[0; PADDED]);
        Self { short, long: piece.into_boxed_slice(), length }
    }

    #[inline]
    pub(super) fn append_to(&self, out: &mut Writer<'_>) {
        if self.length <= PADDED {
            out.put(self.short, self.length);
        } else {
            out.put_padded(&self.long, self.length);
        }
    }
}

/// Puts a piece behind the first `end` bytes of the room, which is too small for it.
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
            let mut room = vec![1; size];
            let mut expected = Vec::new();
            let mut writer = Writer::new(&mut room);
            for n in 0..40_u8 {
                let length = usize::from(n % 5);
                writer.put([n, n + 1, n + 2, n + 3, n + 4], length);
                expected.extend_from_slice(&[n, n + 1, n + 2, n + 3][..length]);
                let piece = [n; 60];
                writer.put_padded(&piece, usize::from(n));
                expected.extend_from_slice(&piece[..usize::from(n)]);
            }
            assert_eq!(writer.written(), expected, "{size}");
        }
    }

    #[test]
    fn only_one_kind_of_byte_is_stripped() {
        let mut room = Vec::new();
        let mut writer = Writer::new(&mut room);
        writer.put(*b" a b   ", 7);
        writer.strip_trailing(b' ');
        assert_eq!(writer.written(), b" a b");
        writer.strip_trailing(b' ');
        writer.strip_trailing(b'b');
        writer.strip_trailing(b' ');
        assert_eq!(writer.written(), b" a");
    }
}

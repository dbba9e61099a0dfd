//! Runs of equal numbers, and the later levels' weights written as runs.

use super::writer::Writer;

/// Separator before each later level; neither a code nor a run begins with it.
const LEVEL: u8 = 0xFF;
/// Bytes of a written run.
const WRITTEN: usize = 6;
/// Number of runs that are written without a check that there are so many.
const AT_ANY_RATE: usize = 4;

/// A number that is repeated, and the count of all numbers up to its last repetition.
pub(super) type Run = (u32, u32);

/// Finds runs without a branch for each number: the run that a number belongs to is stored again with it.
pub(super) struct Finder<'r> {
    runs: &'r mut [Run],
    last: usize,
    number: u32,
    count: u32,
}

impl<'r> Finder<'r> {
    /// Creates a finder for `most` numbers at most; `room` is a reusable buffer.
    ///
    /// `none` is a number that does not come.
    pub(super) fn new(room: &'r mut Vec<Run>, most: usize, none: u32) -> Self {
        if room.len() <= most {
            room.resize(most + 1, (0, 0));
        }
        if let Some(first) = room.first_mut() {
            *first = (none, 0);
        }
        Self { runs: room, last: 0, number: none, count: 0 }
    }

    /// Adds a number.
    #[inline]
    pub(super) fn add(&mut self, number: u32) {
        self.count += 1;
        self.last += usize::from(number != self.number);
        self.number = number;
        if let Some(run) = self.runs.get_mut(self.last) {
            *run = (number, self.count);
        }
    }

    /// Iterates over each run's number and length, in order.
    pub(super) fn found(&self) -> impl Iterator<Item = (u32, u32)> {
        let runs = self.runs.get(..=self.last).unwrap_or_default();
        runs.windows(2).filter_map(|two| match *two {
            [(_, before), (number, end)] => Some((number, end - before)),
            _ => None,
        })
    }
}

/// Writes a level's weights as runs: two bytes of weight, four of length.
pub(super) struct Runs<'w, 'o> {
    out: &'w mut Writer<'o>,
    weight: u16,
    length: u32,
}

impl<'w, 'o> Runs<'w, 'o> {
    /// Begins a level in `out`.
    pub(super) fn begin(out: &'w mut Writer<'o>) -> Self {
        out.put(&[LEVEL], 1);
        Self { out, weight: 0, length: 0 }
    }

    /// Adds a weight `length` times.
    #[inline]
    pub(super) fn add(&mut self, weight: u16, length: u32) {
        if weight != self.weight {
            self.write();
            self.weight = weight;
        }
        self.length += length;
    }

    /// Adds the weights of the bytes, by a table of weights; 0 is no weight.
    #[inline]
    pub(super) fn add_bytes(&mut self, bytes: &[u8], weights: &[u16; 256]) {
        let weight_of = |byte: &u8| weights[usize::from(*byte)];
        for bytes in bytes.chunks(u64::BITS as usize) {
            // A bit marks each position where the weight changes: found without a branch for each byte.
            let (mut changes, mut last) = (0_u64, 0);
            for (at, byte) in bytes.iter().enumerate() {
                changes |= u64::from(weight_of(byte) != last) << at;
                last = weight_of(byte);
            }
            while changes != 0 {
                let at = changes.trailing_zeros();
                changes &= changes - 1;
                let end = changes.trailing_zeros().min(bytes.len() as u32);
                if let Some(weight) = bytes.get(at as usize).map(weight_of).filter(|weight| *weight != 0) {
                    self.add(weight, end - at);
                }
            }
        }
    }

    #[inline]
    fn write(&mut self) {
        if self.length > 0 {
            self.out.put(&piece(self.weight, self.length), WRITTEN);
            self.length = 0;
        }
    }

    /// Writes the last run, unless its weight is that of a space.
    pub(super) fn end(mut self, pad: Option<u16>) {
        if pad != Some(self.weight) {
            self.write();
        }
    }
}

/// Writes a level of up to 64 characters with one of two weights; a set bit chooses the second.
///
/// Some runs are always written, and count only if they exist, which costs no branch on their number.
#[inline]
pub(super) fn write_two_weights(
    out: &mut Writer<'_>,
    (set, characters): (u64, u32),
    [weight, weight_of_set]: [u16; 2],
    pad: Option<u16>,
) {
    out.put(&[LEVEL], 1);
    let all = u64::MAX.checked_shr(u64::BITS - characters).unwrap_or(0);
    let mut begins = (set ^ set << 1 | 1) & all;
    let mut last = None;
    while begins != 0 {
        for _ in 0..AT_ANY_RATE {
            let at = begins.trailing_zeros();
            let there = begins != 0;
            begins &= begins.wrapping_sub(1);
            let end = begins.trailing_zeros().min(characters);
            let found = if set >> (at % u64::BITS) & 1 == 1 { weight_of_set } else { weight };
            out.put(&piece(found, end.wrapping_sub(at)), if there { WRITTEN } else { 0 });
            last = if there { Some(found) } else { last };
        }
    }
    if last.is_some() && last == pad {
        out.cut(WRITTEN);
    }
}

/// Returns a run as it is written.
fn piece(weight: u16, length: u32) -> [u8; 8] {
    (u64::from(weight) << 48 | u64::from(length) << 16).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn form(add: &dyn Fn(&mut Runs<'_, '_>)) -> Vec<u8> {
        let mut room = Vec::new();
        let mut writer = Writer::behind(&mut room, 0);
        let mut runs = Runs::begin(&mut writer);
        add(&mut runs);
        runs.end(None);
        writer.end();
        room
    }

    fn one_by_one(runs: &mut Runs<'_, '_>, bytes: &[u8], weights: &[u16; 256]) {
        for weight in bytes.iter().map(|byte| weights[usize::from(*byte)]).filter(|weight| *weight != 0) {
            runs.add(weight, 1);
        }
    }

    proptest! {
        #[test]
        fn runs_say_what_was_added(numbers in proptest::collection::vec(0_u32..3, 0..50)) {
            let mut room = vec![(7, 7); 3];
            let mut finder = Finder::new(&mut room, numbers.len(), u32::MAX);
            for number in &numbers {
                finder.add(*number);
            }
            let found: Vec<_> = finder.found().collect();
            let again: Vec<_> = found.iter().flat_map(|(number, length)| vec![*number; *length as usize]).collect();
            prop_assert_eq!(again, numbers);
            prop_assert!(found.windows(2).all(|two| two[0].0 != two[1].0));
        }

        #[test]
        fn two_weights_are_written_as_if_added_one_by_one(
            set in any::<u64>(), less in any::<u64>(), characters in 0_u32..=64, pad in proptest::option::of(1_u16..4),
        ) {
            for set in [set, set & less, 0, u64::MAX] {
                let set = set & u64::MAX.checked_shr(64 - characters).unwrap_or(0);
                let mut together = vec![1];
                let mut writer = Writer::behind(&mut together, 0);
                write_two_weights(&mut writer, (set, characters), [2, 3], pad);
                writer.end();
                let mut one_by_one = vec![1];
                let mut writer = Writer::behind(&mut one_by_one, 0);
                let mut runs = Runs::begin(&mut writer);
                for at in 0..characters {
                    runs.add(if set >> at & 1 == 1 { 3 } else { 2 }, 1);
                }
                runs.end(pad);
                writer.end();
                prop_assert_eq!(together, one_by_one);
            }
        }

        #[test]
        fn weights_of_bytes_are_written_as_if_added_one_by_one(bytes in proptest::collection::vec(0_u8..4, 0..200)) {
            let mut weights = [0; 256];
            weights[..4].copy_from_slice(&[0, 2, 8, 8]);
            let together = form(&|runs| runs.add_bytes(&bytes, &weights));
            let one_by_one = form(&|runs| one_by_one(runs, &bytes, &weights));
            prop_assert_eq!(together, one_by_one);
        }
    }
}

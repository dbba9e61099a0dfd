//! Runs of equal numbers, and the later levels' weights written as runs.

use super::writer::Writer;

/// Stands before each later level; neither a code nor a run begins with it.
const LEVEL: u8 = 0xFF;

/// A number that comes several times one after the other, and how many numbers there are up to its last.
pub(super) type Run = (u32, u32);

/// Finds runs without a branch for each number: the run that a number belongs to is stored again with it.
pub(super) struct Finder<'r> {
    runs: &'r mut [Run],
    last: usize,
    number: u32,
    count: u32,
}

impl<'r> Finder<'r> {
    /// Finds the runs of `most` numbers at most; `room` is what it works in.
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

    /// Each run's number and length, in order.
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
    /// Begins a level.
    pub(super) fn begin(out: &'w mut Writer<'o>) -> Self {
        out.put([LEVEL], 1);
        Self { out, weight: 0, length: 0 }
    }

    /// Adds so many times a weight.
    #[inline]
    pub(super) fn add(&mut self, weight: u16, length: u32) {
        if weight != self.weight {
            self.write();
            self.weight = weight;
        }
        self.length += length;
    }

    /// Adds the weights of some bytes, by a table of them; 0 is no weight.
    #[inline]
    pub(super) fn add_bytes(&mut self, bytes: &[u8], weights: &[u16; 256]) {
        let weight_of = |byte: &u8| weights[usize::from(*byte)];
        for bytes in bytes.chunks(u64::BITS as usize) {
            // A bit where another weight begins: found without a branch for each byte.
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
            let (weight, length) = (u64::from(self.weight), u64::from(self.length));
            self.out.put((weight << 48 | length << 16).to_be_bytes(), 6);
            self.length = 0;
        }
    }

    /// Writes the last run, unless it is of the weight that spaces have.
    pub(super) fn end(mut self, pad: Option<u16>) {
        if pad != Some(self.weight) {
            self.write();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
        fn weights_of_bytes_are_written_as_if_added_one_by_one(bytes in proptest::collection::vec(0_u8..4, 0..200)) {
            let mut weights = [0; 256];
            weights[..4].copy_from_slice(&[0, 2, 8, 8]);
            let form = |add: &dyn Fn(&mut Runs<'_, '_>)| {
                let mut room = Vec::new();
                let mut writer = Writer::new(&mut room);
                let mut runs = Runs::begin(&mut writer);
                add(&mut runs);
                runs.end(None);
                writer.written().to_vec()
            };
            let together = form(&|runs| runs.add_bytes(&bytes, &weights));
            let one_by_one = form(&|runs| {
                for weight in bytes.iter().map(|byte| weights[usize::from(*byte)]).filter(|weight| *weight != 0) {
                    runs.add(weight, 1);
                }
            });
            prop_assert_eq!(together, one_by_one);
        }
    }
}

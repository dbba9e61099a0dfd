//! The bytes of a large transaction go to files, and are the same there as in memory.

use std::ops::Range;

use paraply_spool::Data;

/// Bytes of a transaction in memory; pieces have an eighth of it. Every test of this process uses the same.
const IN_MEMORY: usize = 64;
const SEEDS: u64 = 40;

/// Numbers that look random (xorshift).
struct Draw(u64);

impl Draw {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most as u64) as usize
    }

    fn event(&mut self) -> Vec<u8> {
        (0..=self.below(40)).map(|_| self.below(256) as u8).collect()
    }
}

/// Events and their ranges, beside the data that holds them.
#[derive(Default)]
struct Model {
    data: Data,
    events: Vec<(Vec<u8>, Range<usize>)>,
}

impl Model {
    fn step(&mut self, draw: &mut Draw) {
        match draw.below(17) {
            0..8 => self.append(&draw.event()),
            8..11 => {
                let event = draw.event();
                let range = self.data.append_with(|out| {
                    out.extend_from_slice(&event);
                    Ok::<(), ()>(())
                });
                self.events.push((event, range.unwrap()));
            }
            11..15 if !self.events.is_empty() => {
                let (place, byte) = (draw.below(self.events.len()), draw.below(256) as u8);
                let (event, range) = &mut self.events[place];
                event[0] = byte;
                self.data.change(range, |bytes| bytes[0] = byte);
            }
            15 if !self.events.is_empty() => {
                // Only what was appended in the order of the ranges can be cut; a changed event may have moved.
                let from = draw.below(self.events.len());
                let start = self.events[from].1.start;
                if self.events[..from].iter().all(|(_, range)| range.end <= start) {
                    self.data.truncate(start);
                    self.events.truncate(from);
                }
            }
            16 if draw.below(4) == 0 => *self = Self::default(),
            _ => {}
        }
    }

    fn append(&mut self, event: &[u8]) {
        let range = self.data.append(event);
        self.events.push((event.to_vec(), range));
    }

    fn check(&self, data: &Data) {
        for (event, range) in &self.events {
            assert_eq!(data.get(range.clone()), Some(event.as_slice()));
            assert_eq!(&data[range.clone()], event.as_slice());
        }
        assert_eq!(data.get(data.len()..data.len() + 1), None);
    }
}

#[test]
fn any_events_are_read_as_they_were_written() {
    paraply_spool::set_most_in_memory(IN_MEMORY);
    for seed in 1..=SEEDS {
        let (mut draw, mut model) = (Draw(seed * 0x9e37_79b9), Model::default());
        for _ in 0..120 {
            model.step(&mut draw);
            model.check(&model.data);
        }
        let (copy, before) = (model.data.clone(), model.events.clone());
        assert_eq!(copy, model.data, "seed {seed}");
        model.append(&[1; 30]);
        model.check(&model.data);
        Model { data: Data::default(), events: before }.check(&copy);
    }
}

#[test]
fn only_a_large_transaction_is_in_files_and_little_of_it_in_memory() {
    paraply_spool::set_most_in_memory(IN_MEMORY);
    let mut data = Data::default();
    for number in 0..6 {
        data.append(&[number; 10]);
        assert_eq!(data.in_files(), 0);
    }
    for number in 0..100 {
        data.append(&[number; 10]);
        assert!(data.len() - data.in_files() < IN_MEMORY + 10);
    }
    assert!(data.in_files() > 1000);
    data.clear();
    assert!(data.is_empty() && data.in_files() == 0);
}

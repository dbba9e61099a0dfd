use std::collections::VecDeque;

use super::*;

/// A stream that returns fixed bytes in pieces of limited length, and keeps what is written.
struct Scripted {
    input: VecDeque<u8>,
    piece: usize,
    written: Vec<u8>,
}

impl Read for Scripted {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = into.len().min(self.piece).min(self.input.len());
        for (to, from) in into.iter_mut().zip(self.input.drain(..count)) {
            *to = from;
        }
        Ok(count)
    }
}

impl Write for Scripted {
    fn write(&mut self, from: &[u8]) -> std::io::Result<usize> {
        self.written.extend_from_slice(from);
        Ok(from.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn packets(input: &[u8], piece: usize) -> Packets<Scripted> {
    Packets::new(Scripted { input: input.iter().copied().collect(), piece, written: Vec::new() })
}

fn framed(packet: &[u8], first: u8) -> Vec<u8> {
    let mut writer = packets(b"", 1);
    writer.sequence = Some(first);
    writer.write(packet).unwrap();
    writer.stream.written
}

#[test]
fn packets_come_whole_however_they_are_torn() {
    let large = vec![7; 70_000];
    let input = [framed(b"one", 0), framed(b"", 1), framed(&large, 2)].concat();
    for piece in [1, 2, 3, 5, 1000, 1 << 20] {
        let (mut packets, mut packet) = (packets(&input, piece), Vec::new());
        for expected in [&b"one"[..], b"", &large] {
            packets.read(&mut packet).unwrap();
            assert!(packet == expected, "in pieces of {piece}");
        }
        assert!(matches!(packets.read(&mut packet), Err(Error::Lost(_))));
    }
}

#[test]
fn frames_are_joined_and_a_full_last_one_is_followed_by_an_empty_one() {
    for length in [LONGEST_FRAME - 1, LONGEST_FRAME, LONGEST_FRAME + 1, 2 * LONGEST_FRAME] {
        let sent: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
        let input =
            [framed(&sent, 255), framed(b"next", 255_u8.wrapping_add((length / LONGEST_FRAME + 1) as u8))].concat();
        let (mut packets, mut packet) = (packets(&input, 1 << 20), Vec::new());
        packets.sequence = Some(255);
        packets.read(&mut packet).unwrap();
        assert!(packet == sent, "{length}");
        packets.read(&mut packet).unwrap();
        assert_eq!(packet, b"next");
    }
}

#[test]
fn a_packet_that_ends_early_is_a_lost_connection() {
    let input = framed(b"some bytes", 0);
    for end in 0..input.len() {
        let mut packets = packets(&input[..end], 3);
        assert!(matches!(packets.read(&mut Vec::new()), Err(Error::Lost(_))), "{end}");
    }
}

#[test]
fn a_wrong_number_is_refused_and_one_after_an_acknowledgement_is_not() {
    let mut packet = Vec::new();
    assert!(matches!(packets(&framed(b"x", 3), 9).read(&mut packet), Err(Error::Lost(_))));
    let mut loose = packets(&framed(b"x", 3), 9);
    loose.count_loosely();
    loose.read(&mut packet).unwrap();
    // Within one packet the frames have their order.
    let mut torn = framed(&vec![1; LONGEST_FRAME], 0);
    *torn.get_mut(LONGEST_FRAME + 7).unwrap() = 9;
    let mut torn = packets(&torn, 1 << 20);
    torn.count_loosely();
    assert!(matches!(torn.read(&mut packet), Err(Error::Lost(_))));
}

#[test]
fn what_is_read_ahead_is_told_by_whole_packets() {
    let input = [framed(b"one", 0), framed(b"two", 1), framed(b"three", 2)].concat();
    let (mut packets, mut packet) = (packets(&input[..18], 1 << 20), Vec::new());
    assert!(!packets.has_whole());
    packets.read(&mut packet).unwrap();
    assert!(packets.has_whole());
    packets.read(&mut packet).unwrap();
    assert!(!packets.has_whole(), "the third one is torn");
}

#[test]
fn nothing_that_was_said_ahead_gets_into_tls() {
    let input = [framed(b"greeting", 0), framed(b"ahead", 1)].concat();
    let mut packets = packets(&input, 1 << 20);
    packets.read(&mut Vec::new()).unwrap();
    assert!(matches!(packets.replace(Ok), Err(Error::Client(_))));
}

#[test]
fn endless_frames_do_not_take_endless_memory() {
    struct Endless(u8);
    impl Read for Endless {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            // Headers at the right positions are not needed: every byte of a frame is a header of the longest frame
            // too.
            into.fill(0xff);
            self.0 = self.0.wrapping_add(1);
            Ok(into.len())
        }
    }
    impl Write for Endless {
        fn write(&mut self, from: &[u8]) -> std::io::Result<usize> {
            Ok(from.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut packets = Packets::new(Endless(0));
    packets.count_loosely();
    assert!(matches!(packets.read(&mut Vec::new()), Err(Error::Lost(_))));
}

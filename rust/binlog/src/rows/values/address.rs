//! `MariaDB`'s types of a fixed number of bytes as the server shows them: UUID, INET4 and INET6.
//!
//! The log holds their bytes in the order of their text, whatever the order in the table's files (a UUID's parts are reordered there),
//! and without the zero bytes at their end. Source: logs of `MariaDB` 10.11 and 11.8.

use std::io::Write as _;

/// Returns the value with the zero bytes that the log left out; none where the log has more bytes than fit.
fn whole<const WIDTH: usize>(bytes: &[u8]) -> Option<[u8; WIDTH]> {
    let mut whole = [0; WIDTH];
    whole.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(whole)
}

/// Appends a UUID; returns false where the bytes are none.
pub fn write_uuid(bytes: &[u8], out: &mut Vec<u8>) -> bool {
    let Some(bytes) = whole::<16>(bytes) else { return false };
    for (place, byte) in bytes.iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        print(out, format_args!("{byte:02x}"));
    }
    true
}

/// Appends an IPv4 address; returns false where the bytes are none.
pub fn write_inet4(bytes: &[u8], out: &mut Vec<u8>) -> bool {
    let Some([a, b, c, d]) = whole(bytes) else { return false };
    print(out, format_args!("{a}.{b}.{c}.{d}"));
    true
}

/// Appends an IPv6 address; returns false where the bytes are none.
///
/// The first longest run of zero groups becomes `::`, even if it is one group. Addresses that begin with six zero groups, or with five and
/// `ffff`, end like an IPv4 address.
pub fn write_inet6(bytes: &[u8], out: &mut Vec<u8>) -> bool {
    let Some(bytes) = whole::<16>(bytes) else { return false };
    let (pairs, _) = bytes.as_chunks::<2>();
    let groups: Vec<u16> = pairs.iter().map(|pair| u16::from_be_bytes(*pair)).collect();
    let (start, length) = longest_gap(&groups);
    let embedded = start == 0 && (length == 6 || (length == 5 && groups.get(5) == Some(&0xffff)));
    let mut place = 0;
    while place < groups.len() {
        if place == start && length > 0 {
            out.extend_from_slice(if place == 0 { b"::" } else { b":" });
            place += length;
            continue;
        }
        if embedded && place == 6 {
            return write_inet4(bytes.get(12..).unwrap_or_default(), out);
        }
        print(out, format_args!("{:x}", groups.get(place).copied().unwrap_or_default()));
        place += 1;
        if place < groups.len() {
            out.push(b':');
        }
    }
    true
}

/// Returns the start and the length of the first longest run of zero groups.
fn longest_gap(groups: &[u16]) -> (usize, usize) {
    let (mut best, mut run) = ((0, 0), (0, 0));
    for (place, group) in groups.iter().enumerate() {
        run = if *group != 0 { (place + 1, 0) } else { (run.0, run.1 + 1) };
        if run.1 > best.1 {
            best = run;
        }
    }
    best
}

/// Appends formatted text. Writing to a vector cannot fail.
fn print(out: &mut Vec<u8>, arguments: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(arguments);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: fn(&[u8], &mut Vec<u8>) -> bool, bytes: &[u8]) -> Option<String> {
        let mut out = Vec::new();
        write(bytes, &mut out).then(|| String::from_utf8(out).unwrap())
    }

    #[test]
    fn zero_bytes_that_the_log_left_out_are_there_again() {
        assert_eq!(text(write_uuid, b"").as_deref(), Some("00000000-0000-0000-0000-000000000000"));
        assert_eq!(text(write_inet4, &[1, 2, 3]).as_deref(), Some("1.2.3.0"));
        assert_eq!(text(write_inet4, &[]).as_deref(), Some("0.0.0.0"));
        assert_eq!(text(write_inet6, &[]).as_deref(), Some("::"));
    }

    #[test]
    fn longer_values_are_no_addresses() {
        assert_eq!(text(write_uuid, &[1; 17]), None);
        assert_eq!(text(write_inet4, &[1; 5]), None);
        assert_eq!(text(write_inet6, &[1; 17]), None);
    }

    #[test]
    fn ipv6_addresses_as_mariadb_11_8_shows_them() {
        for (groups, expected) in [
            ([0, 0, 0, 0, 0, 0, 0, 1], "::1"),
            ([0, 0, 0, 0, 0, 0, 1, 2], "::0.1.0.2"),
            ([0, 0, 0, 0, 0, 0xffff, 0x102, 0x304], "::ffff:1.2.3.4"),
            ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1], "2001:db8::1"),
            ([1, 0, 2, 3, 4, 5, 6, 7], "1::2:3:4:5:6:7"),
            ([1, 0, 0, 2, 0, 0, 3, 4], "1::2:0:0:3:4"),
            ([1, 0, 0, 2, 0, 0, 0, 0], "1:0:0:2::"),
            ([1, 2, 3, 4, 5, 6, 7, 0], "1:2:3:4:5:6:7::"),
            ([0, 2, 3, 4, 5, 6, 7, 8], "::2:3:4:5:6:7:8"),
        ] {
            let bytes: Vec<u8> = groups.iter().flat_map(|group: &u16| group.to_be_bytes()).collect();
            assert_eq!(text(write_inet6, &bytes).as_deref(), Some(expected));
        }
    }
}

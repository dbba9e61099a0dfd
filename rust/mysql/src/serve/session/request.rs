//! Requests of replicas, read without trust in the lengths that they state.

use paraply_binlog::error::Fault;
use paraply_binlog::event::cursor::Cursor;
use paraply_binlog::event::gtid_event::previous_gtids;
use paraply_core::gtid::GtidSet;

/// First bytes of requests.
pub(in crate::serve) mod commands {
    pub(in crate::serve) const QUIT: u8 = 0x01;
    pub(in crate::serve) const QUERY: u8 = 0x03;
    pub(in crate::serve) const PING: u8 = 0x0e;
    pub(in crate::serve) const BINLOG_DUMP: u8 = 0x12;
    pub(in crate::serve) const REGISTER_REPLICA: u8 = 0x15;
    pub(in crate::serve) const BINLOG_DUMP_GTID: u8 = 0x1e;
}

/// The peer does not wait for what is written later.
const NON_BLOCK: u16 = 0x01;
/// The peer knows heartbeats with positions beyond 4 GiB.
const HEARTBEATS_V2: u16 = 0x02;

/// A replica as it registers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::serve) struct Registration {
    pub(in crate::serve) server_id: u32,
    pub(in crate::serve) host: String,
    pub(in crate::serve) port: u16,
}

/// A request for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::serve) struct DumpRequest {
    pub(in crate::serve) server_id: u32,
    pub(in crate::serve) file: String,
    pub(in crate::serve) position: u64,
    /// Transactions that the replica has; none for a request by file and position.
    pub(in crate::serve) received: Option<GtidSet>,
    pub(in crate::serve) waits: bool,
    pub(in crate::serve) heartbeats_v2: bool,
}

/// Reads `COM_REGISTER_SLAVE`, without its first byte.
pub(in crate::serve) fn registration(body: &[u8]) -> Result<Registration, Fault> {
    let mut cursor = Cursor::new(body);
    let server_id = cursor.u32()?;
    let mut text = || {
        let length = usize::from(cursor.u8()?);
        cursor.take(length).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    };
    let (host, _user, _password) = (text()?, text()?, text()?);
    Ok(Registration { server_id, host, port: cursor.u16()? })
}

/// Reads `COM_BINLOG_DUMP`, without its first byte.
pub(in crate::serve) fn dump(body: &[u8]) -> Result<DumpRequest, Fault> {
    let mut cursor = Cursor::new(body);
    let (position, flags, server_id) = (cursor.u32()?, cursor.u16()?, cursor.u32()?);
    let file = String::from_utf8_lossy(cursor.rest()).into_owned();
    Ok(of(server_id, flags, file, u64::from(position), None))
}

/// Reads `COM_BINLOG_DUMP_GTID`, without its first byte.
pub(in crate::serve) fn dump_gtid(body: &[u8]) -> Result<DumpRequest, Fault> {
    let mut cursor = Cursor::new(body);
    let (flags, server_id) = (cursor.u16()?, cursor.u32()?);
    let length = cursor.u32()? as usize;
    let file = String::from_utf8_lossy(cursor.take(length)?).into_owned();
    let position = cursor.u64()?;
    let length = cursor.u32()? as usize;
    let mut received = GtidSet::new();
    for range in previous_gtids(cursor.take(length)?)? {
        received.add_range(&range.origin, range.first, range.last);
    }
    Ok(of(server_id, flags, file, position, Some(received)))
}

fn of(server_id: u32, flags: u16, file: String, position: u64, received: Option<GtidSet>) -> DumpRequest {
    // A request of the server 0 is one of mysqlbinlog, which does not wait either.
    let waits = server_id != 0 && flags & NON_BLOCK == 0;
    DumpRequest { server_id, file, position, received, waits, heartbeats_v2: flags & HEARTBEATS_V2 != 0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_request_by_position_is_read_field_by_field() {
        let request = dump(b"\x9d\0\0\0\x01\0\x07\0\0\0binlog.000041").unwrap();
        assert_eq!((request.file.as_str(), request.position, request.server_id), ("binlog.000041", 157, 7));
        assert_eq!((request.received, request.waits), (None, false));
    }

    #[test]
    fn a_request_by_gtids_has_a_set_which_may_be_cut_short() {
        let mut body = b"\x04\0\x07\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0".to_vec();
        let mut set = 1_u64.to_le_bytes().to_vec();
        set.extend([0x11; 16]);
        for number in [1_u64, 1, 10] {
            set.extend(number.to_le_bytes());
        }
        body.extend((set.len() as u32).to_le_bytes());
        body.extend(&set);
        let request = dump_gtid(&body).unwrap();
        assert_eq!(request.received.unwrap().to_string(), "11111111-1111-1111-1111-111111111111:1-9");
        assert!(request.waits);
        for end in 0..body.len() {
            assert!(dump_gtid(&body[..end]).is_err(), "{end}");
        }
        // A count of 2**56 sets is no reason to reserve memory for them.
        body[22] = 0xff;
        body[28] = 0xff;
        assert!(dump_gtid(&body).is_err());
    }

    /// Returns the body of a request with this set.
    fn asking(set: &[u8]) -> Vec<u8> {
        let mut body = b"\0\0\x07\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0".to_vec();
        body.extend((set.len() as u32).to_le_bytes());
        body.extend(set);
        body
    }

    fn numbers(numbers: &[u64]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    #[test]
    fn a_set_may_have_tags() {
        let tagged = [b"\x01\x01\0\0\0\0\0\x01".as_slice(), &[0x11; 16], b"\x06app", &numbers(&[1, 1, 3])].concat();
        let request = dump_gtid(&asking(&tagged)).unwrap();
        assert_eq!(request.received.unwrap().to_string(), "11111111-1111-1111-1111-111111111111:app:1-2");
        assert!(dump_gtid(&asking(&numbers(&[0]))).unwrap().received.unwrap().is_empty());
    }

    #[test]
    fn counts_that_the_bytes_do_not_hold_are_refused_at_once() {
        let of = |uuid: &[u8], rest: &[u64]| [numbers(&[1]), uuid.to_vec(), numbers(rest)].concat();
        let uuid = [0x11; 16];
        let cut = of(&uuid, &[1, 1, 4]);
        for set in [
            numbers(&[1 << 55]),
            numbers(&[u64::MAX]),
            b"\0\0\0\0\0\0\xff\0".to_vec(),
            of(&uuid, &[1 << 55]),
            of(&uuid, &[2, 1, 4]),
            of(&uuid[..15], &[]),
            cut[..cut.len() - 1].to_vec(),
        ] {
            assert!(dump_gtid(&asking(&set)).is_err(), "{set:?}");
        }
    }

    #[test]
    fn a_registration_names_the_replica() {
        let read = registration(b"\x07\0\0\0\x03db2\0\0\xea\x0c\0\0\0\0\0\0\0\0").unwrap();
        assert_eq!(read, Registration { server_id: 7, host: "db2".to_owned(), port: 3306 });
        assert!(registration(b"\x07\0\0\0\xffdb2").is_err());
    }

    proptest! {
        #[test]
        fn no_request_makes_it_panic(body: Vec<u8>) {
            let _ = registration(&body);
            let _ = dump(&body);
            let _ = dump_gtid(&body);
        }
    }
}

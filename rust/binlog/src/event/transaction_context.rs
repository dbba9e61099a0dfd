//! The context that a group member sends before a transaction: the set that it had executed when the transaction began.
//!
//! Members do not write it to their relay logs; it is only in captures of a group's messages.

use paraply_core::gtid::GtidSet;

use crate::event::cursor::Cursor;
use crate::event::gtid_event::previous_gtids;

/// Returns the snapshot version of a `Transaction_context` event's body.
///
/// None if it cannot be read: nothing that is applied depends on it.
pub(crate) fn snapshot(body: &[u8]) -> Option<GtidSet> {
    let mut cursor = Cursor::new(body);
    let uuid_length = usize::from(cursor.u8().ok()?);
    let _thread_id = cursor.u32().ok()?;
    let _brings_gtid = cursor.u8().ok()?;
    let snapshot_length = cursor.u32().ok()? as usize;
    let _write_set_items = cursor.u32().ok()?;
    let _read_set_items = cursor.u32().ok()?;
    cursor.take(uuid_length).ok()?;
    let ranges = previous_gtids(cursor.take(snapshot_length).ok()?).ok()?;
    let mut set = GtidSet::new();
    for range in ranges {
        set.add_range(&range.origin, range.first, range.last);
    }
    Some(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(snapshot: &[u8]) -> Vec<u8> {
        let uuid = b"3e11fa47-71ca-11e1-9e33-c80aa9429562";
        let mut body = vec![uuid.len() as u8];
        body.extend(7_u32.to_le_bytes());
        body.push(0);
        body.extend((snapshot.len() as u32).to_le_bytes());
        body.extend([0; 8]);
        body.extend(uuid);
        body.extend(snapshot);
        body
    }

    #[test]
    fn r2_the_snapshot_version_is_read() {
        let ids =
            [&1_u64.to_le_bytes()[..], &[9; 16], &1_u64.to_le_bytes(), &1_u64.to_le_bytes(), &6_u64.to_le_bytes()];
        let set = snapshot(&context(&ids.concat())).expect("a set");
        assert_eq!(set.to_string(), "09090909-0909-0909-0909-090909090909:1-5");
    }

    #[test]
    fn a_context_that_is_cut_short_says_nothing() {
        let whole = context(&0_u64.to_le_bytes());
        assert!(snapshot(&whole).is_some());
        assert!((0..whole.len()).all(|length| snapshot(&whole[..length]).is_none()));
    }
}

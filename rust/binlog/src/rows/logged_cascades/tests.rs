use super::rewrite::{Deletion, rewrite};
use super::*;
use crate::rows::CHILDREN_STAY;
use crate::transaction::Format;

fn mysql() -> Format {
    Format {
        event: Vec::new(),
        server_version: String::new(),
        mariadb: false,
        version: (9, 7, 4),
        post_header_lengths: Vec::new(),
        checksum: false,
        server_id: 1,
        created: 0,
    }
}

/// Returns the head of an event of deletions in one column.
fn head(flags: u16) -> Vec<u8> {
    let mut head = vec![0; 19];
    head[4] = 32;
    head.extend([7, 0, 0, 0, 0, 0]);
    head.extend(flags.to_le_bytes());
    head.extend([2, 0, 1, 0xff]);
    head
}

fn flags_of(event: &[u8]) -> u16 {
    u16::from_le_bytes([event[25], event[26]])
}

#[test]
fn rows_are_cut_where_their_checks_differ_and_only_the_last_event_ends_the_statement() {
    let rows = [Deletion::ChildrenStay(&[1]), Deletion::AsItIs(&[2]), Deletion::LeftOut, Deletion::Other(&[3])];
    let made = rewrite(&head(SQL_FOREIGN_KEYS | STMT_END), &rows).unwrap();
    let flags: Vec<_> = made.events().iter().map(|event| flags_of(event)).collect();
    assert_eq!(flags, [SQL_FOREIGN_KEYS | CHILDREN_STAY, SQL_FOREIGN_KEYS | STMT_END]);
    assert_eq!(made.events()[1][head(0).len()..], [2, 3]);
    assert!(made.events().iter().all(|event| event[9..13] == (event.len() as u32).to_le_bytes()));
    assert_eq!(made.rows_left_out(), 1);
}

#[test]
fn an_event_without_rows_still_ends_the_statement() {
    let made = rewrite(&head(SQL_FOREIGN_KEYS | STMT_END), &[Deletion::LeftOut]).unwrap();
    let [end] = made.events() else { panic!("one event") };
    let header = RowsHeader::parse(end, &mysql()).unwrap();
    assert!(header.is_dummy() && header.flags & STMT_END != 0);
    assert!(rewrite(&head(SQL_FOREIGN_KEYS), &[Deletion::LeftOut]).unwrap().events().is_empty());
    assert!(rewrite(&head(SQL_FOREIGN_KEYS), &[Deletion::AsItIs(&[1])]).is_none());
}

#[test]
fn only_rows_that_may_come_back_or_go_twice_are_looked_at() {
    let header = |type_code: u8, flags: u16| {
        let mut event = head(flags);
        event[4] = type_code;
        RowsHeader::parse(event.leak(), &mysql()).unwrap()
    };
    let (insert, delete) = (30, 32);
    let suspects = |events: &[(u8, u16)]| {
        let mut tables = Vec::new();
        events.iter().map(|(code, flags)| is_suspect(&mut tables, &header(*code, *flags))).collect::<Vec<_>>()
    };
    let checked = SQL_FOREIGN_KEYS;
    let cascaded = SQL_FOREIGN_KEYS | NO_FOREIGN_KEY_CHECKS;
    assert_eq!(suspects(&[(delete, checked), (insert, checked)]), [false, true]);
    assert_eq!(suspects(&[(delete, cascaded), (delete, checked)]), [false, true]);
    assert_eq!(suspects(&[(insert, checked), (delete, checked), (delete, checked)]), [false, false, false]);
}

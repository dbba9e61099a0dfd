use std::sync::Arc;

use paraply_binlog::event::types::TABLE_MAP;
use paraply_binlog::transaction::{Identity, RawEvent};
use paraply_core::schema::{Column, ForeignKey, KeyPart, ReferenceAction, Table, TableName, UniqueKey};

use super::*;

fn format(version: (u8, u8, u8), mariadb: bool) -> Format {
    Format {
        event: Vec::new(),
        server_version: String::new(),
        mariadb,
        version,
        post_header_lengths: Vec::new(),
        checksum: false,
        server_id: 1,
        created: 0,
    }
}

/// Returns a delete's header with these flags.
fn delete(flags: u16, format: &Format) -> RowsHeader<'static> {
    let mut event = vec![0; 19];
    event[4] = 32;
    event.extend([1, 0, 0, 0, 0, 0]);
    event.extend(flags.to_le_bytes());
    event.extend([2, 0]);
    RowsHeader::parse(event.leak(), format).unwrap()
}

fn table(name: &str, action: ReferenceAction) -> Table {
    let column = |name: &str| Column {
        name: name.to_owned(),
        data_type: "int".to_owned(),
        unsigned: false,
        nullable: false,
        collation: None,
        labels: Vec::new(),
        length: None,
        decimals: None,
        generated: None,
    };
    let parent = ForeignKey {
        name: "fk".to_owned(),
        columns: vec![0],
        parent: TableName::new("d", "parent"),
        parent_columns: vec!["id".to_owned()],
        on_delete: action,
        on_update: ReferenceAction::Refuse,
    };
    Table {
        name: TableName::new("d", name),
        columns: vec![column("id")],
        unique_keys: vec![UniqueKey { name: "PRIMARY".to_owned(), parts: vec![KeyPart::Column(0)] }],
        foreign_keys: if name == "child" { vec![parent] } else { Vec::new() },
    }
}

/// Returns the parent's table map: `d.parent(id INT NOT NULL)`.
fn parent_map() -> Vec<u8> {
    let mut event = vec![0; 19];
    event.extend([1, 0, 0, 0, 0, 0, 1, 0, 1, b'd', 0, 6]);
    event.extend(b"parent\0\x01\x03\x00\x00");
    event
}

#[test]
fn r15a_only_the_events_own_flags_say_that_cascades_are_logged() {
    let mysql = format((9, 7, 4), false);
    for (action, expected) in [(ReferenceAction::Cascade, true), (ReferenceAction::Refuse, false)] {
        let mut catalog = Catalog::default();
        catalog.put(table("parent", action));
        catalog.put(table("child", action));
        let mut known = KnownTables::default();
        known.begin(&catalog);
        let (_, index) = known.find(&parent_map(), &mysql, &catalog, 1).unwrap();
        let parent = known.get(index).unwrap();
        assert!(parent.definition.is_ok(), "{:?}", parent.definition);
        assert_eq!(hides_cascades(parent, &delete(1, &mysql)), expected);
        assert!(!hides_cascades(parent, &delete(1 | SQL_FOREIGN_KEYS, &mysql)), "the server logs what it carries out");
        assert!(!hides_cascades(parent, &delete(1 | NO_FOREIGN_KEY_CHECKS, &mysql)), "nothing is carried on");
    }
}

#[test]
fn r13_where_a_cascade_comes_back_to_its_table_references_count_as_checked() {
    let mysql = format((9, 7, 4), false);
    let cascade = ReferenceAction::Cascade;
    let to_itself = Table { foreign_keys: table("child", cascade).foreign_keys, ..table("parent", cascade) };
    let mut through_child = to_itself.clone();
    through_child.foreign_keys[0].parent = TableName::new("d", "child");
    for (parent, expected) in [(to_itself, true), (through_child, true), (table("parent", cascade), false)] {
        let mut catalog = Catalog::default();
        catalog.put(parent);
        catalog.put(table("child", cascade));
        let mut known = KnownTables::with_previous();
        known.begin(&catalog);
        let (_, index) = known.find(&parent_map(), &mysql, &catalog, 1).unwrap();
        let parent = known.get(index).unwrap();
        let cascaded = delete(1 | SQL_FOREIGN_KEYS | NO_FOREIGN_KEY_CHECKS, &mysql);
        assert_eq!(may_be_checked(parent, &cascaded, false), expected);
        assert!(!may_be_checked(parent, &cascaded, true), "the flags are the first row's");
        assert!(!may_be_checked(parent, &delete(1 | NO_FOREIGN_KEY_CHECKS, &mysql), false), "no cascade is in the log");
        assert!(may_be_checked(parent, &delete(1, &mysql), true));
    }
}

#[test]
fn r15a_versions_that_never_log_cascades() {
    assert!(may_log_cascades(&format((9, 7, 4), false)));
    for (version, mariadb) in [((9, 5, 0), false), ((8, 4, 9), false), ((11, 8, 1), true)] {
        assert!(!may_log_cascades(&format(version, mariadb)), "{version:?}");
    }
}

#[test]
fn tables_are_read_again_under_another_catalog() {
    let mysql = format((9, 7, 4), false);
    let mut catalog = Catalog::default();
    let mut known = KnownTables::default();
    known.begin(&catalog);
    let (id, first) = known.find(&parent_map(), &mysql, &catalog, 1).unwrap();
    assert_eq!(known.find(&parent_map(), &mysql, &catalog, 1), Ok((id, first)));
    assert_eq!(known.get(first).unwrap().definition, Err(Unusable::UnknownTable));
    catalog.put(table("parent", ReferenceAction::Refuse));
    known.begin(&catalog);
    let (_, second) = known.find(&parent_map(), &mysql, &catalog, 1).unwrap();
    assert!(known.get(second).unwrap().definition.is_ok());
    assert_eq!(known.get(second).unwrap().hashed, [true]);
}

/// Returns the parent's table map under another table id.
fn parent_map_of(id: u8) -> Vec<u8> {
    let mut event = parent_map();
    event[19] = id;
    event
}

#[test]
fn r11_rows_behind_a_statement_keep_the_definition_that_they_were_written_under() {
    let mysql = format((9, 7, 4), false);
    let old = table("parent", ReferenceAction::Refuse);
    let mut wide = old.clone();
    wide.columns.push(Column { name: "more".to_owned(), ..old.columns[0].clone() });
    let mut keyed = old.clone();
    keyed.unique_keys.push(UniqueKey { name: "u".to_owned(), parts: vec![KeyPart::Column(0)] });

    let mut catalog = Catalog::default();
    catalog.put(old);
    let mut known = KnownTables::with_previous();
    let mut keys = |catalog: &Catalog, id, server| {
        known.begin(catalog);
        let (_, index) = known.find(&parent_map_of(id), &mysql, catalog, server).unwrap();
        known.get(index).unwrap().definition.as_ref().map(|table| table.unique_keys.len()).ok()
    };
    assert_eq!((keys(&catalog, 1, 1), keys(&catalog, 1, 2)), (Some(1), Some(1)));
    catalog.put(keyed);
    assert_eq!(keys(&catalog, 1, 2), Some(1), "the id that stood for the old definition");
    assert_eq!(keys(&catalog, 2, 1), Some(2), "a new id");
    assert_eq!(keys(&catalog, 7, 3), Some(2), "a server that was not seen before");
    catalog.put(wide);
    assert_eq!(keys(&catalog, 9, 3), Some(2), "the newest definition that fits");
    catalog.retire(&TableName::new("d", "parent"));
    assert_eq!(keys(&catalog, 10, 3), Some(2), "the name is gone, late rows are not");
    catalog.remove(&TableName::new("d", "parent"));
    assert_eq!(keys(&catalog, 11, 3), None, "nothing is known any more (R13)");
}

#[test]
fn r13_what_is_applied_never_uses_a_previous_definition() {
    let mysql = format((9, 7, 4), false);
    let mut catalog = Catalog::default();
    catalog.put(table("parent", ReferenceAction::Refuse));
    catalog.retire(&TableName::new("d", "parent"));
    let mut known = KnownTables::default();
    known.begin(&catalog);
    let (_, index) = known.find(&parent_map(), &mysql, &catalog, 1).unwrap();
    assert_eq!(known.get(index).unwrap().definition, Err(Unusable::UnknownTable));
}

/// A deletion of one row of the parent in the form of servers before 5.6, whose events have no extra information.
fn short_delete(flags: u16, id: i32) -> Vec<u8> {
    let mut event = vec![0; 19];
    event[4] = 25;
    event.extend([1, 0, 0, 0, 0, 0]);
    event.extend(flags.to_le_bytes());
    event.extend([1, 1, 0]);
    event.extend(id.to_le_bytes());
    event
}

/// A transaction of these events, the first of which is a table map.
fn transaction(events: &[Vec<u8>]) -> Transaction {
    let mut raw: Vec<RawEvent> = Vec::new();
    for event in events {
        let start = raw.last().map_or(0, |before| before.range.end);
        let type_code = if raw.is_empty() { TABLE_MAP } else { event[4] };
        raw.push(RawEvent { type_code, range: start..start + event.len(), offset: start as u64 });
    }
    Transaction {
        identity: Identity::Anonymous,
        kind: Kind::Dml,
        server_id: 1,
        last_committed: None,
        sequence_number: None,
        mariadb_commit_id: None,
        mariadb_flags: 0,
        session: None,
        snapshot: None,
        row_settings: None,
        committed_at: None,
        no_foreign_key_checks: false,
        statements: Vec::new(),
        xid: None,
        data: events.concat().into(),
        rows: events.len() as u64 - 1,
        filtered: false,
        own_left_out: false,
        skipped: false,
        bytes: 0,
        file: 0,
        offset: 0,
        end_offset: 0,
        events: raw,
        format: Arc::new(format((9, 7, 4), false)),
    }
}

#[test]
fn r13_the_first_row_of_every_event_has_the_events_own_flags() {
    let cascade = ReferenceAction::Cascade;
    let mut catalog = Catalog::default();
    catalog.put(Table { foreign_keys: table("child", cascade).foreign_keys, ..table("parent", cascade) });
    let cascaded = 1 | SQL_FOREIGN_KEYS | NO_FOREIGN_KEY_CHECKS;
    let transaction = transaction(&[parent_map(), short_delete(cascaded, 1), short_delete(cascaded, 2)]);
    let mut scratch = Scratch::new(Options { scheme: Scheme::Group, ..Options::default() });
    let set = transaction_write_set(&transaction, &catalog, &mut scratch).unwrap();
    assert_eq!(set.exclusive.len(), 2, "each row is hashed once");
    let reasons: Vec<_> = scratch.take_fallbacks().iter().map(|(reason, ..)| reason).collect();
    assert!(!reasons.contains(&Reason::CascadeIntoItself), "no event has a second row: {reasons:?}");
}

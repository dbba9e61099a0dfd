//! Row events under the names of the target.

mod by_hand;

use std::io::Cursor;

use by_hand::{Log, collect};
use paraply_binlog::error::LogError;
use paraply_binlog::read::reader::{LogReader, ReaderOptions};
use paraply_binlog::rows::filter::TableFilter;
use paraply_binlog::rows::renames::TableRenames;
use paraply_binlog::rows::row_walk::count_rows;
use paraply_binlog::rows::table_map::TableMap;
use paraply_binlog::transaction::Transaction;
use paraply_core::schema::TableName;

fn name(database: &str, table: &str) -> TableName {
    TableName::new(database, table)
}

fn renames(databases: &[(&str, &str)], tables: &[(TableName, TableName)]) -> TableRenames {
    let databases = databases.iter().map(|(old, new)| ((*old).to_owned(), (*new).to_owned())).collect();
    TableRenames::new(databases, tables.iter().cloned().collect())
}

fn read(log: &Log, filter: TableFilter) -> (Vec<Transaction>, Option<LogError>) {
    let source = Box::new(Cursor::new(log.bytes.clone())) as _;
    collect(LogReader::from_sources(vec![("log".to_owned(), source)], ReaderOptions::default()).filtered(filter))
}

fn maps(transaction: &Transaction) -> Vec<TableMap> {
    let events = transaction.events.iter().filter(|event| event.type_code == by_hand::TABLE_MAP);
    events
        .map(|event| TableMap::parse(&transaction.data[event.range.clone()], &transaction.format).expect("a table map"))
        .collect()
}

#[test]
fn a_renamed_table_map_differs_in_its_names_alone() {
    for checksums in [true, false] {
        let log = Log::new(checksums).transaction(1);
        let (before, _) = read(&log, TableFilter::default());
        let old = maps(&before[0]).remove(0);
        let longest = "n".repeat(64);
        let new = name("somewhere else", &longest);
        let renames = renames(&[], &[(old.name.clone(), new.clone())]);
        let (after, error) = read(&log, TableFilter { renames, ..TableFilter::default() });
        assert!(error.is_none());
        let map = maps(&after[0]).remove(0);
        assert_eq!(map.name, new);
        assert_eq!((map.table_id, map.flags, &map.columns), (old.table_id, old.flags, &old.columns));
        let event = &after[0].events[0];
        let bytes = &after[0].data[event.range.clone()];
        assert_eq!(bytes.len(), u32::from_le_bytes(bytes[9..13].try_into().expect("four bytes")) as usize);
        assert_eq!(count_rows(&after[0]).expect("rows"), count_rows(&before[0]).expect("rows"));
    }
}

#[test]
fn the_name_of_a_table_goes_before_that_of_its_database() {
    let renames = renames(&[("a", "b"), ("b", "a")], &[(name("a", "t"), name("c", "u"))]);
    let new = |database, table| renames.new_name(&name(database, table)).expect("its own name");
    assert_eq!(new("a", "t"), Some(name("c", "u")));
    assert_eq!(new("a", "x"), Some(name("b", "x")));
    assert_eq!(new("b", "x"), Some(name("a", "x")));
    assert_eq!(new("c", "x"), None);
    assert!(renames.new_name(&name("c", "u")).is_err());
}

#[test]
fn two_tables_never_go_into_one() {
    let log = Log::new(true).transaction(1);
    let (before, _) = read(&log, TableFilter::default());
    let own = maps(&before[0]).remove(0).name;
    let taken = renames(&[], &[(name("other", "table"), own.clone())]);
    let (after, error) = read(&log, TableFilter { renames: taken.clone(), ..TableFilter::default() });
    assert!(after.is_empty());
    let message = error.expect("a refusal").to_string();
    assert!(message.contains("the rows of two tables would go into one"), "{message}");
    let left_out =
        TableFilter { exclude_databases: [own.database.clone()].into(), renames: taken, ..TableFilter::default() };
    assert!(read(&log, left_out).1.is_none());
    let database = renames(&[("other", own.database.as_str())], &[]);
    assert!(read(&log, TableFilter { renames: database, ..TableFilter::default() }).1.is_some());
}

#[test]
fn a_filter_is_seen_by_the_names_of_the_target() {
    let filter = TableFilter {
        tables: [("shop".to_owned(), "orders".to_owned()), ("shop".to_owned(), "lines".to_owned())].into(),
        renames: renames(&[], &[(name("shop", "orders"), name("restore", "orders"))]),
        ..TableFilter::default()
    };
    let chosen = [("restore", "orders"), ("shop", "orders"), ("shop", "lines"), ("shop", "x")];
    assert_eq!(chosen.map(|(database, table)| filter.chooses_on_target(database, table)), [true, false, true, false]);
    let whole = TableFilter {
        databases: ["shop".to_owned()].into(),
        renames: renames(&[("shop", "copy")], &[]),
        ..TableFilter::default()
    };
    assert_eq!([("copy", "t"), ("shop", "t")].map(|(d, t)| whole.chooses_on_target(d, t)), [true, false]);
}

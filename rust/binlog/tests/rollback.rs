//! Remains of transactions that the source rolled back, wholly or to a savepoint.

mod by_hand;

use by_hand::Log;
use paraply_binlog::error::LogError;
use paraply_binlog::transaction::{Kind, Transaction};

/// Reads a log of one transaction.
fn one(log: &Log) -> Transaction {
    let (mut transactions, error) = log.read();
    assert!(error.is_none() && transactions.len() == 1, "{error:?} {transactions:?}");
    transactions.remove(0)
}

/// Returns the values that the row events of a transaction insert.
fn inserted(transaction: &Transaction) -> Vec<u8> {
    let rows = transaction.events.iter().filter(|event| event.type_code == by_hand::WRITE_ROWS);
    rows.map(|event| transaction.data[event.range.clone()][19 + 8 + 5]).collect()
}

fn begun() -> Log {
    Log::new(true).gtid(1).query("BEGIN")
}

trait Inserts {
    fn inserts(self, value: u8) -> Self;
}

impl Inserts for Log {
    fn inserts(self, value: u8) -> Self {
        self.table_map(5, b't').insert_of(5, 1, value)
    }
}

#[test]
fn nothing_is_left_of_a_transaction_that_was_rolled_back() {
    for log in [
        begun().query("ROLLBACK"),
        begun().inserts(1).query("ROLLBACK"),
        begun().inserts(1).query("SAVEPOINT a").rows(2).query("ROLLBACK"),
        Log::new(true)
            .gtid(1)
            .query("XA START X'61',X'',1")
            .inserts(1)
            .query("XA END X'61',X'',1")
            .query("XA ROLLBACK X'61',X'',1"),
    ] {
        let transaction = one(&log);
        assert_eq!(transaction.kind, Kind::Empty);
        assert!(transaction.events.is_empty() && transaction.data.is_empty() && transaction.xid.is_none());
        assert!(!transaction.no_foreign_key_checks);
    }
}

#[test]
fn rows_behind_the_savepoint_are_gone_and_the_others_stay() {
    let log = begun().inserts(1).query("SAVEPOINT a").inserts(2).query("ROLLBACK TO a").inserts(3).xid();
    assert_eq!(inserted(&one(&log)), [1, 3]);
    let log = begun().query("SAVEPOINT a").rows(2).query("ROLLBACK TO a").xid();
    let transaction = one(&log);
    assert_eq!((transaction.kind, transaction.no_foreign_key_checks), (Kind::Empty, false));
    let log = begun().inserts(1).query("SAVEPOINT a").query("ROLLBACK TO a").inserts(2).query("COMMIT");
    assert_eq!(inserted(&one(&log)), [1, 2], "there was nothing to roll back");
}

#[test]
fn a_savepoint_stays_after_it_was_rolled_back_to_and_those_behind_it_do_not() {
    let log = begun().query("SAVEPOINT a").inserts(1).query("SAVEPOINT b").inserts(2).query("ROLLBACK TO a");
    let again = log.clone().inserts(3).query("ROLLBACK TO a").inserts(4).xid();
    assert_eq!(inserted(&one(&again)), [4]);
    let (_, error) = log.inserts(3).query("ROLLBACK TO b").xid().read();
    assert!(matches!(error, Some(LogError::Damaged { .. })), "{error:?}");
}

/// MariaDB 10.5 and 11.8 compare names like this: SAVEPOINT `A` replaces `a`.
#[test]
fn names_are_equal_as_for_the_server() {
    let log = begun().query("SAVEPOINT a").inserts(1).query("SAVEPOINT `A`").inserts(2).query("ROLLBACK TO `a`").xid();
    assert_eq!(inserted(&one(&log)), [1]);
    let log =
        begun().inserts(1).query("SAVEPOINT `\u{c4} b``x`").inserts(2).query("ROLLBACK TO SAVEPOINT `a B``X`").xid();
    assert_eq!(inserted(&one(&log)), [1]);
    let log = begun().query("SAVEPOINT a").inserts(1).query("SAVEPOINT ab").inserts(2).query("ROLLBACK TO a").xid();
    assert!(inserted(&one(&log)).is_empty());
}

#[test]
fn a_rollback_in_the_middle_of_a_statement_is_refused() {
    let log = begun().query("SAVEPOINT a").table_map(5, b't').insert(5, 0).query("ROLLBACK TO a").insert(5, 1).xid();
    let (transactions, error) = log.read();
    assert!(transactions.is_empty() && matches!(error, Some(LogError::NotUnderstood { .. })), "{error:?}");
}

#[test]
fn servers_that_log_all_tables_together_are_refused() {
    for (version, understood) in
        [("5.5.8", false), ("5.5.9-log", true), ("5.3.12-MariaDB", false), ("5.5.68-MariaDB", true)]
    {
        let log = Log::of(version, false).query("BEGIN").inserts(1);
        for log in
            [log.clone().query("ROLLBACK"), log.query("SAVEPOINT a").inserts(2).query("ROLLBACK TO a").query("COMMIT")]
        {
            let (transactions, error) = log.read();
            let refused = transactions.is_empty() && matches!(error, Some(LogError::NotUnderstood { .. }));
            assert!(if understood { error.is_none() } else { refused }, "{version}: {error:?}");
        }
        let (transactions, error) = Log::of(version, false).query("BEGIN").query("ROLLBACK").read();
        assert!(error.is_none() && transactions[0].kind == Kind::Empty, "{version}");
    }
}

/// MariaDB writes it where CREATE OR REPLACE TABLE ... SELECT fails: the table is gone.
#[test]
fn a_drop_table_that_mariadb_executed_stays() {
    let sql = "DROP TABLE IF EXISTS `d`.`k`/* Generated to handle failed CREATE OR REPLACE */";
    let log = Log::of("11.8.2-MariaDB", true).mariadb_gtid(1).query(sql).query("ROLLBACK");
    let transaction = one(&log);
    assert_eq!((transaction.kind, transaction.statements.len()), (Kind::Ddl, 1));
    assert_eq!(transaction.statements[0].sql, sql.as_bytes());
    for log in [
        Log::of("11.8.2-MariaDB", true).mariadb_gtid(1).query("CREATE TABLE `t` (a INT)").inserts(1).query("ROLLBACK"),
        begun().query("CREATE TABLE `t` (a int) START TRANSACTION").inserts(1).query("ROLLBACK"),
        begun().query(sql).query("ROLLBACK"),
    ] {
        let (transactions, error) = log.read();
        assert!(transactions.is_empty() && matches!(error, Some(LogError::NotUnderstood { .. })), "{error:?}");
    }
}

/// The log is like `ver_5_1_23.001` of mysql-server's test data.
#[test]
fn logs_of_5_1_have_row_changes_without_begin() {
    let log = Log::of("5.1.23-rc-debug-log", false).query("CREATE TABLE t(a INT)");
    let statements = log.clone().rows(0).table_map(5, b't').insert(5, 0).insert(5, 1).query("BEGIN").rows(0).xid();
    let (transactions, error) = statements.read();
    assert!(error.is_none(), "{error:?}");
    let found: Vec<_> = transactions.iter().map(|t| (t.kind, t.events.len())).collect();
    assert_eq!(found, [(Kind::Ddl, 0), (Kind::Dml, 2), (Kind::Dml, 3), (Kind::Dml, 2)]);
    let (transactions, error) = log.table_map(5, b't').insert(5, 0).query("BEGIN").read();
    assert!(transactions.len() == 1 && matches!(error, Some(LogError::Truncated { .. })), "{error:?}");
    let (_, error) = Log::of("5.5.62-log", false).rows(0).read();
    assert!(matches!(error, Some(LogError::Damaged { .. })), "later servers write BEGIN: {error:?}");
}

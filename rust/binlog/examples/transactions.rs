//! Prints one line for each transaction of the named log files: identity, stamped numbers, kind, row events.

use std::path::PathBuf;
use std::process::ExitCode;

use paraply_binlog::reader::{LogReader, ReaderOptions};
use paraply_binlog::transaction::{Identity, Transaction};
use paraply_core::gtid::Origin;

fn main() -> ExitCode {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    match print(&paths) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(3)
        }
    }
}

fn print(paths: &[PathBuf]) -> Result<(), paraply_binlog::error::LogError> {
    let mut reader = LogReader::open(paths, ReaderOptions::default())?;
    while let Some(transaction) = reader.next_transaction() {
        print_line(&transaction?);
    }
    Ok(())
}

fn print_line(transaction: &Transaction) {
    let number = |number: Option<i64>| number.map_or("-".to_owned(), |number| number.to_string());
    println!(
        "{} {} {} {:?} events={} statements={} at={} time={}",
        identity(&transaction.identity),
        number(transaction.last_committed),
        number(transaction.sequence_number),
        transaction.kind,
        transaction.events.len(),
        transaction.statements.len(),
        transaction.offset,
        number(transaction.committed_at),
    );
}

fn identity(identity: &Identity) -> String {
    let Identity::Gtid(gtid) = identity else { return "anonymous".to_owned() };
    match &gtid.origin {
        Origin::MySql { uuid, tag } => {
            format!("{:032x}:{tag}:{}", u128::from_be_bytes(*uuid), gtid.number)
        }
        Origin::MariaDb { domain, server } => format!("{domain}-{server}-{}", gtid.number),
    }
}

//! Queries of a replica before it asks for the log.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use paraply_core::gtid::GtidSet;

use crate::serve::shared::Shared;
use crate::serve::wire::Refusal;

/// Longest text of a value.
const LONGEST_VALUE: usize = 64;

/// Variables that a replica sets in its session.
#[derive(Debug, Default)]
pub(in crate::serve) struct Variables {
    /// True if events come with checksums before the first format description; none if the replica does not know any.
    pub(in crate::serve) checksums: Option<bool>,
    pub(in crate::serve) heartbeat: Option<Duration>,
    pub(in crate::serve) replica_uuid: String,
    /// Position of a replica of MariaDB that reads by GTIDs.
    pub(in crate::serve) connect_state: Option<GtidSet>,
}

/// Answer to a query.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::serve) enum Answer {
    Ok,
    Rows(Vec<&'static str>, Vec<Vec<String>>),
    Refused(Refusal),
}

/// Answers a query; every other than a replica's own is refused.
pub(in crate::serve) fn answer(shared: &Shared, variables: &mut Variables, text: &str) -> Answer {
    let text = text.trim().trim_end_matches(';');
    let upper = text.to_ascii_uppercase();
    if let Some(rest) = text.get(..4).filter(|_| upper.starts_with("SET ")).and(text.get(4..)) {
        return match assignments(rest).into_iter().try_for_each(|assignment| variables.set(assignment)) {
            Ok(()) => Answer::Ok,
            Err(refusal) => Answer::Refused(refusal),
        };
    }
    if upper.starts_with("SHOW GLOBAL VARIABLES") || upper.starts_with("SHOW VARIABLES") {
        let listed = settings(shared).into_iter().filter(|(name, _)| upper.contains(&name.to_ascii_uppercase()));
        let rows = listed.map(|(name, value)| vec![name.to_owned(), value]).collect();
        return Answer::Rows(vec!["Variable_name", "Value"], rows);
    }
    let Some(wanted) = upper.strip_prefix("SELECT ").map(str::trim) else { return unknown(text) };
    let name = wanted.trim_start_matches("@@").trim_start_matches("GLOBAL.").trim_start_matches('@');
    let value = match name {
        "UNIX_TIMESTAMP()" => SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()).to_string(),
        "SOURCE_BINLOG_CHECKSUM" | "MASTER_BINLOG_CHECKSUM" | "BINLOG_CHECKSUM" => {
            if variables.checksums == Some(false) { "NONE" } else { "CRC32" }.to_owned()
        }
        "VERSION()" => shared.version.clone(),
        _ => match settings(shared).into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            Some((_, value)) => value,
            None => return unknown(wanted),
        },
    };
    Answer::Rows(vec!["value"], vec![vec![value]])
}

/// Returns the variables of this server. A replica that does not find those of semi-synchronous replication does without.
fn settings(shared: &Shared) -> Vec<(&'static str, String)> {
    vec![
        ("server_id", shared.identity.server_id.to_string()),
        ("server_uuid", shared.identity.server_uuid.clone()),
        ("gtid_mode", if shared.has_gtids() { "ON" } else { "OFF" }.to_owned()),
        ("version", shared.version.clone()),
        ("log_bin", "ON".to_owned()),
        ("binlog_format", "ROW".to_owned()),
        ("binlog_checksum", "CRC32".to_owned()),
        ("lower_case_table_names", "0".to_owned()),
        ("max_allowed_packet", "1073741824".to_owned()),
        ("wait_timeout", "60".to_owned()),
        // Replicas of MariaDB ask for it; only one that reads by file and position uses it.
        ("gtid_domain_id", "0".to_owned()),
    ]
}

fn unknown(text: &str) -> Answer {
    let name: String = text.rsplit('.').next().unwrap_or(text).chars().take(LONGEST_VALUE).collect();
    Answer::Refused(Refusal::new(1193, "HY000", format!("Unknown system variable '{name}'")))
}

impl Variables {
    /// Takes one assignment of a SET statement; those without a meaning here are ignored.
    fn set(&mut self, assignment: &str) -> Result<(), Refusal> {
        let Some((name, value)) = assignment.split_once('=') else { return Ok(()) };
        let value = value.trim().trim_matches('\'');
        let name = name.trim().trim_start_matches('@').to_ascii_lowercase();
        if name == "slave_connect_state" {
            let position = value.parse();
            self.connect_state =
                Some(position.map_err(|_| Refusal::log("The position of the replica is no GTID position"))?);
            return Ok(());
        }
        if value.len() > LONGEST_VALUE {
            return Ok(());
        }
        match name.as_str() {
            "source_heartbeat_period" | "master_heartbeat_period" => {
                self.heartbeat = value.parse().ok().filter(|&period| period > 0).map(Duration::from_nanos);
            }
            "source_binlog_checksum" | "master_binlog_checksum" => {
                self.checksums = Some(!value.eq_ignore_ascii_case("NONE"));
            }
            "replica_uuid" | "slave_uuid" => value.clone_into(&mut self.replica_uuid),
            _ => {}
        }
        Ok(())
    }
}

/// Splits the assignments of a SET statement at the commas that are in no string.
fn assignments(text: &str) -> Vec<&str> {
    let mut quoted = false;
    let at_comma = |letter: char| {
        quoted ^= letter == '\'';
        letter == ',' && !quoted
    };
    text.split(at_comma).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_strings_do_not_end_an_assignment() {
        assert_eq!(assignments(" @a=1, @b='x,y',@c=''"), [" @a=1", " @b='x,y'", "@c=''"]);
    }

    #[test]
    fn a_position_is_kept_and_anything_else_in_its_place_is_refused() {
        let mut variables = Variables::default();
        variables.set("@slave_connect_state='0-1-5,3-2-9'").unwrap();
        assert_eq!(variables.connect_state.as_ref().map(ToString::to_string).unwrap(), "0-1-5,3-2-9");
        assert!(variables.set("@slave_connect_state='elsewhere'").is_err());
        variables.set("@slave_connect_state=''").unwrap();
        assert!(variables.connect_state.unwrap().is_empty());
    }
}

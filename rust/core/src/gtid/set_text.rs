//! The text form of GTID sets.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use super::cursor::Cursor;
use super::{Gtid, GtidError, GtidSet, Intervals, MYSQL_MAX_NUMBER, Origin};

impl Display for GtidSet {
    /// Writes the set as the server does, on one line: `uuid:1-5:7:tag:1-3,uuid2:1`, and `0-1-100,1-2-7` for MariaDB.
    ///
    /// The alternate form `{:#}` breaks the line after each UUID's comma, as MySQL's own variables and functions do.
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let comma = if formatter.alternate() { ",\n" } else { "," };
        let mut last_uuid = None;
        for (origin, intervals) in &self.mysql {
            let Origin::MySql { uuid, tag } = origin else { continue };
            if last_uuid == Some(uuid) {
                write!(formatter, ":{tag}")?;
            } else {
                write!(formatter, "{}{origin}", if last_uuid.is_some() { comma } else { "" })?;
            }
            last_uuid = Some(uuid);
            write_intervals(formatter, intervals)?;
        }
        let mut separator = if last_uuid.is_some() { comma } else { "" };
        for (domain, intervals) in &self.mariadb {
            let number = intervals.last().unwrap_or_default();
            write!(formatter, "{separator}{domain}-{}-{number}", self.last_server(*domain))?;
            separator = ",";
        }
        Ok(())
    }
}

fn write_intervals(formatter: &mut Formatter<'_>, intervals: &Intervals) -> fmt::Result {
    for (first, last) in intervals.iter() {
        if first == last {
            write!(formatter, ":{first}")?;
        } else {
            write!(formatter, ":{first}-{last}")?;
        }
    }
    Ok(())
}

impl FromStr for GtidSet {
    type Err = GtidError;

    /// Reads a set of either family.
    ///
    /// As tolerant as MySQL: white space and line breaks between the parts, upper case, UUIDs in braces or without
    /// dashes, repeated UUIDs and tags, unordered and overlapping intervals, empty items between commas, an interval
    /// that ends before it begins (it is empty) and a UUID without any interval.
    fn from_str(text: &str) -> Result<Self, GtidError> {
        let mut cursor = Cursor::new(text);
        let mut set = Self::new();
        let mut positions = BTreeMap::new();
        loop {
            while cursor.take(b',') {}
            if cursor.at_end() {
                break;
            }
            if cursor.mariadb_comes() {
                read_position(&mut cursor, &mut positions)?;
            } else {
                read_mysql(&mut cursor, &mut set)?;
            }
            if !cursor.at_end() && !cursor.take(b',') {
                return Err(cursor.error("expected a comma"));
            }
        }
        for (domain, (server, number)) in positions {
            set.add_range(&Origin::MariaDb { domain, server }, 1, number);
        }
        Ok(set)
    }
}

/// Reads `domain-server-sequence`. Two positions of one domain are refused, as MariaDB refuses them: the text does not
/// show which is valid.
fn read_position(cursor: &mut Cursor<'_>, positions: &mut BTreeMap<u32, (u32, u64)>) -> Result<(), GtidError> {
    let Gtid { origin, number } = cursor.mariadb()?;
    if let Origin::MariaDb { domain, server } = origin
        && positions.insert(domain, (server, number)).is_some()
    {
        return Err(cursor.error("second position for the same domain"));
    }
    Ok(())
}

/// Reads `uuid:1-5:7:tag:1-3` and adds it.
fn read_mysql(cursor: &mut Cursor<'_>, set: &mut GtidSet) -> Result<(), GtidError> {
    let mut origin = Origin::MySql { uuid: cursor.uuid()?, tag: String::new() };
    while cursor.take(b':') {
        if let (Some(read), Origin::MySql { tag, .. }) = (cursor.tag()?, &mut origin) {
            *tag = read;
        } else {
            let first = cursor.number(1, MYSQL_MAX_NUMBER)?;
            let last = if cursor.take(b'-') { cursor.number(0, MYSQL_MAX_NUMBER)? } else { first };
            set.add_range(&origin, first, last);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
    const B: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429563";

    fn canonical(text: &str) -> String {
        let text = text.replace('$', A).replace('#', B);
        let printed = text.parse::<GtidSet>().map_or_else(|error| error.to_string(), |set| set.to_string());
        printed.replace(A, "$").replace(B, "#")
    }

    /// A MySQL 9.7 server returned each pair for `GTID_SUBTRACT(text, '')`, but for the line breaks.
    #[test]
    fn sets_are_read_and_printed_as_mysql_does() {
        for (text, printed) in [
            ("", ""),
            (" , ", ""),
            ("$:1-5:7:TAG:1-3,#:1", "$:1-5:7:tag:1-3,#:1"),
            ("$:1-5,\n $:6", "$:1-6"),
            (" $ : 1 - 5 : 7 ", "$:1-5:7"),
            ("$:tag:1:b:3:1-2", "$:b:1-3:tag:1"),
            ("$:7:1-3:4", "$:1-4:7"),
            ("$:5-3", ""),
            ("$", ""),
            ("$:tag", ""),
            (",$:1,,#:1,", "$:1,#:1"),
            ("$:1:tag:5:1", "$:1:tag:1:5"),
            ("$:tag:5,$:1", "$:1:tag:5"),
            ("$:9223372036854775806", "$:9223372036854775806"),
            ("{$}:1", "$:1"),
            ("3E11FA4771CA11E19E33C80AA9429562:1", "$:1"),
            ("$: tag :1", "$:tag:1"),
            ("$:01-003", "$:1-3"),
            ("#:1,$:b:1:a:1:_:1,$:1", "$:1:_:1:a:1:b:1,#:1"),
            ("$:tag:1:TAG:2", "$:tag:1-2"),
        ] {
            assert_eq!(canonical(text), printed, "{text:?}");
        }
    }

    #[test]
    fn the_alternate_form_breaks_lines_as_mysql_does() {
        let set: GtidSet = format!("{A}:1:t:2,{B}:3").parse().expect("a set");
        assert_eq!(format!("{set:#}"), format!("{A}:1:t:2,\n{B}:3"));
    }

    #[test]
    fn a_malformed_set_is_refused_with_the_place() {
        for (text, problem) in [
            ("$:", "expected a number at character 37"),
            ("$:0", "number out of range at character 37"),
            ("$:1-9223372036854775807", "number out of range at character 39"),
            ("$:1a:1", "expected a comma at character 38"),
            ("$:t ag:1", "expected a comma at character 39"),
            ("$:1-", "expected a number at character 39"),
            ("$:+1", "expected a number at character 37"),
            ("$:1;#:1", "expected a comma at character 38"),
            ("0-1-5,0-2-6", "second position for the same domain"),
            ("0-1-99999999999999999999", "number out of range at character 4"),
        ] {
            let message = canonical(text);
            assert!(message.contains(problem), "{text:?}: {message}");
        }
    }

    #[test]
    fn mariadb_positions_are_printed_by_domain() {
        assert_eq!(canonical("1-2-7 , 0-1-100"), "0-1-100,1-2-7");
    }
}

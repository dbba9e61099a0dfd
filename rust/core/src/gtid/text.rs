//! The text form of one GTID: `uuid:5`, `uuid:tag:5` and MariaDB's `domain-server-sequence`.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use super::cursor::Cursor;
use super::{Gtid, GtidError, Origin};

/// Writes the sixteen bytes of a UUID as the server does: lower case, with dashes.
fn write_uuid(formatter: &mut Formatter<'_>, uuid: &[u8; 16]) -> fmt::Result {
    let value = u128::from_be_bytes(*uuid);
    write!(
        formatter,
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        value >> 96,
        value >> 80 & 0xffff,
        value >> 64 & 0xffff,
        value >> 48 & 0xffff,
        value & 0xffff_ffff_ffff
    )
}

impl Display for Origin {
    /// Writes the part before the number, without the separator: `uuid`, `uuid:tag` or `domain-server`.
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::MySql { uuid, tag } => {
                write_uuid(formatter, uuid)?;
                if tag.is_empty() { Ok(()) } else { write!(formatter, ":{tag}") }
            }
            Self::MariaDb { domain, server } => write!(formatter, "{domain}-{server}"),
        }
    }
}

impl Display for Gtid {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let separator = match self.origin {
            Origin::MySql { .. } => ':',
            Origin::MariaDb { .. } => '-',
        };
        write!(formatter, "{}{separator}{}", self.origin, self.number)
    }
}

impl FromStr for Gtid {
    type Err = GtidError;

    /// Reads one GTID of either family; white space around it and upper case are accepted.
    fn from_str(text: &str) -> Result<Self, GtidError> {
        let mut cursor = Cursor::new(text);
        let gtid = if cursor.mariadb_comes() { cursor.mariadb()? } else { cursor.mysql()? };
        if cursor.at_end() { Ok(gtid) } else { Err(cursor.error("expected the end of the GTID")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        text.parse::<Gtid>().map_or_else(|error| error.to_string(), |gtid| gtid.to_string())
    }

    #[test]
    fn mysql_gtids_are_printed_in_lower_case_with_dashes() {
        let printed = "3e11fa47-71ca-11e1-9e33-c80aa9429562:23";
        assert_eq!(canonical("3E11FA47-71CA-11E1-9E33-C80AA9429562:23"), printed);
        assert_eq!(canonical(" {3E11FA4771CA11E19E33C80AA9429562} : 023\n"), printed);
        assert_eq!(
            canonical("3e11fa47-71ca-11e1-9e33-c80aa9429562:Tag_1:7"),
            "3e11fa47-71ca-11e1-9e33-c80aa9429562:tag_1:7"
        );
    }

    #[test]
    fn mariadb_gtids_are_printed_as_they_came() {
        assert_eq!(canonical("0-1-100"), "0-1-100");
        assert_eq!(canonical(" 4294967295-2-18446744073709551615 "), "4294967295-2-18446744073709551615");
    }

    #[test]
    fn errors_say_what_is_wrong_and_where() {
        let message = canonical("3e11fa47-71ca-11e1-9e33-c80aa9429562:");
        assert!(message.contains("expected a number at character 37"), "{message}");
        let message = canonical("3e11fa47-71ca11e1-9e33-c80aa9429562:1");
        assert!(message.contains("at character 13"), "{message}");
        for (text, problem) in [
            ("", "hexadecimal digit"),
            ("0-1-0", "out of range"),
            ("4294967296-1-1", "out of range"),
            ("0-1-", "expected a number"),
            ("0-1-5-6", "hexadecimal digit"),
            ("3e11fa47-71ca-11e1-9e33-c80aa9429562:0", "out of range"),
            ("3e11fa47-71ca-11e1-9e33-c80aa9429562:9223372036854775807", "out of range"),
            ("3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5", "expected the end"),
            ("3e11fa47-71ca-11e1-9e33-c80aa9429562:a23456789012345678901234567890abc:1", "32 characters"),
            ("{3e11fa47-71ca-11e1-9e33-c80aa9429562:1", "closing brace"),
            ("é-1-1", "hexadecimal digit"),
        ] {
            let message = canonical(text);
            assert!(message.contains(problem), "{text}: {message}");
        }
    }
}

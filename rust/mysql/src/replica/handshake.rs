//! Packets of a server while a connection is made.

use mysql_common::constants::CapabilityFlags;

use crate::connection::Error;

const PROTOCOL: u8 = 10;
/// Length of a scramble; servers send a zero after it.
const NONCE_LENGTH: usize = 20;

/// A server's first packet.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Greeting {
    pub(super) version: String,
    pub(super) connection_id: u32,
    pub(super) nonce: Vec<u8>,
    pub(super) capabilities: CapabilityFlags,
    pub(super) plugin: String,
}

impl Greeting {
    pub(super) fn parse(packet: &[u8]) -> Result<Self, Error> {
        if let Some(error) = server_error(packet) {
            return Err(error);
        }
        let mut fields = Fields(packet);
        let read = |fields: &mut Fields<'_>| {
            let protocol = fields.byte()?;
            if protocol != PROTOCOL {
                return Some(Err(Error::Client(format!("the server speaks protocol {protocol}, not {PROTOCOL}"))));
            }
            let version = fields.text()?;
            let connection_id = u32::from_le_bytes(*fields.take()?);
            let first: [u8; 8] = *fields.take()?;
            fields.skip(1)?;
            let lower = u16::from_le_bytes(*fields.take()?);
            fields.skip(3)?;
            let upper = u16::from_le_bytes(*fields.take()?);
            let nonce_length = usize::from(fields.byte()?);
            fields.skip(10)?;
            let second = fields.slice(nonce_length.saturating_sub(8).max(13))?;
            let nonce = first.iter().chain(second).copied().take(NONCE_LENGTH).collect();
            let capabilities = CapabilityFlags::from_bits_truncate(u32::from(upper) << 16 | u32::from(lower));
            // Some servers omit the zero that ends the name.
            let plugin = fields.text_or_rest();
            Some(Ok(Self { version, connection_id, nonce, capabilities, plugin }))
        };
        let greeting = read(&mut fields).ok_or_else(|| odd("greeting"))??;
        let needed = CapabilityFlags::CLIENT_PROTOCOL_41 | CapabilityFlags::CLIENT_SECURE_CONNECTION;
        if !greeting.capabilities.contains(needed) {
            return Err(Error::Client("the server is older than any that has row events".to_owned()));
        }
        Ok(greeting)
    }
}

/// Request for another login method than the one that was tried.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AuthSwitch {
    pub(super) plugin: String,
    pub(super) nonce: Vec<u8>,
}

impl AuthSwitch {
    pub(super) fn parse(packet: &[u8]) -> Result<Self, Error> {
        let mut fields = Fields(packet);
        let read = |fields: &mut Fields<'_>| {
            fields.skip(1)?;
            // Without a name the method is the login of MySQL 4.0.
            let plugin = if fields.0.is_empty() { "mysql_old_password".to_owned() } else { fields.text()? };
            let nonce = fields.0.iter().copied().take(NONCE_LENGTH).collect();
            Some(Self { plugin, nonce })
        };
        read(&mut fields).ok_or_else(|| odd("request for another login"))
    }
}

/// Returns the error that a packet holds, if it is one.
pub(super) fn server_error(packet: &[u8]) -> Option<Error> {
    let (&0xff, rest) = packet.split_first()? else { return None };
    let Some((code, rest)) = rest.split_first_chunk() else { return Some(odd("error")) };
    // Before the login there is no SQLSTATE.
    let (state, message) = match rest.split_first_chunk() {
        Some((b"#", behind)) => behind.split_at(behind.len().min(5)),
        _ => (&b"HY000"[..], rest),
    };
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    Some(Error::Server { code: u16::from_le_bytes(*code), state: text(state), message: text(message) })
}

pub(super) fn odd(what: &str) -> Error {
    Error::Client(format!("the server's {what} is not understood"))
}

/// A packet's fields, front to back.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(taken)
    }

    fn slice(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take().map(|[byte]| *byte)
    }

    fn skip(&mut self, length: usize) -> Option<()> {
        self.slice(length).map(drop)
    }

    fn text(&mut self) -> Option<String> {
        let length = self.0.iter().position(|&byte| byte == 0)?;
        let text = self.slice(length)?;
        self.skip(1)?;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    fn text_or_rest(&mut self) -> String {
        self.text().unwrap_or_else(|| String::from_utf8_lossy(self.0).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns a greeting as MySQL 9.7 sends it.
    pub(super) fn greeting() -> Vec<u8> {
        let mut packet = vec![10];
        packet.extend_from_slice(b"9.7.0\0\x2a\0\0\0");
        packet.extend_from_slice(b"abcdefgh\0\xff\xff\xff\x02\0\xff\xdf\x15");
        packet.extend_from_slice(&[0; 10]);
        packet.extend_from_slice(b"ijklmnopqrst\0caching_sha2_password\0");
        packet
    }

    #[test]
    fn a_greeting_is_read_field_by_field() {
        let greeting = Greeting::parse(&greeting()).unwrap();
        assert_eq!((greeting.version.as_str(), greeting.connection_id), ("9.7.0", 42));
        assert_eq!(greeting.nonce, b"abcdefghijklmnopqrst");
        assert_eq!(greeting.plugin, "caching_sha2_password");
        assert!(greeting.capabilities.contains(CapabilityFlags::CLIENT_SSL | CapabilityFlags::CLIENT_PLUGIN_AUTH));
    }

    #[test]
    fn a_torn_greeting_is_an_error_and_an_early_refusal_is_the_servers() {
        let whole = greeting();
        let name = "caching_sha2_password\0".len();
        for end in 0..whole.len() - name {
            assert!(matches!(Greeting::parse(&whole[..end]), Err(Error::Client(_))), "{end}");
        }
        let refused = Greeting::parse(b"\xff\x10\x04Too many connections");
        assert!(matches!(refused, Err(Error::Server { code: 1040, message, .. }) if message == "Too many connections"));
        assert!(matches!(Greeting::parse(&[9, b'3', 0]), Err(Error::Client(text)) if text.contains("protocol 9")));
    }

    #[test]
    fn errors_have_a_state_or_none() {
        let error = server_error(b"\xff\x15\x04#28000Access denied").unwrap();
        assert!(
            matches!(error, Error::Server { code: 1045, state, message } if state == "28000" && message == "Access denied")
        );
        assert!(server_error(b"\0ok").is_none());
        assert!(matches!(server_error(b"\xff\x15"), Some(Error::Client(_))));
        assert!(matches!(server_error(b"\xff\x15\x04#28"), Some(Error::Server { state, .. }) if state == "28"));
    }

    #[test]
    fn another_login_has_a_name_and_a_nonce() {
        let switch = AuthSwitch::parse(b"\xfemysql_native_password\0abcdefghijklmnopqrst\0").unwrap();
        assert_eq!(
            (switch.plugin.as_str(), switch.nonce.as_slice()),
            ("mysql_native_password", &b"abcdefghijklmnopqrst"[..])
        );
        assert_eq!(AuthSwitch::parse(b"\xfe").unwrap().plugin, "mysql_old_password");
        assert!(AuthSwitch::parse(b"\xfename without an end").is_err());
    }

    proptest! {
        #[test]
        fn no_packet_makes_it_panic(packet: Vec<u8>, at in 0..80_usize, byte: u8) {
            let mut changed = greeting();
            if let Some(place) = changed.get_mut(at) {
                *place = byte;
            }
            let _ = Greeting::parse(&changed);
            let _ = Greeting::parse(&packet);
            let _ = AuthSwitch::parse(&packet);
            let _ = server_error(&[&[0xff], &packet[..]].concat());
        }
    }
}

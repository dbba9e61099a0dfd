//! The login of a peer: greeting, TLS, and the password of the one user there is: `caching_sha2_password`, or for
//! replicas of MariaDB, whose receivers know no other method, `mysql_native_password`.

use std::io::{self, Read, Write};
use std::sync::Arc;

use mysql_common::constants::{CapabilityFlags, StatusFlags};
use mysql_common::io::ParseBuf;
use mysql_common::packets::{AuthSwitchRequest, HandshakePacket, HandshakeResponse, SslRequest};
use mysql_common::proto::{MyDeserialize as _, MySerialize as _};
use mysql_common::scramble::{scramble_native, scramble_sha256};
use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, ring};

use crate::serve::link::Link;
use crate::serve::wire::{Refusal, Wire};

const PROTOCOL: u8 = 10;
const NONCE_LENGTH: usize = 20;
const UTF8MB4: u8 = 255;
/// Length of the part of an answer that asks for TLS.
const SSL_REQUEST: usize = 32;
/// Longest packet of a peer that has not logged in: names, a proof and connection attributes.
const LONGEST_LOGIN: usize = 8 << 10;
const FAST_LOGIN: &[u8] = &[1, 3];
const FULL_LOGIN: &[u8] = &[1, 4];

/// Method by which a peer proves that it knows the password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::serve) enum Method {
    /// `caching_sha2_password`.
    CachingSha2,
    /// `mysql_native_password`.
    Native,
}

impl Method {
    fn plugin(self) -> &'static [u8] {
        match self {
            Self::CachingSha2 => b"caching_sha2_password",
            Self::Native => b"mysql_native_password",
        }
    }

    /// Returns the proof of the password; none for an empty one.
    fn proof(self, nonce: &[u8], password: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::CachingSha2 => scramble_sha256(nonce, password).map(Vec::from),
            Self::Native => scramble_native(nonce, password).map(Vec::from),
        }
    }
}

/// The one user who may read the log.
#[derive(Clone)]
pub struct Account {
    /// Name of the user.
    pub user: String,
    /// Password of the user; never empty.
    pub password: String,
}

impl std::fmt::Debug for Account {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Account").field("user", &self.user).finish_non_exhaustive()
    }
}

/// Reason why a peer was not let in.
#[derive(Debug)]
pub(in crate::serve) enum Denied {
    /// The peer is gone, was too slow, or did not speak the protocol.
    Broken(io::Error),
    /// The peer gave a wrong name or password, or no TLS.
    Refused(&'static str),
}

impl From<io::Error> for Denied {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

/// Settings of the greeting.
pub(in crate::serve) struct Greeting<'a> {
    pub(in crate::serve) version: &'a str,
    pub(in crate::serve) method: Method,
    pub(in crate::serve) connection_id: u32,
    pub(in crate::serve) account: &'a Account,
    /// TLS, which is then required.
    pub(in crate::serve) tls: Option<&'a Arc<ServerConfig>>,
}

/// Greets a peer, and returns its connection once it has logged in.
pub(in crate::serve) fn log_in(link: Link, greeting: &Greeting<'_>) -> Result<Wire<Link>, Denied> {
    let nonce = nonce()?;
    let mut wire = Wire::new(link);
    wire.write(&[&packet(greeting, &nonce)])?;
    let mut answer = wire.read(LONGEST_LOGIN)?;
    if let Some(config) = greeting.tls {
        if !wants_tls(&answer) {
            wire.error(&Refusal::new(
                3159,
                "HY000",
                "Connections using insecure transport are prohibited: set SOURCE_SSL = 1",
            ))?;
            return Err(Denied::Refused("no TLS"));
        }
        wire = wire.replace(|link| link.secured(config))?;
        answer = wire.read(LONGEST_LOGIN)?;
    }
    let encrypted = wire.stream().is_encrypted();
    authenticate(&mut wire, (greeting.account, greeting.method), &answer, &nonce, encrypted)?;
    Ok(wire)
}

/// Returns random bytes that a greeting can hold: printable ones.
fn nonce() -> io::Result<[u8; NONCE_LENGTH]> {
    let mut nonce = [0; NONCE_LENGTH];
    let provider: CryptoProvider = ring::default_provider();
    provider.secure_random.fill(&mut nonce).map_err(|_| io::Error::other("the system gives no random numbers"))?;
    // 64 of the characters from '!' on: no zero and no dollar sign, which end a nonce or a hash elsewhere.
    Ok(nonce.map(|byte| b'%' + (byte & 0x3f)))
}

fn packet(greeting: &Greeting<'_>, nonce: &[u8; NONCE_LENGTH]) -> Vec<u8> {
    let mut capabilities = CapabilityFlags::CLIENT_LONG_PASSWORD
        | CapabilityFlags::CLIENT_FOUND_ROWS
        | CapabilityFlags::CLIENT_LONG_FLAG
        | CapabilityFlags::CLIENT_CONNECT_WITH_DB
        | CapabilityFlags::CLIENT_PROTOCOL_41
        | CapabilityFlags::CLIENT_TRANSACTIONS
        | CapabilityFlags::CLIENT_SECURE_CONNECTION
        | CapabilityFlags::CLIENT_PLUGIN_AUTH
        | CapabilityFlags::CLIENT_CONNECT_ATTRS
        | CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA;
    if greeting.tls.is_some() {
        capabilities.insert(CapabilityFlags::CLIENT_SSL);
    }
    let (first, second) = nonce.split_at(8);
    let mut out = Vec::new();
    HandshakePacket::new(
        PROTOCOL,
        greeting.version.as_bytes(),
        greeting.connection_id,
        first.try_into().unwrap_or_default(),
        Some([second, &[0]].concat()),
        capabilities,
        UTF8MB4,
        StatusFlags::SERVER_STATUS_AUTOCOMMIT,
        Some(greeting.method.plugin()),
    )
    .serialize(&mut out);
    out
}

fn wants_tls(answer: &[u8]) -> bool {
    answer.len() == SSL_REQUEST
        && SslRequest::deserialize((), &mut ParseBuf(answer))
            .is_ok_and(|request| request.capabilities().contains(CapabilityFlags::CLIENT_SSL))
}

/// Checks name and password. Every peer sees the same answers, whether the name or the password is wrong.
fn authenticate<S: Read + Write>(
    wire: &mut Wire<S>,
    (account, method): (&Account, Method),
    answer: &[u8],
    nonce: &[u8],
    encrypted: bool,
) -> Result<(), Denied> {
    let response = HandshakeResponse::deserialize((), &mut ParseBuf(answer))?;
    if !response.capabilities().contains(CapabilityFlags::CLIENT_PROTOCOL_41) {
        return Err(Denied::Refused("a protocol before 4.1"));
    }
    let known = is_same(response.user(), account.user.as_bytes());
    let plugin = response.auth_plugin().map(|plugin| plugin.as_bytes().to_vec()).unwrap_or_default();
    let mut proof = response.scramble_buf().to_vec();
    if plugin != method.plugin() {
        let mut switch = Vec::new();
        AuthSwitchRequest::new(method.plugin(), [nonce, &[0]].concat()).serialize(&mut switch);
        wire.write(&[&switch])?;
        proof = wire.read(LONGEST_LOGIN)?;
    }
    let expected = method.proof(nonce, account.password.as_bytes());
    let proven = expected.is_some_and(|expected| is_same(&proof, &expected));
    if known && proven {
        if method == Method::CachingSha2 {
            wire.write(&[FAST_LOGIN])?;
        }
        return Ok(wire.ok()?);
    }
    // As a server does whose cache does not know the password. Without TLS the password would need a key of our own.
    if encrypted && method == Method::CachingSha2 && !proof.is_empty() {
        wire.write(&[FULL_LOGIN])?;
        let given = wire.read(LONGEST_LOGIN)?;
        let given = given.strip_suffix(&[0]).unwrap_or(&given);
        if is_same(given, account.password.as_bytes()) && known {
            return Ok(wire.ok()?);
        }
    }
    let with = if proof.is_empty() { "NO" } else { "YES" };
    let user = String::from_utf8_lossy(response.user()).chars().take(32).collect::<String>();
    wire.error(&Refusal::new(1045, "28000", format!("Access denied for user '{user}' (using password: {with})")))?;
    Err(Denied::Refused("a wrong user or password"))
}

/// Compares two strings in a time that depends on the length of the first only.
fn is_same(given: &[u8], expected: &[u8]) -> bool {
    let different = given
        .iter()
        .enumerate()
        .fold(given.len() ^ expected.len(), |sum, (at, byte)| sum | usize::from(byte ^ expected.get(at).unwrap_or(&0)));
    different == 0
}

#[cfg(test)]
mod tests;

//! Encryption of the password with a server's public key, for `caching_sha2_password` without TLS.
//!
//! The encryption library panics on an invalid key, so the key is checked first.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mysql_common::crypto;

use crate::connection::Error;
use crate::replica::handshake::odd;

const BEGIN: &str = "-----BEGIN PUBLIC KEY-----";
const END: &str = "-----END PUBLIC KEY-----";
const SEQUENCE: u8 = 0x30;
const BIT_STRING: u8 = 0x03;
const INTEGER: u8 = 0x02;
/// Bytes of a modulus: from 1,024 to 16,384 bits.
const MODULUS: std::ops::RangeInclusive<usize> = 128..=2048;
/// Bytes of a block that the padding takes.
const PADDING: usize = 42;

/// Returns the password and its zero, mixed with the nonce and encrypted.
pub(super) fn encrypt_password(password: &str, nonce: &[u8], pem: &[u8]) -> Result<Vec<u8>, Error> {
    let (pem, block) = checked(pem).ok_or_else(|| odd("public key"))?;
    let mixed: Vec<u8> =
        password.bytes().chain([0]).zip(nonce.iter().cycle()).map(|(byte, noise)| byte ^ noise).collect();
    if mixed.len() != password.len() + 1 || mixed.len() + PADDING > block {
        return Err(Error::Client("the password is too long for the server's public key: use TLS".to_owned()));
    }
    Ok(crypto::encrypt(&mixed, pem.as_bytes()))
}

/// Returns the key re-encoded as PEM, and the number of bytes of its blocks.
fn checked(pem: &[u8]) -> Option<(String, usize)> {
    let text = std::str::from_utf8(pem).ok()?;
    let body = text.split_once(BEGIN)?.1.split_once(END)?.0;
    let der = STANDARD.decode(body.split_ascii_whitespace().collect::<String>()).ok()?;
    let (key, b"") = tagged(SEQUENCE, &der)? else { return None };
    let (_algorithm, key) = tagged(SEQUENCE, key)?;
    let ([0, key @ ..], b"") = tagged(BIT_STRING, key)? else { return None };
    let (numbers, b"") = tagged(SEQUENCE, key)? else { return None };
    let (modulus, numbers) = tagged(INTEGER, numbers)?;
    let (exponent, b"") = tagged(INTEGER, numbers)? else { return None };
    let modulus = modulus.strip_prefix(&[0]).unwrap_or(modulus);
    // The highest bit of a modulus is set, its lowest one too.
    let fits = MODULUS.contains(&modulus.len()) && modulus.first()? & 0x80 != 0 && modulus.last()? & 1 != 0;
    (fits && (1..=8).contains(&exponent.len()))
        .then(|| (format!("{BEGIN}\n{}\n{END}", STANDARD.encode(&der)), modulus.len()))
}

/// Returns the content of an element, and the bytes after it.
fn tagged(tag: u8, der: &[u8]) -> Option<(&[u8], &[u8])> {
    let ([found, first], rest) = der.split_first_chunk::<2>()?;
    if *found != tag {
        return None;
    }
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        0x81 => (usize::from(*rest.first()?), rest.get(1..)?),
        0x82 => (usize::from(u16::from_be_bytes(*rest.first_chunk()?)), rest.get(2..)?),
        _ => return None,
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests;

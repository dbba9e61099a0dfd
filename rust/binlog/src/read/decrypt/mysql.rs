//! `MySQL`'s encrypted binlog files: a header of 512 bytes, then the file under AES-256 in counter mode.
//!
//! The header holds the name of the key, the file's password under that key (AES-256-CBC), and the initial vector. The stream's
//! key and nonce are the SHA-512 of the password: 32 bytes and 8 bytes; the counter begins at 0 (`rpl_log_encryption.cc` and
//! `stream_cipher.cc` of `MySQL` 8.0, and files of `MySQL` 9.7.4).

use aes::Aes256;
use cbc::cipher::{BlockDecryptMut, KeyIvInit, StreamCipher};
use sha2::{Digest, Sha512};

use super::source::{Keys, MAGIC, PIECE, Source};
use crate::error::LogError;

const HEADER: usize = 512;
const VERSION: u8 = 1;
const KEY_ID: u8 = 1;
const PASSWORD: u8 = 2;
const VECTOR: u8 = 3;
const KEY_BYTES: usize = 32;
const BLOCK: usize = 16;

/// The cipher of a file, at the position up to which it was read.
pub(super) struct Stream(ctr::Ctr64BE<Aes256>);

/// Fields of the header.
#[derive(Default)]
struct Header {
    key_id: String,
    password: Vec<u8>,
    vector: Vec<u8>,
}

/// Reads the header, and the start of the file with its key; returns the magic of the plain file.
pub(super) fn open(source: &mut Source, keys: &Keys) -> Result<(Stream, Vec<u8>), LogError> {
    let bytes = source.exactly(HEADER - MAGIC.len())?.ok_or_else(|| source.truncated())?;
    let header =
        parse(&bytes).ok_or_else(|| source.damaged(0, "its encryption header is no such header".to_owned()))?;
    let Some(key) = keys.get(&header.key_id) else {
        let message = format!(
            "it is encrypted with the key {}, which the keyring does not hold; name the keyring of the server that wrote it, \
             or fetch the log from the server (mysqlbinlog --read-from-remote-server --raw)",
            header.key_id
        );
        return Err(source.refused(0, message));
    };
    let unfit = format!(
        "the key {} of the keyring does not fit this log; name the keyring of the server that wrote it",
        header.key_id
    );
    let Some(mut stream) = stream(key, header) else { return Err(source.refused(0, unfit)) };
    let mut start = source.exactly(MAGIC.len())?.ok_or_else(|| source.truncated())?;
    stream.0.apply_keystream(&mut start);
    if start != MAGIC {
        return Err(source.refused(0, unfit));
    }
    Ok((stream, start))
}

fn parse(bytes: &[u8]) -> Option<Header> {
    let (&version, mut rest) = bytes.split_first()?;
    if version != VERSION {
        return None;
    }
    let mut header = Header::default();
    while let Some((&field, after)) = rest.split_first() {
        let (size, after) = match field {
            KEY_ID => after.split_first().map(|(&size, after)| (usize::from(size), after))?,
            PASSWORD => (KEY_BYTES, after),
            VECTOR => (BLOCK, after),
            0 => break,
            _ => return None,
        };
        let (value, after) = after.split_at_checked(size)?;
        match field {
            KEY_ID => header.key_id = String::from_utf8(value.to_vec()).ok()?,
            PASSWORD => header.password = value.to_vec(),
            _ => header.vector = value.to_vec(),
        }
        rest = after;
    }
    (!header.key_id.is_empty() && !header.password.is_empty() && !header.vector.is_empty()).then_some(header)
}

fn stream(key: &[u8], header: Header) -> Option<Stream> {
    let mut password = header.password;
    let cipher = cbc::Decryptor::<Aes256>::new_from_slices(key, &header.vector).ok()?;
    let plain = cipher.decrypt_padded_mut::<cbc::cipher::block_padding::NoPadding>(&mut password).ok()?;
    let digest = Sha512::digest(plain);
    let (key, rest) = digest.split_at_checked(KEY_BYTES)?;
    let mut nonce = [0_u8; BLOCK];
    nonce.get_mut(..8)?.copy_from_slice(rest.get(..8)?);
    Some(Stream(ctr::Ctr64BE::new_from_slices(key, &nonce).ok()?))
}

impl Stream {
    /// Returns the next plain bytes; `None` at the end.
    pub(super) fn next_piece(&mut self, source: &mut Source) -> Result<Option<Vec<u8>>, LogError> {
        let mut bytes = source.up_to(PIECE)?;
        self.0.apply_keystream(&mut bytes);
        Ok((!bytes.is_empty()).then_some(bytes))
    }
}

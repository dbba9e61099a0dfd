//! `MariaDB`'s encrypted binlogs: a `Start_encryption` event, behind which each event is encrypted by itself.
//!
//! The length of an event stays readable; the bytes in its place are the first four of the file's event. The initial vector is the
//! nonce of the `Start_encryption` event and the position of the event. The cipher is AES in CBC mode, where the bytes behind the
//! last whole block are combined with the encrypted initial vector, or in counter mode: the log does not say which, so both are
//! tried on the first event (`Log_event::read_log_event` and `my_aes_crypt` of `MariaDB` 10.11, and files of 10.11).

use aes::{Aes128, Aes192, Aes256};
use cbc::cipher::consts::U16;
use cbc::cipher::generic_array::GenericArray;
use cbc::cipher::{
    BlockCipher, BlockDecrypt, BlockEncrypt, BlockEncryptMut, BlockSizeUser, KeyInit, KeyIvInit, StreamCipher,
};

use super::source::{Keys, MAGIC, PIECE, Source};
use crate::error::LogError;

const HEADER: usize = 19;
const LENGTH: std::ops::Range<usize> = 9..13;
const END: std::ops::Range<usize> = 13..17;
const TYPE: usize = 4;
const FLAGS: usize = 18;
const FORMAT_DESCRIPTION: u8 = 15;
const START_ENCRYPTION: u8 = 164;
/// Flag of an event that a reader may pass over, in the second byte of the flags: what the server sets when it sends the log.
const MAY_BE_PASSED_OVER: u8 = 0x80;
/// Scheme, version of the key and nonce.
const BODY: usize = 1 + 4 + NONCE;
const NONCE: usize = 12;
const BLOCK: usize = 16;
const LARGEST_EVENT: usize = 1 << 30;

/// A mode of the cipher.
#[derive(Debug, Clone, Copy)]
enum Mode {
    Cbc,
    Counter,
}

/// The cipher of a file's events.
pub(super) struct Events {
    key: Vec<u8>,
    nonce: [u8; NONCE],
    /// None before the first event.
    mode: Option<Mode>,
}

/// Returns true if a `Start_encryption` event follows the format description.
pub(super) fn begins_encrypted(start: &[u8]) -> bool {
    let Some(events) = start.strip_prefix(MAGIC) else { return false };
    let length = u32_at(events, LENGTH).unwrap_or(0) as usize;
    let Some(second) = events.get(length..) else { return false };
    let encrypts = second.get(TYPE) == Some(&START_ENCRYPTION);
    events.get(TYPE) == Some(&FORMAT_DESCRIPTION)
        && encrypts
        && second.get(FLAGS - 1).is_some_and(|flags| flags & MAY_BE_PASSED_OVER == 0)
}

/// Reads the two events at the start; returns them as the server sends them.
pub(super) fn open(source: &mut Source, keys: &Keys) -> Result<(Events, Vec<u8>), LogError> {
    let format = raw_event(source)?.ok_or_else(|| source.truncated())?;
    let position = source.position;
    let mut second = raw_event(source)?.ok_or_else(|| source.truncated())?;
    let nonce = second.get(HEADER + 5..HEADER + BODY).and_then(|nonce| <[u8; NONCE]>::try_from(nonce).ok());
    let (Some(&START_ENCRYPTION), Some(nonce)) = (second.get(TYPE), nonce) else {
        return Err(source.refused(position, "it is not an encrypted log".to_owned()));
    };
    let scheme = second.get(HEADER).copied().unwrap_or_default();
    if scheme != 1 {
        return Err(
            source.refused(position, format!("its encryption scheme is {scheme}; this version knows scheme 1 only"))
        );
    }
    let Some(key) = keys.get("1") else {
        let message = "it is encrypted with the key 1, which the keyring does not hold; name the key file of the server that wrote \
                       it (file_key_management_filename), or fetch the log from the server (mariadb-binlog \
                       --read-from-remote-server --raw)";
        return Err(source.refused(position, message.to_owned()));
    };
    if ![16, 24, 32].contains(&key.len()) {
        return Err(source.refused(position, format!("the key 1 has {} bytes, and AES takes 16, 24 or 32", key.len())));
    }
    mark_as_sent(&mut second);
    let start = [MAGIC.as_slice(), &format, &second].concat();
    Ok((Events { key: key.clone(), nonce, mode: None }, start))
}

/// Sets the flag that the server sets when it sends the event, and computes its checksum again.
fn mark_as_sent(event: &mut [u8]) {
    if let Some(flags) = event.get_mut(FLAGS - 1) {
        *flags |= MAY_BE_PASSED_OVER;
    }
    if event.len() == HEADER + BODY + 4 {
        let (content, checksum) = event.split_at_mut(HEADER + BODY);
        checksum.copy_from_slice(&crc32fast::hash(content).to_le_bytes());
    }
}

/// Reads an event as it is in the file; `None` at the end of the file.
fn raw_event(source: &mut Source) -> Result<Option<Vec<u8>>, LogError> {
    let position = source.position;
    let Some(mut event) = source.exactly(HEADER)? else { return Ok(None) };
    let length = u32_at(&event, LENGTH).unwrap_or(0) as usize;
    if !(HEADER..=LARGEST_EVENT).contains(&length) {
        return Err(source.damaged(position, format!("an event of {length} bytes is not possible")));
    }
    if length > HEADER {
        event.extend(source.exactly(length - HEADER)?.ok_or_else(|| source.truncated())?);
    }
    Ok(Some(event))
}

impl Events {
    /// Returns the next plain events; `None` at the end.
    pub(super) fn next_piece(&mut self, source: &mut Source) -> Result<Option<Vec<u8>>, LogError> {
        let mut piece = Vec::new();
        while piece.len() < PIECE {
            let position = source.position;
            let Some(event) = raw_event(source)? else { break };
            piece.extend(self.plain(source, position, &event)?);
        }
        Ok((!piece.is_empty()).then_some(piece))
    }

    fn plain(&mut self, source: &Source, position: u64, event: &[u8]) -> Result<Vec<u8>, LogError> {
        let modes = self.mode.map_or(vec![Mode::Cbc, Mode::Counter], |mode| vec![mode]);
        for mode in modes {
            let Some(plain) = self.decrypted(position, event, mode) else { break };
            // The header says where the event ends, which only the right key tells.
            if u32_at(&plain, END).is_some_and(|end| u64::from(end) == (position + event.len() as u64) & 0xFFFF_FFFF) {
                self.mode = Some(mode);
                return Ok(plain);
            }
        }
        Err(match self.mode {
            None => {
                let message = "the key 1 does not fit this log; name the key file of the server that wrote it";
                source.refused(position, message.to_owned())
            }
            Some(_) => source.damaged(position, "a decrypted event does not name its own end".to_owned()),
        })
    }

    fn decrypted(&self, position: u64, event: &[u8], mode: Mode) -> Option<Vec<u8>> {
        let mut vector = [0_u8; BLOCK];
        vector.get_mut(..NONCE)?.copy_from_slice(&self.nonce);
        vector.get_mut(NONCE..)?.copy_from_slice(&u32::try_from(position & 0xFFFF_FFFF).ok()?.to_le_bytes());
        let mut plain = event.to_vec();
        plain.copy_within(0..4, LENGTH.start);
        let encrypted = plain.get_mut(4..)?;
        match self.key.len() {
            16 => decrypt::<Aes128>(&self.key, &vector, mode, encrypted)?,
            24 => decrypt::<Aes192>(&self.key, &vector, mode, encrypted)?,
            _ => decrypt::<Aes256>(&self.key, &vector, mode, encrypted)?,
        }
        plain.copy_within(LENGTH, 0);
        plain.get_mut(LENGTH)?.copy_from_slice(event.get(LENGTH)?);
        Some(plain)
    }
}

/// Decrypts bytes in place; `None` for a key of a wrong length.
fn decrypt<C>(key: &[u8], vector: &[u8; BLOCK], mode: Mode, bytes: &mut [u8]) -> Option<()>
where
    C: KeyInit + BlockCipher + BlockSizeUser<BlockSize = U16> + BlockEncrypt + BlockDecrypt + BlockEncryptMut + Clone,
{
    let cipher = C::new_from_slice(key).ok()?;
    if matches!(mode, Mode::Counter) {
        ctr::Ctr128BE::<C>::new_from_slices(key, vector).ok()?.apply_keystream(bytes);
        return Some(());
    }
    let whole = bytes.len() / BLOCK * BLOCK;
    let (blocks, tail) = bytes.split_at_mut(whole);
    let mut before = *GenericArray::from_slice(vector);
    for block in blocks.chunks_exact_mut(BLOCK) {
        let block = GenericArray::from_mut_slice(block);
        let encrypted = *block;
        cipher.decrypt_block(block);
        block.iter_mut().zip(&before).for_each(|(byte, mask)| *byte ^= mask);
        before = encrypted;
    }
    let mut mask = *GenericArray::from_slice(vector);
    cipher.encrypt_block(&mut mask);
    tail.iter_mut().zip(&mask).for_each(|(byte, mask)| *byte ^= mask);
    Some(())
}

fn u32_at(bytes: &[u8], range: std::ops::Range<usize>) -> Option<u32> {
    bytes.get(range).and_then(|value| value.try_into().ok()).map(u32::from_le_bytes)
}

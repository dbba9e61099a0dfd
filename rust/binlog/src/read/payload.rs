//! Transaction payload events: a transaction's events in one, compressed with zstd or plain.

use std::sync::Arc;

use zstd::stream::read::Decoder;

use crate::error::Fault;
use crate::event::Event;
use crate::event::cursor::Cursor;
use crate::read::file::{EventReader, Source};

const FIELD_END: u64 = 0;
const FIELD_PAYLOAD_SIZE: u64 = 1;
const FIELD_COMPRESSION: u64 = 2;
const FIELD_UNCOMPRESSED_SIZE: u64 = 3;
const COMPRESSION_ZSTD: u64 = 0;
const COMPRESSION_NONE: u64 = 255;
/// The window that a frame may ask for, as a power of two: far more than servers use.
const LARGEST_WINDOW_LOG: u32 = 27;

/// A payload event's fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payload<'a> {
    /// Compression of the content: 0 zstd, 255 none.
    pub compression: u64,
    /// Bytes of the content uncompressed; none where the event does not have it.
    pub uncompressed_size: Option<u64>,
    /// The content as in the file.
    pub content: &'a [u8],
}

impl<'a> Payload<'a> {
    /// Reads the body of a payload event.
    pub fn parse(body: &'a [u8]) -> Result<Self, Fault> {
        let mut cursor = Cursor::new(body);
        let (mut compression, mut uncompressed_size, mut size) = (None, None, None);
        loop {
            let field = cursor.lenenc()?;
            if field == FIELD_END {
                break;
            }
            let length = cursor.lenenc_size()?;
            let mut value = Cursor::new(cursor.take(length)?);
            match field {
                FIELD_PAYLOAD_SIZE => size = Some(value.lenenc()?),
                FIELD_COMPRESSION => compression = Some(value.lenenc()?),
                FIELD_UNCOMPRESSED_SIZE => uncompressed_size = Some(value.lenenc()?),
                _ => {}
            }
        }
        let content = cursor.rest();
        if size.is_some_and(|size| size != content.len() as u64) {
            return Err(Fault::damaged("a compressed transaction does not have the size that it states"));
        }
        let compression =
            compression.ok_or_else(|| Fault::damaged("a payload event does not state its compression"))?;
        Ok(Self { compression, uncompressed_size, content })
    }

    /// Reads the events inside; `event` is the payload event itself.
    pub fn events(&self, name: &Arc<str>, event: &Event<'a>) -> Result<EventReader<'a>, Fault> {
        let source: Source<'a> = match self.compression {
            COMPRESSION_ZSTD => Box::new(zstd_source(self.content)?),
            COMPRESSION_NONE => Box::new(self.content),
            other => {
                return Err(Fault::not_understood(format!(
                    "the transaction is compressed in an unknown way ({other}); set \
                     binlog_transaction_compression=OFF on the source"
                )));
            }
        };
        let size = self.uncompressed_size.unwrap_or(self.content.len() as u64 * 4);
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        Ok(EventReader::nested(Arc::clone(name), source, Arc::clone(event.format), size))
    }
}

fn zstd_source(content: &[u8]) -> Result<Decoder<'static, &[u8]>, Fault> {
    let unusable = |error| Fault::damaged(format!("a compressed transaction cannot be unpacked: {error}"));
    let mut decoder = Decoder::with_buffer(content).map_err(unusable)?;
    decoder.window_log_max(LARGEST_WINDOW_LOG).map_err(unusable)?;
    Ok(decoder)
}

//! Decompression of whole log files.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Result, Write as _};
use std::path::Path;

/// A format of compressed files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Zstandard (RFC 8878).
    Zstd,
    /// Frames of LZ4.
    Lz4,
}

/// Opens a compressed file; the reader gives its contents, also of several frames behind one another.
///
/// # Errors
///
/// The file cannot be opened. The reader fails where the file is damaged, and with `UnexpectedEof` where it is cut off.
pub fn open(path: &Path, compression: Compression) -> Result<Box<dyn Read + Send + Sync>> {
    let file = File::open(path)?;
    Ok(match compression {
        Compression::Zstd => Box::new(zstd::stream::read::Decoder::new(file)?),
        Compression::Lz4 => Box::new(Lz4Frames::new(file)),
    })
}

/// Returns bytes as one Zstandard frame with a checksum.
///
/// # Errors
///
/// The level is not known.
pub fn pack(plain: &[u8], level: i32) -> Result<Vec<u8>> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), level)?;
    encoder.include_checksum(true)?;
    encoder.write_all(plain)?;
    encoder.finish()
}

/// Returns the contents of Zstandard frames.
///
/// # Errors
///
/// The frames are damaged or, with `UnexpectedEof`, cut off.
pub fn unpack(packed: &[u8]) -> Result<Vec<u8>> {
    let mut plain = Vec::new();
    zstd::stream::read::Decoder::new(packed)?.read_to_end(&mut plain)?;
    Ok(plain)
}

/// Reader of LZ4 frames that goes on after the end of one, and refuses a file that ends inside of one.
///
/// The decoder takes a file that ends between two blocks of a frame for complete (seen with `lz4_flex` 0.11).
struct Lz4Frames {
    decoder: lz4_flex::frame::FrameDecoder<Counted<BufReader<File>>>,
    /// Bytes of the file up to the end of the last whole frame.
    boundary: u64,
}

impl Lz4Frames {
    fn new(file: File) -> Self {
        let counted = Counted { source: BufReader::new(file), count: 0, ended: false };
        Self { decoder: lz4_flex::frame::FrameDecoder::new(counted), boundary: 0 }
    }
}

impl Read for Lz4Frames {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            let length = self.decoder.read(buffer)?;
            if length > 0 || buffer.is_empty() {
                return Ok(length);
            }
            let source = self.decoder.get_ref();
            if !source.ended {
                self.boundary = source.count; // the end of a frame; another one may follow
            } else if source.count == self.boundary {
                return Ok(0);
            } else {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

/// Source that counts its bytes, and knows whether its end was met.
struct Counted<R> {
    source: R,
    count: u64,
    ended: bool,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let length = self.source.read(buffer)?;
        self.count += length as u64;
        self.ended |= length == 0 && !buffer.is_empty();
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(name: &str, bytes: &[u8]) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("paraply-unpack-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).expect("a temporary file");
        path
    }

    fn lz4(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    }

    #[test]
    fn packed_bytes_are_unpacked_and_a_change_is_found() {
        let plain = vec![7; 100_000];
        let mut packed = pack(&plain, 3).expect("memory");
        assert_eq!(unpack(&packed).expect("undamaged"), plain);
        assert_eq!(unpack(&packed[..packed.len() - 1]).expect_err("cut off").kind(), ErrorKind::UnexpectedEof);
        *packed.last_mut().expect("a checksum") ^= 1;
        assert!(unpack(&packed).is_err());
    }

    #[test]
    fn frames_behind_one_another_are_one_file() {
        let zstd = |bytes: &[u8]| zstd::encode_all(bytes, 3).expect("memory");
        let cases = [
            ("two.zst", Compression::Zstd, [zstd(b"first, "), zstd(b"second")].concat()),
            ("two.lz4", Compression::Lz4, [lz4(b"first, "), lz4(b"second")].concat()),
        ];
        for (name, compression, bytes) in cases {
            let path = written(name, &bytes);
            let mut text = String::new();
            open(&path, compression).expect("a file").read_to_string(&mut text).expect("undamaged");
            assert_eq!(text, "first, second", "{name}");
            std::fs::remove_file(path).expect("the file");
        }
    }

    #[test]
    fn a_file_that_is_cut_off_anywhere_is_an_error() {
        let zstd = zstd::encode_all(vec![7; 100_000].as_slice(), 3).expect("memory");
        for (name, compression, bytes) in
            [("cut.zst", Compression::Zstd, zstd), ("cut.lz4", Compression::Lz4, lz4(&vec![7; 100_000]))]
        {
            for length in 1..bytes.len() {
                let path = written(name, &bytes[..length]);
                let error =
                    open(&path, compression).expect("a file").read_to_end(&mut Vec::new()).expect_err("cut off");
                assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{name} {length}");
                std::fs::remove_file(path).expect("the file");
            }
        }
    }
}

//! Decompression of whole log files.

use std::fs::File;
use std::io::{BufReader, Read, Result};
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
        Compression::Lz4 => Box::new(Lz4Frames(lz4_flex::frame::FrameDecoder::new(BufReader::new(file)))),
    })
}

/// Reader of LZ4 frames that goes on after the end of one.
struct Lz4Frames(lz4_flex::frame::FrameDecoder<BufReader<File>>);

impl Read for Lz4Frames {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        match self.0.read(buffer)? {
            // The end of a frame or of the file: the next read begins the next frame, or finds nothing.
            0 if !buffer.is_empty() => self.0.read(buffer),
            length => Ok(length),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Write};

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
    fn a_file_that_is_cut_off_is_an_error() {
        let zstd = zstd::encode_all(vec![7; 100_000].as_slice(), 3).expect("memory");
        for (name, compression, bytes) in
            [("cut.zst", Compression::Zstd, zstd), ("cut.lz4", Compression::Lz4, lz4(&vec![7; 100_000]))]
        {
            let path = written(name, &bytes[..bytes.len() - 2]);
            let error = open(&path, compression).expect("a file").read_to_end(&mut Vec::new()).expect_err("cut off");
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{name}");
            std::fs::remove_file(path).expect("the file");
        }
    }
}

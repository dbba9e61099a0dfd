//! Any bytes as a document of binary JSON and as the differences of a partial update: an error or a text, within the memory of its input.
//!
//! The first two bytes say where the document ends and the differences begin.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paraply_binlog::rows::values::json::{Json, differences, holds_opaque, json_text, updated_json_text};

fuzz_target!(|data: &[u8]| {
    let Some((head, rest)) = data.split_first_chunk::<2>() else { return };
    let (document, diff) = rest.split_at(usize::from(u16::from_le_bytes(*head)).min(rest.len()));
    let mut text = Vec::new();
    if json_text(document, &mut text).is_ok() {
        assert!(std::str::from_utf8(&text).is_ok());
        assert!(Json::parse(document).is_ok());
    }
    let _ = holds_opaque(document);
    if let Ok(found) = differences(diff) {
        for difference in &found {
            let _ = difference.legs();
        }
    }
    text.clear();
    if updated_json_text(document, diff, &mut text).is_ok() {
        assert!(std::str::from_utf8(&text).is_ok());
    }
});

//! Any text as a set of GTIDs: an error, or a set whose text is read as the same set.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paraply_core::gtid::GtidSet;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(set) = text.parse::<GtidSet>() {
        let again: GtidSet = set.to_string().parse().expect("the text of a set is a set");
        assert_eq!(set, again);
    }
});

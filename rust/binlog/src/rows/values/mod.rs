//! Values of row images: their decoding, their text and their character sets.

pub mod address;
pub mod charset;
pub mod decode;
pub mod json;
pub mod value_text;

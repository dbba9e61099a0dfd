use proptest::prelude::*;

use super::*;

/// A public key of 2,048 bits; its private key was not kept.
const KEY: &str = "-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAxSKOcxiet8lLMn8ImyUE
bGGKob5EdRz/4wdiw12ED0GfKKTKhVnodFCfm1mdy7bKOX5QxL9skrvYodpW43eR
R5bfOzIgy1qIB8RYb6qOXRBw1oA4snBDqtUjDv/lbHLJN+IbzM4oU+e3Lt9rXyLX
VY289ewONPweXHqSCnTL91w+wkU1peIFV2QhZ+upUCdCtwOn5hnJPNgxtbklFoya
C8W3Z7Xx7He2QDJsEWAqX197efw0L6j8X8Tyd8Uwb7zUB1tfMGhHfm9EwejPAtzx
4GztQNtNMtGS2oGZLQBLV9hib4dDL92iiZeckg2LAf4GsJofLLR8mcHCRoqVbQJ1
YQIDAQAB
-----END PUBLIC KEY-----
";
const NONCE: &[u8] = b"abcdefghijklmnopqrst";

#[test]
fn a_password_fills_a_block_and_a_longer_one_is_refused() {
    assert_eq!(encrypt_password("secret", NONCE, KEY.as_bytes()).unwrap().len(), 256);
    let longest = "x".repeat(256 - PADDING - 1);
    assert_eq!(encrypt_password(&longest, NONCE, KEY.as_bytes()).unwrap().len(), 256);
    let refused = encrypt_password(&(longest + "x"), NONCE, KEY.as_bytes());
    assert!(matches!(refused, Err(Error::Client(text)) if text.contains("use TLS")));
}

#[test]
fn what_is_no_key_is_an_error() {
    let torn = |end| KEY.get(..end).unwrap_or_default();
    for end in 0..KEY.len() - END.len() {
        assert!(encrypt_password("secret", NONCE, torn(end).as_bytes()).is_err(), "{end}");
    }
    assert!(encrypt_password("secret", b"", KEY.as_bytes()).is_err());
    let empty = format!("{BEGIN}\n{END}");
    assert!(encrypt_password("secret", NONCE, empty.as_bytes()).is_err());
}

proptest! {
    #[test]
    fn no_key_makes_it_panic(at in 0..294_usize, byte: u8, password in "\\PC{0,300}") {
        let body: String = KEY.lines().filter(|line| !line.starts_with('-')).collect();
        let mut der = STANDARD.decode(body).unwrap();
        // The numbers of the key may have any value; only the layout around them can be wrong.
        if let Some(place) = der.get_mut(at) {
            *place = byte;
        }
        let pem = format!("{BEGIN}\n{}\n{END}\n", STANDARD.encode(&der));
        let _ = encrypt_password(&password, NONCE, pem.as_bytes());
    }
}

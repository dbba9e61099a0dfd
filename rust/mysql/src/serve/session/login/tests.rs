use std::io;

use mysql_common::packets::AuthPlugin;
use proptest::prelude::*;

use super::*;
use crate::scripted_stream::Script;

const NONCE: [u8; NONCE_LENGTH] = *b"abcdefghijklmnopqrst";

fn account() -> Account {
    Account { user: "repl".to_owned(), password: "secret".to_owned() }
}

/// Returns a client's answer to the greeting.
fn answer(user: &str, proof: &[u8], plugin: AuthPlugin<'static>) -> Vec<u8> {
    let flags = CapabilityFlags::CLIENT_PROTOCOL_41
        | CapabilityFlags::CLIENT_SECURE_CONNECTION
        | CapabilityFlags::CLIENT_PLUGIN_AUTH;
    let mut out = Vec::new();
    HandshakeResponse::new(
        Some(proof.to_vec()),
        (8, 0, 0),
        Some(user.as_bytes().to_vec()),
        None::<&[u8]>,
        Some(plugin),
        flags,
        None,
        1 << 24,
    )
    .serialize(&mut out);
    out
}

fn proof(password: &str) -> Vec<u8> {
    scramble_sha256(&NONCE, password.as_bytes()).map(Vec::from).unwrap_or_default()
}

/// Logs in with an answer and the packets that follow it; returns what the server sent.
fn login(answer: &[u8], packets: &[(u8, &[u8])], encrypted: bool) -> (Result<(), Denied>, Vec<u8>) {
    login_by(Method::CachingSha2, answer, packets, encrypted)
}

fn login_by(method: Method, answer: &[u8], packets: &[(u8, &[u8])], encrypted: bool) -> (Result<(), Denied>, Vec<u8>) {
    let mut input = Vec::new();
    for (number, packet) in packets {
        input.extend_from_slice(&(packet.len() as u32).to_le_bytes()[..3]);
        input.push(*number);
        input.extend_from_slice(packet);
    }
    let mut wire = Wire::new(Script { input: io::Cursor::new(input), sent: Vec::new() });
    let done = authenticate(&mut wire, (&account(), method), answer, &NONCE, encrypted);
    (done, wire.into_parts().0.sent)
}

#[test]
fn the_right_password_is_accepted_from_its_proof_alone() {
    let (done, sent) = login(&answer("repl", &proof("secret"), AuthPlugin::CachingSha2Password), &[], false);
    assert!(done.is_ok());
    assert_eq!(sent, b"\x02\0\0\0\x01\x03\x07\0\0\x01\0\0\0\x02\0\0\0");
}

#[test]
fn a_wrong_name_password_or_none_is_refused_with_the_same_words() {
    for (user, proof, word) in [
        ("repl", proof("wrong"), "YES"),
        ("root", proof("secret"), "YES"),
        ("repl", Vec::new(), "NO"),
        ("", Vec::new(), "NO"),
        ("repl", vec![0; 31], "YES"),
        ("repl", vec![0; 33], "YES"),
    ] {
        let (done, sent) = login(&answer(user, &proof, AuthPlugin::CachingSha2Password), &[], false);
        assert!(matches!(done, Err(Denied::Refused(_))), "{user}");
        let text = format!("#28000Access denied for user '{user}' (using password: {word})");
        assert!(sent.ends_with(text.as_bytes()), "{}", String::from_utf8_lossy(&sent));
    }
}

#[test]
fn another_method_is_switched_to_ours() {
    let answer = answer("repl", b"01234567890123456789", AuthPlugin::MysqlNativePassword);
    let (done, sent) = login(&answer, &[(1, &proof("secret"))], false);
    assert!(done.is_ok());
    assert!(sent.starts_with(b"\x2c\0\0\0\xfecaching_sha2_password\0abcdefghijklmnopqrst\0"));
    let (done, _) = login(&answer, &[(1, &proof("wrong"))], false);
    assert!(matches!(done, Err(Denied::Refused(_))));
}

#[test]
fn a_receiver_of_mariadb_proves_the_password_by_its_own_method() {
    let native = |password: &str| scramble_native(&NONCE, password.as_bytes()).map(Vec::from).unwrap_or_default();
    let right = answer("repl", &native("secret"), AuthPlugin::MysqlNativePassword);
    let (done, sent) = login_by(Method::Native, &right, &[], false);
    assert!(done.is_ok());
    assert_eq!(sent, b"\x07\0\0\0\0\0\0\x02\0\0\0");
    for proof in [native("wrong"), Vec::new(), proof("secret")] {
        let wrong = answer("repl", &proof, AuthPlugin::MysqlNativePassword);
        let (done, sent) = login_by(Method::Native, &wrong, &[(1, b"secret\0")], true);
        assert!(matches!(done, Err(Denied::Refused(_))), "{proof:?}");
        assert_eq!(sent[4], 0xff);
    }
    let other = answer("repl", &proof("secret"), AuthPlugin::CachingSha2Password);
    let (done, sent) = login_by(Method::Native, &other, &[(1, &native("secret"))], false);
    assert!(done.is_ok());
    assert!(sent.starts_with(b"\x2c\0\0\0\xfemysql_native_password\0abcdefghijklmnopqrst\0"));
}

#[test]
fn the_password_itself_is_taken_under_tls_only() {
    let wrong = answer("repl", &proof("outdated"), AuthPlugin::CachingSha2Password);
    let (done, sent) = login(&wrong, &[(1, b"secret\0")], true);
    assert!(done.is_ok());
    assert!(sent.starts_with(b"\x02\0\0\0\x01\x04"));
    assert!(matches!(login(&wrong, &[(1, b"wrong\0")], true).0, Err(Denied::Refused(_))));
    let (done, sent) = login(&wrong, &[(1, b"secret\0")], false);
    assert!(matches!(done, Err(Denied::Refused(_))));
    assert!(!sent.windows(2).any(|window| window == FULL_LOGIN));
}

#[test]
fn a_torn_answer_is_refused() {
    let whole = answer("repl", &proof("secret"), AuthPlugin::CachingSha2Password);
    for end in 0..whole.len() - 1 {
        let (done, _) = login(&whole[..end], &[], false);
        assert!(done.is_err(), "{end}");
    }
}

#[test]
fn strings_are_compared_whole() {
    for (given, expected, same) in
        [("", "", true), ("a", "a", true), ("a", "", false), ("", "a", false), ("ab", "a", false)]
    {
        assert_eq!(is_same(given.as_bytes(), expected.as_bytes()), same);
    }
}

#[test]
fn an_account_does_not_print_its_password() {
    assert!(!format!("{:?}", account()).contains("secret"));
}

proptest! {
    #[test]
    fn no_answer_makes_it_panic_or_lets_anybody_in(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..300),
        flags: u32,
        known: bool,
        more in proptest::collection::vec(any::<u8>(), 0..40),
        encrypted: bool,
    ) {
        if known && bytes.len() > 4 {
            bytes[..4].copy_from_slice(&flags.to_le_bytes());
        }
        let (done, _) = login(&bytes, &[(1, &more), (3, &more)], encrypted);
        prop_assert!(done.is_err());
        let _ = wants_tls(&bytes);
    }
}

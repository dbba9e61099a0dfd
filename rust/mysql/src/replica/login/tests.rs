use std::io;

use super::*;
use crate::scripted_stream::Script;

/// Logs `app` in with these numbered answers of the server.
fn login(plugin: &str, password: &str, private: bool, answers: &[(u8, &[u8])]) -> Result<(), Error> {
    let mut input = Vec::new();
    for (number, answer) in answers {
        input.extend_from_slice(&(answer.len() as u32).to_le_bytes()[..3]);
        input.push(*number);
        input.extend_from_slice(answer);
    }
    let greeting = Greeting {
        version: "9.7.0".to_owned(),
        connection_id: 1,
        nonce: b"abcdefghijklmnopqrst".to_vec(),
        capabilities: CapabilityFlags::all(),
        plugin: plugin.to_owned(),
    };
    let flags = CapabilityFlags::CLIENT_PROTOCOL_41
        | CapabilityFlags::CLIENT_SECURE_CONNECTION
        | CapabilityFlags::CLIENT_PLUGIN_AUTH;
    let mut packets = Packets::new(Script { input: io::Cursor::new(input), sent: Vec::new() });
    let done = authenticate(&mut packets, &greeting, flags, "app", password, private);
    // The password itself may only be sent over a private connection.
    let sent = packets.replace(|script| Ok(io::Cursor::new(script.sent)));
    if let (Ok(mut sent), false, false) = (sent, private, password.is_empty()) {
        let (mut all, mut packet) = (Vec::new(), Vec::new());
        sent.count_loosely();
        while sent.read(&mut packet).is_ok() {
            all.extend_from_slice(&packet);
        }
        assert!(!all.windows(password.len()).any(|window| window == password.as_bytes()));
    }
    done
}

const DONE: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const TO_NATIVE: &[u8] = b"\xfemysql_native_password\0abcdefghijklmnopqrst\0";
const TO_SHA2: &[u8] = b"\xfecaching_sha2_password\0abcdefghijklmnopqrst\0";

#[test]
fn logins_that_succeed() {
    login(NATIVE, "secret", false, &[(1, DONE)]).unwrap();
    login(NATIVE, "", false, &[(1, DONE)]).unwrap();
    login(SHA2, "secret", false, &[(1, FAST_LOGIN), (2, DONE)]).unwrap();
    login(SHA2, "secret", true, &[(1, FULL_LOGIN), (3, DONE)]).unwrap();
    login(SHA2, "secret", false, &[(1, TO_NATIVE), (3, DONE)]).unwrap();
    login("dialog", "secret", true, &[(1, TO_SHA2), (3, FULL_LOGIN), (5, DONE)]).unwrap();
}

#[test]
fn a_refusal_is_the_servers_error() {
    let denied = b"\xff\x15\x04#28000Access denied";
    for answers in [&[(1, &denied[..])][..], &[(1, FULL_LOGIN), (3, denied)], &[(1, TO_NATIVE), (3, denied)]] {
        assert!(matches!(login(SHA2, "secret", true, answers), Err(Error::Server { code: 1045, .. })));
    }
}

#[test]
fn a_server_that_goes_astray_is_an_error() {
    let odd: [&[(u8, &[u8])]; 9] = [
        &[],
        &[(1, b"")],
        &[(1, &[1])],
        &[(1, &[1, 9])],
        &[(1, b"\xfedialog\0nonce")],
        &[(1, TO_NATIVE), (3, TO_SHA2)],
        &[(1, FULL_LOGIN), (3, b"\x01no key")],
        &[(1, FULL_LOGIN), (3, DONE)],
        &[(1, FAST_LOGIN), (2, FULL_LOGIN)],
    ];
    for answers in odd {
        assert!(login(SHA2, "secret", false, answers).is_err(), "{answers:?}");
    }
    assert!(login(NATIVE, "secret", false, &[(1, FULL_LOGIN), (3, DONE)]).is_err());
}

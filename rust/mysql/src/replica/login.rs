//! Logging in: TLS, the password in the form of the server's plugin, and another plugin where the server asks for it.

use std::io::{Read, Write};

use mysql_common::constants::CapabilityFlags;
use mysql_common::packets::{AuthPlugin, HandshakeResponse, SslRequest};
use mysql_common::proto::MySerialize as _;

use crate::connection::{Error, Options, TlsMode};
use crate::replica::handshake::{AuthSwitch, Greeting, odd, server_error};
use crate::replica::packets::Packets;
use crate::replica::public_key::encrypt_password;
use crate::replica::transport::Transport;

const NATIVE: &str = "mysql_native_password";
const SHA2: &str = "caching_sha2_password";
const UTF8MB4_GENERAL_CI: u8 = 45;
const LONGEST_PACKET: u32 = 1 << 30;

const OK: u8 = 0x00;
const MORE: u8 = 0x01;
const SWITCH: u8 = 0xfe;
/// The server knows the password from an earlier login.
const FAST_LOGIN: &[u8] = &[MORE, 3];
/// The server wants the password itself.
const FULL_LOGIN: &[u8] = &[MORE, 4];
const ASK_FOR_KEY: &[u8] = &[2];

/// Connects and logs in; returns the server's greeting too.
pub(super) fn log_in(options: &Options) -> Result<(Packets<Transport>, Greeting), Error> {
    let transport = Transport::open(options)?;
    let tcp = !transport.is_private();
    let mut packets = Packets::new(transport);
    let mut packet = Vec::new();
    packets.read(&mut packet)?;
    let greeting = Greeting::parse(&packet)?;
    let mut flags = greeting.capabilities
        & (CapabilityFlags::CLIENT_PROTOCOL_41
            | CapabilityFlags::CLIENT_SECURE_CONNECTION
            | CapabilityFlags::CLIENT_LONG_PASSWORD
            | CapabilityFlags::CLIENT_TRANSACTIONS
            | CapabilityFlags::CLIENT_PLUGIN_AUTH);
    if tcp && options.tls.mode != TlsMode::Disabled {
        if greeting.capabilities.contains(CapabilityFlags::CLIENT_SSL) {
            flags.insert(CapabilityFlags::CLIENT_SSL);
            packet.clear();
            SslRequest::new(flags, LONGEST_PACKET, UTF8MB4_GENERAL_CI).serialize(&mut packet);
            packets.write(&packet)?;
            packets = packets.replace(|transport| transport.secured(options))?;
        } else if options.tls.mode != TlsMode::Preferred {
            return Err(Error::NoTls);
        }
    }
    let private = !tcp || flags.contains(CapabilityFlags::CLIENT_SSL);
    authenticate(&mut packets, &greeting, flags, &options.user, options.password.as_deref().unwrap_or(""), private)?;
    packets.stream().set_read_limit(options.read_timeout)?;
    Ok((packets, greeting))
}

/// Runs the exchange from the client's first packet to the server's last one.
///
/// `private` is true if the connection cannot be read by others.
fn authenticate<S: Read + Write>(
    packets: &mut Packets<S>,
    greeting: &Greeting,
    flags: CapabilityFlags,
    user: &str,
    password: &str,
    private: bool,
) -> Result<(), Error> {
    // If a server names any other plugin first, it may still request one of these by a switch, with a nonce of its own.
    let mut plugin =
        if greeting.plugin == SHA2 { AuthPlugin::CachingSha2Password } else { AuthPlugin::MysqlNativePassword };
    let mut nonce = greeting.nonce.clone();
    let mut packet = Vec::new();
    let response = HandshakeResponse::new(
        Some(answer(&plugin, password, &nonce)),
        (8, 0, 0),
        Some(user.as_bytes()),
        None::<&[u8]>,
        flags.contains(CapabilityFlags::CLIENT_PLUGIN_AUTH).then(|| plugin.clone()),
        flags,
        None,
        LONGEST_PACKET,
    );
    response.serialize(&mut packet);
    packets.write(&packet)?;
    let (mut switched, mut asked) = (false, false);
    loop {
        packets.read(&mut packet)?;
        if let Some(error) = server_error(&packet) {
            return Err(error);
        }
        let sha2 = plugin == AuthPlugin::CachingSha2Password;
        match packet.as_slice() {
            [OK, ..] => return Ok(()),
            FAST_LOGIN if sha2 && !asked => asked = true,
            FULL_LOGIN if sha2 && !asked => {
                asked = true;
                send_password(packets, password, &nonce, private)?;
            }
            [SWITCH, ..] if !switched && !asked => {
                switched = true;
                let other = AuthSwitch::parse(&packet)?;
                plugin = known_plugin(&other.plugin)?;
                nonce = other.nonce;
                packets.write(&answer(&plugin, password, &nonce))?;
            }
            _ => return Err(odd("answer to the login")),
        }
    }
}

fn known_plugin(name: &str) -> Result<AuthPlugin<'static>, Error> {
    match name {
        NATIVE => Ok(AuthPlugin::MysqlNativePassword),
        SHA2 => Ok(AuthPlugin::CachingSha2Password),
        _ => Err(Error::Client(format!("Unknown authentication protocol: `{name}`"))),
    }
}

/// Returns a plugin's response for password and nonce; empty for an empty password.
fn answer(plugin: &AuthPlugin<'_>, password: &str, nonce: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(data) = plugin.gen_data(Some(password), nonce) {
        data.serialize(&mut bytes);
    }
    bytes
}

/// Sends the password itself: in clear where the connection is private, else encrypted with the server's key.
fn send_password<S: Read + Write>(
    packets: &mut Packets<S>,
    password: &str,
    nonce: &[u8],
    private: bool,
) -> Result<(), Error> {
    if private {
        return packets.write(&[password.as_bytes(), &[0]].concat());
    }
    packets.write(ASK_FOR_KEY)?;
    let mut packet = Vec::new();
    packets.read(&mut packet)?;
    if let Some(error) = server_error(&packet) {
        return Err(error);
    }
    let [MORE, pem @ ..] = packet.as_slice() else { return Err(odd("public key")) };
    packets.write(&encrypt_password(password, nonce, pem)?)
}

#[cfg(test)]
mod tests;

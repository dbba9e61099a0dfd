//! Helpers of the tests against a real server.

use std::time::Duration;

use paraply_mysql::connection::{Options, Tls, TlsMode};

/// Returns the options of the server that `PARAPLY_TEST_MYSQL` names.
pub fn options() -> Options {
    let url = std::env::var("PARAPLY_TEST_MYSQL").expect("PARAPLY_TEST_MYSQL");
    parse(&url).expect("PARAPLY_TEST_MYSQL=mysql://user:password@host:port")
}

fn parse(url: &str) -> Option<Options> {
    let (login, place) = url.strip_prefix("mysql://")?.split_once('@')?;
    let (user, password) = login.split_once(':')?;
    let (host, port) = place.split_once(':')?;
    Some(Options {
        host: host.into(),
        port: port.parse().ok()?,
        user: user.into(),
        password: Some(password.into()),
        database: None,
        socket: None,
        tls: Tls { mode: TlsMode::Disabled, ..Tls::default() },
        connect_timeout: Duration::from_secs(10),
        read_timeout: None,
        found_rows: false,
    })
}

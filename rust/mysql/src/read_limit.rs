//! Time limit of reads on a connection of the client library.

#![expect(
    unsafe_code,
    reason = "the client library lends its socket only as a number; this module is all that borrows it"
)]

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::time::Duration;

use mysql::Conn;
use socket2::SockRef;

/// Sets the time of silence after which a read fails; none for no limit.
pub(crate) fn set_read_limit(connection: &Conn, limit: Option<Duration>) -> io::Result<()> {
    // SAFETY: the connection owns the socket and outlives the borrow.
    let socket = unsafe { BorrowedFd::borrow_raw(connection.as_raw_fd()) };
    SockRef::from(&socket).set_read_timeout(limit)
}

"""Server side of MySQL's client protocol, as far as a replica needs it.

Source: MySQL's own description of its protocol (protocol version 10, ``caching_sha2_password``), and the requests of the
receiver threads of MySQL 8.0 to 9.7.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING

from paraply.errors import ConnectionLost

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence

__all__ = ["Command", "PacketStream", "greet", "received_gtids"]

_CAPABILITIES = 0x1 | 0x2 | 0x4 | 0x8 | 0x200 | 0x2000 | 0x8000 | 0x80000
"""Capability flags: long passwords, found rows, long flags, a database, protocol 4.1, transactions, secure connections, plugins."""
_PLUGIN = b"caching_sha2_password"
_NONCE_BYTES = 20
_AUTOCOMMIT = 2
_UTF8MB4 = 255
_VAR_STRING = 0xFD
_FAST_AUTHENTICATION_DONE = b"\x01\x03"
_ACCESS_DENIED, _UNKNOWN_VARIABLE = 1045, 1193
_LONGEST_REQUEST = 1 << 24


class Command:
    """First bytes of requests."""

    QUIT = 0x01
    QUERY = 0x03
    PING = 0x0E
    REGISTER_REPLICA = 0x15
    DUMP_GTID = 0x1E


class PacketStream:
    """Packets over a socket.

    Args:
        link: The socket; closed by its owner.
    """

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self.sequence = 0
        """Number of the next packet."""

    def read(self) -> bytes:
        """Read the next request, which begins an exchange of packets.

        Raises:
            ConnectionLost: The client is gone.
        """
        header = self._take(4)
        size = int.from_bytes(header[:3], "little")
        if size >= _LONGEST_REQUEST - 1:
            raise ConnectionLost("a replica sent a request of 16 MB")
        self.sequence = (header[3] + 1) & 0xFF
        return self._take(size)

    def write(self, *payloads: bytes) -> None:
        """Send packets."""
        parts: list[bytes] = []
        for payload in payloads:
            parts += (len(payload).to_bytes(3, "little"), bytes((self.sequence,)), payload)
            self.sequence = (self.sequence + 1) & 0xFF
        self.write_raw(b"".join(parts))

    def write_raw(self, packets: bytes) -> None:
        """Send packets that are already encoded."""
        try:
            self._link.sendall(packets)
        except OSError as error:
            raise ConnectionLost(f"the replica is gone: {error}") from None

    def ok(self) -> None:
        """Send an OK answer."""
        self.write(b"\x00\x00\x00" + _AUTOCOMMIT.to_bytes(2, "little") + b"\x00\x00")

    def unknown(self, what: str) -> None:
        """Send the answer of a server that lacks this variable; a replica then works without it."""
        self.error(_UNKNOWN_VARIABLE, "HY000", f"Unknown system variable '{what}'")

    def error(self, code: int, state: str, message: str) -> None:
        """Send an error."""
        self.write(b"\xff" + code.to_bytes(2, "little") + b"#" + state.encode() + message.encode())

    def row(self, value: str) -> None:
        """Send one row of one column."""
        end = b"\xfe\x00\x00" + _AUTOCOMMIT.to_bytes(2, "little")
        self.write(b"\x01", _column("value"), end, _text(value.encode()), end)

    def _take(self, count: int) -> bytes:
        taken = bytearray()
        while len(taken) < count:
            try:
                more = self._link.recv(count - len(taken))
            except OSError as error:
                raise ConnectionLost(f"the replica is gone: {error}") from None
            if not more:
                raise ConnectionLost("the replica has closed the connection")
            taken += more
        return bytes(taken)


def _text(value: bytes) -> bytes:
    """Return a string of up to 250 bytes with its length before it."""
    return bytes((len(value),)) + value


def _column(name: str) -> bytes:
    rest = _UTF8MB4.to_bytes(2, "little") + (1024).to_bytes(4, "little") + bytes((_VAR_STRING, 0, 0, 0, 0, 0))
    return b"".join([_text(b"def"), _text(b""), _text(b""), _text(b""), _text(name.encode()), _text(b""), b"\x0c", rest])


def greet(stream: PacketStream, *, version: str, connection_id: int, user: str, password: str) -> bool:
    """Greet a client, and check its user and password; the password itself is never sent.

    Args:
        stream: A new connection.
        version: The server version to announce.
        connection_id: Number of the connection.
        user: Name of the only user.
        password: That user's password.

    Returns:
        True if the client is accepted; else it has got an error.
    """
    nonce = bytes(33 + secrets.randbelow(90) for _ in range(_NONCE_BYTES))
    capabilities = _CAPABILITIES.to_bytes(4, "little")
    stream.write(
        b"".join(
            [b"\x0a", version.encode(), b"\x00", connection_id.to_bytes(4, "little"), nonce[:8], b"\x00", capabilities[:2],
             bytes((_UTF8MB4,)), _AUTOCOMMIT.to_bytes(2, "little"), capabilities[2:], bytes((_NONCE_BYTES + 1,)), bytes(10), nonce[8:],
             b"\x00", _PLUGIN, b"\x00"]
        )
    )  # fmt: skip
    name, proof, plugin = _answer(stream.read())
    if plugin != _PLUGIN:  # the client's default method differs
        stream.write(b"\xfe" + _PLUGIN + b"\x00" + nonce + b"\x00")
        proof = stream.read()
    if name != user.encode() or not hmac.compare_digest(proof, _proof(password, nonce)):
        stream.error(_ACCESS_DENIED, "28000", "Access denied: this address serves the replica of a running paraply apply only")
        return False
    stream.write(_FAST_AUTHENTICATION_DONE)
    stream.ok()
    return True


def _answer(packet: bytes) -> tuple[bytes, bytes, bytes]:
    """Return user, proof and method from a client's answer to the greeting."""
    rest = packet[32:]
    user, _, rest = rest.partition(b"\x00")
    length = rest[0] if rest else 0
    proof, rest = rest[1 : 1 + length], rest[1 + length :]
    capabilities = int.from_bytes(packet[:4], "little")
    if capabilities & 0x8:  # with a database
        _, _, rest = rest.partition(b"\x00")
    return user, proof, rest.partition(b"\x00")[0]


def _proof(password: str, nonce: bytes) -> bytes:
    """Return the proof sent by a client that knows the password.

    >>> _proof("secret", b"x" * 20).hex()[:16]
    '255743db6ea2cc26'
    """
    first = hashlib.sha256(password.encode()).digest()
    second = hashlib.sha256(hashlib.sha256(first).digest() + nonce).digest()
    return bytes(one ^ other for one, other in zip(first, second, strict=True))


def received_gtids(request: bytes) -> str:
    """Return the GTID set of a request for the log as text: transactions that the replica already has.

    Args:
        request: COM_BINLOG_DUMP_GTID with its first byte.

    >>> head = bytes([0x1E]) + bytes(6) + (0).to_bytes(4, "little") + (4).to_bytes(8, "little")
    >>> one = (1).to_bytes(8, "little") + bytes(16) + (1).to_bytes(8, "little") + (1).to_bytes(8, "little") + (10).to_bytes(8, "little")
    >>> received_gtids(head + len(one).to_bytes(4, "little") + one)
    '00000000-0000-0000-0000-000000000000:1-9'
    """
    name = int.from_bytes(request[7:11], "little")
    begin = 11 + name + 8 + 4
    return _gtid_set(request[begin:])


def _gtid_set(data: bytes) -> str:
    """Decode a set in the form of MySQL's events, with tags or without."""
    tagged = len(data) >= 8 and data[7] == 1
    count = int.from_bytes(data[1:7] if tagged else data[:8], "little")
    at = 8
    parts: list[str] = []
    for _ in range(count):
        _check_length(data, at + 16)
        uuid = data[at : at + 16].hex()
        at += 16
        name = f"{uuid[:8]}-{uuid[8:12]}-{uuid[12:16]}-{uuid[16:20]}-{uuid[20:]}"
        if tagged:
            length = data[at] >> 1
            tag = data[at + 1 : at + 1 + length].decode("ascii")
            at += 1 + length
            name += f":{tag}" if tag else ""
        _check_length(data, at + 8)
        intervals, at = int.from_bytes(data[at : at + 8], "little"), at + 8
        for _ in range(intervals):
            _check_length(data, at + 16)
            first, end = _pair(data[at : at + 16])
            at += 16
            parts.append(f"{name}:{first}-{end - 1}")
    return ",".join(parts)


def _check_length(data: bytes, length: int) -> None:
    """Raise ConnectionLost if a set is shorter than its own counts say: they are up to 2**64, and each would be a turn of a loop."""
    if len(data) < length:
        raise ConnectionLost("the GTID set in the replica's request is cut short")


def _pair(data: bytes) -> Sequence[int]:
    return int.from_bytes(data[:8], "little"), int.from_bytes(data[8:], "little")

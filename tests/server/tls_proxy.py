"""TLS in front of a PostgreSQL that was built without: answers the request for TLS, and hands the rest on."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

TLS_REQUEST = struct.pack("!II", 8, 80877103)


@contextlib.contextmanager
def postgres_behind_tls(unix_socket: Path, certificate: Path, key: Path, *, offers: bool = True) -> Iterator[int]:
    """A port of the loopback interface that takes TLS alone, or with ``offers`` off says that there is none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(client: socket.socket) -> None:
        with contextlib.suppress(OSError), client:
            request = client.recv(8, socket.MSG_WAITALL)
            if request != TLS_REQUEST or not offers:
                client.sendall(b"N" if request == TLS_REQUEST else b"")
                return
            client.sendall(b"S")
            with context.wrap_socket(client, server_side=True) as safe, socket.socket(socket.AF_UNIX) as server:
                server.connect(str(unix_socket))
                pump(safe, server)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        listener.close()


def pump(safe: ssl.SSLSocket, server: socket.socket) -> None:
    """Hands bytes on in both directions until one side ends."""
    while True:
        ready = [safe] if safe.pending() else select.select([safe, server], [], [])[0]
        for end in ready:
            data = end.recv(65536)
            if not data:
                return
            (server if end is safe else safe).sendall(data)

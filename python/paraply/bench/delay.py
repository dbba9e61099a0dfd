"""A server that is further away: a proxy on loopback that holds every request back for a while."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from paraply.bench.server import free_port

__all__ = ["delayed"]

_CHUNK = 1 << 18


@contextmanager
def delayed(host: str, port: int, milliseconds: float) -> Iterator[int]:
    """A proxy in a process of its own, so that it takes no time of the measured one.

    Args:
        host: The server.
        port: Its port.
        milliseconds: How long each request is held back; answers pass at once.

    Yields:
        The loopback port that leads to the server.
    """
    listen = free_port()
    arguments = [str(listen), host, str(port), str(milliseconds / 1000)]
    with subprocess.Popen([sys.executable, "-m", "paraply.bench.delay", *arguments], stdout=subprocess.PIPE) as process:
        try:
            if process.stdout is not None:
                process.stdout.readline()
            yield listen
        finally:
            process.terminate()


def serve(listen: int, host: str, port: int, seconds: float) -> None:
    """Accepts connections until the process is ended."""
    with socket.create_server(("127.0.0.1", listen), backlog=128) as listener:
        print("ready", flush=True)
        while True:
            near, _ = listener.accept()
            far = socket.create_connection((host, port))
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=_pass_on, args=(near, far, seconds), daemon=True).start()
            threading.Thread(target=_pass_on, args=(far, near, 0.0), daemon=True).start()


def _pass_on(source: socket.socket, sink: socket.socket, seconds: float) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_CHUNK):
            if seconds:
                time.sleep(seconds)
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        serve(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))

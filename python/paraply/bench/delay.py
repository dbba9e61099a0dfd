"""Simulation of a distant server: a proxy on loopback that delays every request."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from paraply import _native
from paraply.bench.server import free_port
from paraply.errors import UsageError

__all__ = ["delayed"]


@contextmanager
def delayed(host: str, port: int, milliseconds: float) -> Iterator[int]:
    """Run a proxy in a process of its own, so that it uses no time of the measured one; it is native, so that it uses little CPU.

    Args:
        host: Host of the server, or the path of its socket.
        port: Port of the server; ignored with a path.
        milliseconds: Delay of each request; answers are not delayed.

    Yields:
        The loopback port that leads to the server.

    Raises:
        UsageError: The installed package was built without the proxy.
    """
    if not hasattr(_native, "DelayingProxy"):
        raise UsageError(
            "the delaying proxy is not part of paraply's wheels; measure in a checkout after `make build`, or install from source: "
            "pip install --no-binary paraply --config-settings=build-args='--features bench' paraply"
        )
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
    """Accept connections until the process is ended."""
    proxy = _native.DelayingProxy(listen, host, port, seconds)
    print("ready", flush=True)
    while True:
        proxy.serve()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        serve(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))

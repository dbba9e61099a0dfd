"""HTTP server for the metrics of a run, on the loopback interface by default."""

from __future__ import annotations

import json
import socket
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, ClassVar, Protocol

from paraply.errors import UsageError
from paraply.observe.metrics import CONTENT_TYPE, render_metrics
from paraply.observe.status_json import status_object

if TYPE_CHECKING:
    from types import TracebackType

    from paraply.observe.counters import Counters
    from paraply.observe.status_json import RunIdentity

__all__ = ["MetricsServer", "parse_address"]

_LOOPBACK = "127.0.0.1"
_CLIENT_SECONDS = 5.0


def parse_address(text: str) -> tuple[str, int]:
    """Return host and port of ``--metrics``.

    Args:
        text: ``PORT`` on the loopback interface, or ``HOST:PORT``; an IPv6 address needs brackets. Port 0 takes any free one.

    Raises:
        UsageError: The text has neither form.

    >>> parse_address("9104"), parse_address("0.0.0.0:9104"), parse_address("[::1]:9104")
    (('127.0.0.1', 9104), ('0.0.0.0', 9104), ('::1', 9104))
    """
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65_535 or (":" in host and not (host.startswith("[") and host.endswith("]"))):
        raise UsageError(f"--metrics {text}: give a PORT, or HOST:PORT to be reached from elsewhere")
    return host.strip("[]") or _LOOPBACK, int(port)


class Watched(Protocol):
    """A run to show: an ``Applier``."""

    def counters(self) -> Counters:
        """Return a snapshot."""

    def identity(self) -> RunIdentity | None:
        """Return the run's identity, once it is known."""


class MetricsServer:
    """Server of ``/metrics`` (Prometheus) and ``/status`` (JSON), in threads of its own, until it is closed.

    Args:
        host: The address to listen on.
        port: The port; 0 for any free one.
        run: The run to show.

    Raises:
        UsageError: Listening on the address fails.
    """

    def __init__(self, host: str, port: int, run: Watched) -> None:
        handler = type("Handler", (_Handler,), {"run": run})
        try:
            family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
            server = type("Server", (_Server,), {"address_family": family})
            self._server: ThreadingHTTPServer = server(address, handler)
        except OSError as error:
            raise UsageError(
                f"--metrics: cannot listen on {host}:{port}: {error.strerror or error}; give another port, or 0 for any free one"
            ) from None
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.2}, name="paraply-metrics", daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """URL of the metrics."""
        host, port = self._server.server_address[:2]
        return f"http://{f'[{host!s}]' if ':' in str(host) else host!s}:{port}/metrics"

    def __enter__(self) -> MetricsServer:
        """Return the server, which listens already."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Close the port."""
        self.close()

    def close(self) -> None:
        """Close the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a client that stays connected must not delay the end of the run

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore errors of a client that has closed its connection."""


class _Handler(BaseHTTPRequestHandler):
    server_version = "paraply"
    sys_version = ""
    timeout = _CLIENT_SECONDS
    run: ClassVar[Watched]

    def do_GET(self) -> None:
        """Answer a request."""
        path = self.path.partition("?")[0]
        if path == "/metrics":
            self._answer(CONTENT_TYPE, render_metrics(self.run.counters(), self.run.identity()))
        elif path == "/status":
            identity = self.run.identity()
            status = None if identity is None else status_object(identity, self.run.counters())
            self._answer("application/json", json.dumps(status) + "\n")
        elif path == "/":
            self._answer("text/plain; charset=utf-8", "paraply apply: see /metrics (Prometheus) and /status (JSON)\n")
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the name is the base class's
        """Log nothing for a request."""

    def _answer(self, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

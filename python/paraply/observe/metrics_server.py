"""HTTP server for the metrics of a run, on the loopback interface by default."""

from __future__ import annotations

import json
import socket
import threading
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any, Protocol
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from paraply._extras import require_extra
from paraply.errors import UsageError
from paraply.observe.status_json import status_object

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from paraply.observe.counters import Counters
    from paraply.observe.status_json import RunIdentity

__all__ = ["MetricsServer", "Watched", "parse_address"]

_LOOPBACK = "127.0.0.1"
_CLIENT_SECONDS = 5.0
_TEXT = "text/plain; charset=utf-8"


def parse_address(text: str) -> tuple[str, int]:
    """Return the host and the port that ``--metrics`` names.

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
    """A run to show: an ``Applier`` or a ``Replication``."""

    def counters(self) -> Counters:
        """Return a snapshot."""

    def identity(self) -> RunIdentity | None:
        """Return the run's identity, once it is known."""

    def paused(self) -> str | None:
        """Return ``pausing`` or ``paused``; None without a pause."""


class MetricsServer:
    """Answers to ``/metrics`` (Prometheus, OpenMetrics) and ``/status`` (JSON) from threads of its own, until it is closed.

    Args:
        host: The address to listen on.
        port: The port; 0 for any free one.
        run: The run to show.
        receiver: Returns the receiver's part of the status, or None; None if there is no receiver.

    Raises:
        UsageError: The address cannot be listened on, or the extra ``paraply[metrics]`` is not installed.
    """

    def __init__(self, host: str, port: int, run: Watched, receiver: Callable[[], Mapping[str, Any] | None] | None = None) -> None:
        require_extra("metrics", "--metrics")
        try:
            family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
            kind: type[WSGIServer] = type("Server", (_Server,), {"address_family": family})
            self._server = make_server(str(address[0]), port, _application(run, receiver), kind, _Handler)
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
        """The address of the metrics."""
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


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    block_on_close = False  # a client that stays connected must not delay the end of the run

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a client that went away."""


class _Handler(WSGIRequestHandler):
    server_version = "paraply"
    sys_version = ""
    timeout = _CLIENT_SECONDS

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the name is the base class's
        """Write nothing: requests are not worth a line each."""


def _application(run: Watched, receiver: Callable[[], Mapping[str, Any] | None] | None) -> WSGIApplication:
    """Return the handler of requests; prometheus_client chooses format and compression by the request's headers."""
    from prometheus_client import make_wsgi_app

    from paraply.observe.metrics import registry_of

    metrics = make_wsgi_app(registry_of(lambda: (run.counters(), run.identity()), receiver))

    def application(request: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        path = request["PATH_INFO"]
        if path == "/metrics":
            answer: Iterable[bytes] = metrics(request, start)
            return answer
        if path == "/status":
            identity = run.identity()
            found = receiver() if receiver is not None else None
            received = {"receiver": dict(found)} if found else {}
            status = None if identity is None else status_object(identity, run.counters()) | {"paused": run.paused()} | received
            return _answer(start, "200 OK", "application/json", json.dumps(status) + "\n")
        if path == "/":
            return _answer(start, "200 OK", _TEXT, "paraply: see /metrics (Prometheus) and /status (JSON)\n")
        return _answer(start, "404 Not Found", _TEXT, "see /metrics and /status\n")

    return application


def _answer(start: StartResponse, status: str, kind: str, text: str) -> list[bytes]:
    body = text.encode()
    start(status, [("Content-Type", kind), ("Content-Length", str(len(body)))])
    return [body]

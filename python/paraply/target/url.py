"""The URL of a target: where the database is, and as whom to connect."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from paraply.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DatabaseUrl", "Family", "TlsMode", "parse_url"]

Family = Literal["mysql", "mariadb", "postgresql"]
TlsMode = Literal["disabled", "preferred", "required", "verify-ca", "verify-identity"]

_SCHEMES: Mapping[str, Family] = {"mysql": "mysql", "mariadb": "mariadb", "postgresql": "postgresql", "postgres": "postgresql"}
_PORTS: Mapping[Family, int] = {"mysql": 3306, "mariadb": 3306, "postgresql": 5432}
_TLS_MODES: tuple[TlsMode, ...] = ("disabled", "preferred", "required", "verify-ca", "verify-identity")
_OPTIONS = ("tls", "tls-ca", "tls-cert", "tls-key", "socket", "connect-timeout", "defaults-file")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class DatabaseUrl:
    """A parsed target URL. Its ``repr`` and ``str`` show no password.

    Attributes:
        family: Kind of server.
        host: Host name or address.
        port: TCP port.
        user: User name.
        password: Password, or None for none.
        database: Default database, or None.
        socket: Path of a unix socket, used instead of host and port.
        tls: How far TLS is asked for; without an option ``preferred``, and ``disabled`` on the loopback interface.
        tls_ca: File with the authority's certificate.
        tls_cert: File with the client's certificate.
        tls_key: File with the client's key.
        connect_timeout: Seconds that connecting may take.
    """

    family: Family
    host: str
    port: int
    user: str
    password: str | None = field(default=None, repr=False)
    database: str | None = None
    socket: str | None = None
    tls: TlsMode = "preferred"
    tls_ca: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    connect_timeout: float = 10.0

    def __str__(self) -> str:
        """The URL without its password.

        >>> str(parse_url("mysql://app:secret@db.example.org/shop"))
        'mysql://app@db.example.org:3306/shop'
        """
        place = f"{self.user}@{self.host}:{self.port}" if self.socket is None else f"{self.user}@{self.socket}"
        return f"{self.family}://{place}" + (f"/{self.database}" if self.database else "")

    def tls_options(self) -> dict[str, str]:
        """The options as the native connection takes them: ``mode``, ``ca``, ``cert``, ``key``."""
        files = {"ca": self.tls_ca, "cert": self.tls_cert, "key": self.tls_key}
        return {"mode": self.tls} | {name: value for name, value in files.items() if value is not None}


def parse_url(text: str, environment: Mapping[str, str] | None = None) -> DatabaseUrl:
    """Parses ``mysql://``, ``mariadb://`` and ``postgresql://`` URLs.

    A password that the URL lacks is taken from the environment variable ``PARAPLY_PASSWORD``, or from the ``[client]`` section of
    the MySQL option file named by ``?defaults-file=``; so it need not stand on a command line.

    Args:
        text: ``family://[user[:password]@]host[:port][/database][?option=value&...]``; the options are ``tls`` (disabled,
            preferred, required, verify-ca, verify-identity), ``tls-ca``, ``tls-cert``, ``tls-key``, ``socket``,
            ``connect-timeout`` (seconds) and ``defaults-file``.
        environment: Instead of the process's environment.

    Raises:
        UsageError: The URL cannot be understood. The message never holds the password.

    >>> parse_url("mariadb://app@localhost?socket=/run/mysqld/mysqld.sock").socket
    '/run/mysqld/mysqld.sock'
    """
    environment = os.environ if environment is None else environment
    scheme, separator, _ = text.partition("://")
    if not separator or scheme not in _SCHEMES:
        raise UsageError("a target is written as mysql://, mariadb:// or postgresql://user@host:port, and this URL begins otherwise")
    family = _SCHEMES[scheme]
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        # The parser's own message may quote the part with the password.
        raise UsageError(
            f"the {scheme} URL has a host or port that cannot be read; special characters in a password are"
            " written in percent form, for example %40 for @"
        ) from None
    options = _options(parts.query)
    file_values = _option_file(options["defaults-file"]) if "defaults-file" in options else {}
    host = parts.hostname or file_values.get("host", "localhost")
    socket = options.get("socket") or (file_values.get("socket") if parts.hostname is None else None)
    return DatabaseUrl(
        family=family,
        host=host,
        port=port or _number("port", file_values.get("port", str(_PORTS[family]))),
        user=unquote(parts.username) if parts.username else file_values.get("user") or environment.get("USER", "root"),
        password=_password(parts.password, environment, file_values),
        database=unquote(parts.path.lstrip("/")) or None,
        socket=socket,
        tls=_tls_mode(options.get("tls"), host),
        tls_ca=options.get("tls-ca"),
        tls_cert=options.get("tls-cert"),
        tls_key=options.get("tls-key"),
        connect_timeout=_seconds(options.get("connect-timeout", "10")),
    )


def _options(query: str) -> dict[str, str]:
    options = dict(parse_qsl(query, keep_blank_values=True))
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        raise UsageError(f"the URL's option {unknown[0]!r} is not known; known are {', '.join(_OPTIONS)}")
    if ("tls-cert" in options) != ("tls-key" in options):
        raise UsageError("the URL's options tls-cert and tls-key belong together")
    return options


def _password(in_url: str | None, environment: Mapping[str, str], file_values: Mapping[str, str]) -> str | None:
    if in_url is not None:
        return unquote(in_url)
    return environment.get("PARAPLY_PASSWORD") or file_values.get("password")


def _tls_mode(mode: str | None, host: str) -> TlsMode:
    if mode is None:
        return "disabled" if host in _LOOPBACK else "preferred"
    for known in _TLS_MODES:
        if mode == known:
            return known
    raise UsageError(f"tls={mode} is not known; known are {', '.join(_TLS_MODES)}")


def _number(name: str, text: str) -> int:
    if not text.isdecimal():
        raise UsageError(f"the {name} {text!r} is not a number")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 86_400:
        raise UsageError(f"connect-timeout={text} is not a number of seconds")
    return seconds


def _option_file(path: str) -> dict[str, str]:
    """The ``[client]`` section of a MySQL option file (``key=value`` lines; quotes around a value are taken off)."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UsageError(f"the option file {path} cannot be read: {error.strerror}") from None
    values: dict[str, str] = {}
    section = ""
    for line in map(str.strip, lines):
        if line.startswith("["):
            section = line.strip("[]").strip()
        elif section == "client" and "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            values[name.strip().replace("_", "-")] = _unquoted(value.strip())
    return values


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value

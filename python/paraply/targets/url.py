"""The URL of a target: address, account and connection options."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from paraply.errors import UsageError
from paraply.targets.option_file import read_option_file, read_own_option_file

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LOOPBACK", "DatabaseUrl", "Family", "TlsMode", "parse_url"]

Family = Literal["mysql", "mariadb", "postgresql"]
TlsMode = Literal["disabled", "preferred", "required", "verify-ca", "verify-identity"]

_SCHEMES: Mapping[str, Family] = {"mysql": "mysql", "mariadb": "mariadb", "postgresql": "postgresql", "postgres": "postgresql"}
_PORTS: Mapping[Family, int] = {"mysql": 3306, "mariadb": 3306, "postgresql": 5432}
_TLS_MODES: tuple[TlsMode, ...] = ("disabled", "preferred", "required", "verify-ca", "verify-identity")
_OPTIONS = ("tls", "tls-ca", "tls-cert", "tls-key", "socket", "connect-timeout", "defaults-file")
#: Names of the same options in the servers' own clients, for option files and URLs.
_OTHER_NAMES = {"ssl-mode": "tls", "ssl-ca": "tls-ca", "ssl-cert": "tls-cert", "ssl-key": "tls-key"}
#: MariaDB's switches, in order of precedence.
_SWITCHES: tuple[tuple[str, TlsMode], ...] = (
    ("skip-ssl", "disabled"),
    ("ssl-verify-server-cert", "verify-identity"),
    ("ssl", "required"),
)
_OFF = ("0", "off", "false", "no")
LOOPBACK = ("localhost", "127.0.0.1", "::1")


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
        tls: TLS mode; without an option ``preferred``, and ``disabled`` on the loopback interface.
        tls_ca: File with the authority's certificate.
        tls_cert: File with the client's certificate.
        tls_key: File with the client's key.
        connect_timeout: Time limit for connecting, in seconds.
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
        """Return the URL without its password.

        >>> str(parse_url("mysql://app:secret@db.example.org/shop"))
        'mysql://app@db.example.org:3306/shop'
        """
        place = f"{self.user}@{self.host}:{self.port}" if self.socket is None else f"{self.user}@{self.socket}"
        return f"{self.family}://{place}" + (f"/{self.database}" if self.database else "")

    @property
    def is_local(self) -> bool:
        """True if the address is on this machine.

        >>> parse_url("mysql://app@127.0.0.1:3307").is_local, parse_url("mysql://app@db.example.org").is_local
        (True, False)
        """
        return self.socket is not None or self.host in LOOPBACK

    def tls_options(self) -> dict[str, str]:
        """Return the TLS options for the native connection: ``mode``, ``ca``, ``cert``, ``key``."""
        files = {"ca": self.tls_ca, "cert": self.tls_cert, "key": self.tls_key}
        return {"mode": self.tls} | {name: value for name, value in files.items() if value is not None}

    def check_tls_files(self) -> None:
        """Check that the files of the TLS options can be read.

        Raises:
            UsageError: A file cannot be read; the message names it.
        """
        for name, path in (("tls-ca", self.tls_ca), ("tls-cert", self.tls_cert), ("tls-key", self.tls_key)):
            try:
                if path is not None:
                    Path(path).open("rb").close()
            except OSError as error:
                raise UsageError(f"the file {path} of {name} cannot be read: {error.strerror}") from None


def parse_url(text: str, environment: Mapping[str, str] | None = None, *, defaults_file: str | None = None) -> DatabaseUrl:
    """Parse a ``mysql://``, ``mariadb://`` or ``postgresql://`` URL.

    Missing parts are taken from a MySQL option file: the given one, or ``~/.my.cnf``. A password is searched for in the URL, in the
    environment variable ``PARAPLY_PASSWORD``, in the option file (if it is for the same user), and in ``MYSQL_PWD``. So a command
    line need not contain the password.

    Args:
        text: ``family://[user[:password]@]host[:port][/database][?option=value&...]``; the options are ``tls`` or ``ssl-mode``
            (disabled, preferred, required, verify-ca, verify-identity), ``tls-ca`` or ``ssl-ca``, ``tls-cert``, ``tls-key``,
            ``socket``, ``connect-timeout`` (seconds) and ``defaults-file``.
        environment: Environment variables; those of the process if not given.
        defaults_file: Option file for a URL that names none.

    Raises:
        UsageError: The URL cannot be parsed. The message never contains the password.

    >>> parse_url("mariadb://app@localhost?socket=/run/mysqld/mysqld.sock").socket
    '/run/mysqld/mysqld.sock'
    >>> parse_url("mysql://app@db.example.org?ssl-mode=VERIFY_CA&ssl-ca=/etc/ssl/db.pem").tls
    'verify-ca'
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
    file_values = _file_values(options.get("defaults-file") or defaults_file, family, environment)
    host = parts.hostname or file_values.get("host", "localhost")
    socket = options.get("socket") or (file_values.get("socket") if parts.hostname is None else None)
    user = unquote(parts.username) if parts.username else file_values.get("user") or environment.get("USER", "root")
    tls = {**_tls_of_file(file_values), **options}
    return DatabaseUrl(
        family=family,
        host=host,
        port=port or _number("port", file_values.get("port", str(_PORTS[family]))),
        user=user,
        password=_password(parts.password, environment, file_values, user),
        database=unquote(parts.path.lstrip("/")) or None,
        socket=socket,
        tls=_tls_mode(tls, host, socket, asked="tls" in options),
        tls_ca=tls.get("tls-ca"),
        tls_cert=tls.get("tls-cert"),
        tls_key=tls.get("tls-key"),
        connect_timeout=_seconds(options.get("connect-timeout") or file_values.get("connect-timeout", "10")),
    )


def _options(query: str) -> dict[str, str]:
    options = _renamed(dict(parse_qsl(query, keep_blank_values=True)))
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        raise UsageError(f"the URL's option {unknown[0]!r} is not known; known are {', '.join((*_OPTIONS, *_OTHER_NAMES))}")
    _check_identity(options, "the URL's options")
    return options


def _renamed(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options under paraply's names. MariaDB's switches only count if no mode is given."""
    plain = {name.lower().replace("_", "-"): value for name, value in options.items()}
    switches = {name: plain.pop(name).lower() not in _OFF for name, _ in _SWITCHES if name in plain}
    renamed = {_OTHER_NAMES.get(name, name): value for name, value in plain.items()}
    mode = next((mode for name, mode in _SWITCHES if switches.get(name)), "disabled" if "ssl" in switches else None)
    return {"tls": mode, **renamed} if mode is not None else renamed


def _file_values(named: str | None, family: Family, environment: Mapping[str, str]) -> dict[str, str]:
    groups = ["client", "paraply"] if family == "mysql" else ["client", "client-server", "client-mariadb", "paraply"]
    if named is not None:
        return read_option_file(named, groups)
    return read_own_option_file(environment.get("HOME"), groups)


def _tls_of_file(values: Mapping[str, str]) -> dict[str, str]:
    renamed = {name: value for name, value in _renamed(values).items() if name.startswith("tls")}
    _check_identity(renamed, "the option file's")
    return renamed


def _check_identity(options: Mapping[str, str], whose: str) -> None:
    if ("tls-cert" in options) != ("tls-key" in options):
        raise UsageError(f"{whose} tls-cert and tls-key (ssl-cert and ssl-key) belong together")


def _password(in_url: str | None, environment: Mapping[str, str], file_values: Mapping[str, str], user: str) -> str | None:
    if in_url is not None:
        return unquote(in_url)
    if environment.get("PARAPLY_PASSWORD"):
        return environment["PARAPLY_PASSWORD"]
    if file_values.get("password") and file_values.get("user", user) == user:
        return file_values["password"]
    return environment.get("MYSQL_PWD") or None


def _tls_mode(options: Mapping[str, str], host: str, socket: str | None, *, asked: bool) -> TlsMode:
    """Return the TLS mode from the options of the URL and the option file; ``asked`` is True if the URL names a mode."""
    if socket is not None and not asked:
        return "disabled"  # the option file is about network connections, and a socket has no TLS
    mode = _mode_named(options["tls"]) if "tls" in options else _default_mode(options, host)
    if socket is not None and mode not in ("disabled", "preferred"):
        raise UsageError(f"tls={mode} is not possible on a unix socket, which uses no TLS: leave the option out, or connect to a host")
    return mode


def _mode_named(text: str) -> TlsMode:
    for known in _TLS_MODES:
        if text.lower().replace("_", "-") == known:
            return known
    raise UsageError(f"tls={text} is not known; known are {', '.join(_TLS_MODES)}")


def _default_mode(options: Mapping[str, str], host: str) -> TlsMode:
    if "tls-ca" in options:
        return "verify-ca"  # same as the servers' own clients
    return "disabled" if host in LOOPBACK and "tls-cert" not in options else "preferred"


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

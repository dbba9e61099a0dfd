"""Options allowed with ``--via replication``."""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING, Literal, cast

from paraply.applier.options import Via
from paraply.errors import UsageError

if TYPE_CHECKING:
    from paraply._native import Transaction
    from paraply.applier.options import Options
    from paraply.targets.mysql.target import MySqlTarget
    from paraply.targets.protocol import Target
    from paraply.targets.url import DatabaseUrl

__all__ = ["check_via", "check_via_family", "check_via_target", "live_gtid_mode", "parse_listen", "source_address"]

_Mode = Literal["auto", "record", "preserve", "none"]

_POLICIES = ("dependency", "logical-clock", "barrier")


def check_via(options: Options) -> None:
    """Refuse options that the server's own applier cannot follow.

    Raises:
        UsageError: An option is not allowed; the message has the reason.
    """
    if not options.by_replication:
        if options.listen is not None:
            raise UsageError("--listen names the address at which the target's replication reads, and needs --via replication")
        return
    if options.listen is not None:
        parse_listen(options.listen)
    if options.renames:
        raise UsageError(f"--via replication sends transactions as they are, and {options.renames} needs others: use --via sessions")
    if options.gtid not in ("auto", "preserve"):
        raise UsageError(f"--via replication keeps the source's GTIDs: use --gtid preserve instead of {options.gtid}, or --via sessions")
    if isinstance(options.merge, int) and options.merge > 1:
        raise UsageError("--via replication commits each transaction under its own GTID and cannot merge; use --merge off")
    if options.policy.name not in _POLICIES:
        raise UsageError(f"--via replication goes with the policies {', '.join(_POLICIES)}, not with {options.policy.name!r}")
    if not options.consistency.keeps_order:
        raise UsageError(
            "--via replication commits in order and in groups inside of the server, so that --consistency"
            f" {options.consistency.value} would gain nothing: leave it out"
        )
    if options.workers < 1:
        raise UsageError("--via replication applies in the server's workers: give --workers 1 or more")
    if options.ddl_decision == "done":
        raise UsageError(
            "--ddl-done with --via replication: the target's own replication would run the statement; take this step with --via sessions,"
            " up to the statement's GTID (--stop-at of apply, --until of replicate), and then go on with --via replication"
        )
    if options.filters:
        raise UsageError("--via replication sends whole transactions, without filters by database or table: use --via sessions")


def check_via_family(options: Options, target: Target) -> None:
    """Check that the target is a server whose replication can apply.

    Raises:
        UsageError: It is not.
    """
    if options.by_replication and not target.capabilities.replicates:
        raise UsageError("--via replication needs a target of MySQL or MariaDB, whose own applier does the work: use --via sessions")


def check_via_target(options: Options, target: Target, first: Transaction | None) -> None:
    """Refuse a live source of MariaDB, and a target that cannot read from this machine.

    Raises:
        UsageError: The source or the target is one of these.
    """
    if not options.by_replication:
        return
    if first is not None:
        live_gtid_mode(options.gtid, options.via.value if options.live else None, mariadb=first.format.mariadb)
    source_address(options.listen, cast("MySqlTarget", target).url)


def live_gtid_mode(mode: _Mode, via: str | None, *, mariadb: bool) -> _Mode:
    """Return the GTID mode of a replica of a live source.

    Args:
        mode: The mode asked for.
        via: Value of ``--via``; None if it was not given.
        mariadb: True if the source is a MariaDB.

    Raises:
        UsageError: The target's own replication cannot follow a live MariaDB.

    >>> live_gtid_mode("auto", "replication", mariadb=False), live_gtid_mode("auto", None, mariadb=True)
    ('preserve', 'auto')
    """
    if via != Via.REPLICATION.value:
        return mode
    if mariadb:
        raise UsageError("replicate --via replication needs a source of MySQL: use --via sessions, or apply the source's binlogs")
    return "preserve" if mode == "auto" else mode


def parse_listen(text: str) -> tuple[str, int]:
    """Return host and port of ``--listen``; port 0 for a free one.

    Raises:
        UsageError: The text has neither form.

    >>> parse_listen("10.0.0.5:3399"), parse_listen("10.0.0.5"), parse_listen("[fd00::5]:3399")
    (('10.0.0.5', 3399), ('10.0.0.5', 0), ('fd00::5', 3399))
    """
    host, bracket, rest = text[1:].partition("]") if text.startswith("[") else ("", "", "")
    if not bracket:
        host, colon, rest = text.partition(":")
        rest = colon + rest
    port = rest[1:] if rest.startswith(":") else rest or "0"
    if not host or not port.isdigit() or int(port) > 65535:
        raise UsageError(f"--listen {text}: give an address of this machine that the target reaches, as HOST or HOST:PORT")
    return host, int(port)


def source_address(listen: str | None, url: DatabaseUrl) -> tuple[str, int]:
    """Return an address to listen on that the target reaches; on the loopback interface if the target is on this machine.

    Raises:
        UsageError: The target is on another machine, and no address was given.
    """
    if listen is not None:
        return parse_listen(listen)
    if url.socket is not None or url.host == "localhost":
        return "127.0.0.1", 0
    address = _own_address(url.host, url.port)
    if not ipaddress.ip_address(address).is_loopback:
        raise UsageError(
            f"--via replication: the target reads the transactions from this machine over a connection without TLS: say with"
            f" --listen {address} that the network between them may see them, or run paraply on the target's machine"
        )
    return address, 0


def _own_address(host: str, port: int) -> str:
    """Return the local address of a connection to that host; nothing is sent."""
    try:
        family, kind, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as link:
            link.connect(place)
            return str(link.getsockname()[0])
    except OSError as error:
        raise UsageError(f"{host} cannot be reached: {error.strerror or error}") from None

"""The session settings for a logged statement, from its status variables (R33)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from paraply.errors import LogNotUnderstood
from paraply.schema.ddl.rules import EXPLICIT_DEFAULTS, Rules, explicit_defaults
from paraply.schema.ddl.statement_kind import StatementKind
from paraply.targets.ddl_answer import BY_HAND
from paraply.targets.mysql.ddl.collation_numbers import CollationNumbers
from paraply.targets.mysql.ddl.session_defaults import dropped_modes, has_variable, is_time_zone, known_modes, unlogged_variables
from paraply.targets.mysql.server_version import ServerKind
from paraply.targets.mysql.sql import EXPRESSION_VARIABLES, identifier

if TYPE_CHECKING:
    from paraply._native import Format, Statement
    from paraply.errors import ServerError

__all__ = [
    "ServerKind",
    "checks_foreign_keys",
    "context_statements",
    "expected_error",
    "refused_setting",
    "reset_statement",
    "statement_rules",
    "use_statement",
]

#: Errors of a SET: an unknown character set, variable, collation or time zone, a wrong value or type, or a variable that is read only.
_UNKNOWN_VARIABLE = (1115, 1193, 1231, 1232, 1238, 1273, 1298)

#: Errors that came from outside of the statement, at any point of it (check_expected_error in the servers' log_event.cc).
_INTERRUPTED = frozenset({1053, 1158, 1159, 1160, 1161, 1184, 1317, 1927, 1969})

_UTF8MB4_GENERAL_CI = 45

# Bits of Q_FLAGS2_CODE (OPTIONS_WRITTEN_TO_BIN_LOG in the servers' log_event.h, seen in logs of MySQL 9.7 and MariaDB 10.11).
_AUTO_IS_NULL = 1 << 14
_NO_CHECK_CONSTRAINTS = 1 << 15
_NOT_AUTOCOMMIT = 1 << 19
_NO_FOREIGN_KEY_CHECKS = 1 << 26
_RELAXED_UNIQUE_CHECKS = 1 << 27
_IF_EXISTS = 1 << 28
_INSERT_HISTORY = 1 << 30
_COMMON_FLAGS = _AUTO_IS_NULL | _NOT_AUTOCOMMIT | _NO_FOREIGN_KEY_CHECKS | _RELAXED_UNIQUE_CHECKS
_MARIADB_FLAGS = _NO_CHECK_CONSTRAINTS | EXPLICIT_DEFAULTS | _IF_EXISTS | _INSERT_HISTORY


_CHARSET_VARIABLES = ("character_set_client", "collation_connection", "collation_server")
#: Variables that are logged as numbers.
_NUMBERS = (
    "lc_time_names", "explicit_defaults_for_timestamp", "default_collation_for_utf8mb4", "sql_require_primary_key",
    "default_table_encryption",
)  # fmt: skip

_INVOKER = re.compile(rb"CURRENT_(?:USER|ROLE)", re.IGNORECASE)
_NO_COLLATIONS = CollationNumbers({})


def reset_statement(server: ServerKind) -> str:
    """Return the SET statement that restores the session's own settings after a statement ran under the log's settings."""
    variables = [
        "timestamp=DEFAULT", "sql_mode=DEFAULT", "time_zone=DEFAULT", "lc_time_names=DEFAULT", "character_set_client=utf8mb4",
        "character_set_results=utf8mb4", f"collation_connection={_UTF8MB4_GENERAL_CI}", "collation_server=DEFAULT",
        "foreign_key_checks=1", "unique_checks=1", "sql_auto_is_null=0", "auto_increment_increment=DEFAULT",
        "auto_increment_offset=DEFAULT", "explicit_defaults_for_timestamp=DEFAULT",
        "collation_database=DEFAULT",
    ]  # fmt: skip
    if server.mariadb:
        variables += ["check_constraint_checks=1"]
    logged = (*_NUMBERS, "character_set_collations", "sql_if_exists", "system_versioning_insert_history")
    names = [*logged, *unlogged_variables(server)]
    named = {name for name in names if has_variable(server, name)} - EXPRESSION_VARIABLES.keys()  # a session has these from its beginning
    variables += [f"{name}=DEFAULT" for name in sorted(named) if f"{name}=DEFAULT" not in variables]
    return "SET " + ", ".join(variables)


def context_statements(
    statement: Statement,
    log: Format,
    server: ServerKind,
    collations: CollationNumbers = _NO_COLLATIONS,
    kind: StatementKind | None = None,
) -> list[str]:
    """Return the SET statement for a logged statement: its status variables, and the variables that no log holds.

    Args:
        statement: The logged statement.
        log: The format of the log.
        server: The target.
        collations: The target's collations.
        kind: Kind of the statement, if already known.

    Raises:
        LogNotUnderstood: This version or the target does not know a variable, the statement ended in an error on the source, or the
            statement depends on the user that runs it.
    """
    context = statement.context
    _refuse_unknown(statement, context)
    expected_error(statement, log)
    _refuse_dependent(statement, kind or StatementKind.read(statement.sql.decode("utf-8", "replace"), statement_rules(statement, server)))
    variables: list[str] = [f"timestamp={statement.timestamp}.{context.get('microseconds') or 0:06d}"]
    variables += _flag_variables(statement, context.get("flags2") or 0, log, server)
    if context.get("sql_mode") is not None:
        variables.append(f"sql_mode={_sql_mode(statement, context['sql_mode'], server)}")
    if context.get("charset") is not None:
        variables += _charset_variables(statement, context["charset"], collations)
    variables += _database_collation(statement, collations)
    variables += _default_collations(statement, context.get("character_set_collations") or [], server, collations)
    if context.get("time_zone"):
        variables.append(f"time_zone='{_time_zone(statement, context['time_zone'])}'")
    # Servers log auto_increment settings only if one of them is not 1, and lc_time_names only if it is not en_US.
    increment, offset = context.get("auto_increment") or (1, 1)
    variables += [f"auto_increment_increment={int(increment)}", f"auto_increment_offset={int(offset)}"]
    absent = _absent_numbers(log, server)
    numbers = {name: context[name] if context.get(name) is not None else absent.get(name) for name in _NUMBERS}
    variables += [f"{name}={int(number)}" for name, number in numbers.items() if number is not None]
    variables += [f"{name}={value}" for name, value in unlogged_variables(server).items()]
    return ["SET " + ", ".join(variables)]


def statement_rules(statement: Statement, server: ServerKind) -> Rules:
    """Return the rules by which a server of this version parses a logged statement."""
    return Rules(mariadb=server.mariadb, version=server.version, sql_mode=int(statement.context.get("sql_mode") or 0))


def checks_foreign_keys(statement: Statement) -> bool:
    """Return True if the statement ran with foreign_key_checks=1."""
    return not int(statement.context.get("flags2") or 0) & _NO_FOREIGN_KEY_CHECKS


def refused_setting(error: ServerError, position: int, file: str | None = None) -> LogNotUnderstood | None:
    """Return the exception for a server's error about a setting of a statement; None if the error has another cause.

    Args:
        error: The server's error.
        position: Offset of the statement.
        file: Log file of the statement.
    """
    if error.code not in _UNKNOWN_VARIABLE:
        return None
    message = f"the target cannot take over a variable of the statement: {error.message}"
    return LogNotUnderstood(message, file=file, position=position)


def use_statement(statement: Statement) -> str | None:
    """Return ``USE`` of the statement's default database, or None without one."""
    return f"USE {identifier(statement.database)}" if statement.database else None


def _refuse_unknown(statement: Statement, context: dict[str, Any]) -> None:
    if context.get("unknown"):
        codes = ", ".join(str(code) for code in context["unknown"])
        raise LogNotUnderstood(
            f"the statement depends on status variables that this version does not know (codes {codes}); a newer version may",
            position=statement.offset,
        )


def expected_error(statement: Statement, log: Format) -> int:
    """Return the error in which a statement ended on the source, and must end on the target; 0 for none.

    MariaDB logs statements that failed after a part of their names was done (DROP USER, REVOKE and the like). Its replica runs them and
    expects the same error (Query_log_event::do_apply_event). MySQL from 8.0 on does all or nothing, and logs no statement that failed; a
    statement of an older version would leave undone there what it did on the source.

    Raises:
        LogNotUnderstood: The same error does not show that the target did the same.
    """
    error = int(statement.context.get("error_code") or 0)
    if error and (not log.mariadb or error in _INTERRUPTED):
        raise LogNotUnderstood(
            f"the statement ended in error {error} on the source, perhaps half done; {BY_HAND}",
            position=statement.offset,
        )
    return error


def _refuse_dependent(statement: Statement, kind: StatementKind | None) -> None:
    """Refuse a statement that refers to its invoker, or that fills new columns with values that depend on the source's session."""
    if _INVOKER.search(statement.sql) is not None and (kind is None or kind.names_invoker):
        user, host = statement.context.get("invoker") or ("", "")
        invoker = f"its invoker {user}@{host}" if user else "its invoker"
        raise LogNotUnderstood(
            f"the statement means {invoker} by CURRENT_USER, which cannot be set; {BY_HAND}",
            position=statement.offset,
        )
    if kind is not None and kind.unrepeatable is not None:
        raise LogNotUnderstood(
            f"the statement may fill a new column with {kind.unrepeatable}, which gave other values on the source than it would here, and"
            " they are not logged; run it by hand, copy the column, and start again with --ddl-done",
            position=statement.offset,
        )


def _charset_variables(statement: Statement, charset: tuple[int, int, int], collations: CollationNumbers) -> list[str]:
    """Return the settings of the three character set variables.

    They use names, because servers do not accept all numbers that they log: on MariaDB, 2304 is no ``character_set_client``.
    """
    client, *others = (int(number) for number in charset)
    if collations is _NO_COLLATIONS:
        names = [str(number) for number in (client, *others)]
    else:
        names = [collations.charset(client) or "", *(collations.collation(number) or "" for number in others)]
    if "" in names:
        number = (client, *others)[names.index("")]
        raise LogNotUnderstood(
            f"the statement ran under collation {number}, which the target does not have: use a target that has it, or let the source"
            " write its DDL under one that both have (SET NAMES ... COLLATE ..., collation_server)",
            position=statement.offset,
        )
    return [f"{name}={value}" for name, value in zip(_CHARSET_VARIABLES, names, strict=True)]


def _database_collation(statement: Statement, collations: CollationNumbers) -> list[str]:
    """Return the setting of ``collation_database``, the default for routines' texts and ``CONVERT TO CHARACTER SET DEFAULT``.

    A server logs it only if it is not the collation of the default database, which USE sets. Without a default database it is that of the
    server. Of MariaDB, DDL of 10.5 depends on it, and that of 10.11 and 11.8 does not (observed).
    """
    number = statement.context.get("charset_database")
    if number is None and not statement.database and statement.context.get("charset") is not None:
        number = statement.context["charset"][2]
    if number is None:
        return []
    name = str(number) if collations is _NO_COLLATIONS else collations.collation(int(number))
    if name is None:
        raise LogNotUnderstood(
            f"the statement ran under collation_database {number}, a collation that the target does not have: use a target that has it",
            position=statement.offset,
        )
    return [f"collation_database={name}"]


def _default_collations(statement: Statement, logged: list[tuple[int, int]], server: ServerKind, collations: CollationNumbers) -> list[str]:
    """Return the setting of ``character_set_collations``.

    A MariaDB that does not log the variable has compiled defaults, because it is empty or unknown there.
    """
    pairs = [(collations.charset(charset), collations.collation(collation)) for charset, collation in logged]
    if has_variable(server, "character_set_collations"):
        if any(None in pair for pair in pairs):
            raise LogNotUnderstood("the statement's character_set_collations name a collation that the target does not have",
                                   position=statement.offset)  # fmt: skip
        text = ",".join(f"{charset}={collation}" for charset, collation in pairs)
        return [f"character_set_collations='{text}'"]
    if any(collation != Rules(mariadb=True, version=server.version).default_collation(charset or "") for charset, collation in pairs):
        raise LogNotUnderstood(
            "the statement names a character set whose default collation on the source (character_set_collations) is not that of the"
            " target, which cannot be changed before MariaDB 11.2; use a newer target, or run it by hand with a"
            " COLLATE clause, and start again with --ddl-done",
            position=statement.offset,
        )
    return []


def _absent_numbers(log: Format, server: ServerKind) -> dict[str, int]:
    """Return the values of variables that the log does not hold, by the source's version.

    MySQL up to 5.7 has no default_collation_for_utf8mb4; according to the manual, a replica then uses utf8mb4_general_ci.
    """
    absent = {"lc_time_names": 0}
    if log.mariadb:
        return absent
    if has_variable(server, "default_collation_for_utf8mb4"):
        absent["default_collation_for_utf8mb4"] = _UTF8MB4_GENERAL_CI
    if has_variable(server, "sql_require_primary_key"):
        absent["sql_require_primary_key"] = 0
    if log.version < (8, 0, 2):
        absent["explicit_defaults_for_timestamp"] = 0
    return absent


def _flag_variables(statement: Statement, flags: int, log: Format, server: ServerKind) -> list[str]:
    known = _COMMON_FLAGS | (_MARIADB_FLAGS if log.mariadb else 0)
    if flags & ~known:
        raise LogNotUnderstood(
            f"the statement has option flags that this version does not know ({flags & ~known:#x})", position=statement.offset
        )
    variables = [
        f"foreign_key_checks={0 if flags & _NO_FOREIGN_KEY_CHECKS else 1}",
        f"unique_checks={0 if flags & _RELAXED_UNIQUE_CHECKS else 1}",
        f"sql_auto_is_null={1 if flags & _AUTO_IS_NULL else 0}",
    ]
    if log.mariadb:
        variables.append(f"check_constraint_checks={0 if flags & _NO_CHECK_CONSTRAINTS else 1}")
        explicit = explicit_defaults({"flags2": flags}, mariadb=True, version=log.version)
        variables.append(f"explicit_defaults_for_timestamp={1 if explicit else 0}")
        variables += _switch(statement, "sql_if_exists", server, on=bool(flags & _IF_EXISTS))
        variables += _switch(statement, "system_versioning_insert_history", server, on=bool(flags & _INSERT_HISTORY))
    return variables


def _switch(statement: Statement, name: str, server: ServerKind, *, on: bool) -> list[str]:
    """Return the setting of a variable, which counts as off on a target that does not have it."""
    if has_variable(server, name):
        return [f"{name}={int(on)}"]
    if on:
        raise LogNotUnderstood(f"the statement ran under {name}=1, which the target does not have", position=statement.offset)
    return []


def _sql_mode(statement: Statement, mode: int, server: ServerKind) -> int:
    unknown = mode & ~known_modes(server) & ~dropped_modes(server)
    if unknown:
        raise LogNotUnderstood(f"the statement's sql_mode has bits that the target does not know ({unknown:#x})", position=statement.offset)
    return mode & known_modes(server)


def _time_zone(statement: Statement, zone: str) -> str:
    if not is_time_zone(zone):
        raise LogNotUnderstood(f"the statement's time zone {zone!r} is not the name of one", position=statement.offset)
    return zone

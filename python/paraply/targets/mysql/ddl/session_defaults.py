"""Session variables that change the meaning of a DDL and that no log holds. A statement runs with the default values of the server version.

The target's global values are not used. A log without the variable is taken to come from a source with the defaults, which created no
invisible primary key, for example, even if the target would. A replay cannot know a different setting on the source.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from paraply.targets.mysql.sql import EXPRESSION_VARIABLES

if TYPE_CHECKING:
    from paraply.targets.mysql.server_version import ServerKind

__all__ = ["dropped_modes", "has_variable", "is_time_zone", "known_modes", "unlogged_variables"]

# sql_mode is logged and set as a number. Bits that a server accepts, tested bit by bit on MySQL 9.7 and MariaDB 10.11.
_MYSQL_MODES: int = sum(1 << bit for bit in (*range(4), *range(5, 8), *range(18, 28), *range(29, 34)))
_MARIADB_MODES = (1 << 35) - 1
#: Bits that MySQL 8.0 removed (POSTGRESQL ... MYSQL40, NO_AUTO_CREATE_USER). They change no DDL: their effects have bits of their own.
_MYSQL_DROPPED_MODES: int = sum(1 << bit for bit in (*range(8, 18), 28))
_ZONE = re.compile(r"[A-Za-z0-9_/+:\-]+")

#: First versions of MySQL and of MariaDB with each variable that not every server has; None for a family without the variable.
_SINCE: dict[str, tuple[tuple[int, int, int] | None, tuple[int, int, int] | None]] = {
    "default_collation_for_utf8mb4": ((8, 0, 11), None),
    "sql_require_primary_key": ((8, 0, 13), None),
    "default_table_encryption": ((8, 0, 16), None),
    "sql_generate_invisible_primary_key": ((8, 0, 30), None),
    "restrict_fk_on_non_standard_key": ((8, 4, 0), None),
    "block_encryption_mode": ((5, 7, 0), (11, 2, 1)),
    "old_mode": (None, (5, 5, 0)),
    "default_regex_flags": (None, (10, 0, 11)),
    "system_versioning_alter_history": (None, (10, 3, 4)),
    "system_versioning_insert_history": (None, (10, 11, 0)),
    "sql_if_exists": (None, (10, 5, 2)),
    "character_set_collations": (None, (11, 2, 1)),
    "innodb_strict_mode": ((5, 5, 0), (5, 5, 0)),
    "innodb_ft_enable_stopword": ((5, 6, 4), (10, 0, 10)),
    "innodb_ft_user_stopword_table": ((5, 6, 4), (10, 0, 10)),
    "innodb_compression_default": (None, (10, 1, 8)),
    "innodb_default_encryption_key_id": (None, (10, 1, 8)),
    "mhnsw_default_distance": (None, (11, 7, 1)),
    "mhnsw_default_m": (None, (11, 7, 1)),
    "old_passwords": (None, (5, 5, 0)),  # MySQL logs no passwords, but what it stores for them
    "alter_algorithm": (None, (10, 3, 7)),
}
#: First versions of MariaDB in which a variable has no effect.
_IDLE_SINCE = {"alter_algorithm": (11, 5, 0)}
#: ``utf8`` means utf8mb3 by default in every MariaDB; from this version on, a flag of old_mode determines it.
_OLD_MODE_NAMES_UTF8 = (10, 6, 1)


def has_variable(server: ServerKind, name: str) -> bool:
    """Return True if a server of this version has the session variable, and it has an effect."""
    if name not in _SINCE:
        return True
    since = _SINCE[name][server.mariadb]
    return since is not None and since <= server.version < _IDLE_SINCE.get(name, (999,))


def unlogged_variables(server: ServerKind) -> dict[str, str]:
    """Return the variables that no log holds, with their values as SQL.

    Two values are not the defaults, because every logged statement has succeeded on the source: ``system_versioning_alter_history`` and
    ``innodb_strict_mode``, without which InnoDB ignores an option that does not fit instead of refusing the statement.
    """
    values = EXPRESSION_VARIABLES | {
        "sql_generate_invisible_primary_key": "0",
        "restrict_fk_on_non_standard_key": "0",
        "old_mode": "'UTF8_IS_UTF8MB3'" if server.version >= _OLD_MODE_NAMES_UTF8 else "''",
        "system_versioning_alter_history": "KEEP",
        "default_storage_engine": "InnoDB",
        "innodb_strict_mode": "0",
        "innodb_ft_enable_stopword": "1",
        "innodb_ft_user_stopword_table": "NULL",
        "innodb_compression_default": "0",
        "innodb_default_encryption_key_id": "1",
        "mhnsw_default_distance": "'euclidean'",
        "mhnsw_default_m": "6",
        "old_passwords": "0",
        "alter_algorithm": "'DEFAULT'",
    }
    return {name: value for name, value in values.items() if has_variable(server, name)}


def known_modes(server: ServerKind) -> int:
    """Return the bits of ``sql_mode`` that a server of this version accepts."""
    if server.mariadb:
        return _MARIADB_MODES
    return _MYSQL_MODES if server.version >= (8, 0, 0) else _MYSQL_MODES | _MYSQL_DROPPED_MODES


def dropped_modes(server: ServerKind) -> int:
    """Return the bits of ``sql_mode`` that an older server has, and that can be left out without any effect."""
    return _MYSQL_DROPPED_MODES if not server.mariadb and server.version >= (8, 0, 0) else 0


def is_time_zone(zone: str) -> bool:
    """Return True if a text can be the name or the offset of a time zone."""
    return _ZONE.fullmatch(zone) is not None

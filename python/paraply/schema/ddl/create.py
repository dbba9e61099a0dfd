"""Parser for CREATE TABLE, and for table options of CREATE TABLE and ALTER TABLE."""

from __future__ import annotations

from paraply.schema.collations import canonical_charset, canonical_collation
from paraply.schema.ddl.cursor import Cursor
from paraply.schema.ddl.elements import at_constraint, read_column, read_constraint
from paraply.schema.ddl.statements import CreateTableStatement, Element, Name, TableOptions

__all__ = ["read_charset_option", "read_create_table", "read_elements", "read_option"]

ENGINES = {"innodb": "InnoDB", "myisam": "MyISAM", "memory": "MEMORY", "heap": "MEMORY", "aria": "Aria", "rocksdb": "ROCKSDB"}
OPTIONS = (
    "AUTO_INCREMENT", "AUTOEXTEND_SIZE", "AVG_ROW_LENGTH", "CHECKSUM", "TABLE_CHECKSUM", "COMMENT", "COMPRESSION", "CONNECTION",
    "DELAY_KEY_WRITE", "ENCRYPTION", "ENGINE_ATTRIBUTE", "INSERT_METHOD", "KEY_BLOCK_SIZE", "MAX_ROWS", "MIN_ROWS", "PACK_KEYS",
    "PASSWORD", "ROW_FORMAT", "SECONDARY_ENGINE", "SECONDARY_ENGINE_ATTRIBUTE", "STATS_AUTO_RECALC", "STATS_PERSISTENT",
    "STATS_SAMPLE_PAGES", "STORAGE", "TABLESPACE", "UNION", "PAGE_CHECKSUM", "TRANSACTIONAL", "NODEGROUP",
)  # fmt: skip
SELECT_WORDS = ("SELECT", "AS", "IGNORE", "REPLACE", "TABLE", "VALUES")


def read_create_table(cursor: Cursor, *, replace: bool) -> CreateTableStatement:
    """Parse the part of a statement after ``CREATE TABLE``."""
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.table_name()
    if (like := _like(cursor)) is not None:
        return CreateTableStatement(name, if_not_exists=if_not_exists, replace=replace, like=like)
    elements: tuple[Element, ...] = ()
    if cursor.at("(") and not _query_ahead(cursor):
        elements = read_elements(cursor)
    options = TableOptions()
    while not cursor.done and not cursor.at("PARTITION", "BY") and not _at_select(cursor):
        cursor.accept(",")
        read_option(cursor, options)
    select = _at_select(cursor)
    if cursor.at("PARTITION", "BY"):
        select = _select_after_partitions(cursor)
    return CreateTableStatement(name, elements, options, if_not_exists, replace, None, select)


def _like(cursor: Cursor) -> Name | None:
    if cursor.accept("LIKE"):
        return cursor.table_name()
    if cursor.accept("(", "LIKE"):
        name = cursor.table_name()
        cursor.expect(")")
        return name
    return None


def _query_ahead(cursor: Cursor) -> bool:
    """Return True if the parentheses contain a query: ``CREATE TABLE t (SELECT ...)``."""
    place = 0
    while cursor.ahead(place).text == "(":
        place += 1
    return cursor.ahead(place).upper in ("SELECT", "WITH", "VALUES", "TABLE")


def _at_select(cursor: Cursor) -> bool:
    return cursor.token.upper in SELECT_WORDS or cursor.at("(") or (cursor.at("WITH") and not cursor.at("WITH", "SYSTEM"))


def _select_after_partitions(cursor: Cursor) -> bool:
    """Skip the partitions; return True if a query follows. Nothing else there affects keys."""
    while not cursor.done:
        if cursor.at("("):
            cursor.parenthesised()
        elif cursor.next().upper in ("SELECT", "AS", "WITH"):
            return True
    return False


def read_elements(cursor: Cursor) -> tuple[Element, ...]:
    """Parse the columns, keys and foreign keys in parentheses."""
    read = cursor.items(lambda: read_constraint(cursor) if at_constraint(cursor) else read_column(cursor))
    return tuple(element for element in read if element is not None)


def read_charset_option(cursor: Cursor, options: TableOptions) -> bool:
    """Parse ``[DEFAULT] CHARACTER SET [=] x`` or ``[DEFAULT] COLLATE [=] x``; return True if there was one."""
    if cursor.at("DEFAULT") and cursor.ahead(1).upper in ("CHARACTER", "CHAR", "CHARSET", "COLLATE"):
        cursor.next()
    if cursor.accept("CHARACTER", "SET") or cursor.accept("CHAR", "SET") or cursor.accept("CHARSET"):
        cursor.accept("=")
        charset = canonical_charset(cursor.next().text)
        if charset != options.charset:
            options.charset = charset
            options.collation = None if options.collation is None or not options.collation.startswith(charset) else options.collation
    elif cursor.accept("COLLATE"):
        cursor.accept("=")
        options.collation = canonical_collation(cursor.next().text)
    else:
        return False
    return True


def read_option(cursor: Cursor, options: TableOptions) -> None:
    """Parse one table option; fail for an option that changes the meaning of the table's rows."""
    if read_charset_option(cursor, options):
        return
    if cursor.accept("ENGINE") or cursor.at("TYPE", "="):
        cursor.accept("TYPE")
        cursor.accept("=")
        name = cursor.next().text
        options.engine = ENGINES.get(name.lower(), name)
    elif cursor.accept("START", "TRANSACTION"):
        return
    elif cursor.at("WITH") or cursor.at("SEQUENCE"):
        cursor.fail("a table without system versioning that is no sequence")
    else:
        _other_option(cursor)


def _other_option(cursor: Cursor) -> None:
    """Skip ``NAME [=] value``; fail for an unknown name (R13). MariaDB's engines have options of their own, always with ``=``."""
    directory = cursor.accept("DATA", "DIRECTORY") or cursor.accept("INDEX", "DIRECTORY")
    if not directory and cursor.accept_any(OPTIONS) is None:
        if not (cursor.rules.mariadb and cursor.at_name and cursor.ahead(1).text == "="):
            cursor.fail("a table option")
        cursor.next()
    cursor.accept("=")
    if cursor.at("("):
        cursor.parenthesised()
    else:
        cursor.accept("-")
        cursor.next()

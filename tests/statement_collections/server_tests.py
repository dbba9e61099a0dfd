"""Read the statements of the servers' own test scripts (``*.test``), which mix SQL with commands of their test program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["LEFT_OUT", "read_test", "split_test"]

#: Commands of the test program that end like a statement.
_COMMANDS_TEXT = (
    "append_file assert cat_file change_user character_set chmod connect connection copy_file copy_files_wildcard dec diff_files die "
    "dirty_close disable_abort_on_error disable_connect_log disable_info disable_metadata disable_ps_protocol disable_query_log "
    "disable_reconnect disable_result_log disable_session_track_info disable_testcase disable_warnings disconnect echo "
    "enable_abort_on_error enable_connect_log enable_info enable_metadata enable_ps_protocol enable_query_log enable_reconnect "
    "enable_result_log enable_session_track_info enable_testcase enable_warnings end_timer error exec exec_in_background exec_spaced "
    "execw exit expr file_exists force_cpdir force_rmdir horizontal_results inc let list_files list_files_append_file "
    "list_files_write_file lowercase_result mkdir move_file output partially_sorted_result perl ping query_get_value query_horizontal "
    "query_sorted query_vertical reap remove_file remove_files_wildcard replace_column replace_numeric_round replace_regex "
    "replace_result require reset_connection result_format rmdir save_master_pos send_eval send_quit send_shutdown shutdown_server "
    "skip skip_if_hypergraph sleep sorted_result source start_timer sync_slave_with_master sync_with_master system vertical_results "
    "wait_for_slave_to_stop write_file write_line"
)
_COMMANDS = frozenset(_COMMANDS_TEXT.split())
_ENGINES = re.compile(
    r"\b(engine|type)(\s*=\s*|\s+)(myisam|memory|heap|archive|csv|merge|mrg_myisam|aria|blackhole|example|federated)\b", re.IGNORECASE
)
#: Settings after which the log no longer holds what the session changes, or holds it as statements, and those of other owners.
_LEFT_OUT = re.compile(
    r"sql_log_bin|binlog_format|gtid_next|pseudo_(?:slave|replica)_mode|transaction_write_set|partial_revokes|lower_case|storage_engine|\bmysql`?\.|@@?debug|\bdebug\b"
    r"|^\s*(?:(?:create|alter|drop|rename)\s+(?:user|role)|grant|revoke|set\s+(?:default\s+)?role|xa)\b",
    re.IGNORECASE,
)
#: A description of that, printed beside the table.
LEFT_OUT = (
    "Not in the figures of MySQL's and MariaDB's own tests: statements about users, roles and privileges (CREATE USER, GRANT, REVOKE, ...),"
    " XA, statements that name the database mysql, and those about binlog_format, sql_log_bin, gtid_next, lower_case_table_names,"
    " storage_engine, partial_revokes, pseudo_replica_mode or debug; engines other than InnoDB became InnoDB."
)
_WORD = re.compile(r"\s*([a-z_]+)\b", re.IGNORECASE)
_TEXT_FILE = re.compile(r"\s*(?:--)?\s*(?:write_file|append_file|perl)\b[ \t]*(?:\S+)?[ \t]*(\S+)?[ \t;]*$", re.IGNORECASE)
_INCLUDED = re.compile(r"^[ \t]*(?:--[ \t]*)?source[ \t]+(?P<file>[\w./-]+\.(?:inc|test))[ \t]*;?[ \t]*$", re.IGNORECASE | re.MULTILINE)
#: Files that only prepare, wait or check.
_WITHOUT_CHANGES = re.compile(
    r"/(?:have|not|no|wait|sync|count|rpl|master|restart|kill|show|check|big|force|assert|save|enable|disable|start|stop|expect|begin|end|ib)_"
    r"|/master-slave|group_replication|kill_|restart"
)
_DEEPEST = 3


def read_test(path: Path) -> list[str]:
    """Return the statements of a test script and of the files that it includes; none of a script that is not in UTF-8."""
    try:
        return split_test(_with_included(path.read_text(encoding="utf-8"), path, 0))
    except UnicodeDecodeError:
        return []


def _with_included(text: str, path: Path, depth: int) -> str:
    def content(named: re.Match[str]) -> str:
        file = named["file"]
        places = [parent / file for parent in path.parents if (parent / file).is_file()]
        if depth == _DEEPEST or not places or _WITHOUT_CHANGES.search(f"/{file}"):
            return ""
        return _with_included(places[0].read_text(encoding="utf-8"), path, depth + 1)

    return _INCLUDED.sub(content, text)


def split_test(text: str) -> list[str]:
    """Return the statements of a test script. Its control flow is passed over: each statement runs once, on one connection.

    Left out are statements with variables of the test program, settings after which the log does not hold the changes, statements about
    accounts, which may be those of the run, and parts of XA transactions. Tables of other engines become tables of InnoDB.

    >>> split_test("--disable_warnings\\nlet $a = 1;\\nCREATE TABLE t (a INT) ENGINE=MyISAM;\\nif ($a)\\n{\\n  DROP TABLE t;\\n}\\n")
    ['CREATE TABLE t (a INT) ENGINE=InnoDB', 'DROP TABLE t']
    >>> split_test("delimiter |;\\nCREATE PROCEDURE p() BEGIN SELECT 1; END|\\ndelimiter ;|\\nSELECT 2;")
    ['CREATE PROCEDURE p() BEGIN SELECT 1; END', 'SELECT 2']
    """
    statements = (" ".join(piece.split()) if "\n" not in piece else piece.strip() for piece in _pieces(text))
    return [_ENGINES.sub(r"\1\2InnoDB", statement) for statement in statements if statement and not _LEFT_OUT.search(statement)]


def _pieces(text: str) -> Iterator[str]:
    """Yield the texts between the delimiters, without the commands of the test program."""
    delimiter, position = ";", 0
    while position < len(text):
        line = text[position : _end_of_line(text, position)]
        stripped = line.lstrip()
        if not stripped or stripped.startswith("#") or (stripped.startswith("--") and not stripped.lower().startswith("--eval")):
            if named := re.match(r"--\s*delimiter\s+(\S+)", stripped, re.IGNORECASE):
                delimiter = named[1]
            position = _behind_text_file(text, position, line) if _TEXT_FILE.match(line) else _end_of_line(text, position) + 1
        elif stripped[0] in "{}":
            position += len(line) - len(stripped) + 1
        elif re.match(r"(?:if|while)\b", stripped, re.IGNORECASE):
            opened = text.find("{", position)
            position = len(text) if opened < 0 else opened + 1
        else:
            piece, position = _until(text, position, delimiter)
            word = _WORD.match(piece)
            name = word[1].lower() if word else ""
            if name == "delimiter":
                delimiter = piece.split()[1]
            elif name in ("eval", "send"):
                piece = piece[word.end() :] if word else piece
                if not re.search(r"\$\w", piece):
                    yield piece
            elif name in ("write_file", "append_file", "perl"):
                position = _behind_text_file(text, position, piece)
            elif (name and name not in _COMMANDS) or piece.lstrip().startswith(("(", "/*")):
                yield piece


def _until(text: str, position: int, delimiter: str) -> tuple[str, int]:
    """Return the text before the delimiter, without comments, and the place behind it."""
    piece = ""
    for token in _tokens(delimiter).finditer(text, position):
        if token.lastgroup == "end":
            return piece, token.end()
        piece += " " if token.lastgroup == "comment" else token[0]
    return piece, len(text)


@cache
def _tokens(delimiter: str) -> re.Pattern[str]:
    """Return the pattern of the pieces of a script up to a delimiter."""
    first = re.escape(delimiter[0])
    return re.compile(
        rf"""(?P<quoted>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`(?:[^`]|``)*`)
          | (?P<end>{re.escape(delimiter)})
          | (?P<comment>\#[^\n]*|--(?=\s)[^\n]*|/\*(?!!|M!).*?\*/)
          | (?P<plain>[^'"`\#/{first}-]+)
          | (?P<other>.)""",
        re.VERBOSE | re.DOTALL,
    )


def _behind_text_file(text: str, position: int, command: str) -> int:
    """Return the place behind the lines of a file that the script holds."""
    words = command.replace(";", " ").split()
    plain = words[0].lstrip("-").lower() if words[0] != "--" else words[1].lower()
    ends = words[-1] if len(words) > (1 if plain == "perl" else 2) else "EOF"
    found = re.compile(rf"^{re.escape(ends)}[ \t]*$", re.MULTILINE).search(text, position)
    return len(text) if found is None else _end_of_line(text, found.start()) + 1


def _end_of_line(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end

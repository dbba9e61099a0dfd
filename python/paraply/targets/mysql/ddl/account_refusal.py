"""The error of a statement about accounts that the target refuses: it names the statement, the privilege and the way on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.errors import ApplyFailed, ParaplyError, PrivilegeMissing, TargetUnable
from paraply.logs.statement_text import hide_passwords
from paraply.schema.ddl.statement_kind import StatementKind
from paraply.targets.ddl_answer import name_way_on
from paraply.targets.mysql.ddl.context import statement_rules
from paraply.targets.mysql.gtid_mode import ACCESS_DENIED
from paraply.targets.mysql.server_version import ServerKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from paraply._native import Block
    from paraply.errors import ServerError

__all__ = ["account_statement", "explain_account_refusal", "needed_grant"]

_ACCOUNTS = ("USER", "ROLE")
_MANAGE = "CREATE USER"
_SYSTEM = "SYSTEM_USER"
_LONGEST = 100
#: ER_CANNOT_GRANT_ROLE and ER_CANNOT_REVOKE_ROLE of MariaDB: the role is not granted WITH ADMIN OPTION.
_ROLE_DENIED = (1961, 1962)


def account_statement(block: Block) -> StatementKind | None:
    """Return the first statement of a block that is about accounts, roles or their privileges; None if none is."""
    log = block.format
    source = ServerKind(log.mariadb, log.version)
    for statement in block.transactions[0].statements:
        kind = StatementKind.read(statement.sql.decode("utf-8", "replace"), statement_rules(statement, source))
        if kind is not None and _is_about_accounts(kind):
            return kind
    return None


def explain_account_refusal(
    found: ParaplyError, error: ServerError, block: Block, server: ServerKind, account: Callable[[], str]
) -> ParaplyError:
    """Return the error of a statement about accounts, with the statement and both ways on; other errors as they are.

    Args:
        found: The error as it is explained for any statement.
        error: The server's error.
        block: The block with the statement.
        server: The target.
        account: Returns the target's user, in the syntax of GRANT.
    """
    if not isinstance(found, ApplyFailed) or isinstance(found, TargetUnable):
        return found
    kind = account_statement(block)
    if kind is None:
        return found
    skip = f"leave it out with --skip {block.first_gtid}" if block.first_gtid else "leave it out with --skip"
    if error.code not in (*ACCESS_DENIED, *_ROLE_DENIED):
        name_way_on(found)
        found.message += f", or {skip}; the source's statement is: {_shown(kind)}"
        return found
    grant = f"GRANT {_SYSTEM} ON *.* TO {{}}" if _SYSTEM in error.message else needed_grant(kind, mariadb=server.mariadb)
    return PrivilegeMissing(
        f"the target's user lacks a privilege for a statement of the source about accounts, which are replicated too: {_shown(kind)}"
        f" ({error.message}, error {error.code}); run there {grant.format(account())}, or {skip}",
        file=found.file,
        position=found.position,
        gtid=found.gtid,
    )


def needed_grant(kind: StatementKind, *, mariadb: bool) -> str:
    """Return the GRANT statement with the privilege that a statement about accounts needs; ``{}`` stands for the target's user.

    Args:
        kind: The statement.
        mariadb: True if the target is a MariaDB.

    >>> from paraply.schema.ddl.rules import Rules
    >>> texts = ("DROP ROLE r", "GRANT SELECT ON shop.* TO r", "REVOKE ALL ON *.* FROM 'to'@'%'", "GRANT `on` TO a@b, c")
    >>> [needed_grant(StatementKind.read(text, Rules()), mariadb=True) for text in texts]  # doctest: +NORMALIZE_WHITESPACE
    ['GRANT CREATE USER ON *.* TO {}', 'GRANT SELECT ON shop.* TO {} WITH GRANT OPTION', 'GRANT ALL ON *.* TO {} WITH GRANT OPTION',
     'GRANT `on` TO {} WITH ADMIN OPTION']
    """
    if kind.verb not in ("GRANT", "REVOKE"):
        return f"GRANT {_MANAGE} ON *.* TO {{}}"
    words = [token.upper if token.kind == "word" else "" for token in kind.tokens]
    end = next((place for place, word in enumerate(words) if word in ("TO", "FROM")), None)
    what = "" if end is None else kind.text[kind.tokens[0].end : kind.tokens[end].start].strip().replace("{", "{{").replace("}", "}}")
    if end is None or "ON" in words[:end]:
        return f"GRANT {what} TO {{}} WITH GRANT OPTION" if what else f"GRANT {_MANAGE} ON *.* TO {{}}"
    if "ALL" in words[:2]:  # REVOKE ALL PRIVILEGES, GRANT OPTION FROM ...
        return f"GRANT {_MANAGE} ON *.* TO {{}}"
    return f"GRANT {what} TO {{}} WITH ADMIN OPTION" if mariadb else "GRANT ROLE_ADMIN ON *.* TO {}"


def _is_about_accounts(kind: StatementKind) -> bool:
    if kind.verb in ("CREATE", "ALTER", "DROP", "RENAME"):
        return kind.object in _ACCOUNTS
    following = kind.tokens[1].upper if len(kind.tokens) > 1 else ""
    return kind.verb in ("GRANT", "REVOKE") or (kind.verb == "SET" and following in ("PASSWORD", "DEFAULT"))


def _shown(kind: StatementKind) -> str:
    """Return the beginning of a statement, without passwords."""
    text = hide_passwords(" ".join(kind.text[kind.tokens[0].start :].split()))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."

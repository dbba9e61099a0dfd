"""MySQL's generated invisible primary key (``sql_generate_invisible_primary_key``, since 8.0.30)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paraply.schema.ddl.rules import Rules
    from paraply.schema.model import Table

__all__ = ["GENERATED_KEY_COLUMN", "keeps_generated_key_first"]

GENERATED_KEY_COLUMN = "my_row_id"


def keeps_generated_key_first(table: Table, engine: str | None, rules: Rules) -> bool:
    """Return True if an ALTER of this table inserts no column before the first one.

    The server treats any column of this form as a generated key, even one written by a user (is_generated_invisible_primary_key_column in
    sql/sql_gipk.cc). Changes of the column by the ALTER itself do not matter. An ALTER to or from another engine gives False.

    Args:
        table: The table before the ALTER.
        engine: Engine after the ALTER; None for InnoDB.
        rules: Rules of the server that ran the ALTER.
    """
    engines = {(table.engine or "innodb").lower(), (engine or "innodb").lower()}
    if rules.mariadb or rules.version < (8, 0, 30) or engines != {"innodb"}:
        return False
    column, key = table.columns[0], table.primary_key
    form = (column.name.lower(), column.type, column.unsigned, column.nullable, column.invisible, column.generated)
    if form != (GENERATED_KEY_COLUMN, "bigint", True, False, True, None):
        return False
    if column.default is None or column.default.kind != "automatic":
        return False
    return key is not None and [(part.column or "").lower() for part in key.parts] == [GENERATED_KEY_COLUMN]

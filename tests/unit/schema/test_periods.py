"""Keys without overlaps: their periods' columns are no values to go by (R13)."""

from __future__ import annotations

import pytest

from paraply.schema.model import Column, Key, KeyPart
from paraply.schema.periods import with_period_parts

SHOWN = """CREATE TABLE `t` (
  `id` int(11) NOT NULL,
  `s` date NOT NULL COMMENT 'PRIMARY KEY (`x` WITHOUT OVERLAPS)',
  `e` date NOT NULL,
  PERIOD FOR `p` (`s`, `e`),
  PRIMARY KEY (`id`,`p` WITHOUT OVERLAPS),
  UNIQUE KEY `u``v` (`s`,`id`,`p` WITHOUT OVERLAPS),
  UNIQUE KEY `plain` (`id`,`e`,`s`)
) ENGINE=InnoDB"""
COLUMNS = [Column("id", "int", nullable=False), Column("s", "date", nullable=False), Column("e", "date", nullable=False)]
PERIOD = KeyPart(None, None, "WITHOUT OVERLAPS")


def key(name: str, *columns: str) -> Key:
    return Key(name, tuple(KeyPart(column) for column in columns), unique=True)


def test_r13_periods_of_keys_are_unknown_expressions() -> None:
    asked: list[str] = []

    def query(text: str) -> list[tuple[bytes, bytes]]:
        asked.append(text)
        return [(b"t", SHOWN.encode())]

    keys = [key("PRIMARY", "id", "e", "s"), key("u`v", "s", "id", "e", "s"), key("plain", "id", "e", "s")]
    primary, other, plain = with_period_parts(query, ("d`b", "t"), keys, COLUMNS)
    assert primary.parts == (KeyPart("id"), PERIOD, PERIOD)
    assert other.parts == (KeyPart("s"), KeyPart("id"), PERIOD, PERIOD)
    assert plain == keys[2]
    assert asked == ["SHOW CREATE TABLE `d``b`.`t`"]


@pytest.mark.parametrize("columns", [("id",), ("s", "e"), ("e", "s", "id")])
def test_a_definition_is_asked_for_only_where_a_key_may_have_a_period(columns: tuple[str, ...]) -> None:
    def query(text: str) -> list[tuple[bytes, bytes]]:
        raise AssertionError(text)

    keys = [key("PRIMARY", *columns)]
    assert with_period_parts(query, ("d", "t"), keys, COLUMNS) == keys

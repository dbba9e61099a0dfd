"""A user without TRIGGER on a table of an undo: the refusal has the statement that grants it."""

from __future__ import annotations

import pytest
from own_mysql import running_mysql

from paraply.errors import UndoRefused
from paraply.targets.url import parse_url
from paraply.undo.mysql_writer import MySqlWriter

pytestmark = pytest.mark.mysql


def test_the_grant_of_a_refusal_mends_it() -> None:
    with running_mysql() as server:
        server.sql("CREATE DATABASE `my shop`", "CREATE TABLE `my shop`.item (id INT PRIMARY KEY)",
                   "CREATE USER poor@'%' IDENTIFIED BY 'p'",
                   "GRANT SELECT, INSERT, UPDATE, DELETE ON `my shop`.* TO poor@'%'")  # fmt: skip
        url = parse_url(server.url.replace("app:app", "poor:p"))
        with pytest.raises(UndoRefused) as refused:
            MySqlWriter(url).check([("my shop", "item")])
        message, _, grant = refused.value.message.partition(": run there ")
        assert message == "the target's user 'poor'@'%' lacks TRIGGER on `my shop`.`item` (to see whether triggers would fire)"
        assert grant == "GRANT TRIGGER ON `my shop`.`item` TO 'poor'@'%'"
        server.sql(grant)
        MySqlWriter(url).check([("my shop", "item")])

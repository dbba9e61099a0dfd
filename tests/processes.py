"""Tests in several processes (``pytest -n 2``): which of them must run in the same one.

The MySQL servers that the environment names are few, and tests empty, kill and restart them, so what uses one runs in one process.
What a test starts itself is its own, but shared by the tests of a module. pytest-xdist deals out tests by their ids, so the ids tell.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest
    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling

__all__ = ["group_of", "longest_first", "make_scheduler", "mysql_only_for"]

MYSQL, SPARK = "mysql", "spark"
SERVERS = ("PARAPLY_TEST_MYSQL", "PARAPLY_TEST_MYSQL_SOURCE", "PARAPLY_TEST_MYSQL_TARGET")
NOBODY = "mysql://nobody@the-name-of-this-test-must-say-mysql.invalid:1"


def group_of(test: str) -> str:
    """Tests of one group run one after the other in one process: all that use MySQL, all of Spark (one Java is enough), else a module's.

    Args:
        test: Its id. A test of a server uses MySQL if its name or parameters say ``mysql``; or its module, where they name no server.
    """
    path, _, name = test.partition("::")
    if path.startswith("tests/spark/"):
        return SPARK
    if path.startswith("tests/server/"):
        where = name if "mysql" in name or "mariadb" in name or "postgresql" in name else path
        return MYSQL if "mysql" in where else path
    return path


def longest_first(items: list[pytest.Item]) -> None:
    """Sort long tests first, so that no process is left with one at the end."""
    items.sort(key=lambda item: _turn(item.nodeid))


def _turn(test: str) -> int:
    group = group_of(test)
    if group in (MYSQL, SPARK):
        return [MYSQL, SPARK].index(group)
    return 2 if group.startswith("tests/versions/") else 3 if group.startswith("tests/server/") else 4


def make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Deals out the groups, in the order in which their first tests were collected.

    Not ``--dist loadgroup``: that writes the groups into the items' ids, where pytest 9.2 takes no note of them, and so silently has none.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    config.option.loadscopereorder = False
    return ByGroup(config, log)


@contextlib.contextmanager
def mysql_only_for(test: str) -> Iterator[None]:
    """Hides these servers from a test that is not in their group: it fails, where beside another one it would fail only now and then."""
    before = {name: os.environ[name] for name in SERVERS if name in os.environ and group_of(test) != MYSQL}
    os.environ.update(dict.fromkeys(before, NOBODY))
    try:
        yield
    finally:
        os.environ.update(before)

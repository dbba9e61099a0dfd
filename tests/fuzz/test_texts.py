"""Odd option files, URLs, GTID sets and dumps: a value or an error of ours, never another one, and not for long.

``PARAPLY_FUZZ_SECONDS`` says for how long each is tried (a second without it), ``PARAPLY_FUZZ_SEED`` where to begin.
"""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from paraply._native import GtidSet
from paraply.errors import ParaplyError
from paraply.schema.readers.dump import read_dump
from paraply.targets.option_file import read_option_file
from paraply.targets.url import parse_url
from tests.fuzz.damage import changed

SECONDS = float(os.environ.get("PARAPLY_FUZZ_SECONDS", "1"))
SEED = int(os.environ.get("PARAPLY_FUZZ_SEED", "0"))
LONGEST_SECONDS = 2.0
"""Most seconds of processor time for one text."""

OPTION_FILES = (
    b"[client]\nuser=app\npassword = \"a\\sb # c\" # a comment\nsocket='/tmp/s.sock'\n; another\n[mysql]\nno_auto_rehash\n",
    b"!include other.cnf\n!includedir .\n[client-mariadb]\nssl-ca=/ca.pem\nport=3307\r\n[client]\nhost = \\\\x\\t\n",
)
URLS = (
    b"mysql://app:p%40ss@db.example:3307/shop?ssl-mode=VERIFY_CA&ssl-ca=/ca.pem&socket=/tmp/s",
    b"mariadb://[::1]:3306/?connect-timeout=2.5",
    b"postgresql://u:p@h1:5432,h2/db?sslmode=require&application_name=x",
)
GTID_SETS = (
    b"3e11fa47-71ca-11e1-9e33-c80aa9429562:1-3:7,\n3e11fa47-71ca-11e1-9e33-c80aa9429563:tag:5-9223372036854775806",
    b"0-1-100,7-2-18446744073709551615",
)
DUMPS = (
    b"""-- MySQL dump 10.13  Distrib 9.7.0
/*!40101 SET NAMES utf8mb4 */;
USE `d`;
CREATE TABLE `t` (
  `id` int NOT NULL AUTO_INCREMENT,
  `a` varchar(20) COLLATE utf8mb4_bin DEFAULT 'x;''y',
  PRIMARY KEY (`id`), UNIQUE KEY `a` (`a`)
) ENGINE=InnoDB;
INSERT INTO `t` VALUES (1,'a\\';'),(2,NULL);
DELIMITER ;;
CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW BEGIN END ;;
DELIMITER ;
""",
    b"""/*M!999999\\- enable the sandbox mode */
-- MariaDB dump 10.19
CREATE DATABASE `d`;
CREATE TABLE d.`u` (a INT, b ENUM('x','y')) # end
;""",
)


@pytest.fixture
def attempts(request: pytest.FixtureRequest) -> Iterator[Callable[[Sequence[bytes], Callable[[bytes], object]], None]]:
    """Return a function that gives damaged texts to a reader; how many is printed."""
    count = 0

    def attempt(seeds: Sequence[bytes], read: Callable[[bytes], object]) -> None:
        nonlocal count
        chance, end = random.Random(SEED), time.monotonic() + SECONDS
        while time.monotonic() < end:
            text = changed(chance.choice(seeds), chance)
            began = time.process_time()
            try:
                with contextlib.suppress(ParaplyError):
                    read(text)
            except BaseException as error:
                raise AssertionError(f"{text!r}: {error!r}") from error
            assert time.process_time() - began < LONGEST_SECONDS, f"slow: {text!r}"
            count += 1

    yield attempt
    assert count
    print(f"{request.node.name}: {count} executions")


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def test_odd_option_files(attempts: Callable[..., None], tmp_path: Path) -> None:
    (tmp_path / "other.cnf").write_text("[client]\nuser=other\n!include own.cnf\n")
    file = tmp_path / "own.cnf"

    def read(content: bytes) -> None:
        file.write_bytes(content)
        options = read_option_file(file, ("client", "mysql", "client-mariadb"))
        assert all(isinstance(value, str) for value in options.values())

    attempts(OPTION_FILES, read)


def test_odd_urls(attempts: Callable[..., None]) -> None:
    def read(content: bytes) -> None:
        url = parse_url(_text(content), {})
        assert str(url).partition(":")[0] in ("mysql", "mariadb", "postgresql")

    attempts(URLS, read)


def test_odd_gtid_sets(attempts: Callable[..., None]) -> None:
    def read(content: bytes) -> None:
        gtids = GtidSet(_text(content))
        assert GtidSet(str(gtids)) == gtids
        assert gtids - gtids == GtidSet("")
        assert gtids | gtids == gtids

    attempts(GTID_SETS, read)


def test_odd_dumps(attempts: Callable[..., None], tmp_path: Path) -> None:
    file = tmp_path / "dump.sql"

    def read(content: bytes) -> None:
        file.write_bytes(content)
        list(read_dump(file))

    attempts(DUMPS, read)

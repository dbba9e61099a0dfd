"""Dumps become catalogs."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from paraply._native import NO_TEXT
from paraply.errors import UsageError
from paraply.schema.readers import dump
from paraply.schema.readers.dump import read_dump, split_statements

DUMP = r"""-- MariaDB dump 10.19  Distrib 10.11.6-MariaDB, for debian-linux-gnu (x86_64)
-- Server version	10.11.6-MariaDB-log
/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;
CREATE DATABASE /*!32312 IF NOT EXISTS*/ `shop` /*!40100 DEFAULT CHARACTER SET latin1 */;
USE `shop`;
DROP TABLE IF EXISTS `a;b`;
/*!40101 SET character_set_client = utf8 */;
CREATE TABLE `a;b` (
  `id` int(11) NOT NULL COMMENT 'it''s; \'odd\' -- no comment',
  `d` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL CHECK (json_valid(`d`)),
  PRIMARY KEY (`id`) -- ; here
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
LOCK TABLES `a;b` WRITE;
/*!40000 ALTER TABLE `a;b` DISABLE KEYS */;
INSERT INTO `a;b` VALUES (1,'x; /* '),(2,'\'; DROP TABLE `a;b`; --'),(3,'''');
UNLOCK TABLES;
DELIMITER ;;
/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`%`*/ /*!50003 TRIGGER tr BEFORE INSERT ON `a;b` FOR EACH ROW BEGIN SET @a=1; END */;;
DELIMITER ;
/*!50001 CREATE VIEW `v` AS SELECT 1 AS `x`*/;
CREATE TABLE z (a int unique) # end
;
-- Dump completed
"""


@pytest.mark.parametrize("chunk", [7, 16, 61, 1 << 20])
def test_a_dump_gives_its_tables_whatever_the_pieces_it_is_read_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(dump, "CHUNK", chunk)
    path = tmp_path / "dump.sql"
    path.write_text(DUMP)
    catalog = read_dump(path)
    assert sorted(table.full_name for table in catalog) == ["shop.a;b", "shop.z"]
    table = catalog.table("shop", "a;b")
    assert table is not None
    assert [c.name for c in table.columns] == ["id", "d"]
    assert table.collation == "utf8mb4_general_ci"
    assert not catalog.is_absent("shop", "elsewhere")


def test_rows_are_cut_short() -> None:
    rows = "INSERT INTO t VALUES " + ",".join("('a;b')" for _ in range(10_000))
    first, second = split_statements(io.StringIO(rows + ";\nUSE d;"))
    assert len(first) <= dump.KEEP
    assert second == "USE d"


@pytest.mark.parametrize("text", ["create table t (a int", "insert into t values ('abc", "use `d", "/* never ends"])
def test_a_torn_dump_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "torn.sql"
    path.write_text(text)
    with pytest.raises(UsageError, match="ends inside"):
        read_dump(path)


def test_a_missing_dump_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_dump(tmp_path / "none.sql")


def test_a_use_without_a_database_is_an_error_of_the_dump(tmp_path: Path) -> None:
    path = tmp_path / "dump.sql"
    path.write_text("USE 101 SET NAMES utf8mb4;\nCREATE TABLE t (a INT);\n")
    with pytest.raises(UsageError, match="a statement of the dump is not understood: expected a name, found '101'"):
        read_dump(path)


@pytest.mark.parametrize("drop", ["DROP TABLE IF EXISTS `t`;\n", ""])
def test_a_dump_that_names_no_database_says_how_to_make_one_that_does(tmp_path: Path, drop: str) -> None:
    path = tmp_path / "dump.sql"
    path.write_text(f"{drop}CREATE TABLE `t` (a INT);\n")
    with pytest.raises(UsageError, match=r"no database for table t.*dump with --databases NAME"):
        read_dump(path)


@pytest.mark.parametrize(
    "text",
    [b"CREATE TABLE d.t (a INT, `\xf5` INT)", b"CREATE TABLE d.`\xf5` (a INT)", b"CREATE TABLE d.t (a VARCHAR(5) DEFAULT '\xf5')",
     b"CREATE DATABASE `\xf5`; USE `\xf5`; CREATE TABLE t (a INT)", b"CREATE TABLE d.t (a INT); ALTER TABLE d.t ADD \xf5 INT"],
)  # fmt: skip
def test_names_and_defaults_that_are_no_utf8_are_refused(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "dump.sql"
    path.write_bytes(text + b";\n")
    with pytest.raises(UsageError, match=r"not UTF-8: .*dump with --default-character-set=utf8mb4") as raised:
        read_dump(path)
    assert raised.value.file == str(path)


def test_other_bytes_that_are_no_utf8_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "dump.sql"
    path.write_bytes(
        b"USE d; CREATE TABLE t (a INT COMMENT '\xf5', b ENUM('\xf5\0', 'y') CHARSET utf8mb4,"
        b" c ENUM('\xe4', '\xc3\xa4', '\0\xe4\xb8\xad') CHARSET latin1);"
        b"INSERT INTO t VALUES (1, 'y', '\xf5'); CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW SET @a = '\xf5';\n"
    )
    (table,) = read_dump(path)
    assert [column.labels for column in table.columns] == [(), (f"{NO_TEXT}F500", "y"), (f"{NO_TEXT}E4", "ä", f"{NO_TEXT}003F")]

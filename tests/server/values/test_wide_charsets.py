"""Text of every character set into PostgreSQL, and character sets with several bytes a character, of MariaDB."""

from __future__ import annotations

from pathlib import Path

import psycopg
from mariadb_versions import ROW_LOG
from server.replay import PostgresPlace, applied
from server.value_columns import log_of
from server.wide_charsets import WIDE, characters, shown
from servers import running_mariadb

from paraply._native import decode_text

CYRILLIC, JAPANESE, CHINESE = "жук", "日本ア〜", "中文"
#: Words that the character sets have.
WORDS = {
    "ucs2": "aé日", "utf16": "a😀", "utf16le": "a😀", "utf32": "a😀", "utf8mb3": "日", "cp1251": CYRILLIC, "koi8r": CYRILLIC,
    "cp866": CYRILLIC, "koi8u": CYRILLIC, "cp1250": "łó", "latin2": "łó", "cp852": "łó", "cp850": "éÉ", "greek": "άγ", "tis620": "ไทย",
    "hebrew": "שלום", "latin5": "ğş", "swe7": "ÅÄ", "sjis": JAPANESE, "ujis": JAPANESE, "eucjpms": "日本ア～", "cp932": "日本ア～",
    "gbk": CHINESE, "gb2312": CHINESE, "big5": CHINESE, "euckr": "한국",
}  # fmt: skip


def test_text_of_each_character_set_reaches_postgresql_as_the_source_shows_it(postgres_place: PostgresPlace, tmp_path: Path) -> None:
    made = ["CREATE DATABASE d CHARACTER SET utf8mb4", "SET NAMES utf8mb4", "SET sql_mode='STRICT_ALL_TABLES'", "USE d"]
    for charset, word in WORDS.items():
        made += [
            f"CREATE TABLE {charset} (k VARCHAR(20) PRIMARY KEY, c CHAR(9), t TEXT) CHARACTER SET {charset}",
            f"INSERT INTO {charset} VALUES ('{word}', '{word}', '{word}'), ('b', ' a ', ''), ('c', NULL, NULL)",
            f"UPDATE {charset} SET c=CONCAT(c, 'x') WHERE k='{word}'",
            f"DELETE FROM {charset} WHERE k='c'",
            f"ALTER TABLE {charset} ADD d VARCHAR(9) NOT NULL DEFAULT 'a', MODIFY t MEDIUMTEXT CHARACTER SET utf8mb4",
        ]
    with running_mariadb(ROW_LOG) as server:
        log = log_of(server.sql, server.data, tmp_path, made)
    applied(log, postgres_place.url, "--workers", "2")
    with psycopg.connect(postgres_place.url) as connection:
        for charset, word in WORDS.items():
            rows = connection.execute(f"SELECT k, c, t, d FROM d.{charset} ORDER BY k".encode()).fetchall()
            assert rows == sorted([(word, f"{word}x", word, "a"), ("b", " a", "", "a")]), charset


def test_every_character_of_wide_character_sets_is_the_servers(tmp_path: Path) -> None:
    with running_mariadb(ROW_LOG) as server:
        for charset in WIDE:
            if charset == "gb18030":  # MariaDB has none
                continue
            known, unknown = characters(server.sql, charset)
            assert len(known) > 5000, charset
            for first, server_text, own in shown(server.sql, server.data, tmp_path, charset, known):
                assert own == server_text, (charset, first)
            assert [code for code in unknown if decode_text(charset, code) is not None] == [], charset

"""Text in the servers' character sets: what MySQL 9.7.4 and MariaDB 11.8 make of some bytes."""

from __future__ import annotations

import pytest

from paraply._native import decode_text
from paraply.errors import UsageError
from paraply.schema.model import Column, Default
from paraply.targets.postgres.ddl.defaults import fill_of
from paraply.targets.postgres.ddl.retype import retype
from paraply.targets.postgres.types import CHARSETS, map_column

PLAIN = {
    "ucs2": ("004100e9", "Aé"),
    "utf16": ("0041d83dde00", "A😀"),
    "utf16le": ("41003dd800de", "A😀"),
    "utf32": ("000000410001f600", "A😀"),
    "cp1251": ("e6f3ea", "жук"),
    "swe7": ("405b", "ÉÄ"),
    "sjis": ("8160815fb1", "〜\\ｱ"),
    "cp932": ("8160815fb1", "～＼ｱ"),
    "ujis": ("a4a28ff5a2", "あ\ue3ad"),
    "eucjpms": ("8fa2c38ff3f4", "￤ⅱ"),
    "euckr": ("b0a1", "가"),
    "gb2312": ("b0a1a1a4", "啊・"),
    "gbk": ("b0a1a1a4", "啊·"),
    "gb18030": ("81308130a3a0fe59", "\x80\ue5e5\ue81e"),
    "big5": ("a440c741a145", "一ォ•"),
}


@pytest.mark.parametrize("charset", PLAIN)
def test_characters_are_those_of_the_servers(charset: str) -> None:
    digits, text = PLAIN[charset]
    assert decode_text(charset, bytes.fromhex(digits)) == text


@pytest.mark.parametrize(
    ("charset", "digits"),
    [("ucs2", "d83dde00"), ("ucs2", "41"), ("utf32", "00110000"), ("gbk", "a2ab"), ("gb2312", "a2ab"), ("big5", "8862"), ("big5", "a15a"),
     ("sjis", "fa40"), ("ujis", "8ea0"), ("gb18030", "813081"), ("cp1250", "81")],
)  # fmt: skip
def test_bytes_that_are_no_character_of_unicode_are_refused(charset: str, digits: str) -> None:
    assert decode_text(charset, bytes.fromhex(digits)) is None


def test_every_character_set_has_a_mapping_and_others_are_refused() -> None:
    for charset in CHARSETS:
        assert decode_text(charset, b"") == ""
    with pytest.raises(UsageError):
        decode_text("future", b"a")


def test_a_default_in_bytes_is_text_of_the_columns_character_set() -> None:
    def fill(charset: str, digits: str) -> str | None:
        column = Column("c", "varchar", length=9, charset=charset, default=Default("literal", digits, "bytes"))
        return fill_of(column, map_column(column, "d.t"))

    assert (fill("cp1251", "e6f3ea"), fill("ucs2", "004100e9"), fill("gbk", "a2ab")) == ("'жук'", "'Aé'", None)


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [("sjis", "utf8mb4", True), ("utf8mb4", "cp1251", True), ("sjis", "sjis", True), ("utf8mb4", "sjis", False), ("latin1", "gbk", False)],
)
def test_text_changes_its_character_set_in_place_where_no_character_becomes_another(old: str, new: str, kept: bool) -> None:
    before, after = (map_column(Column("c", "varchar", length=9, charset=charset), "d.t") for charset in (old, new))
    assert (retype(before, after) is not None) == kept

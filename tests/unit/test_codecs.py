"""The three tables of character sets agree on their members.

Those are character boundaries for collations (``rust/core``), text of columns (``rust/binlog``), and texts of statements (Python's codecs).
"""

from __future__ import annotations

import re

import pytest
from conventions.repository import ROOT

from paraply._native import decode_text
from paraply.logs.client_charset import client_charset
from paraply.schema.collations import CLIENT_CODECS
from paraply.targets.postgres.types import CHARSETS, SINGLE_BYTE

CORE = ROOT / "rust" / "core" / "src" / "collation" / "charset.rs"
NOT_FOR_CLIENTS = {"ucs2", "utf16", "utf16le", "utf32"}
"""Sets that no server takes as ``character_set_client``."""
WITHOUT_CODEC = {"armscii8", "dec8", "geostd8", "hp8", "keybcs2", "macce", "swe7"}
"""Sets that Python does not have: statements of such clients are refused."""


def test_collations_and_columns_have_the_same_sets_of_several_bytes() -> None:
    by_name = re.search(r"fn by_name\(.*?\n    \}\n", CORE.read_text(encoding="utf-8"), re.DOTALL)
    assert by_name is not None
    assert set(re.findall(r'"(\w+)"', by_name[0])) == CHARSETS - SINGLE_BYTE - {"utf8"}


def test_clients_have_the_sets_of_columns() -> None:
    assert set(CLIENT_CODECS) == CHARSETS - {"utf8"} - NOT_FOR_CLIENTS - WITHOUT_CODEC | {"binary"}


def by_codec(name: str, data: bytes) -> str | None:
    """Return Python's text of bytes; None if they are no text."""
    charset = client_charset(name)
    assert charset is not None
    try:
        return charset.decode(data)
    except UnicodeDecodeError:
        return None


@pytest.mark.parametrize("name", sorted(CLIENT_CODECS.keys() - {"binary"}))
def test_a_character_is_the_same_in_a_statement_and_in_a_column(name: str) -> None:
    single = [bytes((byte,)) for byte in range(256)]
    leads = [byte for byte in single if by_codec(name, byte) is None and decode_text(name, byte) is None]
    tried = single + [lead + byte for lead in leads for byte in single]
    both = [(data, by_codec(name, data), decode_text(name, data)) for data in tried]
    assert [data.hex() for data, codec, table in both if codec != table and None not in (codec, table)] == []
    assert sum(codec == table is not None for _, codec, table in both) > 120
    charset = client_charset(name)
    assert charset is not None
    found = [(data, charset.encode(codec)) for data, codec, _ in both if codec is not None]
    assert [
        (data.hex(), again) for data, again in found if again not in (None, data) and charset.decode(again) != charset.decode(data)
    ] == []


@pytest.mark.parametrize(("name", "data"), [("sjis", b"'\x81\x5f'"), ("ujis", b"'\xa1\xc0'")])
def test_a_wide_backslash_is_refused(name: str, data: bytes) -> None:
    charset = client_charset(name)
    assert charset is not None
    with pytest.raises(UnicodeDecodeError):
        charset.decode(data)
    assert charset.encode("\uff3c") is None

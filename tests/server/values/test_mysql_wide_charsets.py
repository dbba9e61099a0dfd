"""Character sets with several bytes a character, of MySQL."""

from __future__ import annotations

from pathlib import Path

from own_mysql import running_mysql
from server.wide_charsets import WIDE, characters, shown

from paraply._native import decode_text


def test_every_character_of_wide_character_sets_is_the_servers(tmp_path: Path) -> None:
    with running_mysql() as server:
        for charset in WIDE:
            known, unknown = characters(server.sql, charset)
            assert len(known) > 5000, charset
            for first, server_text, own in shown(server.sql, server.data, tmp_path, charset, known):
                assert own == server_text, (charset, first)
            assert [code for code in unknown if decode_text(charset, code) is not None] == [], charset

"""Python's codecs for the character sets of statements.

The native core decodes columns by the servers' own tables (``decode_text``), but does not encode. Statements are decoded and encoded, by
clients and in DDL, with the codecs of Python. ``tests/unit/test_codecs.py`` lists the characters in which the two differ.
"""

from __future__ import annotations

__all__ = ["CLIENT_CODECS"]

CLIENT_CODECS = {
    "ascii": "ascii",
    "big5": "big5",
    "binary": "utf-8",
    "cp1250": "cp1250",
    "cp1251": "cp1251",
    "cp1256": "cp1256",
    "cp1257": "cp1257",
    "cp850": "cp850",
    "cp852": "cp852",
    "cp866": "cp866",
    "cp932": "cp932",
    "eucjpms": "euc_jp",
    "euckr": "euc_kr",
    "gb18030": "gb18030",
    "gb2312": "gb2312",
    "gbk": "gbk",
    "greek": "iso8859_7",
    "hebrew": "iso8859_8",
    "koi8r": "koi8_r",
    "koi8u": "koi8_u",
    "latin1": "cp1252",
    "latin2": "iso8859_2",
    "latin5": "iso8859_9",
    "latin7": "iso8859_13",
    "macroman": "mac_roman",
    "sjis": "shift_jis",
    "tis620": "tis_620",
    "ujis": "euc_jp",
    "utf8mb3": "utf-8",
    "utf8mb4": "utf-8",
}
"""Python's names for the character sets that a client may use."""

"""Type codes of columns in a table-map event (``enum_field_types`` in the servers' ``include/field_types.h``).

They have the names and values of ``rust/binlog/src/rows/layout.rs``; ``tests/conventions/test_type_codes.py`` compares the two.
"""

from __future__ import annotations

from typing import Final

# Written once here and nowhere else in Python: a module imports the names.
DECIMAL: Final = 0
TINY: Final = 1
SHORT: Final = 2
LONG: Final = 3
FLOAT: Final = 4
DOUBLE: Final = 5
NULL: Final = 6
TIMESTAMP: Final = 7
LONGLONG: Final = 8
INT24: Final = 9
DATE: Final = 10
TIME: Final = 11
DATETIME: Final = 12
YEAR: Final = 13
NEWDATE: Final = 14
VARCHAR: Final = 15
BIT: Final = 16
TIMESTAMP2: Final = 17
DATETIME2: Final = 18
TIME2: Final = 19
BLOB_COMPRESSED: Final = 140
VARCHAR_COMPRESSED: Final = 141
VECTOR: Final = 242
JSON: Final = 245
NEWDECIMAL: Final = 246
ENUM: Final = 247
SET: Final = 248
TINY_BLOB: Final = 249
MEDIUM_BLOB: Final = 250
LONG_BLOB: Final = 251
BLOB: Final = 252
VAR_STRING: Final = 253
STRING: Final = 254
GEOMETRY: Final = 255

PLAIN_BLOBS: Final = (BLOB, TINY_BLOB, MEDIUM_BLOB, LONG_BLOB)
"""Codes of BLOB and TEXT columns that are not compressed."""
BLOBS: Final = (*PLAIN_BLOBS, BLOB_COMPRESSED)
"""Codes of BLOB and TEXT columns, also of MariaDB's compressed ones."""
VARCHARS: Final = (VARCHAR, VAR_STRING, VARCHAR_COMPRESSED)
"""Codes of VARCHAR and VARBINARY columns, also of MariaDB's compressed ones."""
NEW_SECONDS: Final = (TIMESTAMP2, DATETIME2, TIME2)
"""Codes of columns with a time whose metadata is the number of digits of the second."""

"""Layout of statements that a server writes anew.

The layout shows who wrote a statement, and with that in which character set its bytes are. So it is found in the bytes, before there is a
text to split into tokens. ``StatementKind`` cannot find it: tokens have no layout.
"""

from __future__ import annotations

__all__ = ["NAME_OF_SERVER", "PLACE_OF_SERVER", "TABLE_OF_SERVER"]

NAME_OF_SERVER = r"`(?:[^`]|``)*`"
"""Pattern of a name."""
PLACE_OF_SERVER = rf"{NAME_OF_SERVER}(?:\.{NAME_OF_SERVER})?"
"""Pattern of a name with or without its database."""
TABLE_OF_SERVER = rf"CREATE (?:OR REPLACE )?TABLE (?:IF NOT EXISTS )?{PLACE_OF_SERVER} \(\n  `"
"""Pattern of the start of a CREATE TABLE, for CREATE TABLE ... SELECT and in dumps."""

"""The list of all collations of both server families: numbers, names, padding, and which table each uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from collation_charsets import CASE_FOLDING

if TYPE_CHECKING:
    from collections.abc import Container

    from collation_servers import Server

UNICODE = {"utf8mb4", "utf8mb3", "ucs2", "utf16", "utf16le", "utf32"}
ROOTS = {
    "general_ci": "general 1",
    "unicode_ci": "uca400 1",
    "unicode_520_ci": "uca520 1",
    "0900_ai_ci": "uca900 1",
    "0900_as_ci": "uca900 12",
    "0900_as_cs": "uca900 123",
}
LEVELS = {"ai_ci": "1", "ai_cs": "13", "as_ci": "12", "as_cs": "123", "as_cs_ks": "1234"}


@dataclass
class Listed:
    """One collation of one server family."""

    family: str
    number: int
    name: str
    character_set: str
    pads: bool
    rule: str = "unknown"

    def decide(self, tables: Container[str], stands_for: dict[str, str], weighed: Container[str]) -> None:
        """Set the rule, for ``collation/names.rs``.

        Args:
            tables: The names of the Unicode tables.
            stands_for: Names of tables that others stand for.
            weighed: The collations with a table of bytes.
        """
        plain = without_pad(self.name)
        suffix = plain.removeprefix(f"{self.character_set}_")
        if self.name == "binary" or suffix in {"bin", "0900_bin"} or self.name == "cp1250_czech_cs":
            # cp1250_czech_cs orders by several passes, the last of which tells all bytes apart.
            self.rule = "identity"
        elif self.character_set in UNICODE:
            self.rule = self.unicode_rule(suffix, tables, stands_for)
        elif plain == "gb18030_unicode_520_ci":
            self.rule = "gb18030 uca520 1"
        elif plain == "euckr_korean_ci" and self.family == "mysql":
            # MySQL compares byte by byte, so that a letter's case counts for nothing in the second byte of a character either.
            self.rule = f"bytes {plain}"
        elif plain in CASE_FOLDING.values():
            self.rule = f"fold {plain}"
        elif plain == "tis620_thai_ci":
            self.rule = "thai"
        elif plain in weighed:
            self.rule = f"bytes {plain}"

    def unicode_rule(self, suffix: str, tables: Container[str], stands_for: dict[str, str]) -> str:
        """Return the rule of a collation of one of Unicode's character sets."""
        if suffix in ROOTS:
            return f"unicode {ROOTS[suffix]}"
        if suffix.startswith("uca1400_") or "_0900_" in suffix:
            version = "uca1400" if suffix.startswith("uca1400_") else "0900"
            language = suffix.removeprefix("uca1400_") if version == "uca1400" else suffix.replace("_0900_", "|", 1)
            head, _, levels = language.partition("|") if version == "0900" else split_levels(language)
            table = f"{head}_0900" if version == "0900" else f"uca1400_{head}".removesuffix("_")
            found = LEVELS[levels]
        else:
            table, found = f"{self.family}.{suffix}", "12" if suffix.endswith("_w2") else "1"
        table = stands_for.get(table, table)
        return f"unicode {table} {found}" if table in tables else "unknown"

    def line(self) -> str:
        """Return the collation's line in the list."""
        return self.line_for(self.family, self.rule)

    def line_for(self, family: str, rule: str) -> str:
        """Return the collation's line under another family and rule."""
        # MariaDB's newest collations without padding still pad the levels after the first.
        pad = "pad" if self.pads else "later" if "uca1400" in self.name else "nopad"
        return f"{family}\t{self.number}\t{self.name}\t{self.character_set}\t{pad}\t{rule}"


def split_levels(language: str) -> tuple[str, str, str]:
    """Split a name like ``czech_ai_ci`` or ``ai_ci`` before its levels."""
    return language[:-5].rstrip("_"), "", language[-5:]


def without_pad(name: str) -> str:
    """Return the name of the collation that pads."""
    return name.replace("_nopad_", "_")


def listed(server: Server) -> list[Listed]:
    """Return all collations of a server, in the order of their numbers."""
    if server.mariadb:
        sql = (
            "SELECT ID, FULL_COLLATION_NAME, CHARACTER_SET_NAME FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY "
            "ORDER BY ID, FULL_COLLATION_NAME"
        )
        return [Listed("mariadb", int(i), n, c, "_nopad_" not in n and n != "binary") for i, n, c in server.rows(sql)]
    sql = "SELECT ID, COLLATION_NAME, CHARACTER_SET_NAME, PAD_ATTRIBUTE FROM information_schema.COLLATIONS ORDER BY ID"
    return [Listed("mysql", int(i), n, c, p == "PAD SPACE") for i, n, c, p in server.rows(sql)]


def same_name_lines(collations: list[Listed], tables: Container[str]) -> list[str]:
    """Return lines for the names with different collations in the two families: the rule that is valid for both."""
    mysql = {collation.name: collation for collation in collations if collation.family == "mysql"}
    lines = []
    for collation in collations:
        twin = mysql.get(collation.name)
        if collation.family == "mysql" or twin is None or (twin.rule, twin.pads) == (collation.rule, collation.pads):
            continue
        if collation.rule == f"fold {collation.name}" and twin.rule == f"bytes {collation.name}":
            # What is equal character by character is equal byte by byte here.
            lines.append(collation.line_for("both", twin.rule))
            continue
        either = collation.rule.split(" ")[1].replace("mariadb.", "either.") if " " in collation.rule else ""
        if either not in tables or twin.pads != collation.pads:
            raise SystemExit(f"{collation.name} is {twin.rule} in MySQL and {collation.rule} in MariaDB, and no table holds for both")
        lines.append(collation.line_for("both", f"unicode {either} 1"))
    return lines

"""Table definitions as JSON text."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from paraply.schema.model import Column, Default, ForeignKey, Key, KeyPart, Table

__all__ = ["from_json", "to_json"]


def to_json(table: Table) -> str:
    """Return a definition as JSON text.

    >>> from_json(to_json(Table("d", "t", (Column("id", "int"),)))).full_name
    'd.t'
    """
    return json.dumps(dataclasses.asdict(table), ensure_ascii=False)


def from_json(text: str | bytes) -> Table:
    """Return the definition in a JSON text."""
    fields: dict[str, Any] = json.loads(text)
    fields["columns"] = tuple(_column(column) for column in fields["columns"])
    fields["keys"] = tuple(Key(**{**key, "parts": tuple(KeyPart(**part) for part in key["parts"])}) for key in fields["keys"])
    fields["foreign_keys"] = tuple(
        ForeignKey(**{**key, "columns": tuple(key["columns"]), "parent_columns": tuple(key["parent_columns"])})
        for key in fields["foreign_keys"]
    )
    return Table(**fields)


def _column(fields: dict[str, Any]) -> Column:
    default = fields.get("default")
    return Column(**{**fields, "labels": tuple(fields["labels"]), "default": Default(**default) if default else None})

"""The module of ``benches`` that makes logs without a server."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from conventions.repository import ROOT

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["module"]


def module() -> ModuleType:
    """Return the module of the benches."""
    spec = importlib.util.spec_from_file_location("made_binlog", ROOT / "benches" / "made_binlog.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made

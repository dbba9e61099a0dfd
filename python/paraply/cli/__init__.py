"""The command line."""

from __future__ import annotations

from paraply.cli.app import main

__all__ = ["main"]

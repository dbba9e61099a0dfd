"""``paraply bench``."""

from __future__ import annotations

from paraply.cli.bench.command import bench

__all__ = ["bench"]

"""``paraply doctor``."""

from __future__ import annotations

from paraply.cli.doctor.command import doctor

__all__ = ["doctor"]

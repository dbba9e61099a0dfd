"""Session settings under which statements for single rows have their meaning."""

from __future__ import annotations

__all__ = ["ROW_SETTINGS"]

ROW_SETTINGS = (
    "SET NAMES utf8mb4",
    "SET SESSION time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES,NO_BACKSLASH_ESCAPES'",
)
"""Backslashes are characters, zero dates are values, and a TIMESTAMP is in UTC, as in the native renderer's literals."""

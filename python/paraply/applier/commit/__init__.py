"""Commit order and consistency levels."""

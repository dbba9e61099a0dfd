"""Definitions of tables at a position of the log."""

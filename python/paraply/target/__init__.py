"""Databases that transactions are applied to."""

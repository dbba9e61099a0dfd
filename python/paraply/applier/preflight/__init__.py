"""Checks and decisions of an apply before its first write."""

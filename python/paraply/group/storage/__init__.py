"""Databases behind the members."""

"""Rows of a MySQL or MariaDB target: lookups, foreign keys, values."""

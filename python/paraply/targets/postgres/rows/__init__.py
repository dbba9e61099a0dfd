"""Rows of a PostgreSQL target: their SQL, prepared statements, conflicts."""

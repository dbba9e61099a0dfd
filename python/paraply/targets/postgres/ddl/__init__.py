"""Schema changes of a log as PostgreSQL DDL."""

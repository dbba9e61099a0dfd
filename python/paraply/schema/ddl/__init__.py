"""The DDL parser."""

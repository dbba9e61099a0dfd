"""The Iceberg form of a lake."""

"""The coordinator, its workers and ordered commit."""

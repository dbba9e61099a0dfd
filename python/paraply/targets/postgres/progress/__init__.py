"""Progress, status and table definitions in a PostgreSQL target."""

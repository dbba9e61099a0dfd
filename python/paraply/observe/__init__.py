"""Progress and status of a run: counters, metrics over HTTP, a timeline, and a status row in the target."""

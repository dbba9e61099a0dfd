"""What an apply shows of itself while it runs: metrics over HTTP, a timeline, and a status row in the target."""

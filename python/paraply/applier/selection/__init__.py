"""Which transactions of a log are applied: filters and stop points."""

"""Choice of the transactions to apply: filters and stop points."""

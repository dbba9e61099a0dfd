"""What tables look like at a position of the log."""

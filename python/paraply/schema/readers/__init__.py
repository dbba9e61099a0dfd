"""Table definitions from dumps, servers and table maps."""

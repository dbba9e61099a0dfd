"""What commands that run as a service have in common: a file with options, and events as lines."""

"""The process of a command: signals, and secrets in its arguments."""

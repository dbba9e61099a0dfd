"""Common parts of commands that run as a service: a file with options, and events as lines."""

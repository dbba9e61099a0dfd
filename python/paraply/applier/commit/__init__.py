"""The order of commits and the consistency levels."""

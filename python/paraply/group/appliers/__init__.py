"""Appliers of the members: step by step, and with threads."""

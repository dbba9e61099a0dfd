"""Answers about a log: verification, trace, row changes."""

"""Answers about a log: verify and friends."""

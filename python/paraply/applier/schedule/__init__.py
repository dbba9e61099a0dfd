"""Scheduling: which transactions may run at once, and in which batches."""

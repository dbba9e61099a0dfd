"""Tests of ``paraply analyze``."""

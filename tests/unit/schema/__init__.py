"""Tests of paraply.schema."""

"""Tests against real databases."""

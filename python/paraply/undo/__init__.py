"""Reverse changes of chosen transactions in a live target (R38)."""

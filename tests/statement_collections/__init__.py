"""Statements that other projects have gathered, run against a real source and each target.

``python -m tests.statement_collections FOLDER`` reads copies of public repositories below FOLDER; none of their files is part of this one.
"""

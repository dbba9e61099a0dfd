"""The fault matrix: everything that can break under an apply, broken on purpose on real servers (R24 to R27).

``make faults`` runs it. Each round applies the log of a random history to a server while faults strike at random moments, until one
command has come to its end; then the tables must be those of the source. See ``python -m tests.faults --help``.
"""

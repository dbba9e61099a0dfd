"""Texts of the overview of commands, which needs none of the commands."""

from __future__ import annotations

__all__ = ["EPILOG", "PURPOSE", "ROOT_OPTIONS", "SUMMARIES"]

PURPOSE = "Replay replicated MySQL and MariaDB transactions in parallel, in the source's order."
"""First line of the help."""

EPILOG = "Exit codes: 0 done, 1 the apply failed, 2 usage, 3 the log is damaged or not understood, 4 stopped and resumable."
"""Last line of the help."""

ROOT_OPTIONS = {
    "--version": "Print the version and exit.",
    "--debug": "Show the traceback of an error.",
    "--install-completion": "Install completion for the current shell.",
    "--show-completion": "Show completion for the current shell, to copy it or customize the installation.",
    "--help": "Show this message and exit.",
}
"""Options before a command."""

SUMMARIES = {
    "apply": "Replay logs into a database, in parallel and in the source's order.",
    "replicate": "Receive from a live source into a relay log, and apply from it at the same time.",
    "serve": "Be a source for stock MySQL replicas: by GTIDs or file and position, several at once.",
    "archive": "Copy a live source's binlogs, byte for byte, into a folder or a cloud storage, without gaps.",
    "status": "Show what a target holds, and what an apply running there is doing; writes nothing.",
    "pause": "Let a running apply or replicate commit what it has begun, and apply nothing more until it is resumed.",
    "resume": "End a pause.",
    "forget": "Remove a channel's progress from the target. The next apply of this name begins anew.",
    "doctor": "Check a source and a target, and print the statement that mends each finding; writes nothing.",
    "database": "Start, stop and open the embedded PostgreSQL, the target of commands without --to.",
    "verify": "Recompute both numbers of every transaction and compare them with the log's own.",
    "analyze": "Find out how parallel a log is, what makes its replay serial, and what a change would gain.",
    "stamp": "Write a MySQL log again with wider numbers, so that a stock replica applies it in parallel.",
    "trace": "Write a log's transactions and their write sets as Parquet, one row a transaction.",
    "rows": "Show the row changes of logs: transactions with time, GTID, tables, and values before and after.",
    "lake": "Write the tables of a log into a lake, Delta or Iceberg, so that readers see one state of the source in all tables.",
    "undo": "Take back the row changes of chosen transactions in a live target.",
    "group": "Run a group of members under load; show conflicts and figures, and compare the members at the end.",
    "demo": "Apply a real group relay log to an embedded PostgreSQL, with one worker and in parallel, and compare.",
    "bench": "Measure replays of a log on a real server, single and parallel, beside the server's own client pipeline.",
}
"""First sentences of each command's help, in the order of the commands."""

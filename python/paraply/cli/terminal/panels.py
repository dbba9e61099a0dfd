"""Groups of options and commands in the help."""

from __future__ import annotations

from typing import Any

__all__ = ["command_groups", "group_commands", "group_options"]

_FEW = 12
"""Options up to which a command's help has no groups."""

_OPTIONS = {
    "What is applied": (
        "start_after", "start_at", "stop_at", "stop_before", "until", "allow_gap", "skip", "database", "table", "exclude_database",
        "exclude_table", "rename_database", "rename_table", "no_apply", "schema", "lower_case_table_names", "dry_run",
    ),
    "How it is applied": (
        "workers", "policy", "consistency", "timestamp_column", "merge", "gtid", "via", "listen", "max_rate", "allow_nontransactional",
        "on_conflict", "ddl_done", "ddl_not_done", "channel",
    ),
    "The receiver": ("relay_log", "relay_log_size", "server_id", "semi_sync", "source_timeout", "report_host"),
    "Network": ("user", "password_file", "tls_cert", "tls_key", "without_tls"),
    "Removal of files": ("keep_hours", "keep_bytes", "keep_needed"),
    "New numbers": ("stamp",),
    "As a service": ("config", "log_format", "metrics", "trace", "status_seconds"),
}  # fmt: skip
"""Names of options by the title of their group, in the order of the groups; the others are in the first one."""

_METAVARS = {
    "int": "N", "int range": "N", "float": "NUMBER", "float range": "NUMBER", "boolean": " ", "str": "TEXT",
    "file": "FILE", "path": "FILE", "directory": "FILE",
}  # fmt: skip
"""Short names of values by the type, where the option names none: a column of 80 has no room for ranges."""

_COMMANDS = {
    "Replay and replicate": ("apply", "replicate", "serve", "archive"),
    "Watch and steer": ("status", "pause", "resume", "forget", "doctor", "database"),
    "Look into logs": ("rows", "analyze", "trace", "verify", "stamp"),
    "Feed other systems": ("lake",),
    "Mend": ("undo",),
    "Try": ("demo", "group", "bench"),
}


def command_groups() -> dict[str, tuple[str, ...]]:
    """Return the names of the commands by the title of their group."""
    return dict(_COMMANDS)


def group_options(command: Any) -> Any:
    """Set the group of each option of a command with many, and return the command."""
    for parameter in command.params:
        if parameter.param_type_name == "option" and parameter.metavar is None:
            parameter.metavar = _METAVARS.get(parameter.type.name)
    if len(command.params) > _FEW:
        titles = {name: title for title, names in _OPTIONS.items() for name in names}
        order = [None, *_OPTIONS]
        for parameter in command.params:
            if parameter.param_type_name == "option":
                parameter.rich_help_panel = titles.get(parameter.name)
        command.params.sort(key=lambda parameter: order.index(getattr(parameter, "rich_help_panel", None)))
    return command


def group_commands(command: Any, name: str) -> Any:
    """Set the group of a command, and return the command."""
    command.rich_help_panel = next((title for title, names in _COMMANDS.items() if name in names), None)
    return command

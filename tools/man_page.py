"""Print the man page of the command line, made from the same texts as ``--help``; with a file, write it there."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from rich.text import Text

from paraply.cli.app import app

ROOT = Path(__file__).parent.parent
# Typer's newer versions bring a click of their own, so its classes are not named here.
GROUP: Any = typer.main.get_command(app)
CONTEXT = GROUP.context_class(GROUP, info_name="paraply")

EXIT_CODES = {
    "0": "Done.",
    "1": "The apply failed; the message names the transaction and its place in the log.",
    "2": "The command line is wrong, or a package that it needs is not installed.",
    "3": "The log is damaged or not understood.",
    "4": "Stopped on request; the same command goes on from there.",
}
ENVIRONMENT = {
    "PARAPLY_PASSWORD": "The password, where a URL has none.",
    "MYSQL_PWD": "The password for MySQL and MariaDB, where the option file has none either.",
    "PGPASSWORD, PGPASSFILE, PGSERVICEFILE": "As of libpq, for a postgresql:// URL.",
}
FILES = {
    "~/.my.cnf": "What a mysql:// or mariadb:// URL lacks, from the groups client and paraply.",
    "./paraply-data": "Data of the embedded PostgreSQL, where no target is named.",
}


def roff(text: str) -> str:
    """Return text of which nothing is a request of roff."""
    plain = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha").replace("`", "\\(ga")
    return re.sub(r"^(['.])", r"\\&\1", plain, flags=re.MULTILINE)


def paragraphs(help_text: str) -> Iterator[str]:
    """Return the paragraphs of a help text; examples keep their lines."""
    plain = Text.from_markup(help_text).plain
    for paragraph in re.split(r"\n\s*\n", plain.strip()):
        if not paragraph.strip() or paragraph.strip() == "Examples":
            continue
        if paragraph.lstrip().startswith("paraply "):
            lines = "\n".join(roff(line.strip()) for line in paragraph.strip().splitlines())
            yield f".PP\n.RS 4\n.nf\n{lines}\n.fi\n.RE"
        else:
            yield f".PP\n{roff(' '.join(paragraph.split()))}"


def option(parameter: Any) -> str:
    """Return an option or an argument with its help."""
    value = roff(parameter.metavar or parameter.name.upper())
    if parameter.param_type_name == "argument":
        names = f"\\fI{value}\\fR"
    else:
        names = ", ".join(f"\\fB{roff(name)}\\fR" for name in (*parameter.opts, *parameter.secondary_opts))
        if not parameter.is_flag:
            names += f" \\fI{value}\\fR"
    help_text = " ".join(Text.from_markup(parameter.help or "").plain.split())
    shown = parameter.show_default and not getattr(parameter, "is_flag", False) and parameter.default not in (None, ())
    default = f" The default is {parameter.default}." if shown else ""
    return f".TP\n{names}\n{roff(help_text + default)}"


def command(name: str) -> Iterator[str]:
    """Return the section of one command."""
    made = GROUP.get_command(CONTEXT, name)
    yield f'.SS "paraply {name}"'
    description, _, examples = (made.help or "").partition("[bold]Examples[/bold]")
    yield from paragraphs(description)
    shown = [parameter for parameter in made.params if not getattr(parameter, "hidden", False) and parameter.name != "help"]
    yield from (option(parameter) for parameter in shown)
    yield from paragraphs(examples)


def terms(title: str, listed: dict[str, str]) -> Iterator[str]:
    """Return a section of terms."""
    yield f".SH {title}"
    for term, text in listed.items():
        yield f".TP\n\\fB{roff(term)}\\fR\n{roff(text)}"


def page() -> str:
    """Return the whole page."""
    version = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    names = GROUP.list_commands(CONTEXT)
    parts = [
        '.\\" Made by tools/man_page.py from the command line; `make man` writes it anew.',
        f'.TH PARAPLY 1 "" "paraply {version}" "User Commands"',
        ".SH NAME",
        "paraply \\- replay MySQL and MariaDB binlogs in parallel",
        ".SH SYNOPSIS",
        *(f".B paraply {name}\n.RI [ OPTIONS ]\n.br" for name in names),
        ".SH DESCRIPTION",
        roff(" ".join((GROUP.help or "").split())),
        "Every command takes \\fB\\-\\-json\\fR and then prints one JSON object.",
        ".SH COMMANDS",
        *(line for name in names for line in command(name)),
        *terms("EXIT STATUS", EXIT_CODES),
        *terms("ENVIRONMENT", ENVIRONMENT),
        *terms("FILES", FILES),
        ".SH SEE ALSO",
        "\\fBmysqlbinlog\\fR(1), \\fBmariadb\\-binlog\\fR(1), \\fBpsql\\fR(1)",
    ]
    return "\n".join(parts) + "\n"


def main() -> None:
    """Write the page to the file that is named, else to standard output."""
    if sys.argv[1:]:
        Path(sys.argv[1]).write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")


if __name__ == "__main__":
    main()

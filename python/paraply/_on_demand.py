"""Names of a package that are imported when they are first asked for (PEP 562): a command pays for the rooms that it enters."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["names_on_demand"]


def names_on_demand(
    package: str, homes: Mapping[str, tuple[str, ...]], modules: tuple[str, ...] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A package's ``__getattr__`` and ``__dir__``.

    Args:
        package: Its name.
        homes: The modules that define what it offers, and the names that are taken from each.
        modules: Modules below it that are there without having been imported by their own names.

    >>> get, names = names_on_demand(__name__, {"fractions": ("Fraction",)})
    >>> get("Fraction")(1, 2)
    Fraction(1, 2)
    >>> get("Fracture")
    Traceback (most recent call last):
    ...
    AttributeError: module 'paraply._on_demand' has no attribute 'Fracture'
    """
    home_of = {name: home for home, names in homes.items() for name in names}
    present = vars(sys.modules[package])

    def get(name: str) -> Any:
        if name in modules:
            return import_module(f"{package}.{name}")
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package])
        present[name] = getattr(import_module(home_of[name]), name)  # from now on an attribute like any other
        return present[name]

    return get, lambda: sorted({*present, *home_of, *modules})

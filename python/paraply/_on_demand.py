"""Names of a package that are imported on first use (PEP 562), so that a command imports only what it needs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["names_on_demand"]


def names_on_demand(
    package: str, homes: Mapping[str, tuple[str, ...]], modules: tuple[str, ...] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package.

    Args:
        package: Name of the package.
        homes: Modules that define the package's names, with the names of each.
        modules: Submodules that are available without an import of their own.

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
        present[name] = getattr(import_module(home_of[name]), name)  # an ordinary attribute from now on
        return present[name]

    return get, lambda: sorted({*present, *home_of, *modules})

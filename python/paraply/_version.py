"""The version of the installed package; to be imported where it is told, because reading it takes as long as importing a room."""

from __future__ import annotations

from importlib import metadata

__all__ = ["__version__"]

__version__ = metadata.version("paraply")
"""As the package's metadata have it."""

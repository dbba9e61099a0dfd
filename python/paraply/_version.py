"""Version of the installed package. Import it only where it is shown, because reading it takes as long as importing a package."""

from __future__ import annotations

from importlib import metadata

__all__ = ["__version__"]

__version__ = metadata.version("paraply")
"""Version in the package's metadata."""

"""The command line, as ``python -m paraply``."""

from __future__ import annotations

from paraply.cli import main

if __name__ == "__main__":
    main()

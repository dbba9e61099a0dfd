"""A lake of Delta or Iceberg tables that is consistent across tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paraply.lake.options import LakeOptions
    from paraply.lake.reading import LakeState, LakeTable, publications, read
    from paraply.lake.writer import LakeReport, LakeWriter
else:
    from paraply._on_demand import names_on_demand

    __getattr__, __dir__ = names_on_demand(
        __name__,
        {
            "paraply.lake.options": ("LakeOptions",),
            "paraply.lake.reading": ("LakeState", "LakeTable", "publications", "read"),
            "paraply.lake.writer": ("LakeReport", "LakeWriter"),
        },
    )

__all__ = ["LakeOptions", "LakeReport", "LakeState", "LakeTable", "LakeWriter", "publications", "read"]

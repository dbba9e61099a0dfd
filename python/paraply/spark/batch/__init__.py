"""Writers for ``foreachBatch``: a batch says how far, and a single writer on the driver reads the logs up to there."""

from __future__ import annotations

from paraply.spark.batch.apply import apply_batch, apply_upto
from paraply.spark.batch.lake import lake, lake_batch

__all__ = ["apply_batch", "apply_upto", "lake", "lake_batch"]

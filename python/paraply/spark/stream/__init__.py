"""Streams of growing logs: the reader that Spark calls, the known part of each log, and the offsets of a checkpoint."""

from __future__ import annotations

from paraply.spark.stream.reader import BinlogStreamReader

__all__ = ["BinlogStreamReader"]

"""Reasons why a replay is serial, and what a change would gain."""

from __future__ import annotations

from paraply.analysis.analyze.costs import CostModel
from paraply.analysis.analyze.result import (
    Analysis,
    ConflictForecast,
    CriticalPath,
    Curve,
    Explanation,
    KeyName,
    LostTime,
    Scheme,
    Totals,
)
from paraply.analysis.analyze.run import AnalyzeOptions, analyze

__all__ = [
    "Analysis",
    "AnalyzeOptions",
    "ConflictForecast",
    "CostModel",
    "CriticalPath",
    "Curve",
    "Explanation",
    "KeyName",
    "LostTime",
    "Scheme",
    "Totals",
    "analyze",
]

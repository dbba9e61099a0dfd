"""Report of an analysis: one HTML file with charts, tables and a schedule that can be zoomed."""

from __future__ import annotations

from paraply.analysis.report.page import analyze_with_report, check_report, write_report

__all__ = ["analyze_with_report", "check_report", "write_report"]

"""Report of an analysis: one HTML file with charts, tables and a schedule that can be zoomed."""

from __future__ import annotations

from paraply.analysis.report.page import check_report, write_report

__all__ = ["check_report", "write_report"]

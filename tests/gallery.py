"""Make the pictures of docs/how-to/reports.md from the logs of real servers that ``PARAPLY_TRUTH`` names.

``python tests/gallery.py`` needs Chromium and the extra ``paraply[report]``. The pictures go to docs/how-to/reports/.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from chromium import Page, open_browser
from truth_logs import plain_log, truth_folder

from paraply.analysis.analyze import AnalyzeOptions
from paraply.analysis.report import analyze_with_report

PICTURES = Path(__file__).parent.parent / "docs" / "how-to" / "reports"
WIDTH = 760
READY = "document.documentElement && document.documentElement.dataset.drawn"
CLOSE_UP = "for (let place = 0; place < {}; place++) document.querySelector('[data-move=in]').click()"
HIDE = "document.querySelectorAll('section > details').forEach(each => { each.hidden = true; })"
SHOWN = {
    ("eight-sessions", "mysql-binlog/eight-sessions.binlog", "light"): ("header", "speed", "lost", "keys", "parallelism", "schedule"),
    ("single-session", "mysql-binlog/single-session.binlog", "light"): ("speed", "lost", "parallelism", "schedule"),
    ("group", "group-single-primary/member3.relay", "dark"): ("speed", "lost", "parallelism", "load"),
}
"""Name, log and scheme of each report, and its panels."""


def take(page: Page, name: str, path: Path, scheme: str, panels: tuple[str, ...]) -> None:
    """Write the pictures of a report."""
    page.size(WIDTH, 900)
    page.prefer(scheme)
    page.open(path, READY)
    page.evaluate(HIDE)
    page.evaluate(CLOSE_UP.format(6))
    page.evaluate("new Promise(resolve => setTimeout(resolve, 500))")
    for panel in panels:
        page.screenshot(PICTURES / f"{name}-{panel}.png", selector=panel if panel == "header" else f"#{panel}")


def main() -> None:
    """Make all pictures."""
    folder = truth_folder()
    if folder is None:
        sys.exit("PARAPLY_TRUTH names no folder with logs of real servers")
    PICTURES.mkdir(exist_ok=True)
    with open_browser() as browser, tempfile.TemporaryDirectory() as reports:
        for (name, log, scheme), panels in SHOWN.items():
            path = Path(reports) / f"{name}.html"
            analyze_with_report(path, plain_log(folder, log), AnalyzeOptions())
            take(browser.page(), name, path, scheme, panels)


if __name__ == "__main__":
    main()

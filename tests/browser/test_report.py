"""The report of ``analyze`` in a real browser: drawn, silent, without a network, light and dark, on a phone, and by keyboard."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import Browser, Page, open_browser
from required import required_module
from unit.analyze.planted import MARKUP_TABLE, MARKUP_VALUE, text_keys

from paraply.analysis.analyze import AnalyzeOptions
from paraply.analysis.report import analyze_with_report

required_module("jinja2")
required_module("vl_convert")

READY = "document.documentElement && document.documentElement.dataset.drawn"
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
MOST_BYTES = 3_000_000
PICTURES = "PARAPLY_TEST_PICTURES"

# Marks with a size in each chart; of a canvas, the pixels that are not transparent.
INK = """[...document.querySelectorAll(".chart")].map(chart => {
  const canvas = chart.querySelector("canvas");
  if (canvas) {
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    let count = 0;
    for (let place = 3; place < pixels.length; place += 4) count += pixels[place] > 0;
    return [chart.id, count / 100];
  }
  const marks = [...chart.querySelectorAll(".mark-rect path, .mark-line path, .mark-area path, .mark-symbol path, .mark-text text")];
  return [chart.id, marks.filter(mark => mark.getBoundingClientRect().width > 0).length];
})"""
# Texts of charts that are cut off by the edge of their chart.
CUT = """[...document.querySelectorAll(".chart svg")].flatMap(svg => {
  const box = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("text")].filter(text => {
    const own = text.getBoundingClientRect();
    return own.width > 0 && Number(getComputedStyle(text).opacity) > 0 && (own.left < box.left - 1 || own.right > box.right + 1);
  }).map(text => text.textContent);
})"""
FOCUSED = """(() => {
  const at = document.activeElement;
  if (!at || at === document.body) return "";
  const label = at.id || at.name || at.dataset.move || at.dataset.series || at.getAttribute("href") || at.textContent.trim();
  return `${at.tagName.toLowerCase()} ${label || at.getAttribute("aria-label")}`;
})()"""
CONTROLS = """[...document.querySelectorAll("a[href], button, select, input, summary, [tabindex='0']")]
  .filter(at => at.checkVisibility() && !at.disabled && !(at.type === "radio" && !at.checked) && !at.classList.contains("skip")).length"""
CONTRAST = """(() => {
  const light = color => {
    const parts = color.match(/[0-9a-f]{2}/gi).map(part => parseInt(part, 16) / 255);
    const [r, g, b] = parts.map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const style = getComputedStyle(document.documentElement);
  const value = name => light(style.getPropertyValue(name).trim());
  const ratio = (one, other) => (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  const least = names => Math.min(...names.flatMap(name => ["--paper", "--panel"].map(ground => ratio(value(name), value(ground)))));
  return [least(["--ink", "--soft", "--link"]), least(["--c1", "--c2", "--c3", "--c4", "--c5", "--focus"])];
})()"""


@pytest.fixture(scope="module")
def report(demo_log: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of a real relay log of a group."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    analyze_with_report(path, [demo_log], AnalyzeOptions(primaries=3))
    return path


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of a log whose names and values are markup."""
    folder = tmp_path_factory.mktemp("hostile")
    path = folder / "report.html"
    analyze_with_report(path, text_keys(folder / "log", MARKUP_TABLE, MARKUP_VALUE))
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return a browser for all tests."""
    with open_browser() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser) -> Page:
    """Return a page of its own."""
    return browser.page()


def show(page: Page, path: Path, size: str = "desktop", scheme: str = "light") -> None:
    """Open a report in a window of a size, on a system that prefers a scheme."""
    page.size(*SIZES[size], phone=size == "phone")
    page.prefer(scheme)
    page.open(path, READY)


def background(page: Page) -> Any:
    """Return the background of the page."""
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_all_panels_are_drawn_and_the_page_is_silent_and_asks_for_nothing(page: Page, report: Path, size: str, scheme: str) -> None:
    show(page, report, size, scheme)
    ink = dict(page.evaluate(INK))
    assert len(ink) >= 9
    assert {chart: amount for chart, amount in ink.items() if amount < 3} == {}
    assert page.evaluate(CUT) == []
    assert page.evaluate("[document.documentElement.scrollWidth, innerWidth]") == [SIZES[size][0]] * 2
    assert background(page) == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 24, 31)")
    texts, marks = page.evaluate(CONTRAST)
    assert (texts >= 4.5, marks >= 3) == (True, True), (texts, marks)
    assert page.messages() == []
    assert page.requests() == [report.resolve().as_uri()]
    assert report.stat().st_size < MOST_BYTES
    if folder := os.environ.get(PICTURES):
        page.screenshot(Path(folder) / f"report-{size}-{scheme}.png")


def test_open_tables_do_not_widen_the_page_of_a_phone(page: Page, report: Path) -> None:
    show(page, report, "phone")
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") == SIZES["phone"][0]


def test_the_tab_key_reaches_every_control_in_the_order_of_the_page(page: Page, report: Path) -> None:
    show(page, report)
    reached = []
    for _ in range(200):
        page.key("Tab", 9)
        where = page.evaluate(FOCUSED)
        if not where:
            break
        reached.append((where, page.evaluate("document.activeElement.getBoundingClientRect().top + scrollY")))
    assert len(reached) == page.evaluate(CONTROLS) + 1  # and the link that skips the head
    assert reached[0][0] == "a #main"
    tops = [top for where, top in reached[1:]]
    assert all(later >= earlier - 60 for earlier, later in itertools.pairwise(tops))
    names = [where for where, _ in reached]
    assert {"select schedule-applier", "div schedule-chart", "button in", "input theme", "input no order"} <= set(names)


def test_every_control_has_a_name(page: Page, report: Path) -> None:
    show(page, report)
    nodes = page.order("Accessibility.getFullAXTree")["nodes"]
    focusable = [
        node
        for node in nodes
        if not node.get("ignored")
        and any(each["name"] == "focusable" and each["value"].get("value") for each in node.get("properties", ()))
    ]
    unnamed = [node["role"]["value"] for node in focusable if not node.get("name", {}).get("value")]
    assert len(focusable) > 30
    assert unnamed == []


def shown_part(page: Page) -> str:
    """Return the text about the shown part of the schedule, once everything is drawn."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))")
    return str(page.evaluate("document.getElementById('schedule-range').textContent"))


def middle_of_schedule(page: Page) -> tuple[float, float]:
    """Scroll to the schedule, and return its middle in the window."""
    x, y = page.evaluate("""(chart => {
      chart.scrollIntoView({ block: "center", behavior: "instant" });
      const box = chart.getBoundingClientRect();
      return [box.x + box.width / 2, box.y + box.height / 2];
    })(document.getElementById("schedule-chart"))""")
    return x, y


def test_the_schedule_zooms_and_moves_by_keys_buttons_and_pointer(page: Page, report: Path) -> None:
    show(page, report)
    x, y = middle_of_schedule(page)
    seen = [shown_part(page)]
    page.evaluate("document.getElementById('schedule-chart').focus({ preventScroll: true })")
    for _ in range(6):
        page.key("+", 187, "+")
    seen.append(shown_part(page))
    assert seen[-1].endswith("single transactions")
    page.evaluate("document.querySelector('[data-move=right]').click()")
    seen.append(shown_part(page))
    page.order("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", clickCount=1)
    page.order("Input.dispatchMouseEvent", type="mouseMoved", x=x - 200, y=y, button="left", buttons=1)
    page.order("Input.dispatchMouseEvent", type="mouseReleased", x=x - 200, y=y, button="left")
    seen.append(shown_part(page))
    page.evaluate("(at => { at.value = 0; at.dispatchEvent(new Event('input')); })(document.getElementById('schedule-position'))")
    seen.append(shown_part(page))
    assert seen[-1].startswith("0.000 s")
    page.order("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=-100, modifiers=2)
    seen.append(shown_part(page))
    assert len(set(seen)) == len(seen), seen
    page.key("0", 48, "0")
    assert shown_part(page) == seen[0]
    page.evaluate("(at => { at.value = '2'; at.dispatchEvent(new Event('change')); })(document.getElementById('schedule-applier'))")
    assert shown_part(page) not in seen
    assert page.messages() == []


def test_two_fingers_zoom_the_schedule_of_a_phone(page: Page, report: Path) -> None:
    page.order("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    show(page, report, "phone")
    x, y = middle_of_schedule(page)
    for kind, half in (("touchStart", 30), ("touchMove", 60), ("touchMove", 110), ("touchEnd", 0)):
        fingers = [{"x": x - half, "y": y, "id": 1}, {"x": x + half, "y": y, "id": 2}] if half else []
        page.order("Input.dispatchTouchEvent", type=kind, touchPoints=fingers)
    begin, end, total = (float(number) for number in re.findall(r"[\d.]+", shown_part(page)))
    assert end - begin < 0.5 * total
    assert begin > 0
    assert page.messages() == []


def test_the_switch_overrides_the_system_and_is_kept(page: Page, report: Path) -> None:
    show(page, report)
    pixel = "(c => [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data].reduce((a, b) => a + b, 0))"
    canvas = f"{pixel}(document.querySelector('#schedule-chart canvas'))"
    light = page.evaluate(canvas)
    page.evaluate("document.querySelector('input[value=dark]').click()")
    page.wait(f"{canvas} !== {light}")
    assert background(page) == "rgb(20, 24, 31)"
    axis = "getComputedStyle(document.querySelector('#speed-up .role-axis-label text')).fill"
    assert page.evaluate(axis) == "rgb(167, 177, 190)"
    page.prefer("dark")
    page.evaluate("document.querySelector('input[value=light]').click()")
    assert background(page) == "rgb(255, 255, 255)"
    assert page.messages() == []


def test_a_box_of_a_legend_hides_its_series(page: Page, report: Path) -> None:
    show(page, report)
    lines = "document.querySelectorAll('#speed-up .mark-line path[stroke]').length"
    before = page.evaluate(lines)
    page.evaluate("document.querySelector('[data-chart=speed-up][data-series=paraply]').click()")
    page.wait(f"{lines} === {before} - 1")
    page.evaluate("document.querySelector('[data-chart=speed-up][data-series=\"no order\"]').click()")
    page.wait(f"{lines} > {before}")
    assert page.messages() == []


def test_names_and_values_stay_text_in_tables_charts_and_tips(page: Page, hostile: Path) -> None:
    show(page, hostile)
    texts = page.evaluate("[...document.querySelectorAll('#hot-keys text')].map(text => text.textContent)")
    assert any(MARKUP_VALUE in text for text in texts)
    x, y = page.evaluate("""(text => {
      text.scrollIntoView({ block: "center", behavior: "instant" });
      const box = text.getBoundingClientRect();
      return [box.x + 5, box.y + box.height / 2];
    })(document.querySelector("#hot-keys .role-mark.mark-text text"))""")
    page.order("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    page.order("Input.dispatchMouseEvent", type="mouseMoved", x=x + 1, y=y)
    page.wait("document.querySelector('#vg-tooltip-element.visible')")
    assert MARKUP_VALUE in page.evaluate("document.getElementById('vg-tooltip-element').textContent")
    assert page.evaluate("[document.querySelectorAll('img').length, document.scripts.length]") == [0, 3]
    assert page.messages() == []

"""Charts of a report as Vega-Lite specifications; colours are variables of the page's style sheet."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from paraply.analysis.analyze.words import scheduler_name, short, times

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply.analysis.analyze.result import Curve, Scheme
    from paraply.analysis.report.series import Along

__all__ = ["MARKS", "Chart", "bar", "bars", "load", "parallelism", "schedule", "schemes", "speed_up"]

Chart = dict[str, Any]

MARKS = {
    "MySQL": (1, "circle"),
    "MySQL with keys' numbers": (2, "square"),
    "Change Stream*": (5, "triangle-up"),
    "MariaDB optimistic": (4, "diamond"),
    "paraply": (3, "cross"),
}
"""Colour of each applier, ``--c1`` to ``--c5`` of the style sheet, and its shape."""

_BAR_STEP = 44
_CHARACTER = 7
"""Width of a character in pixels, rather too much than too little."""
_CONFIG: Chart = {
    "background": "transparent",
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--soft)",
        "titleColor": "var(--soft)",
        "gridColor": "var(--line)",
        "domainColor": "var(--line)",
        "tickColor": "var(--line)",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    },
    "text": {"color": "var(--ink)", "fontSize": 12},
}


def chart(height: int, description: str, values: Sequence[Chart], **more: Any) -> Chart:
    """Return a chart as wide as its place on the page."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "config": _CONFIG,
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "padding": {"left": 2, "right": 14, "top": 6, "bottom": 2},
        "description": description,
        "data": {"name": "values", "values": list(values)},
    } | more


def color_of(names: Sequence[str], colors: Sequence[int]) -> Chart:
    """Return the colours of series; the page has the legend."""
    return {"domain": list(names), "range": [f"var(--c{color})" for color in colors[: len(names)]]}


def time_axis(begins: Sequence[str]) -> Chart:
    """Return the axis of commit times, with labels that fit the time that they span.

    >>> time_axis(["2026-01-01T00:00:00Z", "2026-01-01T00:00:03Z"])["axis"]["format"]
    '%H:%M:%S.%L'
    """
    first, last = (datetime.fromisoformat(begin) for begin in (begins[0], begins[-1]))
    span = (last - first).total_seconds()
    label = "%H:%M:%S.%L" if span < 4 else "%H:%M:%S" if span < 3600 else "%H:%M" if span < 86_400 else "%m-%d %H:%M"
    axis = {"format": label, "tickCount": {"expr": "max(2, floor(width / 130))"}, "labelOverlap": "greedy", "labelFlush": True}
    title = f"commit time, {first:%Y-%m-%d} UTC"
    return {"field": "t", "type": "temporal", "scale": {"type": "utc"}, "title": title, "axis": axis}


def shown_series(*fields: str) -> list[Chart]:
    """Return the filter for series whose box in the legend is checked."""
    return [{"filter": " && ".join(f"indexof(hidden, datum.{field}) < 0" for field in fields)}]


def parallelism(along: Along) -> Chart:
    """Return the busy workers along the log."""
    names = [name for name, _ in along.series]
    at = "t" if along.timed else "n"
    values = [
        {at: place, "series": name, "workers": number}
        for name, numbers in along.series
        for place, number in zip(along.places, numbers, strict=True)
    ]
    x = (
        time_axis([str(place) for place in along.places])
        if along.timed
        else {"field": "n", "type": "quantitative", "title": "transactions"}
    )
    tip: Chart = {"field": at, "title": "from"} | (
        {"type": "temporal", "format": "%H:%M:%S.%L"} if along.timed else {"type": "quantitative", "format": ","}
    )
    mark: Chart = {"type": "line", "interpolate": "step-after", "strokeWidth": 2}
    dashes = [[1, 0], [5, 4], [1, 0]]  # the second line often covers the first one
    return chart(
        260,
        "Mean number of workers that apply or commit, along the log, by applier.",
        values,
        params=[{"name": "hidden", "value": []}],
        transform=shown_series("series"),
        mark=mark,
        encoding={
            "x": x,
            "y": {"field": "workers", "type": "quantitative", "title": "busy workers"},
            "color": {"field": "series", "type": "nominal", "scale": color_of(names, (1, 2, 3)), "legend": None},
            "strokeDash": {"field": "series", "type": "nominal", "scale": {"domain": names, "range": dashes[: len(names)]}, "legend": None},
            "tooltip": [{"field": "series", "title": "applier"}, tip, {"field": "workers", "type": "quantitative", "format": ".1f"}],
        },
    )


def load(begins: Sequence[str], rates: Sequence[tuple[float, float]]) -> Chart:
    """Return the source's load over time.

    Args:
        begins: Begin of each span, and the end of the last one.
        rates: Transactions and rows a second of each span.
    """
    values = [
        {"t": begin, "rate": round(rate, 2), "rows": round(rows, 2)}
        for begin, (rate, rows) in zip(begins, (*rates, rates[-1]), strict=True)
    ]
    return chart(
        130,
        "Transactions a second of the source over time.",
        values,
        mark={"type": "area", "interpolate": "step-after", "color": "var(--c1)", "opacity": 0.55, "line": {"color": "var(--c1)"}},
        encoding={
            "x": time_axis(begins),
            "y": {"field": "rate", "type": "quantitative", "title": "transactions/s"},
            "tooltip": [
                {"field": "t", "type": "temporal", "title": "from", "format": "%H:%M:%S"},
                {"field": "rate", "type": "quantitative", "title": "transactions/s", "format": ",.0f"},
                {"field": "rows", "type": "quantitative", "title": "rows/s", "format": ",.0f"},
            ],
        },
    )


def speed_up(curves: Sequence[Curve]) -> Chart:
    """Return the speed-up by number of workers of each applier, and the ideal."""
    names = list(dict.fromkeys(scheduler_name(curve.applier, curve.numbers) for curve in curves))
    values = [
        {
            "series": scheduler_name(curve.applier, curve.numbers),
            "order": "in order" if curve.ordered else "no order",
            "workers": point.workers,
            "speedup": point.speed_up,
            "seconds": f"{short(point.seconds)} s",
        }
        for curve in curves
        for point in curve.points
    ]
    workers = [point.workers for point in curves[0].points]
    ideal = {"values": [{"workers": number, "speedup": number} for number in workers]}
    x = {"field": "workers", "type": "quantitative", "scale": {"type": "log", "base": 2}, "title": "workers"}
    x["axis"] = {"values": workers, "grid": False, "format": "d"}
    y = {
        "field": "speedup",
        "type": "quantitative",
        "scale": {"type": "log", "base": 2, "nice": False},
        "title": "times as fast as one worker",
    }
    y["axis"] = {"format": "~r", "tickCount": 8}
    color = {"field": "series", "type": "nominal", "scale": color_of(names, [MARKS[name][0] for name in names]), "legend": None}
    shape = {"field": "series", "type": "nominal", "scale": {"domain": names, "range": [MARKS[name][1] for name in names]}, "legend": None}
    dash = {"field": "order", "type": "nominal", "scale": {"domain": ["in order", "no order"], "range": [[1, 0], [4, 4]]}, "legend": None}
    tip = [
        {"field": "series", "title": "applier"},
        {"field": "order", "title": "commits"},
        {"field": "workers", "type": "quantitative"},
        {"field": "speedup", "type": "quantitative", "title": "speed-up", "format": ".3~r"},
        {"field": "seconds", "title": "time"},
    ]
    shown = shown_series("series", "order")
    return chart(
        330,
        "Speed-up against one worker by number of workers, for each applier; the dashed grey line is the ideal.",
        values,
        params=[{"name": "hidden", "value": ["no order"]}],
        layer=[
            {"data": ideal, "mark": {"type": "line", "color": "var(--soft)", "strokeDash": [2, 4]}, "encoding": {"x": x, "y": y}},
            {
                "transform": shown,
                "mark": {"type": "line", "strokeWidth": 2},
                "encoding": {"x": x, "y": y, "color": color, "strokeDash": dash},
            },
            {
                "transform": shown,
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
                "encoding": {"x": x, "y": y, "color": color, "shape": shape, "tooltip": tip},
            },
        ],
    )


def schemes(found: Sequence[Scheme]) -> Chart:
    """Return the parallelism that each scheme of numbers allows."""
    values = [bar(scheme.name, times(scheme.parallelism), scheme.parallelism) for scheme in found]
    return bars(values, "Greatest possible speed-up by scheme of numbers.", "times as fast as one worker")


def bar(name: str, text: str, value: float, *, second: float | None = None) -> Chart:
    """Return a bar: its name, its value in words, its length, and the length of the thinner bar below it."""
    return {"name": name, "text": text, "value": value, "second": second}


def bars(values: Sequence[Chart], description: str, title: str, *, second: bool = False) -> Chart:
    """Return horizontal bars with their name and value above each.

    Args:
        values: The bars.
        description: The chart in a sentence.
        title: Title of the axis.
        second: True for a second, thinner bar below each.
    """
    rows = [{"place": place} | value for place, value in enumerate(values)]
    y = {"field": "place", "type": "ordinal", "axis": None, "scale": {"paddingInner": 0, "paddingOuter": 0}}
    x = {"field": "value", "type": "quantitative", "title": title, "axis": {"tickCount": 5}, "scale": {"zero": True}}
    tip = [{"field": "name", "title": " "}, {"field": "text", "title": title}]
    rest = {"expr": f"max(60, width - {_CHARACTER * max((len(value['text']) for value in values), default=0) + 12})"}
    layers: list[Chart] = [
        {
            "mark": {"type": "bar", "height": 10, "yOffset": 6, "color": "var(--c1)", "cornerRadiusEnd": 2, "minBandSize": 1},
            "encoding": {"x": x, "tooltip": tip},
        },
        {
            "mark": {"type": "text", "align": "left", "dy": -8, "limit": rest},
            "encoding": {"x": {"value": 0}, "text": {"field": "name"}, "tooltip": tip},
        },
        {
            "mark": {"type": "text", "align": "right", "dy": -8},
            "encoding": {"x": {"value": "width"}, "text": {"field": "text"}, "tooltip": tip},
        },
    ]
    if second:
        mark = {"type": "bar", "height": 5, "yOffset": 15, "color": "var(--c3)", "cornerRadiusEnd": 2}
        layers.insert(1, {"transform": [{"filter": "datum.second !== null"}], "mark": mark, "encoding": {"x": x | {"field": "second"}}})
    return chart(_BAR_STEP * len(rows), description, rows, encoding={"y": y}, layer=layers)


def schedule(workers: int) -> Chart:
    """Return the empty chart of a schedule; the page fills the part of it that is shown."""
    lane = max(2, min(24, 640 // workers))
    step = max(1, -(-workers // 32))
    numbers = [place + 0.5 for place in range(workers) if place % step == 0]
    names = ["apply", "waiting to commit", "commit"]
    domain = {"domain": [{"expr": "t0"}, {"expr": "t1"}], "nice": False, "zero": False}
    return chart(
        max(120, lane * workers),
        "Schedule: a row for each worker, with the time in which it applies, waits to commit, and commits.",
        [],
        params=[{"name": "t0", "value": 0}, {"name": "t1", "value": 1}],
        mark={"type": "rect", "clip": True},
        encoding={
            "x": {"field": "x0", "type": "quantitative", "scale": domain, "title": "seconds", "axis": {"tickCount": 6, "format": "~r"}},
            "x2": {"field": "x1"},
            "y": {
                "field": "y0",
                "type": "quantitative",
                "scale": {"domain": [0, workers], "reverse": True, "nice": False},
                "title": "worker",
                "axis": {"values": numbers, "labelExpr": "format(datum.value + 0.5, 'd')", "grid": False, "ticks": False},
            },
            "y2": {"field": "y1"},
            "color": {
                "field": "state",
                "type": "nominal",
                "scale": {"domain": names, "range": ["var(--c1)", "var(--c2)", "var(--c3)"]},
                "legend": None,
            },
            "opacity": {"field": "strength", "type": "quantitative", "scale": None, "legend": None},
            "tooltip": {"field": "tip", "type": "nominal"},
        },
    )

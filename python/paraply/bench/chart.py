"""A plot of a bench of loads: bars of transactions a second, one panel for each load, as SVG without any library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

__all__ = ["bars"]

_WIDTH, _LEFT, _RIGHT = 860, 390, 70
_BAR, _GAP, _HEAD = 16, 5, 34
_COLOURS = {"paraply": "#2a6fb0", "--": "#2a6fb0", "the server": "#8a8a8a"}
_OTHER = "#c9c9c9"
_CAPTION = "transactions a second; each load has a scale of its own"


def bars(title: str, loads: Sequence[Mapping[str, Any]], *, figure: str = "per_second", caption: str = _CAPTION) -> str:
    """The plot.

    Args:
        title: What stands on top.
        loads: As ``LoadResult.as_json`` gives them.
        figure: The number of a replay that its bar shows.
        caption: The line below the bars.

    >>> replays = [{"name": "mysqlbinlog | mysql", "per_second": 100}, {"name": "paraply, 8 workers", "per_second": 400}]
    >>> plot = bars("MySQL", [{"title": "hot rows", "transactions": 9, "replays": replays}])
    >>> plot.count("<rect"), "mysqlbinlog | mysql" in plot, 'width="400.0"' in plot
    (2, True, True)
    """
    parts, y = [_text(10, 24, title, size=17, weight="bold")], 40
    for load in loads:
        count = f" ({load['transactions']:,} transactions)" if "transactions" in load else ""
        parts.append(_text(10, y + 20, f"{load['title']}{count}", weight="bold"))
        y += _HEAD
        most = max(replay[figure] for replay in load["replays"])
        for replay in load["replays"]:
            parts += _bar(y, replay["name"], replay[figure], most)
            y += _BAR + _GAP
    y += 30
    parts.append(_text(_LEFT, y - 10, caption, colour="#555"))
    style = 'font-family="Helvetica, Arial, sans-serif" font-size="13"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y}" width="{_WIDTH}" height="{y}" {style}>'
    return "\n".join([head, *parts, "</svg>", ""])


def _bar(y: int, name: str, rate: float, most: float) -> list[str]:
    length = round((_WIDTH - _LEFT - _RIGHT) * rate / most, 1) if most else 0.0
    colour = next((colour for start, colour in _COLOURS.items() if name.startswith(start)), _OTHER)
    return [
        _text(_LEFT - 8, y + 12, name, anchor="end"),
        f'<rect x="{_LEFT}" y="{y}" width="{length}" height="{_BAR}" fill="{colour}"/>',
        _text(_LEFT + length + 6, y + 12, f"{rate:,.0f}" if rate >= 100 else f"{rate:,.1f}"),
    ]


def _text(x: float, y: float, text: str, *, size: int = 13, weight: str = "normal", anchor: str = "start", colour: str = "#111") -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'

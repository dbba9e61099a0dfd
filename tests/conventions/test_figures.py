"""The figures of the documentation are those of ``benches/figures``, and the page of speed is what its generator writes."""

from __future__ import annotations

import re

from conventions.repository import ROOT, script


def test_the_page_of_speed_is_what_its_generator_writes() -> None:
    written = dict(script("tools/speed.py").pages())
    assert set(written) == {"speed.md", "speed-workers.md", "speed-mysql.svg", "speed-mariadb.svg", "speed-postgresql.svg"}
    assert len(written["speed.md"].splitlines()) < 120, "short: the rest has pages of its own"
    for name, text in written.items():
        assert (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8") == text, f"run python tools/speed.py: {name} differs"


def replay(name: str, seconds: float, floors: float, **more: object) -> dict[str, object]:
    """Return a replay as the bench writes it."""
    rates = {"per_second": 1000, "rows_per_second": 5000, "megabytes_per_second": 2.0}
    return {"name": name, "seconds": seconds, "floors": floors, "server_cpu": 3.0, "client_cpu": 0.1, "connections": 0} | rates | more


def test_the_table_of_the_floor_has_a_row_for_each_load() -> None:
    replays = [
        replay("the server's own applier, 8 workers", 6.0, 3.0),
        replay("paraply, record, 1 workers, merge auto", 5.0, 2.5),
        replay("paraply, record, 8 workers, merge auto", 2.6, 1.3),
        replay("paraply, preserve, 8 workers, merge off", 9.0, 4.5),
        replay("the floor", 2.0, 1.0, connections=3),
    ]
    speed = script("tools/speed.py")
    load = speed.floor_figures({"load": "oltp", "title": "OLTP mix", "transactions": 9, "rows": 30, "replays": replays})
    assert [one["name"] for one in load["replays"]] == [one["name"] for one in replays if one["seconds"] != 9.0]
    row = speed.floor_table([load], cores=2).splitlines()[-1]
    assert row == "| OLTP mix | 2.00 | 3 | 1.50 | 3.00 | 2.60 | **1.30** | 1,000 | 5,000 | 2.0 |"


def test_the_readme_shows_four_measured_figures() -> None:
    section = re.search(r"^## Figures\n(.*?)^## ", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert section is not None
    shown = [float(seconds) for seconds in re.findall(r"^\| .* \| ([\d.]+) \|$", section[1], re.MULTILINE)]
    replays = script("tools/speed.py").figures("mysql")["loads"][0]["replays"]
    measured = {replay["name"]: replay["seconds"] for replay in replays}
    assert shown == [
        measured["mysqlbinlog | mysql"],
        measured["the server's own applier, 8 workers"],
        measured["paraply, preserve, 16 workers, merge off, via replication"],
        measured["paraply, record, 8 workers, merge auto"],
    ]

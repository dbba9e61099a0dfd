"""The figures of the documentation are those of ``benches/figures``, and the page of speed is what its generator writes."""

from __future__ import annotations

import importlib.util
import re
from typing import TYPE_CHECKING

from conventions.repository import ROOT

if TYPE_CHECKING:
    from types import ModuleType


def generator() -> ModuleType:
    """Return the module that writes the page."""
    spec = importlib.util.spec_from_file_location("speed", ROOT / "tools" / "speed.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_speed_is_what_its_generator_writes() -> None:
    written = dict(generator().pages())
    assert set(written) == {"speed.md", "speed-mysql.svg", "speed-mariadb.svg", "speed-postgresql.svg"}
    for name, text in written.items():
        assert (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8") == text, f"run python tools/speed.py: {name} differs"


def test_the_readme_shows_four_measured_figures() -> None:
    section = re.search(r"^## Figures\n(.*?)^## ", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert section is not None
    shown = [float(seconds) for seconds in re.findall(r"^\| .* \| ([\d.]+) \|$", section[1], re.MULTILINE)]
    replays = generator().figures("mysql")["loads"][0]["replays"]
    measured = {replay["name"]: replay["seconds"] for replay in replays}
    assert shown == [
        measured["mysqlbinlog | mysql"],
        measured["the server's own applier, 8 workers"],
        measured["paraply, preserve, 16 workers, merge off, via replication"],
        measured["paraply, record, 8 workers, merge auto"],
    ]

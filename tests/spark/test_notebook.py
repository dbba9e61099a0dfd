"""The notebook of the documentation runs from its first cell to its last."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from conftest import ROOT
from required import required_module

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark")
pytestmark = pytest.mark.spark
NOTEBOOK = ROOT / "docs" / "tutorial-spark.ipynb"


def test_the_cells_run_and_show_what_they_say(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    required_module("deltalake")
    required_module("vl_convert")
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    names: dict[str, Any] = {}
    *sources, clean_up = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    for source in sources:
        exec(compile(source, NOTEBOOK.name, "exec"), names)  # as a kernel does
    shown = capsys.readouterr().out
    assert "product" in shown
    assert "critical_path" in shown
    assert "3e11fa47-71ca-11e1-9e33-c80aa9429562:1:3-5" in shown
    assert names["transactions"].columns[0] == "position"
    assert names["now"].count() == names["versions"].where("is_current").count() == names["tags"].count() > 5
    assert "in the lake, 0 of them not in the table" in shown
    for chart in ("rows_over_time", "rows_of_tables", "conflicts_by_table"):
        assert names[chart]._repr_svg_().startswith("<svg")
    exec(clean_up, names)
    assert not names["folder"].exists()


def test_the_notebook_holds_no_output() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    assert all(not cell.get("outputs") for cell in cells)

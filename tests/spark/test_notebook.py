"""The notebook of the documentation runs from its first cell to its last."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from conftest import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark")
pytestmark = pytest.mark.spark
NOTEBOOK = ROOT / "docs" / "tutorial-spark.ipynb"


def test_the_cells_run_and_show_what_they_say(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    names: dict[str, Any] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), NOTEBOOK.name, "exec"), names)  # as a kernel does
    shown = capsys.readouterr().out
    assert "product" in shown
    assert "critical_path" in shown
    assert "3e11fa47-71ca-11e1-9e33-c80aa9429562:1:3-5" in shown
    assert names["transactions"].columns[0] == "position"


def test_the_notebook_holds_no_output() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    assert all(not cell.get("outputs") for cell in cells)

"""Past faults have their place and their test still; one of them is brought back and found."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from past_faults.command import copied, finds
from past_faults.faults import FAULTS, ROOT

LEAST = 40


def test_past_faults_still_have_their_place() -> None:
    gone = [f"{fault.file}: {fault.mended}" for fault in FAULTS if not fault.is_there]
    assert gone == [], "write the text as it is in the source now"
    assert len(FAULTS) >= LEAST


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.mended.partition(" ")[0])
def test_the_test_of_a_past_fault_is_there(fault: object) -> None:
    path, _, name = fault.test.partition("::")  # type: ignore[attr-defined]
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    assert name.rpartition("::")[2] in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_a_past_fault_is_found(tmp_path: Path) -> None:
    fault = next(fault for fault in FAULTS if fault.is_there and "commit_order" in fault.file)
    assert finds(fault, copied(tmp_path))

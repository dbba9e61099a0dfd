from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from unit.applier import fakes

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True, scope="module")
def _native() -> Iterator[None]:
    """The applier's stages get the stand-ins of the native objects."""
    real = sys.modules["paraply._native"]
    sys.modules["paraply._native"] = fakes.native_module()
    yield
    sys.modules["paraply._native"] = real

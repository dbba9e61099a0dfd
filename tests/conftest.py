"""Fixtures that all tests share: the logs of real servers."""

from __future__ import annotations

import lzma
import os
import shutil
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from processes import longest_first, make_scheduler, mysql_only_for

ROOT = Path(__file__).parent.parent

settings.register_profile("fast", max_examples=50, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("PARAPLY_HYPOTHESIS", "fast"))

Log = Callable[[str], Path]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long matrices run only when asked for; of several processes none is left with what takes long."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        longest_first(items)
    if os.environ.get("PARAPLY_SLOW") == "1":
        return
    for item in items:
        if item.get_closest_marker("slow") is not None:
            item.add_marker(pytest.mark.skip(reason="slow: set PARAPLY_SLOW=1 to run it"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    return make_scheduler(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    with mysql_only_for(item.nodeid):
        return (yield)


def truth_folder() -> Path | None:
    """Return the folder with the logs of real servers, if it exists."""
    named = os.environ.get("PARAPLY_TRUTH")
    places = [Path(named)] if named else [ROOT.parent / "shared" / "truth"]
    return next((place for place in places if place.is_dir()), None)


def unpack(packed: Path, folder: Path) -> Path:
    """Unpacks an .xz file into a folder, once."""
    plain = folder / packed.parent.name / packed.name.removesuffix(".xz")
    if not plain.exists():
        plain.parent.mkdir(parents=True, exist_ok=True)
        with lzma.open(packed) as source, plain.open("wb") as out:
            shutil.copyfileobj(source, out)
    return plain


@pytest.fixture(scope="session")
def demo_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real group relay log: 6,856 transactions in certification order."""
    return unpack(ROOT / "tests" / "data" / "demo.relay.xz", tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="session")
def truth(tmp_path_factory: pytest.TempPathFactory) -> Log:
    """A log of a real server by its name below the folder of such logs, unpacked."""
    folder = truth_folder()
    if folder is None:
        pytest.skip("the logs of real servers are not here: name their folder in PARAPLY_TRUTH")
    unpacked = tmp_path_factory.mktemp("truth")

    def get(name: str) -> Path:
        packed = folder / f"{name}.xz"
        return unpack(packed, unpacked) if packed.exists() else folder / name

    return get

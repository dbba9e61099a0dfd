"""Files that a command writes are complete, or are not there."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from paraply.analysis.analyze import AnalyzeOptions, analyze
from paraply.analysis.report import analyze_with_report
from paraply.analysis.row_changes import ChangeFilter
from paraply.analysis.stamp import stamp
from paraply.analysis.trace_files import write_trace
from paraply.cli.rows import sink_of, write_parquet, write_text
from paraply.errors import ParaplyError, UsageError
from paraply.output_files import new_file, new_text_file


@contextmanager
def most_bytes(count: int) -> Iterator[None]:
    """Let files grow to so many bytes only, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_file_that_does_not_fit_leaves_the_older_one(tmp_path: Path) -> None:
    place = tmp_path / "undo.sql"
    place.write_text("older")
    with (
        pytest.raises(ParaplyError, match=r"--sql .*undo\.sql cannot be written: File too large") as caught,
        most_bytes(1000),
        new_file(place, "--sql") as file,
    ):
        file.write(b"x" * 5000)
    assert caught.value.file == str(place)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("undo.sql", "older")]


def test_bytes_that_do_not_fit_at_the_end_leave_nothing(tmp_path: Path) -> None:
    with pytest.raises(ParaplyError, match="free some space"), most_bytes(1000), new_text_file(tmp_path / "rows.csv", "-o") as file:
        file.write("x" * 1001)  # fewer than the buffer takes
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_block_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), new_text_file(tmp_path / "rows.csv", "-o") as file:
        file.write(f"{1 // 0}")
    assert list(tmp_path.iterdir()) == []


def test_a_replaced_file_keeps_its_rights_and_its_link(tmp_path: Path) -> None:
    place, link = tmp_path / "data", tmp_path / "link"
    place.write_text("older")
    place.chmod(0o640)
    link.symlink_to(place)
    with new_text_file(link, "-o") as file:
        file.write("newer")
    assert (place.read_text(), place.stat().st_mode & 0o777, link.is_symlink()) == ("newer", 0o640, True)


def test_a_device_is_written_directly() -> None:
    full = pytest.raises(ParaplyError, match="-o /dev/full cannot be written: No space left on device")
    with full, new_text_file(Path("/dev/full"), "-o") as file:
        file.write("x")
    with new_text_file(Path("/dev/null"), "-o") as file:
        file.write("x")
    assert Path("/dev/null").is_char_device()


def test_a_folder_that_does_not_exist_is_a_mistake_of_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file or directory"), new_file(tmp_path / "none" / "rows.csv", "-o"):
        pass


def rows_as_text(log: str, out: Path) -> None:
    """Write the rows of a log as ``paraply rows -o`` does."""
    with sink_of(out) as sink:
        write_text([log], ChangeFilter(), [], "csv", sink, full=False)


WRITERS: dict[str, Callable[[str, Path], object]] = {
    "rows.csv": rows_as_text,
    "rows.parquet": lambda log, out: write_parquet([log], ChangeFilter(), [], out),
    "trace.parquet": lambda log, out: write_trace([log], out),
    "report.html": lambda log, out: analyze_with_report(out, [log], AnalyzeOptions(workers=(1,))),
    "timeline.json": lambda log, out: analyze([log], AnalyzeOptions(workers=(1,), timeline=out)),
    "stamped": lambda log, out: stamp([log], out),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_output_names_its_file_and_leaves_none(name: str, demo_log: Path, tmp_path: Path) -> None:
    out = tmp_path / name
    with pytest.raises(ParaplyError, match=rf"{out}.* cannot be written.*: File too large; no partial file is left"), most_bytes(20_000):
        WRITERS[name](str(demo_log), out)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []

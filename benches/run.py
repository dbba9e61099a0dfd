"""`make bench`: the kernels beside plain Python, and replays beside the server's own client pipeline, as JSON and a table.

Replays need a log: name it in PARAPLY_BENCH_LOG, and a server for it in PARAPLY_BENCH_URL. A log of MariaDB needs no server: one is started
on a temporary folder if `mariadbd` is installed. PARAPLY_BENCH_DATA is that server's data folder on this machine; with it, the server's
own parallel applier is measured too.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def main() -> int:
    """Run `paraply bench`, and leave its results in benches/results."""
    command = [sys.executable, "-m", "paraply", "bench", "--kernels", "--scale", "--output", str(RESULTS / "latest.json")]
    log, url = os.environ.get("PARAPLY_BENCH_LOG"), os.environ.get("PARAPLY_BENCH_URL")
    if log:
        command.append(log)
    if url:
        command += ["--to", url, "--reset"]
    data = os.environ.get("PARAPLY_BENCH_DATA")
    if data:
        command += ["--data", data]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

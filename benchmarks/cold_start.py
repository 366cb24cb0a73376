"""CPU time of `diagnose --version` and of a whole diagnosis, beside a bare Python start and plain parsing.

Run with `make bench`. Each command runs in processes of its own; the median of the child's user + system
CPU seconds is printed, and its ratio to what a user would otherwise call in the same run: a bare interpreter,
and Python's own json/csv modules over the same files (which read, and tell nothing). A diagnosis writes the
terminal's report and the markdown one with its charts. Bytecode is kept between processes, as installers do.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPEATS = 7
PARSE = """
import csv, json, pathlib, sys
for path in pathlib.Path(sys.argv[1]).rglob('*'):
    if path.suffix == '.json':
        json.loads(path.read_text())
    elif path.suffix == '.csv':
        list(csv.reader(path.open()))
    elif path.is_file():
        path.read_bytes().splitlines()
"""


def cpu_seconds(command: list[str]) -> float:
    """Median CPU seconds (user + system) of a command over REPEATS runs, after one warm-up."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    measured = []
    for attempt in range(REPEATS + 1):
        before = used_by_children()
        subprocess.run(
            command, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        if attempt:
            measured.append(used_by_children() - before)
    return statistics.median(measured)


def used_by_children() -> float:
    """CPU seconds of all processes that were started here and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Print one line per command: seconds, limit, ratio."""
    diagnose = str(Path(sys.executable).parent / "diagnose")
    bare = cpu_seconds([sys.executable, "-c", "pass"])
    print(f"{'python -c pass':44} {bare:6.3f} s")
    version = cpu_seconds([diagnose, "--version"])
    print(f"{'diagnose --version':44} {version:6.3f} s  (limit 0.3)  {version / bare:5.1f} x bare Python")
    with tempfile.TemporaryDirectory() as folder:
        report = ["--format", "terminal", "--format", "markdown", "--output", str(Path(folder) / "report.md")]
        for run in sorted({p.parent for p in (ROOT / "examples").glob("*/run/*")}):
            show(run, [diagnose, str(run), *against(run), *report])


def against(run: Path) -> list[str]:
    """Return the option that names the example's benchmark, where it has one."""
    benchmark = run.parent / "benchmark"
    return ["--benchmark", str(benchmark)] if benchmark.is_dir() else []


def show(run: Path, command: list[str]) -> None:
    """Print the line of one example."""
    parse = cpu_seconds([sys.executable, "-c", PARSE, str(run)])
    taken = cpu_seconds(command)
    name = f"diagnose {run.relative_to(ROOT)}"
    print(f"{name:44} {taken:6.3f} s  (limit 1.5)  {taken / parse:5.1f} x json/csv parsing alone")


if __name__ == "__main__":
    main()

"""CPU time of `diagnose --version` and of a whole diagnosis, beside a bare Python start and plain parsing.

Run with `make bench`. Each command runs in processes of its own; the median of the child's user + system
CPU seconds is printed, and its ratio to what a user would otherwise call in the same run: a bare interpreter,
and Python's own json/csv modules over the same files (which read, and tell nothing).
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
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
    measured = []
    for attempt in range(REPEATS + 1):
        before = os.times()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        after = os.times()
        if attempt:
            used = after.children_user + after.children_system
            measured.append(used - before.children_user - before.children_system)
    return statistics.median(measured)


def main() -> None:
    """Print one line per command: seconds, limit, ratio."""
    diagnose = str(Path(sys.executable).parent / "diagnose")
    examples = sorted({p.parent for p in (ROOT / "examples").glob("*/run/*")})
    bare = cpu_seconds([sys.executable, "-c", "pass"])
    print(f"{'python -c pass':44} {bare:6.3f} s")
    version = cpu_seconds([diagnose, "--version"])
    print(f"{'diagnose --version':44} {version:6.3f} s  (limit 0.3)  {version / bare:5.1f} x bare Python")
    for run in examples:
        name = f"diagnose {run.relative_to(ROOT)}"
        parse = cpu_seconds([sys.executable, "-c", PARSE, str(run)])
        command = [diagnose, str(run)]
        benchmark = run.parent / "benchmark"
        if benchmark.is_dir():
            command += ["--benchmark", str(benchmark)]
        taken = cpu_seconds(command)
        print(f"{name:44} {taken:6.3f} s  (limit 1.5)  {taken / parse:5.1f} x json/csv parsing alone")


if __name__ == "__main__":
    main()

"""Compare a pair of generated operator dumps: traindoctor, a user's float64 script, and msprobe compare.

    python benchmarks/tensors.py [--elements 1000000] [--operators 24] [--msprobe PATH_TO_msprobe]

All three read the same two dumps (msprobe's layout, tensor mode, .pt files) in one run. The script computes
the figures one by one in float64, as one writes it down, with numpy's defaults (its linear algebra library
takes threads for the products: OPENBLAS_NUM_THREADS=1 for none); msprobe is timed where its command is given
or found. In each of `--rounds`, five walks of traindoctor stand beside one of the script, so that what else
the machine does meets both; seconds are medians on the wall clock, with the ratio within each round.
Processor seconds, those of workers included, tell what is left of a difference where others use the machine
too. Peak memory (Linux) is that of one process that does it all.

How many cores it may use is said first. For fewer: taskset -c 0,1 python benchmarks/tensors.py
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]


def make(folder: Path, elements: int, operators: int, noise: float) -> Path:
    """Write one side: a chain of operators with one input, one weight and one output each."""
    spec = importlib.util.spec_from_file_location("_dumps", ROOT / "tests/probes/tensors/_dumps.py")
    if spec is None or spec.loader is None:
        raise SystemExit("run it from a checkout: the writer of dumps stands in tests/")
    writer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(writer)
    random = np.random.default_rng(0)
    shake = np.random.default_rng(1)
    calls = []
    for n in range(operators):
        tensors = [random.standard_normal(elements, dtype=np.float32) for _ in range(3)]
        for tensor in tensors:
            tensor[tensor == 0] = 1.0  # the script divides by every element
        if noise:
            tensors = [t * (1 + noise * shake.standard_normal(elements, dtype=np.float32)) for t in tensors]
        calls.append((f"Functional.linear.{n}.forward", tensors[:2], tensors[2:]))
    rank: Path = writer.msprobe(folder / "step0" / "rank0", calls, tensors="pt")
    head = rank / "dump.json"
    content = json.loads(head.read_text())
    content["dump_data_dir"] = str(rank / "dump_tensor_data")
    head.write_text(json.dumps(content))
    (rank / "stack.json").write_text("{}")
    (rank / "construct.json").write_text("{}")
    return folder


def load(path: Path) -> Any:
    with zipfile.ZipFile(path) as archive:
        return np.frombuffer(archive.read("t/data/0"), np.float32)


def script(run: Path, benchmark: Path) -> dict[str, dict[str, float]]:
    """What a user writes: every figure by its definition, in float64."""
    found = {}
    for path in sorted(run.rglob("*.pt")):
        a = load(path).astype(np.float64)
        b = load(benchmark / path.relative_to(run)).astype(np.float64)
        with np.errstate(all="ignore"):
            found[path.name] = {
                "cosine": np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b)),
                "relative": np.linalg.norm(a - b) / np.linalg.norm(b),
                "max_abs": np.max(np.abs(a - b)),
                "mean_abs": np.mean(np.abs(a - b)),
                "max_rel": np.max(np.abs(a - b) / np.abs(b)),
                "mean_rel": np.mean(np.abs(a - b) / np.abs(b)),
                "within_1": np.mean(np.abs(a - b) / np.abs(b) < 1e-3),
                "within_5": np.mean(np.abs(a - b) / np.abs(b) < 5e-3),
                "norm": np.linalg.norm(a),
                "benchmark_norm": np.linalg.norm(b),
                "misplaced": np.count_nonzero(np.isnan(a) != np.isnan(b))
                + np.count_nonzero(np.isinf(a) != np.isinf(b)),
                "max_ulp": np.max(
                    np.abs(a - b) / np.spacing(np.abs(b).astype(np.float32)).astype(np.float64)
                ),
            }
    return found


def ours(run: Path, benchmark: Path) -> Any:
    from traindoctor.probes.tensors.compare import compare

    return compare(run, benchmark)


def timed(what: Any, *arguments: Any) -> tuple[float, float, Any]:
    """Seconds on the wall, seconds of processors (workers included), and what was found."""
    start, used = time.perf_counter(), processors()
    found = what(*arguments)
    return time.perf_counter() - start, processors() - used, found


def processors() -> float:
    return sum(os.times()[:4])  # of this process and its ended children, user and system


def peer(command: str, run: Path, benchmark: Path, out: Path) -> float | None:
    """Seconds of `msprobe compare`, or None with the end of what it said."""
    out.mkdir(parents=True, exist_ok=True)
    sides = [str(d / "step0" / "rank0" / "dump.json") for d in (run, benchmark)]
    start = time.perf_counter()
    done = subprocess.run(
        [*command.split(), "compare", "-tp", sides[0], "-gp", sides[1], "-o", str(out)],
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    took = time.perf_counter() - start
    if done.returncode or not list(out.rglob("compare_result*")):
        print("msprobe did not run:", (done.stdout + done.stderr).strip()[-600:], file=sys.stderr)
        return None
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--elements", type=int, default=1_000_000)
    parser.add_argument("--operators", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--msprobe", default=shutil.which("msprobe") or "")
    parser.add_argument("--ours", nargs=2, type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    from traindoctor.probes.tensors import pairs
    from traindoctor.probes.tensors.pairs import LARGE
    from traindoctor.probes.tensors.workers import cores

    if given.ours:
        pairs.WORKERS = 1  # one process does the work of all, so that its peak is that of each
        ours(*given.ours)
        status = Path("/proc/self/status").read_text()
        print(int(status.partition("VmHWM:")[2].split()[0]) // 1024)
        return
    with tempfile.TemporaryDirectory() as scratch:
        run = make(Path(scratch) / "run", given.elements, given.operators, 1e-3)
        benchmark = make(Path(scratch) / "benchmark", given.elements, given.operators, 0.0)
        size = sum(p.stat().st_size for p in Path(scratch).rglob("*.pt")) / 2**20
        what = f"{3 * given.operators} pairs of {given.elements:,} float32"
        allowed = cores()
        used = allowed if 3 * given.operators * given.elements >= LARGE else 1
        print(f"{what}, {size:.0f} MiB; {used} processes on {allowed} of {os.cpu_count()} cores")
        mine, theirs, ratios = [], [], []
        for _ in range(given.rounds):
            walks = [timed(ours, run, benchmark) for _ in range(5)]
            theirs.append(timed(script, run, benchmark))
            check(walks[0][2], theirs[-1][2])
            ratios.append(theirs[-1][0] / statistics.median(w[0] for w in walks))
            mine += walks
        quick, busy = (statistics.median(t[i] for t in mine) for i in (0, 1))
        slow, spent = (statistics.median(t[i] for t in theirs) for i in (0, 1))
        rate = 3 * given.operators * given.elements / quick / 1e6
        print(
            f"traindoctor      {quick:8.2f} s, {busy:6.2f} s of processors"
            f"   ({rate:.0f} million pairs of elements a second)"
        )
        print(
            f"float64 script   {slow:8.2f} s, {spent:6.2f} s of processors"
            f"   {slow / quick:6.1f} times as long ({min(ratios):.1f} to {max(ratios):.1f} by round),"
            f" {spent / busy:.1f} times the work"
        )
        if given.msprobe:
            took = peer(given.msprobe, run, benchmark, Path(scratch) / "out")
            if took is not None:
                print(f"msprobe compare  {took:8.2f} s   {took / quick:6.1f} times as long")
        if Path("/proc/self/status").is_file():
            command = [sys.executable, __file__, "--ours", str(run), str(benchmark)]
            peak = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
            print(f"peak memory      {peak:>8} MiB, Python and NumPy included")


def check(found: Any, wanted: dict[str, dict[str, float]]) -> None:
    """The figures of both are the same, to the accuracy of float32."""
    for operator in found.operators:
        for tensor in operator.tensors:
            there = wanted[f"{operator.name}.{tensor.name}.pt"]
            for name, value in there.items():
                mine = getattr(tensor.figures, name)
                close = abs(mine - value) <= 1e-4 * abs(value) + 1e-6 or (
                    name == "max_ulp" and mine <= value + 1
                )
                if not close:
                    raise SystemExit(f"{operator.name} {tensor.name} {name}: {mine} is not {value}")


if __name__ == "__main__":
    main()

"""What msprobe found itself: anomaly_analyze_*.json of overflow_check, and the CSV files of its monitor.

overflow_check: {rank_n: [{op_name, data_info, stack_info}]}. Monitor v1: one CSV per kind of tensor and range
of steps, `vpp_stage,name,step[,micro_step],min,max,mean,norm,nans,zeros,shape,dtype` (any of the figures);
v2 as in readers/msprobe_monitor.py.
Its own anomaly.json is not used: a healthy run of eight steps has 116 alerts in it (PEERS-ASCEND A1.4).
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..assembly import layout
from ..files import RunFile
from ..readers import msprobe_monitor
from .model import Direction, Dump, Operator, Role, Statistics, Tensor
from .numbers import type_of

MAX_JSON = 64 * 1024**2
MAX_CSV = 256 * 1024**2
MAX_ROWS = 2_000_000
_ANALYSED = re.compile(r"^anomaly_analyze_\d+\.json$")
_KINDS: dict[str, tuple[int, Direction]] = {
    "actv": (0, "forward"),
    "actv_grad": (1, "backward"),
    "grad_unreduced": (2, "backward"),
    "grad_reduced": (3, "backward"),
    "param_origin": (4, "optimizer"),
    "exp_avg": (5, "optimizer"),
    "exp_avg_sq": (6, "optimizer"),
    "param_updated": (7, "optimizer"),
}
_MONITOR = re.compile(rf"^({'|'.join(sorted(_KINDS, key=len, reverse=True))})_(\d+)-(\d+)\.csv$")


def find(files: Mapping[str, RunFile]) -> Iterator[Dump]:
    """Yield what was found among these files as dumps: per rank (and step, for the monitor)."""
    for file in files.values():
        if _ANALYSED.match(file.name) and file.size <= MAX_JSON:
            yield from _analysed(file)
    yield from _monitored([f for f in files.values() if _is_monitored(f) and f.size <= MAX_CSV])


def _is_monitored(file: RunFile) -> bool:
    try:
        return _MONITOR.match(file.name) is not None or msprobe_monitor.is_second(file)
    except OSError:
        return False


def _analysed(file: RunFile) -> Iterator[Dump]:
    try:
        content = json.loads(file.read_text())
    except (OSError, ValueError, RecursionError):
        return
    for rank, entries in content.items() if isinstance(content, dict) else ():
        number = re.fullmatch(r"rank_?(\d{1,9})", str(rank))
        if number is None or not isinstance(entries, list):
            continue
        made = [_operator(e, n, int(number[1])) for n, e in enumerate(entries) if isinstance(e, dict)]
        yield Dump(
            "msprobe-overflow", file.path, tuple(made), "pytorch", int(number[1]), None, "overflow_check"
        )


def _operator(entry: Mapping[str, Any], order: int, rank: int) -> Operator:
    name = str(entry.get("op_name") or "")[:400]
    data = entry.get("data_info")
    info = data if isinstance(data, dict) else {}
    inputs = [*_tensors(name, "input", info.get("input_args") or info.get("input"))]
    kwargs = info.get("input_kwargs")
    for value in kwargs.values() if isinstance(kwargs, dict) else ():
        inputs.extend(_tensors(name, "input", value))
    parts = name.split(".")
    return Operator(
        name,
        parts[1] if len(parts) > 1 else name,
        order,
        "backward" if name.endswith(".backward") else "forward",
        tuple(replace(t, index=str(i)) for i, t in enumerate(inputs)),
        tuple(replace(t, index=str(i)) for i, t in enumerate(_tensors(name, "output", info.get("output")))),
        source=_source(entry.get("stack_info")),
        rank=rank,
    )


def _tensors(operator: str, role: Role, value: Any, depth: int = 0) -> Iterator[Tensor]:
    if isinstance(value, list) and depth < 12:
        for item in value:
            yield from _tensors(operator, role, item, depth + 1)
    elif isinstance(value, dict) and "shape" in value and "dtype" in value:
        kind = type_of(str(value["dtype"]))
        shape = value["shape"] if isinstance(value["shape"], list) else []
        low, high, mean, norm = (_float(value.get(k)) for k in ("Min", "Max", "Mean", "Norm"))
        yield Tensor(
            operator,
            role,
            "0",
            kind.name if kind else str(value["dtype"])[:40],
            tuple(int(n) for n in shape if isinstance(n, int)),
            statistics=Statistics(low, high, mean, norm),
        )


def _source(frames: Any) -> str:
    for frame in frames if isinstance(frames, list) else ():
        found = re.match(
            r"File (?P<file>[^,\n]+), line (?P<line>\d+), in [^\n]*\n\s*(?P<code>[^\n]*)", str(frame)
        )
        if found and not re.search(r"site-packages/|dist-packages/", found["file"]):
            return f"{found['file'].rpartition('/')[2]}:{found['line']}: {found['code'].strip()}"[:300]
    return ""


def _float(value: Any) -> float | None:
    if isinstance(value, bool) or value is None or value == "":
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


# --------------------------------------------------------------------------------------------- monitor


def _monitored(files: list[RunFile]) -> Iterator[Dump]:
    rows: dict[tuple[int | None, int], list[tuple[int, int, Operator]]] = {}
    count = 0
    for file in sorted(files, key=lambda f: layout.natural(f.path)):
        match = _MONITOR.match(file.name)
        if count > MAX_ROWS:
            continue
        told = re.search(r"-rank(\d{1,9})-", file.path)
        rank = int(told[1]) if told else layout.rank(file.path)
        try:
            for row in csv.DictReader(io.StringIO(file.read_text().replace("\0", ""))):
                count += 1
                step = _float(row.get("step"))
                kind = match[1] if match else msprobe_monitor.KINDS.get(str(row.get("scope")))
                name = row.get("name") or row.get("module_name")
                if step is None or not name or kind is None or count > MAX_ROWS:
                    continue
                tensor = _row(row, name)
                if tensor is not None:
                    place, direction = _KINDS[kind]
                    made = Operator(
                        f"{kind}: {name}",
                        kind,
                        0,
                        direction,
                        outputs=(tensor,),
                        rank=rank,
                        step=int(step),
                    )
                    rows.setdefault((rank, int(step)), []).append((place, count, made))
        except (OSError, csv.Error, ValueError):
            continue
    for (rank, at), found in sorted(rows.items(), key=lambda item: (item[0][1], item[0][0] or 0)):
        ordered = [o for _, _, o in sorted(found, key=lambda item: item[:2])]
        operators = tuple(replace(o, order=n) for n, o in enumerate(ordered))
        yield Dump("msprobe-monitor", "", operators, "pytorch", rank, at, "monitor")


def _row(row: Mapping[str, Any], name: str) -> Tensor | None:
    """One row; None for a placeholder: the input gradient of a first layer is NaN in all figures."""
    figures = [_float(row.get(k)) for k in ("min", "max", "mean", "norm")]
    shape = re.findall(r"\d+", str(row.get("shape") or ""))
    nans = _float(row.get("nans"))
    if row.get("shape") is not None and not shape and str(row["shape"]).strip() != "[]":
        return None
    if all(f is None or math.isnan(f) for f in figures) and not nans:
        return None
    dtype = type_of(str(row.get("dtype") or ""))
    low, high, mean, norm = figures
    return Tensor(
        name,
        "output",
        "0",
        dtype.name if dtype else "",
        tuple(map(int, shape)),
        statistics=Statistics(
            low, high, mean, norm, nan=int(nans) if nans is not None and nans >= 0 else None
        ),
    )

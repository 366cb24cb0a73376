"""MindSpore dumps: one .npy per tensor and statistic.csv, by rank, network, graph and iteration.

`rank_<id>/<net>/<graph>/<iteration>/<OpType>.<OpName>.<task>.<stream>.<us>.<input|output>.<slot>.<format>...`;
the order of execution stands in execution_order/, else the time stamps tell it. Layout: FORMATS-ASCEND B2.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from ..files import RunFile
from .layout import by_folder, folders, numbered
from .model import Direction, Dump, Operator, Role, Statistics, Tensor
from .npy import Unreadable, read_npy
from .numbers import type_of

FORMAT = "mindspore-dump"
MAX_CSV = 256 * 1024**2
_NAME = re.compile(
    r"^(?P<kind>[^.]+)\.(?P<name>.+)\.(?P<task>\d+)\.(?P<stream>\d+)\.(?P<time>\d+)"
    r"\.(?P<io>input|output)\.(?P<slot>\d+)\.(?P<format>[^.\d][^.]*)(?:\.(?P<dtype>[^.]+))?\.npy$"
)
_COLUMNS = {"Op Type", "Op Name", "Timestamp", "IO", "Slot", "Data Type", "Shape"}
_UPDATES = re.compile(r"^(?:Fused)?(?:Sparse)?Apply|^Assign|^Adam|^Lamb|Momentum$|Optimizer", re.I)


_Make = Callable[[Role], Tensor]


@dataclass(slots=True)
class _Call:
    """One execution of one operator while its tensors are gathered."""

    kind: str
    name: str
    time: int
    tensors: dict[tuple[str, int], Tensor] = field(default_factory=dict)


def find(files: Mapping[str, RunFile]) -> Iterator[Dump]:
    """Yield the dumps among these files; one per rank and iteration (and graph)."""
    orders = _orders(files)
    for folder, members in by_folder(files).items():
        named = [(m, f) for f in members if (m := _NAME.match(f.name))]
        table = next((f for f in members if f.name == "statistic.csv"), None)
        if not named and (table is None or not set(_first_line(table)) >= _COLUMNS):
            continue
        notes: list[str] = []
        calls = _Calls(notes)
        for match, file in sorted(named, key=lambda pair: int(pair[0]["time"])):
            calls.add_file(match, file)
        if table is not None:
            calls.add_table(table)
        some = table or named[0][1]
        rank = numbered(some, "rank")
        inner = folders(some)[-1:]
        step = int(inner[0]) if inner and inner[0].isdigit() and len(inner[0]) < 13 else None
        operators, known = _operators(calls.all, orders.get((rank, _graph(some)), {}), rank, step)
        if not known:
            notes.append("no execution order beside it: time stamps give the order")
        yield Dump(
            FORMAT,
            folder,
            operators,
            "mindspore",
            rank,
            step,
            _label(some),
            notes=tuple(dict.fromkeys(notes)),
        )


def named(file: str) -> re.Match[str] | None:
    """The parts of a dump file's name; None for any other name."""
    return _NAME.match(file)


def _graph(file: RunFile) -> str:
    inner = folders(file)
    return inner[-2] if len(inner) > 1 else ""


def _label(file: RunFile) -> str:
    """The network and graph, where they are not the usual first one: only dumps of one label are compared."""
    graph = _graph(file)
    return f"graph {graph}" if graph.isdigit() and graph != "0" else ""


class _Calls:
    """Gathers tensors into calls: a slot that comes again is the next call of the same operator."""

    def __init__(self, notes: list[str]) -> None:
        self.notes = notes
        self.all: list[_Call] = []
        self.open: dict[tuple[str, ...], _Call] = {}
        self.by_stamp: dict[tuple[str, str, int], Tensor] = {}

    def add_file(self, match: re.Match[str], file: RunFile) -> None:
        try:
            stored, note = read_npy(file, match["dtype"] or ""), ""
        except (Unreadable, OSError) as error:
            stored, note = None, str(error)
            self.notes.append(f"{file.path}: {error}; passed over")
        element = stored.type.name if stored else _type_name(match["dtype"] or "")
        self._add(
            (match["kind"], match["name"], match["task"], match["stream"]),
            int(match["time"]),
            match["io"],
            int(match["slot"]),
            lambda role: Tensor(
                match["name"],
                role,
                match["slot"],
                element,
                stored.shape if stored else (),
                file.path,
                stored=stored,
                note=note,
            ),
        )

    def add_table(self, file: RunFile) -> None:
        if file.size > MAX_CSV:
            self.notes.append(f"{file.path}: larger than {MAX_CSV >> 20} MiB, not read")
            return
        damaged = 0
        rows = csv.DictReader(io.StringIO(file.read_text().replace("\0", "")))
        held = {(c.kind, c.name.replace("/", "_"), k): c for c in self.all for k in c.tensors}
        try:
            for row in rows:
                damaged += not self._row(row, file, held)
        except csv.Error:
            damaged += 1
        if damaged:
            self.notes.append(f"{file.path}: {damaged} damaged rows were passed over")

    def _row(
        self, row: dict[str, str], file: RunFile, held: Mapping[tuple[str, str, tuple[str, int]], _Call]
    ) -> bool:
        try:
            kind, name = row["Op Type"], row["Op Name"]
            slot, time, side = int(row["Slot"]), int(row["Timestamp"]), row["IO"].lower()
            shape = tuple(int(n) for n in re.findall(r"\d+", row["Shape"]))
        except (KeyError, ValueError, TypeError, AttributeError):
            return False
        statistics = _statistics(row)
        call = held.get((kind, name.replace("/", "_"), (side, slot)))
        if call is not None:  # "full" mode: the values are there too
            old = call.tensors[side, slot]
            call.tensors[side, slot] = Tensor(
                old.operator,
                old.role,
                old.index,
                old.dtype,
                old.shape,
                old.file,
                statistics,
                old.stored,
                old.note,
            )
            return True
        self._add(
            (kind, name, row.get("Task ID") or "", row.get("Stream ID") or ""),
            time,
            side,
            slot,
            lambda role: Tensor(
                name, role, str(slot), _type_name(row["Data Type"] or ""), shape, file.path, statistics
            ),
        )
        return True

    def _add(self, key: tuple[str, ...], time: int, side: str, slot: int, make: _Make) -> None:
        call = self.open.get(key)
        if call is None or (side, slot) in call.tensors:
            call = _Call(key[0], key[1], time)
            self.open[key] = call
            self.all.append(call)
        role: Role = "parameter" if key[0] == "Parameter" else "input" if side == "input" else "output"
        call.time = min(call.time, time)
        call.tensors[side, slot] = make(role)


def _type_name(told: str) -> str:
    element = type_of(told)
    return element.name if element else told


def _statistics(row: Mapping[str, str]) -> Statistics:
    def number(*names: str) -> float | None:
        for name in names:
            text = (row.get(name) or "").strip().lower()
            try:
                return float(text) if text else None
            except ValueError:
                continue
        return None

    def count(*names: str) -> int | None:
        found = [number(n) for n in names]
        known = [int(f) for f in found if f is not None and math.isfinite(f)]
        return sum(known) if known else None

    digest = (row.get("MD5") or "").strip().lower()
    return Statistics(
        number("Min Value"),
        number("Max Value"),
        number("Avg Value", "Mean Value"),
        number("L2Norm Value"),
        count("NaN Count"),
        count("Positive Inf Count", "Negative Inf Count"),
        count("Zero Count") if row.get("Zero Count") else count("Positive Zero Count", "Negative Zero Count"),
        digest,
        "md5" if digest else "",
    )


def _first_line(file: RunFile) -> list[str]:
    return [c.strip() for c in file.read_text(4096).partition("\n")[0].split(",")]


# ---------------------------------------------------------------------------------------------- order


def _orders(files: Mapping[str, RunFile]) -> dict[tuple[int | None, str], dict[str, tuple[int, str]]]:
    """(rank, graph) -> operator name as in file names -> (place, full name)."""
    found: dict[tuple[int | None, str], dict[str, tuple[int, str]]] = {}
    for file in files.values():
        match = re.fullmatch(r"ms_execution_order_graph_(\d+)\.csv", file.name)
        if match is None or file.size > MAX_CSV:
            continue
        lines = file.read_text().split("\n")[1:]
        found[numbered(file, "rank"), match[1]] = {
            line.strip().replace("/", "_"): (place, line.strip())
            for place, line in enumerate(lines)
            if line.strip()
        }
    return found


def _operators(
    calls: list[_Call], order: Mapping[str, tuple[int, str]], rank: int | None, step: int | None
) -> tuple[tuple[Operator, ...], bool]:
    """Put calls in order; parameters, which are written when the iteration is over, come last."""
    flat = {id(c): c.name.replace("/", "_") for c in calls}
    running = [c for c in calls if c.kind != "Parameter"]
    known = bool(running) and all(flat[id(c)] in order for c in running)

    def place(call: _Call) -> tuple[int, int, int]:
        at = order[flat[id(call)]][0] if known and call.kind != "Parameter" else 0
        return (call.kind == "Parameter", at, call.time)

    made = []
    for number, call in enumerate(sorted(calls, key=place)):
        full = order[flat[id(call)]][1] if flat[id(call)] in order else call.name
        tensors = [t for _, t in sorted(call.tensors.items())]
        made.append(
            Operator(
                full,
                call.kind,
                number,
                direction(call.kind, full),
                tuple(t for t in tensors if t.role == "input"),
                tuple(t for t in tensors if t.role == "output"),
                tuple(t for t in tensors if t.role == "parameter"),
                scope=full.rpartition("/")[0],
                rank=rank,
                step=step,
            )
        )
    return tuple(made), known


def direction(kind: str, name: str) -> Direction:
    """The phase that an operator runs in, by its type and full name."""
    if kind == "Parameter":
        return "state"
    if name.startswith("Gradients"):
        return "backward"
    if _UPDATES.search(kind) or "optimizer" in name.lower():
        return "optimizer"
    return "forward"

"""Comparison results of other tools, judged again: msprobe, precision_tool, CANN, msit (CSV, XLSX).

Both generations of each. Columns are found by name; their verdicts ("pass", "Yes") are not believed. Layout:
FORMATS-ASCEND B1 and B3.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...engine.model import DumpComparison, Scalar, TensorFigures
from ..files import RunFile, walk
from . import atb, mindspore, msprobe, ptdbg
from .compare import DEFAULTS, Judge, NotADump, Options, Walk, conclude
from .judge import Pair
from .knowledge import knowledge
from .locate import locate
from .match import Match
from .model import Dump, Operator, Role, Statistics, Tensor
from .npy import Unreadable
from .numbers import type_of
from .sheet import rows

FORMAT = "comparison-result"
_PLACE = re.compile(
    r"^(?P<operator>.+)\.(?P<role>input|output|parameters|parameters_grad)\.(?P<index>[^/]+)$"
)


@dataclass(frozen=True, slots=True, eq=False)
class _Row:
    """One tensor of a result: where it belongs, and what both sides say of it."""

    operator: str
    benchmark: str
    pair: Pair
    figures: TensorFigures | None
    source: str = ""
    time: int = 0
    kind: str = ""  # where a column tells it
    argument: tuple[str, Scalar, Scalar] | None = None  # a scalar argument instead of a tensor


def judge_again(path: Path, options: Options = DEFAULTS) -> DumpComparison | None:
    """Judge the comparison results at a path; None when there are none. Raises NotADump, RunUnreadable."""
    files, notes = walk(path)
    return judge_files(files, str(path), options, notes)


def judge_files(
    files: Sequence[RunFile], path: str, options: Options = DEFAULTS, notes: Sequence[str] = ()
) -> DumpComparison | None:
    """Judge the comparison results among files; None when there are none. Raises NotADump."""
    said = list(notes)
    walks: list[Walk] = []
    limits = knowledge().tolerances
    if options.cosine is not None:
        limits = replace(limits, cosine=options.cosine)
    judge = Judge(limits, exact=False)
    for file in files:
        if file.suffix in (".csv", ".xlsx"):
            walks += _walk(file, judge, said)
    ranks = {w.run.rank for w in walks}
    if options.rank is not None and ranks and options.rank not in ranks:
        there = ", ".join(str(r) for r in sorted(r for r in ranks if r is not None))
        raise NotADump(f"--rank {options.rank}: the results have {f'rank {there}' if there else 'no ranks'}")
    walks = [w for w in walks if options.rank in (None, w.run.rank)]
    if not walks:
        return None
    for walk_ in walks:
        walk_.places = judge.places(walk_)
        walk_.start = locate(walk_.places, limits)
    said.insert(0, "judged again from another tool's figures: its own verdicts are not used")
    return conclude(walks, judge, path, "the benchmark of that comparison", said)


def _walk(file: RunFile, judge: Judge, notes: list[str]) -> list[Walk]:
    table = rows(file)
    try:
        header = [c.strip() for c in next(table, [])]
        make = _reader(header)
        if make is None:
            return []
        found: list[_Row] = []
        damaged = 0
        for cells in table:
            row = make(cells)
            if row is None:
                damaged += any(c.strip() for c in cells)
            else:
                found.append(row)
    except (Unreadable, OSError) as error:
        notes.append(f"{file.path}: {error}")
        return []
    if damaged:
        notes.append(f"{file.path}: {damaged} rows that name no tensor were passed over")
    if not found:
        return []
    number = re.search(r"rank_?(\d{1,6})", file.name)
    return [_matched(sorted(found, key=lambda r: r.time), file, int(number[1]) if number else None, judge)]


def _matched(found: Sequence[_Row], file: RunFile, rank: int | None, judge: Judge) -> Walk:
    """Rows of one operator become its tensors; the order of rows is that of execution."""
    groups: dict[tuple[str, str], list[_Row]] = {}
    for row in found:
        groups.setdefault((row.operator, row.benchmark), []).append(row)
    matches: list[Match] = []
    for order, ((mine, theirs), members) in enumerate(groups.items()):
        run = _operator(mine, [r.pair.run for r in members], order, members, rank, 0) if mine else None
        other = (
            _operator(theirs, [r.pair.benchmark for r in members], order, members, rank, 1)
            if theirs
            else None
        )
        one = Match(run, other, _replaced(run, other))
        matches.append(one)
        judge.pairs[id(one)] = [r.pair for r in members if r.argument is None]
        judge.found.update({id(r.pair): r.figures for r in members if r.figures is not None})
    left = Dump(FORMAT, file.path, tuple(m.run for m in matches if m.run is not None), rank=rank)
    right = Dump(FORMAT, file.path, tuple(m.benchmark for m in matches if m.benchmark is not None), rank=rank)
    return Walk(left, right, matches)


def _replaced(mine: Operator | None, theirs: Operator | None) -> bool:
    known = knowledge()
    return mine is not None and theirs is not None and known.kind(mine.kind) != known.kind(theirs.kind)


def _operator(
    name: str,
    held: Sequence[Tensor | None],
    order: int,
    members: Sequence[_Row],
    rank: int | None,
    side: int,
) -> Operator:
    kind, direction, module = msprobe.told(name)
    told = next((r.kind for r in members if r.kind), "")
    if told:
        kind, direction = told, mindspore.direction(told, name)
    elif "/" in name or kind == name:
        kind = name.rpartition("/")[2].rpartition("_")[2].partition("-op")[0] or name
        direction = mindspore.direction(kind, name)
    tensors = [t for t in held if t is not None]
    return Operator(
        name,
        kind,
        order,
        direction,
        tuple(t for t in tensors if t.role == "input"),
        tuple(t for t in tensors if t.role in ("output", "gradient")),
        tuple(t for t in tensors if t.role == "parameter"),
        {r.argument[0]: r.argument[1 + side] for r in members if r.argument is not None},
        source=next((r.source for r in members if r.source), ""),
        module=module,
        rank=rank,
    )


# ------------------------------------------------------------------------------------------- headers


_Make = Callable[[list[str]], "_Row | None"]


def _reader(header: list[str]) -> _Make | None:
    at: dict[str, int] = {}
    for number, name in enumerate(header):
        at.setdefault(name.strip("﻿"), number)
    if {"NPU Name", "Bench Name"} <= set(at):
        return lambda cells: _of_msprobe(_Cells(at, cells))
    if {"golden_data_path", "my_data_path", "cosine_similarity"} <= set(at):
        return lambda cells: _of_msit(_Cells(at, cells))
    left = next((n for n in ("LeftOp", "NPUDump") if n in at), None)
    right = next((n for n in ("RightOp", "GroundTruth") if n in at), None)
    if left and right and "TensorIndex" in at:
        return lambda cells: _of_cann(_Cells(at, cells), left, right)
    return None


@dataclass(frozen=True, slots=True)
class _Cells:
    """One row by column name."""

    at: Mapping[str, int]
    cells: list[str]

    def text(self, name: str) -> str:
        """What stands there; "" for nothing and for the words that mean nothing."""
        number = self.at.get(name, -1)
        text = self.cells[number].strip() if 0 <= number < len(self.cells) else ""
        return "" if text in ("N/A", "unsupported", "*", "None", "null") else text

    def number(self, *names: str) -> float | None:
        """The first of these columns that holds a number; percentages as fractions."""
        for name in names:
            text = self.text(name)
            try:
                return float(text[:-1]) / 100 if text.endswith("%") else float(text)
            except ValueError:
                continue
        return None


def _of_msprobe(row: _Cells) -> _Row | None:
    mine, theirs = _place(row.text("NPU Name")), _place(row.text("Bench Name"))
    some = mine or theirs
    if some is None:
        return None
    if row.text("NPU Dtype").startswith("<class") or row.text("Bench Dtype").startswith("<class"):
        values = (row.text("NPU max"), row.text("Bench max"))
        argument = (f"{some[1]}.{some[2]}", _value(values[0]), _value(values[1]))
        return _Row(
            mine[0] if mine else "", theirs[0] if theirs else "", Pair(None, None), None, argument=argument
        )
    tensors = [
        Tensor(
            place[0],
            place[1],
            place[2],
            _type(row.text(f"{side} Dtype") or row.text(f"{side} Tensor Dtype")),
            tuple(int(n) for n in re.findall(r"\d+", row.text(f"{side} Tensor Shape"))),
            statistics=Statistics(
                row.number(f"{side} min"),
                row.number(f"{side} max"),
                row.number(f"{side} mean"),
                row.number(f"{side} l2norm"),
                digest=row.text(f"{side} MD5") or row.text(f"{side.upper()} MD5"),
                digest_kind="crc32",
            ),
        )
        if place is not None
        else None
        for side, place in (("NPU", mine), ("Bench", theirs))
    ]
    cosine, apart = row.number("Cosine"), row.number("EucDist")
    figures = None
    norm = tensors[1].statistics.norm if tensors[1] else None
    if cosine is not None and not math.isnan(cosine):
        relative = apart / norm if apart is not None and norm else (0.0 if apart == 0 else None)
        biggest = row.number("MaxAbsErr")
        figures = TensorFigures(
            cosine=cosine,
            relative=relative if relative is not None else (0.0 if biggest == 0 else _angle(cosine)),
            max_abs=biggest,
            max_rel=row.number("MaxRelativeErr"),
            within_1=row.number("One Thousandth Err Ratio"),
            within_5=row.number("Five Thousandths Err Ratio"),
            norm=tensors[0].statistics.norm if tensors[0] else None,
            benchmark_norm=norm,
        )
    frames = re.findall(r"File [^'\"]+?, line \d+, in [^'\"]*", row.text("NPU_Stack_Info"))
    return _Row(
        mine[0] if mine else "",
        theirs[0] if theirs else "",
        Pair(*tensors),
        figures,
        msprobe.own_line(list(frames)),
        some[3],
    )


_Place = tuple[str, Role, str, int]


def _place(name: str) -> _Place | None:
    """Operator, role, index and time stamp (where the name is that of a MindSpore file)."""
    file = mindspore.named(name.rpartition("/")[2]) if name.endswith(".npy") else None
    if file is not None:
        return file["name"], "input" if file["io"] == "input" else "output", file["slot"], int(file["time"])
    found = _PLACE.match(name)
    if found is None:
        return ptdbg.place(name)
    role: Role = (
        "input" if found["role"] == "input" else "output" if found["role"] == "output" else "parameter"
    )
    return found["operator"], "gradient" if found["role"] == "parameters_grad" else role, found["index"], 0


def _of_cann(row: _Cells, left: str, right: str) -> _Row | None:
    index = row.text("TensorIndex").rsplit(":", 2)
    if len(index) != 3 or index[1] not in ("input", "output"):
        return None
    mine, theirs = row.text(left), row.text(right)
    role: Role = "input" if index[1] == "input" else "output"
    shape = tuple(int(n) for n in re.findall(r"\d+", row.text("Shape")))
    kind = _type(row.text("DataType")) or "float32"
    tensors = [Tensor(name, role, index[2], kind, shape) if name else None for name in (mine, theirs)]
    figures = _figures(
        row,
        "CosineSimilarity RelativeEuclideanDistance MaxAbsoluteError MeanAbsoluteError "
        "MaxRelativeError MeanRelativeError",
    )
    return _Row(mine, theirs, Pair(*tensors), figures, kind=row.text("OpType"))


def _figures(row: _Cells, names: str) -> TensorFigures | None:
    """What a row says of two tensors, by the columns of cosine, distance and the four errors."""
    cosine, relative, max_abs, mean_abs, max_rel, mean_rel = (row.number(n) for n in names.split())
    if cosine is None or math.isnan(cosine):
        return None
    return TensorFigures(
        cosine=cosine,
        relative=relative if relative is not None else _angle(cosine),
        max_abs=max_abs,
        mean_abs=mean_abs,
        max_rel=max_rel,
        mean_rel=mean_rel,
    )


def _of_msit(row: _Cells) -> _Row | None:
    """A row of `msit llm compare`: both sides by the paths of their tensors."""
    paths = (row.text("my_data_path"), row.text("golden_data_path"))
    places = [atb.place(path) for path in paths]
    mine, theirs = places
    if mine is None and theirs is None:
        return None
    tensors = [
        Tensor(
            *place,
            _type(row.text(f"{side}_dtype")),
            tuple(int(n) for n in re.findall(r"\d+", row.text(f"{side}_shape"))),
            statistics=Statistics(
                row.number(f"{side}_min_value"),
                row.number(f"{side}_max_value"),
                row.number(f"{side}_mean_value"),
            ),
        )
        if place is not None
        else None
        for side, place in zip(("my", "golden"), places, strict=True)
    ]
    figures = _figures(
        row,
        "cosine_similarity relative_euclidean_distance "
        "max_absolute_error mean_absolute_error max_relative_error mean_relative_error",
    )
    return _Row(
        mine[0] if mine else "",
        theirs[0] if theirs else "",
        Pair(*tensors),
        figures,
        kind=atb.kind_of(mine[0]) if mine else "",
    )


def _angle(cosine: float) -> float:
    """The relative error that a cosine stands for where both norms are equal: a lower bound."""
    return math.sqrt(max(0.0, 2 - 2 * cosine))


def _value(text: str) -> Scalar:
    try:
        return float(text)
    except ValueError:
        return text


def _type(told: str) -> str:
    element = type_of(told)
    return element.name if element is not None else told

"""What msprobe's config_check recorded of both sides: figures of the first batches and of the weights.

`dataset/step<n>/rank<r>/dataset.json` and `weights/step<n>/rank<r>/weight.json` hold max, min, mean and norm
by name. The tool itself asks for equal figures, which two devices never have; here their scale counts.
What it says of both sides' launch lines stands in `result.xlsx`, sheet `hyperparameters`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ...engine.model import Place
from .. import settings as names
from ..assembly import roles
from ..files import RunFile
from ..registry import Finding, View, absent, present, probe, unknown
from ..run import Run
from ..tensors.layout import numbered
from ..tensors.names import is_config_check
from ..tensors.npy import Unreadable
from ..tensors.sheet import rows
from ..weights import printed
from .first_batch import batch_of_other_scale

MAX_JSON = 64 * 1024**2
LEAST = 2  # weights
MOST = 0.5  # share of the weights whose scale has to be another
_Figures = dict[str, dict[str, float]]


@lru_cache(maxsize=4)
def _recorded(run: Run, name: str) -> tuple[RunFile, _Figures] | None:
    """The figures of the earliest step of the lowest rank."""
    found = []
    for file in run.dump_files:
        if file.name == name and file.size <= MAX_JSON and roles.of(file.path) != "benchmark":
            found.append((numbered(file, "step") or 0, numbered(file, "rank") or 0, file.path, file))
    for *_, file in sorted(found, key=lambda f: f[:3]):
        try:
            figures = dict(_leaves(json.loads(file.read_text()), ""))
        except (OSError, ValueError, RecursionError):
            continue
        if figures:
            return file, figures
    return None


def _leaves(value: Any, at: str, depth: int = 0) -> Iterator[tuple[str, dict[str, float]]]:
    if not isinstance(value, dict) or depth > 12:
        return
    low = {str(k).lower(): v for k, v in value.items()}
    if {"max", "min", "norm"} <= low.keys():
        value = low
        numbers = {k: v for k, v in value.items() if isinstance(v, (int, float)) and not isinstance(v, bool)}
        if {"max", "min"} <= numbers.keys() and all(map(math.isfinite, numbers.values())):
            yield at, numbers
        return
    for key, inner in value.items():
        yield from _leaves(inner, f"{at}.{key}" if at else str(key), depth + 1)


def _pairs(
    view: View, name: str
) -> tuple[RunFile, dict[str, tuple[dict[str, float], dict[str, float]]]] | None:
    mine = _recorded(view.run, name)
    theirs = None if view.benchmark is None else _recorded_of(view.benchmark, name)
    if mine is None or theirs is None:
        return None
    return mine[0], {k: (mine[1][k], theirs[k]) for k in mine[1] if k in theirs}


def _recorded_of(benchmark: Run, name: str) -> _Figures | None:
    found = [f for f in benchmark.dump_files if f.name == name and f.size <= MAX_JSON]
    for file in sorted(found, key=lambda f: (numbered(f, "step") or 0, numbered(f, "rank") or 0, f.path)):
        try:
            return dict(_leaves(json.loads(file.read_text()), ""))
        except (OSError, ValueError, RecursionError):
            continue
    return None


@probe()
def batches_of_other_scale(view: View, ratio: float) -> Finding:
    """The first batch spans `ratio` times as much as the benchmark's, or the other way round."""
    found = _pairs(view, "dataset.json")
    if found is None or not found[1]:
        return batch_of_other_scale(view, ratio)
    file, pairs = found
    for name, (mine, theirs) in pairs.items():
        spans = [f["max"] - f["min"] for f in (mine, theirs)]
        if min(spans) <= 0:
            continue
        if max(spans) / min(spans) >= ratio:
            return present(
                f"input {name} of the first batch reaches from {mine['min']:.4g} to {mine['max']:.4g},"
                f" in the benchmark from {theirs['min']:.4g} to {theirs['max']:.4g}",
                value=spans[0] / spans[1],
                threshold=ratio,
                where=(Place(file.path),),
            )
    return absent(f"{len(pairs)} inputs of the first batch have the benchmark's range", threshold=ratio)


_SAME = 1e-5  # relative: figures of one batch, worked out by two devices


def _by_step(run: Run, side: str) -> list[tuple[float, ...]]:
    """The figures of the first input of each batch of the lowest rank, in the order of steps."""
    found: dict[int, dict[int, tuple[float, ...]]] = {}
    for file in run.dump_files:
        step = numbered(file, "step")
        if file.name != "dataset.json" or file.size > MAX_JSON or step is None:
            continue
        if side == "run" and roles.of(file.path) == "benchmark":
            continue
        try:
            first = next(_leaves(json.loads(file.read_text()), ""), None)
        except (OSError, ValueError, RecursionError):
            continue
        if first is not None:
            told = tuple(first[1].get(k, 0.0) for k in ("max", "min", "mean", "norm"))
            found.setdefault(numbered(file, "rank") or 0, {})[step] = told
    steps = found[min(found)] if found else {}
    return [steps[s] for s in sorted(steps)]


def _one(mine: tuple[float, ...], theirs: tuple[float, ...]) -> bool:
    size = max(map(abs, mine))
    return all(
        math.isclose(a, b, rel_tol=_SAME, abs_tol=_SAME * size) for a, b in zip(mine, theirs, strict=True)
    )


@probe()
def batches_in_other_order(view: View, least: int) -> Finding:
    """At least `least` of the first batches are batches of the benchmark, most of them of another step."""
    mine = _by_step(view.run, "run")
    theirs = _by_step(view.benchmark, "benchmark") if view.benchmark is not None else []
    if min(len(mine), len(theirs)) < least or len({m[3] for m in mine}) < least:
        return unknown("no figures of several first batches (msprobe config_check) lie on both sides")
    moved = [
        (n, at)
        for n, one in enumerate(mine)
        if (at := next((k for k, other in enumerate(theirs) if _one(one, other)), None)) is not None
    ]
    apart = [(n, at) for n, at in moved if n != at]
    words = f"{len(moved)} of {len(mine)} first batches are among the benchmark's"
    if len(apart) >= max(least, len(moved) / 2):
        n, at = apart[0]
        return present(
            f"{words}, {len(apart)} of them at another step (batch {n} is its batch {at})", value=len(apart)
        )
    return absent(f"{words}, {len(apart)} at another step", value=len(apart))


@probe()
def weights_of_other_scale(view: View, ratio: float) -> Finding:
    """Before the first step more than half of the weights have a norm off the benchmark's by `ratio`."""
    found = _pairs(view, "weight.json")
    if found is None:
        return _printed_scales(view, ratio)
    pairs = (
        {} if found is None else {k: p for k, p in found[1].items() if all(f.get("norm", 0) > 0 for f in p)}
    )
    if found is None or len(pairs) < LEAST:
        return unknown("no figures of the first weights (msprobe config_check) lie on both sides")
    off = [k for k, (a, b) in pairs.items() if max(a["norm"] / b["norm"], b["norm"] / a["norm"]) >= ratio]
    text = f"{len(off)} of {len(pairs)} weights have another scale than the benchmark's before the first step"
    if len(off) > MOST * len(pairs):
        mine, theirs = pairs[off[0]]
        more = f" ({off[0]}: norm {mine['norm']:.4g}, in the benchmark {theirs['norm']:.4g})"
        return present(text + more, value=len(off), where=(Place(found[0].path),))
    return absent(text, value=len(off))


def _printed_scales(view: View, ratio: float) -> Finding:
    """The same of the norms and deviations that both logs print before they train."""
    theirs = {} if view.benchmark is None else printed.figures(view.benchmark)
    both = [
        (name, figure, a, b)
        for name, figure, a, b in printed.pairs(printed.figures(view.run), theirs)
        if figure in printed.SCALES and min(a.value or 0, b.value or 0) > 0
    ]
    if len(both) < LEAST:
        return unknown(
            "no figures of the first weights (of msprobe config_check, or printed) lie on both sides"
        )
    off = [p for p in both if printed.off(p[2], p[3]) >= 1 - 1 / ratio]
    text = f"{len(off)} of {len(both)} weights have another scale than the benchmark's before the first step"
    if len(off) > MOST * len(both):
        name, figure, a, b = off[0]
        more = f" ({name}: {figure} {a.value:.4g}, in the benchmark {b.value:.4g})"
        return present(text + more, value=len(off), where=(Place(a.file, a.line),))
    return absent(text, value=len(off))


@probe()
def weights_of_one_factor(view: View, ratio: float, least: int, spread: float) -> Finding:
    """Before the first step all weight matrices have the benchmark's norm times one factor.

    Another rule of drawing does that: He's and that of a library's default lie a constant apart. Weights that
    were loaded on one side differ by a factor of their own each.
    """
    found = _pairs(view, "weight.json")
    if found is not None:
        both = [(k, a.get("norm", 0.0), b.get("norm", 0.0)) for k, (a, b) in found[1].items()]
    else:
        theirs = {} if view.benchmark is None else printed.figures(view.benchmark)
        both = [
            (name, a.value or 0.0, b.value or 0.0)
            for name, figure, a, b in printed.pairs(printed.figures(view.run), theirs)
            if figure in printed.SCALES
        ]
    factors = [a / b for k, a, b in both if a > 0 and b > 0 and not printed.STARTS_EQUAL.search(k)]
    if len(factors) < least:
        return unknown(f"the norms of {least} first weights are not known on both sides")
    low, high = min(factors), max(factors)
    text = f"the first weights have {low:.3g} to {high:.3g} times the benchmark's norm"
    if high / low <= spread and max(high, 1 / high) >= ratio:
        return present(f"{text}: one factor for {len(factors)} of them", value=high, threshold=ratio)
    return absent(text, value=high, threshold=ratio)


def _differing(run: Run) -> tuple[str, list[tuple[str, str, str]]] | None:
    """The file, and the hyperparameters that it says differ: name, the run's value, the benchmark's."""
    for file in run.dump_files:
        try:
            if not is_config_check(file):
                continue
            table = rows(file, "hyperparameters")
            header = next(table, [])
            listed = [dict(zip(header, map(str.strip, cells), strict=False)) for cells in table]
        except (Unreadable, OSError):
            continue
        found = [
            (
                row.get("cmp_para") or row.get("bench_para", ""),
                row.get("cmp_value", ""),
                row.get("bench_value", ""),
            )
            for row in listed
            if row.get("level", "").lower() == "error" and row.get("bench_para") and row.get("cmp_para")
        ]
        return file.path, [
            f for f in found if _counts(f[0]) and not any(map(_flag, f[1:])) and not names.same(f[1], f[2])
        ]
    return None


# A comparison is mostly a short run, and a port needs a loss scale of its own.
_OWN = frozenset(
    {"max_steps", "epochs", "loss_scale", "initial_loss_scale", "loss_scale_window", "min_loss_scale"}
)


def _counts(name: str) -> bool:
    told = names.canonical_key(name)
    return told is not None and told[0] in names.table().hyperparameters and told[0] not in _OWN


def _flag(value: str) -> bool:
    """The tool takes the next option for the value of a flag: `--bf16 --swiglu` as bf16 = --swiglu."""
    return value.startswith("--")


@probe()
def settings_differ(view: View) -> Finding:
    """config_check's own table names hyperparameters with two values."""
    told = _differing(view.run)
    if told is None:
        return unknown("no table of settings (msprobe config_check) lies in the run directory")
    path, found = told
    if not found:
        return absent("config_check finds no hyperparameter with two values", value=0)
    listed = ", ".join(f"{n} {mine} (benchmark {theirs})" for n, mine, theirs in found[:4])
    return present(listed, value=len(found), where=(Place(path),))

"""Where gradients part from the benchmark's on their way back: they agree behind one layer, not before it.

Read are msprobe's grad_probe (`grad_summary_<step>.csv` of both sides, or its table of equal signs for each
parameter, `<parameter>.csv` with `step,similarity`) and its monitor. Parameters stand there in the order of
the model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from ..assembly import layout, roles
from ..config.values import trains_adapters
from ..files import RunFile
from ..registry import Finding, View, absent, present, probe, unknown
from ..run import RANK_PART, Run
from ..tensors.names import SIMILAR, SUMMED
from ..tensors.npy import Unreadable
from ..tensors.sheet import rows
from .checks import finite

LEAST = 3  # parameters on each side of the place
MOST_GONE = 0.5  # share of the parameters: with more of them the sides have other names
PURE = 0.9  # share of each side that has to be of one kind
_Norms = dict[str, float]


def _table(file: RunFile) -> list[dict[str, str]]:
    try:
        table = rows(file)
        header = [cell.strip("\ufeff ") for cell in next(table, [])]
        return [dict(zip(header, map(str.strip, cells), strict=False)) for cells in table]
    except (Unreadable, OSError):
        return []


@lru_cache(maxsize=4)
def _summaries(run: Run) -> dict[tuple[str | None, float], _Norms]:
    """The norm of each parameter's gradient, by side (as the path tells it) and step."""
    found: dict[tuple[str | None, float], _Norms] = {}
    for file in run.dump_files:
        told = SUMMED.match(file.name)
        if told is None:
            continue
        norms = {
            r["param_name"]: n
            for r in _table(file)
            if "param_name" in r and (n := finite(r.get("norm"))) is not None
        }
        found.setdefault((roles.of(file.path), float(told[1])), norms)
    return found


def _watched(run: Run) -> dict[float, _Norms]:
    """The same of msprobe's monitor, of one rank."""
    found: dict[float, _Norms] = {}
    for one in run.all_series:
        if one.group == RANK_PART and one.raw.startswith("grad_norm/"):
            for step, value in zip(one.steps.tolist(), one.values.tolist(), strict=True):
                found.setdefault(step, {}).setdefault(one.raw.removeprefix("grad_norm/"), value)
    return found


NOISE = 1e-4  # of the middle norm: what rounding leaves where a gradient is zero


def _above_noise(norms: _Norms) -> _Norms:
    """Without parameters that change nothing: a bias of keys before a softmax, or before a norm."""
    sizes = sorted(n for n in norms.values() if n > 0)
    least = NOISE * sizes[len(sizes) // 2] if sizes else 0.0
    return {name: norm for name, norm in norms.items() if norm == 0 or norm >= least}


def _sides(view: View) -> tuple[Mapping[float, _Norms], Mapping[float, _Norms]]:
    """Norms by step, of the run and of the benchmark."""
    own = _summaries(view.run)
    beside = {step: n for (side, step), n in own.items() if side == "benchmark"}
    mine = {step: n for (side, step), n in own.items() if side != "benchmark"} or _watched(view.run)
    if view.benchmark is not None:
        given = {step: n for (_, step), n in _summaries(view.benchmark).items()} or _watched(view.benchmark)
        return mine, given or beside
    return mine, beside


def _signs(run: Run) -> dict[str, float]:
    """The share of equal signs of each parameter's gradient at the first step."""
    found: dict[str, float] = {}
    for file in sorted(run.dump_files, key=lambda f: layout.natural(f.path)):
        if SIMILAR.match(file.head_text) and not file.name.startswith("similarities"):
            first = next(iter(_table(file)), {})
            value = finite(first.get("similarity"))
            if value is not None:
                found.setdefault(file.name.removesuffix(".csv"), value)
    return found


def _place(states: Sequence[bool | None]) -> int | None:
    """The first index from which gradients agree (True) while they do not before it; None: there is none."""
    told = [(n, s) for n, s in enumerate(states) if s is not None]
    for cut in range(LEAST, len(told) - LEAST + 1):
        before, after = [s for _, s in told[:cut]], [s for _, s in told[cut:]]
        if before[-1] or not after[0]:
            continue
        if before.count(False) >= PURE * len(before) and after.count(True) >= PURE * len(after):
            return told[cut][0]
    return None


@probe()
def gradients_part(view: View, agree: float, apart: float, signs: float, others: float) -> Finding:
    """Gradients agree with the benchmark's from some layer to the end of the model, and not before it.

    Norms agree within `agree` and part beyond `apart`, relative; of signs, `signs` agree where gradients do
    and no more than `others` where they do not (one half is chance). What lies between says nothing.
    """
    mine, theirs = _sides(view)
    step = min(mine.keys() & theirs.keys(), default=None)
    names: list[str] = []
    states: list[bool | None] = []
    if step is not None:
        told_there = _above_noise(theirs[step])
        for name, norm in mine[step].items():
            other = told_there.get(name)
            if other:
                off = abs(norm / other - 1)
                names.append(name)
                states.append(True if off <= agree else False if off > apart else None)
    else:
        shares = _signs(view.run)
        order = next(iter(_summaries(view.run).values()), {})
        told = [n for n in order if n in shares] or [n for n in shares if re.search(r"\d", n)]
        names = told
        states = [True if shares[n] >= signs else False if shares[n] <= others else None for n in told]
    if len(names) < 2 * LEAST:
        return unknown("gradients of single parameters are not there on both sides")
    at = _place(states)
    if at is None:
        if all(states):
            return absent(f"the gradients of {len(names)} parameters agree")
        return unknown("no one layer parts gradients that agree from those that do not")
    before = max(n for n in range(at) if states[n] is False)
    return present(
        f"on the way back gradients agree as far as {names[at]}, and no longer from {names[before]} on",
        step=step,
        value=names[before],
    )


_LAYER = re.compile(r"(?<=[._])\d+(?=[._])|(?<=layer)\d+(?=[._])")
LAYERS = 3  # in which a kind of parameter comes again


@probe()
def gradients_of_one_kind(view: View, agree: float, apart: float) -> Finding:
    """At the first step the gradients of one kind of parameter are off in all layers, and no others are.

    A kind is a name without the number of its layer; norms agree within `agree` and part beyond `apart`,
    relative. What is off in the last layer as in the first comes from what stands at that place of a layer.
    """
    mine, theirs = _sides(view)
    step = min(mine.keys() & theirs.keys(), default=None)
    if step is None:
        return unknown("gradients of single parameters are not there on both sides")
    kinds: dict[str, list[float]] = {}
    told = _above_noise(theirs[step])
    for name, norm in mine[step].items():
        if "expert" not in name and (other := told.get(name)) and _LAYER.search(name):
            kinds.setdefault(_LAYER.sub("*", name), []).append(norm / other)
    kinds = {kind: ratios for kind, ratios in kinds.items() if len(ratios) >= LAYERS}
    if len(kinds) < LAYERS:
        return unknown("gradients of single parameters are not there on both sides, in several layers")
    off = [k for k, ratios in kinds.items() if all(abs(r - 1) > apart for r in ratios)]
    near = {k: sum(abs(r - 1) <= agree for r in ratios) / len(ratios) for k, ratios in kinds.items()}
    right = [k for k, share in near.items() if share >= PURE]
    if not off and len(right) == len(kinds):
        return absent(f"the gradients of {len(kinds)} kinds of parameters agree with the benchmark's")
    if not off or len(off) + len(right) < len(kinds) or len(off) > len(right):
        return unknown("the gradients of no one kind of parameter part alone")
    ratios = sorted(kinds[off[0]])
    return present(
        f"the gradients of {off[0]} are {ratios[len(ratios) // 2]:.3g} times the benchmark's in all of"
        f" {len(ratios)} layers at step {step:g}, and those of {len(right)} other kinds agree",
        step=step,
        value=off[0],
    )


@probe()
def gradients_gone(view: View) -> Finding:
    """Parameters whose gradient is zero or missing here at all steps, and never in the benchmark.

    Read are grad_probe's tables and the monitor. Experts are left out: which of them get a token is chance.
    """
    mine, theirs = _sides(view)
    steps = sorted(mine.keys() & theirs.keys())
    if trains_adapters(view.run):
        return unknown("adapters are trained, so the rest is frozen by design")
    if not steps:
        return unknown("gradients of single parameters are not there on both sides")
    there = [_above_noise(theirs[s]) for s in steps]
    trained = [n for n in there[0] if "expert" not in n and all(norms.get(n) for norms in there)]
    gone = [n for n in trained if not any(mine[s].get(n) for s in steps)]
    if len(trained) < LEAST or len(gone) > MOST_GONE * len(trained):
        return unknown(f"{len(gone)} of {len(trained)} names of the benchmark have a gradient here")
    if not gone:
        return absent(f"all {len(trained)} parameters that have a gradient in the benchmark have one here")
    zero = [n for n in gone if n in mine[steps[0]]]
    how = f"is zero here at all of {len(steps)} steps" if zero else "is not recorded here"
    return present(
        f"the gradient of {len(gone)} of {len(trained)} parameters {how}, and not in the benchmark"
        f" ({(zero or gone)[0]})",
        value=len(gone),
        step=steps[0],
    )

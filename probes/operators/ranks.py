"""What dumps of several ranks, and of weights that train or do not, say of the weights themselves.

Ranks that hold parts of one model differ by design. Parts come in groups of one size; a replica that went its
own way stands alone, so that groups of unequal size are no parts.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from ...engine.model import Place, Subject
from ..config.values import trains_adapters
from ..events import common_steps, of_ranks
from ..files import RunFile
from ..registry import Finding, View, absent, any_of, present, probe, unknown
from ..run import Run
from ..tensors.model import Tensor
from ..tensors.names import is_comparison
from ..tensors.npy import Unreadable
from ..tensors.sheet import rows
from .dumps import NO_DUMP, dumps, monitored

EQUAL = 1e-5  # relative, of figures that a dump may have rounded
MONITOR_BEFORE, MONITOR_AFTER = "param_origin", "param_updated"
REDUCED = "grad_reduced"
LEAST_RANKS = 3  # from which one alone stands out
LEAST_STEPS = 5  # at which a logged norm is another
EQUAL, APART = 1e-5, 1e-3  # relative: one norm printed by several ranks, and another norm
_PARTS = re.compile(
    r"(?:^|_)(?:tensor|pipeline|context|expert)_(?:model_)?parallel(?:_size)?$|^(?:tp|pp|cp|ep)(?:_size)?$"
    r"|^model_parallel(?:_size)?$|zero_stage|sharding_(?:stage|degree)|^fsdp",
    re.I,
)
_DATA_PARALLEL = re.compile(r"(?:^|\.)data_parallel$", re.I)  # MindSpore: each rank holds the whole model
_WEIGHT = re.compile(r"^(?P<operator>.+)\.(?:(?:input|input_args)\.[1-9]\d*|parameters\.[^/]+)$")
_WITH_WEIGHTS = re.compile(
    r"\b(?:linear|matmul|conv\w*|embedding|layer_norm|rms_norm|batch_norm|group_norm)\b", re.I
)

_Weights = dict[str, tuple[Tensor, str]]  # name -> the tensor, and where it stands


@lru_cache(maxsize=2)
def _held(run: Run) -> dict[tuple[int, bool], dict[int, _Weights]]:
    """Weights by (step, before any update), then by rank; without experts, which ranks share out."""
    found: dict[tuple[int, bool], dict[int, _Weights]] = defaultdict(dict)
    kept_steps: dict[str, list[int]] = defaultdict(list)
    every = (*dumps(run), *monitored(run))
    for dump in every:
        if dump.step is not None:
            kept_steps[dump.label].append(dump.step)
    for dump in every:
        if dump.rank is None or dump.step is None:
            continue
        for operator in dump.operators:
            if "expert" in operator.name.lower():
                continue
            start = dump.step == min(kept_steps[dump.label]) <= (1 if dump.label == "monitor" else 0)
            if operator.kind in (MONITOR_BEFORE, MONITOR_AFTER):
                kept = list(operator.outputs)
                before = start and operator.kind == MONITOR_BEFORE
            else:
                kept = list(operator.parameters) if operator.direction == "forward" else []
                before = start
            for tensor in kept:
                name = f"{operator.name}.{tensor.index}"
                found[dump.step, before].setdefault(dump.rank, {})[name] = tensor, tensor.file or dump.path
    return found


def _figures(tensor: Tensor) -> tuple[float, ...] | None:
    told = tensor.statistics
    values = [v for v in (told.norm, told.max, told.min) if v is not None and math.isfinite(v)]
    return tuple(values) if len(values) >= 2 and any(values) else None


def _same(one: Tensor, other: Tensor) -> bool | None:
    """Whether two ranks' figures of one weight agree; None: not known."""
    a, b = _figures(one), _figures(other)
    if a is None or b is None or len(a) != len(b) or one.shape != other.shape or one.dtype != other.dtype:
        return None
    return all(
        math.isclose(x, y, rel_tol=EQUAL, abs_tol=EQUAL * max(map(abs, a))) for x, y in zip(a, b, strict=True)
    )


def _layout(run: Run) -> bool | None:
    """Whether settings say that ranks hold parts of the model; None: they do not tell."""
    told = [s.value for s in run.raw_settings if _PARTS.search(s.key.rsplit(".", 1)[-1])]
    numbers = [v for v in told if isinstance(v, (int, float)) and not isinstance(v, bool)]
    if any(v > 1 for v in numbers) or any(isinstance(v, str) or v is True for v in told):
        return True
    modes = [s.value for s in run.raw_settings if s.key.rpartition(".")[2] == "parallel_mode"]
    whole = bool(modes) and all(_DATA_PARALLEL.search(str(mode)) for mode in modes)
    return False if numbers or whole else None


def shared_out(run: Run) -> bool:
    """Whether ranks keep the moments of a part each (Megatron's distributed optimizer, DeepSpeed's ZeRO)."""
    for setting in run.raw_settings:
        name, value = setting.key.rsplit(".", 1)[-1], setting.value
        if name in ("use_distributed_optimizer", "enable_parallel_optimizer") and value is True:
            return True
        if setting.key.endswith("zero_optimization.stage") or name == "zero_stage":
            if isinstance(value, (int, float)) and value >= 1:
                return True
    return False


def _groups(ranks: dict[int, _Weights], names: set[str]) -> tuple[list[list[int]], str]:
    """Ranks that hold the same, and the weight that tells them apart ("" where nothing does)."""
    groups: list[list[int]] = []
    apart = ""
    for rank in sorted(ranks):
        for group in groups:
            differing = next(
                (n for n in sorted(names) if _same(ranks[group[0]][n][0], ranks[rank][n][0]) is False), ""
            )
            if not differing:
                group.append(rank)
                break
            apart = apart or differing
        else:
            groups.append([rank])
    return groups, apart


def _replicas(
    run: Run,
    held: dict[tuple[int, bool], dict[int, _Weights]],
    key: tuple[int, bool],
    ranks: dict[int, _Weights],
    names: set[str],
) -> bool:
    """Whether ranks hold one model each although their weights differ.

    Parts of one model never were equal, and their gradients are not: weights that agreed in an earlier
    step, or gradients that agree after they were exchanged, are those of replicas.
    """
    for (step, _), weights in held.items():
        if step < key[0] and weights.keys() >= ranks.keys():
            before = {rank: weights[rank] for rank in ranks}
            known = all(set(w) >= names for w in before.values())
            if known and len(_groups(before, names)[0]) == 1:
                return True
    reduced: dict[int, _Weights] = {}
    for dump in monitored(run):
        if dump.rank in ranks and dump.step == key[0]:
            for operator in dump.operators:
                if operator.kind == REDUCED:
                    for tensor in operator.outputs:
                        reduced.setdefault(dump.rank, {})[operator.name] = tensor, dump.path
    if reduced.keys() != ranks.keys():
        return False
    shared = set.intersection(*(set(w) for w in reduced.values()))
    told = all(_figures(weights[n][0]) is not None for weights in reduced.values() for n in shared)
    return len(shared) >= 2 and told and len(_groups(reduced, shared)[0]) == 1


def _apart(view: View, initial: bool) -> Finding:
    held = _held(view.run)
    places = sorted((k for k, v in held.items() if k[1] is initial and len(v) > 1), key=lambda k: k[0])
    if not places:
        return unknown(
            "no dumps of several ranks hold weights of one step" if dumps(view.run) or held else NO_DUMP
        )
    split = _layout(view.run)
    if split:
        return unknown("the model is split over devices: ranks hold different parts")
    for key in places:
        ranks = held[key]
        names = set.intersection(*(set(w) for w in ranks.values()))
        if not names or any(set(w) != names for w in ranks.values()):
            return unknown("the ranks hold different weights: parts of one model?")
        groups, name = _groups(ranks, names)
        if len(groups) == 1:
            continue
        parts = split is None and len(Counter(map(len, groups)).keys()) == 1
        if parts and not _replicas(view.run, held, key, ranks, names):
            return unknown("the ranks' weights differ, and nothing tells whether they are parts of one model")
        rank = min(groups, key=len)[0] if len(groups) < len(ranks) else groups[1][0]
        said = (name.partition(": ")[2] or name).removesuffix(".0")
        held_by = "; ".join(", ".join(map(str, g[:8])) for g in groups[:4])
        return present(
            f"the weights of {len(ranks)} ranks differ at step {key[0]}: {len(groups)} kinds, {said} for one"
            f" (equal are ranks {held_by})",
            value=len(groups),
            step=key[0],
            where=(Place(ranks[rank][name][1] or said, step=key[0], rank=rank),),
            subject=Subject(said, key[0], rank),
        )
    return absent(f"the weights of {len(held[places[0]])} ranks agree in all figures")


@probe()
def initial_apart(view: View) -> Finding:
    """Dumps of several ranks hold other weights before the first update (tolerance: `EQUAL`)."""
    return _apart(view, initial=True)


@probe()
def replicas_apart(view: View) -> Finding:
    """Dumps of several ranks, or msprobe's monitor, hold other weights at a step after the first."""
    return _apart(view, initial=False)


@probe()
def some_weights_apart(view: View) -> Finding:
    """Of weights that train some are equal over ranks and others are not: something is exchanged, not all.

    Trained are weights whose figures are others than at an earlier step.
    """
    held = _held(view.run)
    if _layout(view.run):
        return unknown("the model is split over devices: ranks hold different parts")
    keys = sorted((k for k, v in held.items() if len(v) > 1), key=lambda k: k[0])
    for number, key in enumerate(keys):
        ranks = held[key]
        names = set.intersection(*(set(w) for w in ranks.values()))
        before = next(
            (held[k] for k in keys[:number] if k[0] < key[0] and held[k].keys() >= ranks.keys()), None
        )
        if before is None:
            continue
        first = min(ranks)
        trained = {
            n for n in names if n in before[first] and _same(before[first][n][0], ranks[first][n][0]) is False
        }
        apart = {n for n in trained if len(_groups(ranks, {n})[0]) > 1}
        equal = {n for n in trained - apart if all(_figures(w[n][0]) is not None for w in ranks.values())}
        started = all(len(_groups({r: before[r] for r in ranks}, {n})[0]) == 1 for n in apart)
        if apart and equal and started:
            some = (min(apart).partition(": ")[2] or min(apart)).removesuffix(".0")
            return present(
                f"at step {key[0]} {len(apart)} of {len(apart) + len(equal)} weights that train differ over"
                f" ranks ({some}), and the others are equal",
                value=len(apart),
                step=key[0],
            )
    return unknown("no weights that train are equal over ranks while others differ")


def _exchanged(run: Run) -> list[tuple[int, dict[int, _Weights]]]:
    """Gradients after the exchange, by step, then by rank; without experts, which ranks share out."""
    reduced: dict[int, dict[int, _Weights]] = defaultdict(lambda: defaultdict(dict))
    for dump in monitored(run):
        if dump.rank is None or dump.step is None:
            continue
        for operator in dump.operators:
            if operator.kind == REDUCED and "expert" not in operator.name.lower():
                for tensor in operator.outputs:
                    reduced[dump.step][dump.rank][operator.name] = tensor, dump.path
    return sorted(reduced.items())


@probe()
def reduced_apart_on_one(view: View) -> Finding:
    """After the exchange one rank alone has other gradients than all others, dumped or by its norm."""
    return any_of((_dumped_on_one(view), _logged_on_one(view.run)))


def _logged_on_one(run: Run) -> Finding:
    """A gradient norm that all ranks log equal at most steps, and one rank alone otherwise at others."""
    curves = of_ranks(run, "grad_norm")
    common = common_steps(curves) if len(curves) > LEAST_RANKS else None
    if common is None:
        return unknown("no gradient norms of several ranks at common steps are logged")
    steps, values = common
    steps, values = steps[np.all(np.isfinite(values), axis=0)], values[:, np.all(np.isfinite(values), axis=0)]
    middle = np.median(values, axis=0)
    off = np.abs(values - middle) > APART * np.maximum(np.abs(middle), 1e-12)
    others = off.sum(axis=0)
    equal = np.ptp(values, axis=0) <= EQUAL * np.maximum(np.abs(middle), 1e-12)
    if len(steps) < 2 * LEAST_STEPS or np.sum(equal) < len(steps) / 2:
        return unknown("the ranks log gradient norms of their own, or too few")
    if not others.any():
        return absent(f"the gradient norms of {len(curves)} ranks are equal", value=0)
    alone = {int(r) for r in np.flatnonzero(off.any(axis=1))}
    if len(alone) > 1 or np.sum(others) < LEAST_STEPS:
        return unknown(f"the gradient norms of {len(alone)} ranks part now and then")
    rank = list(curves)[alone.pop()]
    at = float(steps[np.argmax(others > 0)])
    text = f"the gradient norm of rank {rank} is not that of the {len(curves) - 1} other ranks, which agree"
    more = f" at {int(np.sum(others > 0))} of {len(steps)} steps; at the others all are equal"
    series = curves[rank]
    return present(text + more, value=rank, step=at, where=(Place(series.file, step=at, rank=rank),))


def _dumped_on_one(view: View) -> Finding:
    """After the exchange one rank alone of several has other gradients; all others have the same.

    Parts of one model come in groups of one size, so that a rank that stands alone is no part.
    """
    agreed = 0
    for step, ranks in _exchanged(view.run):
        shared = set.intersection(*(set(g) for g in ranks.values()))
        if len(ranks) < LEAST_RANKS or len(shared) < 2 or any(set(g) != shared for g in ranks.values()):
            continue
        if any(_figures(g[n][0]) is None for g in ranks.values() for n in shared):
            continue
        groups, name = _groups(ranks, shared)
        if len(groups) == 2 and min(map(len, groups)) == 1:
            rank = min(groups, key=len)[0]
            said = name.partition(": ")[2] or name
            return present(
                f"at step {step} the gradients of rank {rank} after the exchange are others than those of the"
                f" {len(ranks) - 1} other ranks, which agree ({said})",
                value=rank,
                step=step,
                where=(Place(ranks[rank][name][1] or said, step=step, rank=rank),),
                subject=Subject(said, step, rank),
            )
        if len(groups) > 1:
            return unknown(f"at step {step} gradients are of {len(groups)} kinds: parts of one model?")
        agreed += 1
    if agreed:
        return absent(f"gradients agree over ranks after the exchange, at {agreed} steps", value=agreed)
    return unknown("gradients of three ranks after the exchange are not recorded")


@probe()
def reduced_apart(view: View) -> Finding:
    """Gradients differ over ranks after they were exchanged, of weights that are equal over these ranks."""
    if _layout(view.run):
        return unknown("the model is split over devices: ranks hold different parts")
    if shared_out(view.run):
        return unknown(
            "the optimizer's work is shared out: each rank gets the sum of its own part of a gradient alone"
        )
    held = _held(view.run)
    for step, ranks in _exchanged(view.run):
        weights = {r: held.get((step, True), {}).get(r, {}) for r in ranks}
        names = set.intersection(*(set(w) for w in weights.values()))
        if (
            len(ranks) < 2
            or not names
            or any(_figures(w[n][0]) is None for w in weights.values() for n in names)
        ):
            continue
        shared = set.intersection(*(set(g) for g in ranks.values()))
        if len(_groups(weights, names)[0]) > 1 or not shared:
            return unknown("weights differ over ranks: parts of one model?")
        apart = {n for n in shared if len(_groups(ranks, {n})[0]) == len(ranks)}
        text = f"at step {step} {len(apart)} of {len(shared)} gradients differ over {len(ranks)} ranks"
        if len(apart) == len(shared) >= 2:
            some = min(apart).partition(": ")[2]
            return present(
                f"{text} after they were exchanged ({some}), of weights that are equal",
                value=len(apart),
                step=step,
                where=(Place(some, step=step, rank=max(ranks)),),
                subject=Subject(some, step),
            )
        return absent(text, value=len(apart))
    return unknown("no gradients of several ranks lie there with the weights that they are of")


def _switches(run: Run) -> Iterator[tuple[RunFile, str, str, str]]:
    """Rows of msprobe's comparisons: file, the tensor, and whether run and benchmark want its gradient."""
    for file in run.dump_files:
        try:
            if not is_comparison(file):
                continue
            table = rows(file)
            at = {name.strip("\ufeff "): n for n, name in enumerate(next(table, []))}
            columns = [at.get(n) for n in ("NPU Name", "NPU Requires_grad", "Bench Requires_grad")]
            if None in columns:
                continue
            for cells in table:
                told = [cells[n].strip() for n in columns if n is not None and n < len(cells)]
                if len(told) == len(columns):
                    yield file, told[0], told[1].lower(), told[2].lower()
        except (Unreadable, OSError, StopIteration):
            continue


@probe()
def weights_frozen_here(view: View) -> Finding:
    """A comparison of dumps says that weights get no gradient here, and do in the benchmark.

    Outputs do not count: where activations are computed again, the first pass runs without gradients.
    """
    looked = 0
    if trains_adapters(view.run):
        return unknown("adapters are trained, so the rest is frozen by design")
    for file, name, mine, theirs in _switches(view.run):
        found = _WEIGHT.match(name)
        if found is None or not (_WITH_WEIGHTS.search(name) or ".parameters." in name):
            continue
        looked += 1
        if mine == "false" and theirs == "true":
            return present(
                f"{name} wants no gradient here, and does in the benchmark", where=(Place(file.path),)
            )
    if not looked:
        return unknown("no comparison of dumps tells which weights want gradients")
    return absent(f"{looked} weights want gradients on both sides alike", value=looked)

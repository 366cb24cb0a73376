"""Weights that ought to be the same: over ranks, at a restart, at the start of run and benchmark.

Parts of a model that were split over devices are no replicas.
"""

from __future__ import annotations

import re

from ...engine.model import Place, State
from ..curves.judging import probe
from ..registry import Finding, View, absent, any_of, present, unknown
from ..run import Event, Run
from ..tensors.checkpoints import Checkpoint, Weight
from ..tensors.history import History, change, changes
from ..tensors.shards import same_stage
from . import printed
from .saved import (
    few,
    history,
    latest,
    no_latest,
    parts_of,
    places,
)

_SPLIT_MODEL = re.compile(
    r"tensor_(?:model_)?parallel|pipeline_(?:model_)?parallel|^(?:tp|pp|ep)$|model_parallel|expert_parallel|"
    r"context_parallel|sharding_(?:degree|stage)|zero_stage|parallel_mode|^fsdp",
    re.I,
)


_NORM = re.compile(r"norm|(?:^|[._])ln(?:[._]|_?\d|f[._])", re.I)

# --------------------------------------------------------------------------------------- ranks, resume


def _model_split(run: Run) -> str:
    """A setting that splits the model over devices: then ranks hold different parts by design."""
    for setting in run.raw_settings:
        value = setting.value
        if not _SPLIT_MODEL.search(setting.key.rsplit(".", 1)[-1]):
            continue
        if isinstance(value, str) and re.search(
            r"semi_auto|auto_parallel|shard|hybrid|stage_?3", value, re.I
        ):
            return setting.key
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 1:
            return setting.key
        if value is True and setting.key.lower().endswith("fsdp"):
            return setting.key
    return ""


def _ranks(view: View, initial: bool) -> Finding:
    past = history(view.run)
    groups = [g for g in past.ranks if (g[0].at == 0) is initial and (initial or g[0].at)]
    if not groups:
        when = "initial weights" if initial else "weights of one step"
        return unknown(f"no two ranks saved their {when}")
    split = _model_split(view.run)
    if split:
        return unknown(f"{split} splits the model over devices: ranks hold different parts")
    for group in groups:
        first = group[0]
        for other in group[1:]:
            found = changes(first, other, past.most)
            if not found:
                return unknown("the ranks share no weights of equal shape")
            apart = [n for n, c in found.items() if c.moved]
            if not apart:
                continue
            # Tensor parallelism leaves what is not a matrix equal; a replica that went its own way does not.
            flat = [n for n in found if not first.weights[n].matrix]
            if not initial and flat and not any(n in apart for n in flat):
                return unknown("weight matrices differ over ranks and nothing else does: parts of one model?")
            most = max(apart, key=lambda n: found[n].ratio)
            return present(
                f"{len(apart)} of {len(found)} weights differ between ranks {first.rank} and {other.rank} "
                f"at {first.unit or 'step'} {first.at or 0:g}, {most} by {found[most].ratio:.2g} of its size"
                f"{past.sampled}",
                value=float(f"{found[most].ratio:.3g}"),
                step=first.at if first.unit == "step" else None,
                where=places(first, other),
            )
    size = len(groups[0])
    return absent(
        f"the weights of {size} ranks are equal bit for bit{past.sampled}", where=places(*groups[0][:2])
    )


@probe()
def replicas_differ(view: View) -> Finding:
    """Ranks saved different trainable weights at one step of training; buffers may differ.

    Where ranks hold parts of the model, scales and offsets of normalisation layers are in all of them.
    """
    return any_of((_ranks(view, initial=False), _unsplit(view.run)))


def _unsplit(run: Run) -> Finding:
    """Tensor-parallel ranks of one checkpoint: what is not split over them must be equal."""
    past = history(run)
    last = latest(past)
    if last is None or len(last.members) < 2:
        return unknown("no checkpoint is split over ranks")
    looked = 0
    for n, label in enumerate(last.members):
        for other in last.members[n + 1 :]:
            if not same_stage(label, other):
                continue
            pairs = _norms_of(last, label, other)
            looked += len(pairs)
            apart = [(a, c) for a, b in pairs if (c := change(a, b, past.most)) is not None and c.moved]
            if not apart:
                continue
            weight, most = max(apart, key=lambda p: p[1].ratio)
            return present(
                f"{len(apart)} of {len(pairs)} weights of normalisation layers, which every tensor-parallel "
                f"rank holds whole, differ between {label} and {other} of {last.said}, {weight.name} by "
                f"{most.ratio:.2g} of its size{past.sampled}",
                value=float(f"{most.ratio:.3g}"),
                step=last.at if last.unit == "step" else None,
                where=places(last),
            )
    if not looked:
        return unknown("the parts of the checkpoint share no normalisation layers")
    return absent(f"normalisation layers are equal in all ranks of {last.said}", where=places(last))


def _norms_of(saved: Checkpoint, label: str, other: str) -> list[tuple[Weight, Weight]]:
    """The weights of normalisation layers that two parts both hold, in one shape."""
    found = []
    for name, weight in saved.trained.items():
        own = name.removeprefix(f"{label}.")
        twin = saved.weights.get(f"{other}.{own}")
        if own != name and twin is not None and _NORM.search(own) and weight.shape == twin.shape:
            found.append((weight, twin))
    return [(a, b) for a, b in found if len(a.shape) == 1]


@probe()
def initial_differ(view: View) -> Finding:
    """Ranks saved different weights before the first step."""
    return _ranks(view, initial=True)


@probe()
def printed_over_ranks(view: View) -> Finding:
    """Ranks print other figures of one first weight, each its own."""
    ranks = sorted({e.rank for e in view.run.events_of("worked-out") if e.rank is not None})
    if split := _model_split(view.run):
        return unknown(f"{split} splits the model over devices: ranks hold different parts")
    first = next((r for r in ranks if printed.figures(view.run, r)), None)
    others = [r for r in ranks if first is not None and r != first and printed.figures(view.run, r)]
    if first is None or not others:
        return unknown("no two ranks printed figures of their first weights")
    mine = printed.figures(view.run, first)
    return any_of(printed.apart(mine, printed.figures(view.run, r), f"those of rank {r}") for r in others)


_FILE = re.compile(r"[\w./\\-]+\.(?:pth?|pt|ckpt|bin|tar|safetensors|pkl)\b")


def _resumed_from(resumed: list[Event]) -> str:
    """The name of the file that a log says training went on from."""
    found = next((m[0] for e in resumed if (m := _FILE.search(e.text))), "")
    return re.split(r"[/\\]", found)[-1]


@probe()
def optimizer_state_missing(view: View) -> Finding:
    """A run that was resumed, from checkpoints of its own that hold no optimizer state."""
    past = history(view.run)
    resumed = [e for e in view.run.events if e.kind in ("resume", "rewind")]
    setting = view.run.settings.get("resume_from")
    if not resumed and (setting is None or setting.value in (False, None, "", "none", "None")):
        return unknown("nothing tells that the run was resumed")
    judged = [c for c in past.every if c.optimizer is not None and c.at != 0]
    if not judged:
        return unknown("no checkpoint tells whether it holds optimizer state")
    without = [c for c in judged if not c.optimizer]
    at = Place(resumed[0].file, resumed[0].line) if resumed else None
    where = (*places(*judged[:2]), *((at,) if at else ()))
    named = _resumed_from(resumed)
    if named and not any(c.path.endswith(named) for c in past.every):
        return unknown(
            f"the run went on from {named}, which does not lie there: what lies there may be exports"
        )
    if len(without) == len(judged):
        return present(
            f"none of {len(judged)} checkpoints holds optimizer state, and the run was resumed", where=where
        )
    if without:
        return unknown(f"{len(without)} of {len(judged)} checkpoints hold no optimizer state")
    return absent(f"all {len(judged)} checkpoints hold optimizer state", where=where)


# ------------------------------------------------------------------------------------------- benchmark


@probe("benchmark")
def start_differs(view: View) -> Finding:
    """The initial weights of run and benchmark, where both saved or printed them, are not the same."""
    if view.benchmark is None:
        return unknown("needs a benchmark run (--benchmark)")
    told = printed.apart(
        printed.figures(view.run), printed.figures(view.benchmark), "the benchmark's", "benchmark"
    )
    if told.state is not State.UNKNOWN:
        return told
    mine, theirs = history(view.run), history(view.benchmark)
    a, b = (next((c for c in p.line if c.at == 0), None) for p in (mine, theirs))
    if a is None or b is None:
        return unknown("the initial weights of both sides do not lie in checkpoints")
    found = changes(a, b, mine.most or theirs.most)
    if not found:
        return unknown("the initial weights share no names")
    apart = [n for n, c in found.items() if c.ratio > 1e-6]
    where = (*places(a), Place(b.path, side="benchmark"))
    if not apart:
        return absent(f"{len(found)} initial weights are those of the benchmark", where=where)
    return present(
        f"{len(apart)} of {len(found)} initial weights are not the benchmark's: {few(parts_of(apart))}",
        value=len(apart),
        where=where,
    )


def loaded_from(past: History, given: Checkpoint, *, apart: float = 1.0, near: float = 0.7) -> Finding:
    """Whether the earliest checkpoint starts from the weights of `given`.

    Two independent draws of one spread lie sqrt(2) of their size apart, a fine-tuned weight a small part of
    it: a matrix counts as not loaded from `apart` on, as loaded below `near`.
    """
    start = past.line[0] if past.line else latest(past)
    if start is None:
        return no_latest(past)
    found = {
        n: c.ratio
        for n, c in changes(given, start, past.most).items()
        if given.weights[n].matrix and c.finite
    }
    if not found:
        shared = set(given.trained) & set(start.trained)
        why = "shapes differ" if shared else "no name is common: a prefix was not stripped?"
        return unknown(f"{given.path} and {start.said} cannot be compared: {why}")
    fresh = [n for n, r in found.items() if r >= apart]
    where = places(start)
    if fresh and len(fresh) == len(found):
        return present(
            f"none of {len(found)} weight matrices of {start.said} resembles {given.path}: it was not loaded",
            value=len(fresh),
            where=where,
        )
    if fresh:
        return present(
            f"{len(fresh)} of {len(found)} weight matrices of {start.said} do not resemble {given.path}: "
            f"{few(parts_of(fresh))}",
            value=len(fresh),
            where=where,
        )
    if all(r < near for r in found.values()):
        return absent(
            f"all {len(found)} weight matrices of {start.said} start from {given.path}", where=where
        )
    return unknown(
        f"weights of {start.said} lie too far from {given.path} to tell, and too near", where=where
    )

"""Switches that change the result and are off where a launch line or configuration leaves them out."""

from __future__ import annotations

from collections.abc import Sequence

from ...engine.model import Place, State
from .. import settings as names
from ..registry import Finding, View, absent, present, probe, unknown
from ..run import Run, Setting
from .both import both, equal, told_sides, where_told
from .end import final_loss_above

LEAST = 5  # options of a launch line: fewer may be a part of it
_OPTIONS = frozenset(
    ("micro_batch_size", "train_iters", "lr_warmup_iters", "tensor_model_parallel_size", "clip_grad")
)


@probe("benchmark")
def switch_apart(view: View, switches: list[str]) -> Finding:
    """One of these switches is on in one launch line of Megatron-LM and left out in the other's."""
    return _apart(view, switches)


@probe("benchmark")
def tying_differs(view: View, switches: list[str]) -> Finding:
    """The output layer is the embedding on one side and a matrix of its own on the other."""
    found = both(view, "tie_embeddings")
    if found is None:
        return _apart(view, switches)
    words = told_sides(found)
    if equal("tie_embeddings", *found):
        return absent(words, where=where_told(found))
    return present(words, value=str(found[0].value), threshold=str(found[1].value), where=where_told(found))


def _apart(view: View, switches: Sequence[str]) -> Finding:
    if view.benchmark is None:
        return unknown("needs a benchmark run (--benchmark)")
    sides = [_switched(run, switches) for run in (view.run, view.benchmark)]
    mine, theirs = sides
    if mine is None or theirs is None:
        return unknown("no launch line of Megatron-LM is recorded on both sides")
    differ = [s for s in switches if (s in mine) != (s in theirs)]
    if not differ:
        return absent(f"switched alike: {', '.join(switches)}", value=0)
    said = [f"--{s.replace('_', '-')} is {'on' if s in mine else 'left out'}" for s in differ]
    there = "left out" if differ[0] in mine else "on"
    where = tuple(
        Place(at.file, at.line, side="run" if side is mine else "benchmark")
        for side in (mine, theirs)
        for s in differ
        if (at := side.get(s)) is not None
    )
    return present(f"{', '.join(said)}, in the benchmark {there}", value=len(differ), where=where)


def _switched(run: Run, switches: Sequence[str]) -> dict[str, Setting] | None:
    """The switches that are on, by name; None where no launch line, or dump of its options, is recorded."""
    by_name: dict[str, Setting] = {}
    for setting in sorted(run.raw_settings, key=lambda s: s.trust):
        by_name[names.last_part(setting.key)] = setting
    if len(_OPTIONS & by_name.keys()) < 2 or len(by_name) < LEAST:
        return None
    return {s: by_name[s] for s in switches if s in by_name and by_name[s].value is True}


COMMON = 8  # settings that two configurations of one tool share at least


@probe("benchmark")
def tuning_switch_apart(view: View, switches: list[str]) -> Finding:
    """Tuning of a language model: one of these is on on one side, and off or left out on the other.

    Both have to be configurations of one tool: most names of the one stand in the other.
    """
    if view.benchmark is None:
        return unknown("needs a benchmark run (--benchmark)")
    mine, theirs = (
        {names.last_part(s.key): s for s in sorted(run.raw_settings, key=lambda s: s.trust)}
        for run in (view.run, view.benchmark)
    )
    shared = mine.keys() & theirs.keys()
    if len(shared) < max(COMMON, 0.6 * min(len(mine), len(theirs))):
        return unknown("the two sides are no configurations of one tool")
    told = [s for s in switches if s in mine or s in theirs]
    if not told:
        return unknown(f"neither side says {', '.join(switches[:3])}")
    for switch in told:
        one, other = mine.get(switch), theirs.get(switch)
        if _is_on(one) == _is_on(other):
            continue
        text = f"{switch} = {_said(one)}, in the benchmark {_said(other)}"
        where = _both_places(one, other)
        return present(text, value=_said(one), threshold=_said(other), where=where)
    return absent(f"switched alike: {', '.join(told)}", value=0)


def _both_places(one: Setting | None, other: Setting | None) -> tuple[Place, ...]:
    mine = [Place(one.file, one.line, side="run")] if one is not None else []
    theirs = [Place(other.file, other.line, side="benchmark")] if other is not None else []
    return (*mine, *theirs)


def _is_on(setting: Setting | None) -> bool:
    return setting is not None and str(setting.value).lower() in ("true", "1", "yes")


def _said(setting: Setting | None) -> str:
    return "left out" if setting is None else str(setting.value)


# What the sum of gradients over replicas and micro batches is kept in
_FINE = frozenset(("accumulate_allreduce_grads_in_fp32", "grad_reduce_in_fp32", "fp32_allreduce"))
_COARSE = frozenset(("grad_reduce_in_bf16", "fp16_allreduce", "bf16_allreduce"))
_FORMATS = frozenset(
    (
        *("communication_data_type", "grad_accum_dtype", "mixed_precision_reduce"),
        *("reduce_dtype", "grad_reduce_dtype"),
    )
)


@probe("benchmark")
def gradients_summed_coarsely(view: View) -> Finding:
    """Gradients are summed over replicas or micro batches in half precision, and in fp32 in the benchmark."""
    if view.benchmark is None:
        return unknown("needs a benchmark run (--benchmark)")
    mine, theirs = _summed(view.run), _summed(view.benchmark)
    if mine is None or theirs is None:
        return unknown("not recorded on both sides: the format in which gradients are summed")
    words = f"{mine[1].key} = {mine[1].value}, in the benchmark {theirs[1].key} = {theirs[1].value}"
    where = _both_places(mine[1], theirs[1])
    if mine[0] and not theirs[0]:
        if (end := final_loss_above(view, 0.01)).state is State.ABSENT:
            return unknown(f"{words}; it does no harm: {end.why}", where=where)
        return present(words, value=str(mine[1].value), threshold=str(theirs[1].value), where=where)
    return absent(words, where=where)


def _summed(run: Run) -> tuple[bool, Setting] | None:
    """Whether gradients are summed in half precision, and the setting that says so."""
    for setting in sorted(run.raw_settings, key=lambda s: -s.trust):
        key, value = names.last_part(setting.key), str(setting.value).lower()
        if key in _FINE and isinstance(setting.value, bool):
            return not setting.value, setting
        if key in _COARSE and isinstance(setting.value, bool) and setting.value:
            return True, setting
        if key in _FORMATS and ("32" in value or "16" in value):
            return "16" in value, setting
    return None

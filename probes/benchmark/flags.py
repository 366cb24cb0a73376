"""Switches of Megatron-LM's launch lines that change the result and are off where a line leaves them out."""

from __future__ import annotations

from collections.abc import Sequence

from ...engine.model import Place
from .. import settings as names
from ..registry import Finding, View, absent, present, probe, unknown
from ..run import Run, Setting
from .both import both, equal, told_sides, where_told

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

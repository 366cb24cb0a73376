"""Whether weights move from checkpoint to checkpoint, and how far.

What no optimizer updates (buffers, counters, statistics) does not count. One checkpoint alone tells nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...engine.model import State
from ..curves import gradients
from ..curves.judging import probe
from ..registry import Finding, View, absent, any_of, present, unknown
from ..run import Run
from ..tensors.checkpoints import Checkpoint
from ..tensors.history import History, changes
from . import logged as weights_logged
from .saved import (
    apart,
    few,
    history,
    no_change,
    norms,
    parts_of,
    places,
)

_ADAPTER = re.compile(r"lora_|adapter|\bia3_|prompt_encoder|prefix_encoder", re.I)


# ------------------------------------------------------------------------------------------- movement


@probe()
def weights_unchanged(view: View, relative: float = 1e-5) -> Finding:
    """Weights stand still: logged ones vary by less than `relative`, or two checkpoints are equal."""
    return any_of(
        (
            _checkpoints_equal(view.run),
            gradients.weights_unchanged(view, relative=relative),
            weights_logged.unchanged(view.run),
        )
    )


def _checkpoints_equal(run: Run) -> Finding:
    past = history(run)
    missing = no_change(past)
    if missing is not None:
        return missing
    first, last = past.line[0], past.line[-1]
    found = {n: c for n, c in changes(first, last, past.most).items() if c.finite}
    still = [n for n, c in found.items() if not c.moved]
    if not found:
        return unknown("the checkpoints share no weights of equal shape")
    if len(still) == len(found):
        return present(
            f"all {len(found)} weights are equal bit for bit {apart(first, last)}{past.sampled}",
            value=0.0,
            step=first.at if first.unit == "step" else None,
            where=places(first, last),
        )
    if still:
        return unknown(f"{len(found) - len(still)} of {len(found)} weights move {apart(first, last)}")
    return absent(
        f"all {len(found)} weights move {apart(first, last)}{past.sampled}", where=places(first, last)
    )


@probe()
def part_unchanged(view: View) -> Finding:
    """Some trainable weights are equal bit for bit in the first and last checkpoint while others moved.

    Without two checkpoints, histograms that were logged are looked at.
    """
    found = _part_saved(view)
    if found.state is not State.UNKNOWN or len(history(view.run).line) > 1:
        return found
    told = weights_logged.part_unchanged(view.run)
    meant = _freezing_meant(view.run, weights_logged.logged(view.run))
    if told.state is State.PRESENT and meant:
        return unknown(f"{told.why}; {meant}", where=told.where)
    return found if told is weights_logged.NONE else told


def _part_saved(view: View) -> Finding:
    past = history(view.run)
    missing = no_change(past)
    if missing is not None:
        return missing
    first, last = past.line[0], past.line[-1]
    found = {n: c for n, c in changes(first, last, past.most).items() if c.finite}
    ones = norms(last, past.most)[0]
    still = [n for n, c in found.items() if not c.moved and n not in ones]
    moved = [n for n, c in found.items() if c.moved]
    if not moved:
        return unknown(f"no weight moves {apart(first, last)}: not a part of them")
    where = places(first, last)
    if still and all(first.weights[n].type.width <= 2 for n in still):
        return unknown(f"{len(still)} weights stand still, in 16 bits: their updates may have rounded away")
    if still and not any(first.weights[n].matrix for n in still):
        return unknown(f"only {few(still)} stand still, which a gradient of zero by design explains")
    if not still and any(not found[n].moved for n in ones & set(found)):
        return unknown("only scales of normalisation layers stand still")
    if not still:
        return absent(f"every weight moves {apart(first, last)}{past.sampled}", where=where)
    held = sum(first.weights[n].count for n in still)
    share = held / max(1, sum(first.weights[n].count for n in found))
    words = (
        f"{len(still)} of {len(found)} weights ({share:.0%} of the elements) are equal bit for bit "
        f"{apart(first, last)}: {few(parts_of(still))}{past.sampled}"
    )
    meant = _freezing_meant(view.run, found)
    if meant:
        return unknown(f"{words}; {meant}", value=float(f"{share:.3g}"), where=where)
    return present(words, value=float(f"{share:.3g}"), where=where)


def _freezing_meant(run: Run, names: Iterable[str]) -> str:
    """What tells that a part is frozen on purpose."""
    if any(_ADAPTER.search(n) for n in names):
        return "adapters train and the rest is meant to stand still"
    setting = run.settings.get("freeze") or run.settings.get("lora_rank") or run.settings.get("adapter")
    if setting is not None and setting.value not in (False, None, 0, "none", "None", ""):
        return f"the configuration freezes parts ({setting.raw})"
    if any(
        re.search(r"requires_grad(?:_\(\s*False|\s*=\s*False)|\.freeze\(|trainable\s*=\s*False", s)
        for s in run.scripts.values()
    ):
        return "the script freezes parts"
    return ""


def _steps_between(before: Checkpoint, after: Checkpoint) -> float | None:
    if before.unit == after.unit == "step" and before.at is not None and after.at is not None:
        return after.at - before.at
    return None


def _matrices(past: History) -> tuple[dict[str, float], Checkpoint, Checkpoint]:
    """Relative change of every weight matrix between the last two checkpoints."""
    before, after = past.line[-2], past.line[-1]
    found = changes(before, after, past.most)
    ratios = {n: c.ratio for n, c in found.items() if before.weights[n].matrix and c.finite}
    return {n: r for n, r in ratios.items() if np.isfinite(r)}, before, after


@probe()
def change_tiny(view: View, ratio: float = 1e-4) -> Finding:
    """The median weight matrix changes by less than `ratio` of its size from one checkpoint to the next.

    Many steps lie between checkpoints, so what stays below the limit over all of them is below it in each;
    that it is never below shows only where the change per step exceeds it on average.
    """
    past = history(view.run)
    missing = no_change(past)
    if missing is not None:
        return missing
    ratios, before, after = _matrices(past)
    moving = {n: r for n, r in ratios.items() if r > 0}
    if not ratios:
        return unknown("no weight matrix can be compared")
    if not moving:
        return present(
            f"no weight matrix changes {apart(before, after)}",
            value=0.0,
            threshold=ratio,
            where=places(before, after),
        )
    middle = float(np.median(list(moving.values())))
    words = (
        f"weight matrices change by {middle:.2g} of their size (median) {apart(before, after)}{past.sampled}"
    )
    seen: dict[str, Any] = {
        "value": float(f"{middle:.3g}"),
        "threshold": ratio,
        "where": places(before, after),
    }
    if middle < ratio:
        return present(words, **seen)
    steps = _steps_between(before, after)
    if steps and middle / steps >= ratio:
        return absent(f"{words}, in {steps:g} steps", **seen)
    return unknown(f"{words}: how much that is per step cannot be told", **seen)


@probe()
def change_large(view: View, ratio: float = 0.1) -> Finding:
    """A weight matrix moves by more than `ratio` of its size per step, on average between two checkpoints.

    The distance between two checkpoints is at most the sum of the steps between them, so its mean is a
    lower bound. The first interval is left out where there is another: weights that start small move far.
    """
    past = history(view.run)
    missing = no_change(past)
    if missing is not None:
        return missing
    ratios, before, after = _matrices(past)
    steps = _steps_between(before, after)
    if not ratios:
        return unknown("no weight matrix can be compared")
    if not steps:
        return unknown("the checkpoints do not tell how many steps lie between them")
    most = max(ratios, key=lambda n: ratios[n])
    per_step = ratios[most] / steps
    words = f"{most} moves by {per_step:.2g} of its size per step {apart(before, after)}{past.sampled}"
    seen: dict[str, Any] = {
        "value": float(f"{per_step:.3g}"),
        "threshold": ratio,
        "where": places(before, after),
    }
    if per_step > ratio and before.at:
        return present(words, **seen)
    if per_step > ratio:
        return unknown(f"{words}, which weights that start small do", **seen)
    if steps == 1:
        return absent(words, **seen)
    return unknown(f"{words}; single steps among {steps:g} may be larger", **seen)

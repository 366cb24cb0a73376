"""What weights in checkpoints are: finite, alive, of a plausible size, loaded."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from ...engine.model import Place, State
from ..assembly import layout
from ..curves.judging import probe
from ..registry import Finding, View, absent, any_of, present, unknown
from ..tensors.checkpoints import Checkpoint
from ..tensors.history import History, changes
from . import logged as weights_logged
from .saved import (
    apart,
    few,
    history,
    latest,
    measured,
    no_change,
    no_latest,
    norms,
    places,
)
from .shared import loaded_from

_OFFSET = re.compile(r"(?:^|[._])(?:bias|beta)$", re.I)
MOST_RANKS = 64
_ADAPTER = re.compile(r"lora_|adapter|\bia3_|prompt_encoder|prefix_encoder", re.I)


# --------------------------------------------------------------------------------------------- content


@probe()
def not_finite(view: View) -> Finding:
    """Saved or logged weights hold NaN or infinity; the first checkpoint that does is named."""
    return any_of((_not_finite(view), weights_logged.not_finite(view.run)))


def _not_finite(view: View) -> Finding:
    past = history(view.run)
    last = latest(past)
    if last is None:
        return no_latest(past)
    found = measured(last, past.most)
    bad = [n for n, f in found.items() if f.bad]
    if not found:
        return unknown("the values of the latest checkpoint cannot be read")
    if not bad:
        return _elsewhere(past, last, len(found))
    first = next((c for c in past.line if any(f.bad for f in measured(c, past.most).values())), last)
    since = "" if first is last else f", first in {first.said}"
    elements = sum(found[n].bad for n in bad)
    return present(
        f"{len(bad)} of {len(found)} weights of {last.said} hold NaN or infinite values ({elements:,} "
        f"elements){since}: {few(bad)}{past.sampled}",
        value=elements,
        step=first.at if first.unit == "step" else None,
        where=places(first) if first is last else places(first, last),
    )


def _elsewhere(past: History, last: Checkpoint, count: int) -> Finding:
    """What the other ranks saved at that moment: parts of the model, or replicas of it."""
    beside = [
        c
        for c in past.every
        if c is not last
        and c.at is not None
        and (c.at, c.unit) == (last.at, last.unit)
        and c.rank != last.rank
    ]
    for one in beside[:MOST_RANKS]:
        found = measured(one, past.most)
        bad = [n for n, f in found.items() if f.bad]
        if bad:
            return present(
                f"{len(bad)} of {len(found)} weights of {one.said} hold NaN or infinite values "
                f"({sum(found[n].bad for n in bad):,} elements), those of rank {last.rank or 0} none: "
                f"{few(bad)}{past.sampled}",
                value=sum(found[n].bad for n in bad),
                step=one.at if one.unit == "step" else None,
                where=places(one),
            )
    others = len(beside[:MOST_RANKS])
    ranks = f" and of {others} other rank{'s' if others > 1 else ''}" if others else ""
    return absent(f"all {count} weights of {last.said}{ranks} are finite{past.sampled}", where=places(last))


@probe()
def constant(view: View) -> Finding:
    """A weight matrix of a trained checkpoint, or of the last histogram, is all zero, or all one number."""
    return any_of((_constant(view), weights_logged.constant(view.run)))


def _constant(view: View) -> Finding:
    past = history(view.run)
    last = latest(past)
    if last is None:
        return no_latest(past)
    if not last.at:
        return unknown(f"{last.path} is not known to be trained: a matrix may start at zero by design")
    matrices = {
        n: f
        for n, f in measured(last, past.most).items()
        if last.weights[n].matrix and not _ADAPTER.search(n)
    }
    if not matrices:
        return unknown("no weight matrix can be read")
    flat = [n for n, f in matrices.items() if f.constant]
    if not flat:
        return absent(
            f"none of {len(matrices)} weight matrices of {last.said} is constant", where=places(last)
        )
    zero = sum(matrices[n].high == 0 for n in flat)
    kind = "all zero" if zero == len(flat) else "all one number" if not zero else "all zero or all one number"
    return present(
        f"{len(flat)} of {len(matrices)} weight matrices of {last.said} are {kind}: {few(flat)}"
        f"{past.sampled}",
        value=len(flat),
        where=places(last),
    )


@probe()
def small(view: View, size: float = 1e-6) -> Finding:
    """The mean of |w| of a weight matrix of a trained checkpoint is below `size`."""
    past = history(view.run)
    last = latest(past)
    if last is None:
        return no_latest(past)
    if not last.at:
        return unknown(f"{last.path} is not known to be trained: a matrix may start at zero by design")
    sizes = {
        n: f.size
        for n, f in measured(last, past.most).items()
        if last.weights[n].matrix and f.bad < f.seen and not _ADAPTER.search(n)
    }
    if not sizes:
        return unknown("no weight matrix can be read")
    least = min(sizes, key=lambda n: sizes[n])
    words = f"{least} of {last.said} has a mean size of {sizes[least]:.2g}{past.sampled}"
    seen: dict[str, Any] = {"value": float(f"{sizes[least]:.3g}"), "threshold": size, "where": places(last)}
    return present(words, **seen) if sizes[least] < size else absent(f"smallest matrix: {words}", **seen)


@probe()
def large(view: View, ratio: float = 100.0) -> Finding:
    """A weight matrix reaches `ratio` times the largest value that it had in the first checkpoint.

    Only where the first checkpoint holds the initial weights can it be ruled out: else they may have grown
    before.
    """
    return any_of((_large(view, ratio), weights_logged.large(view.run, ratio)))


def _large(view: View, ratio: float) -> Finding:
    past = history(view.run)
    missing = no_change(past)
    if missing is not None:
        return missing
    first, last = past.line[0], past.line[-1]
    early, late = measured(first, past.most), measured(last, past.most)
    grown = {
        n: max(abs(late[n].low), abs(late[n].high)) / max(abs(f.low), abs(f.high))
        for n, f in early.items()
        if n in late
        and first.weights[n].matrix
        and f.bad < f.seen
        and late[n].bad < late[n].seen
        and max(abs(f.low), abs(f.high)) > 0
    }
    if not grown:
        return unknown("no weight matrix can be compared")
    most = max(grown, key=lambda n: grown[n])
    words = f"the largest value of {most} grows {grown[most]:.3g} times {apart(first, last)}{past.sampled}"
    seen: dict[str, Any] = {
        "value": float(f"{grown[most]:.3g}"),
        "threshold": ratio,
        "where": places(first, last),
    }
    if grown[most] >= ratio:
        return present(words, **seen)
    if first.at == 0:
        return absent(words, **seen)
    return unknown(f"{words}; what it was at the start lies in no checkpoint", **seen)


@probe()
def norms_stuck(view: View, share: float = 0.5, narrow: bool = True) -> Finding:
    """Scales of normalisation layers are exactly 1.0 in two checkpoints while most weight matrices moved.

    `share` of the matrices must have moved: else nothing trains, which is another symptom. `narrow`: only
    scales stored in 16 bits, which round small updates away; else only wider ones.
    """
    past = history(view.run)
    missing = no_change(past)
    if missing is not None:
        return missing
    first, last = past.line[0], past.line[-1]
    ones, scales = norms(last, past.most)
    ones &= norms(first, past.most)[0]
    scales = {n for n in scales if (last.weights[n].type.width <= 2) is narrow}
    ones &= scales
    matrices = [c for n, c in changes(first, last, past.most).items() if first.weights[n].matrix]
    if not scales:
        bits = "16-bit" if narrow else "32-bit"
        return unknown(f"the checkpoints hold no {bits} scales of normalisation layers")
    if not matrices or sum(bool(c.moved) for c in matrices) < share * len(matrices):
        return unknown("too few weight matrices move to expect the scales to")
    where = places(first, last)
    if not ones:
        return absent(f"no scale of {len(scales)} normalisation layers stands still at 1.0", where=where)
    kept = {last.weights[n].type.name for n in ones}
    return present(
        f"{len(ones)} of {len(scales)} scales of normalisation layers are exactly 1.0 "
        f"{apart(first, last)} (stored as {few(sorted(kept))}), while weight matrices move: "
        f"{few(sorted(ones, key=layout.natural))}",
        value=len(ones),
        where=where,
    )


@probe()
def pretrained_fresh(view: View) -> Finding:
    """The initial weights of a run that loads a checkpoint are fresh: every scale 1.0 and every offset 0.0.

    No trained model has that; a model without normalisation layers cannot be told. Where the file to load
    lies in the run directory, too, the matrices of both are compared: none of them resembles it, or all do.
    """
    past = history(view.run)
    setting = view.run.settings.get("pretrained")
    if setting is None or setting.value in (False, None, "", "none", "None"):
        return unknown("no setting says that training starts from a checkpoint")
    if not past.line or past.line[0].at != 0:
        return unknown("no checkpoint holds the initial weights")
    first = past.line[0]
    given = next((c for c in past.every if c is not first and _is_named(setting.value, c.path)), None)
    if given is not None:
        compared = loaded_from(past, given)
        none_alike = compared.state is State.PRESENT and compared.why.startswith("none of")
        if none_alike or compared.state is State.ABSENT:
            return compared
        return unknown(compared.why)
    ones, scales = norms(first, past.most)
    found = measured(first, past.most)
    offsets = [f for n, f in found.items() if _OFFSET.search(n) and len(first.weights[n].shape) == 1]
    if len(scales) < 2:
        return unknown("the model has no normalisation layers that would tell")
    fresh = len(ones) == len(scales)
    words = (
        f"{len(ones)} of {len(scales)} scales of normalisation layers in {first.said} are exactly 1.0 and "
        f"{sum(f.low == f.high == 0 for f in offsets)} of {len(offsets)} offsets exactly 0.0"
    )
    where = (*places(first), Place(setting.file, setting.line))
    if fresh and (part := _without_norms(first, scales)):
        return unknown(f"{words}; {part} has none, and may be the part that was loaded", where=where)
    if fresh:
        return present(f"{words}: as a fresh model has, although {setting.raw} is set", where=where)
    return absent(words, where=where)


PLAIN = 3  # matrices
LARGE = 0.4  # of all


def _without_norms(first: Checkpoint, scales: set[str]) -> str:
    """The name of a part of the model with several matrices and no normalisation layers; else ""."""
    plain: Counter[str] = Counter()
    for name, weight in first.trained.items():
        if weight.matrix:
            plain[name.partition(".")[0]] += 1
    normed = {name.partition(".")[0] for name in scales}
    return next(
        (
            n
            for n, count in plain.items()
            if count >= PLAIN and count >= LARGE * plain.total() and n not in normed
        ),
        "",
    )


def _is_named(value: object, path: str) -> bool:
    """Whether a setting names this file of the run directory, or the folder that it stands in."""
    told = str(value).replace("\\", "/").rstrip("/").removeprefix("./")
    return bool(told) and (path == told or path.endswith(f"/{told}") or path.rpartition("/")[0] == told)

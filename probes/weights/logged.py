"""What logged histograms say of weights: MindSpore's SummaryCollector, TensorBoard's add_histogram.

They hold extremes, sum and counts of buckets, no single values: that weights stand still, leave the range of
numbers, or grow shows; how far they move from step to step does not.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

from ...engine.model import Place
from ..readers.histograms import Histogram, read_histograms
from ..registry import Finding, absent, present, unknown
from ..run import Run

NONE = unknown("no histograms of weights were logged")
# Names of parameters, and what is logged beside them under the same names.
_WEIGHT = re.compile(r"(?:^|[./_ ])(?:weights?|kernel|bias|gamma|beta|embeddings?)(?:$|[./_:0-9 ])", re.I)
_OTHER = re.compile(
    r"grad|activ|output|input|hidden|update|delta|moment|exp_avg|optim|adam|running_|moving_|ratio|logits|attn",
    re.I,
)
_NORM = re.compile(r"norm|(?:^|[._/])(?:bn|ln)\d*|bias|beta|gamma|batch_normalization", re.I)
_MATRIX = re.compile(r"(?:^|[./_ ])(?:weight|kernel|embeddings?)(?:$|[./:0-9 ])", re.I)

Logged = dict[str, list[Histogram]]


@lru_cache(maxsize=4)
def logged(run: Run) -> Logged:
    """Histograms of weights by name, in order of steps; of a step that was written twice the last."""
    found: dict[str, dict[int, Histogram]] = defaultdict(dict)
    for file in run.summary_files:
        try:
            for one in read_histograms(file):
                if _WEIGHT.search(one.tag) and not _OTHER.search(one.tag):
                    found[one.tag.removesuffix("/auto")][one.step] = one
        except OSError:
            continue
    return {n: [steps[s] for s in sorted(steps)] for n, steps in found.items()}


def _places(run: Run) -> tuple[Place, ...]:
    return tuple(Place(f.path) for f in run.summary_files[:2])


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def not_finite(run: Run) -> Finding:
    """The last histogram of a weight counts NaN or infinite elements."""
    found = logged(run)
    if not found:
        return NONE
    bad = [n for n, steps in found.items() if steps[-1].nan or steps[-1].inf]
    if not bad:
        return absent(f"the histograms of {len(found)} weights count nothing but numbers", where=_places(run))
    first = min(h.step for n in bad for h in found[n] if h.nan or h.inf)
    return present(
        f"the histograms of {len(bad)} of {len(found)} weights count NaN or infinite values, first at step "
        f"{first}: {_few(bad)}",
        value=len(bad),
        step=float(first),
        where=_places(run),
    )


def unchanged(run: Run, least: int = 2) -> Finding:
    """All histograms are the same in `least` or more steps, bucket for bucket."""
    moved, still = _moved(run, least)
    if not moved and not still:
        return NONE
    if moved:
        return absent(f"{len(moved)} of {len(moved) + len(still)} logged weights change", where=_places(run))
    return present(
        f"the histograms of all {len(still)} logged weights are the same at every step",
        value=0.0,
        where=_places(run),
    )


def part_unchanged(run: Run, least: int = 3) -> Finding:
    """Some histograms of matrices are the same in `least` or more steps while others change."""
    moved, still = _moved(run, least)
    matrices = [n for n in still if _MATRIX.search(n) and not _NORM.search(n)]
    if not moved:
        return NONE if not still else unknown("no logged weight changes: not a part of them")
    if still and not matrices:
        return unknown(f"only {_few(still)} stand still, which a gradient of zero by design explains")
    if not matrices:
        return absent(f"the histograms of all {len(moved)} logged weights change", where=_places(run))
    every = len(moved) + len(still)
    words = f"{len(matrices)} of {every} histograms of weights are the same at every step: {_few(matrices)}"
    return present(words, value=len(matrices), where=_places(run))


def _moved(run: Run, least: int) -> tuple[list[str], list[str]]:
    found = {n: steps for n, steps in logged(run).items() if len(steps) >= least}
    still = [n for n, steps in found.items() if len({h.digest for h in steps}) == 1]
    return [n for n in found if n not in still], still


def constant(run: Run) -> Finding:
    """The last histogram of a matrix has one value; scales and offsets may start so."""
    found = {n: s for n, s in logged(run).items() if _MATRIX.search(n) and not _NORM.search(n)}
    found = {n: s for n, s in found.items() if s[-1].step > 0 and s[-1].count > 1 and s[-1].low is not None}
    if not found:
        return NONE
    flat = [n for n, s in found.items() if s[-1].low == s[-1].high]
    if not flat:
        return absent(f"none of {len(found)} logged weight matrices is one number", where=_places(run))
    return present(
        f"{len(flat)} of {len(found)} logged weight matrices hold one number throughout: {_few(flat)}",
        value=len(flat),
        where=_places(run),
    )


def large(run: Run, ratio: float) -> Finding:
    """The largest value of a matrix reaches `ratio` times what it was in its first histogram."""
    grown: dict[str, float] = {}
    for name, steps in logged(run).items():
        known = [h for h in steps if h.low is not None and h.high is not None]
        if len(known) < 2 or not _MATRIX.search(name) or _NORM.search(name):
            continue
        early, late = (max(abs(h.low or 0.0), abs(h.high or 0.0)) for h in (known[0], known[-1]))
        if early > 0:
            grown[name] = late / early
    if not grown:
        return NONE
    most = max(grown, key=lambda n: grown[n])
    words = f"the largest value of {most} grows {grown[most]:.3g} times over its histograms"
    first = min(h.step for steps in logged(run).values() for h in steps)
    seen = {"value": float(f"{grown[most]:.3g}"), "threshold": ratio, "where": _places(run)}
    if grown[most] >= ratio:
        return present(words, **seen)
    return (
        absent(words, **seen) if first <= 1 else unknown(f"{words}; what it was at the start was not logged")
    )

"""Manifests of both sides held against one another: the samples that are drawn, their order, labels, ranges.

The checksums of samples are not compared: random augmentation gives others at every drawing, and another
element type too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ....engine.model import Place
from ..model import Drawn, Hashes
from .model import Compared, Difference

LEAST = 20  # samples that both sides tell of
MOSTLY = 0.95  # share of names that have to be told, and of names that tell one sample
STEADY = 0.01  # relative spread of a factor that is one and the same for all samples
APART = 0.5  # share of labels that differ from which on they belong to other samples


def compare(mine: Sequence[Drawn], theirs: Sequence[Drawn]) -> Compared | None:
    """Compare the first epochs of the same split; None where no split has its samples named on both sides."""
    for a in mine:
        for b in theirs:
            if a.split == b.split and _named(a) and _named(b):
                found = _compare(a, b)
                if found is not None:
                    return found
    return None


def _named(one: Drawn) -> bool:
    """Whether nearly all samples have names, and names of their own."""
    told = one.names[one.names != 0]
    count = len(one.names)
    return count >= LEAST and len(told) == count and len(np.unique(told)) >= MOSTLY * count


def _compare(a: Drawn, b: Drawn) -> Compared | None:
    names, first, second = np.intersect1d(a.names, b.names, return_indices=True)
    if len(names) < LEAST:  # named otherwise, by the place of the files for one
        return None
    found = [*_members(a, b, len(names)), *_labels(a, b, first, second), *_ranges(a, b, first, second)]
    if not found:
        found += _order(a, b)
    words = f"manifests: {len(names)} samples of both sides"
    where = tuple(Place(f) for f in a.files[:3])
    return Compared(("samples",), 0, len(names), tuple(found), where, words)


def _members(a: Drawn, b: Drawn, shared: int) -> list[Difference]:
    mine, theirs = len(np.unique(a.names)), len(np.unique(b.names))
    gone, more = theirs - shared, mine - shared
    if gone and not more:
        words = (
            f"{gone} of the {theirs} samples of the benchmark's manifest are not drawn here, and no others"
        )
        return [Difference("samples", "count", words, gone / theirs)]
    if more and not gone:
        words = f"{more} samples are drawn here beside the {theirs} of the benchmark's manifest"
        return [Difference("samples", "count", words, more / mine)]
    if gone:
        words = (
            f"{gone} of {theirs} samples of the benchmark's manifest are not drawn here, {more} others are"
        )
        return [Difference("samples", "other-samples", words, gone / theirs)]
    return []


def _labels(a: Drawn, b: Drawn, first: NDArray[np.intp], second: NDArray[np.intp]) -> list[Difference]:
    mine, theirs = a.labels[first], b.labels[second]
    told = (mine != 0) & (theirs != 0)
    mine, theirs = mine[told], theirs[told]
    if len(mine) < LEAST or max(_kinds(mine), _kinds(theirs)) > len(mine) / 5:
        return []  # quantities, or labels that are mixed at every drawing
    other = mine != theirs
    if not other.any():
        return []
    share = float(other.mean())
    said = f"{int(other.sum())} of {len(mine)} samples have another label than in the benchmark's manifest"
    pairs = len(np.unique(np.stack([mine, theirs]), axis=1).T)
    if pairs == _kinds(mine) == _kinds(theirs):
        return [
            Difference("label", "label-numbering", f"{said}: its labels stand one to one for others", share)
        ]
    if share >= APART * _by_chance(mine, theirs):
        return [Difference("label", "label-apart", said, share)]
    return [Difference("label", "values", said, share)]


def _kinds(codes: Hashes) -> int:
    return len(np.unique(codes))


def _by_chance(mine: Hashes, theirs: Hashes) -> float:
    """The share of labels that would differ if they had nothing to do with each other."""
    kinds = np.union1d(mine, theirs)
    left, right = (np.bincount(np.searchsorted(kinds, s), minlength=len(kinds)) for s in (mine, theirs))
    return 1 - float((left / len(mine) * (right / len(theirs))).sum())


def _ranges(a: Drawn, b: Drawn, first: NDArray[np.intp], second: NDArray[np.intp]) -> list[Difference]:
    """One factor and one distance that lead from the benchmark's samples to these, all alike."""
    mine, theirs = a.figures[:, first], b.figures[:, second]
    told = np.isfinite(mine).all(axis=0) & np.isfinite(theirs).all(axis=0) & (theirs[3] > 0) & (mine[3] > 0)
    mine, theirs = mine[:, told], theirs[:, told]
    if mine.shape[1] < LEAST:
        return []
    factors = mine[3] / theirs[3]
    factor = float(np.median(factors))
    moved = mine[2] - factor * theirs[2]
    shift = float(np.median(moved))
    size = float(np.median(mine[3]))
    if np.ptp(np.quantile(factors, [0.05, 0.95])) > STEADY * factor:
        return []
    if np.ptp(np.quantile(moved, [0.05, 0.95])) > STEADY * size:
        return []
    scaled, away = abs(factor - 1) > STEADY, abs(shift) > STEADY * size
    if not scaled and not away:
        return []
    said = (
        f"the samples are the benchmark's times {factor:.4g}" if scaled else "the samples are the benchmark's"
    )
    said += f" {'plus' if shift > 0 else 'minus'} {abs(shift):.4g}" if away else ""
    cause = ": a division by 255 is missing" if abs(factor - 255) < 1 and not away else ""
    return [Difference("samples", "scale", f"{said}, by mean and deviation of each{cause}", factor)]


def _order(a: Drawn, b: Drawn) -> list[Difference]:
    if len(a.files) != len(b.files) or len(a.names) != len(b.names) or bool((a.names == b.names).all()):
        return []
    moved = int((a.names != b.names).sum())
    words = f"the first epoch draws the same samples in another order ({moved} of {len(a.names)} elsewhere)"
    return [Difference("samples", "order", f"{words}: shuffling or seed", moved / len(a.names))]

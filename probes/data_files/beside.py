"""Data files held against those of the benchmark."""

from __future__ import annotations

import math

import numpy as np

from ...engine.model import Place
from ..dataset.model import DataSet
from ..registry import Finding, View, absent, present, unknown
from .common import many, needs_data


@needs_data
def differs_from_benchmark(data: DataSet, view: View, share: float) -> Finding:
    """The benchmark's training data hold other samples, other columns, or clearly more."""
    other = view.benchmark.data if view.benchmark is not None else None
    if other is None:
        return unknown("needs the benchmark's data (--benchmark)")
    pairs = [
        (a, b) for a in data.training for b in other.training if (a.kind, a.format) == (b.kind, b.format)
    ]
    pairs = [(a, b) for a, b in pairs if a.kind not in ("batches", "manifest")]
    if not pairs:
        return unknown("no training data of one format on both sides")
    for a, b in pairs:
        place = (Place(a.files[0]),)
        names = {c.name for c in a.columns} ^ {c.name for c in b.columns}
        if a.columns and b.columns and names:
            why = f"columns are not the benchmark's: {', '.join(sorted(names)[:4])}"
            return present(why, value=len(names), threshold=0, where=place)
        if a.exact and b.exact and a.rows is not None and b.rows is not None and a.rows != b.rows:
            why = f"{many(a.rows, 'sample')} here, {b.rows} in the benchmark's data"
            return present(why, value=a.rows, threshold=b.rows, where=place)
        if a.whole and b.whole and a.hashed == b.hashed and a.hashed and len(b.hashes):
            gone = float(np.mean(~np.isin(b.hashes, a.hashes)))
            if gone > share:
                labelled = len(a.inputs) and len(b.inputs) and np.isin(b.inputs, a.inputs).mean() >= 1 - share
                what = "have another label here" if labelled else "are not here"
                why = f"{gone:.1%} of the benchmark's samples {what}"
                return present(why, value=gone, threshold=share, where=place)
    if all(a.whole and b.whole and len(b.hashes) and a.hashed == b.hashed for a, b in pairs):
        return absent("samples and columns are the benchmark's", value=0)
    return unknown("counts agree; the samples were not all compared")


@needs_data
def fewer_than_benchmark(data: DataSet, view: View, ratio: float) -> Finding:
    """The benchmark's training files hold more samples."""
    other = view.benchmark.data if view.benchmark is not None else None
    if other is None:
        return unknown("needs the benchmark's data (--benchmark)")
    mine, theirs = _count(data), _count(other)
    if not mine or not theirs or math.isnan(mine + theirs):
        return unknown("the number of training samples is not known on both sides")
    why = f"{mine:g} training samples here, {theirs:g} in the benchmark's data"
    rest = {"value": mine, "threshold": theirs}
    return present(why, **rest) if mine <= ratio * theirs else absent(why, **rest)


def _count(data: DataSet) -> float:
    rows = [p.rows for p in data.training if p.kind not in ("batches", "manifest")]
    return float(sum(r for r in rows if r is not None)) if rows and None not in rows else math.nan

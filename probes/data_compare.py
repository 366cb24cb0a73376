"""The pipeline's output beside the benchmark's: batches dumped before the model, compared field by field."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from .files import RunUnreadable
from .registry import Finding, View, absent, present, probe, unknown

if TYPE_CHECKING:
    from .dataset import batches
    from .dataset.model import DataSet


@lru_cache(maxsize=4)
def compared(mine: DataSet, theirs: DataSet) -> batches.Compared | None:
    """Compare the arrays of two data sets; None where either side has none."""
    from .dataset import batches
    from .dataset.batches import written

    names = [
        frozenset(
            f
            for p in data.parts
            for f in p.files
            if p.kind in ("batches", "array") or (p.kind == "table" and written.is_batch(f))
        )
        for data in (mine, theirs)
    ]
    if not all(names):
        return None
    try:
        return batches.compare(Path(mine.path), Path(theirs.path), *names)
    except RunUnreadable:
        return None


@lru_cache(maxsize=4)
def drawn(mine: DataSet, theirs: DataSet) -> batches.Compared | None:
    """Compare what manifests on both sides say of the same samples; None where nothing can be compared."""
    from .dataset.batches import listed

    return listed.compare(mine.drawn, theirs.drawn)


def _stored(data: DataSet) -> bool:
    """Whether its arrays are whole splits (`x_train.npy`), not dumped batches."""
    held = [p for p in data.parts if p.kind in ("batches", "array")]
    return bool(held) and all(p.kind == "array" and p.split for p in held)


@probe("benchmark")
def differ(view: View, kinds: list[str]) -> Finding:
    """Dumped batches of run and benchmark differ in this way, where both hold the same fields."""
    mine = view.run.data
    theirs = view.benchmark.data if view.benchmark is not None else None
    if mine is None or theirs is None:
        return unknown("needs arrays that were dumped before the model, on both sides (--data)")
    found = compared(mine, theirs)
    if found is None or not found.fields:
        found = drawn(mine, theirs)
    if found is None or not found.fields:
        return unknown("no arrays with the same fields, and no manifests of the same samples, on both sides")
    if _stored(mine) and _stored(theirs):
        # Whole splits on disk: order and number are judged as such, rows without a partner not at all.
        counted = found.of("count")
        if counted:
            return unknown(f"stored arrays of other lengths: {counted[0].words}")
        kinds = [k for k in kinds if k != "order"]
    said = found.of(*kinds)
    if said:
        where = found.where[:3]
        return present("; ".join(d.words for d in said[:3]), value=said[0].value, where=where)
    blind = found.of("size", "other-samples", "count", "missing-field", "values")
    if blind:
        return unknown(f"not told apart: {blind[0].words}")
    from .dataset.batches import ATOL, RTOL

    if not found.batches:  # manifests: what they do not tell may differ
        return unknown(f"{found.words} do not differ in what they tell")
    return absent(
        f"{', '.join(found.fields[:4])}: {found.batches} batches do not differ in this way "
        f"(rtol {RTOL:g}, atol {ATOL:g})"
    )

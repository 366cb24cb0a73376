"""Batch normalisation that joins its statistics over devices in the benchmark and not in the run."""

from __future__ import annotations

from ...engine.model import State
from ..config.model import batch_norm_small_batch
from ..registry import Finding, View, absent, present, probe, unknown
from .both import both, told_sides, where_told


@probe("benchmark")
def sync_norm_left_out(view: View, limit: float) -> Finding:
    """`BN` here and `SyncBN` in the benchmark, with fewer than `limit` samples per device in the run."""
    found = both(view, "normalization_layer")
    if found is None:
        return unknown("the kind of normalisation is not recorded on both sides")
    mine, theirs = (str(side.value).lower().replace("_", "") for side in found)
    if not theirs.startswith("sync") or mine.startswith("sync") or "batchnorm" not in mine:
        return absent(told_sides(found))
    few = batch_norm_small_batch(View(view.run, None), limit)
    if few.state is not State.PRESENT:
        return absent(few.why) if few.state is State.ABSENT else unknown(few.why)
    return present(f"{told_sides(found)}; {few.why}", where=where_told(found))

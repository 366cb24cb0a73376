"""Weights that msprobe's monitor saw before and after an update, and that the update did not change."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import lru_cache

from ..registry import Finding, View, absent, present, probe, unknown
from ..run import Run
from ..tensors.model import Tensor
from .dumps import monitored
from .ranks import MONITOR_AFTER, MONITOR_BEFORE, REDUCED

HALF = ("bfloat16", "float16")
_Seen = dict[str, dict[str, Tensor]]  # kind -> parameter -> what was kept of it


@lru_cache(maxsize=2)
def _kept(run: Run) -> tuple[_Seen, ...]:
    """Step by step and rank by rank, where weights before and after an update and gradients were kept."""
    return tuple(_steps(run))


def _steps(run: Run) -> Iterator[_Seen]:
    kinds = (MONITOR_BEFORE, MONITOR_AFTER, REDUCED)
    for dump in monitored(run):
        seen: _Seen = {k: {} for k in kinds}
        for operator in dump.operators:
            if operator.kind in seen and operator.outputs:
                name = operator.name.partition(": ")[2] or operator.name
                seen[operator.kind][name] = operator.outputs[0]
        if all(seen.values()):
            yield seen


def _figures(tensor: Tensor) -> tuple[float, float, float] | None:
    told = tensor.statistics
    if told.norm is None or told.max is None or told.min is None:
        return None
    found = (told.norm, told.max, told.min)
    return found if all(map(math.isfinite, found)) else None


_ENGINES = re.compile(r"(?:^|\.)(?:tensor_model_parallel_size|(?:bf16|fp16)\.enabled)$")


def _copies(run: Run) -> bool:
    """Megatron and DeepSpeed keep an fp32 copy of each weight: a small update shows in it first."""
    masters = run.settings.get("master_weights")
    if masters is not None:
        return masters.value is not False
    pure = any(s.key.endswith("use_precision_aware_optimizer") and s.value for s in run.raw_settings)
    return not pure and any(_ENGINES.search(s.key) for s in run.raw_settings)


@probe()
def half_weights_stand(view: View, share: float, steps: int) -> Finding:
    """Of weights in half precision that have a gradient, `share` are the same to the last digit after a step.

    Over at least `steps` steps. An update that is kept moves the norm of thousands of elements in some digit.
    """
    found = [
        (before[name], after[name])
        for seen in _kept(view.run)
        for before, after, gradients in [[seen[k] for k in (MONITOR_BEFORE, MONITOR_AFTER, REDUCED)]]
        for name in before.keys() & after.keys() & gradients.keys()
        if before[name].dtype in HALF and (gradients[name].statistics.norm or 0) > 0
    ]
    if _copies(view.run):
        return unknown(
            "weights in half precision are copies of fp32 ones, which take in what is too small here"
        )
    pairs = [(a, b) for one, other in found if (a := _figures(one)) and (b := _figures(other))]
    kept = len(_kept(view.run))
    if not pairs or kept < steps:
        return unknown("weights in half precision, before and after updates, were not kept beside gradients")
    same = sum(a == b for a, b in pairs)
    words = (
        f"in {kept} steps {same} of {len(pairs)} weights in half precision that have a gradient are after the"
        " update what they were before"
    )
    told = {"value": round(same / len(pairs), 3), "threshold": share}
    return (present if same >= share * len(pairs) else absent)(words, **told)

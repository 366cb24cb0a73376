"""Array files that are a sample each (volumes, windows): some on another scale, or with exchanged axes."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ...engine.model import Place
from ..dataset.model import DataSet, Part
from ..dataset.naming import holds_labels
from ..registry import Finding, View, absent, present, unknown
from .common import many, needs_data, said_of

LEAST = 6  # files of one folder that tell what is usual
FEW = 0.4  # share of the files up to which they are the odd ones


def _scaled(part: Part, factor: float, alike: float) -> tuple[list[str], float] | None:
    """The few files whose numbers go many times as far, or as little, as those of the others."""
    reach = {p: one.high - one.low for p, one in part.single.items() if one.high > one.low}
    if len(reach) < LEAST:
        return None
    middle = float(np.median(list(reach.values())))
    far = [p for p, r in reach.items() if not 1 / factor < r / middle < factor]
    near = [p for p, r in reach.items() if 1 / alike <= r / middle <= alike]
    if not far or len(far) > FEW * len(reach) or len(far) + len(near) < len(reach):
        return None
    return far, reach[far[0]] / middle


def _turned(part: Part) -> list[str]:
    """The few files whose axes are those of all others in another order."""
    shapes = Counter(one.shape for one in part.single.values())
    usual, count = shapes.most_common(1)[0]
    if count + 1 < LEAST or count < (1 - FEW) * len(part.single):
        return []
    odd = {p: one.shape for p, one in part.single.items() if one.shape != usual}
    return list(odd) if all(sorted(s) == sorted(usual) for s in odd.values()) else []


@needs_data
def files_unlike(data: DataSet, view: View, factor: float, alike: float) -> Finding:
    """Few array files of a folder reach `factor` times as far as the others, which differ by `alike` at most.

    Numbers between their 2 % and 98 % quantiles; or the axes of few stand in another order than everywhere.
    """
    del view
    parts = [p for p in data.parts if p.kind == "array" and p.single and not holds_labels(p.files[0])]
    parts = [p for p in parts if len(p.single) >= LEAST]
    for part in parts:
        turned = _turned(part)
        if turned:
            shape = "x".join(map(str, part.single[turned[0]].shape))
            held = f"{len(turned)} of {many(len(part.single), 'file')} of {said_of(part)}"
            why = f"{held} have their axes in another order than the others: {turned[0]} is {shape}"
            return present(why, value=len(turned), where=tuple(map(Place, turned[:5])))
        found = _scaled(part, factor, alike)
        if found is not None:
            far, times = found
            one = part.single[far[0]]
            held = f"{len(far)} of {many(len(part.single), 'file')} of {said_of(part)}"
            why = (
                f"{held} lie on another scale: {far[0]} goes from {one.low:.4g} to {one.high:.4g}, "
                f"{times:.3g} times as far as the others"
            )
            return present(why, value=times, threshold=factor, where=tuple(map(Place, far[:5])))
    if not parts:
        return unknown("no folder of array files that are a sample each")
    return absent(f"the arrays of {many(sum(len(p.single) for p in parts), 'file')} are alike", value=0)

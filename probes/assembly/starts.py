"""One run in several folders: Lightning's `version_0` and `version_1`, a folder with a time for each start.

Folders whose names differ in numbers only belong together where the curve of each begins near the end of the
one before it. A run that begins anew, at its first step, is another run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from ..run import Event, Series
from . import layout, names, segments

MAX_STARTS = 200  # folders of one kind that are looked at
_Start = tuple[str, Series]  # a folder and its main curve


def main_curve(series: Iterable[Series]) -> Series | None:
    """The longest loss of a folder, training's before evaluation's; None without one over steps or epochs."""
    known = [
        (names.canonical(s.raw, s.split), s) for s in series if s.unit not in ("row", "unknown") and len(s)
    ]
    for wanted in ("train/loss", "eval/loss"):
        found = [s for name, s in known if name == wanted]
        if found:
            return max(found, key=len)
    return None


def of_runs(curves: Mapping[str, Series | None]) -> list[tuple[str, ...]]:
    """The folders of each run that was written to several, in order; `curves`: folder -> its main curve."""
    alike: dict[str, list[_Start]] = defaultdict(list)
    for home in sorted(curves, key=layout.natural):
        curve = curves[home]
        if curve is not None:
            alike[layout.numberless(home)].append((home, curve))
    found = (chain for homes in alike.values() for chain in segments.chains(homes[:MAX_STARTS], _goes_on))
    return [tuple(home for home, _ in chain) for chain in found if len(chain) > 1]


def resumes(homes: Sequence[str], curves: Mapping[str, Series | None]) -> Iterator[Event]:
    """What happened between the folders of one run."""
    for before, after in pairwise(homes):
        curve = curves[after]
        if curve is not None:
            step = float(curve.steps[0])
            text = f"{after} goes on where {before} ends, at {curve.unit} {step:g}: they are read as one run"
            yield Event("resume", curve.file, step=step, text=text)


def _goes_on(first: _Start, before: _Start, after: _Start) -> bool:
    kinds = {(s.raw, s.unit, s.group) for _, s in (before, after)}
    return len(kinds) == 1 and segments.goes_on(first[1], before[1], after[1])

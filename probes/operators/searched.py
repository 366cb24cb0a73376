"""What a search for a guilty fusion rule has found, where its state lies in the run directory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache

from ...engine.model import Place
from ..registry import Finding, View, absent, present, probe, unknown
from ..run import Run
from ..tensors.fusion_result import Rule, effective
from ..tensors.names import SEARCH
from .search import BadState, Progress, Search, from_json, progress

MAX_STATE = 64 * 1024**2


@lru_cache(maxsize=4)
def searches(run: Run) -> tuple[tuple[str, Search, Progress], ...]:
    """The searches whose state lies in the run directory: file, state, and how far it got; oldest first."""
    return tuple(_read(run))


def _read(run: Run) -> Iterator[tuple[str, Search, Progress]]:
    for file in sorted(run.dump_files, key=lambda f: (f.mtime, f.path)):
        try:
            if file.suffix != ".json" or file.size > MAX_STATE or SEARCH not in file.head_text[:512]:
                continue
            search = from_json(json.loads(file.read_text()))
        except (BadState, OSError, ValueError, RecursionError):
            continue
        yield file.path, search, progress(search)


@lru_cache(maxsize=4)
def rules_in_effect(run: Run) -> tuple[Rule, ...]:
    """The fusion rules that took effect, as fusion_result.json tells."""
    return tuple(effective(run.dump_files)[0])


@probe()
def off_better(view: View) -> Finding:
    """A search compared the run with one without fusion: it begins only where that one ends better.

    Present from then on, with the rule once it is found; a search whose results contradict each other, or
    scatter, says nothing.
    """
    found = searches(view.run)
    if not found:
        return unknown("no run with operator fusion switched off was compared (`diagnose fusion`)")
    file, search, where = found[-1]
    if where.state in ("contradiction", "noise"):
        return unknown(f"the search for a fusion rule came to no result: {where.state}")
    ends = search.measure
    words = f"{ends.quantity} ends at {ends.on:.4g} with operator fusion and at {ends.off:.4g} without"
    if where.state == "found":
        words += f"; {' and '.join(f'{g}.{n}' for g, n in where.found)} is to blame"
    seen = {"value": ends.off - ends.on, "where": (Place(file),)}
    if ends.gap <= ends.margin:
        return absent(f"{words}, no better than noise ({ends.margin:.2g})", **seen)
    return present(words, **seen)

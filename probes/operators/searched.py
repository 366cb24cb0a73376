"""What a search for a guilty fusion rule has found, where its state lies in the run directory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache

from ...engine.model import Place
from ..registry import Finding, View, absent, present, probe, unknown
from ..run import Run
from ..tensors.fusion_result import Rule, effective
from ..tensors.names import SEARCH
from .search import BadState, Measure, Progress, Search, from_json, measure, progress

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


_FUSION = re.compile(r"fus(?:ed|ion)|flash_?att", re.IGNORECASE)
_KERNELS = re.compile(r"^(?:_?attn_impl\w*|attention_backend)$")  # their values name the kernel
_FUSED = re.compile(r"flash|fused|fa2", re.IGNORECASE)
LEAST_SETTINGS = 8  # that two runs share, so that one recipe can be told


def _switched(run: Run) -> tuple[dict[str, object], set[str]]:
    """Settings of a run without those of fusion, and the switches that turn fused operators on."""
    rest: dict[str, object] = {}
    on: set[str] = set()
    for setting in run.raw_settings:
        key = setting.key.rsplit(".", 1)[-1]
        if not (_FUSION.search(key) or _KERNELS.search(key)):
            rest[setting.key] = setting.value
        elif setting.value is True or (isinstance(setting.value, str) and _FUSED.search(setting.value)):
            on.add(key)
    return rest, on


def _without(view: View) -> tuple[Run, str] | None:
    """A run that is the same but for operator fusion, and in words why; None: there is none."""
    if view.run.unfused is not None:
        return view.run.unfused, "operator fusion"
    if view.benchmark is None:
        return None
    mine, on = _switched(view.run)
    theirs, off = _switched(view.benchmark)
    if len(mine) < LEAST_SETTINGS or mine != theirs or not on > off:
        return None
    return view.benchmark, ", ".join(sorted(on - off)[:4])


def _told(view: View, absolute: float, relative: float) -> Finding | None:
    """What a run without fusion beside this one, or as its benchmark, says."""
    found = _without(view)
    if found is None:
        return None
    off, switch = found
    ends = measure(view.run, off, None, absolute=absolute, relative=relative)
    if not isinstance(ends, Measure):
        return unknown(f"whether fusion harms cannot be told: {ends}")
    words = f"{ends.quantity} ends at {ends.on:.4g} with {switch} and at {ends.off:.4g} without"
    if ends.gap <= ends.margin:
        return absent(f"{words}, no better than noise ({ends.margin:.2g})", value=ends.gap)
    return present(words, value=ends.gap, series=(ends.quantity,))


@probe()
def off_better(view: View, absolute: float, relative: float) -> Finding:
    """A run without operator fusion ends better: by a search, or by one that lies there and is called so.

    A search begins only where the run without fusion ends better. Present from then on, with the rule once it
    is found; a search whose results contradict each other, or scatter, says nothing. `absolute` is the
    tolerance of shares such as accuracy, `relative` that of every other quantity.
    """
    found = searches(view.run)
    if not found:
        told = _told(view, absolute, relative)
        return told or unknown("no run with operator fusion switched off was compared (`diagnose fusion`)")
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


@probe()
def off_far_better(view: View, absolute: float, relative: float) -> Finding:
    """The run without operator fusion, the same in all else, ends far better: beyond what chance does."""
    told = _told(view, absolute, relative)
    return told or unknown("no run with operator fusion switched off lies here")

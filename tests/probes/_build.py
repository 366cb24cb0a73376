"""Small runs made by hand, for the tests of probes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from traindoctor.engine.model import RunInfo, Scalar
from traindoctor.probes.run import Configured, Event, Run, Series, Setting
from traindoctor.probes.settings import resolve


def series(
    name: str, values: Sequence[float] | Any, steps: Sequence[float] | Any | None = None, **rest: Any
) -> Series:
    """Make a curve; steps count from 1, a line of the file stands for each point."""
    array = np.asarray(values, dtype=np.float64)
    at = (
        np.arange(1, len(array) + 1, dtype=np.float64)
        if steps is None
        else np.asarray(steps, dtype=np.float64)
    )
    made: dict[str, Any] = {
        "raw": name,
        "file": "log.txt",
        "unit": "step",
        "window": "point",
        "lines": np.arange(1, len(array) + 1),
    }
    made.update(rest)
    return Series(name, steps=at, values=array, **made)


def configured(settings: Mapping[str, Any]) -> dict[str, Configured]:
    """Make canonical settings in force, as if they stood in config.yaml, one per line."""
    return {
        key: Configured(key, value, key, "config.yaml", line, 50)
        for line, (key, value) in enumerate(settings.items(), 1)
    }


def run(
    curves: Iterable[Series] = (),
    settings: Mapping[str, Any] | None = None,
    events: Iterable[Event] = (),
    facts: Mapping[str, Scalar] | None = None,
    **rest: Any,
) -> Run:
    """Make a run of canonical curves and canonical settings; `rest` overrides fields of Run."""
    made = tuple(curves)
    raw = tuple(Setting(k, v, "config.yaml", n) for n, (k, v) in enumerate((settings or {}).items(), 1))
    fields: dict[str, Any] = {
        "info": RunInfo("run"),
        "series": {s.name: s for s in made},
        "all_series": made,
        "settings": configured(settings or {}),
        "raw_settings": raw,
        "events": tuple(events),
        "facts": dict(facts or {}),
    }
    fields.update(rest)
    return Run(**fields)


def written(settings: Mapping[str, Any], curves: Iterable[Series] = (), **rest: Any) -> Run:
    """Make a run of raw settings, resolved as those of a real run are."""
    raw = tuple(Setting(k, v, "config.yaml", n) for n, (k, v) in enumerate(settings.items(), 1))
    made = run(curves, raw_settings=raw, **rest)
    return replace(made, settings=resolve(raw, made.events, made.facts))

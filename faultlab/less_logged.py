"""A run as it would be known if less of it had been logged: for fitting what symptoms say, not for the score.

The lab's projects log much, and each the same in all of its runs; many users have kept a loss every hundred
steps and nothing else. What such a run shows, and what it leaves open, is learned from the recorded ones with
something taken away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from traindoctor.probes.run import Run, Series

EVERY = 3  # rows of which one is kept
MANY = 60  # rows from which on a curve is thinned
HELD_OUT = ("eval/", "test/")
COLUMNS = ("steps", "values", "epochs", "walls", "lines", "masked")  # those with a value for each row
Change = Callable[[Series], "Series | None"]


def _held_out(one: Series) -> bool:
    return one.name.startswith(HELD_OUT)


def _loss(one: Series) -> bool:
    return "loss" in one.name.split("/")


def _beside(one: Series) -> bool:
    """Neither of the training's data nor of held-out ones: rates, norms, scales."""
    return "/" not in one.name


def _thinned(one: Series) -> Series:
    if _held_out(one) or len(one) < MANY:
        return one
    columns = {name: getattr(one, name) for name in COLUMNS}
    return replace(one, **{k: v[EVERY - 1 :: EVERY] for k, v in columns.items() if v is not None})


def _without(drop: Callable[[Series], bool]) -> Change:
    return lambda one: None if drop(one) else one


def _bare(one: Series) -> Series | None:
    return _thinned(one) if _loss(one) else None


CURVES: dict[str, Change] = {
    "every third row": _thinned,
    "no rates and norms": _without(_beside),
    "no held-out loss": _without(lambda one: _held_out(one) and _loss(one)),
    "losses, rates and norms": _without(lambda one: not (_loss(one) or _beside(one))),
    "nothing held out": _without(_held_out),
}
NAMES = (*CURVES, "no settings", "losses alone")


def variants(run: Run) -> Iterator[tuple[str, Run]]:
    """The runs, by what was taken away; those of which nothing is left or nothing was there are left out."""
    for name, change in CURVES.items():
        found = _changed(run, change)
        same = found.series.keys() == run.series.keys() and all(
            found.series[k] is run.series[k] for k in run.series
        )
        if found.series and not same:
            yield name, found
    yield "no settings", replace(run, settings={}, raw_settings=())
    bare = _changed(run, _bare)
    if bare.series:
        yield "losses alone", replace(bare, settings={}, raw_settings=())


def _changed(run: Run, change: Change) -> Run:
    def left(series: Mapping[str, Series]) -> dict[str, Series]:
        return {k: new for k, one in series.items() if (new := change(one)) is not None}

    return replace(
        run,
        series=left(run.series),
        all_series=tuple(new for one in run.all_series if (new := change(one)) is not None),
        ranks={rank: left(series) for rank, series in run.ranks.items()},
    )

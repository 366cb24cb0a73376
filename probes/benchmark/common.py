"""What the comparisons of two curves share: places on both sides, seeds, levels."""

from __future__ import annotations

import re

import numpy as np

from ...engine.model import Place
from ..config.values import number_of, says, trains_adapters
from ..curves.situation import switched_on
from ..registry import View, place
from ..run import Series
from .both import both, equal
from .compare import Blocks, Pair, blocks, move_together, pair


def places_of(found: Pair, at: int) -> tuple[Place, ...]:
    """Where point `at` of the grid stands on both sides."""
    places = []
    sides: tuple[tuple[Series, str], ...] = ((found.run_series, "run"), (found.bench_series, "benchmark"))
    for series, side in sides:
        if len(series.steps):
            nearest = int(np.argmin(np.abs(np.nan_to_num(series.steps, nan=np.inf) - found.x[at])))
            places.append(place(series, nearest, side))
    return tuple(places)


def _seeds_equal(view: View) -> bool | None:
    found = both(view, "seed")
    return None if found is None else equal("seed", *found)


# Without equal seeds two runs of one recipe begin apart (initialisation, first batch) and take other ways.
SEED_SPREAD = 0.1
NORM_SPREAD = 0.5  # the same for a gradient norm, which scatters far more


def same_batches(view: View, found: Pair) -> bool:
    """The seeds are equal, or the curves move together: their difference scatters far less than either."""
    if _seeds_equal(view) is True:
        return True
    return move_together(found)


SEED = "seed or data order are not known to be equal, and chance may explain that much"


def losses_agree(view: View, share: float, tolerance: float) -> bool | None:
    """Whether the training losses agree over the first `share` of the common steps."""
    found = pair(view, "train/loss", 5)
    if isinstance(found, str):
        return None
    levels = blocks(found)
    early = slice(0, max(2, round(share * len(levels.x))))
    off = np.abs(levels.relative(found.span))[early]
    return bool(np.mean((off <= tolerance) | ~levels.significant()[early]) >= 0.8)


def other_rate(view: View, ratio: float = 1.25) -> str | None:
    """Say by how much the logged learning rates differ in the first third of the common steps, or None."""
    rates = pair(view, "learning_rate", 3)
    if isinstance(rates, str):
        return None
    early = slice(0, max(3, len(rates) // 3))
    mine, theirs = float(np.median(rates.run[early])), float(np.median(rates.bench[early]))
    if min(mine, theirs) <= 0 or max(mine / theirs, theirs / mine) < ratio:
        return None
    return (
        f"the learning rates differ ({mine:.3g}, in the benchmark {theirs:.3g}): gradients differ with them"
    )


def rates_part(view: View, ratio: float = 1.25, share: float = 0.1) -> str | None:
    """Say that the learning rates differ by `ratio` at a `share` of the common steps, wherever; or None.

    From there on both sides hold other weights, and those have other gradients on the same batch.
    """
    rates = pair(view, "learning_rate", 3)
    if isinstance(rates, str):
        return None
    high, low = np.maximum(rates.run, rates.bench), np.minimum(rates.run, rates.bench)
    apart = float(np.mean(high > ratio * np.maximum(low, 0.0)))
    if apart <= share:
        return None
    return f"the learning rates differ at {apart:.0%} of the common steps: other weights, other gradients"


def adapters_apart(view: View) -> str:
    """In words, that one side alone trains adapters: their rates and gradients are no whole model's."""
    if view.benchmark is None:
        return ""
    mine, theirs = map(trains_adapters, (view.run, view.benchmark))
    return "" if mine == theirs else f"the {'run' if mine else 'benchmark'} alone trains adapters"


_TEACHES = re.compile(
    r"(?i)(?:^|[._])(?:teacher(?!_forc)\w*|(?:knowledge_)?distil\w*|kd_(?:alpha|weight|loss\w*))$"
)


def taught_apart(view: View) -> str:
    """In words, that one side alone learns from a teacher: its loss is of another kind; else ""."""
    if view.benchmark is None:
        return ""
    told = [
        next((s for s in r.raw_settings if s.value and _TEACHES.search(s.key.replace("-", "_"))), None)
        for r in (view.run, view.benchmark)
    ]
    one = told[0] or told[1]
    return (
        "" if one is None or all(told) else f"one side alone learns from a teacher ({one.key} = {one.value})"
    )


# What makes training alone lose more, by design.
_BY_SETTING = ("label_smoothing", "mixup", "cutmix", "drop_path", "augmentation")
_BY_NAME = re.compile(
    r"(?i)distil|teacher|kd_(?:alpha|weight|loss)|auto_?augment|rand_?aug|trivial_?aug|random_?eras"
)


def made_harder(view: View) -> str:
    """In words, what makes training harder here and is not set in the benchmark; else ""."""
    for key in _BY_SETTING:
        if switched_on(view.run, key) and view.benchmark is not None and not switched_on(view.benchmark, key):
            return f"{says(view.run.settings[key])}, and not in the benchmark"
    theirs = {s.key for s in view.benchmark.raw_settings if s.value} if view.benchmark is not None else set()
    for setting in view.run.raw_settings:
        if setting.value and _BY_NAME.search(setting.key) and setting.key not in theirs:
            return f"{setting.key} = {setting.value}, and not in the benchmark"
    return ""


_TAUGHT_THROUGH = ("dropout", "label_smoothing")  # what a training loss is higher with, and no evaluation


def held_back_more(view: View) -> str:
    """In words, that the run trains with more dropout or smoother labels, which its loss shows; else ""."""
    if view.benchmark is None:
        return ""
    for key in _TAUGHT_THROUGH:
        mine, theirs = number_of(view.run, key), number_of(view.benchmark, key)
        if mine is not None and theirs is not None and mine > theirs:
            return f"trained with {key.replace('_', ' ')} {mine:g}, there {theirs:g}, which alone raises it"
    return ""


def blocks_of(view: View, name: str, points: int) -> tuple[Pair, Blocks] | str:
    """Two curves with their levels in equal stretches, or why they cannot be compared."""
    found = pair(view, name, points)
    return found if isinstance(found, str) else (found, blocks(found))

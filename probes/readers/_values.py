"""What structured logs have in common: numbers as they are written, names of steps and splits, flat keys."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from ...engine.model import Scalar
from ..assembly import languages, names
from ..run import Floats, Setting, StepUnit

Split = Literal["", "train", "eval"]

LARGEST = 1.797e308  # some writers store infinity as the largest double
MAX_DEPTH = 8
MAX_LEAVES = 5000
MAX_TEXT = 500

_WORDS = {
    "nan": math.nan,
    "+nan": math.nan,
    "-nan": math.nan,
    "nan(ind)": math.nan,
    "-nan(ind)": math.nan,
    "1.#qnan": math.nan,
    "1.#ind": math.nan,
    "-1.#ind": math.nan,
    "-1.#qnan": math.nan,
    "inf": math.inf,
    "+inf": math.inf,
    "-inf": -math.inf,
    "infinity": math.inf,
    "+infinity": math.inf,
    "-infinity": -math.inf,
    "1.#inf": math.inf,
    "-1.#inf": -math.inf,
}
_WRAPPED = re.compile(r"^(?:[\w.]{1,40}\(|\[)\s*([-+\w.]{1,60})\s*(?:,[^()]{0,120})?[\])]$")
_GROUPED = re.compile(r"^[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?$")

# Names that count training, best first within a row: (name, what it counts, preference).
_STEPS: dict[str, tuple[StepUnit, int]] = {}
for _unit, _rank, _names in (
    (
        "step",
        0,
        "global_step globalstep trainer/global_step train/global_step global_steps train/step num_steps_done",
    ),
    ("step", 1, "step steps current_steps current_step training_step train_step optimizer_step opt_step"),
    ("step", 2, "num_updates num_update update updates upd n_upd n_updates global_update completed_steps"),
    ("iteration", 3, "iter iters iteration iterations it itr n_iter num_iter global_iter"),
    ("call", 3, "training_iteration"),  # Ray counts reports, which most programs make once an epoch
    ("epoch-step", 4, "batch batch_idx batch_id batch_num batch_index minibatch mini_batch"),
    ("epoch", 5, "epoch epochs epoch_num epoch_idx epoch_id cur_epoch current_epoch ep epoch_number"),
    ("epoch", 6, "train/epoch trainer/epoch"),
    ("iteration", 6, "episode episodes episode_num episode_id episode_idx n_episode round rounds"),
    (
        "sample",
        7,
        "consumed_samples samples_seen num_samples_seen total_timesteps timesteps timestep env_step",
    ),
    ("call", 8, "_step"),
):
    for _name in _names.split():
        _STEPS[_name] = (_unit, _rank)  # type: ignore[assignment]

_SPLITS: dict[str, str] = {
    **dict.fromkeys(("train", "training", "trn", "tr", "fit", "learn"), "train"),
    **dict.fromkeys(
        (
            "val",
            "valid",
            "validation",
            "eval",
            "evaluation",
            "evaluate",
            "dev",
            "devel",
            "vld",
            "vali",
            "heldout",
            "held-out",
            "held_out",
        ),
        "eval",
    ),
    **dict.fromkeys(("test", "testing", "holdout", "hold-out", "hold_out"), "test"),
}
SPLIT_KEYS = (
    "mode",
    "split",
    "phase",
    "stage",
    "set",
    "subset",
    "partition",
    "data_split",
    "kind",
    "type",
    "event",
    "t",
    "tag",
    "which",
    "dataset",
    "on",
)
CONFIG_PARTS = frozenset(  # keys under which a log or a result keeps the settings of its run
    {"config", "params", "hparams", "hyperparameters", "args", "settings", "hyper_params", "hyper", "setup"}
)
BESIDE_CURVES = 60  # trust in settings that stand in a log of curves
_WALLS = frozenset({"wall_time", "walltime", "wall", "timestamp", "_timestamp", "wall time", "unix_time"})
_CLOCKS = frozenset(
    {"elapsed_time", "remaining_time", "eta_seconds", "percentage", "data_time", "total_steps"}
)
_SECRET = re.compile(
    r"(?:^|[_.\-/])(?:api_?key|token|secret|password|passwd|credentials?|auth)$", re.IGNORECASE
)
_WRAPPERS = frozenset(
    {"metrics", "m", "data", "values", "scalars", "logs", "log", "stats", "payload", "record"}
)


def number(value: object) -> float | None:
    """Return a logged value as a float, or None when it is no number.

    Texts count ("1.5", "nan", "-1.#IND", "81.2%" as 0.812, "tensor(0.3, device=...)", "1,234.5"), and the
    largest double is infinity.
    """
    if isinstance(value, float):
        return value if -LARGEST < value < LARGEST or value != value else math.copysign(math.inf, value)
    if isinstance(value, (bool, int)):
        try:
            return number(float(value))
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    if isinstance(value, str) and 0 < len(value) <= 200:
        return _parsed(value.strip())
    return None


def limited(values: Floats) -> Floats:
    """Return values with the largest double as infinity, as `number` does for each."""
    return np.where(np.abs(values) >= LARGEST, np.copysign(np.inf, values), values)


def _parsed(text: str) -> float | None:
    word = _WORDS.get(text.lower())
    if word is not None:
        return word
    try:
        return None if "_" in text else number(float(text))
    except ValueError:
        pass
    if text.endswith("%"):
        inner = _parsed(text[:-1].rstrip()) if len(text) > 1 else None
        return None if inner is None else inner / 100.0
    if _GROUPED.match(text):
        return float(text.replace(",", ""))
    wrapped = _WRAPPED.match(text)
    return _parsed(wrapped.group(1)) if wrapped else None


def plain(name: str) -> str:
    """Return a key in lower case with underscores: "Global Step" -> "global_step"."""
    return re.sub(r"[\s\-]+", "_", name.strip().lower())


@lru_cache(maxsize=4096)
def step_kind(name: str) -> tuple[StepUnit, int] | None:
    """Return what a column of this name counts and how good a step axis it is (0 best), or None."""
    key = plain(languages.name(name))
    found = _STEPS.get(key)
    return found or _STEPS.get(key.strip("#%[]()\"' "))


_EPISODES = frozenset({"episode", "episodes", "episode_num", "episode_id", "episode_idx", "n_episode"})
_SCORES = frozenset({"score", "scores", "avg_score", "average_score", "mean_score", "total_score"})


def of_episodes(name: str, beside: Collection[str]) -> str:
    """The name of a column (as `plain` gives it) among others: the score of an episode is its reward."""
    scored = name in _SCORES and not _EPISODES.isdisjoint(beside)
    return name.replace("scores", "reward").replace("score", "reward") if scored else ""


@lru_cache(maxsize=4096)
def is_wall(name: str) -> bool:
    """Say whether a column of this name holds the time of day in seconds."""
    return name.strip().lower().split(" (")[0] in _WALLS


@lru_cache(maxsize=4096)
def is_clock(name: str) -> bool:
    """Say whether a value of this name only tells how fast or how far the run is."""
    key = plain(name)
    return key.endswith(("runtime", "_per_second")) or key.split("/")[-1] in _CLOCKS


@lru_cache(maxsize=4096)
def is_metric(name: str) -> bool:
    """Say whether a name is that of a quantity that training logs hold: a loss, a metric, an lr, a norm."""
    return step_kind(name) is None and names.canonical(name) is not None


@lru_cache(maxsize=4096)
def is_loss(name: str) -> bool:
    """Say whether a quantity of this name is a loss or a term of it."""
    return "/loss" in (names.canonical(name) or "")


def split_of(word: object) -> str | None:
    """Return "train", "eval" or "test" for the word with which a row names its data."""
    return _SPLITS.get(word.strip().lower()) if isinstance(word, str) and len(word) < 40 else None


def split_word(name: str) -> str:
    """Return the first split that a name itself mentions, "" when it mentions none."""
    words = re.split(r"[^a-z0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    return next((_SPLITS[w] for w in words if w in _SPLITS), "")


def as_split(word: str) -> Split:
    """Return the split that `Series.split` knows; "test" is left to the name."""
    if word == "train":
        return "train"
    return "eval" if word == "eval" else ""


def flatten(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the leaves of nested dicts as ("train/loss", value); wrapping words like "metrics" fall away.

    Lists are leaves. Depth and count are capped, the rest is left out.
    """
    if len(row) <= MAX_LEAVES and not any(isinstance(value, dict) for value in row.values()):
        for key, value in row.items():
            yield str(key)[:200], value
        return
    budget = MAX_LEAVES
    stack: list[tuple[str, Any, int]] = [("", row, 0)]
    while stack and budget:
        prefix, value, depth = stack.pop()
        if not isinstance(value, dict):
            budget -= 1
            yield prefix, value
        elif depth < MAX_DEPTH:
            if _is_summary(value):
                budget -= 1
                yield prefix, value["mean"]
                continue
            for key in reversed(list(value)):
                name = str(key)[:200]
                inner = isinstance(value[key], dict)
                path = (
                    prefix if inner and plain(name) in _WRAPPERS else f"{prefix}/{name}" if prefix else name
                )
                stack.append((path, value[key], depth + 1))


_OF_A_MEAN = frozenset({"num", "count", "n", "std", "min", "max", "sum", "var", "median", "mean"})


def _is_summary(value: Mapping[str, Any]) -> bool:
    """`{"num": 64, "mean": 0.3, "std": 0.1}`: one figure, and how it was made (StyleGAN)."""
    return 2 <= len(value) <= 8 and "mean" in value and value.keys() <= _OF_A_MEAN


def setting_value(key: str, value: object) -> tuple[bool, Scalar | tuple[Scalar, ...]]:
    """Return (usable, value) of a configured value; secrets are blanked, long texts and objects unusable."""
    if isinstance(value, str):
        if _SECRET.search(key):
            return True, "***"
        return len(value) <= MAX_TEXT, value
    if value is None or isinstance(value, (bool, int, float)):
        return not (isinstance(value, int) and abs(value) > 10**30), value
    if isinstance(value, (list, tuple)) and len(value) <= 64:
        items = [setting_value(key, v) for v in value]
        scalars = tuple(v for ok, v in items if ok and not isinstance(v, tuple))
        return len(scalars) == len(value), scalars
    return False, None


def settings_kept(found: Mapping[str, Any], file: str, line: int | None = None) -> Iterator[Setting]:
    """Yield the settings that a log or a result keeps beside its curves, nested parts with dotted keys."""
    for name, leaf in flatten(found):
        usable, value = setting_value(name, leaf)
        if usable:
            yield Setting(name.replace("/", "."), value, file, line, BESIDE_CURVES)

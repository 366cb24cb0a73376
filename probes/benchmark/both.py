"""A setting as run and benchmark record it, and whether the two mean the same."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

import numpy as np

from ...engine.model import Place
from .. import settings as names
from ..config.values import says, scalar_of
from ..curves.learning_rate import logged_peak
from ..registry import Finding, View, absent, place_of, present, unknown
from ..run import Configured, Run
from ..settings.effective import defaults_of, framework_of, in_one_convention
from .compare import pair

Both = tuple[Configured, Configured]
SHAPE = ("hidden_size", "num_layers", "num_heads", "model", "image_size", "max_sequence_length")
BY_CHANCE = 1.1  # how far the sizes of two parts lie apart that were drawn, or cut into windows, by chance

DEFAULT = 10  # trust of what a framework does by itself


def _setting(run: Run, key: str) -> Configured | None:
    """A setting as recorded, or as the framework's documented default fills it in."""
    if key in run.settings:
        return in_one_convention(run, run.settings[key])
    default = defaults_of(run).get(key)
    if default is None:
        return None
    said = f"{key} ({default.note.partition(',')[0]})"
    return in_one_convention(run, Configured(key, default.value, said, "", None, DEFAULT))


def both(view: View, key: str) -> Both | None:
    """Return the two records of a setting, or None where one side does not have it."""
    if view.benchmark is None:
        return None
    mine, theirs = _setting(view.run, key), _setting(view.benchmark, key)
    if mine is None or theirs is None:
        return None
    if mine.trust == theirs.trust == DEFAULT and framework_of(view.run) == framework_of(view.benchmark):
        return None
    if key == "global_batch_size" and not _same_factors(mine, theirs):
        return None
    if key == "global_batch_size" and _accumulates_unread(view, mine, theirs):
        return None
    if key == "lr_scheduler" and {str(mine.value), str(theirs.value)} & _FORMLESS:
        return None
    return mine, theirs


# schedules whose name does not tell their course: a function of the user's, others one after another
_FORMLESS = frozenset(
    {"lambdalr", "multiplicativelr", "sequentiallr", "chainedscheduler", "lambda", "sequential"}
)


def both_rates(view: View) -> Both | None:
    """Both learning rates as recorded; where a side records none, both as logged."""
    found = both(view, "learning_rate")
    if found is not None or view.benchmark is None:
        return found
    mine, theirs = logged_peak(view.run), logged_peak(view.benchmark)
    if mine is None or theirs is None or not _one_schedule(view):
        return None
    return mine, theirs


def _one_schedule(view: View, spread: float = 3.0) -> bool:
    """Whether the logged rates are, within a factor of `spread`, multiples of each other where they are large

    Peaks of curves of another form are not compared: there the schedule differs, not the rate.
    """
    rates = pair(view, "learning_rate", 3)
    if isinstance(rates, str):
        return True
    large = (rates.bench > 0.05 * np.max(rates.bench)) & (rates.bench > 0)
    if not large.any() or not np.any(rates.run > 0):
        return True
    ratios = np.maximum(rates.run[large], 1e-300) / rates.bench[large]
    return float(np.quantile(ratios, 0.9) / np.quantile(ratios, 0.1)) <= spread


def _same_factors(mine: Configured, theirs: Configured) -> bool:
    """A product without the number of processes is not compared with one that has it."""
    sides = ["world_size" in c.raw or not c.raw.startswith("batch_size") for c in (mine, theirs)]
    return sides[0] == sides[1]


def _accumulates_unread(view: View, mine: Configured, theirs: Configured) -> bool:
    """Whether one product counts accumulated batches, and the other side's script accumulates them unread."""
    counted = ["accumulation" in c.raw for c in (mine, theirs)]
    if counted[0] == counted[1] or view.benchmark is None:
        return False
    other = view.benchmark if counted[0] else view.run
    return any(_ACCUMULATES.search(text) for text in other.scripts.values())


_ACCUMULATES = re.compile(r"(?i)accum|micro_?(?:batch|step)|self\.micro")


def where_told(found: Both) -> tuple[Place, ...]:
    """Where run and benchmark tell of a setting."""
    sides: tuple[Literal["run", "benchmark"], ...] = ("run", "benchmark")
    return tuple(place_of(c, s) for c, s in zip(found, sides, strict=True) if c.file)


def both_numbers(found: Both | None) -> tuple[float, float] | None:
    """The numbers of a setting on both sides; None where one of them is no number."""
    if found is None:
        return None
    mine, theirs = (None if isinstance(c.value, tuple) else names.number(c.value) for c in found)
    return (mine, theirs) if mine is not None and theirs is not None else None


def missing(view: View, key: str) -> Finding:
    """Unknown: which side does not record the setting."""
    words = key.replace("_", " ")
    mine = _setting(view.run, key)
    if mine is None:
        return unknown(f"the run does not record its {words}")
    if view.benchmark is None or _setting(view.benchmark, key) is None:
        return unknown(f"the benchmark does not record its {words}")
    return unknown(f"the two records of {words} cannot be compared")


def told_sides(found: Both) -> str:
    """What both sides record, in words."""
    return f"{says(found[0])}, in the benchmark {says(found[1])}"


def judged_sides(found: Both, differs: bool) -> Finding:
    """What both sides say of one setting, and whether the run differs in the way that is looked for."""
    tell = present if differs else absent
    value, threshold = (scalar_of(c) for c in found)
    return tell(told_sides(found), value=value, threshold=threshold, where=where_told(found))


def ratio_of(view: View, key: str, ratio: float, up: bool) -> Finding:
    """Whether the run's number is `ratio` times the benchmark's; with `up` false the other way round."""
    found = both_rates(view) if key == "learning_rate" else both(view, key)
    values = both_numbers(found)
    if found is None or values is None:
        return missing(view, key)
    mine, theirs = values if up else values[::-1]
    differs = mine > theirs * ratio if theirs > 0 else mine > 0 and theirs == 0
    return judged_sides(found, differs)


def shared_recipe(view: View) -> list[tuple[str, Both]]:
    """The hyperparameters and sizes that both sides wrote down."""
    keys = dict.fromkeys((*names.table().hyperparameters, *SHAPE, "train_samples"))
    return [(k, f) for k in keys if (f := both(view, k)) and f[0].trust > 10 and f[1].trust > 10]


# One loss under the names of several frameworks, all of logits.
_ONE_LOSS = {
    name: common
    for common, alike in {
        "cross-entropy": (
            *("crossentropyloss", "crossentropy", "softmaxcrossentropywithlogits"),
            *(
                "sparsecategoricalcrossentropy",
                "categoricalcrossentropy",
                "sparsesoftmaxcrossentropywithlogits",
            ),
        ),
        "mean-squared-error": ("mseloss", "mse", "meansquarederror", "l2loss"),
        "mean-absolute-error": ("l1loss", "mae", "meanabsoluteerror"),
        "huber": ("huberloss", "huber"),
    }.items()
    for name in alike
}


# what one update is called by frameworks, and by the makers of their devices
_ONE_OPTIMIZER = {
    name: common
    for common, alike in {
        "adamw": ("adamweightdecay", "npufusedadamw", "adamwtorch", "adamwtorchfused", "adamwhf"),
        "adam": ("adamoptimizer", "npufusedadam"),
        "sgd": ("gradientdescentoptimizer", "momentumoptimizer", "momentum", "npufusedsgd"),
        "rmsprop": ("rmspropoptimizer", "npufusedrmsprop"),
    }.items()
    for name in alike
}


# schedules that hold the rate and cut it at some points: at every n-th, or at those of a list
_IN_STEPS = frozenset(
    ("step", "steplr", "multistep", "multisteplr", "piecewise", "piecewiseconstant", "piecewiseconstantdecay")
)


_BY_PRESENCE = frozenset(["pretrained", "resume_from"])


_BY_NAME = frozenset(["model", "dataset", "tokenizer", "loss_function", "initializer"])


def equal(key: str, mine: Configured, theirs: Configured) -> bool:
    """Say whether two records of a setting mean the same."""
    if key in _BY_PRESENCE:  # where a checkpoint lies differs between machines
        return (mine.value in (None, False)) == (theirs.value in (None, False))
    if key in _BY_NAME:
        sides = [_bare(side.value) for side in (mine, theirs)]
        if key == "loss_function":
            sides = [_ONE_LOSS.get(name, name) for name in sides]
        return sides[0] == sides[1]
    if key == "optimizer":
        sides = [_bare(side.value) for side in (mine, theirs)]
        return len({_ONE_OPTIMIZER.get(name, name) for name in sides}) == 1
    if key == "lr_scheduler" and {_bare(side.value) for side in (mine, theirs)} <= _IN_STEPS:
        return True  # which steps it falls at, other settings tell
    if key in ("train_samples", "eval_samples") and counted_in_passing(mine, theirs):
        counts = [names.number(c.value) for c in (mine, theirs) if not isinstance(c.value, tuple)]
        sizes = [c for c in counts if c]
        return len(sizes) == 2 and max(sizes) < BY_CHANCE * min(sizes)
    if key == "vocabulary":  # where it lies differs between machines
        return len({str(side.value).rpartition("/")[2].lower() for side in (mine, theirs)}) == 1
    if isinstance(mine.value, str) and isinstance(theirs.value, str):
        return mine.value.lower() == theirs.value.lower()
    if key == "max_grad_norm":
        return names.same(mine.value or 0, theirs.value or 0)
    return names.same(mine.value, theirs.value)


def counted_in_passing(*sides: Configured) -> bool:
    """Whether a count is what a log told, not what was asked for: another seed draws other parts."""
    return any(re.match(r"class_counts|samples_(?:train|eval)$", c.raw) for c in sides)


def _bare(value: object) -> str:
    """Letters and digits of a name: "ResNet-50" and "resnet50" are one model."""
    return re.sub(r"[^a-z0-9]", "", re.sub(r"\.(?:pt|pth|ya?ml|json|csv|txt|jsonl)$", "", str(value).lower()))


def settings_apart(view: View, keys: Iterable[str]) -> tuple[list[Both], int]:
    """Return the settings that differ, and how many both sides record."""
    differ, compared = [], 0
    for key in keys:
        found = both(view, key)
        if found is None:
            continue
        compared += 1
        if equal(key, *found) or _on_scale_of_bytes(view, key) or _without_decay(view, key, found):
            continue
        if key == "router_aux_loss" and _balanced_alike(found):
            continue
        differ.append(found)
    return differ, compared


LIGHTLY = 5.0  # times the weight of the loss that balances experts: beyond that routing is another


def _balanced_alike(found: Both) -> bool:
    """Both sides balance their experts, one a little more."""
    numbers = both_numbers(found)
    return numbers is not None and min(numbers) > 0 and max(numbers) < LIGHTLY * min(numbers)


def _without_decay(view: View, key: str, found: Both) -> bool:
    """AdamW without a weight decay is Adam."""
    if key != "optimizer" or view.benchmark is None:
        return False
    kinds = [str(f.value).lower() for f in found[:2]]
    if sorted(kinds) != ["adam", "adamw"]:
        return False
    decays = [r.settings.get("weight_decay") for r in (view.run, view.benchmark)]
    ours = decays[kinds.index("adamw")]
    other = decays[kinds.index("adam")]
    return ours is not None and ours.value == 0 and (other is None or not other.value)


def _on_scale_of_bytes(view: View, key: str) -> bool:
    """Mean and deviation are both 255 times those of the other side: of values not divided before."""
    pairs = [both(view, "mean"), both(view, "std")] if key in ("mean", "std") else []
    ratios = [
        a / b
        for pair in pairs
        if pair is not None
        for a, b in zip(values_of(pair[0]), values_of(pair[1]), strict=False)
        if b
    ]
    counts = {len(values_of(side)) for pair in pairs if pair is not None for side in pair}
    if None in pairs or len(counts) != 1 or len(ratios) != 2 * max(counts) or not ratios:
        return False
    return all(abs(r / 255 - 1) < 0.005 for r in ratios) or all(abs(r * 255 - 1) < 0.005 for r in ratios)


def say_apart(differ: list[Both]) -> Finding:
    """Present: the first four of these settings, with both values."""
    text = "; ".join(told_sides(d) for d in differ[:4]) + (
        f"; and {len(differ) - 4} more" if len(differ) > 4 else ""
    )
    where = tuple(p for d in differ[:4] for p in where_told(d))
    return present(text, value=scalar_of(differ[0][0]), threshold=scalar_of(differ[0][1]), where=where)


def values_of(setting: Configured) -> list[float]:
    """The numbers of a setting, one or a list; none where one of them is no number."""
    values = setting.value if isinstance(setting.value, tuple) else (setting.value,)
    numbers = [float(v) for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]
    return numbers if len(numbers) == len(values) else []

"""The settings of the run held against its benchmark's, by canonical name.

A setting is compared only where both sides record it (or a documented framework default fills it in): a
setting that one side merely does not mention is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from ...engine.model import Place, State
from .. import settings as names
from ..config.values import number_of, says, scalar_of
from ..curves.learning_rate import logged_peak, logged_warmup
from ..events import unfinished
from ..registry import Finding, View, absent, any_of, place_of, present, probe, unknown
from ..run import Configured, Run
from ..settings.effective import defaults_of, framework_of, in_one_convention
from ..settings.roles import amount, far_apart, is_word, role_of
from .compare import pair

HALF = ("fp16", "bf16", "fp8")
BY_CHANCE = 1.1  # how far the sizes of two parts lie apart that were drawn, or cut into windows, by chance
DEFAULT = 10  # trust of what a framework does by itself
Both = tuple[Configured, Configured]


# ---------------------------------------------------------------------------------------------- settings


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


def _rates(view: View) -> Both | None:
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


def _where(found: Both) -> tuple[Place, ...]:
    sides: tuple[Literal["run", "benchmark"], ...] = ("run", "benchmark")
    return tuple(place_of(c, s) for c, s in zip(found, sides, strict=True) if c.file)


def _numbers(found: Both | None) -> tuple[float, float] | None:
    if found is None:
        return None
    mine, theirs = (None if isinstance(c.value, tuple) else names.number(c.value) for c in found)
    return (mine, theirs) if mine is not None and theirs is not None else None


def _missing(view: View, key: str) -> Finding:
    words = key.replace("_", " ")
    mine = _setting(view.run, key)
    if mine is None:
        return unknown(f"the run does not record its {words}")
    if view.benchmark is None or _setting(view.benchmark, key) is None:
        return unknown(f"the benchmark does not record its {words}")
    return unknown(f"the two records of {words} cannot be compared")


def _sides(found: Both) -> str:
    return f"{says(found[0])}, in the benchmark {says(found[1])}"


def _ratio(view: View, key: str, ratio: float, up: bool) -> Finding:
    found = _rates(view) if key == "learning_rate" else both(view, key)
    values = _numbers(found)
    if found is None or values is None:
        return _missing(view, key)
    mine, theirs = values if up else values[::-1]
    differs = mine > theirs * ratio if theirs > 0 else mine > 0 and theirs == 0
    rest: dict[str, Any] = {
        "value": scalar_of(found[0]),
        "threshold": scalar_of(found[1]),
        "where": _where(found),
    }
    return present(_sides(found), **rest) if differs else absent(_sides(found), **rest)


@probe("benchmark")
def setting_above(view: View, setting: str, ratio: float) -> Finding:
    """The run's number is more than `ratio` times the benchmark's."""
    return _ratio(view, setting, ratio, up=True)


@probe("benchmark")
def setting_below(view: View, setting: str, ratio: float) -> Finding:
    """The benchmark's number is more than `ratio` times the run's."""
    return _ratio(view, setting, ratio, up=False)


_SHAPE = ("hidden_size", "num_layers", "num_heads", "model", "image_size", "max_sequence_length")


def _recipe(view: View) -> list[tuple[str, Both]]:
    """The hyperparameters and sizes that both sides wrote down."""
    keys = dict.fromkeys((*names.table().hyperparameters, *_SHAPE, "train_samples"))
    return [(k, f) for k in keys if (f := both(view, k)) and f[0].trust > 10 and f[1].trust > 10]


def _almost_everything(view: View, many: int, share: float) -> Finding | None:
    """Nearly all shared settings of the recipe differ, sizes among them: two recipes, not one ported.

    One cause changes one setting and what follows from it; a port keeps the sizes.
    """
    shared = _recipe(view)
    differing = [(k, f) for k, f in shared if not equal(k, *f)]
    shapes = [f for k, f in differing if k in _SHAPE]
    if shapes and len(differing) >= many and len(differing) >= share * len(shared):
        text = (
            f"{len(differing)} of {len(shared)} settings that both record differ,"
            f" {_sides(shapes[0])} among them"
        )
        return present(text, value=len(differing), threshold=many, where=_where(shapes[0]))
    return None


@probe("benchmark")
def any_setting_above(view: View, settings: list[str], ratio: float) -> Finding:
    """At least one of several numbers is more than `ratio` times the benchmark's."""
    return any_of(_ratio(view, setting, ratio, up=True) for setting in settings)


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
    if key in ("train_samples", "eval_samples") and _counted_in_passing(mine, theirs):
        counts = [names.number(c.value) for c in (mine, theirs) if not isinstance(c.value, tuple)]
        sizes = [c for c in counts if c]
        return len(sizes) == 2 and max(sizes) < BY_CHANCE * min(sizes)
    if isinstance(mine.value, str) and isinstance(theirs.value, str):
        return mine.value.lower() == theirs.value.lower()
    if key == "max_grad_norm":
        return names.same(mine.value or 0, theirs.value or 0)
    return names.same(mine.value, theirs.value)


def _counted_in_passing(*sides: Configured) -> bool:
    """Whether a count is what a log told, not what was asked for: another seed draws other parts."""
    return any(re.match(r"class_counts|samples_(?:train|eval)$", c.raw) for c in sides)


def _bare(value: object) -> str:
    """Letters and digits of a name: "ResNet-50" and "resnet50" are one model."""
    return re.sub(r"[^a-z0-9]", "", re.sub(r"\.(?:pt|pth|ya?ml|json|csv|txt|jsonl)$", "", str(value).lower()))


def _differences(view: View, keys: Iterable[str]) -> tuple[list[Both], int]:
    """Return the settings that differ, and how many both sides record."""
    differ, compared = [], 0
    for key in keys:
        found = both(view, key)
        if found is None:
            continue
        compared += 1
        if equal(key, *found) or _on_scale_of_bytes(view, key) or _without_decay(view, key, found):
            continue
        differ.append(found)
    return differ, compared


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
        for a, b in zip(_values(pair[0]), _values(pair[1]), strict=False)
        if b
    ]
    counts = {len(_values(side)) for pair in pairs if pair is not None for side in pair}
    if None in pairs or len(counts) != 1 or len(ratios) != 2 * max(counts) or not ratios:
        return False
    return all(abs(r / 255 - 1) < 0.005 for r in ratios) or all(abs(r * 255 - 1) < 0.005 for r in ratios)


@probe("benchmark")
def schedule_differs(view: View, settings: list[str]) -> Finding:
    """At least one of these settings of the schedule differs by more than the length of the run explains.

    A decay over all of a run that is twice as long is the same schedule: the length is what differs.
    """
    differ, compared = _differences(view, settings)
    kept = [d for d in differ if not _follows_length(view, d)]
    if kept:
        return _say_differences(kept)
    if not compared:
        return _missing(view, ", ".join(settings))
    words = "; ".join(map(_sides, differ))
    equals = f"{_count(compared)} of the schedule recorded on both sides, and equal"
    return absent(f"{words}: as much longer as the run" if differ else equals, value=0)


def _count(settings: int) -> str:
    return "1 setting" if settings == 1 else f"{settings} settings"


def _follows_length(view: View, found: Both) -> bool:
    values = _numbers(found)
    if found[0].key != "lr_decay_steps" or values is None or min(values) <= 0:
        return False
    lengths = [n for key in ("epochs", "max_steps") if (n := _numbers(both(view, key))) and min(n) > 0]
    return any(abs(values[0] / values[1] / (a / b) - 1) < 0.02 and a != b for a, b in lengths)


def _say_differences(differ: list[Both]) -> Finding:
    text = "; ".join(_sides(d) for d in differ[:4]) + (
        f"; and {len(differ) - 4} more" if len(differ) > 4 else ""
    )
    where = tuple(p for d in differ[:4] for p in _where(d))
    return present(text, value=scalar_of(differ[0][0]), threshold=scalar_of(differ[0][1]), where=where)


@probe("benchmark")
def settings_differ(view: View, settings: list[str], pipelines: bool = False, least: int = 1) -> Finding:
    """At least one of these settings is recorded on both sides with two values.

    Absent needs `least` of them on both sides: of many settings one equal one says little of the others.
    `pipelines`: settings without a canonical name count, too, where their names say that they make inputs
    (`data.train_pipeline.1.padding`, `time_mask`).
    """
    differ, compared = _differences(view, settings)
    if differ:
        return _say_differences(differ)
    if pipelines:
        others = [d for d in other_settings(view)[0] if _role(d) == "processing"]
        if others:
            return say_others(others)
    if compared >= least:
        named = [s.replace("_", " ") for s in settings if both(view, s) is not None]
        more = f" and {len(named) - 4} more" if len(named) > 4 else ""
        return absent(f"recorded on both sides, and equal: {', '.join(named[:4])}{more}", value=0)
    if compared:
        equals = ", ".join(s.replace("_", " ") for s in settings if both(view, s) is not None)
        return unknown(f"of {len(settings)} settings only {equals} is recorded on both sides")
    return unknown(f"not recorded on both sides: {', '.join(s.replace('_', ' ') for s in settings[:4])}")


@probe("benchmark")
def normalisation_left_out(view: View, scale: float) -> Finding:
    """Mean 0 and deviation 1 change nothing, where the benchmark's tell of raw values on another scale.

    Raw values lie about the benchmark's mean, with its deviation: on another scale means beyond `scale`.
    """
    pairs = [both(view, "mean"), both(view, "std")]
    if pairs[0] is None or pairs[1] is None:
        return _missing(view, "std" if pairs[0] is not None else "mean")
    (mean, std), (their_mean, their_std) = (
        [_values(pair[side]) for pair in pairs if pair is not None] for side in (0, 1)
    )
    if not (mean and std and their_mean and their_std):
        return unknown("mean and deviation are not recorded as numbers")
    text = "; ".join(_sides(pair) for pair in pairs if pair is not None)
    where = tuple(p for pair in pairs if pair is not None for p in _where(pair))
    high = max(max(map(abs, their_mean)), max(map(abs, their_std)))
    raw = high if high > scale else max(map(abs, their_std))
    rest: dict[str, Any] = {"value": raw, "threshold": scale, "where": where}
    plain = set(mean) == {0.0} and set(std) == {1.0}
    if plain and (raw > scale or 0 < raw < 1 / scale):
        return present(f"{text}: values on a scale of {raw:.4g} reach the model as they are", **rest)
    return absent(text, **rest)


def _values(setting: Configured) -> list[float]:
    """The numbers of a setting, one or a list; none where one of them is no number."""
    values = setting.value if isinstance(setting.value, tuple) else (setting.value,)
    numbers = [float(v) for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]
    return numbers if len(numbers) == len(values) else []


@probe("benchmark")
def lr_per_sample_differs(view: View, ratio: float) -> Finding:
    """Learning rate divided by batch size, against the benchmark's."""
    rates, batches = _rates(view), both(view, "global_batch_size")
    lr, batch = _numbers(rates), _numbers(batches)
    if rates is None or lr is None:
        return _missing(view, "learning_rate")
    if batches is None or batch is None or min(*batch, *lr) <= 0:
        return _missing(view, "global_batch_size")
    mine, theirs = lr[0] / batch[0], lr[1] / batch[1]
    factor = max(mine / theirs, theirs / mine)
    text = f"the learning rate per sample is {mine:.3g}, in the benchmark {theirs:.3g}"
    rest: dict[str, Any] = {"value": factor, "threshold": ratio, "where": _where(rates) + _where(batches)}
    return present(text, **rest) if factor >= ratio else absent(text, **rest)


def _warmup(run: Run) -> tuple[float, Configured] | None:
    """Warm-up as a number of steps, or of epochs where steps are not known (never mixed: the key tells)."""
    for key in ("warmup_steps", "warmup_epochs", "warmup_ratio"):
        value = number_of(run, key)
        if value is not None and value > 0:
            return value, run.settings[key]
    for key in ("warmup_steps", "warmup_epochs", "warmup_ratio"):
        if number_of(run, key) is not None:
            return 0.0, run.settings[key]
    return None


def _warmups(view: View) -> tuple[tuple[float, Configured], tuple[float, Configured]] | None:
    """Both warm-ups as recorded; where a side records none, both as the logged learning rates show them."""
    if view.benchmark is None:
        return None
    mine, theirs = _warmup(view.run), _warmup(view.benchmark)
    if mine is not None and theirs is not None:
        return mine, theirs
    seen = [logged_warmup(r) for r in (view.run, view.benchmark)]
    steps = [(number, c) for c in seen if c is not None and (number := names.number(c.value)) is not None]
    return (steps[0], steps[1]) if len(steps) == 2 else None


@probe("benchmark")
def warmup_below(view: View, ratio: float) -> Finding:
    """Warm-up is shorter than the benchmark's by `ratio`, or zero against something."""
    if view.benchmark is None:
        return unknown("needs a benchmark run (--benchmark)")
    judged = _warmups(view)
    if judged is None:
        return _missing(view, "warmup_steps")
    mine, theirs = judged
    found = (mine[1], theirs[1])
    rest: dict[str, Any] = {"value": mine[0], "threshold": theirs[0], "where": _where(found)}
    if theirs[0] == 0:
        return absent("the benchmark has no warm-up", **rest)
    if mine[0] > 0 and mine[1].key != theirs[1].key:
        return unknown(f"warm-up is given in different units ({_sides(found)})", **rest)
    shorter = mine[0] * ratio <= theirs[0]
    return present(_sides(found), **rest) if shorter else absent(_sides(found), **rest)


def _clip(view: View) -> tuple[Both, float, float] | None:
    """Both clipping thresholds; none is infinite."""
    found = both(view, "max_grad_norm")
    if found is None:
        return None
    limits = []
    for side in found:
        value = None if isinstance(side.value, tuple) else names.number(side.value)
        limits.append(float("inf") if value is None or value <= 0 else value)
    return found, limits[0], limits[1]


@probe("benchmark")
def clipping_weaker(view: View, ratio: float) -> Finding:
    """The run's clipping threshold is larger, or it does not clip."""
    return _clipping(view, ratio, weaker=True)


@probe("benchmark")
def clipping_stronger(view: View, ratio: float) -> Finding:
    """The run's clipping threshold is smaller, or only the run clips."""
    return _clipping(view, ratio, weaker=False)


def _clipping(view: View, ratio: float, weaker: bool) -> Finding:
    clip = _clip(view)
    if clip is None:
        return _missing(view, "max_grad_norm")
    found, mine, theirs = clip
    large, small = (mine, theirs) if weaker else (theirs, mine)
    rest: dict[str, Any] = {
        "value": scalar_of(found[0]),
        "threshold": scalar_of(found[1]),
        "where": _where(found),
    }
    differs = large >= ratio * small and large != small
    return present(_sides(found), **rest) if differs else absent(_sides(found), **rest)


def _no_more_updates(view: View, slack: float = 1.1) -> str | None:
    """Say that the run's log ends at no later step than the benchmark's; None where that is not so."""
    ends = []
    for run in (view.run, view.benchmark):
        series = None if run is None else run.series.get("train/loss")
        if series is None or series.unit not in ("step", "iteration") or not len(series):
            return None
        ends.append(float(series.steps[-1]))
    if min(ends) <= 0 or ends[0] > slack * ends[1]:
        return None
    return f"it makes no more updates (step {ends[0]:g}, in the benchmark {ends[1]:g}): an epoch has fewer"


def _length(view: View, ratio: float, up: bool) -> Finding:
    for key in ("epochs", "max_steps"):
        values = _numbers(both(view, key))
        if values is not None and min(values) > 0:
            return _ratio(view, key, ratio, up)
    return _missing(view, "epochs")


@probe("benchmark")
def length_below(view: View, ratio: float) -> Finding:
    """Fewer epochs (or steps) are planned than in the benchmark.

    A plan that is as long says nothing of a run that ended early: unknown.
    """
    found = _length(view, ratio, up=False)
    ended = unfinished(view, 0.9) if found.state is State.ABSENT else found
    early = ended.state is State.PRESENT and found.state is State.ABSENT
    return unknown(f"{found.why}; {ended.why}", where=found.where) if early else found


@probe("benchmark")
def length_above(view: View, ratio: float) -> Finding:
    """More epochs (or steps) are planned than in the benchmark.

    More epochs and no more updates are those of a smaller training set (or a larger batch): unknown.
    """
    found = _length(view, ratio, up=True)
    same = _no_more_updates(view) if found.state is State.PRESENT else None
    return unknown(f"{found.why}; {same}", where=found.where) if same else found


def _formats(view: View, full: int) -> Finding:
    found = both(view, "precision")
    if found is None:
        return _missing(view, "precision")
    half = [str(c.value) in HALF for c in found]
    rest: dict[str, Any] = {
        "value": scalar_of(found[0]),
        "threshold": scalar_of(found[1]),
        "where": _where(found),
    }
    differs = not half[full] and half[1 - full]
    return present(_sides(found), **rest) if differs else absent(_sides(found), **rest)


@probe("benchmark")
def benchmark_full_precision(view: View) -> Finding:
    """The benchmark is in full precision, the run in mixed."""
    return _formats(view, full=1)


@probe("benchmark")
def run_full_precision(view: View) -> Finding:
    """The run is in full precision, the benchmark in mixed."""
    return _formats(view, full=0)


@probe("benchmark")
def pretrained_differs(view: View) -> Finding:
    """The benchmark starts from trained weights and the run does not."""
    found = both(view, "pretrained")
    if found is None:
        return _missing(view, "pretrained")
    differs = found[1].value not in (None, False) and found[0].value in (None, False)
    rest: dict[str, Any] = {
        "value": scalar_of(found[0]),
        "threshold": scalar_of(found[1]),
        "where": _where(found),
    }
    return present(_sides(found), **rest) if differs else absent(_sides(found), **rest)


def _versions(run: Run) -> dict[str, str]:
    found = {k[len("version:") :]: str(v) for k, v in run.facts.items() if k.startswith("version:")}
    for key, value in run.facts.items():
        match = re.fullmatch(r"(\w+)_version", key)
        if match and isinstance(value, str):
            found.setdefault(match.group(1).replace("_", "-"), value)
    return found


@probe("benchmark")
def versions_differ(view: View) -> Finding:
    """A library is recorded on both sides in two versions."""
    if view.benchmark is None:
        return unknown("needs a benchmark run (--benchmark)")
    mine, theirs = _versions(view.run), _versions(view.benchmark)
    common = sorted(mine.keys() & theirs.keys())
    if not common:
        return unknown("no library's version is recorded on both sides")
    differ = [k for k in common if mine[k] != theirs[k]]
    if not differ:
        return absent(f"the versions of {len(common)} libraries are equal", value=0)
    text = ", ".join(f"{k} {mine[k]} (benchmark {theirs[k]})" for k in differ[:5])
    return present(text, value=mine[differ[0]], threshold=theirs[differ[0]])


def _plain(run: Run) -> dict[str, tuple[Any, Place]]:
    """Settings that have no canonical name and could matter, by their raw key."""
    found: dict[str, tuple[Any, Place]] = {}
    for setting in sorted(run.raw_settings, key=lambda s: -s.trust):
        counted = setting.key.startswith("class_counts.")  # class_shares_differ compares them
        if counted or names.canonical_key(setting.key) is not None or names.is_harmless(setting.key):
            continue
        value = setting.value
        text = str(value)
        if (
            value is None
            or "/" in text
            or "\\" in text
            or text == "***"
            or re.search(r"\d{4}-?\d{2}-?\d{2}", text)
        ):
            continue
        key = ".".join(names.parts_of(setting.key))
        found.setdefault(key, (value, Place(setting.file, setting.line)))
    return found


Other = tuple[str, Any, Any, Place]  # raw key, the run's value, the benchmark's, where the run has it


def other_settings(view: View) -> tuple[list[Other], list[Other]]:
    """Settings without a canonical name that both sides record: those that differ, and the equal ones."""
    if view.benchmark is None:
        return [], []
    mine, theirs = _plain(view.run), _plain(view.benchmark)
    differ: list[Other] = []
    equals: list[Other] = []
    for key in sorted(mine.keys() & theirs.keys()):
        (a, at), b = mine[key], theirs[key][0]
        if "auto" in (a, b) and not (is_word(a) and is_word(b)):
            continue  # what the library then took may be the other's value
        (equals if names.same(a, b) else differ).append((key, a, b, at))
    return differ, equals


def _role(found: Other) -> str | None:
    return role_of(*found[:3])


def say_others(differ: list[Other]) -> Finding:
    """Present: the first four of these differences with their values."""
    text = "; ".join(f"{k} = {a}, in the benchmark {b}" for k, a, b, _ in differ[:4])
    more = f"; and {len(differ) - 4} more" if len(differ) > 4 else ""
    where = tuple(p for *_, p in differ[:4])
    return present(text + more, value=str(differ[0][1]), threshold=str(differ[0][2]), where=where)


@probe("benchmark")
def other_setting_differs(view: View, minimum: int = 3) -> Finding:
    """A setting without a canonical name, and without a name that says what it is about, has two values."""
    differ, equals = ([d for d in found if _role(d) is None] for found in other_settings(view))
    if differ:
        return say_others(differ)
    if len(equals) < minimum:
        return unknown("both sides record fewer than three further settings")
    return absent(f"{len(equals)} further settings are equal", value=0)


@probe("benchmark")
def role_differs(view: View, role: str) -> Finding:
    """A setting without a canonical name differs whose name says that it is about `role` (setting_roles)."""
    differ, equals = ([d for d in found if _role(d) == role] for found in other_settings(view))
    if role == "evaluation":  # how many samples are judged at a time changes nothing
        differ = [d for d in differ if not _AT_A_TIME.search(str(d[0]))]
    if differ:
        return say_others(differ)
    if equals:
        return absent(f"recorded on both sides, and equal: {', '.join(k for k, *_ in equals[:4])}", value=0)
    return unknown(f"no setting of the {role} is recorded on both sides")


_AT_A_TIME = re.compile(r"(?i)(?:^|_)(?:bs|batch|batch_?size)$|num_workers|workers$")
_SIZES_OF_INPUTS = ("image_size", "max_sequence_length")


@probe("benchmark")
def processing_far(view: View, ratio: float) -> Finding:
    """A number of the processing of inputs differs from the benchmark's by a factor of at least `ratio`."""
    differ, equals = ([d for d in found if _role(d) == "processing"] for found in other_settings(view))
    far = [d for d in differ if far_apart(d[1], d[2], ratio) is not None]
    if far:
        return say_others(far)
    known = [f for key in _SIZES_OF_INPUTS if (f := both(view, key)) is not None]
    for found in known:
        values = _numbers(found)
        if values is not None and far_apart(*values, ratio) is not None:
            return present(_sides(found), value=values[0], threshold=values[1], where=_where(found))
    numbers = [d for d in differ + equals if names.number(d[1]) is not None]
    numbers += [(f[0].raw, f[0].value, f[1].value, place_of(f[0])) for f in known]
    if numbers:
        return absent(f"near the benchmark's: {', '.join(k for k, *_ in numbers[:4])}", value=0)
    return unknown("no number of the processing is recorded on both sides")


@probe("benchmark")
def fewer_samples(view: View, ratio: float) -> Finding:
    """The benchmark trains on more than `ratio` times the run's samples, by their count or its parts."""
    found = both(view, "train_samples")
    if found is not None and _counted_in_passing(*found):
        ratio = max(ratio, BY_CHANCE)
    counted = _ratio(view, "train_samples", ratio, up=False)
    if counted.state is not State.UNKNOWN:
        return counted
    differ, equals = ([d for d in found if _role(d) == "samples"] for found in other_settings(view))
    fewer = [d for d in differ if (a := amount(d[1])) and (b := amount(d[2])) and a * ratio < b]
    if fewer:
        return say_others(fewer)
    if equals or differ:
        shown = ", ".join(k for k, *_ in (differ + equals)[:4])
        return absent(f"no fewer than in the benchmark: {shown}", value=0)
    return counted


@probe("benchmark")
def class_shares_differ(view: View, ratio: float, least: float = 0.01) -> Finding:
    """The share of a class in the recorded counts is `ratio` times the benchmark's, or less by as much.

    Classes that make up less than `least` on both sides are left to chance.
    """
    if view.benchmark is None:
        return unknown("needs a benchmark run (--benchmark)")
    sides = [names.class_counts(r.raw_settings) for r in (view.run, view.benchmark)]
    if sides[0] is None or sides[1] is None:
        return unknown("the samples per class are not recorded on both sides")
    (mine, at), (theirs, _) = sides[0], sides[1]
    if len(mine) != len(theirs) or min(sum(mine), sum(theirs)) <= 0:
        return unknown(f"{len(mine)} classes are counted, in the benchmark {len(theirs)}")
    shares = [(a / sum(mine), b / sum(theirs)) for a, b in zip(mine, theirs, strict=True)]
    off = [(max(a, b) / max(min(a, b), 1e-9), a, b) for a, b in shares if max(a, b) >= least]
    factor, a, b = max(off, default=(1.0, 0.0, 0.0))
    text = f"a class makes up {a:.1%} of the samples, in the benchmark {b:.1%}"
    rest: dict[str, Any] = {"value": a, "threshold": b, "where": (Place(at.file, at.line),)}
    return present(text, **rest) if factor >= ratio else absent(text, **rest)


@probe("benchmark")
def columns_differ(view: View, more: bool) -> Finding:
    """The run reads columns that the benchmark does not (`more`), or lacks some of the benchmark's."""
    differ, equals = ([d for d in found if _role(d) == "columns"] for found in other_settings(view))
    for key, mine, theirs, at in differ:
        extra = [c for c in (mine if more else theirs) if c not in (theirs if more else mine)]
        if extra:
            side = "the run alone" if more else "the benchmark alone"
            text = f"{key}: {side} has {', '.join(extra[:4])}"
            return present(text, value=len(mine), threshold=len(theirs), where=(at,))
    if differ or equals:
        return absent(f"{(differ + equals)[0][0]} names {'no more' if more else 'no fewer'} columns", value=0)
    return unknown("columns are not recorded on both sides")


@probe("benchmark")
def any_hyperparameter_differs(view: View, least: int, without: tuple[str, ...] | list[str] = ()) -> Finding:
    """At least one hyperparameter differs; those of `without` are not looked at.

    Absent needs `least` of them on both sides.
    """
    differ, compared = _differences(view, [k for k in names.table().hyperparameters if k not in without])
    if differ:
        return _say_differences(differ)
    if compared < least:
        return unknown(f"{compared} hyperparameters are recorded on both sides, {least} are needed")
    return absent(f"{compared} hyperparameters are recorded on both sides, and equal", value=0)


@probe("benchmark")
def other_task(view: View, many: int, share: float) -> Finding:
    """Classes, vocabulary, or model and data together are another task's, or nearly the whole recipe is.

    At least `many` settings and a `share` of those that both sides record differ, a size among them. Absent
    needs one of the named on both sides, or `many` settings of which most are equal.
    """
    sizes = [(k, f) for k in ("num_classes", "vocab_size") if (f := both(view, k)) is not None]
    for key, found in sizes:
        numbers = _numbers(found)
        if numbers is None or min(numbers) <= 0:
            continue
        # vocabularies are padded; class counts are not
        if max(numbers) > min(numbers) * (1.1 if key == "vocab_size" else 1.0):
            return present(_sides(found), value=numbers[0], threshold=numbers[1], where=_where(found))
    model, data = both(view, "model"), both(view, "dataset")
    other_model = model is not None and not equal("model", *model)
    other_data = data is not None and not equal("dataset", *data)
    if model is not None and data is not None and other_model and other_data:
        return present(
            f"{_sides(model)}; {_sides(data)}", value=scalar_of(model[0]), where=_where(model) + _where(data)
        )
    if (other := _almost_everything(view, many, share)) is not None:
        return other
    if sizes or (data is not None and not other_data) or (model is not None and not other_model):
        shared = [f[0].key for _, f in sizes] + [f[0].key for f in (model, data) if f is not None]
        return absent(f"recorded on both sides and alike: {', '.join(shared)}")
    recipe = _recipe(view)
    differing = sum(not equal(k, *f) for k, f in recipe)
    if len(recipe) >= many and differing < len(recipe) / 2:
        return absent(f"{len(recipe) - differing} of {len(recipe)} settings that both record are equal")
    return unknown("neither classes nor vocabulary, model or data are recorded on both sides")

"""The settings of two runs beside each other: what differs in force, however it was written.

What is written otherwise and means the same is no difference; what follows from a difference is none of its
own; what only one side records is compared with the other side's default, and left open where there is none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from ...engine.model import Scalar, SettingDifference, SettingsComparison, SettingValue
from .. import environment
from ..run import Configured, Run, Setting
from ..settings import canonical_key, is_harmless, number, same, table
from ..settings.effective import defaults, effects, filled, framework_of, settings_of
from .both import equal as same_setting

Side = Mapping[str, SettingValue]
MOST_FURTHER = 40
_WEIGHTS = ("high", "medium", "low", "unknown")
_FACTORS = ("batch_size", "gradient_accumulation_steps", "world_size")
_DECAYING = ("adam", "nadam", "radam")
# Only said of where it is recorded: the number of samples and the like are facts of the data, no defaults.
_LENGTHS = ("warmup_steps", "warmup_ratio", "warmup_epochs")


def compare(run: Run, benchmark: Run | None) -> SettingsComparison:
    """Return the settings in force of a run and how they differ from its benchmark's."""
    mine = settings_of(run)
    if benchmark is None:
        mine |= filled(run, _compared(), mine)
        return SettingsComparison(
            run.info, None, dict(sorted(mine.items())), environment=environment.compare(run, None)
        )
    theirs = settings_of(benchmark)
    mine, theirs = _with_defaults(run, benchmark, mine, theirs)
    told = _Told(mine, theirs)
    _batches(told)
    _warmup(told)
    _decay_form(run, benchmark, told)
    for key in sorted(set(mine) & set(theirs) - told.settled):
        told.hold(key)
    return SettingsComparison(
        run.info,
        benchmark.info,
        dict(sorted(mine.items())),
        tuple(sorted(told.differences, key=_order)),
        tuple(_consequences(told)),
        tuple(told.equivalent),
        tuple(_inherent(run, benchmark, mine)),
        tuple(_further(run, benchmark))[:MOST_FURTHER],
        tuple(sorted(set(mine) - set(theirs) - told.settled)),
        tuple(sorted(set(theirs) - set(mine) - told.settled)),
        told.equal,
        environment.compare(run, benchmark),
    )


def _compared() -> Mapping[str, object]:
    return table().specs


class _Told:
    """The comparison in the making."""

    def __init__(self, mine: Side, theirs: Side) -> None:
        self.mine, self.theirs = mine, theirs
        self.differences: list[SettingDifference] = []
        self.equivalent: list[str] = []
        self.settled: set[str] = set()
        self.equal = 0

    def pair(self, key: str) -> tuple[float, float] | None:
        """The two numbers of a setting, where both sides have one."""
        values = [_number(side[key].value) if key in side else None for side in (self.mine, self.theirs)]
        return None if None in values else (values[0], values[1])  # type: ignore[return-value]

    def hold(self, key: str) -> None:
        """Compare one setting that both sides have."""
        mine, theirs = self.mine[key], self.theirs[key]
        if _equal(key, mine, theirs):
            self.equal += 1
            written = [v.value for v in (mine, theirs)]
            if mine.note != theirs.note and any(v.origin == "written" and v.note for v in (mine, theirs)):
                self.equivalent.append(f"{_words(key)}: {mine.note or theirs.note}; both are {written[0]}")
            return
        self.differences.append(difference(key, mine, theirs))

    def same(self, sentence: str, *keys: str) -> None:
        """Settings that are written otherwise and come to the same."""
        self.equivalent.append(sentence)
        self.settled.update(keys)
        self.equal += 1


def _number(value: Scalar | tuple[Scalar, ...]) -> float | None:
    return None if isinstance(value, tuple) else number(value)


def _equal(key: str, mine: SettingValue, theirs: SettingValue) -> bool:
    sides = [Configured(key, v.value, v.raw, v.file, v.line, 50) for v in (mine, theirs)]
    if key == "loss_scale" and "dynamic" in (mine.value, theirs.value):
        return mine.value == theirs.value
    return same_setting(key, *sides)


def difference(key: str, mine: SettingValue, theirs: SettingValue) -> SettingDifference:
    """Say what a difference in a setting can do."""
    rule = effects().get(key, {})
    a, b = _number(mine.value), _number(theirs.value)
    less = a is not None and b is not None and a < b
    effect = rule.get("any") or rule.get("less" if less else "more", "") if rule else ""
    if "any" not in rule and (a is None or b is None):
        effect = "another value than the benchmark's" if rule else ""
    cause = rule.get("cause_less") if less and "cause_less" in rule else rule.get("cause", "")
    weight: Any = rule.get("weight", "unknown")
    return SettingDifference(key, mine, theirs, weight, effect, cause or "", rule.get("source", ""))


def _order(found: SettingDifference) -> tuple[int, float, str]:
    """The weightiest first; of equal weight what differs by the largest factor."""
    a, b = _number(found.run.value), _number(found.benchmark.value)
    far = abs(math.log(a / b)) if a and b and a > 0 and b > 0 else 1.0
    return _WEIGHTS.index(found.weight), -far, found.key


def _words(key: str) -> str:
    return key.replace("_", " ")


# ------------------------------------------------------------------------------------------- defaults


def _with_defaults(
    run: Run, benchmark: Run, mine: Side, theirs: Side
) -> tuple[dict[str, SettingValue], dict[str, SettingValue]]:
    """Fill in defaults where one side records a setting, or where the two defaults differ."""
    all_mine = dict(mine) | filled(run, _compared(), mine)
    all_theirs = dict(theirs) | filled(benchmark, _compared(), theirs)
    shared = set(all_mine) & set(all_theirs)
    kept_mine = {k: v for k, v in all_mine.items() if k in mine or k in shared}
    kept_theirs = {k: v for k, v in all_theirs.items() if k in theirs or k in shared}
    return kept_mine, kept_theirs


# ----------------------------------------------------------------------------------- what comes to the same


def _batches(told: _Told) -> None:
    """Batch per device x accumulation x processes: the product counts, not its factors."""
    whole = told.pair("global_batch_size")
    if whole is None:
        if "global_batch_size" in told.mine or "global_batch_size" in told.theirs:
            told.settled.add("global_batch_size")
        return
    sides = (told.mine["global_batch_size"], told.theirs["global_batch_size"])
    derived = [v.origin == "derived" for v in sides]
    if any(derived) and not _comparable(told):
        told.settled.add("global_batch_size")  # a product of other factors
        return
    differing = [
        k
        for k in _FACTORS
        if k in told.mine and k in told.theirs and not _equal(k, told.mine[k], told.theirs[k])
    ]
    if not same(*whole):
        if differing:
            told.settled.add("global_batch_size")  # follows from its factors
        return
    if differing:
        products = [
            " x ".join(_shown(side, k) for k in _FACTORS if k in side) for side in (told.mine, told.theirs)
        ]
        sentence = (
            f"global batch size: {products[0]} here and {products[1]} in the benchmark are both {whole[0]:g}"
        )
        told.same(sentence, *differing, *_FACTORS, "global_batch_size")


def _comparable(told: _Told) -> bool:
    """A product without the number of processes is not compared with one that has it."""
    sides = [("world_size" in side, side["global_batch_size"].origin) for side in (told.mine, told.theirs)]
    return sides[0] == sides[1] or all(has for has, _ in sides)


def _shown(side: Side, key: str) -> str:
    value = _number(side[key].value)
    return str(side[key].value) if value is None else f"{value:g}"


def _warmup(told: _Told) -> None:
    """Warm-up in steps, as a share of all steps, or in epochs."""
    if any(k in told.mine and k in told.theirs for k in _LENGTHS):
        return
    here, there = _warmup_steps(told.mine), _warmup_steps(told.theirs)
    if here is None or there is None:
        return
    keys = [next(k for k in _LENGTHS if k in side) for side in (told.mine, told.theirs)]
    if abs(here - there) <= max(1.0, 0.005 * max(here, there)):
        shown = [f"{_words(k)} {_shown(s, k)}" for k, s in zip(keys, (told.mine, told.theirs), strict=True)]
        told.same(f"warm-up: {shown[0]} here and {shown[1]} in the benchmark are both {here:g} steps", *keys)
        return
    sides = []
    for count, key, side in zip((here, there), keys, (told.mine, told.theirs), strict=True):
        given = side[key]
        raw = f"{given.raw or key} = {_shown(side, key)}"
        sides.append(SettingValue(round(count), "derived", raw, given.file, given.line))
    told.settled.update(keys)
    told.differences.append(difference("warmup_steps", *sides))


def _warmup_steps(side: Side) -> float | None:
    def value(key: str) -> float | None:
        return _number(side[key].value) if key in side else None

    steps, ratio, epochs = (value(k) for k in _LENGTHS)
    if steps is not None:
        return steps
    total, per_epoch, length = value("max_steps"), value("steps_per_epoch"), value("epochs")
    if per_epoch is None and total is not None and length:
        per_epoch = total / length
    if ratio is not None:
        total = total if total is not None else per_epoch * length if per_epoch and length else None
        return None if total is None else ratio * total
    return None if epochs is None or per_epoch is None else epochs * per_epoch


def _decay_form(run: Run, benchmark: Run, told: _Told) -> None:
    """Weight decay in the gradient or beside it: Adam of one framework is AdamW of another."""
    forms = [_form(r, s) for r, s in ((run, told.mine), (benchmark, told.theirs))]
    decays = told.pair("weight_decay")
    names = [str(s["optimizer"].value) if "optimizer" in s else "" for s in (told.mine, told.theirs)]
    if None in forms or decays is None or not any(decays):
        return
    family = {"adamw": "adam"}
    if family.get(names[0], names[0]) != family.get(names[1], names[1]):
        return
    if forms[0] == forms[1]:
        if names[0] != names[1]:
            told.same(
                f"optimizer: {names[0]} here and {names[1]} in the benchmark both decay weights {forms[0]}",
                "optimizer",
            )
        return
    if names[0] == names[1]:
        sides = [
            SettingValue(f"{form}", "derived", f"optimizer = {name}", note=f"{name} of {framework_of(r)}")
            for form, name, r in zip(forms, names, (run, benchmark), strict=True)
        ]
        told.differences.append(difference("weight_decay_form", *sides))


def _form(run: Run, side: Side) -> Literal["coupled", "decoupled"] | None:
    framework = framework_of(run)
    name = str(side["optimizer"].value) if "optimizer" in side else ""
    if name == "adamw":
        return "decoupled"
    if framework is None or name not in _DECAYING:
        return None
    form: Literal["coupled", "decoupled"] = defaults()["frameworks"][framework].get("weight_decay", "coupled")
    return form


# ------------------------------------------------------------------------------------------ what follows


def _consequences(told: _Told) -> Iterator[str]:
    batch = told.pair("global_batch_size") if _comparable_batches(told) else None
    rate = told.pair("learning_rate")
    changed = {d.key for d in told.differences}
    if batch and not same(*batch) and changed & {*_FACTORS, "global_batch_size"}:
        yield f"global batch size {batch[0]:g} instead of {batch[1]:g}"
    if batch and rate and min(*batch, *rate) > 0:
        mine, theirs = rate[0] / batch[0], rate[1] / batch[1]
        if not same(mine, theirs) and changed & {*_FACTORS, "global_batch_size", "learning_rate"}:
            yield f"learning rate per sample {mine:.3g} instead of {theirs:.3g} ({_times(mine / theirs)})"
    samples = told.pair("train_samples")
    if batch and samples and min(*batch, *samples) > 0:
        steps = [math.ceil(n / b) for n, b in zip(samples, batch, strict=True)]
        if steps[0] != steps[1]:
            yield f"{steps[0]} {'step' if steps[0] == 1 else 'steps'} per epoch instead of {steps[1]}"
    length = told.pair("max_sequence_length")
    if batch and length and not same(batch[0] * length[0], batch[1] * length[1]):
        yield f"{batch[0] * length[0]:g} tokens per step instead of {batch[1] * length[1]:g}"


def _comparable_batches(told: _Told) -> bool:
    return told.pair("global_batch_size") is not None and (
        all(side["global_batch_size"].origin == "written" for side in (told.mine, told.theirs))
        or _comparable(told)
    )


def _times(ratio: float) -> str:
    return f"{ratio:.3g} times" if ratio >= 1 else f"1/{1 / ratio:.3g}"


def _inherent(run: Run, benchmark: Run, mine: Side) -> Iterator[str]:
    both = {framework_of(run), framework_of(benchmark)}
    for row in defaults()["inherent"]:
        fits = all(key in mine and mine[key].value in values for key, values in row["when"].items())
        if set(row["between"]) == both and fits:
            yield row["says"]


# ------------------------------------------------------------------------------------- names not known


def _further(run: Run, benchmark: Run) -> Iterator[SettingDifference]:
    """Settings of one raw name on both sides whose values differ and whose meaning is not known."""
    mine, theirs = _raw(run), _raw(benchmark)
    for key in sorted(mine.keys() & theirs.keys()):
        a, b = mine[key], theirs[key]
        if not same(a.value, b.value) and str(a.value) != str(b.value):
            yield difference(key, _written(a), _written(b))


def _raw(run: Run) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    for setting in sorted(run.raw_settings, key=lambda s: -s.trust):
        known = canonical_key(setting.key) is not None or environment.is_variable(setting.key)
        if not known and not is_harmless(setting.key):
            found.setdefault(setting.key, setting)
    return found


def _written(setting: Setting) -> SettingValue:
    return SettingValue(setting.value, "written", setting.key, setting.file, setting.line)

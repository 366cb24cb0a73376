"""The learning rate as logged, against what was configured and against the resume points of the run.

Warm-up, cosine, steps, plateaus and configured restarts are normal. What counts as large depends on the
optimizer; where that is unknown only values beyond the limits of both families are judged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...engine.model import State
from ..config import plateau
from ..config.values import number_of, says, value_of
from ..registry import Finding, View, absent, place, place_of, present, probe, unknown
from ..run import Configured, Floats, Run, Series
from . import situation
from .numerics import broken
from .shapes import shape

CURVE = "learning_rate"
_ADAM = frozenset(
    ["adam", "adamw", "adamweightdecay", "nadam", "radam", "rmsprop", "amsgrad", "adamax", "adabelief"]
)
_DECAYING = frozenset(
    ["cosine", "linear", "polynomial", "exponential", "step", "multistep", "inverse-sqrt", "onecycle"]
)
_RESTARTING = frozenset(["cosine-restarts", "cyclic", "onecycle"])
_LANGUAGE = re.compile(
    r"bert|gpt|llama|qwen|mistral|gemma|t5|glm|bloom|opt-|phi|falcon|baichuan|deepseek|internlm|pangu"
)
_REFERENCE_BATCH = 256  # the linear scaling rule starts here
_NEAR = 0.1  # how far weights may have moved and still be those they were drawn as: half a usual spread


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """The logged learning rate without rows that say nothing: finite values, in order of steps."""

    series: Series
    index: np.ndarray[Any, np.dtype[np.intp]]  # of the kept points in the series
    steps: Floats
    values: Floats

    @property
    def peak(self) -> float:
        """The largest value."""
        return float(np.max(self.values))

    @property
    def length(self) -> float:
        """Steps from the beginning (zero, or the first logged step of a resumed log) to the last point."""
        return float(self.steps[-1] - min(float(self.steps[0]), self.interval) + self.interval)

    @property
    def interval(self) -> float:
        """The usual distance of two points, in steps."""
        gaps = np.diff(self.steps)
        return float(np.median(gaps)) if len(gaps) else 1.0


def curve(run: Run) -> Curve | None:
    """Return the logged learning rate, or None when no finite point is logged."""
    series = run.series.get(CURVE)
    if series is None:
        return None
    index = np.flatnonzero(np.isfinite(series.values) & np.isfinite(series.steps) & (series.values >= 0))
    if not len(index):
        return None
    return Curve(series, index, series.steps[index], series.values[index])


def _at(lr: Curve, point: int, **rest: Any) -> dict[str, Any]:
    return {"where": (place(lr.series, int(lr.index[point])),), "series": (CURVE,), **rest}


def family(run: Run) -> str | None:
    """Return "adam", "sgd", or None when the optimizer is unknown or neither."""
    name = value_of(run, "optimizer")
    if name in _ADAM:
        return "adam"
    if name is None and "momentum" in run.settings and not {"adam_beta1", "adam_beta2"} & set(run.settings):
        return "sgd"  # a momentum and no betas
    if name is None and run.facts.get("trainer") == "transformers":
        return "adam"  # `optim` of TrainingArguments is AdamW where nothing else is said
    return "sgd" if name == "sgd" else None


def _peak(run: Run) -> tuple[float, str, dict[str, Any]] | None:
    """The largest learning rate in use: as logged, else as configured; with a sentence and its place."""
    lr = curve(run)
    setting = run.settings.get("learning_rate")
    value = number_of(run, "learning_rate")
    if lr is not None and lr.peak > 0 and (value is None or lr.peak >= value or _whole(lr)):
        at = int(np.argmax(lr.values))
        return lr.peak, f"the learning rate reaches {lr.peak:g} at step {lr.steps[at]:g}", _at(lr, at)
    if setting is None or value is None or (lr is None and _is_factor(run)):
        return None
    return value, f"the learning rate is configured as {value:g}", {"where": _where(setting)}


_SHRINKS = re.compile(
    r"(?i)\b(?:\w*step\w*|s|t|n|it|i|n_iter|num)\)*\s*(?:\*\*\s*\(?|,)\s*-\s*(?:0?\.5|1\s*/\s*2)|rsqrt\("
)


def _is_factor(run: Run) -> bool:
    """The schedule multiplies the configured rate by a size of its own, as d_model ** -0.5 * step ** -0.5."""
    return any("LambdaLR(" in text and _SHRINKS.search(text) for text in run.scripts.values())


def _peak_until_broken(run: Run) -> tuple[float, str, dict[str, Any]] | None:
    """The largest rate that is logged up to where the loss stays no number; None where it does not."""
    lr, bad = curve(run), broken(run)
    if lr is None or bad is None or not bad.lasting or bad.step is None:
        return None
    before = int(np.count_nonzero(lr.steps <= bad.step))
    if not before or before == len(lr.steps) or float(np.max(lr.values[:before])) <= 0:
        return None
    at = int(np.argmax(lr.values[:before]))
    text = (
        f"the learning rate reaches {lr.values[at]:g} at step {lr.steps[at]:g} and the loss breaks after it"
    )
    return float(lr.values[at]), text, _at(lr, at)


def _hardly_moved(run: Run, rate: float) -> str | None:
    """Says that no weight can have moved far when the loss broke; None where that is not known.

    Adam and its kin move no weight by more than about the rate in an update. Needs a loss that is logged by
    updates, and what is logged of it up to there.
    """
    bad = broken(run)
    if bad is None or bad.step is None or family(run) != "adam":
        return None
    loss = run.series.get(bad.name)
    if loss is None or loss.unit not in ("step", "iteration") or rate * (bad.step + 1) > _NEAR:
        return None
    return (
        f"up to step {bad.step:g}, where the loss breaks, Adam with {rate:g} has moved no weight by more than"
        f" about {rate * (bad.step + 1):.2g}"
    )


def logged_peak(run: Run) -> Configured | None:
    """The peak of the logged learning rate, as a setting; None where the log does not show it."""
    lr = curve(run)
    if lr is None or lr.peak <= 0 or not _whole(lr):
        return None
    at = place(lr.series, int(lr.index[int(np.argmax(lr.values))]))
    return Configured(CURVE, lr.peak, "peak of the logged learning rate", at.file, at.line, 20)


def logged_warmup(run: Run, rising: int = 3, level: float = 0.98) -> Configured | None:
    """The step at which the logged learning rate reaches its peak, as a setting; 0 where it starts there.

    None where the beginning was not logged step by step, or where fewer than `rising` points rise to it.
    """
    lr = curve(run)
    if lr is None or lr.peak <= 0 or not _whole(lr) or lr.series.unit == "epoch":
        return None
    first = int(np.argmax(lr.values >= level * lr.peak))
    if 0 < first < rising:
        return None
    steps = float(lr.steps[first]) if first else 0.0
    at = place(lr.series, int(lr.index[first]))
    return Configured("warmup_steps", steps, "steps to the logged peak", at.file, at.line, 20)


def _whole(lr: Curve, points: int = 10) -> bool:
    """The curve shows its peak: logged from the beginning, and no longer rising at its end."""
    early = lr.steps[0] <= max(1.0, 0.05 * lr.length)
    return len(lr.values) >= points and early and int(np.argmax(lr.values)) < 0.9 * len(lr.values)


def _where(setting: Configured) -> tuple[Any, ...]:
    return (place_of(setting),) if setting.file else ()


# a language model out of a hub that is trained as a whole, and what trains but a part of it
_TUNED = re.compile(
    r"\b(?:Auto|TFAuto|Bert|Roberta|XLMRoberta|DistilBert|Deberta\w*|Electra|T5|Bart|GPT2)"
    r"\w*(?:For(?!Image|Audio|Video|Object)\w+|LMHeadModel|Model)\.from_pretrained\("
)
_PARTLY = re.compile(
    r"(?i)requires_grad|trainable = False|peft|lora|adapter|no_grad\(\):\s*\w+ = \w*(?:bert|encoder|backbone)"
    r"|\.detach\(\)|freeze|\bvit|whisper|wav2vec|\bclip(?:model|vision|text)"
)


def _fine_tunes_language(run: Run) -> bool:
    """A trained language model goes on training: its learning rates are ten times smaller."""
    model = str(value_of(run, "model") or "").lower()
    language = "vocab_size" in run.settings or bool(_LANGUAGE.search(model))
    start = value_of(run, "pretrained")
    from_hub = "model" in run.settings and run.settings["model"].raw.endswith("name_or_path")
    adapted = "adapter" in run.settings
    if not adapted and any(_TUNED.search(code) and not _PARTLY.search(code) for code in run.scripts.values()):
        return True
    return language and not adapted and (from_hub or (start is not None and start is not False))


def _limits(run: Run, adam: float, sgd: float, upper: bool) -> dict[str, float]:
    scale = 0.1 if _fine_tunes_language(run) else 1.0
    batch = number_of(run, "global_batch_size") or 0.0
    larger = max(1.0, batch / _REFERENCE_BATCH) if upper else 1.0
    clipped = number_of(run, "max_grad_norm") or 1.0  # a step of SGD is no longer than rate times norm
    room = 1.0 / clipped if upper and 0 < clipped < 1 else 1.0
    return {"adam": adam * scale * larger**0.5, "sgd": sgd * scale * larger * room}


# what fits a Gaussian process: a handful of its own parameters, by hundreds of steps over all samples
_PROCESSES = re.compile(r"(?m)^\s*(?:import|from)\s+(?:gpytorch|gpflow|botorch)\b")


def _above(view: View, adam: float, sgd: float, what: str, until_broken: bool = False) -> Finding:
    peak = (_peak_until_broken(view.run) if until_broken else None) or _peak(view.run)
    if peak is None:
        return unknown("the learning rate is neither logged nor configured")
    value, text, rest = peak
    if any(_PROCESSES.search(code) for code in view.run.scripts.values()):
        return unknown(f"{text}; Gaussian processes are fitted with rates of 0.1", value=value, **rest)
    limits = _limits(view.run, adam, sgd, upper=True)
    kind = family(view.run)
    low, high = (limits[kind], limits[kind]) if kind else (min(limits.values()), max(limits.values()))
    name = kind or "any optimizer"
    if value >= high:
        return present(f"{text}, {what} for {name} ({high:g})", value=value, threshold=high, **rest)
    if value < low:
        return absent(f"{text}, below {low:g} ({name})", value=value, threshold=low, **rest)
    return unknown(
        f"{text}; whether that is much depends on the optimizer, which is not recorded", value=value, **rest
    )


@probe()
def lr_very_large(view: View, adam: float, sgd: float) -> Finding:
    """The largest learning rate is far above what the optimizer is used with."""
    return _above(view, adam, sgd, "far above what is used")


@probe()
def lr_large(view: View, adam: float, sgd: float, far: float) -> Finding:
    """The largest learning rate is at or above the upper end of what the optimizer is used with.

    Once the loss stays no number, rates that are logged after that say nothing of how it came about. From
    `far` times the limits on `lr_very_large` tells the same rate, and one observation counts once: unknown,
    as where the loss breaks before steps of that rate can have moved the weights.
    """
    found = _above(view, adam, sgd, "at or above the upper end", until_broken=True)
    if found.state is State.PRESENT:
        beyond = _above(view, adam * far, sgd * far, "far above what is used", until_broken=True)
        if beyond.state is State.PRESENT:
            return unknown(f"{beyond.why}: more than large", value=beyond.value, where=beyond.where)
        if isinstance(found.value, float) and (near := _hardly_moved(view.run, found.value)):
            return unknown(f"{found.why}; {near}", value=found.value, where=found.where)
    return found


@probe()
def not_finite_at_usual_rate(view: View, adam: float, sgd: float) -> Finding:
    """The loss stops being a number although the learning rate up to there is one that its optimizer bears.

    A large learning rate needs steps to drive the loss out of range, and is large; a bad sample, a quotient
    or a number format needs neither. What counts is the largest rate logged up to that step, else the
    configured one. The limits are those of `lr_large`; a larger rate counts as well where the loss breaks
    before it can have moved the weights.
    """
    bad = broken(view.run)
    if bad is None:
        if situation.main_loss(view.run) is None:
            return unknown(situation.no_loss(view.run))
        return unknown("all values of the training loss are numbers: the question does not arise")
    lr, step = curve(view.run), bad.step
    seen = lr.values[lr.steps <= step] if lr is not None and step is not None else np.empty(0)
    peak = _peak(view.run)
    if len(seen):
        value, rest = float(np.max(seen)), {"series": (CURVE, bad.name)}
    elif peak is not None:
        value, rest = peak[0], peak[2]
    else:
        return unknown(f"{bad.said}; the learning rate is neither logged nor configured")
    limits = _limits(view.run, adam, sgd, upper=True)
    kind = family(view.run)
    low, high = (limits[kind], limits[kind]) if kind else (min(limits.values()), max(limits.values()))
    text = f"{bad.said}; the learning rate was at most {value:g} until then"
    if value < low:
        return present(f"{text}, below {low:g}", value=value, threshold=low, step=step, **rest)
    if near := _hardly_moved(view.run, value):
        return present(f"{text}; {near}", value=value, threshold=low, step=step, **rest)
    if value >= high:
        return absent(f"{text}, at or above {high:g}", value=value, threshold=high, **rest)
    return unknown(f"{text}; whether that is much depends on the optimizer, which is not recorded")


@probe()
def lr_very_small(view: View, adam: float, sgd: float) -> Finding:
    """Even the largest learning rate is far below what the optimizer is used with.

    Policies are trained further by reinforcement with rates of 1e-6 and less.
    """
    if (why := situation.reinforced(view.run)) and _peak(view.run) is not None:
        return unknown(f"{why}: rates far smaller than elsewhere are usual there")
    return _below(view, adam, sgd, "far below what is used")


@probe()
def lr_small(view: View, adam: float, sgd: float) -> Finding:
    """The largest learning rate is below what untrained models are trained with; fine-tuning uses less."""
    loss = situation.main_loss(view.run)
    trained = situation.trained_start(view.run, None if loss is None else shape(loss))
    if trained and _peak(view.run) is not None:
        return unknown(f"{trained}: small learning rates are usual there")
    if any(_LOADS_MODEL.search(text) for text in view.run.scripts.values()) and _peak(view.run) is not None:
        return unknown("a script trains a pretrained model further: small learning rates are usual there")
    if (why := situation.reinforced(view.run)) and _peak(view.run) is not None:
        return unknown(f"{why}: small learning rates are usual there")
    return _below(view, adam, sgd, "below what untrained models are trained with")


def _goes_on(run: Run) -> bool:
    """A trained model is trained further, as settings or scripts say."""
    return "pretrained" in run.settings or any("from_pretrained(" in text for text in run.scripts.values())


_LOADS_MODEL = re.compile(r"Model\w*\.from_pretrained\(")
_LANGUAGE_MODEL = re.compile(r"LM\w*\.from_pretrained\(")
_PREFERENCES = re.compile(r"(?i)dpo|logsigmoid|reward|chosen|kto|orpo")


def _aligns_language(run: Run) -> bool:
    """A script trains a language model further, against preferences or rewards (5e-7 is usual for DPO)."""
    return any(_LANGUAGE_MODEL.search(text) and _PREFERENCES.search(text) for text in run.scripts.values())


def _plain(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _below(view: View, adam: float, sgd: float, what: str) -> Finding:
    peak = _peak(view.run)
    if peak is None:
        return unknown("the learning rate is neither logged nor configured")
    value, text, rest = peak
    if value == 0:
        return unknown(f"{text}: it is zero, not small", value=value, **rest)
    lr = curve(view.run)
    wanted = number_of(view.run, "learning_rate")
    if lr is not None and wanted is not None and lr.peak == value < 0.2 * wanted:
        return unknown(
            f"{text}; configured is {wanted:g}, and the schedule keeps it below", value=value, **rest
        )
    more = [
        n for s in view.run.raw_settings if s.key == "learning_rate" if (n := _plain(s.value)) is not None
    ]
    if lr is None and value in more and max(more) > value:
        return unknown(
            f"{text}; another optimizer of the scripts is given {max(more):g}", value=value, **rest
        )
    if vanishes(view.run) is not None:
        return unknown(
            f"{text}, and then vanishes: what was logged first may be its rest", value=value, **rest
        )
    if "learning_rate" not in view.run.settings and lr is not None and not _whole(lr):
        return unknown(f"{text}; its peak may lie outside of what is logged", value=value, **rest)
    limits = _limits(view.run, adam, sgd, upper=False)
    kind = family(view.run)
    low, high = (limits[kind], limits[kind]) if kind else (min(limits.values()), max(limits.values()))
    name = kind or "any optimizer"
    if value < low and kind is None and lr is None and value >= 0.1 * low and _goes_on(view.run):
        return unknown(
            f"{text}; trained models go on with so little, and the optimizer is not recorded", **rest
        )
    if value < low and value >= 0.1 * low and _aligns_language(view.run):
        return unknown(f"{text}; language models are aligned with so little", **rest)
    if value < low:
        return present(f"{text}, {what} for {name}", value=value, threshold=low, **rest)
    if value >= high:
        return absent(f"{text}, not below {high:g} ({name})", value=value, threshold=high, **rest)
    return unknown(
        f"{text}; whether that is little depends on the optimizer, which is not recorded", value=value, **rest
    )


@probe()
def lr_zero(view: View) -> Finding:
    """Every logged learning rate is zero, or zero is configured."""
    lr = curve(view.run)
    configured = number_of(view.run, "learning_rate")
    if lr is not None and np.any(lr.values > 0):
        return absent(
            f"the learning rate reaches {lr.peak:g}",
            value=lr.peak,
            threshold=0.0,
            **_at(lr, int(np.argmax(lr.values))),
        )
    if lr is not None and len(lr.values) >= 3:
        if configured is not None and 0 < configured < 1e-3:
            # "lr: 0.000" is how a log with three decimals writes 5e-5
            return unknown(
                f"{len(lr.values)} zeros are logged; {configured:g} is configured and may be rounded away"
            )
        text = f"the learning rate is zero in all {len(lr.values)} logged points"
        return present(text, value=0.0, threshold=0.0, step=float(lr.steps[0]), **_at(lr, 0))
    if configured == 0:
        setting = view.run.settings["learning_rate"]
        return present(
            f"zero is configured ({says(setting)})", value=0.0, threshold=0.0, where=_where(setting)
        )
    if configured is not None:
        setting = view.run.settings["learning_rate"]
        return absent(
            f"the learning rate is configured as {configured:g}",
            value=configured,
            threshold=0.0,
            where=_where(setting),
        )
    return unknown("the learning rate is neither configured nor logged in three points")


# ----------------------------------------------------------------------------------------------- shapes


def _planned(run: Run, lr: Curve) -> float | None:
    """The planned length in the unit of the curve's steps, where it is recorded."""
    if lr.series.unit == "epoch":
        return number_of(run, "epochs")
    steps = number_of(run, "max_steps")
    return steps if steps and steps > 0 and lr.series.unit in ("step", "iteration", "unknown") else None


def vanishes(run: Run, within: float = 0.6, left: float = 1e-6) -> tuple[int, str] | None:
    """Where less than `left` of the peak (logged or configured) remains, before `within` of the run; or None.

    No recipe trains on with a millionth of its rate: three steps by ten and a cosine's end leave more, and a
    rate that is zero from the start is another matter. A schedule that is stepped too often gets there.
    Within two thirds of that, a 50000th is as little: five steps by ten, or the floor of a plateau.
    """
    return _gone(run, within, left) or _gone(run, 2 * within / 3, 20 * left)


def _gone(run: Run, within: float, left: float) -> tuple[int, str] | None:
    """As `vanishes`, of one share that is left."""
    lr = curve(run)
    if lr is None or len(lr.values) < 4 or lr.peak <= 0:
        return None
    whole = max(lr.peak, number_of(run, "learning_rate") or 0.0)
    top = int(np.argmax(lr.values))
    small = lr.values < left * whole
    kept = np.flatnonzero(~small)
    first = int(kept[-1]) + 1
    if first <= top or first >= len(small) - 1:
        return None
    share = float((lr.steps[first] - (lr.steps[-1] - lr.length)) / lr.length)
    if share >= within:
        return None
    return (
        first,
        f"only {lr.values[first]:.2g} of a learning rate of {whole:g} is left after {share:.0%} of the run",
    )


@probe(CURVE)
def lr_decays_early(view: View, within: float, level: float, points: int = 8) -> Finding:
    """The learning rate falls to its floor in the first `within` of the run and stays there.

    The floor is at most `level` of the peak, or the configured minimum. Step schedules come down in jumps and
    end on a small last level; they count only when their level is the floor of another configured schedule,
    when nothing is left of the rate (see `vanishes`), or when they are down there in half of `within`:
    recipes take their first step down after half of the run or more.
    """
    lr = curve(view.run)
    if lr is None or len(lr.values) < points:
        return unknown(f"fewer than {points} points of the learning rate are logged")
    gone = vanishes(view.run, within)
    if gone is not None:
        at, words = gone
        return present(words, value=float(lr.values[at]), **_at(lr, at, step=float(lr.steps[at])))
    scheduler = value_of(view.run, "lr_scheduler")
    stepwise = scheduler in ("multistep", "step")
    if plateau.watches(view.run):
        improving = plateau.lowered_while_improving(view.run)
        if improving is None:
            return absent("the schedule lowers the rate where nothing improves", series=(CURVE,))
        return present(improving, **_at(lr, len(lr.values) - 1, value=float(lr.values[-1])))
    if scheduler == "constant":
        return absent(f"the schedule ({scheduler}) is made to end on a low level", series=(CURVE,))
    top = int(np.argmax(lr.values))
    least = float(lr.values[-1])
    minimum = number_of(view.run, "min_learning_rate")
    at_minimum = minimum is not None and minimum < 0.5 * lr.peak and least <= 1.05 * minimum
    if lr.peak <= 0 or (least > level * lr.peak and not at_minimum):
        return absent(
            f"the learning rate ends at {least:g}, its peak is {lr.peak:g}", value=least, series=(CURVE,)
        )
    above = np.flatnonzero(lr.values > least + 0.005 * lr.peak)
    reached = int(above[-1]) + 1 if len(above) else 0
    if reached <= top or reached >= len(lr.values):
        return absent("the learning rate falls to the end", value=least, series=(CURVE,))
    begin = lr.steps[-1] - lr.length
    share = float((lr.steps[reached] - begin) / lr.length)
    if len(np.unique(np.round(lr.values[top:reached] / lr.peak, 3))) <= 4 and scheduler is None:
        return unknown("the learning rate comes down in steps; the schedule is not recorded", series=(CURVE,))
    text = (
        f"the learning rate is down to {lr.values[reached]:g} (peak {lr.peak:g}) after {share:.0%} of the run"
    )
    rest = _at(lr, reached, value=share, threshold=within, step=float(lr.steps[reached]))
    return present(text, **rest) if share < (0.5 * within if stepwise else within) else absent(text, **rest)


@probe(CURVE)
def lr_never_decays(view: View, points: int = 5, least_share: float = 0.3) -> Finding:
    """A schedule that decays is configured; the curve, warm-up aside, is flat."""
    run = view.run
    scheduler = run.settings.get("lr_scheduler")
    if scheduler is None:
        return unknown("the schedule is not recorded")
    lr = curve(run)
    if lr is None or len(lr.values) < points:
        return unknown(f"fewer than {points} points of the learning rate are logged")
    if scheduler.value not in _DECAYING:
        return absent(
            f"the schedule ({says(scheduler)}) need not decay", where=_where(scheduler), series=(CURVE,)
        )
    after = lr.values[int(np.argmax(lr.values)) :]
    spread = float(np.max(after) - np.min(after)) / lr.peak if lr.peak > 0 else 0.0
    rest = _at(lr, len(lr.values) - 1, value=spread, threshold=1e-3)
    if spread > 1e-3:
        return absent(f"the learning rate falls by {spread:.0%} after its peak", **rest)
    if len(after) < points:
        return unknown("the learning rate is still warming up", series=(CURVE,))
    if scheduler.value in ("step", "multistep"):
        if not _decay_due(run, lr):
            return unknown("whether a decay was due by the last point is not recorded", series=(CURVE,))
    elif (planned := _planned(run, lr)) is not None and lr.steps[-1] < least_share * planned:
        return unknown("the run is too short for its schedule to show", series=(CURVE,))
    text = f"{says(scheduler)} is configured, and the learning rate stays at {lr.values[-1]:g}"
    return present(text, **rest)


def _decay_due(run: Run, lr: Curve) -> bool:
    milestones = value_of(run, "lr_milestones")
    first = number_of(run, "lr_decay_steps")
    if isinstance(milestones, tuple) and milestones and isinstance(milestones[0], (int, float)):
        first = float(milestones[0])
    if first is None:
        return False
    epochs = lr.series.epochs
    last = float(epochs[lr.index[-1]]) if epochs is not None else float(lr.steps[-1])
    return last > 1.1 * first + 1


@probe(CURVE)
def lr_restarts(view: View, ratio: float, points: int = 6) -> Finding:
    """The learning rate rises again after a decay, and no restarting schedule is configured."""
    run = view.run
    lr = curve(run)
    if lr is None or len(lr.values) < points:
        return unknown(f"fewer than {points} points of the learning rate are logged")
    top = int(np.argmax(lr.values >= 0.98 * lr.peak))
    after = lr.values[top:]
    if lr.peak <= 0 or len(after) < 3:
        return unknown("the learning rate is still warming up", series=(CURVE,))
    lows = np.minimum.accumulate(after)
    # a rise counts where the rate had come down to half its peak before
    risen = np.flatnonzero((lows <= 0.5 * lr.peak) & (after >= ratio * np.maximum(lows, 1e-3 * lr.peak)))
    if not len(risen):
        return absent("after its peak the learning rate never rises again", series=(CURVE,))
    at = top + int(risen[0])
    low = float(lows[risen[0]])
    text = f"the learning rate rises from {low:g} to {lr.values[at]:g} at step {lr.steps[at]:g}"
    rest = _at(
        lr, at, value=float(lr.values[at]) / max(low, 1e-30), threshold=ratio, step=float(lr.steps[at])
    )
    if any(
        e.step is not None and abs(e.step - lr.steps[at]) <= 2 * lr.interval
        for e in run.events_of("resume", "rewind")
    ):
        return absent(f"{text}, where training was resumed", **rest)
    scheduler = run.settings.get("lr_scheduler")
    if scheduler is None:
        return unknown(f"{text}; the schedule is not recorded", **rest)
    if scheduler.value in _RESTARTING or _cycles(run):
        return absent(f"{text}, as configured ({says(scheduler)})", **rest)
    return present(f"{text}; configured is {says(scheduler)}", **rest)


def _cycles(run: Run) -> bool:
    """`num_cycles: 3`, `cycle_limit: 2`, `T_mult: 2`: the schedule is meant to come again."""
    for setting in run.raw_settings:
        last = re.split(r"[./]", setting.key)[-1].lower().replace("-", "_")
        if last in (
            "num_cycles",
            "cycle_limit",
            "lr_cycle_limit",
            "t_mult",
            "t_0",
            "n_cycles",
            "lr_cycle_mul",
        ):
            value = setting.value
            if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 1:
                return True
    return False


@probe(CURVE)
def lr_jumps_at_resume(view: View, ratio: float) -> Finding:
    """Where training was resumed, the learning rate is not where it was."""
    run = view.run
    lr = curve(run)
    resumes = [e for e in run.events_of("resume", "rewind") if e.step is not None]
    if lr is None or len(lr.values) < 4:
        return unknown("fewer than 4 points of the learning rate are logged")
    if not run.events_of("resume", "rewind"):
        return absent("the run was not resumed", series=(CURVE,))
    judged = 0
    for event in resumes:
        step = float(event.step or 0.0)
        after = int(np.searchsorted(lr.steps, step, side="left"))
        before = after - 1
        if before < 1 or after + 1 >= len(lr.steps) or lr.values[before] <= 0 or lr.values[after] <= 0:
            continue
        judged += 1
        change = abs(float(np.log(lr.values[after] / lr.values[before])))
        window = lr.values[max(0, before - 5) : before + 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            usual = np.abs(np.diff(np.log(window[window > 0])))
        expected = float(np.median(usual)) if len(usual) else 0.0
        gap = max(1.0, float(lr.steps[after] - lr.steps[before]) / max(lr.interval, 1e-12))
        if change > np.log(ratio) and change > 3 * expected * gap:
            text = (
                f"the learning rate is {lr.values[before]:g} before and {lr.values[after]:g} after"
                f" training was resumed at step {step:g}"
            )
            size = float(np.exp(change))
            return present(text, **_at(lr, after, value=size, threshold=ratio, step=float(lr.steps[after])))
    if not judged:
        return unknown("the learning rate around the resume is not logged", series=(CURVE,))
    return absent(f"the learning rate goes on across {judged} resumes", threshold=ratio, series=(CURVE,))


@probe(CURVE, "config:learning_rate")
def lr_curve_differs(view: View, relative: float, points: int = 3) -> Finding:
    """The peak of the logged curve is not the configured learning rate."""
    run = view.run
    lr = curve(run)
    setting = run.settings["learning_rate"]
    configured = number_of(run, "learning_rate")
    if lr is None or configured is None or configured <= 0 or len(lr.values) < points:
        return unknown(f"fewer than {points} points of the learning rate are logged")
    if not _one_log(setting.file, lr.series.file) and setting.file.endswith((".log", ".txt", ".out")):
        return unknown("the configured learning rate stands in another log, which may be of another run")
    rest = _at(lr, int(np.argmax(lr.values)), value=lr.peak, threshold=configured)
    rest["where"] = (*rest["where"], *_where(setting))
    off = lr.peak / configured - 1
    if abs(off) <= relative:
        return absent(f"the learning rate peaks at {lr.peak:g}, as configured", **rest)
    text = f"the learning rate peaks at {lr.peak:g}; configured is {configured:g} ({setting.raw})"
    scheduler = value_of(run, "lr_scheduler")
    if scheduler in _RESTARTING:
        return unknown(f"{text}; in a {scheduler} schedule that may be the start or the peak", **rest)
    if off > 0 and _bias_warmup(run, configured):
        return unknown(f"{text}; the warm-up of biases starts higher", **rest)
    if lr.peak <= 0 or _scaled(run, lr.peak / configured):
        return unknown(f"{text}; the ratio may come from scaling with the batch", **rest)
    if off < 0 and any("paramwise" in s.key or "lr_mult" in s.key for s in run.raw_settings):
        return unknown(f"{text}; the logged one may be that of a group with a rate of its own", **rest)
    if off < 0 and int(np.argmax(lr.values)) >= len(lr.values) - 2:
        return unknown(f"{text}; it is still rising at the end", **rest)
    if off < 0 and not _seen_from_start(lr, configured):
        return unknown(f"{text}; the peak may lie between or before the logged points", **rest)
    return present(text, **rest)


def _one_log(left: str, right: str) -> bool:
    """Whether two files are one log: the same, or of one name but for what follows (x.log, x.log.json)."""
    (folder, _, name), (beside, _, other) = left.rpartition("/"), right.rpartition("/")
    if beside == f"{folder}/vis_data" and folder.rpartition("/")[2] == name.partition(".")[0]:
        return True  # mmengine: a folder for each start, with its log and the scalars of the same start below
    return folder == beside and name.partition(".")[0] == other.partition(".")[0]


def _bias_warmup(run: Run, configured: float) -> bool:
    """YOLO lets one parameter group come down from warmup_bias_lr."""
    values = [s.value for s in run.raw_settings if s.key.endswith("warmup_bias_lr")]
    return any(isinstance(v, (int, float)) and v > configured for v in values)


def _scaled(run: Run, ratio: float) -> bool:
    """The ratio is one that frameworks make: processes, accumulation, batch/16 to batch/512, or roots."""
    batch = number_of(run, "global_batch_size") or number_of(run, "batch_size")
    factors = [number_of(run, "world_size"), number_of(run, "gradient_accumulation_steps")]
    factors += [batch / b for b in (16, 64, 128, 256, 512)] if batch else []
    known = [f for f in factors if f and f != 1]
    return any(abs(ratio / g - 1) < 0.02 for f in known for g in (f, f**0.5, 1 / f, 1 / f**0.5))


def _seen_from_start(lr: Curve, configured: float) -> bool:
    """The curve was logged from early on, and does not point back to the configured value."""
    if lr.steps[0] > 0.05 * lr.length and lr.steps[0] > 2:
        return False
    top = int(np.argmax(lr.values))
    if top > 0:  # the peak may lie between two logged points
        rise = float(lr.values[top] - lr.values[max(0, top - 2)])
        return bool(lr.values[top] + rise < 0.95 * configured)
    if len(lr.values) >= 2 and lr.values[1] < lr.values[0]:
        slope = (lr.values[0] - lr.values[1]) / max(lr.steps[1] - lr.steps[0], 1e-12)
        return bool(lr.values[0] + 1.2 * slope * lr.steps[0] < 0.95 * configured)
    return True


@probe(CURVE)
def lr_starts_at_peak(
    view: View, within: float, early: float = 0.02, points: int = 5, shortest: float = 5.0
) -> Finding:
    """The first logged learning rate is (nearly) the largest of the run.

    A configured warm-up of fewer than `shortest` steps is none.
    """
    lr = curve(view.run)
    if lr is None or len(lr.values) < points or lr.peak <= 0:
        return unknown(f"fewer than {points} points of the learning rate are logged")
    first = float(lr.values[0])
    share = first / lr.peak
    rest = _at(lr, 0, value=share, threshold=within, step=float(lr.steps[0]))
    if share < within:
        return absent(f"the learning rate starts at {share:.0%} of its peak {lr.peak:g}", **rest)
    warmup = number_of(view.run, "warmup_steps")
    if warmup and warmup >= shortest and lr.series.unit != "epoch" and lr.steps[0] >= warmup:
        return unknown(f"warm-up over {warmup:g} steps is configured; the first point is after it", **rest)
    if lr.steps[0] > 1 and lr.steps[0] > early * lr.length:
        return unknown(f"the first point (step {lr.steps[0]:g}) is too late to see a warm-up", **rest)
    if lr.series.unit == "epoch" or lr.series.window == "epoch-mean":
        return unknown("one point per epoch does not show a warm-up within the first", **rest)
    return present(f"the learning rate starts at {first:g}, its peak is {lr.peak:g}", **rest)

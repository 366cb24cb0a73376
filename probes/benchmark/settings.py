"""The settings of the run held against its benchmark's, by canonical name.

A setting is compared only where both sides record it (or a documented framework default fills it in): a
setting that one side merely does not mention is unknown.
"""

from __future__ import annotations

import re
from typing import Any

from ...engine.model import Place, State
from .. import settings as names
from ..config.data import shuffled_by
from ..config.values import number_of, scalar_of, value_of
from ..config.versions import tf32
from ..curves.learning_rate import logged_warmup
from ..events import unfinished
from ..registry import Finding, View, absent, any_of, present, probe, unknown
from ..run import Configured, Run
from .both import (
    DEFAULT,
    SHAPE,
    Both,
    both,
    both_numbers,
    both_rates,
    equal,
    judged_sides,
    missing,
    ratio_of,
    say_apart,
    settings_apart,
    shared_recipe,
    told_sides,
    values_of,
    where_told,
)
from .chosen import by_choice
from .flags import gradients_summed_coarsely
from .unnamed import other_settings, role_told, say_others

HALF = ("fp16", "bf16", "fp8")


@probe("benchmark")
def setting_above(view: View, setting: str, ratio: float) -> Finding:
    """The run's number is more than `ratio` times the benchmark's."""
    return ratio_of(view, setting, ratio, up=True)


@probe("benchmark")
def setting_below(view: View, setting: str, ratio: float) -> Finding:
    """The benchmark's number is more than `ratio` times the run's."""
    return ratio_of(view, setting, ratio, up=False)


@probe("benchmark")
def fewer_processes(view: View, ratio: float) -> Finding:
    """One process trains where the benchmark has several; a count above one says that they are set up."""
    found = ratio_of(view, "world_size", ratio, up=False)
    if found.state is State.PRESENT and isinstance(found.value, (int, float)) and found.value > 1:
        return unknown(f"{found.why}: fewer, and more than one")
    return found


def _almost_everything(view: View, many: int, share: float) -> Finding | None:
    """Nearly all shared settings of the recipe differ, sizes among them: two recipes, not one ported.

    One cause changes one setting and what follows from it; a port keeps the sizes.
    """
    shared = shared_recipe(view)
    differing = [(k, f) for k, f in shared if not equal(k, *f)]
    shapes = [f for k, f in differing if k in SHAPE]
    if shapes and len(differing) >= many and len(differing) >= share * len(shared):
        text = (
            f"{len(differing)} of {len(shared)} settings that both record differ,"
            f" {told_sides(shapes[0])} among them"
        )
        return present(text, value=len(differing), threshold=many, where=where_told(shapes[0]))
    return None


@probe("benchmark")
def any_setting_above(view: View, settings: list[str], ratio: float) -> Finding:
    """At least one of several numbers is more than `ratio` times the benchmark's."""
    return any_of(ratio_of(view, setting, ratio, up=True) for setting in settings)


@probe("benchmark")
def schedule_differs(view: View, settings: list[str]) -> Finding:
    """At least one of these settings of the schedule differs by more than the length of the run explains.

    A decay over all of a run that is twice as long is the same schedule: the length is what differs.
    """
    differ, compared = settings_apart(view, settings)
    kept = [d for d in differ if not follows_length(view, d)]
    if kept:
        return say_apart(kept)
    if not compared:
        return missing(view, ", ".join(settings))
    words = "; ".join(map(told_sides, differ))
    equals = f"{_count(compared)} of the schedule recorded on both sides, and equal"
    return absent(f"{words}: as much longer as the run" if differ else equals, value=0)


def _count(settings: int) -> str:
    return "1 setting" if settings == 1 else f"{settings} settings"


ALIKE = 0.08  # of the run's length, by which drops that stand at the same part of two runs lie apart


def follows_length(view: View, found: Both) -> bool:
    """Whether a setting of the schedule stands at the same part of the run, and only the lengths differ."""
    lengths = [n for key in ("epochs", "max_steps") if (n := both_numbers(both(view, key))) and min(n) > 0]
    if found[0].key == "lr_milestones":
        mine, theirs = ([names.number(v) for v in _several(c.value)] for c in found)
        return any(a != b and _same_parts(mine, theirs, a, b) for a, b in lengths)
    values = both_numbers(found)
    if found[0].key != "lr_decay_steps" or values is None or min(values) <= 0:
        return False
    return any(abs(values[0] / values[1] / (a / b) - 1) < 0.02 and a != b for a, b in lengths)


def _several(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _same_parts(mine: list[float | None], theirs: list[float | None], length: float, other: float) -> bool:
    if len(mine) != len(theirs) or None in mine or None in theirs:
        return False
    pairs = zip(mine, theirs, strict=True)
    return all(abs((a or 0.0) / length - (b or 0.0) / other) <= ALIKE for a, b in pairs)


@probe("benchmark")
def settings_differ(
    view: View, settings: list[str], pipelines: bool = False, least: int = 1, written: bool = False
) -> Finding:
    """At least one of these settings is recorded on both sides with two values.

    Absent needs `least` of them on both sides: of many settings one equal one says little of the others.
    `written`: where neither side says anything and their frameworks differ, nothing is said.
    `pipelines`: settings without a canonical name count, too, where their names say that they make inputs
    (`data.train_pipeline.1.padding`, `time_mask`).
    """
    differ, compared = settings_apart(view, settings)
    if settings == ["shuffle"] and (by := _ordered_otherwise(view, differ)):
        return unknown(by)
    if written and differ and all(_by_default(d) for d in differ):
        return unknown(f"neither side sets it: {'; '.join(map(told_sides, differ))}")
    if by_choice(view, differ):
        return unknown(f"{'; '.join(map(told_sides, differ))}: chosen, it seems, as the run ends no worse")
    if differ:
        return say_apart(differ)
    if pipelines:
        others = [d for d in other_settings(view)[0] if role_told(d) == "processing"]
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


def _ordered_otherwise(view: View, differ: list[Both]) -> str:
    """In words, that the side that does not shuffle has a sampler or a buffer which may."""
    for found in differ:
        for run, side in zip((view.run, view.benchmark), found, strict=True):
            if run is not None and side.value is False and (by := shuffled_by(run, side)):
                return f"{told_sides(found)}; {by} may give the order"
    return ""


@probe("benchmark")
def normalisation_left_out(view: View, scale: float) -> Finding:
    """Mean 0 and deviation 1 change nothing, where the benchmark's tell of raw values on another scale.

    Raw values lie about the benchmark's mean, with its deviation: on another scale means beyond `scale`.
    """
    pairs = [both(view, "mean"), both(view, "std")]
    if pairs[0] is None or pairs[1] is None:
        return missing(view, "std" if pairs[0] is not None else "mean")
    (mean, std), (their_mean, their_std) = (
        [values_of(pair[side]) for pair in pairs if pair is not None] for side in (0, 1)
    )
    if not (mean and std and their_mean and their_std):
        return unknown("mean and deviation are not recorded as numbers")
    text = "; ".join(told_sides(pair) for pair in pairs if pair is not None)
    where = tuple(p for pair in pairs if pair is not None for p in where_told(pair))
    high = max(max(map(abs, their_mean)), max(map(abs, their_std)))
    raw = high if high > scale else max(map(abs, their_std))
    rest: dict[str, Any] = {"value": raw, "threshold": scale, "where": where}
    plain = set(mean) == {0.0} and set(std) == {1.0}
    if plain and (raw > scale or 0 < raw < 1 / scale):
        return present(f"{text}: values on a scale of {raw:.4g} reach the model as they are", **rest)
    return absent(text, **rest)


@probe("benchmark")
def lr_per_sample_differs(view: View, ratio: float) -> Finding:
    """Learning rate divided by batch size, against the benchmark's."""
    rates, batches = both_rates(view), both(view, "global_batch_size")
    lr, batch = both_numbers(rates), both_numbers(batches)
    if rates is None or lr is None:
        return missing(view, "learning_rate")
    if batches is None or batch is None or min(*batch, *lr) <= 0:
        return missing(view, "global_batch_size")
    mine, theirs = lr[0] / batch[0], lr[1] / batch[1]
    factor = max(mine / theirs, theirs / mine)
    text = f"the learning rate per sample is {mine:.3g}, in the benchmark {theirs:.3g}"
    rest: dict[str, Any] = {
        "value": factor,
        "threshold": ratio,
        "where": where_told(rates) + where_told(batches),
    }
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
        return missing(view, "warmup_steps")
    mine, theirs = judged
    found = (mine[1], theirs[1])
    rest: dict[str, Any] = {"value": mine[0], "threshold": theirs[0], "where": where_told(found)}
    if theirs[0] == 0:
        return absent("the benchmark has no warm-up", **rest)
    if mine[0] > 0 and mine[1].key != theirs[1].key:
        return unknown(f"warm-up is given in different units ({told_sides(found)})", **rest)
    shorter = mine[0] * ratio <= theirs[0]
    return present(told_sides(found), **rest) if shorter else absent(told_sides(found), **rest)


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
        return missing(view, "max_grad_norm")
    found, mine, theirs = clip
    large, small = (mine, theirs) if weaker else (theirs, mine)
    differs = large >= ratio * small and large != small
    return judged_sides(found, differs)


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
        values = both_numbers(both(view, key))
        if values is not None and min(values) > 0:
            return ratio_of(view, key, ratio, up)
    return missing(view, "epochs")


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
        return missing(view, "precision")
    half = [str(c.value) in HALF for c in found]
    differs = not half[full] and half[1 - full]
    return judged_sides(found, differs)


@probe("benchmark")
def benchmark_full_precision(view: View) -> Finding:
    """The benchmark is in full precision, the run in mixed: as settings say, else as the two scripts do."""
    found = _formats(view, full=1)
    if found.state is not State.UNKNOWN or view.benchmark is None:
        return found
    for path, text in view.run.scripts.items():
        if _MIXED.search(text) is None:
            continue
        theirs = [t for p, t in view.benchmark.scripts.items() if p == path and _TRAINS.search(t)]
        if theirs and not any(_HALF_WORDS.search(t) for t in view.benchmark.scripts.values()):
            return present(f"{path} computes in mixed precision, and the benchmark's script nowhere")
    return found


_MIXED = re.compile(r"\bamp\.initialize\(|\bautocast\(|\bGradScaler\(|\bauto_mixed_precision\(")
_TRAINS = re.compile(r"\.backward\(|\bGradientTape\(|\bvalue_and_grad\(")
_HALF_WORDS = re.compile(r"(?i)autocast|\bamp\b|amp_|gradscaler|bf16|fp16|b?float16|\bhalf\b|mixed|precision")


@probe("benchmark")
def run_full_precision(view: View) -> Finding:
    """The run is in full precision, the benchmark in mixed."""
    return _formats(view, full=0)


@probe("benchmark")
def pretrained_differs(view: View) -> Finding:
    """The benchmark starts from trained weights and the run does not."""
    found = both(view, "pretrained")
    if found is None:
        return missing(view, "pretrained")
    differs = found[1].value not in (None, False) and found[0].value in (None, False)
    return judged_sides(found, differs)


def versions_of(run: Run) -> dict[str, str]:
    """The versions of libraries that a run records, by their names."""
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
    mine, theirs = versions_of(view.run), versions_of(view.benchmark)
    common = sorted(mine.keys() & theirs.keys())
    if not common:
        return unknown("no library's version is recorded on both sides")
    differ = [k for k in common if mine[k] != theirs[k]]
    if not differ:
        return absent(f"the versions of {len(common)} libraries are equal", value=0)
    text = ", ".join(f"{k} {mine[k]} (benchmark {theirs[k]})" for k in differ[:5])
    return present(text, value=mine[differ[0]], threshold=theirs[differ[0]])


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


CUT = 10.0  # times smaller a bound on gradients


@probe("benchmark")
def any_hyperparameter_differs(
    view: View, least: int, without: tuple[str, ...] | list[str] = (), written: bool = False
) -> Finding:
    """At least one hyperparameter differs; those of `without` are not looked at.

    `written`: one side says it itself; what two frameworks do where neither says anything does not count.
    Absent needs `least` of them on both sides.
    """
    differ, compared = settings_apart(view, [k for k in names.table().hyperparameters if k not in without])
    differ = [d for d in differ if not (written and _by_default(d))]
    if differ:
        return say_apart(differ)
    if written and (coarse := gradients_summed_coarsely(view)).state is State.PRESENT:
        return unknown(f"only the sum of gradients differs: {coarse.why}")
    stronger = ratio_of(view, "max_grad_norm", CUT, up=False) if "max_grad_norm" in without else None
    if stronger is not None and stronger.state is State.PRESENT:
        return unknown(f"only the clipping differs that far: {stronger.why}")
    if compared < least:
        return unknown(f"{compared} hyperparameters are recorded on both sides, {least} are needed")
    return absent(f"{compared} hyperparameters are recorded on both sides, and equal", value=0)


def _by_default(found: Both) -> bool:
    """Whether neither side says it: two frameworks do it so by themselves, and each trains well that way."""
    return max(side.trust for side in found) <= DEFAULT


_SIZES = ("num_layers", "hidden_size", "num_heads", "ffn_size")


def _other_size(view: View) -> Finding | None:
    """Three of depth, width, heads and inner width differ, in one direction: the model of the other size.

    Depth and width alone may be one model that was made too large or too small.
    """
    told = [
        (k, f, n) for k in _SIZES if (f := both(view, k)) is not None and (n := both_numbers(f)) is not None
    ]
    known = {k for k, _, (a, b) in told if a != b}
    if len(known) < 3 or len({a > b for _, _, (a, b) in told if a != b}) != 1:
        return None
    found = next(f for k, f, _ in told if k in known)
    return present(
        "; ".join(told_sides(f) for k, f, _ in told if k in known) + ": models of two sizes",
        value=len(known),
        where=where_told(found),
    )


@probe("benchmark")
def other_task(view: View, many: int, share: float) -> Finding:
    """Classes, vocabulary, or model and data together are another task's, or nearly the whole recipe is.

    At least `many` settings and a `share` of those that both sides record differ, a size among them. Absent
    needs one of the named on both sides, or `many` settings of which most are equal.
    """
    sizes = [(k, f) for k in ("num_classes", "vocab_size") if (f := both(view, k)) is not None]
    for key, found in sizes:
        numbers = both_numbers(found)
        if numbers is None or min(numbers) <= 0:
            continue
        # vocabularies are padded; class counts are not
        if max(numbers) > min(numbers) * (1.1 if key == "vocab_size" else 1.0):
            return present(told_sides(found), value=numbers[0], threshold=numbers[1], where=where_told(found))
    model, data = both(view, "model"), both(view, "dataset")
    other_model = model is not None and not equal("model", *model)
    other_data = data is not None and not equal("dataset", *data)
    if model is not None and data is not None and other_model and other_data:
        return present(
            f"{told_sides(model)}; {told_sides(data)}",
            value=scalar_of(model[0]),
            where=where_told(model) + where_told(data),
        )
    if (grown := _other_size(view)) is not None:
        return grown
    if (other := _almost_everything(view, many, share)) is not None:
        return other
    if sizes or (data is not None and not other_data) or (model is not None and not other_model):
        shared = [f[0].key for _, f in sizes] + [f[0].key for f in (model, data) if f is not None]
        return absent(f"recorded on both sides and alike: {', '.join(shared)}")
    recipe = shared_recipe(view)
    differing = sum(not equal(k, *f) for k, f in recipe)
    if len(recipe) >= many and differing < len(recipe) / 2:
        return absent(f"{len(recipe) - differing} of {len(recipe)} settings that both record are equal")
    return unknown("neither classes nor vocabulary, model or data are recorded on both sides")


@probe("benchmark")
def products_rounded_here_alone(view: View) -> Finding:
    """Products of fp32 run in TF32 or hf32 here, and are not known to do so in the benchmark."""
    mine = tf32(View(view.run, None))
    if view.benchmark is None or mine.state is State.UNKNOWN:
        return unknown(mine.why)
    theirs = tf32(View(view.benchmark, None))
    if value_of(view.run, "precision") not in (None, "fp32"):
        return unknown("the number format is no fp32")
    if mine.state is State.ABSENT or theirs.state is State.PRESENT:
        return absent(mine.why if mine.state is State.ABSENT else f"{theirs.why} in the benchmark, too")
    if theirs.state is State.UNKNOWN and not view.benchmark.raw_settings:
        return unknown("no settings of the benchmark are recorded")
    return present(f"{mine.why}, and nothing of the kind in the benchmark", where=mine.where)


@probe("benchmark")
def formats_differ(view: View) -> Finding:
    """The number format is recorded on both sides with two values.

    fp32 on both is unknown where the products of one side are rounded: it is not the same format then.
    """
    found = settings_differ(view, ["precision"])
    rounded = products_rounded_here_alone(view) if found.state is State.ABSENT else found
    return unknown(rounded.why) if rounded is not found and rounded.state is State.PRESENT else found

"""Where two runs end: loss, metrics, and training against evaluation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...engine.model import Place, State
from ..assembly import names as quantities
from ..config.values import number_of
from ..curves.situation import ERRORS
from ..curves.stats import noise
from ..registry import Finding, View, absent, any_of, place, present, probe, unknown
from ..run import Series
from .common import held_back_more, made_harder, places_of, taught_apart
from .compare import Pair, band, final, pair


def _final(found: Pair, relative: float) -> tuple[float, float, float, bool, bool]:
    """Return run, benchmark, relative difference, and whether the run is above or below for sure.

    Relative differences are taken to the benchmark's level, but at least to a tenth of the ground it covered.
    """
    mine, theirs, error = final(found)
    base = max(abs(theirs), 0.1 * found.span, 1e-12)
    gap = mine - theirs
    chance = band(found, slice(-max(min(3, len(found)), round(0.1 * len(found))), None))
    counts = abs(gap) > relative * base and abs(gap) > max(3 * error, chance)
    return mine, theirs, gap / base, counts and gap > 0, counts and gap < 0


@probe("train/loss", "benchmark:train/loss")
def final_loss_above(view: View, relative: float, points: int = 5) -> Finding:
    """At the last common steps the run's training loss is above the benchmark's."""
    found = pair(view, "train/loss", points)
    if isinstance(found, str):
        return unknown(found)
    mine, theirs, off, above, _ = _final(found, relative)
    apart = _told_apart(mine, theirs, off)
    text = f"train/loss ends at {mine:.4g}, in the benchmark at {theirs:.4g} ({apart})"
    if not _last_in_common(found):
        unit = "epoch" if found.run_series.unit == "epoch" else "step"
        at = f"at {unit} {found.x[-1]:g}, the last of both"
        text = f"{at}, train/loss is {mine:.4g}, in the benchmark {theirs:.4g} ({apart})"
    rest: dict[str, Any] = {"value": off, "threshold": relative, "series": ("train/loss",)}
    if above and (said := makes_up(view)) is not None:
        return absent(f"{text}; {said}", **rest)
    if above and (said := goes_on(view, found, relative)):
        return absent(f"{text}; {said}", **rest)
    if above and _shorter(found) and (said := ends_as_well(view)):
        return absent(f"{text}; {said}", **rest)
    harder = made_harder(view) or held_back_more(view) if above else ""
    if harder and final_metric_below(view, 0.01).state is State.ABSENT:
        return absent(f"{text}; {harder}, and nothing is evaluated worse", **rest)
    if above and (said := taught_apart(view)):
        as_good = final_metric_below(view, 0.01).state is State.ABSENT
        return (absent if as_good else unknown)(f"{text}; {said}", **rest)
    if above:
        return present(text, where=places_of(found, len(found) - 1), **rest)
    return absent(text, **rest)


def _shorter(found: Pair, longer: float = 1.1) -> bool:
    """The benchmark goes on after the run's end."""
    mine, theirs = found.run_series, found.bench_series
    return mine.unit == theirs.unit and float(np.max(theirs.steps)) > longer * float(np.max(mine.steps))


def _told_apart(mine: float, theirs: float, off: float) -> str:
    """The difference as the two numbers show it; of a loss near zero as a share of the way that it came."""
    if min(mine, theirs) <= 0 or abs(off) < 0.05 * abs(mine / theirs - 1):
        return f"{off:+.1%} of the way down"
    return f"{mine / theirs - 1:+.1%}" if mine < 2 * theirs else f"{mine / theirs:.3g} times"


def _last_in_common(found: Pair, longer: float = 1.1) -> bool:
    """Neither side goes on much beyond the steps that both have."""
    last = [float(np.max(s.steps)) for s in (found.run_series, found.bench_series)]
    return _other_units(found) or max(last) <= longer * min(last)


def _other_units(found: Pair) -> bool:
    units = {found.run_series.unit, found.bench_series.unit}
    return len(units) > 1 and "epoch" in units


def goes_on(view: View, found: Pair, relative: float, longer: float = 1.1) -> str:
    """In words, that the run goes on after the benchmark and comes as low by its own end; else "".

    Asked where nothing is evaluated on both sides; what is, tells more (`makes_up`).
    """
    if any(n.startswith("eval/") and view.benchmark and n in view.benchmark.series for n in view.run.series):
        return ""
    mine, theirs = found.run_series, found.bench_series
    if _other_units(found) or float(np.max(mine.steps)) < longer * float(np.max(theirs.steps)):
        return ""
    last, their_last = end_of_metric(mine), end_of_metric(theirs)
    if last is None or their_last is None:
        return ""
    (own, error), (other, their_error) = last, their_last
    if own > other + max(relative * abs(other), 3 * float(np.hypot(error, their_error))):
        return ""
    return f"the run goes on to {own:.4g}, the benchmark ends at {other:.4g}"


def makes_up(view: View, longer: float = 1.1) -> str | None:
    """Says that the run goes on after the benchmark's end and is evaluated as good at its own; else None.

    Smaller steps over a longer time are another way to the same end, and nobody is unhappy about it. What is
    evaluated on both sides has to be as good, the loss and the metric.
    """
    if view.benchmark is None:
        return None
    name = metric_of_both(view)
    told = []
    for each in {"eval/loss", *([name] if name is not None and name.startswith("eval/") else [])}:
        mine, theirs = view.run.series.get(each), view.benchmark.series.get(each)
        if mine is None or theirs is None:
            continue
        if mine.unit != theirs.unit or float(np.max(mine.steps)) < longer * float(np.max(theirs.steps)):
            return None
        ends = end_of_metric(mine), end_of_metric(theirs)
        if ends[0] is None or ends[1] is None:
            return None
        quantity = quantities.base(each)
        lower = each == "eval/loss" or (quantity is not None and quantity.lower)
        worse = ends[0][0] - ends[1][0] if lower else ends[1][0] - ends[0][0]
        if worse > 2 * float(np.hypot(ends[0][1], ends[1][1])):
            return None
        told.append(f"{each} {ends[0][0]:.4g} against {ends[1][0]:.4g}")
    return f"the run goes on and ends as good: {', '.join(sorted(told))}" if told else None


NEARLY = 0.05  # of the held-out loss, by which two runs may lie apart and be called as good


def ends_as_well(view: View) -> str:
    """In words, that the run is evaluated as good at its end as the benchmark at its own; else "".

    The metric has to be no lower at all, and the held-out loss nearly as low; or both within their scatter.
    """
    name = metric_of_both(view)
    if view.benchmark is None or name is None or not name.startswith("eval/"):
        return ""
    ends, losses = _ends_of_both(view, name), _ends_of_both(view, "eval/loss")
    if ends is None or losses is None:
        return ""
    last, their_last = ends
    quantity = quantities.base(name)
    short = last - their_last if quantity is not None and quantity.lower else their_last - last
    if short > 0 and losses[0] <= losses[1] + _scatter(view, "eval/loss", False):
        short -= _scatter(view, name, quantity is not None and quantity.fraction)
    if short > 0 or losses[0] > losses[1] * (1 + NEARLY):
        return ""
    return f"it ends as good: {name} {last:.4g} against {their_last:.4g}"


CHANCE = 0.005  # of a share, by which two ends of one recipe lie apart


def _scatter(view: View, name: str, fraction: bool) -> float:
    """How far a metric moves from one evaluation to the next at the end of either side."""
    curves = [r.series[name] for r in (view.run, view.benchmark) if r is not None and name in r.series]
    errors = [noise(v[len(v) // 2 :]) for c in curves if len(v := c.values[np.isfinite(c.values)]) >= 8]
    return max([2 * e for e in errors] + ([CHANCE] if fraction else [0.0]))


# what stands beside "iou", "dice" or "map" as accuracy is that of pixels or boxes: it says little
METRICS = (
    "iou",
    "dice",
    "map",
    "map50",
    "accuracy",
    "f1",
    "auc",
    "pck",
    "bleu",
    "rouge",
    "reward",
    "psnr",
    "ssim",
    "r2",
    "ndcg",
    "mrr",
    "hit_rate",
    "recall",
    "chrf",
    "auprc",
    "correlation",
)
LOWER = (
    "error",
    *(e for e in ERRORS if e not in ("error", "mae", "mape")),
    *("perplexity", "bits", "rmse", "mse", "mae", "mape"),
)


def metric_of_both(view: View) -> str | None:
    """The quality metric that both sides log, evaluation before training."""
    for split in ("eval", "train"):
        for base in (*METRICS, *LOWER):
            name = f"{split}/{base}"
            if view.benchmark is not None and name in view.run.series and name in view.benchmark.series:
                return name
    return None


@probe("benchmark")
def final_metric_below(view: View, absolute: float) -> Finding:
    """At the end the metric is worse than the benchmark's by `absolute` (relative for errors).

    With repeats of the benchmark it must be worse than the worst of them, and by more than they lie apart.
    Where no metric is logged on both sides, an evaluation loss that is no higher says that nothing is worse;
    where neither side evaluates, training losses that end together.
    """
    name = metric_of_both(view)
    if name is None:
        return _loss_no_worse(view) or unknown("no metric is logged on both sides")
    mine_series, their_series = view.run.series[name], (view.benchmark or view.run).series[name]
    ends = [end_of_metric(s) for s in (mine_series, their_series)]
    if ends[0] is None or ends[1] is None:
        return unknown(f"{name} has no finite value on one side")
    (mine, my_error), (theirs, their_error) = ends[0], ends[1]
    quantity = quantities.base(name)
    lower = quantity is not None and quantity.lower
    ends_of_all = _ends_of_all(view, name, theirs)
    worst = max(ends_of_all) if lower else min(ends_of_all)
    gap = mine - worst if lower else worst - mine
    fraction = quantity is not None and quantity.fraction
    limit = absolute if fraction else 2 * absolute * max(abs(theirs), 1e-12)
    error = float(np.hypot(my_error, their_error))
    samples = number_of(view.run, "eval_samples") if fraction else None
    if samples and 0 < theirs < 1:  # counting noise of a share of so many samples
        error = float(np.hypot(error, (2 * theirs * (1 - theirs) / samples) ** 0.5))
    text = f"{name} ends at {mine:.4g}, in the benchmark at {theirs:.4g}"
    rest: dict[str, Any] = {"value": mine, "threshold": theirs, "series": (name,)}
    if len(ends_of_all) > 1:
        text += f" ({len(ends_of_all)} benchmark runs: {min(ends_of_all):.4g} to {max(ends_of_all):.4g})"
    if gap > max(limit, 2.5 * error, max(ends_of_all) - min(ends_of_all)):
        if not comparable_length(mine_series, their_series):  # what ends sooner and as well is no worse
            return unknown(f"{text}; the run is much shorter", **rest)
        return present(text, where=(place(mine_series, -1), place(their_series, -1, "benchmark")), **rest)
    return absent(text, **rest)


def _loss_no_worse(view: View, relative: float = 0.01) -> Finding | None:
    """Absent where the evaluation losses end together, or the run's below; else nothing is said."""
    if not any(r is not None and "eval/loss" in r.series for r in (view.run, view.benchmark)):
        return _trained_together(view)
    ends = _ends_of_both(view, "eval/loss")
    if ends is None or ends[0] > ends[1] + relative * abs(ends[1]):
        return None
    text = f"no metric is logged on both sides; eval/loss ends at {ends[0]:.4g} against {ends[1]:.4g}"
    return absent(text, value=ends[0], threshold=ends[1], series=("eval/loss",))


def _trained_together(view: View, relative: float = 0.005) -> Finding | None:
    """Absent where the training losses of two runs that evaluate nothing end together, neither much shorter.

    One that ends far lower may have seen what it should not.
    """
    mine, theirs = (r.series.get("train/loss") if r else None for r in (view.run, view.benchmark))
    if mine is None or theirs is None or not comparable_length(mine, theirs):
        return None
    ends = _ends_of_both(view, "train/loss")
    if ends is None:
        return None
    end, other = ends
    if not -10 * relative * abs(other) <= end - other <= relative * abs(other):
        return None
    text = f"neither side evaluates; train/loss ends at {end:.4g} against {other:.4g}"
    return absent(text, value=end, threshold=other, series=("train/loss",))


def _ends_of_both(view: View, name: str) -> tuple[float, float] | None:
    """Where a curve ends in the run and in the benchmark; None where either has no such end."""
    curves = [r.series.get(name) if r is not None else None for r in (view.run, view.benchmark)]
    mine, theirs = (None if c is None else end_of_metric(c) for c in curves)
    return None if mine is None or theirs is None else (mine[0], theirs[0])


def _ends_of_all(view: View, name: str, theirs: float) -> list[float]:
    """Where the benchmark and its repeats end: what lies among them is explained by chance alone."""
    curves = [r.series[name] for r in view.repeats if name in r.series]
    return [theirs, *(e[0] for c in curves if (e := end_of_metric(c)) is not None)]


def comparable_length(mine: Series, theirs: Series) -> bool:
    """The run is not cut off: a fall short of the benchmark may only be a question of time."""
    if mine.unit != theirs.unit:
        return True
    return float(np.max(mine.steps)) >= 0.6 * float(np.max(theirs.steps))


def end_of_metric(series: Series) -> tuple[float, float] | None:
    """The median of the last points of a metric and its standard error."""
    values = series.values[np.isfinite(series.values)]
    if not len(values):
        return None
    count = max(1, min(len(values), max(3, len(values) // 10) if len(values) >= 6 else 1))
    if len(values) >= 8:
        return float(np.median(values[-count:])), noise(values[len(values) // 2 :]) / count**0.5
    # in a short curve the last change is as good a measure as the scatter, which holds the bend
    change = abs(float(values[-1] - values[-2])) if len(values) > 1 else 0.0
    return float(np.median(values[-count:])), min(noise(values), change) if len(values) > 3 else change


class _Held(NamedTuple):
    """What evaluation ends with on both sides; `worse` and `error` as shares, of a fraction as they are."""

    name: str
    mine: float
    theirs: float
    worse: float
    error: float

    @property
    def lower(self) -> bool:
        """Whether less of it is better."""
        quantity = quantities.base(self.name)
        return self.name == "eval/loss" or (quantity is not None and quantity.lower)


def _train_and_evals(view: View) -> tuple[Pair, list[_Held]] | str:
    """Return the training pair, and what is evaluated on both sides, metrics first; a string says why not."""
    train = pair(view, "train/loss", 3)
    if isinstance(train, str):
        return train
    for side, series in (("run", train.run_series), ("benchmark", train.bench_series)):
        if not np.all(np.isfinite(series.values[-max(1, len(series) // 5) :])):
            return f"the training loss of the {side} does not end as a number"
    made = []
    for name in (*(f"eval/{m}" for m in (*METRICS, *LOWER)), "eval/loss"):
        found = pair(view, name, 2)
        if isinstance(found, str):
            continue
        mine, theirs, error = final(found, 0.2)
        quantity = quantities.base(name)
        fraction = quantity is not None and quantity.fraction
        base = 1.0 if fraction else max(abs(theirs), 0.1 * found.span, 1e-12)
        held = _Held(name, mine, theirs, (mine - theirs) / base, error / base)
        made.append(held if held.lower else held._replace(worse=-held.worse))
    return (train, made) if made else "no evaluation is logged on both sides"


def _train_and_eval(view: View) -> tuple[Pair, _Held] | str:
    """The training pair and the first of what is evaluated on both sides."""
    made = _train_and_evals(view)
    return made if isinstance(made, str) else (made[0], made[1][0])


@probe("train/loss", "benchmark:train/loss")
def eval_worse_train_equal(
    view: View, train: float, eval: float, apart: float = 0.3, better: float = 0.05
) -> Finding:
    """The training losses end together, as far as their noise tells; evaluation is worse.

    A training loss that is lower counts as equal up to `better`: beyond it is `train_better_eval_worse`.

    Unknown where the noise lets ends count as equal that lie further than `apart` from each other.
    """
    made = _train_and_eval(view)
    if isinstance(made, str):
        return unknown(made)
    found, (name, mine, theirs, worse, error) = made
    _, _, off, above, _ = _final(found, train)
    below = _final(found, better)[4]
    text = f"train/loss ends {off:+.1%} off the benchmark's, {name} at {mine:.4g} against {theirs:.4g}"
    rest: dict[str, Any] = {"value": worse, "threshold": eval, "series": ("train/loss", name)}
    if not above and not below and worse > eval and worse > 3 * error:
        if abs(off) > apart:
            return unknown(f"{text}: too noisy to be called equal", **rest)
        return present(text, **rest)
    return absent(text, **rest)


@probe("train/loss", "benchmark:train/loss")
def far_better(view: View, ratio: float, gap: float, learning: float) -> Finding:
    """Evaluation leaves under 1 / `ratio` of the benchmark's error (or loss); training ends lower, too.

    A fraction must also gain `gap`, so that 0.999 against 0.997 does not count. A benchmark whose error falls
    to `learning` of itself over its last third is beaten by whoever learns a bit faster: that tells nothing.
    """
    made = _train_and_evals(view)
    if isinstance(made, str):
        return unknown(made)
    found, all_held = made
    told = []
    _, _, off, _, below = _final(found, 0.05)
    below = below and not any(
        h.worse > max(gap, 3 * h.error) for h in all_held
    )  # another loss, no better model
    for name, mine, theirs, worse, error in all_held:
        quantity = quantities.base(name)
        fraction = quantity is not None and quantity.fraction and not quantity.lower
        if not fraction and not _Held(name, mine, theirs, worse, error).lower:
            continue
        left, reference = (1 - mine, 1 - theirs) if fraction else (mine, theirs)
        text = f"{name} ends at {mine:.4g} against {theirs:.4g}, train/loss {off:+.1%} off the benchmark's"
        rest: dict[str, Any] = {"value": mine, "threshold": theirs, "series": ("train/loss", name)}
        better = below and 0 <= left * ratio < reference and -worse > gap and -worse > 3 * error
        if better and _still_learning(view, name, fraction, learning):
            told.append(unknown(f"{text}; the benchmark stops while it is learning fast", **rest))
            continue
        told.append(present(text, **rest) if better else absent(text, **rest))
    return any_of(told) if told else unknown("what is evaluated has no best value to measure an error from")


def _still_learning(view: View, name: str, fraction: bool, learning: float) -> bool:
    """Whether the benchmark's error in `name` falls to `learning` of itself over its last third, or below."""
    series = view.benchmark.series.get(name) if view.benchmark is not None else None
    values = series.values[np.isfinite(series.values)] if series is not None else np.zeros(0)
    if len(values) < 4:
        return False
    left = 1 - values if fraction else values
    return bool(left[-1] <= learning * left[-1 - len(left) // 3])


@probe("train/loss", "benchmark:train/loss")
def train_better_eval_worse(view: View, relative: float) -> Finding:
    """The training loss ends below the benchmark's; evaluation is worse."""
    made = _train_and_eval(view)
    if isinstance(made, str):
        return unknown(made)
    found, (name, mine, theirs, worse, error) = made
    _, _, off, _, below = _final(found, relative)
    text = f"train/loss ends {off:+.1%} off the benchmark's, {name} at {mine:.4g} against {theirs:.4g}"
    rest: dict[str, Any] = {"value": worse, "threshold": relative, "series": ("train/loss", name)}
    if below and worse > relative / 2 and worse > 3 * error:
        return present(text, **rest)
    return absent(text, **rest)


@probe("benchmark")
def benchmark_not_finite(view: View) -> Finding:
    """The benchmark has a loss that is NaN or infinite."""
    if view.benchmark is None:
        return unknown("needs a benchmark run (--benchmark)")
    series = view.benchmark.series.get("train/loss") or view.benchmark.series.get("eval/loss")
    said = view.benchmark.events_of("non-finite-loss")
    if said:
        where = tuple(Place(e.file, e.line, e.step, e.rank, "benchmark") for e in said[:3])
        return present(
            f"the benchmark says: {said[0].text or 'the loss is not finite'}", step=said[0].step, where=where
        )
    if series is None or not len(series.values):
        return unknown("the benchmark has no loss")
    bad = np.flatnonzero(~np.isfinite(series.values))
    if not len(bad):
        return absent(f"all {len(series.values)} losses of the benchmark are finite", value=0)
    at = int(bad[0])
    text = f"{series.raw} of the benchmark is not finite at {len(bad)} of {len(series.values)} points"
    where = (place(series, at, "benchmark"),)
    return present(text, value=len(bad), step=float(series.steps[at]), where=where)


def _identical(found: Pair, relative: float) -> bool:
    """Nineteen of twenty points agree within `relative`, and the curve is no constant."""
    gap = np.abs(found.run - found.bench) / np.maximum(np.abs(found.bench), 1e-12)
    return float(np.quantile(gap, 0.95)) <= relative and found.span > 10 * relative * abs(
        float(np.mean(found.bench))
    )


@probe("train/loss", "benchmark:train/loss")
def eval_differs_train_identical(view: View, relative: float, eval: float, points: int = 10) -> Finding:
    """The training loss repeats the benchmark's digit by digit, and the evaluation is another.

    Equal training losses over a whole run mean equal weights, data and updates: only what is evaluated, on
    what, and how, can differ. `relative` is what still counts as equal digits, `eval` as another evaluation.
    """
    found = pair(view, "train/loss", points)
    if isinstance(found, str):
        return unknown(found)
    if not _identical(found, relative):
        return unknown("the training losses are not the benchmark's to their digits")
    seen = None
    for name in ("eval/loss", *(f"eval/{m}" for m in (*METRICS, *LOWER))):
        held = pair(view, name, 3)
        if isinstance(held, str):
            continue
        gap = np.abs(held.run - held.bench) / np.maximum(np.abs(held.bench), 1e-12)
        size = float(np.median(gap))
        text = f"train/loss is the benchmark's at all of {len(found)} points, {name} is {size:.1%} off it"
        rest: dict[str, Any] = {"value": size, "threshold": eval, "series": ("train/loss", name)}
        if size > eval:
            return present(text, where=places_of(held, len(held) - 1), **rest)
        seen = seen or absent(text, **rest)
    return seen or unknown("no evaluation is logged on both sides")


@probe("train/loss", "benchmark:train/loss")
def eval_partly_identical(view: View, relative: float, eval: float, points: int = 10) -> Finding:
    """Training repeats the benchmark's to its digits; of the evaluation's figures some do, others do not.

    Equal weights on equal inputs give equal answers. Where one figure of the answers is the benchmark's at
    every evaluation, the inputs are as well: what differs is what the answers are held against, or how they
    are counted.
    """
    found = pair(view, "train/loss", points)
    if isinstance(found, str):
        return unknown(found)
    if not _identical(found, relative):
        return unknown("the training losses are not the benchmark's to their digits")
    names = sorted(n for n in view.run.series if n.startswith("eval/"))
    held = {n: p for n in names if not isinstance(p := pair(view, n, 3), str)}
    apart = {
        n: float(np.median(np.abs(p.run - p.bench) / np.maximum(np.abs(p.bench), 1e-12)))
        for n, p in held.items()
    }
    same = [n for n, p in held.items() if _identical(p, relative)]
    other = [n for n in held if apart[n] > eval]
    if len(same) + len(other) < 2 or not other:
        return unknown("no two figures of the evaluation are logged on both sides, one of them another")
    text = f"{other[0]} is {apart[other[0]]:.0%} off the benchmark's"
    rest: dict[str, Any] = {"value": len(same), "threshold": 1, "series": tuple((*same, *other)[:4])}
    if not same:
        return absent(f"{text}, and so are all figures of the evaluation", **rest)
    where = places_of(held[other[0]], len(held[other[0]]) - 1)
    return present(f"{text}, {same[0]} the benchmark's to its digits: so are the inputs", where=where, **rest)


@probe("train/loss", "benchmark:train/loss")
def eval_scaled_train_identical(
    view: View, relative: float, factor: float, spread: float, points: int = 4
) -> Finding:
    """All that is evaluated is the benchmark's times one number, and the training loss is the benchmark's.

    Equal training losses mean equal weights. Other samples, another mode or other inputs change a value now
    more, now less; one factor at every evaluation (`factor` off one, within `spread`) is a wrong divisor.
    The values themselves must move by more than that, or any two constants would have one factor.
    """
    found = pair(view, "train/loss", 3)
    if isinstance(found, str):
        return unknown(found)
    if not _identical(found, relative):
        return unknown("the training losses are not the benchmark's to their digits")
    seen = None
    for name in ("eval/loss", *(f"eval/{m}" for m in (*METRICS, *LOWER))):
        held = pair(view, name, points)
        if isinstance(held, str) or np.any(np.abs(held.bench) < 1e-12):
            continue
        ratios = held.run / held.bench
        ratio, off = float(np.median(ratios)), float(np.ptp(ratios))
        moves = float(np.ptp(held.bench)) > 20 * spread * float(np.mean(np.abs(held.bench)))
        text = f"{name} is {ratio:.4g} times the benchmark's at all of {len(held)} evaluations"
        rest: dict[str, Any] = {"value": ratio, "threshold": factor, "series": ("train/loss", name)}
        if ratio > 0 and abs(ratio - 1) > factor and off <= spread * ratio and moves:
            return present(text, where=places_of(held, len(held) - 1), **rest)
        seen = seen or absent(f"{name} is no multiple of the benchmark's", **rest)
    return seen or unknown("no evaluation is logged on both sides")

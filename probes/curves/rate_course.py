"""The course of the logged learning rate: decay, restarts, resumes and start, against what was configured.

Warm-up, cosine, steps, plateaus and configured restarts are normal.
"""

from __future__ import annotations

import re

import numpy as np

from .. import settings as names
from ..config import plateau
from ..config.values import carried, number_of, says, value_of
from ..registry import Finding, View, absent, present, probe, unknown
from ..run import Configured, Event, Run
from .learned import learned_by_heart
from .learning_rate import CURVE, Curve, curve, seen_at, where

_DECAYING = frozenset(
    ["cosine", "linear", "polynomial", "exponential", "step", "multistep", "inverse-sqrt", "onecycle"]
)


_NEAR_PEAK = 0.8  # of the configured rate, at the first logged point of a rate that falls from there on
_RESTARTING = frozenset(["cosine-restarts", "cyclic", "onecycle"])


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
    first = int(kept[-1]) + 1 if len(kept) else 0  # none beside a configured rate far above these
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
def lr_gone(view: View, within: float = 0.5) -> Finding:
    """Nothing is left of the learning rate after `within` of the run: the rest of the steps train nothing."""
    lr = curve(view.run)
    if lr is None or len(lr.values) < 8:
        return unknown("fewer than 8 points of the learning rate are logged")
    gone = vanishes(view.run, within)
    if gone is None:
        return absent("something is left of the learning rate", value=float(lr.values[-1]), series=(CURVE,))
    at, words = gone
    return present(words, value=float(lr.values[at]), **seen_at(lr, at, step=float(lr.steps[at])))


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
        return present(words, value=float(lr.values[at]), **seen_at(lr, at, step=float(lr.steps[at])))
    scheduler = value_of(view.run, "lr_scheduler")
    milestones = value_of(view.run, "lr_milestones")
    stepwise = scheduler in ("multistep", "step") or (scheduler is None and bool(milestones))
    if plateau.watches(view.run):
        improving = plateau.lowered_while_improving(view.run)
        if improving is None:
            return absent("the schedule lowers the rate where nothing improves", series=(CURVE,))
        return present(improving, **seen_at(lr, len(lr.values) - 1, value=float(lr.values[-1])))
    if scheduler == "constant":
        return absent(f"the schedule ({scheduler}) is made to end on a low level", series=(CURVE,))
    top = int(np.argmax(lr.values))
    least = float(lr.values[-1])
    minimum = number_of(view.run, "min_learning_rate")
    at_minimum = minimum is not None and minimum < 0.5 * lr.peak and least <= 1.05 * minimum
    # the share of the peak that LLM recipes keep, reached while most of the run lies ahead
    kept = scheduler in ("cosine", "linear", "polynomial") and least <= 0.15 * lr.peak
    if lr.peak <= 0 or (least > level * lr.peak and not at_minimum and not kept):
        return absent(
            f"the learning rate ends at {least:g}, its peak is {lr.peak:g}", value=least, series=(CURVE,)
        )
    above = np.flatnonzero(lr.values > least + 0.005 * lr.peak)
    reached = int(above[-1]) + 1 if len(above) else 0
    if reached <= top or reached >= len(lr.values):
        return absent("the learning rate falls to the end", value=least, series=(CURVE,))
    begin = lr.steps[-1] - lr.length
    share = float((lr.steps[reached] - begin) / lr.length)
    few = len(np.unique(np.round(lr.values[top:reached] / lr.peak, 3))) <= 4
    if few and scheduler is None and not stepwise:
        return unknown("the learning rate comes down in steps; the schedule is not recorded", series=(CURVE,))
    text = (
        f"the learning rate is down to {lr.values[reached]:g} (peak {lr.peak:g}) after {share:.0%} of the run"
    )
    rest = seen_at(lr, reached, value=share, threshold=within, step=float(lr.steps[reached]))
    soon = kept and not at_minimum and least > level * lr.peak
    within = 0.5 * within if stepwise else min(within, 0.4) if soon else within
    if share < within and (said := learned_by_heart(view.run)):
        return unknown(f"{text}; {said}", **rest)
    return present(text, **rest) if share < within else absent(text, **rest)


@probe(CURVE)
def lr_lowered_hastily(
    view: View, least: int = 5, gap: float = 2.0, factor: float = 0.62, soon: float = 0.25, left: float = 0.05
) -> Finding:
    """From the first quarter on the rate comes down to `factor` or less again and again, `gap` epochs apart.

    So does a schedule on a plateau without patience. Recipes that halve the rate each epoch begin with that
    later, and one that lowers it by a few percent an epoch is slow.
    """
    lr = curve(view.run)
    if lr is None or len(lr.values) < 2 * least:
        return unknown("too few points of the learning rate are logged")
    epochs = lr.series.epochs[lr.index] if lr.series.epochs is not None else None
    if epochs is None and lr.series.unit == "epoch":
        epochs = lr.steps
    if epochs is None or not np.all(np.isfinite(epochs)) or epochs[-1] - epochs[0] < 8:
        return unknown("the learning rate is not told by epochs, or of few of them")
    down = np.flatnonzero((lr.values[1:] <= factor * lr.values[:-1]) & (lr.values[1:] > 0)) + 1
    if len(down) < least:
        return absent(
            f"the learning rate comes down clearly {len(down)} times", value=len(down), threshold=least
        )
    span = float(epochs[-1] - epochs[0])
    begins, apart = float(epochs[down[0]] - epochs[0]) / span, float(np.median(np.diff(epochs[down])))
    half = float(lr.values[int(np.searchsorted(epochs, epochs[0] + span / 2))]) / lr.peak
    words = (
        f"the learning rate is lowered to {factor:g} of it or less {len(down)} times, {apart:g} epochs apart,"
        f" first after {begins:.0%} of the run; {half:.2g} of its peak is left at half of the run"
    )
    rest = seen_at(lr, int(down[0]), value=apart, threshold=gap, step=float(lr.steps[down[0]]))
    hasty = apart <= gap and begins <= soon and half <= left
    return present(words, **rest) if hasty else absent(words, **rest)


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
            f"the schedule ({says(scheduler)}) need not decay", where=where(scheduler), series=(CURVE,)
        )
    after = lr.values[int(np.argmax(lr.values)) :]
    spread = float(np.max(after) - np.min(after)) / lr.peak if lr.peak > 0 else 0.0
    rest = seen_at(lr, len(lr.values) - 1, value=spread, threshold=1e-3)
    if spread > 1e-3:
        return absent(f"the learning rate falls by {spread:.0%} after its peak", **rest)
    if len(after) < points:
        return unknown("the learning rate is still warming up", series=(CURVE,))
    if scheduler.value in ("step", "multistep"):
        if not _decay_due(run, lr):
            return unknown("whether a decay was due by the last point is not recorded", series=(CURVE,))
    elif _of_noise(run, scheduler):
        return unknown(f"{says(scheduler)} is that of the noise of a diffusion model", series=(CURVE,))
    elif (planned := _whole(run, lr)) is not None and lr.steps[-1] < least_share * planned:
        return unknown("the run is too short for its schedule to show", series=(CURVE,))
    text = f"{says(scheduler)} is configured, and the learning rate stays at {lr.values[-1]:g}"
    return present(text, **rest)


_DIFFUSION = re.compile(r"(?i)timesteps|diffusion|noise_sched|beta_(?:start|end)|min_snr|snr_gamma|v_pred")


def _of_noise(run: Run, scheduler: Configured) -> bool:
    """A bare `schedule: cosine` beside settings of diffusion tells how noise is added."""
    named = set(re.split(r"[._]", scheduler.raw.lower()))
    return not {"lr", "sched", "scheduler"} & named and any(
        _DIFFUSION.search(s.key) for s in run.raw_settings
    )


def _whole(run: Run, lr: Curve) -> float | None:
    """The length of the schedule: that of the run, or a longer one that it is cut from."""
    planned, decays = _planned(run, lr), number_of(run, "lr_decay_steps")
    return max((n for n in (planned, decays) if n is not None), default=None)


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
    rest = seen_at(
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


def begins_anew(run: Run, share: float, points: int = 5) -> tuple[int, str] | None:
    """Where the learning rate begins again as it began, broken off above `share` of its peak; and a sentence.

    A schedule that is meant to come again comes down first. The first `points` rates have to come again one
    by one, not all of them equal, at the same distances of steps.
    """
    lr = curve(run)
    if lr is None or len(lr.values) < 3 * points or lr.peak <= 0:
        return None
    second = _second_warmup(lr, share, points)
    if second is not None:
        return second
    start, gaps = lr.values[:points], np.diff(lr.steps)[: points - 1]
    if np.ptp(start) <= 0.1 * lr.peak or np.any(gaps <= 0):
        return None
    for i in range(2 * points, len(lr.values) - points + 1):
        before, again = lr.values[i - 1], lr.values[i : i + points]
        if before < share * lr.peak or abs(again[0] - before) <= 0.1 * before:
            continue
        if np.all(np.abs(again - start) <= 0.01 * lr.peak) and np.array_equal(
            np.diff(lr.steps[i : i + points]), gaps
        ):
            text = (
                f"the learning rate is {before:g} before step {lr.steps[i]:g} and goes on from {again[0]:g}"
                f" as at the beginning, {points} points long"
            )
            return i, text
    return None


def _second_warmup(lr: Curve, share: float, points: int) -> tuple[int, str] | None:
    """Where the rate breaks off to a third or less and climbs by equal steps above what it was before.

    No schedule does so: cycles come down step by step, and restarts begin at their top or below their end.
    """
    values = lr.values
    for i in range(2 * points, len(values) - points + 1):
        before, rise = values[i - 1], values[i : i + points]
        if before < share * lr.peak or rise[0] * 3 > before:
            continue
        steps = np.diff(rise) / np.maximum(np.diff(lr.steps[i : i + points]), 1e-12)
        straight = bool(np.all(steps > 0)) and float(np.ptp(steps)) <= 0.2 * float(np.mean(steps))
        if straight and float(np.max(values[i:])) >= 1.1 * before:
            text = (
                f"the learning rate is {before:g} before step {lr.steps[i]:g}, falls to {rise[0]:g} and warms"
                f" up to {np.max(values[i:]):g}, above what it was"
            )
            return i, text
    return None


@probe()
def lr_begins_anew(view: View, share: float) -> Finding:
    """The schedule is broken off and runs through its first steps a second time."""
    lr = curve(view.run)
    if lr is None or len(lr.values) < 15:
        return unknown("fewer than 15 points of the learning rate are logged")
    found = begins_anew(view.run, share)
    if found is None:
        return absent("the first rates do not come again before the schedule is through", series=(CURVE,))
    scheduler = view.run.settings.get("lr_scheduler")
    if (scheduler is not None and scheduler.value in _RESTARTING) or _cycles(view.run):
        return unknown(f"{found[1]}; the schedule is meant to come again", series=(CURVE,))
    return present(found[1], **seen_at(lr, found[0], step=float(lr.steps[found[0]])))


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


def _first_after(lr: Curve, event: Event) -> int:
    """The first point after a resume: what the same log tells before it was reached before it.

    A checkpoint of step 250 is written when step 250 has been logged. Where another file tells of the resume,
    the rate of its step may be that before it or that after it: the one that is nearer to the step before.
    """
    step = float(event.step or 0.0)
    after = int(np.searchsorted(lr.steps, step, side="left"))
    lines = lr.series.lines
    if lines is None or event.line is None or event.file != lr.series.file:
        return after + _still_before(lr, after, step)
    while after < len(lr.steps) and lr.steps[after] == step and lines[lr.index[after]] < event.line:
        after += 1
    return after


def _still_before(lr: Curve, point: int, step: float) -> bool:
    """Whether the rate goes on up to the very step of the resume, and jumps behind it."""
    if not 0 < point < len(lr.steps) - 1 or lr.steps[point] != step:
        return False
    around = np.log(np.maximum(lr.values[point - 1 : point + 2], 1e-300))
    return bool(abs(around[1] - around[0]) < abs(around[2] - around[1]))


@probe(CURVE)
def lr_jumps_at_resume(view: View, ratio: float) -> Finding:
    """Where training was resumed, the learning rate is not where it was.

    A constant rate that falls there for good is a schedule's step: epochs end where checkpoints are written.
    """
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
        after = _first_after(lr, event)
        before = after - 1
        while before > 1 and lr.values[before] == 0:  # a schedule that was through, and begins to rise again
            before -= 1
        if before < 1 or after + 1 >= len(lr.steps) or lr.values[before] <= 0 or lr.values[after] <= 0:
            continue
        judged += 1
        change = abs(float(np.log(lr.values[after] / lr.values[before])))
        window = lr.values[max(0, before - 5) : before + 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            usual = np.abs(np.diff(np.log(window[window > 0])))
        expected = float(np.median(usual)) if len(usual) else 0.0
        gap = max(1.0, float(lr.steps[after] - lr.steps[before]) / max(lr.interval, 1e-12))
        stair = (
            np.ptp(window) == 0 and float(np.max(lr.values[after:])) <= lr.values[after] < lr.values[before]
        )
        if change > np.log(ratio) and change > 3 * expected * gap and not stair:
            text = (
                f"the learning rate is {lr.values[before]:g} before and {lr.values[after]:g} after"
                f" training was resumed at step {step:g}"
            )
            size = float(np.exp(change))
            return present(
                text, **seen_at(lr, after, value=size, threshold=ratio, step=float(lr.steps[after]))
            )
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
    rest = seen_at(lr, int(np.argmax(lr.values)), value=lr.peak, threshold=configured)
    rest["where"] = (*rest["where"], *where(setting))
    off = lr.peak / configured - 1
    if abs(off) <= relative:
        return absent(f"the learning rate peaks at {lr.peak:g}, as configured", **rest)
    text = f"the learning rate peaks at {lr.peak:g}; configured is {configured:g} ({setting.raw})"
    scheduler = value_of(run, "lr_scheduler")
    if scheduler == "inverse-sqrt" and configured >= 0.1 > lr.peak:
        return unknown(f"{text}; that is the factor of a Noam schedule, not a rate", **rest)
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
        if lr.steps[0] > 0 and lr.values[0] >= _NEAR_PEAK * configured:
            return False  # logged once an epoch: the rate came up and began to fall before it
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
    rest = seen_at(lr, 0, value=share, threshold=within, step=float(lr.steps[0]))
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


_TOKENS = 1e6  # more than any batch holds: a number of tokens of the whole training


def _steps_of_tokens(run: Run) -> float | None:
    """How many steps a planned number of tokens makes, by the samples of a step and their length (litGPT)."""
    told = (names.number(s.value) for s in run.raw_settings if names.last_part(s.key) == "max_tokens")
    tokens = max((t for t in told if t is not None and t >= _TOKENS), default=None)
    batch, length = number_of(run, "global_batch_size"), number_of(run, "max_sequence_length")
    return tokens / (batch * length) if tokens and batch and length else None


@probe("config:warmup_steps|config:warmup_epochs")
def warmup_beyond(view: View) -> Finding:
    """The configured warm-up is as long as the whole planned training, and no logged rate comes down again.

    Steps are held against steps and epochs against epochs; a planned length that is not recorded is unknown.
    """
    run = view.run
    for warm, whole in (("warmup_steps", "max_steps"), ("warmup_epochs", "epochs")):
        length, planned = number_of(run, warm), number_of(run, whole)
        if planned is None and whole == "max_steps":
            planned = _steps_of_tokens(run)
        if length is None or planned is None or planned <= 1:
            continue
        setting = run.settings[warm]
        rest = carried(setting, threshold=planned)
        if length < planned:
            return absent(f"{says(setting)} is shorter than the training ({planned:g})", **rest)
        lr = curve(run)
        if lr is not None and len(lr.values) > 2 and lr.values[-1] < 0.98 * lr.peak:
            return absent(f"{says(setting)}, and yet the logged learning rate falls in the end", **rest)
        return present(
            f"{says(setting)} is no shorter than the training ({planned:g}): all is warm-up", **rest
        )
    return unknown("how long the training was to be is not recorded in the unit of the warm-up")

"""Policies that are trained by returns (PPO, GRPO and their kin) or by preferences (DPO and its kin).

The loss of such a run says little; the return, the distance of the policy from what it was, its entropy and
the rewards of preferred answers do. Names and meanings are those of Stable-Baselines3, CleanRL, verl and TRL.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ...engine.model import State
from ..registry import Finding, View, absent, place, present, unknown
from ..run import Floats, Run, Series, Setting
from ..settings import last_part, number
from . import situation, stats
from .judging import probe
from .metrics import finite
from .situation import metric

BLOCKS = 20
RISES = 4.0  # times the scatter of so few returns as evaluations have
FALLS = 3.0  # times the scatter of its levels: a return that lies so much lower has fallen


def logged(series: Series | None) -> Floats:
    """The finite values of a series, none where there is no such series."""
    return np.empty(0) if series is None else finite(series)


def at_finite(series: Series, point: int) -> dict[str, Any]:
    """The place of one of the finite points."""
    kept = np.flatnonzero(np.isfinite(series.values))
    return {
        "where": (place(series, int(kept[point])),),
        "series": (series.name,),
        "step": float(series.steps[int(kept[point])]),
    }


def thirds(values: Floats) -> list[float]:
    """The medians of the thirds of a course."""
    return [float(np.median(part)) for part in np.array_split(values, 3)]


def _return(run: Run) -> Series | None:
    """The return of a policy, of training or of evaluation; None where nothing is trained by one."""
    if situation.reinforced(run) is None:
        return None
    return metric(run, "train", ("reward",)) or metric(run, "eval", ("reward",))


def _levels(values: Floats) -> Floats:
    """Means of up to BLOCKS equal stretches, in their order."""
    return np.array([float(np.mean(p)) for p in np.array_split(values, min(BLOCKS, len(values) // 3))])


# ----------------------------------------------------------------------------------- returns and their policy


@probe()
def policy_update_far(view: View, kl: float = 0.2, clipped: float = 0.5, points: int = 6) -> Finding:
    """Over a third of the run each update changes the policy by `kl` nats, or clips `clipped` of the samples.

    Spinning Up stops an update of PPO at 0.015, CleanRL's author finds 0.02 and less in runs that work.
    """
    seen = None
    for name, level in (("approx_kl", kl), ("clip_fraction", clipped)):
        series = view.run.series.get(name)
        values = logged(series)
        if series is None or len(values) < points:
            continue
        levels = thirds(values)
        most = int(np.argmax(levels))
        rest = {"value": round(levels[most], 4), "threshold": level}
        words = f"the median of {series.raw} over a third of the run is {levels[most]:.3g}"
        if levels[most] >= level:
            start = len(np.concatenate(np.array_split(values, 3)[:most])) if most else 0
            if why := _holds(view.run):
                return unknown(f"{words}, and {why}", series=(series.name,), **rest)
            return present(
                f"{words}; updates that hold stay far below {level:g}", **rest, **at_finite(series, start)
            )
        seen = seen or absent(f"at most: {words}", series=(series.name,), **rest)
    return seen or unknown("neither the divergence of an update nor the share that is clipped was logged")


def _holds(run: Run) -> str | None:
    """Say that the return rises clearly and ends near its best: steps too far undo that."""
    returns = _return(run)
    values = logged(returns)
    if returns is None or len(values) < 30 or gain(values) <= FALLS:
        return None
    levels = _levels(values)
    first, best, end = float(np.mean(levels[:2])), float(np.max(levels)), float(np.mean(levels[-2:]))
    if end - first < 0.9 * (best - first):
        return None
    return f"{returns.name} rises from {first:.4g} to {end:.4g}, its best"


@probe()
def policy_entropy_gone(view: View, share: float = 0.02, points: int = 15) -> Finding:
    """The entropy of the policy falls to `share` of its first level while the return is not better.

    A policy that has learned the task may be as sure; one that is sure before it is better explores no more.
    """
    run = view.run
    returns = _return(run)
    series = run.series.get("train/entropy") or run.series.get("train/loss/entropy")
    values = np.abs(logged(series))  # "entropy_loss" is the entropy with a minus
    if series is None or returns is None or len(values) < points or len(logged(returns)) < points:
        return unknown("no course of both the return and the entropy of a policy")
    first, last = (
        float(np.max(values[: max(2, len(values) // 10)])),
        float(np.median(values[-len(values) // 5 :])),
    )
    if first <= 0:
        return unknown(f"{series.name} is zero from the beginning")
    words = f"the entropy ({series.raw}) falls from {first:.3g} to {last:.3g}"
    seen: dict[str, Any] = {"value": float(f"{last / first:.3g}"), "threshold": share}
    if last > share * first:
        return absent(words, series=(series.name,), **seen)
    better = gain(logged(returns))
    if better > 1:
        return absent(f"{words}, and {returns.name} has risen", series=(series.name, returns.name), **seen)
    gone = int(np.argmax(values <= share * first))
    return present(
        f"{words} while {returns.name} is no better than at the start", **seen, **at_finite(series, gone)
    )


def _ends(values: Floats) -> tuple[float, float]:
    """The means of the first and of the last third of a return."""
    levels = _levels(values)
    third = max(1, len(levels) // 3)
    return float(np.mean(levels[:third])), float(np.mean(levels[-third:]))


def _of_thirds(returns: Series, first: float, last: float) -> tuple[str, dict[str, Any]]:
    """The two in words, and what a finding carries of them."""
    words = f"{returns.name} is {first:.4g} over the first third and {last:.4g} over the last"
    return words, {"value": round(last - first, 6), "series": (returns.name,)}


def gain(values: Floats) -> float:
    """By how many times the scatter of its levels the last third of a return lies above its first."""
    levels = _levels(values)
    scatter = stats.noise(levels) + 1e-9 * float(np.max(np.abs(levels)) + 1.0)
    first, last = _ends(values)
    return (last - first) / scatter


def _better_otherwise(run: Run) -> str | None:
    """What tells that a policy gets better, or has another aim, whatever its return does."""
    for name in ("train/success", "eval/success", "eval/reward"):
        values = logged(run.series.get(name))
        if len(values) >= 6 and (gain(values) if len(values) >= 30 else _rise_of_few(values)) > RISES:
            return f"{name} rises from {values[0]:.4g} to {values[-1]:.4g}"
    level = logged(run.series.get("task_level"))
    if len(level) >= 3 and float(np.median(level[-3:])) > float(np.median(level[:3])):
        return "the tasks become harder"
    cost = logged(run.series.get("episode_cost"))
    if len(cost) >= 30 and gain(-cost) > RISES:
        return f"the cost of an episode falls from {cost[0]:.4g} to {cost[-1]:.4g}"
    return None


def _rise_of_few(values: Floats) -> float:
    """The gain of a course of few points, in times their scatter."""
    half = len(values) // 2
    scatter = stats.noise(values) + 1e-9 * float(np.max(np.abs(values)) + 1.0)
    return float(np.mean(values[half:]) - np.mean(values[:half])) / scatter


@probe()
def return_never_rises(view: View, points: int = 30) -> Finding:
    """The last third of the return lies no higher than the first: nothing was learned over the whole run."""
    returns = _return(view.run)
    values = logged(returns)
    if returns is None:
        return unknown("no policy is trained by a return here")
    share = situation.planned_share(view.run, returns)
    if len(values) < points or (share is not None and share < 0.5):
        return unknown(f"{returns.name} has {len(values)} points; {points}, and half of the run, are needed")
    levels, (first, last) = _levels(values), _ends(values)
    words, seen = _of_thirds(returns, first, last)
    if 0.9 <= first <= 1.0 and float(np.max(values)) <= 1.0:
        return unknown(f"{words}: it may have been at its ceiling from the start")
    if float(np.max(levels)) - first > 3 * stats.noise(levels) and last < float(np.max(levels)):
        return absent(f"{words}, and {np.max(levels):.4g} in between", **seen)
    risen = gain(values)
    if risen > 1 or risen <= -FALLS:
        return absent(words, **seen)
    if risen > 0.5:  # about one standard error of the difference
        return unknown(f"{words}: whether that is a rise or chance cannot be told", **seen)
    if why := _better_otherwise(view.run):
        return unknown(f"{words}, and {why}", **seen)
    return present(words, value=seen["value"], **at_finite(returns, len(values) - 1))


@probe()
def return_falls(view: View, points: int = 30) -> Finding:
    """The last third of the return lies clearly below the first, and it was no higher in between.

    What learns nothing earns what it earned; what earns less was driven away from it.
    """
    returns = _return(view.run)
    values = logged(returns)
    if returns is None:
        return unknown("no policy is trained by a return here")
    if len(values) < points:
        return unknown(f"{returns.name} has {len(values)} points; {points} are needed")
    levels, (first, last) = _levels(values), _ends(values)
    words, seen = _of_thirds(returns, first, last)
    scatter = stats.noise(levels)
    if float(np.max(levels)) - max(float(levels[0]), float(levels[1])) > 3 * scatter:
        return absent(f"{words}, and {np.max(levels):.4g} in between", **seen)
    if gain(values) > -FALLS:
        return absent(words, **seen)
    if why := _better_otherwise(view.run):
        return unknown(f"{words}, and {why}", **seen)
    return present(words, value=seen["value"], **at_finite(returns, len(values) - 1))


@probe()
def return_lost(
    view: View, least: float = 4.0, left: float = 0.2, part: float = 0.15, points: int = 30
) -> Finding:
    """The return rises clearly, falls back to where it began, and stays there to the end.

    Clearly: by `least` times the scatter of its levels (means of a twentieth of the run). Back: over the last
    `part` of the run no more than `left` of the rise remains.
    """
    returns = _return(view.run)
    values = logged(returns)
    if returns is None:
        return unknown("no policy is trained by a return here")
    if len(values) < points:
        return unknown(f"{returns.name} has {len(values)} points; {points} are needed")
    levels = _levels(values)
    tail = max(2, round(part * len(levels)))
    first, best = float(np.mean(levels[:2])), int(np.argmax(levels))
    rise, end = float(levels[best]) - first, float(np.max(levels[-tail:]))
    words = f"{returns.name} begins at {first:.4g}, reaches {levels[best]:.4g} and ends at {levels[-1]:.4g}"
    kept = (end - first) / rise if rise > 0 else 1.0
    seen: dict[str, Any] = {"value": round(kept, 3), "threshold": left}
    scatter = max(stats.noise(values) / max(1.0, len(values) / len(levels)) ** 0.5, 1e-12)
    if best < len(levels) - tail and rise > least * scatter and kept <= left:
        if why := _better_otherwise(view.run):
            return unknown(f"{words}, and {why}", **seen)
        top = min(len(values) - 1, round((best + 0.5) * len(values) / len(levels)))
        return present(words, **seen, **at_finite(returns, top))
    return absent(words, series=(returns.name,), **seen)


# Weights of the divergence in the objective: OpenRLHF, TRL, verl and their kin
_HOLDS = re.compile(r"(?:^|_)(?:init_)?kl_(?:coef\w*|penalty_coef\w*|loss_coef\w*|beta|ctl\w*)$")


def _unheld(run: Run) -> Setting | None:
    """The setting that says that nothing holds the policy near its reference: each such weight is zero."""
    told = [s for s in run.raw_settings if _HOLDS.search(last_part(s.key)) and number(s.value) is not None]
    return told[0] if told and all(number(s.value) == 0 for s in told) else None


@probe()
def policy_leaves_reference(
    view: View, nats: float = 100.0, times: float = 100.0, points: int = 10, unheld: float = 30.0
) -> Finding:
    """The divergence from the reference policy runs away: to `nats`, `times` its level of the first half.

    Answers that a reference would never give earn nothing in the end; the penalty or smaller steps hold them.
    Where the weight of that penalty is zero, `unheld` nats that still grow are enough.
    """
    series = view.run.series.get("kl")
    values = logged(series)
    if series is None or situation.reinforced(view.run) is None:
        return unknown("no divergence from a reference policy was logged")
    if len(values) < points:
        return unknown(f"{series.name} has {len(values)} points; {points} are needed")
    usual, last = (
        float(np.median(np.abs(values[: len(values) // 2]))),
        float(np.median(values[-len(values) // 5 :])),
    )
    words = f"the divergence from the reference ({series.raw}) goes from {usual:.3g} to {last:.3g} nats"
    seen: dict[str, Any] = {"value": float(f"{last:.4g}"), "threshold": nats}
    if last >= nats and last >= times * max(usual, 1e-6):
        far = int(np.argmax(values >= max(nats, times * usual)))
        return present(words, **seen, **at_finite(series, far))
    if last >= 1 and last >= times * max(usual, 1e-6) and return_falls(view).state is State.PRESENT:
        far = int(np.argmax(values >= 1))
        return present(f"{words}, and the return falls", **seen, **at_finite(series, far))
    free, levels = _unheld(view.run), thirds(values)
    if free is not None and last >= unheld and levels[2] > 1.5 * levels[1] > 1.5 * levels[0]:
        return present(
            f"{words}, and nothing holds it ({free.key} = {free.value})", **seen, **at_finite(series, -1)
        )
    return absent(words, series=(series.name,), **seen)


@probe()
def kl_negative(view: View, nats: float = 1.0, points: int = 6) -> Finding:
    """The divergence from the reference is below -`nats` over a third of the run; a true one never is.

    The estimate (the mean of the log-ratio) is so where answers are not drawn from the policy itself: by
    another temperature, from the best few tokens, or forced to go on where the policy would have ended.
    """
    series = view.run.series.get("kl")
    values = logged(series)
    if series is None or situation.reinforced(view.run) is None:
        return unknown("no divergence from a reference policy was logged")
    if len(values) < points:
        return unknown(f"{series.name} has {len(values)} points; {points} are needed")
    levels = thirds(values)
    least = min(levels)
    words = f"the median of {series.raw} over a third of the run is {least:.3g}"
    seen: dict[str, Any] = {"value": float(f"{least:.4g}"), "threshold": -nats}
    if least <= -nats:
        return present(words, **seen, **at_finite(series, int(np.argmax(values <= -nats))))
    return absent(f"at the least: {words}", series=(series.name,), **seen)


@probe()
def value_explains_nothing(view: View, points: int = 15) -> Finding:
    """Over the last third values foretell returns no better than their mean does, and these do not rise.

    The explained variance is 1 for a value function that knows the return, 0 for a constant, less for worse.
    """
    run = view.run
    returns = _return(run)
    series = run.series.get("value_explained")
    values = logged(series)
    if series is None or returns is None or min(len(values), len(logged(returns))) < points:
        return unknown("no course of both the return and the variance of it that the value function explains")
    last = thirds(values)[-1]
    words = f"{series.raw} is {last:.3g} over the last third"
    seen: dict[str, Any] = {"value": round(last, 4), "threshold": 0.0}
    if last > 0:
        return absent(words, series=(series.name,), **seen)
    if gain(logged(returns)) > 1:
        return absent(f"{words}, and {returns.name} has risen", series=(series.name, returns.name), **seen)
    return present(
        f"{words} while {returns.name} does not rise", **seen, **at_finite(series, len(values) - 1)
    )


@probe()
def rewards_never_differ(view: View, share: float = 0.9, points: int = 10) -> Finding:
    """All answers of a group earn the same at `share` of the steps, from the start, and the reward stays.

    The advantage of GRPO is the distance from the mean of the group: where all are alike there is nothing to
    learn from. Where the reward has risen before, the task may be learned.
    """
    run = view.run
    same = run.series.get("reward_alike")
    spread = run.series.get("reward_std")
    series = same or spread
    values = logged(series)
    returns = _return(run)
    if series is None or returns is None or len(values) < points:
        return unknown("no spread of the rewards within a group was logged")
    alike = values >= 1.0 if same is not None else values <= 1e-8
    part = float(np.mean(alike))
    words = f"all answers of a group earn the same at {part:.0%} of {len(values)} points ({series.raw})"
    seen: dict[str, Any] = {"value": round(part, 3), "threshold": share}
    earned = logged(returns)
    risen = len(earned) > 3 and float(np.median(earned[-3:])) > float(np.median(earned[:3]))
    if part >= share and np.mean(alike[: max(3, len(alike) // 5)]) >= share:
        if risen:
            return unknown(f"{words}; {returns.name} has risen", **seen)
        return present(
            f"{words}, and {returns.name} does not rise", **seen, **at_finite(series, int(np.argmax(alike)))
        )
    return absent(words, series=(series.name,), **seen)


@probe("train/reward", "eval/reward")
def eval_return_apart(view: View, share: float = 0.2, points: int = 8) -> Finding:
    """The return of training rises clearly, and the policy's return in evaluation stays where that began.

    Exploration costs a little: a policy that is scored without it does as well or better. Where inputs are
    scaled in training and not in evaluation it acts as before.
    """
    run = view.run
    train, held = run.series["train/reward"], run.series["eval/reward"]
    mine, theirs = logged(train), logged(held)
    if len(mine) < 3 * points or len(theirs) < points:
        return unknown("too few returns of training or of evaluation are logged")
    (first, last), (begun, end) = _ends(mine), _ends(theirs)
    if gain(mine) <= 1 or last <= first:
        return unknown("the return of training does not rise clearly")
    came = (end - first) / (last - first)
    words = f"{train.name} goes from {first:.4g} to {last:.4g}, {held.name} from {begun:.4g} to {end:.4g}"
    seen: dict[str, Any] = {"value": round(came, 3), "threshold": share, "series": (train.name, held.name)}
    seen |= {"where": (place(held, len(held) - 1),)}
    if gain(theirs) > RISES and end > begun:
        return absent(f"{words}: it rises by its own measure", **seen)
    if float(np.min(theirs)) >= 0 and float(np.max(theirs)) <= 1 and last > 5:
        return unknown(f"{words}: a share of successes beside a sum of rewards")
    return (
        present(words, **seen)
        if came <= share and end - begun <= share * (last - first)
        else absent(words, **seen)
    )


# ------------------------------------------------------------------------------------------------ preferences


@probe()
def preference_rewards_zero(view: View, points: int = 5) -> Finding:
    """The rewards of preferred and refused answers are exactly zero: policy and reference are one."""
    run = view.run
    chosen, refused = run.series.get("train/reward_chosen"), run.series.get("train/reward_rejected")
    both = [logged(chosen), logged(refused)]
    if chosen is None or refused is None or min(map(len, both)) < points:
        return unknown("the rewards of preferred and refused answers were not logged")
    most = max(float(np.max(np.abs(v))) for v in both)
    words = f"{chosen.raw} and {refused.raw} are {'exactly 0' if most == 0 else f'at most {most:.3g}'}"
    seen: dict[str, Any] = {"value": float(f"{most:.3g}"), "threshold": 0.0}
    if most > 0:
        return absent(words, series=(chosen.name, refused.name), **seen)
    return present(f"{words} at all {len(both[0])} points", **seen, **at_finite(chosen, len(both[0]) - 1))


@probe()
def chosen_answers_lost(view: View, reward: float = -10.0, points: int = 8) -> Finding:
    """The reward of the preferred answers falls to `reward`: they become far less likely than they were.

    A preference loss asks for the distance only, and large steps buy it by making both kinds of answers
    unlikely. A reward of -10 at beta 0.1 is a hundred nats of an answer.
    """
    series = view.run.series.get("train/reward_chosen") or view.run.series.get("eval/reward_chosen")
    values = logged(series)
    if series is None or len(values) < points:
        return unknown("the reward of preferred answers was not logged")
    last, first = float(np.median(values[-len(values) // 5 :])), float(np.median(values[:3]))
    words = f"the reward of preferred answers ({series.raw}) ends at {last:.3g}"
    seen: dict[str, Any] = {"value": float(f"{last:.4g}"), "threshold": reward}
    if last <= reward and first <= 0.25 * last:
        # SimPO, CPO: no reference, the reward is the likelihood itself
        return unknown(f"{words}; it begins at {first:.3g}, against no reference", **seen)
    if last <= reward:
        return present(words, **seen, **at_finite(series, int(np.argmax(values <= reward))))
    return absent(words, series=(series.name,), **seen)


@probe()
def preference_starts_apart(view: View, apart: float = 1.0, within: float = 20.0) -> Finding:
    """At its first steps the policy gives answers `apart` more reward than its reference would.

    A policy that starts as its reference has rewards of zero there. Without a reference (SimPO, CPO, ORPO)
    the reward is a likelihood, which is below zero. A run that goes on has left its reference.
    """
    run = view.run
    chosen, refused = run.series.get("train/reward_chosen"), run.series.get("train/reward_rejected")
    values, others = logged(chosen), logged(refused)
    if chosen is None or len(values) < 8 or len(others) < 8:
        return unknown("the rewards of preferred and refused answers are not logged")
    first, second, step = float(values[0]), float(others[0]), float(chosen.steps[0])
    words = f"at step {step:g} the rewards are {first:.3g} and {second:.3g}; policy and reference give 0"
    seen: dict[str, Any] = {"value": round(first, 3), "threshold": apart}
    if run.events_of("resume") or step > within:
        return unknown(f"{words}, but the log begins later or the run goes on from a checkpoint", **seen)
    moved = float(np.median(np.abs(values[: max(4, len(values) // 4)] - first)))
    if min(first, second) < apart:
        return absent(words, series=(chosen.name,), **seen)
    if moved > 0.5 * first:
        return unknown(f"{words}, and they move fast", **seen)
    return present(words, **seen, **at_finite(chosen, 0))


@probe()
def preferences_reversed(view: View, below: float = 0.4, above: float = 0.6) -> Finding:
    """Held-out pairs are told apart the wrong way round, while training pairs are told apart rightly.

    A policy that has learned nothing of use tells one half of them apart. Fewer than `below` rightly, with
    more than `above` in training, means that the preferred answer stands where the refused one belongs.
    """
    run = view.run
    trained, held = (
        logged(run.series.get("train/preference_accuracy")),
        run.series.get("eval/preference_accuracy"),
    )
    if held is None or len(logged(held)) < 3 or len(trained) < 4:
        return unknown("fewer than 3 evaluations of held-out pairs, or of training pairs, were logged")
    right = float(np.median(trained[-max(2, len(trained) // 3) :]))
    level = float(np.median(logged(held)[-max(2, len(logged(held)) // 3) :]))
    words = f"over the last third {level:.3g} of the held-out pairs are told apart, {right:.3g} in training"
    seen: dict[str, Any] = {"value": round(level, 3), "threshold": below}
    if level >= below:
        return absent(words, series=(held.name,), **seen)
    if right <= above:
        return unknown(f"{words}: training itself has not come far enough", **seen)
    return present(words, **seen, **at_finite(held, len(logged(held)) - 1))


@probe()
def preferences_by_heart(view: View, accuracy: float = 0.98, margin: float = 8.0, points: int = 8) -> Finding:
    """All training pairs are told apart, by a margin of `margin`, and no held-out pairs are as well.

    At that margin a pair costs less than a thousandth of a nat and teaches nothing more.
    """
    run = view.run
    right, far = run.series.get("train/preference_accuracy"), run.series.get("train/preference_margin")
    if right is None or far is None or min(len(logged(right)), len(logged(far))) < points:
        return unknown("margin and accuracy of preferences were not logged")
    end = {s.name: float(np.median(logged(s)[-len(logged(s)) // 3 :])) for s in (right, far)}
    words = f"over the last third {right.raw} is {end[right.name]:.3g} and {far.raw} {end[far.name]:.3g}"
    seen: dict[str, Any] = {"value": round(end[far.name], 3), "threshold": margin}
    if end[right.name] < accuracy or end[far.name] < margin:
        return absent(words, series=(right.name, far.name), **seen)
    held = run.series.get("eval/preference_accuracy")
    if held is not None and len(logged(held)) and float(logged(held)[-1]) >= 0.95:
        return absent(f"{words}, and held-out pairs are told apart as well", series=(right.name,), **seen)
    return present(words, **seen, **at_finite(far, int(np.argmax(logged(far) >= margin))))

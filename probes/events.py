"""What the log says in words, how the run ended, and what its ranks say of one another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..engine.model import Place, State
from . import key_names
from . import settings as names
from .config.values import number_of, says
from .curves.rate_course import begins_anew
from .ending import is_over, length_of, went_on
from .refuted import refuted
from .registry import Finding, View, absent, place, place_of, present, probe, unknown
from .run import RANK_PART, Event, Floats, Run, Series

# Kinds that a reader makes from a framework's or Python's own messages. A file that holds one of them holds
# what went to the error stream too, so that a message which is missing there was not given.
_MESSAGES = frozenset(
    [
        *("traceback", "device-assert", "out-of-memory", "weights-newly-initialized"),
        *("checkpoint-keys-mismatch", "scheduler-before-optimizer", "no-grad-input"),
        *("unused-parameters", "from-logits", "shape-broadcast", "undefined-metric"),
        *("token-length", "data-warning", "known-warning", "non-finite-value"),
    ]
)


def _places(events: tuple[Event, ...]) -> tuple[Place, ...]:
    return tuple(Place(e.file, e.line, e.step, e.rank) for e in events[:5])


def _libraries(run: Run) -> tuple[str, ...]:
    """Names of frameworks and libraries that the run is known to use."""
    told = [str(run.facts[k]) for k in ("framework", "trainer") if run.facts.get(k)]
    installed = [k.removeprefix("version:") for k in run.facts if k.startswith("version:")]
    return tuple(t.lower() for t in (*told, *installed, *run.info.formats))


@probe()
def seen(
    view: View,
    kinds: list[str],
    data: tuple[str, ...] = (),
    said_by: tuple[str, ...] = (),
    body: bool = False,
) -> Finding:
    """The log holds a message of one of these kinds (with one of these details, where given).

    With `body` only one counts that names weights of several of the model's own layers.

    Absent needs a log that holds other messages of frameworks: one without any may have gone elsewhere. A
    message that only some libraries give (`said_by`) can be missed only in a run that is known to use one.
    """
    run = view.run
    found = tuple(e for e in run.events if e.kind in kinds and (not data or e.data in data))
    worth = tuple(
        e
        for e in found
        if (e.kind == "known-warning" or not key_names.only_new(e, found))
        and (not body or key_names.of_body(e, found))
    )
    if worth and (why := refuted(run, worth)):
        return unknown(f"the log says: {worth[0].text}; {why}", where=_places(worth))
    if worth:
        count = sum(e.count for e in worth)
        first = worth[0]
        times = "" if count == 1 else f" ({count} times)"
        text = f"the log says{times}: {first.text or first.data or first.kind}"
        return present(text, value=count, threshold=1, step=first.step, where=_places(worth))
    if found:
        words = (
            "no weights of several layers" if body else "only a new head or adapters, as in any fine-tuning"
        )
        return absent(f"the message names {words}", where=_places(found))
    if said_by and not any(name in told for name in said_by for told in _libraries(run)):
        return unknown(f"only {' or '.join(said_by)} would say so, and the run is not known to use it")
    if any(e.kind in _MESSAGES for e in run.events):
        return absent("the log holds other messages and not this one", value=0, threshold=1)
    return unknown("no log with the messages of the framework is there")


@probe()
def few_parameters_train(view: View, share: float) -> Finding:
    """The log counts fewer than `share` of all parameters as trainable.

    Normal for adapters (LoRA and the like), which are recognised by their settings and by the log.
    """
    facts = view.run.facts
    known = [facts.get(f"parameters_{k}") for k in ("trainable", "frozen", "total")]
    trainable, frozen, total = (float(v) if isinstance(v, (int, float)) else None for v in known)
    if total is None and trainable is not None and frozen is not None:
        total = trainable + frozen
    if trainable is None and total is not None and frozen is not None:
        trainable = total - frozen
    if trainable is None:
        return unknown("the log does not say how many parameters train")
    if any(e.data == "nothing-trainable" for e in view.run.events):
        return unknown("the framework says itself that nothing is trainable")
    words = f"the log counts {trainable:,.0f} trainable parameters"
    if total is None or total < trainable or total <= 0:
        if trainable == 0:
            return present(words, value=0, threshold=share)
        return unknown(f"{words} and does not say of how many")
    words = f"{words} of {total:,.0f}"
    if trainable >= share * total:
        return absent(words, value=round(trainable / total, 4), threshold=share)
    if trainable > 0 and _has_adapters(view.run):
        return unknown(f"{words}, as adapters do")
    return present(words, value=round(trainable / total, 4), threshold=share)


def _has_adapters(run: Run) -> bool:
    """Say whether settings or messages speak of adapters, which leave the rest of the model alone."""
    words = ("lora", "peft", "adapter", "prefix_tuning", "prompt_tuning", "ia3")
    named = (s.key.lower() for s in run.raw_settings)
    return any(w in n for n in named for w in words) or any("peft" in str(k) for k in run.facts)


_LOST = r"(?:missing|corrupt\w*|not (?:be )?found|unreadable|broken|skipped|ignored|do(?:es)? not exist)"
_FOUND_AND_LOST = re.compile(rf"(\d[\d,]*) (?:\w+ )?found\b.{{0,12}}?\b(\d[\d,]*) {_LOST}", re.IGNORECASE)
_LOST_ALONE = re.compile(r"\bfound for (\d[\d,]*) images", re.IGNORECASE)
_WHOLE = re.compile(r"\bskipp(?:ed|ing) (?:shard|tar|archive)", re.IGNORECASE)
SHARDS = 10  # each holds thousands of samples: so many are no accident
_OF_ALL = re.compile(rf"(\d[\d,]*) (?:of|out of|/) (\d[\d,]*) \w+.{{0,80}}?\b{_LOST}", re.IGNORECASE)


@probe()
def much_left_out(view: View, share: float) -> Finding:
    """The log counts files or samples that were not found or could not be read: `share` of all, or more."""
    counted = None
    for event in view.run.events_of("data-warning"):
        if found := _FOUND_AND_LOST.search(event.text):
            there, lost = (int(n.replace(",", "")) for n in found.groups())
            whole = there + lost
        elif found := _OF_ALL.search(event.text):
            lost, whole = (int(n.replace(",", "")) for n in found.groups())
        elif (found := _LOST_ALONE.search(event.text)) and (samples := number_of(view.run, "train_samples")):
            lost, whole = int(found.group(1).replace(",", "")), int(samples)
        else:
            continue
        if 0 < lost <= whole and (counted is None or lost * counted[1] > counted[0] * whole):
            counted = lost, whole, event
    shards = tuple(e for e in view.run.events_of("data-warning") if _WHOLE.search(e.text))
    if counted is None and len(shards) >= SHARDS:
        first = f"the log passes over {len(shards)} whole parts of the data: {shards[0].text}"
        return present(first, value=len(shards), threshold=SHARDS, where=_places(shards))
    if counted is None:
        return unknown("the log does not count what was left out of the data")
    lost, whole, event = counted
    words = f"the log says that {lost:,} of {whole:,} are left out: {event.text}"
    seen: dict[str, Any] = {"value": round(lost / whole, 4), "threshold": share, "where": _places((event,))}
    return present(words, **seen) if lost >= share * whole else absent(words, **seen)


@probe()
def ended_with(view: View, words: list[str], but: list[str] | None = None) -> Finding:
    """The run ended with an exception that says one of these words, and none of those of `but`.

    Only a run whose log holds the end of a training by an exception can say no.
    """
    run = view.run
    main = run.series.get("train/loss") or run.series.get("eval/loss")
    ended = run.events_of("traceback", "device-assert")
    ended = tuple(e for e in ended if not went_on(main, e) and not is_over(run, e))
    found = tuple(e for e in ended if _says(e, words) and not _says(e, but or ()))
    if found:
        return present(f"the run ended with: {found[0].text}", step=found[0].step, where=_places(found))
    if ended:
        return absent("the run ended with another exception", where=_places(ended))
    return unknown("the log tells of no exception")


def _says(event: Event, words: Iterable[str]) -> bool:
    return any(w in f"{event.data} {event.text}".lower() for w in words)


# ----------------------------------------------------------------------------------------------- the end


@probe()
def crashed(view: View) -> Finding:
    """The run ended with an exception."""
    run = view.run
    main = run.series.get("train/loss") or run.series.get("eval/loss")
    for event in reversed(run.events):
        fatal = event.kind in ("traceback", "device-assert", "out-of-memory")
        fatal = fatal or (event.kind == "exit" and event.value not in (None, 0.0))
        if not fatal or "KeyboardInterrupt" in (event.text + event.data) or went_on(main, event):
            continue
        if is_over(run, event):
            return absent(f"training was over before: {event.text}", where=_places((event,)))
        text = f"the run ended with: {event.text or event.data or event.kind}"
        return present(text, step=event.step, where=_places((event,)))
    if any(e.kind == "exit" and e.value == 0.0 for e in run.events):
        return absent("the run ended with exit code 0")
    length = length_of(run)
    if length is not None and length[0] >= length[1]:
        return absent(f"the run reached its planned end ({length[1]:g} {length[2]}s)")
    return unknown("no log says how the run ended")


@probe()
def unfinished(view: View, share: float) -> Finding:
    """The run stopped before its planned end, and nothing configured made it stop early."""
    length = length_of(view.run)
    if length is None:
        return unknown("the planned length is not recorded in the unit of the log")
    done, planned, unit = length
    reached = done / planned
    text = f"the run came to {unit} {done:g} of {planned:g} ({reached:.0%})"
    key = "max_steps" if unit == "step" else "epochs"
    rest: dict[str, Any] = {"value": reached, "threshold": share}
    setting = view.run.settings[key]
    if reached >= share:
        return absent(text, **rest, where=(place_of(setting),))
    stopper = _early_stopping(view.run)
    if stopper:
        return unknown(
            f"{text}; early stopping is configured ({stopper})", **rest, where=(place_of(setting),)
        )
    return present(f"{text} ({says(setting)})", **rest, where=(place_of(setting),))


def _early_stopping(run: Run) -> str | None:
    for setting in run.raw_settings:
        last = names.parts_of(setting.key)[-1:] or [""]
        value = setting.value
        if re.search(r"early_stop|earlystop|^patience$|stop_patience", last[0]) and value not in (
            None,
            False,
            0,
            "none",
        ):
            return f"{setting.key} = {value}"
    return None


_BROKEN_OFF = 0.2  # of the peak: as `share` of lr-begins-anew


_CONVERTED = 1  # the iteration that a checkpoint is written at whose weights were converted, not trained


def goes_on(run: Run) -> tuple[Event, ...]:
    """The lines that say that training goes on: not those that load a checkpoint of its very beginning.

    Megatron's weights that were converted from elsewhere carry iteration 1, and 0 once they are loaded.
    """
    found = run.events_of("resume", "rewind")
    return tuple(e for e in found if e.step is None or e.step > _CONVERTED)


@probe()
def resumed(view: View) -> Finding:
    """The run was continued from a checkpoint."""
    from .config.model import loads_its_own

    run = view.run
    found = goes_on(run)
    if found:
        first = found[0]
        text = f"training was resumed: {first.text}" if first.text else "training was resumed"
        return present(text, value=len(found), step=first.step, where=_places(found))
    if loads_its_own(run):
        return unknown("a checkpoint out of this training is loaded, as if a new one began")
    for name in ("train/loss", "eval/loss"):
        series = run.series.get(name)
        if series is None or len(series.steps) < 3 or series.unit not in ("step", "iteration"):
            continue
        gaps = np.diff(series.steps)
        interval = float(np.median(gaps[gaps > 0])) if np.any(gaps > 0) else 1.0
        first_step = float(series.steps[0])
        if first_step > 5 * interval and first_step > 20:
            # a resumed run, or the part of a log that somebody kept
            text = f"the log begins at step {first_step:g}, it has a point every {interval:g} steps"
            return unknown(text, value=first_step, step=first_step, where=(place(series, 0),))
        if (anew := begins_anew(view.run, _BROKEN_OFF)) is not None:
            return unknown(f"the log begins at step {first_step:g}, but {anew[1]}", value=first_step)
        return absent(f"the log begins at step {first_step:g} and goes on without a break", value=first_step)
    return unknown("no curve over steps shows where training began")


# ------------------------------------------------------------------------------------------------- ranks


def of_ranks(run: Run, name: str) -> dict[int, Series]:
    """The curve of each rank; none of what may be about a part of the model, which need not agree."""
    found = {rank: curves[name] for rank, curves in run.ranks.items() if name in curves}
    numbers = {rank: bool(np.isfinite(s.values).any()) for rank, s in found.items()}
    if any(numbers.values()):  # whose loss is never a number has none: a stage of a pipeline but the last
        found = {rank: s for rank, s in found.items() if numbers[rank]}
    return {rank: s for rank, s in found.items() if len(s) and s.group != RANK_PART}


def common_steps(curves: Mapping[int, Series]) -> tuple[Floats, Floats] | None:
    """Return the steps that all ranks have (at least two ranks), and values [ranks, steps]."""
    if len(curves) < 2:
        return None
    steps: Floats | None = None
    for series in curves.values():
        steps = series.steps if steps is None else np.intersect1d(steps, series.steps)
    if steps is None or not len(steps):
        return None
    steps = np.unique(steps)
    rows = []
    for series in curves.values():
        ordered = np.argsort(series.steps, kind="stable")
        at = np.searchsorted(series.steps[ordered], steps, side="right") - 1
        rows.append(series.values[ordered][at])
    return steps, np.vstack(rows)


def _where_of(curves: Mapping[int, Series], step: float) -> tuple[Place, ...]:
    found = []
    for series in list(curves.values())[:4]:
        at = np.flatnonzero(series.steps == step)
        if len(at):
            found.append(place(series, int(at[-1])))
    return tuple(found)


def _spread(values: Floats) -> Floats:
    """The relative spread over ranks at each step: (largest - smallest) / median size."""
    middle = np.median(np.abs(values), axis=0)
    return np.asarray((np.max(values, axis=0) - np.min(values, axis=0)) / np.maximum(middle, 1e-12))


def _on_all_ranks(
    run: Run, wanted: Sequence[str], least: int
) -> Iterator[tuple[str, dict[int, Series], Floats, Floats]]:
    """Each curve with its name, on all ranks: steps [n] and values [rank, n] where every rank has a number.

    Left out where the ranks share no steps, or have fewer than `least` numbers in common.
    """
    for name in wanted:
        curves = of_ranks(run, name)
        common = common_steps(curves)
        if common is None:
            continue
        steps, values = common
        good = np.all(np.isfinite(values), axis=0)
        if np.sum(good) >= least:
            yield name, curves, steps[good], values[:, good]


_NORMS = ("grad_norm", "weight_norm")
_EVALUATED = ("eval/loss", "eval/accuracy")
_MUST_AGREE = ("grad_norm", "weight_norm", "weight_sum", "learning_rate", "loss_scale")


_PART = 0.15  # copies that see other samples have norms of one size; so far apart lie parts of a model


def _of_parts(values: Floats) -> bool:
    """Whether norms [rank, n] of the ranks differ in size from the start, as those of parts of a model do."""
    early = values[:, : max(3, values.shape[1] // 3)]
    middle = np.median(early, axis=1)
    scatter = 1.4826 * np.median(np.abs(early - middle[:, None])) * 1.25 / early.shape[1] ** 0.5
    return bool(np.ptp(middle) > max(_PART * float(np.median(middle)), 6 * float(scatter)))


def _parting(values: Floats, least: int) -> int | None:
    """Where ranks [rank, n] that agree to the last digit at first differ, to the end; else None."""
    apart = np.ptp(values, axis=0) > 0
    if not apart[-1] or bool(np.any(apart[:least])) or np.sum(apart) < least:
        return None
    first = int(np.argmax(apart))
    return first if bool(np.all(apart[first:])) else None


@probe()
def ranks_weights_part(view: View, least: int = 3) -> Finding:
    """Sums or norms of the weights agree on all ranks to the last digit, and from some step on no longer."""
    compared = ""
    for name, curves, steps, values in _on_all_ranks(view.run, ("weight_sum", "weight_norm"), 2 * least):
        at = _parting(values, least)
        if at is not None:
            step = float(steps[at])
            text = f"{name} of {len(curves)} ranks is equal to the last digit only until step {step:g}"
            return present(text, step=step, series=(name,), where=_where_of(curves, step))
        compared = compared or name
    if not compared:
        return unknown("no rank logs of the sum or norm of the weights")
    return absent(f"{compared} of all ranks does not begin equal and then part")


@probe()
def ranks_diverge(view: View, relative: float, least: int = 3) -> Finding:
    """Ranks report different values of something that gradient exchange makes equal."""
    compared = 0
    for name, curves, steps, values in _on_all_ranks(view.run, _MUST_AGREE, least):
        if name in _NORMS and _of_parts(values):
            continue
        compared += name != "learning_rate"  # a schedule runs alike on ranks that share nothing
        spread = _spread(values)
        bad = np.flatnonzero(spread > relative)
        if len(bad) >= max(least, 0.1 * len(spread)):
            at = float(steps[bad[0]])
            worst = float(np.median(spread[bad]))
            text = f"{name} of {len(curves)} ranks differs by {worst:.2%} (median), first at step {at:g}"
            rest: dict[str, Any] = {"value": worst, "threshold": relative, "step": at, "series": (name,)}
            return present(text, where=_where_of(curves, at), **rest)
    if not compared:
        return unknown("no rank logs of a quantity that all ranks must agree on")
    if ranks_weights_part(view).state is State.PRESENT:
        return unknown("what ranks must agree on lies close together, and their weights part")
    return absent(f"{compared} quantities agree on all ranks", threshold=relative)


@probe()
def ranks_gradients_differ(view: View, relative: float, share: float = 0.9, least: int = 3) -> Finding:
    """The gradient norms of the ranks differ by `relative` at `share` of the steps.

    After an exchange of gradients the norm is one and the same on all ranks, whatever their weights are.
    """
    for name, curves, steps, values in _on_all_ranks(view.run, ("grad_norm",), least):
        if _of_parts(values):
            return unknown(
                f"{name} of {len(curves)} ranks differs in size from the start: of parts of a model"
            )
        spread = _spread(values)
        bad = spread > relative
        text = f"{name} of {len(curves)} ranks differs at {np.sum(bad)} of {len(bad)} steps"
        rest: dict[str, Any] = {"value": float(np.median(spread)), "threshold": relative, "series": (name,)}
        if np.mean(bad) >= share:
            at = float(steps[int(np.argmax(bad))])
            return present(text, step=at, where=_where_of(curves, at), **rest)
        return unknown(text, **rest) if np.any(bad) else absent(text, **rest)
    return unknown("gradient norms are not logged by several ranks")


@probe()
def ranks_eval_differs(view: View, relative: float, share: float = 0.8, least: int = 2) -> Finding:
    """Ranks report different evaluation results at `share` of the evaluations.

    Equal weights on the same data give equal results; ranks that share the evaluation data out differ too.
    """
    compared = None
    for name, curves, steps, values in _on_all_ranks(view.run, _EVALUATED, least):
        spread = _spread(values)
        bad = spread > relative
        text = f"{name} of {len(curves)} ranks differs at {np.sum(bad)} of {len(bad)} evaluations"
        rest: dict[str, Any] = {"value": float(np.median(spread)), "threshold": relative, "series": (name,)}
        if np.mean(bad) >= share:
            at = float(steps[int(np.argmax(bad))])
            return present(text, step=at, where=_where_of(curves, at), **rest)
        compared = compared or absent(text, **rest)
    return compared or unknown("evaluation results are not logged by several ranks")


@probe()
def ranks_first_differs(view: View, relative: float) -> Finding:
    """The first loss (or weight norm) of the ranks lies far apart.

    Absent where the weight norms agree, or the losses do to the last digit. Norms of the weights that are
    first logged after updates tell of the start only where the ranks share their gradients.
    """
    for name, limit in (("weight_norm", 1e-3), ("train/loss", relative)):
        curves = of_ranks(view.run, name)
        common = common_steps(curves)
        if common is None:
            continue
        steps, values = common
        first = values[:, :1]
        if not np.all(np.isfinite(first)):
            return unknown(f"the first {name} is not finite on all ranks")
        spread = float(_spread(first)[0])
        low, high = float(np.min(first)), float(np.max(first))
        text = f"{name} of {len(curves)} ranks is {low:g} to {high:g} at step {steps[0]:g}"
        rest: dict[str, Any] = {
            "value": spread,
            "threshold": limit,
            "step": float(steps[0]),
            "series": (name,),
        }
        own = ranks_gradients_differ(view, relative=1e-3).state is State.PRESENT
        if spread > limit and name == "weight_norm" and steps[0] > 1 and own:
            return unknown(
                f"{text}; each rank has gradients of its own, and parts with the first step", **rest
            )
        if name == "weight_norm" and spread > _PART and _of_parts(values):
            return unknown(f"{text}: too far apart for copies, as parts of a model are", **rest)
        later = _spread(values[:, 1:])
        later = later[np.isfinite(later)]
        if name == "weight_norm" and steps[0] > 1 and len(later) >= _LATER:
            if 0 < spread <= float(np.median(later)) / _GROWN:
                return unknown(
                    f"{text}, and {float(np.median(later)):.2g} of it apart later: they part in training",
                    **rest,
                )
        if spread > limit:
            return present(text, where=_where_of(curves, float(steps[0])), **rest)
        if name == "weight_norm" or spread < 1e-6:
            return absent(text, **rest)
        return unknown(f"{text}; untrained models of any weights start at nearly equal losses", **rest)
    return unknown("no logs of several ranks with a common first step")


_LATER = 5  # points after the first that tell whether ranks part
_GROWN = 2.0  # times; ranks that share gradients stay about as far apart as they started
_LEAP = 100.0  # times what is usual: bad samples give ten, and hit another rank each time


@probe()
def one_rank_leaps(view: View) -> Finding:
    """One rank of four or more whose gradient norm leaps twice or more, to a hundred times that of all."""
    looked = 0
    for name, curves, steps, values in _on_all_ranks(view.run, ("grad_norm_of_rank", "grad_norm"), 10):
        usual = np.median(values, axis=1, keepdims=True)
        leaps = values > _LEAP * np.maximum(usual, np.median(usual))
        count = np.sum(leaps, axis=1)
        looked = max(looked, len(curves))
        if len(curves) < 4 or np.count_nonzero(count) != 1 or np.max(count) < 2:
            continue
        worst = int(np.argmax(count))
        rank, at = list(curves)[worst], float(steps[int(np.argmax(leaps[worst]))])
        text = f"the gradient norm of rank {rank} alone leaps at {int(count[worst])} of {len(steps)} steps"
        where = _where_of({rank: curves[rank]}, at)
        return present(text, value=int(count[worst]), step=at, where=where, series=(name,))
    if looked < 4:
        return unknown("fewer than four ranks log a gradient norm at common steps")
    return absent("the gradient norm of no rank leaps alone", series=("grad_norm",))


@probe()
def one_rank_bad(view: View, sigmas: float) -> Finding:
    """One rank alone has non-finite values, or (of three or more) lies far outside the others."""
    curves = of_ranks(view.run, "train/loss")
    common = common_steps(curves)
    if common is None:
        return unknown("no losses of several ranks at common steps")
    steps, values = common
    ranks = list(curves)
    bad = ~np.isfinite(values)
    alone = np.flatnonzero(np.sum(bad, axis=0) == 1)
    if len(alone) and (len(ranks) > 2 or not np.all(bad[:, alone[-1] :].sum(axis=0) == 2)):
        rank = int(np.argmax(bad[:, alone[0]]))
        at = float(steps[alone[0]])
        text = f"the loss of rank {ranks[rank]} alone is not finite, first at step {at:g}"
        return present(
            text, value=len(alone), step=at, where=_where_of({ranks[rank]: curves[ranks[rank]]}, at)
        )
    good = np.all(~bad, axis=0)
    if len(ranks) < 3 or np.sum(good) < 5:
        if np.sum(good) < 5:
            return unknown("fewer than 5 common steps with finite losses")
        return absent("the losses of both ranks are finite", series=("train/loss",))
    finite = values[:, good]
    away = finite - np.median(finite, axis=0)
    scatter = 1.4826 * float(np.median(np.abs(away))) + 1e-9 * float(np.median(np.abs(finite)))
    distance = np.abs(np.median(away, axis=1)) / max(scatter, 1e-30)
    worst = int(np.argmax(distance))
    others = np.delete(distance, worst)
    text = f"the loss of rank {ranks[worst]} lies {distance[worst]:.1f} deviations from the other ranks"
    rest: dict[str, Any] = {"value": float(distance[worst]), "threshold": sigmas, "series": ("train/loss",)}
    if distance[worst] > sigmas and np.max(others) < sigmas / 2:
        at = float(steps[good][0])
        return present(text, where=_where_of({ranks[worst]: curves[ranks[worst]]}, at), **rest)
    return absent(text, **rest)


# These log the mean over all ranks on each of them.
_AVERAGING = frozenset(
    ["megatron", "megatron-lm", "transformers", "mindformers", "deepspeed", "fairseq", "lightning"]
)


@probe()
def ranks_identical(view: View, steps: int) -> Finding:
    """All ranks report the same loss at every step, as if they saw the same samples."""
    curves = of_ranks(view.run, "train/loss")
    common = common_steps(curves)
    if common is None:
        return unknown("no losses of several ranks at common steps")
    at, values = common
    good = np.all(np.isfinite(values), axis=0)
    count = int(np.sum(good))
    if count < steps:
        return unknown(f"fewer than {steps} common steps with finite losses")
    equal = np.max(values[:, good], axis=0) == np.min(values[:, good], axis=0)
    share = float(np.mean(equal))
    text = f"the losses of {len(curves)} ranks are identical at {int(np.sum(equal))} of {count} steps"
    rest: dict[str, Any] = {"value": share, "threshold": 1.0, "series": ("train/loss",)}
    if share < 1.0:
        return absent(text, **rest)
    told = {str(view.run.facts.get(k) or "").lower() for k in ("framework", "trainer")}
    if told & _AVERAGING or all(re.search("(?i)global|reduced", s.raw) for s in curves.values()):
        return unknown(f"{text}; this is the mean over all ranks", **rest)
    if np.ptp(values[0, good]) == 0:
        return unknown(f"{text}; the loss does not move at all", **rest)
    for _, _, _, norms in _on_all_ranks(view.run, ("grad_norm_of_rank",), 1):
        if float(np.median(_spread(norms))) > 1e-3:
            return unknown(f"{text}; their own gradient norms are not: the loss is a mean over ranks", **rest)
    return present(text, where=_where_of(curves, float(at[good][0])), step=float(at[good][0]), **rest)

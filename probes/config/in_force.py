"""Asked for and in force are two things: what the log shows of half precision, loss scaling and processes.

A setting says what somebody wanted. These probes say absent only when the log, or a setting that leaves
nothing to be in force, shows it; a request alone leaves them unknown.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np

from ...engine.model import Place, State
from .. import settings as names
from ..curves.shapes import shape
from ..registry import Finding, View, absent, place, place_of, present, probe, unknown
from ..run import Configured, Run
from .values import HALF, amp_disabled, says, value_of

_STEPS = re.compile(r"\.backward\(|\.fit\(|\bGradientTape\b|\bvalue_and_grad\(|\bmodel\.train\(\s*\w+\s*,")
# What sets up several processes, or hands that to a library that may.
_SEVERAL = re.compile(
    r"distribut|DataParallel|\bFSDP|fully_shard|deepspeed|Accelerator|horovod|MirroredStrategy|\bStrategy\(|parallel"
    r"|\bTrainer\(|torchrun|pmap|shard_map|world_size|hccl|nccl|get_rank|LOCAL_RANK|RANK_SIZE|\binit\(\)",
    re.IGNORECASE,
)
_FULL = ("fp32", "fp64")
_LEAST_RANKS = 2


def _at_work(run: Run) -> tuple[str, tuple[Place, ...]] | None:
    """What the log shows of half precision: its number format, or a loss scale that only it needs."""
    seen = str(run.facts.get("precision") or "").lower()
    if seen and names.precision_word(seen) in HALF:
        return f"the log says that training runs in {seen}", ()
    series = run.series.get("loss_scale")
    if series is not None and len(series) and float(np.nanmax(series.values)) > 1:
        return f"the log shows a loss scale of {float(series.values[-1]):g}", (place(series, -1),)
    found = [e for e in run.events_of("overflow", "loss-scale", "scale-at-minimum") if e.value != 1]
    if found:
        return "the log tells of a loss scale", (Place(found[0].file, found[0].line, found[0].step),)
    return None


def _called(run: Run, calls: re.Pattern[str]) -> tuple[str, int] | None:
    """Where a training script calls one of these, as file and line; comments do not count."""
    for file, source in sorted(run.scripts.items()):
        for number, line in enumerate(source.splitlines(), 1):
            if calls.search(line.partition("#")[0]):
                return file, number
    return None


def one_process_script(run: Run) -> tuple[str, int] | None:
    """Where the only training step stands, if no script says anything of several processes."""
    step = _called(run, _STEPS)
    return step if step is not None and _called(run, _SEVERAL) is None else None


def _side(view: View, side: Literal["run", "benchmark"]) -> Run | None:
    return view.run if side == "run" else view.benchmark


def _places(setting: Configured, side: str = "run") -> tuple[Place, ...]:
    return (place_of(setting, side),) if setting.file else ()


@probe()
def full_precision(view: View, side: Literal["run", "benchmark"] = "run") -> Finding:
    """Training of this side runs in full precision, by what was asked for or by what the log shows.

    Absent needs the log of half precision at work: settings and scripts only ask for it, and a framework that
    cannot give it (another device, no support) goes on in full precision.
    """
    run = _side(view, side)
    if run is None:
        return unknown("needs a benchmark run (--benchmark)")
    whose = "" if side == "run" else "the benchmark: "
    disabled = amp_disabled(run)
    if disabled is not None:
        where = (Place(disabled.file, disabled.line, side=side),)
        return present(f"{whose}mixed precision was switched off: {disabled.text}", where=where)
    shown = _at_work(run)
    if shown is not None:
        return absent(
            whose + shown[0], where=tuple(Place(p.file, p.line, p.step, side=side) for p in shown[1])
        )
    seen = str(run.facts.get("precision") or "").lower()
    if seen and names.precision_word(seen) in _FULL:
        return present(f"{whose}the log says that training runs in {seen}", value=seen)
    setting = run.settings.get("precision")
    if setting is None:
        return unknown(f"{whose}neither settings nor log say which number format is in use")
    at = _places(setting, side)
    if setting.value in _FULL:
        return present(f"{whose}training runs in {setting.value} ({says(setting)})", where=at)
    return unknown(
        f"{whose}{setting.value} is asked for ({says(setting)}); the log does not show it in force"
    )


@probe()
def learns_unscaled(view: View, progress: float) -> Finding:
    """A run that asks for fp16 and shows no loss scale at work loses nothing: its loss falls by `progress`.

    fp16 without a scale loses its small gradients as the loss falls. What trains to the end all the same is
    likely not in fp16: a scaler that was switched off with the rest reports a scale of 1, too.
    """
    unscaled = loss_not_scaled(view)
    if unscaled.state is not State.PRESENT:
        return unknown(unscaled.why)
    curve = shape(view.run.series["train/loss"]) if "train/loss" in view.run.series else None
    if curve is None or curve.count < 10:
        return unknown("the training loss has fewer than 10 points")
    words = f"train/loss falls by {curve.progress:.0%} without a loss scale"
    rest: dict[str, Any] = {"value": curve.progress, "threshold": progress, "series": ("train/loss",)}
    held = view.run.series.get("eval/loss")
    follows = held is None or float(np.nanmin(held.values)) < (1 - progress / 2) * curve.start.value
    if curve.progress >= progress and follows and np.isfinite(curve.series.values[-1]):
        return present(words, **rest)
    return absent(words, **rest)


@probe()
def loss_not_scaled(view: View, points: int = 10) -> Finding:
    """No loss scale is at work although the number format needs one.

    Absent: a number format that needs none, or a logged scale above 1. Present: a scale of 1 over `points`
    values, or a scaler that the framework says it switched off. A configured scale alone is no scale.
    """
    run = view.run
    setting = run.settings.get("precision")
    if setting is None:
        return unknown("the number format is not recorded")
    where = _places(setting)
    if setting.value != "fp16":
        return absent(
            f"the number format is {setting.value} ({says(setting)}), which needs no loss scale", where=where
        )
    disabled = amp_disabled(run)
    if disabled is not None and "scaler" in disabled.text.lower():
        text = f"the scaler was switched off: {disabled.text}"
        return present(text, where=(Place(disabled.file, disabled.line),))
    if disabled is not None:
        return unknown(f"no half precision is at work: {disabled.text}")
    series = run.series.get("loss_scale")
    if series is not None and len(series):
        values = series.values[np.isfinite(series.values)]
        if len(values) >= points and bool(np.all(values == 1)):
            text = f"the logged loss scale is 1 at all {len(values)} points"
            return present(text, value=1.0, where=(place(series, 0),), series=("loss_scale",))
        if len(values) and float(np.max(values)) > 1:
            changes = int(np.count_nonzero(np.diff(values)))
            moves = {0: "stays as it is", 1: "changes once"}.get(changes, f"changes {changes} times")
            text = f"the log shows a loss scale from {float(values[0]):g} that {moves}"
            return absent(text, value=float(values[-1]), where=(place(series, -1),), series=("loss_scale",))
    found = [e for e in run.events_of("overflow", "loss-scale", "scale-at-minimum") if e.value != 1]
    if found:
        return absent("the log tells of a loss scale", where=(Place(found[0].file, found[0].line),))
    asked = next(
        (
            run.settings[k]
            for k in ("loss_scale", "initial_loss_scale", "dynamic_loss_scale")
            if k in run.settings
        ),
        None,
    )
    if asked is not None:
        return unknown(f"a loss scale is asked for ({says(asked)}); the log does not show one at work")
    return unknown("fp16 is in use; neither settings nor log show a loss scale")


def _told_alone(run: Run) -> tuple[Configured, Configured] | None:
    """Both a count of one process and distribution switched off: a count alone may be one of machines."""
    size, switch = run.settings.get("world_size"), run.settings.get("distributed")
    if size is None or switch is None or size.trust <= 40 or switch.trust <= 40:
        return None
    return (size, switch) if names.number(size.value) == 1 and switch.value is False else None


_OFF_UNLESS_GIVEN = re.compile(
    r"add_argument\(\s*['\"]--((?:run[_-]?|multiprocessing[_-])?dist(?:ribute|ributed)?|(?:use[_-])?ddp)['\"]"
    r"[^)]*store_true"
)
_JOINS = re.compile(r"init_process_group|communication\.init\(|hccl|DistributedDataParallel")


def _left_off(run: Run) -> tuple[str, Place] | None:
    """The switch of distribution, off by default, where a launch line gives the script's other options."""
    launched = {s.key.replace("-", "_") for s in run.raw_settings if s.file.endswith((".sh", ".bash"))}
    switch = run.settings.get("distributed")
    off = switch if switch is not None and switch.value is False and switch.trust <= 40 else None
    for path, text in run.scripts.items():
        if not any(f'"--{key}"' in text or f"'--{key}'" in text for key in launched):
            continue
        if off is not None and off.file == path and off.raw not in launched:
            return says(off), Place(off.file, off.line)
        flag = _OFF_UNLESS_GIVEN.search(text)
        if flag is None or flag[1].replace("-", "_") in launched or off is not None or switch is not None:
            continue
        guarded = re.search(
            rf"\bif\b[^\n]*\.{flag[1].replace('-', '_')}\b[^\n]*:\n(?:[ \t]+[^\n]*\n){{1,6}}", text
        )
        if guarded is not None and _JOINS.search(guarded[0]):
            return f"--{flag[1]} is off", Place(path, text.count("\n", 0, flag.start()) + 1)
    return None


@probe()
def trains_alone(view: View) -> Finding:
    """Several processes are asked for and one trains.

    Absent: the log shows several at work (a count, communication set up, curves of several ranks), or one
    process is what was asked for, or all that the training script sets up.
    """
    run = view.run
    told_alone = _told_alone(run)
    if told_alone is not None and len(run.ranks) >= _LEAST_RANKS:
        text = f"there are logs of {len(run.ranks)} ranks, and {' and '.join(says(s) for s in told_alone)}"
        return present(
            text, value=1, threshold=len(run.ranks), where=(*_places(told_alone[0]), *_places(told_alone[1]))
        )
    left_off = _left_off(run)
    if left_off is not None and len(run.ranks) >= _LEAST_RANKS:
        text = (
            f"there are logs of {len(run.ranks)} ranks, {left_off[0]} unless it is given,"
            " and the launch line gives other options of the script and not this one"
        )
        return present(text, value=1, threshold=len(run.ranks), where=(left_off[1],))
    asked = names.device_count({k: v for k, v in run.settings.items() if v.trust > 40})
    if asked is None:
        switch = run.settings.get("distributed")
        if switch is not None and switch.value is False and switch.trust > 40:  # no option's default
            return absent(f"one process is asked for ({says(switch)})", where=_places(switch))
    counted = names.number(run.facts.get("world_size"))
    joined = names.number(run.facts.get("communicator_size"))
    several = max(len(run.ranks), int(counted or 0), int(joined or 0))
    if counted == 1 and joined is None and len(run.ranks) >= _LEAST_RANKS:
        text = f"there are logs of {len(run.ranks)} ranks, and they say that one process trains"
        return present(text, value=1, threshold=len(run.ranks))
    if several >= _LEAST_RANKS:
        how = (
            f"the curves of {several} ranks are there"
            if len(run.ranks) == several
            else f"the log says that {several} processes train together"
        )
        if asked is not None and asked[0] > several and counted is None and joined is None:
            return unknown(f"{how}; {says(asked[1])} asks for {asked[0]}")
        return absent(how, value=several)
    script = one_process_script(run)
    if asked is None and script is not None:
        return absent("the training script sets up one process", value=1, where=(Place(*script),))
    if asked is None:
        return unknown("neither settings nor log say how many processes train")
    count, setting = asked
    if count <= 1:
        return absent(f"one process is asked for ({says(setting)})", value=count, where=_places(setting))
    if counted == 1:
        text = f"{count} processes are asked for ({says(setting)}), and the log says that one trains"
        return present(text, value=1, threshold=count, where=_places(setting))
    switch = run.settings.get("distributed")
    if switch is not None and value_of(run, "distributed") is False:
        text = f"{count} processes are asked for ({says(setting)}), and {says(switch)}"
        return present(text, value=1, threshold=count, where=(*_places(setting), *_places(switch)))
    return unknown(f"{count} processes are asked for ({says(setting)}); the log does not show them at work")

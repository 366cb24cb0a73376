"""How settings are written: numbers as text, and files that contradict each other."""

from __future__ import annotations

import math
import re

import numpy as np

from ...engine.model import Place
from .. import settings as names
from ..assembly import layout
from ..registry import Finding, View, absent, place_of, present, probe, unknown
from ..run import Configured, Run
from .values import says, scalar_of

# readers of YAML of their own, or of YAML 1.2, to which 1e-5 is a number
_READS_EXPONENTS = re.compile(r"(?m)^[ \t]*(?:import|from)[ \t]+(hydra|omegaconf|ruamel|jsonargparse)\b")


@probe()
def number_as_text(view: View) -> Finding:
    """A number such as 1e-5 in YAML, which the usual reader hands to the program as text.

    A run that trained has converted it (an optimizer refuses text), so it counts only where nothing was
    trained or the run ended with an exception.
    """
    run = view.run
    written = run.facts.get("number_as_text")
    if written is None:
        if any(s.file.endswith((".yaml", ".yml")) for s in run.raw_settings):
            return absent("all numbers are written as numbers")
        return unknown("there is no YAML configuration")
    if (reader := _READS_EXPONENTS.search("\n".join(run.scripts.values()))) is not None:
        return absent(f"{written} is a number to the reader of {reader.group(1)}", value=str(written))
    if not any(n.endswith("/loss") for n in run.series) or run.events_of("traceback"):
        return present(f"{written} is text to the usual YAML reader", value=str(written))
    return unknown(f"{written} is text to the usual YAML reader, yet training went on")


_OVERRIDABLE = (
    "batch_size",
    "dropout",
    "epochs",
    "gradient_accumulation_steps",
    "label_smoothing",
    "learning_rate",
    "lr_scheduler",
    "max_grad_norm",
    "momentum",
    "optimizer",
    "warmup_ratio",
    "warmup_steps",
    "weight_decay",
)


@probe()
def setting_conflict(view: View) -> Finding:
    """One hyperparameter, named at the top level of two files (or twice in one), has two values."""
    direct = [s for s in view.run.raw_settings if len(names.parts_of(s.key)) <= 2]
    every = names.candidates(direct)
    compared = 0
    for key in _OVERRIDABLE:
        rows = [
            c
            for c in every.get(key, ())
            if c.trust > 40 and not c.file.endswith(("trainer_state.json", ".py"))
        ]
        taken = {c.file for c in rows if names.same(c.value, rows[0].value)}
        for other in rows[1:]:
            equal = names.same(rows[0].value, other.value)
            if not _rivals(rows[0], other) or (not equal and _other_launch(rows[0], other, taken)):
                continue
            compared += 1
            if not equal:
                text = f"{says(rows[0])} ({rows[0].file}) and {says(other)} ({other.file})"
                where = (place_of(rows[0]), place_of(other))
                return present(text, value=scalar_of(rows[0]), threshold=scalar_of(other), where=where)
    if compared:
        return absent(f"{compared} settings stand in more than one place, with the same values")
    return unknown("no hyperparameter stands in two places")


def _other_launch(first: Configured, other: Configured, taken: set[str]) -> bool:
    """Another command of a launch script that has the value in force, too: an earlier or later stage."""
    one_line = first.file == other.file and first.line == other.line
    return other.file.endswith((".sh", ".bash")) and other.file in taken and not one_line


def _rivals(first: Configured, other: Configured) -> bool:
    """Two names in one file are two settings (`batch_size`, `train_batch_size`); one name is a conflict."""
    if first.value is None or other.value is None:
        return False
    folders = [c.file[: c.file.rfind("/") + 1] for c in (first, other)]
    if not folders[0].startswith(folders[1]) and not folders[1].startswith(folders[0]):
        return False  # two runs' records
    suffixes = {c.file.rpartition(".")[2] for c in (first, other)}
    if first.file != other.file and len(suffixes) == 1 and suffixes & {"sh", "log", "txt", "out", "bash"}:
        return False  # two launch scripts or two logs are two runs
    last = [names.parts_of(c.raw)[-1] for c in (first, other)]
    return last[0] == last[1] or (first.file != other.file and first.key != "batch_size")


_EVALUATION = re.compile(r"(?:^|[/_.\-])(?:eval\w*|test|infer\w*|predict\w*|valid\w*)(?=[/_.\-])", re.I)
_SAVED = re.compile(r"^[\w.\-/]+\d[\w.\-]*\.(?:ckpt|pth?|bin|pt|safetensors|air|index)$")
EARLY = 0.5  # of the way to the last checkpoint
BETTER = 0.05  # by how much the run's own evaluation, a share, gets better after that checkpoint
LOWER = 1.3  # times that its loss comes down after that


def _saved(run: Run, path: str) -> tuple[float, str] | None:
    """How far through the run a checkpoint was saved, and the last one's name; None: not told by names."""
    name = path.rpartition("/")[2]
    kind = layout.numberless(name)
    numbers = {}
    for file in run.checkpoint_files:
        if layout.numberless(file.name) == kind:
            numbers[file.name] = [int(n) for n in re.findall(r"\d+", file.name)]
    mine = [int(n) for n in re.findall(r"\d+", name)]
    if name not in numbers or len(numbers) < 2:
        return _by_length(run, name)
    for at, number in enumerate(mine):
        others = {n[at] for n in numbers.values()}
        if len(others) == len(numbers):  # the number that counts them
            last = max(others)
            return (number / last, next(f for f, n in numbers.items() if n[at] == last)) if last > 0 else None
    return None


_COUNTED = re.compile(r"(?i)(epoch|ep|step|iter(?:ation)?|checkpoint)s?[-_=]?0*(\d+)(?=[-_.]|$)")
_EPOCH_AND_STEP = re.compile(r"-(\d+)_(\d+)\.ckpt$")  # MindSpore: the epoch, and the steps of an epoch


def _by_length(run: Run, name: str) -> tuple[float, str] | None:
    """The same for files that are not there: the number in the name, and how far the run's log goes."""
    loss = run.series.get("train/loss")
    if loss is None or not len(loss.steps) or not math.isfinite(last := float(loss.steps[-1])) or last <= 0:
        return None
    epochs = loss.epochs[-1] if loss.epochs is not None and len(loss.epochs) else math.nan
    if (both := _EPOCH_AND_STEP.search(name)) is not None:
        at = float(both[1]) * float(both[2])
        if loss.unit != "step" or not at <= last:
            return None
        if last % float(both[2]) == 0:
            return at / last, f"step {last:g}"
        if (
            math.isfinite(epochs) and 0.9 * epochs < last / float(both[2]) <= epochs
        ):  # not every step is logged
            return float(both[1]) / epochs, f"epoch {epochs:g}"
        return None
    counted = _COUNTED.findall(name)
    if len(counted) != 1 or loss.unit != "step":
        return None
    of, unit = (epochs, "epoch") if counted[0][0].lower().startswith("ep") else (last, "step")
    at = float(counted[0][1])
    return (at / of, f"{unit} {of:g}") if math.isfinite(of) and 0 < at <= of else None


def _improves(run: Run, share: float) -> str | None:
    """What the run's curves say got better after that share of the run, in words."""
    for name, series in sorted(run.series.items()):
        values = series.values[np.isfinite(series.values)]
        if len(values) < 4 or not name.startswith(("eval/", "train/loss")):
            continue
        then, end = float(values[min(int(share * len(values)), len(values) - 1)]), float(values[-1])
        if name.endswith("/loss"):
            if name == "train/loss" and end > 0 and then > LOWER * end and "eval/loss" not in run.series:
                return f"{name} was {then:.3g} then and ends at {end:.3g}"
        elif name.endswith(("accuracy", "/map", "/f1", "/auc")) and end - then > BETTER:
            return f"{name} was {then:.3g} then and ends at {end:.3g}"
    return None


@probe()
def early_checkpoint_scored(view: View) -> Finding:
    """An evaluation of its own names a checkpoint of the first half of the run, which got better after it."""
    scored = [
        (*found, setting)
        for setting in view.run.raw_settings
        if isinstance(setting.value, str)
        and _SAVED.match(setting.value)
        and _EVALUATION.search(setting.file)
        and (found := _saved(view.run, setting.value)) is not None
    ]
    if not scored:
        return unknown("no evaluation of its own names one of several checkpoints")
    share, last, setting = max(scored, key=lambda row: row[0])  # one of several evaluations may be of the end
    looked = f"{setting.file} evaluates {setting.value}"
    better = _improves(view.run, share) if share < EARLY else None
    if better is None:
        return absent(looked)
    return present(
        f"{looked}, {share:.0%} of the way to {last}: {better}",
        value=share,
        threshold=EARLY,
        where=(Place(setting.file, setting.line),),
    )

"""Hugging Face Trainer: trainer_state.json, training_args.bin, all_results.json and their relatives.

`trainer_state.json` holds one list of rows of several kinds (training, evaluation, the closing row); they are
told apart by key. Steps are optimizer steps, `loss` is the mean since the last row. The Trainer replaces
losses that are no number: a window of nothing but NaN is written as 0.0, which is undone here.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...engine.model import Scalar
from ..files import RunFile
from ..run import Event, FileContent, Series, Setting, Window
from . import Gives
from ._rows import Axis, Rows, masked, masked_event
from ._training_args import is_pickled_arguments, read_arguments
from ._values import flatten, is_clock, number, setting_value

FORMAT = "hf-trainer"
GIVES = Gives(
    title="Hugging Face Trainer",
    files=(
        "`trainer_state.json`, `training_args.bin`, `all_results.json`: TRL, LLaMA-Factory, Axolotl, ms-swift"
    ),
    lacks=(
        "Times of day; the state at a checkpoint ends there. A resumed run goes on in the same "
        "list, without a word."
    ),
    scalars="some",
    steps="yes",
    epochs="yes",
    lines="yes",
    settings="yes",
    environment="yes",
)
TRUST = 90
MAX_RESULTS = 64 * 1024
_STATE_KEYS = ("global_step", "max_steps", "is_world_process_zero", "num_train_epochs", "log_history")
_RESULT_MARKS = re.compile(r'"(?:train|eval|predict|test)_(?:runtime|samples_per_second|steps_per_second)"')
_SECOND_OBJECT = re.compile(r"\}\s*\{")
_SETTINGS = {
    "max_steps": "max_steps",
    "num_train_epochs": "num_train_epochs",
    "train_batch_size": "per_device_train_batch_size",
    "logging_steps": "logging_steps",
    "eval_steps": "eval_steps",
    "save_steps": "save_steps",
}
_FACTS = ("global_step", "epoch", "best_metric", "best_global_step", "total_flos", "num_input_tokens_seen")
_LAST_ROW = (
    "train_runtime",
    "train_samples_per_second",
    "train_steps_per_second",
    "train_loss",
    "total_flos",
)
_POINTS: Mapping[str, Window] = {"grad_norm": "point", "learning_rate": "point", "loss": "mean-since-last"}


def sniff(file: RunFile) -> bool:
    """Say whether this is a trainer state, a results file of the Trainer, or its pickled arguments."""
    if file.name == "training_args.bin":
        return file.head.lstrip()[:1] == b"{" or is_pickled_arguments(file.head)
    head = file.head_text.lstrip()
    return head.startswith("{") and (_is_state(file, head) or _is_results(file, head))


def _is_state(file: RunFile, head: str) -> bool:
    if '"log_history"' in head and '"trainer_config"' not in head:
        return sum(f'"{key}"' in head for key in _STATE_KEYS) >= 2
    return file.name.startswith("trainer_state") and sum(f'"{key}"' in head for key in _STATE_KEYS) >= 2


def _is_results(file: RunFile, head: str) -> bool:
    """One object of results; many of them are the lines of a log (ms-swift's logging.jsonl)."""
    if file.size > MAX_RESULTS or "[" in head or _SECOND_OBJECT.search(head):
        return False
    return bool(_RESULT_MARKS.search(head))


def read(file: RunFile) -> FileContent:
    """Read one file of the Trainer. Raises ValueError when nothing in it can be read."""
    if file.name == "training_args.bin":
        return _read_arguments(file)
    text = file.read_text()
    if '"log_history"' in text:
        return _State(file, text).content()
    return _read_results(text)


def _read_results(text: str) -> FileContent:
    try:
        loaded = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    facts = {f"final.{k}": n for k, v in loaded.items() if (n := number(v)) is not None}
    if "final.train_loss" in facts:
        facts["train_loss_mean"] = facts.pop("final.train_loss")
    return FileContent(FORMAT, facts=facts)


def _read_arguments(file: RunFile) -> FileContent:
    arguments = read_arguments(file.read_bytes(MAX_RESULTS + 1), MAX_RESULTS)
    settings = []
    for key, value in flatten(arguments):
        usable, plain = setting_value(key, value)
        unset = key == "max_steps" and isinstance(plain, int) and plain <= 0
        if usable and not unset and not key.startswith("__"):
            settings.append(Setting(key.replace("/", "."), plain, file.path, None, TRUST))
    if not settings:
        raise ValueError("no arguments in it")
    return FileContent(FORMAT, settings=tuple(settings), facts={"framework": "pytorch"})


class _State:
    """Reads one trainer_state.json."""

    def __init__(self, file: RunFile, text: str) -> None:
        self.file = file
        self.text = text
        self.facts: dict[str, Scalar] = {"framework": "pytorch", "trainer": "transformers"}
        self.notes: list[str] = []

    def content(self) -> FileContent:
        top, rows = self._parse()
        train, other = Rows(self.file.path), Rows(self.file.path)
        step = 0.0
        for row, line in rows:
            counted = number(row.get("step"))
            step = counted if counted is not None and math.isfinite(counted) else step
            axis = Axis(step, "step", number(row.get("epoch")), None, line)
            self._sort(row, axis, train, other)
        curves = train.series("mean-since-last", _POINTS) + other.series("point")
        series, event = self._unmask(curves)
        self._describe(top)
        return FileContent(
            FORMAT,
            series,
            tuple(self._settings(top)),
            (event,) if event else (),
            self.facts,
            tuple(self.notes),
        )

    def _parse(self) -> tuple[dict[str, Any], list[tuple[dict[str, Any], int]]]:
        """Return the top-level values without the history, and the history's rows with their lines."""
        at = self.text.find('"log_history"')
        rows, end, complete = _history(self.text, self.text.find("[", at))
        rest = self.text[end:].lstrip().removeprefix("]") if complete else "}"
        top = _object(self.text[:at].rstrip().rstrip(",") + rest) or _object(
            self.text[:at].rstrip().rstrip(",") + "}"
        )
        if not complete or top is None:
            self.notes.append(f"the file is cut off or damaged; {len(rows)} rows of its history were read")
        return top or {}, rows

    def _sort(self, row: dict[str, Any], axis: Axis, train: Rows, other: Rows) -> None:
        """Put a row's numbers where they belong: training, evaluation, or facts of the whole run."""
        values = {k: n for k, v in row.items() if k not in ("step", "epoch") and (n := number(v)) is not None}
        if "train_runtime" in values or ("train_loss" in values and "total_flos" in values):
            for key in _LAST_ROW:
                if key in values:
                    self.facts["train_loss_mean" if key == "train_loss" else key] = values.pop(key)
        values = {k: v for k, v in values.items() if not is_clock(k)}
        evaluated = {k: v for k, v in values.items() if k.startswith(("eval_", "test_"))}
        trained = {k: v for k, v in values.items() if k not in evaluated}
        if evaluated:
            other.add(axis, evaluated)
        if trained:
            (train if "loss" in trained or "learning_rate" in trained else other).add(axis, trained)

    def _unmask(self, curves: tuple[Series, ...]) -> tuple[tuple[Series, ...], Event | None]:
        loss = next((s for s in curves if s.raw == "loss"), None)
        if loss is None or not len(loss):
            return curves, None
        norm = next((s for s in curves if s.raw == "grad_norm"), None)
        hidden = masked(loss.values, None if norm is None else _beside(loss, norm))
        if not hidden.any():
            return curves, None
        shown = replace(loss, values=np.where(hidden, np.nan, loss.values), masked=hidden)
        because = "with grad_norm not finite" if norm is not None else "again and again after a positive loss"
        event = masked_event(self.file.path, shown, because)
        return tuple(shown if s is loss else s for s in curves), event

    def _describe(self, top: Mapping[str, Any]) -> None:
        for key in _FACTS:
            value = number(top.get(key))
            if value is not None:
                self.facts.setdefault(key, value)

    def _settings(self, top: Mapping[str, Any]) -> list[Setting]:
        return [
            Setting(key, value, self.file.path, None, TRUST)
            for raw, key in _SETTINGS.items()
            if isinstance(value := top.get(raw), (int, float)) and not isinstance(value, bool) and value > 0
        ]


def _beside(loss: Series, norm: Series) -> Any:
    """The gradient norm of each loss row, by line and step; 0 where it was not logged."""
    found = dict(zip(_places(norm), norm.values.tolist(), strict=True))
    return np.array([found.get(key, 0.0) for key in _places(loss)])


def _places(series: Series) -> list[tuple[int, float]]:
    lines = series.lines.tolist() if series.lines is not None else [0] * len(series)
    return list(zip(lines, series.steps.tolist(), strict=True))


def _history(text: str, start: int) -> tuple[list[tuple[dict[str, Any], int]], int, bool]:
    """Read the objects of the array that begins at `start` one by one.

    Returns them with the line on which each begins, the position after them, and whether the array was whole.
    """
    rows: list[tuple[dict[str, Any], int]] = []
    if start < 0:
        return rows, len(text), False
    decoder = json.JSONDecoder()
    line = text.count("\n", 0, start) + 1
    at, seen = start + 1, start
    while True:
        match = _GAP.match(text, at)
        at = match.end() if match else at
        if at >= len(text) or text[at] == "]":
            return rows, at, at < len(text)
        line += text.count("\n", seen, at)
        seen = at
        try:
            row, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return rows, at, False
        if isinstance(row, dict):
            rows.append((row, line))


_GAP = re.compile(r"[\s,]*")


def _object(text: str) -> dict[str, Any] | None:
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return loaded if isinstance(loaded, dict) else None

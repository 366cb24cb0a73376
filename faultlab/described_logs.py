"""Readers of logs that a project of `code/` describes in its project.yaml in place of code.

    train:
      log:
        table: logs/history.csv           # or json: log.jsonl, lines: train.log, scalars: "runs/*"
        names: {step: epoch, loss: train_loss, val_loss: valid_loss, val_acc: acc}   # the lab's name: theirs
        scale: {val_acc: 0.01}            # what a value is multiplied by
        stdout: train.log                 # the file that the printed output goes to, where it is kept

For `lines`, `names` are regular expressions with one group each; a line in which only `step` and `epoch` are
found is no row. A path may hold `*`. The lab's names are those of NAMES; of val_acc a higher value is better.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

Row = dict[str, float]
Reader = Callable[[Path], list[Row]]
NAMES = frozenset(
    {"step", "epoch", "loss", "val_loss", "val_acc", "val_mae", "grad_norm", "lr", "loss_scale"}
)
PLACES = frozenset({"step", "epoch"})


def _texts(folder: Path, pattern: str) -> Iterator[str]:
    for path in sorted(folder.glob(pattern)):
        yield path.read_text(encoding="utf-8")


def _table(folder: Path, pattern: str, names: Mapping[str, str]) -> Iterator[Row]:
    for text in _texts(folder, pattern):
        rows = text.splitlines()
        marks = "\t" if rows and "\t" in rows[0] else ";" if rows and ";" in rows[0] else ","
        for cells in csv.DictReader(rows, delimiter=marks, skipinitialspace=True):
            found = {(k or "").strip(): v for k, v in cells.items()}
            yield _numbers({key: found.get(name) for key, name in names.items()})


def _json(folder: Path, pattern: str, names: Mapping[str, str]) -> Iterator[Row]:
    for text in _texts(folder, pattern):
        for row in _records(text):
            yield _numbers({key: row.get(name) for key, name in names.items()})


def _records(text: str) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines, of one list, or of the list in one object (`log_history`)."""
    try:
        whole = json.loads(text)
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    if isinstance(whole, dict):
        return next((v for v in whole.values() if isinstance(v, list) and v), [whole])
    return list(whole)


def _lines(folder: Path, pattern: str, names: Mapping[str, str]) -> Iterator[Row]:
    searches = {key: re.compile(expression) for key, expression in names.items()}
    for text in _texts(folder, pattern):
        for line in re.split(r"[\r\n]+", text):
            matches = {key: search.search(line) for key, search in searches.items()}
            yield _numbers({key: m[1] if m else None for key, m in matches.items()})


def _scalars(folder: Path, pattern: str, names: Mapping[str, str]) -> Iterator[Row]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for path in sorted(folder.glob(pattern)):
        events = EventAccumulator(str(path), size_guidance={"scalars": 0})
        events.Reload()
        known = events.Tags()["scalars"]
        shown = [
            (e.step, key, e.value) for key, tag in names.items() if tag in known for e in events.Scalars(tag)
        ]
        for step, key, value in sorted(shown):
            yield {"step": float(step), key: value}


def _numbers(cells: Mapping[str, Any]) -> Row:
    """The cells that hold a number."""
    found: Row = {}
    for key, cell in cells.items():
        try:
            found[key] = float(cell.replace(",", "") if isinstance(cell, str) else cell)
        except (TypeError, ValueError):
            continue
    return found


KINDS: dict[str, Callable[[Path, str, Mapping[str, str]], Iterator[Row]]] = {
    "table": _table,
    "json": _json,
    "lines": _lines,
    "scalars": _scalars,
}


def described(spec: Mapping[str, Any]) -> tuple[Reader, str | None]:
    """The reader that a description asks for, and the file that the output goes to. Raises ValueError."""
    kinds = KINDS.keys() & spec.keys()
    if len(kinds) != 1:
        raise ValueError(f"a log is described by one of {', '.join(KINDS)}")
    if unknown := spec.keys() - KINDS.keys() - {"names", "scale", "stdout"}:
        raise ValueError(f"unknown in the description of a log: {', '.join(sorted(unknown))}")
    if unknown := spec["names"].keys() - NAMES:
        raise ValueError(f"not a name of the lab: {', '.join(sorted(unknown))}")
    kind = kinds.pop()
    scale: Mapping[str, float] = spec.get("scale", {})

    def read(folder: Path) -> list[Row]:
        rows = KINDS[kind](folder, spec[kind], spec["names"])
        return [{k: v * scale.get(k, 1.0) for k, v in row.items()} for row in rows if row.keys() - PLACES]

    return read, spec.get("stdout")

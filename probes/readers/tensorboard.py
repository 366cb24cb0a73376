"""TensorBoard event files: every scalar point, the arguments in text and hparams records, nothing else.

Scalars come as simple values (PyTorch, TF1) or as tensors of one element (TF2, Keras, JAX). What a step
counts is up to the program that wrote the file; it is said only where a tag tells.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...engine.model import Scalar
from ..assembly import names
from ..files import RunFile
from ..run import FileContent, Series, Setting, StepUnit, Window
from . import Gives
from ._events import TENSORBOARD, Scalars, Text, fields, notes_of, read_scalars
from ._values import Split, as_split, flatten, number, setting_value, split_of, split_word

FORMAT = "tensorboard"
GIVES = Gives(
    title="TensorBoard event files",
    files="`events.out.tfevents.*`: PyTorch, TensorFlow, Keras, JAX, Trainer, Lightning",
    lacks=(
        "Whether a step counts steps or epochs, unless a tag tells; histograms, images and graphs "
        "are passed over."
    ),
    scalars="yes",
    steps="some",
    epochs="some",
    walls="yes",
    settings="some",
)
TRUST = 90
MAX_CONTENT = 256 * 1024
MAX_SETTINGS = 2000
_MARK = b"brain.Event:"
_STEPPED = frozenset({"train/epoch", "epoch", "trainer/epoch", "train/global_step", "trainer/global_step"})
_MANY = 2000  # nobody trains for more epochs than this


def sniff(file: RunFile) -> bool:
    """Say whether the file begins with a record of TensorBoard's (a damaged first one needs the name)."""
    head = file.head
    if len(head) < 16:
        return False
    (length,) = struct.unpack_from("<Q", head)
    if length < 200 and _MARK in head[12 : 12 + length]:
        return True
    if ".tfevents." in file.name and _MARK in head[:200]:
        return True
    # CatBoost begins with its first scalar: a time (field 1, a double), without a word of the format
    return (
        "tfevents" in file.name and 9 < length < 4096 and head[12:13] == b"\x09" and file.size >= length + 16
    )


def read(file: RunFile) -> FileContent:
    """Read all scalars. Raises ValueError when the file holds not one whole record."""
    data = file.read_bytes()
    found = read_scalars(data, TENSORBOARD)
    notes = notes_of(found)
    if file.size > len(data):
        notes.append(f"only its first {len(data)} bytes were read")
    settings = tuple(_settings(file, found))
    if _is_summary(found):
        return FileContent(
            FORMAT, (), settings, facts=_final(found), notes=tuple(notes), histograms=found.histograms
        )
    split = _split_of_folder(file.path, found)
    curves = found.curves.items()
    series = tuple(_series(file, tag, curve, split, _unit(tag, found)) for tag, curve in curves)
    return FileContent(FORMAT, series, settings, notes=tuple(notes), histograms=found.histograms)


def _is_summary(found: Scalars) -> bool:
    """`add_hparams` writes the settings and one final value of each metric: results, no curves."""
    session = any(text.plugin == "hparams" for text in found.texts)
    return session and all(len(curve.values) == 1 for curve in found.curves.values())


def _final(found: Scalars) -> dict[str, Scalar]:
    return {
        f"final.{tag.removeprefix('hparam/')}": float(curve.values[0]) for tag, curve in found.curves.items()
    }


def _series(file: RunFile, tag: str, curve: Any, split: str, unit: StepUnit) -> Series:
    which: Split = as_split(split)
    raw = f"test/{tag}" if split == "test" else tag
    return Series(
        name=raw,
        raw=raw,
        file=file.path,
        steps=curve.steps.astype(np.float64),
        values=curve.values,
        unit=unit,
        window=_window(names.canonical(raw, which) or "", unit),
        walls=None if np.isnan(curve.walls).any() else curve.walls,
        split=which if (names.canonical(tag, which) or "").startswith(("train/", "eval/")) else "",
    )


def _window(canonical: str, unit: StepUnit) -> Window:
    """What one value stands for: known of evaluations, of rates and of what is written once per epoch."""
    if canonical.startswith(("eval/", "test/", "learning_rate")):
        return "point"
    return "epoch-mean" if unit == "epoch" and canonical.startswith("train/") else "unknown"


def _split_of_folder(path: str, found: Scalars) -> str:
    """The data that a folder is about (`logs/validation/`), unless a tag in the file itself says otherwise.

    Ultralytics trains into `runs/detect/train`, with train and val tags in one file.
    """
    parts = path.split("/")
    folder = parts[-2] if len(parts) > 1 else ""
    words = re.split(r"[^a-z]+", folder.lower())
    split = split_of(folder) or (split_of(words[-1]) if words and _is_tag_folder(folder, found) else None)
    said = {split_word(tag) for tag in found.curves} - {""}
    return split if split and said <= {split} and not _mentions_metrics(found) else ""


def _is_tag_folder(folder: str, found: Scalars) -> bool:
    """`add_scalars("Loss", {"train": ...})` writes the tag Loss into the folder Loss_train."""
    return any(folder.startswith(re.sub(r"[^\w.-]", "_", tag) + "_") for tag in list(found.curves)[:5])


def _mentions_metrics(found: Scalars) -> bool:
    return any(tag.startswith("metrics/") for tag in found.curves)


def _unit(tag: str, found: Scalars) -> StepUnit:
    """What the steps of a tag count, where that can be told."""
    low = tag.lower()
    if low.startswith("epoch_") or low.endswith("_vs_epoch"):
        return "epoch"
    if "vs samples" in low or "vs_samples" in low:
        return "sample"
    if low.endswith("vs_iterations"):
        return "iteration"
    if _STEPPED & found.curves.keys():
        return "step"
    steps = found.curves[tag].steps
    return "step" if len(steps) and int(steps.max()) > _MANY else "unknown"


# ----------------------------------------------------------------------------------------------- settings


def _settings(file: RunFile, found: Scalars) -> Iterator[Setting]:
    count = 0
    for text in found.texts:
        if len(text.content) > MAX_CONTENT:
            continue
        for key, value in _configured(text):
            usable, plain = setting_value(key, value)
            if usable and count < MAX_SETTINGS:
                count += 1
                yield Setting(key, plain, file.path, None, TRUST)


def _configured(text: Text) -> Iterator[tuple[str, Any]]:
    """The settings in one record: an hparams session, a JSON object, a table, or one value per tag."""
    if text.plugin == "hparams":
        try:
            yield from _session(text.content)
        except ValueError:
            return
        return
    if text.plugin != "text":
        return
    name = text.tag.removesuffix("/text_summary").removesuffix("/text")
    content = text.content.decode("utf-8", errors="replace").strip()
    body = re.sub(r"^```\w*\s*|\s*```$|^<pre>|</pre>$", "", content).strip()
    if body.startswith("{"):
        yield from _from_json(name, body)
    elif body.startswith("|"):
        yield from _from_table(body)
    elif len(body) <= 100 and "\n" not in body and re.fullmatch(r"[\w.\-/ ]{1,80}", name):
        yield name, _literal(body)


def _from_json(name: str, body: str) -> Iterator[tuple[str, Any]]:
    try:
        loaded = json.loads(body)
    except (ValueError, RecursionError):
        return
    prefix = "" if name.rsplit("/", 1)[-1] in ("args", "hparams", "hyperparameters", "config") else f"{name}."
    if isinstance(loaded, Mapping):
        for key, value in flatten(loaded):
            yield prefix + key.replace("/", "."), value


def _from_table(body: str) -> Iterator[tuple[str, Any]]:
    """A markdown table |name|value|."""
    for line in body.splitlines()[1:]:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 2 and cells[0] and not set(cells[0]) <= set(":-"):
            yield cells[0], _literal(cells[1])


def _literal(text: str) -> Any:
    """A value as text: number, truth value, None, or the text itself."""
    word = text.strip().strip("\"'")
    if word in ("True", "False", "true", "false"):
        return word in ("True", "true")
    if word in ("None", "null", ""):
        return None
    if re.fullmatch(r"[-+]?\d{1,18}", word):
        return int(word)
    value = number(word)
    return word if value is None or "%" in word else value


def _session(content: bytes) -> Iterator[tuple[str, Any]]:
    """The map `hparams` of a session start."""
    for number_, wire, start, end in fields(content, 0, len(content)):
        if number_ != 3 or wire != 2:
            continue
        for inner, kind, a, b in fields(content, start, end):
            if inner == 1 and kind == 2:
                yield from _entry(content, a, b)


def _entry(content: bytes, at: int, end: int) -> Iterator[tuple[str, Any]]:
    key, value, known = "", None, False
    for number_, wire, start, stop in fields(content, at, end):
        if number_ == 1 and wire == 2:
            key = content[start:stop].decode("utf-8", errors="replace")
        elif number_ == 2 and wire == 2:
            known, value = True, _struct_value(content, start, stop)
    if key and known:
        yield key[:200], value


def _struct_value(content: bytes, at: int, end: int) -> Any:
    for number_, wire, start, stop in fields(content, at, end):
        if number_ == 2 and wire == 1:
            value = struct.unpack_from("<d", content, start)[0]
            return int(value) if value == int(value) and abs(value) < 2**53 else value
        if number_ == 3 and wire == 2:
            return _literal(content[start:stop].decode("utf-8", errors="replace"))
        if number_ == 4 and wire == 0:
            return content[start] != 0
    return None

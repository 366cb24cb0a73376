"""Model cards that the Trainer of transformers writes: hyperparameters, the table of results, versions.

A repository of weights often holds nothing else of its training. Axolotl writes its whole configuration into
the card. What the state of the trainer tells as well is taken from there: this table is rounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ...engine.model import Scalar
from ..files import RunFile
from ..run import FileContent, Series, Setting
from . import Gives, csv_log
from ._config_tree import leaves, parse_yaml
from ._values import BESIDE_CURVES
from .text import environment
from .text.arguments import scalar, setting

FORMAT = "model-card"
GIVES = Gives(
    title="Model cards of transformers, TRL and Axolotl",
    files="`README.md` beside weights",
    lacks="The gradient norm and the learning rate over time; points are those of the evaluations.",
    scalars="yes",
    steps="yes",
    epochs="yes",
    lines="some",
    settings="yes",
    environment="yes",
)
MAX_SIZE = 2 * 1024**2
_TOLD = re.compile(r"^The following hyperparameters were used during training:", re.MULTILINE)
_OF_EMBEDDINGS = re.compile(r"^### Training Hyperparameters\n", re.MULTILINE)  # Sentence Transformers
_QUOTED = re.compile(r"^- `([A-Za-z_]\w*)`: (.+?)\s*$")
_LOSS = re.compile(r"^\* Loss: \[?<?`?(?:code>)?(\w+)")
_BOUNDS = re.compile(r"<ul><li>min: ([-\d.]+)</li><li>mean: [-\d.]+</li><li>max: ([-\d.]+)</li></ul>")
_ITEM = re.compile(r"^- ([A-Za-z_]\w*): (.+?)\s*$")
_OPTIMIZER = re.compile(r"^(?:Use )?(?:OptimizerNames\.)?(\w+) with (.*)$")
_BETAS = re.compile(r"betas=\(([\d.e-]+), ?([\d.e-]+)\)")
_EPSILON = re.compile(r"epsilon=([\d.e-]+)")
_CELLS = re.compile(r"^\s*\|(.+)\|\s*$")
_CONFIG = re.compile(r"^```ya?ml\n(.*?)^```", re.MULTILINE | re.DOTALL)
_CALLED = {"lr_scheduler_warmup_ratio": "warmup_ratio", "lr_scheduler_warmup_steps": "warmup_steps"}
_COLUMNS = {"training loss": "train_loss", "validation loss": "eval_loss", "train loss": "train_loss"}
_WITHOUT = ("no log", "")
_STEPS = ("step", "epoch")


def sniff(file: RunFile) -> bool:
    """Say whether this is a card with the hyperparameters of a training."""
    if file.suffix != ".md" or file.size > MAX_SIZE:
        return False
    text = file.read_text(MAX_SIZE)
    return bool(_TOLD.search(text)) or ("sentence-transformers" in text and bool(_OF_EMBEDDINGS.search(text)))


def read(file: RunFile) -> FileContent:
    """Read settings, results and versions."""
    text = re.sub(r"\r+\n?", "\n", file.read_text(MAX_SIZE)).lstrip("\ufeff")
    lines = text.split("\n")
    facts: dict[str, Scalar] = {}
    at = next((n for n, line in enumerate(lines) if line.startswith("### Framework versions")), len(lines))
    for line in lines[at + 1 :]:
        environment.look(line, facts)
    if "version:transformers" in facts and "version:tensorflow" not in facts:
        facts["trainer"] = "transformers"
    return FileContent(FORMAT, tuple(_curves(file, lines)), tuple(_settings(file, text, lines)), facts=facts)


def _settings(file: RunFile, text: str, lines: list[str]) -> Iterator[Setting]:
    told = _TOLD.search(text)
    if told is None:
        yield from _of_embeddings(file, lines)
        return
    head = text.split("\n---", 1)[0] if text.startswith("---\n") else ""
    named = re.search(r"^base_model: *(?:\n- *)?([\w./-]+)\s*$", head, re.MULTILINE)
    if named is not None:
        at = text.count("\n", 0, named.start()) + 1
        yield setting("base_model", named.group(1), file.path, at, BESIDE_CURVES)
    config = _CONFIG.search(text)
    if config is not None and "base_model:" in config.group(1):
        first = text.count("\n", 0, config.start(1))
        for key, value, line in leaves(parse_yaml(config.group(1))):
            yield setting(key, value, file.path, first + line, BESIDE_CURVES)
    for number in range(text.count("\n", 0, told.start()) + 1, len(lines)):
        item = _ITEM.match(lines[number])
        if item is None and lines[number].strip():
            return
        if item is not None:
            for key, value in _said(*item.groups()):
                yield setting(key, scalar(value), file.path, number + 1, BESIDE_CURVES)


def _of_embeddings(file: RunFile, lines: list[str]) -> Iterator[Setting]:
    """The loss, what its training labels lie between, and the hyperparameters of Sentence Transformers."""
    side, seen = "", set()
    for number, line in enumerate(lines, 1):
        if line.startswith("### "):
            side = "train" if line.startswith("### Training Dataset") else line[4:].lower()
        found = [*_of_embeddings_line(line)] if side in ("train", "training hyperparameters") else []
        for key, value in found:
            if key not in seen:
                seen.add(key)
                yield setting(key, scalar(value), file.path, number, BESIDE_CURVES)


def _of_embeddings_line(line: str) -> Iterator[tuple[str, str]]:
    if (loss := _LOSS.match(line)) is not None:
        yield "loss", loss.group(1)
    elif (bounds := _BOUNDS.findall(line)) and "details" in line[:20]:
        yield "train_labels.min", bounds[-1][0]
        yield "train_labels.max", bounds[-1][1]
    elif (item := _QUOTED.match(line)) is not None:
        yield item.group(1), item.group(2)


def _said(key: str, value: str) -> Iterator[tuple[str, str]]:
    """The settings of one line; that of the optimizer holds several."""
    found = _OPTIMIZER.match(value) if key == "optimizer" else None
    if found is None:
        yield _CALLED.get(key, key), value
        return
    yield key, found.group(1)
    if betas := _BETAS.search(found.group(2)):
        yield "adam_beta1", betas.group(1)
        yield "adam_beta2", betas.group(2)
    if epsilon := _EPSILON.search(found.group(2)):
        yield "adam_epsilon", epsilon.group(1)


def _curves(file: RunFile, lines: list[str]) -> list[Series]:
    """The curves in the table of results; a loss of the training stands there once it was logged."""
    rows = [[c.strip() for c in found.group(1).split("|")] for line in lines if (found := _CELLS.match(line))]
    at = next((n for n, row in enumerate(rows) if {"step", "epoch"} & {c.lower() for c in row}), None)
    if at is None:
        return []
    header = [_COLUMNS.get(c.lower(), c.lower().replace(" ", "_")) for c in rows[at]]
    header = [
        c if c in (*_STEPS, *_COLUMNS.values()) or c.startswith("train") else f"eval_{c}" for c in header
    ]
    body = [
        ["" if c.lower() in _WITHOUT else c for c in row]
        for row in rows[at + 1 :]
        if len(row) == len(header) and not set("".join(row)) <= set(":- ")
    ]
    return [replace(one, lines=None) for one in csv_log.of_rows(file, header, body)]

"""JSON and YAML documents that hold curves or final results: dumped histories, Sacred, DVCLive, W&B.

A document is taken when it holds named lists of numbers (one list per quantity), a list of rows, or nothing
but final metrics. Configuration files are left to the configuration reader.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from itertools import pairwise
from typing import Any

import numpy as np

from ...engine.model import Scalar
from ..assembly import names
from ..files import RunFile
from ..run import FileContent, Series, Setting, StepUnit
from . import Gives
from ._config_tree import brackets_are_shallow
from ._cut_json import load_cut
from ._values import (
    BESIDE_CURVES,
    CONFIG_PARTS,
    flatten,
    is_clock,
    is_loss,
    is_metric,
    is_wall,
    number,
    plain,
    setting_value,
    settings_kept,
    split_word,
    step_kind,
)
from .jsonl import LineReader

FORMAT = "json-log"
GIVES = Gives(
    title="JSON and YAML documents with curves",
    files=(
        "dumped histories (also `results.yaml`), Sacred `metrics.json` and "
        "`info.json`, DVCLive and W&B summaries, "
        "TensorBoard downloads"
    ),
    lacks="Lines; a list without an axis is counted by its rows.",
    scalars="some",
    steps="some",
    epochs="some",
    walls="some",
    settings="some",
)
MAX_SIZE = 128 * 1024**2
MAX_DEPTH = 5
MAX_YAML = 4 * 1024**2
MANY_EPOCHS = 1000
MANY_POINTS = 8  # pairs of a schedule in a configuration are fewer
_CONFIG_WORDS = frozenset(
    [
        *(
            "learning_rate",
            "lr",
            "batch_size",
            "optimizer",
            "epochs",
            "num_epochs",
            "model_type",
            "hidden_size",
        ),
        *("num_layers", "vocab_size", "seed", "dropout", "weight_decay", "architectures", "max_steps"),
        *("train_batch_size", "model_name", "fp16", "bf16", "scheduler", "zero_optimization"),
    ]
)
_KINDS_CUT = frozenset({"curves", "rows", "triples"})
_KINDS = _KINDS_CUT | {"results"}
_YAML = frozenset({".yaml", ".yml"})
_ANCHOR = re.compile(r"(?:^|[\s\[{,])[&*]\w+", re.MULTILINE)
_SUMMARY_MARKS = frozenset({"_runtime", "_timestamp", "_step", "_wandb"})
_WORDS = re.compile(
    r"loss|acc|metric|f1|auc|mae|mse|epoch|step|iter|history|reward|return|ppl|precision", re.I
)


def sniff(file: RunFile) -> bool:
    """Say whether this is a JSON document with curves, rows of metrics or final metrics."""
    if file.suffix in _YAML:
        return _WORDS.search(file.name + file.head_text) is not None and _is_yaml_log(_load_yaml(file))
    head = file.head_text.lstrip("\ufeff \t\r\n")
    if file.size > MAX_SIZE or not head.startswith(("{", "[")) or not _WORDS.search(file.name + head):
        return False
    loaded, cut = _load(file)
    return _kind(loaded) in (_KINDS_CUT if cut else _KINDS)


def read(file: RunFile) -> FileContent:
    """Read the document. Raises ValueError when it holds none of these."""
    if file.suffix in _YAML:
        loaded = _load_yaml(file)
        return _content(file, loaded, _kind(loaded))
    loaded, cut = _load(file)
    content = _content(file, loaded, _kind(loaded))
    if cut is None:
        return content
    return replace(content, notes=(*content.notes, f"the document breaks off in line {cut}"))


def _content(file: RunFile, loaded: Any, kind: str | None) -> FileContent:
    if kind == "curves":
        return _Curves(file, loaded).content()
    if kind == "rows":
        return _read_rows(file, loaded)
    if kind == "triples":
        return _read_triples(file, loaded)
    if kind == "results":
        return FileContent(FORMAT, settings=tuple(_settings(file, loaded)), facts=_final(loaded))
    raise ValueError("holds no metrics")


def _load(file: RunFile) -> tuple[Any, int | None]:
    """The document, and the line in which it breaks off if it is not whole."""
    text = file.read_text(MAX_SIZE).lstrip("\ufeff").rstrip("\x00 \t\r\n")
    try:
        return json.loads(text), None
    except RecursionError:
        return None, None
    except json.JSONDecodeError as error:
        whole = text[: error.pos]  # a text log that begins with a bracket ends here at once
    except ValueError:
        return None, None
    try:
        return load_cut(whole)
    except (ValueError, RecursionError):
        return None, None


def _load_yaml(file: RunFile) -> Any:
    """The document, keys as texts; a list where the file holds several, as logs by `yaml.dump_all` do.

    None where it is large, broken, holds objects of Python, or names parts of itself: those can be written
    so that few bytes mean many values.
    """
    import yaml

    if file.size > MAX_YAML or file.binary:
        return None
    text = file.read_text(MAX_YAML)
    if _ANCHOR.search(text) or not brackets_are_shallow(text):
        return None
    try:
        if not _is_shallow(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))):
            return None
        documents = list(yaml.load_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError):
        return None
    documents = [_with_text_keys(d) for d in documents if d is not None]
    return documents[0] if len(documents) == 1 else documents


def _is_shallow(events: Iterable[Any]) -> bool:
    """Whether YAML nests no deeper than logs do: its loader calls itself, and would end the process."""
    depth = 0
    for event in events:
        kind = type(event).__name__
        depth += kind in ("MappingStartEvent", "SequenceStartEvent")
        depth -= kind in ("MappingEndEvent", "SequenceEndEvent")
        if depth > MAX_DEPTH + 3 or kind == "AliasEvent":
            return False
    return True


def _with_text_keys(value: Any, depth: int = 0) -> Any:
    if depth > MAX_DEPTH + 3:
        return None
    if isinstance(value, dict):
        return {str(k)[:200]: _with_text_keys(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list):
        return [_with_text_keys(v, depth + 1) for v in value]
    return value


def _is_yaml_log(loaded: Any) -> bool:
    """Rows or lists of a loss or a metric. A configuration holds lists, too: of rates, sizes and weights."""
    for rows in _rows_of(loaded):
        measured = [any(_measured(k) for k, v in flatten(row) if number(v) is not None) for row in rows[:50]]
        if len(rows) >= 3 and all(measured):
            return True
    if not isinstance(loaded, dict):
        return False
    lists = [one for one in _lists(loaded) if _measured(one.name) and len(one.values) >= 3]
    lengths = [len(one.values) for one in lists]
    return any(lengths.count(n) >= 2 for n in lengths) or max(lengths, default=0) >= 8


def _measured(name: str) -> bool:
    """Whether a name is that of something measured on data: no rate, no scale, no norm."""
    canonical = names.canonical(name) or names.canonical(name.rsplit("/", 1)[-1])
    return canonical is not None and canonical.startswith(("train/", "eval/", "test/"))


def _kind(loaded: Any) -> str | None:
    """Tell "curves", "rows", "triples" and "results" apart; None: not ours."""
    if next(_rows_of(loaded), None) is not None:
        return "rows"
    if isinstance(loaded, dict):
        if sum(k in loaded for k in _SUMMARY_MARKS) >= 2:
            return "results"
        if next(_lists(loaded), None) is not None:
            return "curves"
        return "results" if _is_results(loaded) else None
    return "triples" if _is_triples(loaded) else None


# ------------------------------------------------------------------------------------------- lists of rows


def _rows_of(loaded: Any, depth: int = 0) -> Iterator[list[dict[str, Any]]]:
    """Yield the lists of rows in a document: a list, a list under some key, or a dict of rows by epoch."""
    if isinstance(loaded, list) and loaded and all(isinstance(r, dict) for r in loaded[:50]):
        rows = [r for r in loaded if isinstance(r, dict)]
        if _are_rows(rows):
            yield rows
    elif isinstance(loaded, dict) and depth < 3:
        numbered = _by_number(loaded)
        if numbered is not None and _are_rows(numbered):
            yield numbered
            return
        for value in list(loaded.values())[:200]:
            if isinstance(value, (list, dict)):
                yield from _rows_of(value, depth + 1)


def _are_rows(rows: list[dict[str, Any]]) -> bool:
    """Rows of a log count something and hold a metric; a loss or two metrics do without a counter."""
    good = 0
    look = rows[:50]
    for row in look:
        leaves = [(k, number(v)) for k, v in list(flatten(row))[:200] if not isinstance(v, list)]
        known = [k for k, n in leaves if n is not None]
        metrics = sum(map(is_metric, known))
        stepped = any(map(step_kind, known))
        if any(isinstance(v, str) and len(v) > 500 for v in row.values()):
            continue
        good += (stepped and metrics > 0) or (
            metrics >= 2 and any(map(is_loss, known)) and not _is_config(row)
        )
    return good >= max(1, 0.6 * len(look))


def _by_number(loaded: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """{"1": {...}, "2": {...}} or {"epoch_1": {...}}: rows under the number of their epoch."""
    rows = []
    for key, value in loaded.items():
        match = re.fullmatch(r"(?:(epoch|step|iter(?:ation)?)[ _\-]?)?(\d{1,9})", key.strip().lower())
        if not match or not isinstance(value, dict):
            return None
        rows.append({(match.group(1) or "epoch"): int(match.group(2)), **value})
    return rows or None


def _read_rows(file: RunFile, loaded: Any) -> FileContent:
    reader = LineReader(file)
    for rows in _rows_of(loaded):
        for row in rows:
            reader.take(row, 1)
    content = reader.content(FORMAT)
    series = tuple(_without_lines(s) for s in content.series)
    settings = content.settings + tuple(_settings(file, loaded))
    return FileContent(FORMAT, series, settings, content.events, content.facts, content.notes)


def _without_lines(series: Series) -> Series:
    return replace(series, lines=None)


# ------------------------------------------------------------------------------------------ named lists


def _numbers(value: Any) -> list[float | None] | None:
    """A list of numbers (None where nothing was written), or None when it is something else."""
    if not isinstance(value, list) or not value:
        return None
    found: list[float | None] = []
    for item in value:
        parsed = _item(item)
        if parsed is None and item is not None:
            return None
        found.append(parsed)
    return found if any(v is not None for v in found) else None


def _item(item: Any) -> float | None:
    if isinstance(item, dict):  # jsonpickle: {"dtype": "float64", "py/object": ..., "value": 0.5}
        item = item.get("value")
    if isinstance(item, list) and len(item) == 1:
        item = item[0]
    return number(item)


@dataclass(frozen=True, slots=True)
class _List:
    """A quantity's values, with their steps and times of day (seconds since the epoch) where known."""

    name: str
    values: list[float | None]
    steps: list[float | None] | None = None
    walls: list[float] | None = None


def _lists(loaded: Mapping[str, Any]) -> Iterator[_List]:
    """Yield every list of a known quantity in the document."""
    stack: list[tuple[str, Mapping[str, Any], int]] = [("", _of_one_output(loaded), 0)]
    while stack:
        prefix, node, depth = stack.pop()
        if "bins" in node or "_type" in node:
            continue
        axis = _axis_of(node)
        for key, value in list(node.items())[:2000]:
            name = f"{prefix}/{key}" if prefix else str(key)
            if isinstance(value, dict) and depth < MAX_DEPTH:
                if (own := _sacred(name, value)) is not None:
                    yield own
                    continue
                neutral = plain(str(key)) in (
                    "history",
                    "metrics",
                    "logs",
                    "log",
                    "results",
                    "curves",
                    "values",
                )
                stack.append((prefix if neutral else name, value, depth + 1))
            elif str(key).endswith("_T") and str(key)[:-2] in node:
                continue
            elif isinstance(value, list) and not step_kind(key) and _is_quantity(name):
                if (points := _points(name, value)) is not None:
                    yield points
                    continue
                values = _numbers(value)
                if values is not None:
                    beside = _numbers(node.get(f"{key}_T"))
                    paired = beside if beside is not None and len(beside) == len(values) else None
                    yield _List(name, values, paired or (axis if axis and len(axis) == len(values) else None))


def _of_one_output(loaded: Mapping[str, Any]) -> Mapping[str, Any]:
    """Ludwig's statistics: by split, in it "combined" beside each output. Of a single output: its figures."""
    sides = {k: v for k, v in loaded.items() if isinstance(v, dict) and isinstance(v.get("combined"), dict)}
    outputs = {name for side in sides.values() for name in side if name != "combined"}
    if (
        not sides
        or len(outputs) != 1
        or not all(isinstance(s.get(next(iter(outputs))), dict) for s in sides.values())
    ):
        return loaded
    only = next(iter(outputs))
    return {k: {**sides[k]["combined"], **sides[k][only]} if k in sides else v for k, v in loaded.items()}


def _is_quantity(name: str) -> bool:
    last = name.rsplit("/", 1)[-1]
    if last.lower() == "losses":
        return True
    return (is_metric(name) or is_metric(last)) and not is_clock(name)


def _sacred(name: str, value: Mapping[str, Any]) -> _List | None:
    """{"values": [...], "steps": [...], "timestamps": [...]}: one quantity in Sacred's own layout (UTC)."""
    values, steps = _numbers(value.get("values")), _numbers(value.get("steps"))
    if values is None or steps is None or len(values) > len(steps):
        return None
    count = len(values)  # fewer than steps where the file was cut off
    times = value.get("timestamps")
    walls = _walls(times[:count]) if isinstance(times, list) and len(times) >= count else None
    return _List(name, values, steps[:count], walls)


def _points(name: str, value: list[Any]) -> _List | None:
    """[[wall time, step, value], ...] as tensorboardX exports it, or [[step, value], ...]."""
    if _is_triples(value):
        rows = [[number(v) for v in row] for row in value if isinstance(row, list) and len(row) == 3]
        walls = [row[0] for row in rows if row[0] is not None]
        return _List(
            name, [r[2] for r in rows], [r[1] for r in rows], walls if len(walls) == len(rows) else None
        )
    if (
        len(value) < MANY_POINTS
        or "class" in name.lower()
        or not all(isinstance(r, list) and len(r) == 2 for r in value)
    ):
        return None
    steps, values = _numbers([row[0] for row in value]), _numbers([row[1] for row in value])
    counted = [s for s in steps or () if s is not None and s.is_integer()]
    if values is None or len(counted) < len(value) or any(b <= a for a, b in pairwise(counted)):
        return None
    return _List(name, values, steps)


def _walls(times: list[Any]) -> list[float] | None:
    """Times of day in ISO form as seconds; None if one of them is none."""
    try:
        return [datetime.fromisoformat(str(time)).replace(tzinfo=timezone.utc).timestamp() for time in times]
    except (ValueError, OverflowError):
        return None


def _axis_of(node: Mapping[str, Any]) -> list[float | None] | None:
    """The list among these that counts steps or epochs."""
    found = sorted(
        (kind[1], key) for key, value in node.items() if isinstance(value, list) and (kind := step_kind(key))
    )
    return _numbers(node[found[0][1]]) if found else None


class _Curves:
    """Reads a document of named lists."""

    def __init__(self, file: RunFile, loaded: dict[str, Any]) -> None:
        self.file = file
        self.loaded = loaded
        self.found = list(_lists(loaded))

    def content(self) -> FileContent:
        series = tuple(map(self._series, self.found))
        settings = tuple(_settings(self.file, self.loaded))
        return FileContent(FORMAT, series, settings)

    def _series(self, one: _List) -> Series:
        unit = self._unit(len(one.values), one.steps is not None)
        first = 0.0 if unit == "row" else 1.0
        places = one.steps or [first + at for at in range(len(one.values))]
        walls = one.walls or [0.0] * len(places)
        kept = [
            (step, value, wall)
            for step, value, wall in zip(places, one.values, walls, strict=True)
            if value is not None and step is not None and math.isfinite(step)
        ]
        table = np.array(kept, dtype=np.float64).reshape(-1, 3)
        return Series(
            name=one.name,
            raw=one.name,
            file=self.file.path,
            steps=table[:, 0],
            values=table[:, 1],
            unit=unit,
            window="epoch-mean" if unit == "epoch" and split_word(one.name) in ("", "train") else "unknown",
            walls=table[:, 2] if one.walls else None,
        )

    def _unit(self, length: int, stepped: bool) -> StepUnit:
        """What the lists count: what their axis is called; without one, beside an evaluation, epochs."""
        if stepped:
            kinds = {k for key in _keys(self.loaded) if (k := step_kind(key))}
            return min(kinds, key=lambda k: k[1])[0] if kinds else "step"
        same = [one.name for one in self.found if len(one.values) == length]
        evaluated = any(split_word(n) in ("eval", "test") for n in same)
        history = "history" in self.file.name.lower() and len(same) >= 2 and length <= MANY_EPOCHS
        return "epoch" if evaluated or history or length == self._planned() else "row"

    def _planned(self) -> float | None:
        for key, value in flatten(self.loaded):
            if plain(key.rsplit("/", 1)[-1]) in ("epochs", "num_epochs", "n_epochs", "max_epochs"):
                return number(value)
        return None


def _keys(loaded: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    for key, value in list(loaded.items())[:2000]:
        if isinstance(value, list):
            yield str(key)
        elif isinstance(value, dict) and depth < MAX_DEPTH:
            yield from _keys(value, depth + 1)


def _settings(file: RunFile, loaded: Any) -> Iterator[Setting]:
    """Configured values that stand beside the curves: a "config" part, and scalars at the top."""
    if not isinstance(loaded, dict):
        return
    for key, value in loaded.items():
        if isinstance(value, dict) and plain(key) in CONFIG_PARTS:
            yield from settings_kept(value, file.path)
        elif not isinstance(value, (dict, list)) and not is_metric(key) and not step_kind(key):
            usable, found = setting_value(key, value)
            if usable and plain(key) in _CONFIG_WORDS | {"epochs"}:
                yield Setting(key, found, file.path, None, BESIDE_CURVES)


# ------------------------------------------------------------------------------- exports and final results


def _is_triples(loaded: Any) -> bool:
    """TensorBoard's JSON download: [[wall time, step, value], ...]."""
    if not isinstance(loaded, list) or not loaded:
        return False
    return all(
        isinstance(r, list)
        and len(r) == 3
        and (wall := number(r[0])) is not None
        and wall > 1e8
        and number(r[1]) is not None
        and (r[2] is None or number(r[2]) is not None)
        for r in loaded[:100]
    )


def _read_triples(file: RunFile, loaded: list[Any]) -> FileContent:
    rows = [[number(v) for v in r] for r in loaded if isinstance(r, list) and len(r) == 3]
    table = np.array([r for r in rows if None not in r], dtype=np.float64)
    name = tag_of(file.name)
    series = Series(name, name, file.path, table[:, 1], table[:, 2], walls=table[:, 0])
    return FileContent(FORMAT, (series,))


def tag_of(file_name: str) -> str:
    """The tag in the name of a downloaded curve: "run-exp1_train-tag-Loss_total.csv" -> "Loss_total"."""
    stem = file_name.rsplit(".", 1)[0]
    return stem.split("-tag-", 1)[1] if "-tag-" in stem else stem


def _is_config(loaded: Mapping[str, Any]) -> bool:
    return sum(plain(k.rsplit("/", 1)[-1]) in _CONFIG_WORDS for k, _ in flatten(loaded)) >= 2


def _is_results(loaded: Mapping[str, Any]) -> bool:
    """Final metrics and little else: numbers under known names, no configuration."""
    leaves = list(flatten(loaded))
    if not leaves or len(leaves) > 2000 or _is_config(loaded):
        return False
    numeric = [k for k, v in leaves if number(v) is not None]
    metrics = [k for k in numeric if _is_quantity(k) and not k.lower().endswith(("lr", "learning_rate"))]
    return bool(metrics) and len(metrics) >= 0.3 * len(leaves) and len(numeric) >= 0.5 * len(leaves)


def _final(loaded: Mapping[str, Any]) -> dict[str, Scalar]:
    return {
        f"final.{key}": value
        for key, leaf in list(flatten(loaded))[:300]
        if (value := number(leaf)) is not None and not is_wall(key) and not is_clock(key)
    }

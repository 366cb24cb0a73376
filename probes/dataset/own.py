"""Data files in a run's own directory, told from its logs by where they stand and what they are called."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from ..files import RunFile, RunUnreadable, walk
from ..readers._values import is_loss
from . import naming
from .model import Bounds, DataSet
from .naming import ARRAYS, LINES, RECORDS, TABLES

FOLDERS = frozenset(
    [
        *(
            "data",
            "dataset",
            "datasets",
            "batches",
            "dumped_batches",
            "input_dump",
            "training_data",
            "train_data",
        ),
        *("annotations", "split", "splits"),
    ]
)
_COUNTS = frozenset({"step", "global_step", "iter", "iteration", "epoch", "batch", "update"})
_NAMES = frozenset({"manifest", "dataset", "data", "batch", "labels", "inputs"})


def of_run(
    root: Path, read: frozenset[str], seconds: float, samples: int, asked: frozenset[str] = frozenset()
) -> DataSet | None:
    """Measure the data files below a run's root that are not in `read`; None where there are none.

    `asked`: the names of files that the training reads (`asked_for`).
    """
    bounds = Bounds(samples=samples, bytes=256 * 1024**2, seconds=seconds)
    try:
        if not any(is_data(file, read, asked) for file in walk(root)[0]):
            return None
        from .measure import measure  # its readers are imported only where there is something to read

        data = measure(root, bounds, only=lambda file: is_data(file, read, asked))
    except (RunUnreadable, OSError):
        return None
    return data if data.parts or data.shards is not None or data.listed else None


_FILE = r"[\w./ -]{0,80}?([\w.-]{1,60}\.(?:csv|tsv|jsonl|npz|npy|parquet))"
_READS = re.compile(
    r"\b(?:read_(?:csv|table|parquet|json)|loadtxt|genfromtxt|scan_csv|np\.load|DictReader|open|from_csv)"
    r"\(\s*[frb]?[\"']" + _FILE + r"[\"'](?!\s*,\s*(?:mode\s*=\s*)?[\"'][wax])"
)
_KEPT = re.compile(
    r"^[ \t]*\w*(?:data|train|csv|input|source|corpus)\w*[ \t]*(?::[ \t]*\w+[ \t]*)?=[ \t]*(?:Path\()?[\"']"
    + _FILE
    + r"[\"']",
    re.IGNORECASE | re.MULTILINE,
)
_SET = re.compile(r"(?i)data|train|val|test|csv|input|source|corpus|rows|table|samples")
_NO_INPUT = re.compile(r"(?i)out|log|result|pred|save|metric|hist|report|submi|dump")


def asked_for(settings: Iterable[tuple[str, object]], programs: Iterable[str]) -> frozenset[str]:
    """The names of files that settings (`data.file: a.csv`) or programs (`read_csv("a.csv")`) read."""
    found: set[str] = set()
    for key, value in settings:
        match = re.fullmatch(_FILE, value) if isinstance(value, str) else None
        if match is not None and _SET.search(key) and not _NO_INPUT.search(key):
            found.add(match.group(1))
    for text in programs:
        found |= {m.group(1) for pattern in (_READS, _KEPT) for m in pattern.finditer(text)}
    return frozenset(name for name in found if not _NO_INPUT.search(name))


def is_data(file: RunFile, read: frozenset[str], asked: frozenset[str] = frozenset()) -> bool:
    """Whether a file is the run's data rather than its output."""
    if file.path in read and not ("manifest" in file.name and file.suffix in LINES):
        return False  # a manifest is a list of files, and of samples as well
    if file.suffix in TABLES | LINES and _speaks_of_training(file):
        return False
    folders = {p.lower() for p in file.path.split("/")[:-1]}
    if folders & FOLDERS:
        return True
    if file.suffix not in TABLES | LINES | RECORDS | ARRAYS | {".parquet", ".arrow"}:
        return False
    stem = file.name.rsplit(".", 1)[0].lower()
    if file.name in asked:
        return True
    if "manifest" in stem:
        return True
    if file.path.count("/") > 0:  # below, only folders of data hold data: results stand everywhere
        return False
    words = set(stem.replace("-", "_").split("_"))
    array = file.suffix in ARRAYS and bool(words & {"x", "y", "images", "labels", "inputs", "batch"})
    return array or (bool(naming.split_of(file.name)) and words <= _NAMES | _SPLITS)


def holds_samples(file: RunFile) -> bool:
    """Whether a table in a folder of data holds samples, whatever else its columns are called.

    It has a column of labels, texts or identifiers, and none called like a loss: `step` and `score` beside a
    prompt are no log.
    """
    if file.suffix not in TABLES | LINES or not {p.lower() for p in file.path.split("/")[:-1]} & FOLDERS:
        return False
    names = _columns(file)
    named = any(naming.is_label(n) or naming.is_text(n) or naming.is_sample_id(n) for n in names)
    return named and not _of_training(names)


def _speaks_of_training(file: RunFile) -> bool:
    """Whether a table has a column called like a loss or a learning rate: a log that no reader could read."""
    return _of_training(_columns(file))


def _of_training(names: list[str]) -> bool:
    return any(is_loss(n) or n.strip().lower() in ("lr", "learning_rate") for n in names)


def logs_training(names: Iterable[str]) -> bool:
    """Whether columns are those of a training log: a loss or a rate, and what counts steps or epochs."""
    known = [n.strip().lower() for n in names]
    return _of_training(known) and not _COUNTS.isdisjoint(known)


def _columns(file: RunFile) -> list[str]:
    from .tables import dialect, json_names

    if file.suffix in LINES:
        return json_names(file) or []
    found = dialect(file)
    return found[1] if found is not None else []


_SPLITS = frozenset(
    {"train", "training", "val", "valid", "validation", "dev", "eval", "test", "x", "y", "set"}
)

"""Files that settings name: the one of training for the held-out data, too."""

from __future__ import annotations

import re

from ....engine.model import Place
from ...registry import NO_SCRIPT, Finding, View, absent, present, unknown
from ..shared.checks import scripts
from ..shared.sides import side, stem

_FILE = re.compile(r"^[\w./\\-]+\.(?:csv|tsv|json|jsonl|txt|parquet|npz?|h5|hdf5|pkl|pt|arrow|lst|list)$")
_PARTS = re.compile(r"(?i)split|fold|ratio|frac|percent|val_size|test_size|hold_?out")


def one_file_in_settings(view: View) -> Finding:
    """`dev_file: data/train.tsv` beside `train_file: data/train.tsv`, and no share to cut out of it."""
    if not scripts(view.run):
        return unknown(NO_SCRIPT)
    told = [
        s
        for s in view.run.raw_settings
        if isinstance(s.value, str) and _FILE.match(s.value) and side(s.key.rpartition(".")[2]) is not None
    ]
    if not told:
        return unknown("no settings name files of both sides")
    if any(_PARTS.search(s.key) for s in view.run.raw_settings):
        return unknown("parts may be cut out of one file")
    mine = {(s.file, stem(s.key.rpartition(".")[2]), s.value): s for s in told if _learns(s.key)}
    held = [s for s in told if not _learns(s.key)]
    for other in held:
        one = mine.get((other.file, stem(other.key.rpartition(".")[2]), other.value))
        name = str(other.value).replace("\\", "/").rpartition("/")[2]
        if one is not None and side(name) is True:
            places = tuple(Place(x.file, x.line) for x in (other, one))
            text = f"`{other.key}` names the file of `{one.key}`: {other.value}"
            return present(text, value=str(other.value), where=places)
    return absent("each side has a file of its own") if mine and held else unknown("one side is named alone")


def _learns(key: str) -> bool:
    return side(key.rpartition(".")[2]) is True

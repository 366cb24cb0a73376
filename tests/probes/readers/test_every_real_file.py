"""Every file that real people left behind gives curves or an honest reason (../shared, when it is there)."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from traindoctor.probes.assembly import names
from traindoctor.probes.files import RunFile, walk
from traindoctor.probes.run import FileContent

from ._golden import tried

SHARED = Path(__file__).resolve().parents[3].parent / "shared"
REAL = SHARED / "real"
HONEST = ("no metrics in it", "empty", "a pointer of Git LFS, the file itself is not here", "checkpoint")
HONEST += ("binary data", "")  # "": a page of text or a picture, not worth a word

pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason="../shared is not here")


@cache
def states() -> dict[str, str]:
    text = (REAL / "INDEX.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return {f["path"]: f.get("state", "") for f in loaded["files"]}


@cache
def outcomes() -> dict[str, tuple[RunFile, FileContent | None, str]]:
    """What is made of every file by its own."""
    return {file.path: (file, *tried(file)) for file in walk(REAL)[0] if file.path != "INDEX.yaml"}


def curves(content: FileContent | None) -> int:
    return sum(bool(names.canonical(s.raw, s.split)) and len(s) > 0 for s in content.series) if content else 0


def test_what_the_index_judges_has_curves() -> None:
    """A file whose values somebody could judge gives curves under known names."""
    judged = [p for p, state in states().items() if state not in ("", "unknown", "multi_run", "other")]
    without = [p for p in judged if p in outcomes() and not curves(outcomes()[p][1])]

    assert len(judged) > 150
    assert without == []


def test_the_others_are_read_or_have_a_reason() -> None:
    """No file is damaged, too large or a riddle; what has nothing in it is said to have nothing in it."""
    reasons = Counter(why for _, content, why in outcomes().values() if content is None)

    assert set(reasons) <= {*HONEST, "not recognised"}
    assert (
        reasons["not recognised"] <= 3
    )  # an empty database, a file of the desktop, a log with control bytes


def test_what_is_said_to_hold_no_metrics_holds_none() -> None:
    """No row of numbers beside a word of training in files that are said to hold none."""
    telling = ("loss:", "loss=", "loss =", '"loss"', "'loss'", "val_acc", "train_acc")
    suspicious = []
    for path, (file, content, why) in outcomes().items():
        if content is None and why == "no metrics in it" and not path.startswith("issues/"):
            lines = file.read_text().lower().splitlines()
            rows = [x for x in lines if any(w in x for w in telling) and any(c.isdigit() for c in x)]
            suspicious += [(path, rows[0][:80])] if len(rows) > 3 else []

    assert suspicious == []

"""The text reader on files that real people left behind (../shared, when it is there)."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from traindoctor.probes.files import RunFile
from traindoctor.probes.readers import text_log
from traindoctor.probes.run import FileContent, Series

SHARED = Path(__file__).resolve().parents[3].parent / "shared"
REAL = SHARED / "real"
FAMILIES = (
    "text_log",
    "megatron",
    "deepspeed",
    "mindspore",
    "mindformers",
    "nanogpt_like",
    "olmo",
    "tf1_ascend",
    "openmmlab",
)
OWN = (".log", ".txt", ".out")
# The index takes another curve for the loss, all terms, a loss scale, or all states of a bar.
OTHERWISE = ("InsightFace_TF", "CPC_ID0921", "DSFD.pytorch", "opt-1.3b-globalBatchSize128")
LARGE = 300_000  # bytes; larger files are left to the walk of the whole product
_EVIDENCE = re.compile(r"loss[^:]*: n=(\d+) bad=(\d+) first=(\S+) last=(\S+)")

pytestmark = pytest.mark.skipif(not (REAL / "INDEX.yaml").is_file(), reason="../shared is not here")


@lru_cache(maxsize=1)
def index() -> list[dict[str, Any]]:
    import yaml

    if not (REAL / "INDEX.yaml").is_file():
        return []
    text = (REAL / "INDEX.yaml").read_text(encoding="utf-8")
    loaded = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return [f for f in loaded["files"] if f["path"].endswith(OWN) and f["path"].startswith(FAMILIES)]


def content_of(path: Path) -> FileContent | None:
    file = RunFile(path.parent, path.name, path.stat().st_size)
    return text_log.read(file) if text_log.sniff(file) else None


def with_evidence() -> list[dict[str, Any]]:
    found = [
        f for f in index() if _EVIDENCE.search(str(f.get("evidence"))) and not f["path"].endswith(".log.json")
    ]
    return [f for f in found if f["bytes"] < LARGE and not any(o in f["path"] for o in OTHERWISE)]


def agrees(series: Series, count: int, first: float, last: float) -> bool:
    """Ends are printed with four digits in the index; a NaN at an end is `nan` there."""
    ends = np.array([series.values[0], series.values[-1]]) if len(series) else np.empty(0)
    close = len(ends) == 2 and np.allclose(ends, [first, last], rtol=2e-3, atol=1e-9, equal_nan=True)
    return bool(close) and len(series) == count


@pytest.mark.parametrize("entry", with_evidence(), ids=lambda e: e["path"][-60:])
def test_losses_agree_with_the_index(entry: dict[str, Any]) -> None:
    """The number of points and both ends are what the index says."""
    match = _EVIDENCE.search(entry["evidence"])
    content = content_of(REAL / entry["path"])

    assert match is not None and content is not None
    count, first, last = int(match.group(1)), float(match.group(3)), float(match.group(4))
    assert any(agrees(s, count, first, last) for s in content.series), [
        (s.raw, len(s), s.values[:1], s.values[-1:]) for s in content.series
    ]


def test_every_text_is_read_or_refused() -> None:
    """No text among the samples stops the reader, whatever it is."""
    for root in (REAL, SHARED / "samples" / "ascend"):
        for path in sorted(root.rglob("*")):
            if path.is_file() and path.suffix in (*OWN, ".md") and path.stat().st_size < LARGE / 5:
                content_of(path)


def test_prose_gives_no_losses() -> None:
    """Chronicles of trainings tell of losses and hold none."""
    for path in sorted((REAL / "chronicle").rglob("*")):
        content = content_of(path) if path.is_file() else None
        assert content is None or not [s for s in content.series if "loss" in s.raw.lower()], path

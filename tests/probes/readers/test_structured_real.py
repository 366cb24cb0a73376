"""The readers of structured files on files that real people left behind (../shared, when it is there)."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import yaml

from traindoctor.probes.assembly import kinds
from traindoctor.probes.files import RunFile, walk
from traindoctor.probes.readers import csv_log, hf_trainer, json_log, jsonl, mindspore_summary, tensorboard
from traindoctor.probes.run import FileContent

SHARED = Path(__file__).resolve().parents[3].parent / "shared"
REAL = SHARED / "real"
READERS = (tensorboard, mindspore_summary, hf_trainer, jsonl, json_log, csv_log)
OURS = ("hf_trainer", "llamafactory", "lightning", "keras", "tensorboard", "yolo", "jsonl_logtxt")
# Files below these folders that belong to other readers, or hold no curve.
OTHERS = re.compile(r"\.(?:yaml|txt|log)$|pws_estimate|predict_results")

pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason="../shared is not here")


def reader_of(file: RunFile) -> ModuleType | None:
    return next((r for r in READERS if r.sniff(file)), None)


def content_of(path: Path) -> FileContent | None:
    file = RunFile(path.parent, path.name, path.stat().st_size)
    reader = reader_of(file)
    content: FileContent | None = reader.read(file) if reader else None
    return content


@lru_cache(maxsize=1)
def index() -> list[dict[str, Any]]:
    text = (REAL / "INDEX.yaml").read_text(encoding="utf-8")
    files: list[dict[str, Any]] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))[
        "files"
    ]
    return files


def test_every_file_is_read_or_refused() -> None:
    """No file of any format makes any of these readers stumble; arrays fit together."""
    for root in (REAL, SHARED / "samples" / "ascend"):
        for file in walk(root)[0]:
            if kinds.passed_over(file.name, file.suffix) is None and file.size:
                reader = reader_of(file)
                content = reader.read(file) if reader else FileContent("none")
                for series in content.series:
                    assert len(series.steps) == len(series.values)
                    assert series.lines is None or len(series.lines) == len(series.values)
                    assert not np.isnan(series.steps).any(), file.path


@pytest.mark.parametrize("kind", OURS)
def test_files_of_our_formats_are_recognised(kind: str) -> None:
    """Everything below the folders of these formats that should be read is read."""
    for file in walk(REAL / kind)[0]:
        if kinds.passed_over(file.name, file.suffix) is None and not OTHERS.search(file.path):
            pointer = b"git-lfs" in file.head[:60]
            stalled = file.name == "trainer_log.jsonl" and b'"loss"' not in file.head
            assert pointer or stalled or reader_of(file) is not None, file.path


def test_the_counts_of_the_index() -> None:
    """Length, number of non-finite values and first value of each curve are those that the index states."""
    compared = 0
    for entry in index():
        stated = re.findall(
            r"([^;]+?): n=(\d+) bad=(\d+) (?:firstbad=\d+ )?first=(\S+)", entry.get("evidence") or ""
        )
        path = REAL / entry["path"]
        if not stated or OTHERS.search(path.name):
            continue
        content = content_of(path)
        curves = {s.raw.lower(): s for s in content.series} if content else {}
        for name, count, bad, first in stated:
            found = curves.get(name.strip().lower())
            if found is None:
                continue
            finite = found.values[np.isfinite(found.values)]
            assert (len(found), len(found) - len(finite)) == (int(count), int(bad)), (path, name)
            assert finite[0] == pytest.approx(float(first), rel=2e-3), (path, name)
            compared += 1

    assert compared > 200


@pytest.mark.parametrize(
    ("part", "raw", "bad"),
    [
        ("07Sada__brand__brand/runs/detect/train/results.csv", "train/box_loss", 0),
        ("cnn_image/train.log", "loss", 0),
        ("neuron_8/metrics.csv", "corr", 10),
        ("atss_r50_fpn_swx/20210313_194705.log.json", "loss", 7198),
    ],
)
def test_traps(part: str, raw: str, bad: int) -> None:
    """Merge markers, CR CR line ends, undefined metrics and a run of NaN."""
    (path,) = [REAL / e["path"] for e in index() if e["path"].endswith(part)]
    content = content_of(path)

    assert content is not None
    curve = next(s for s in content.series if s.raw == raw)
    assert int(np.count_nonzero(~np.isfinite(curve.values))) == bad

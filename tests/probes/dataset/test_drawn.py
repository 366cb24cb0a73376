"""Manifests held against the benchmark's, read in bounded memory; and what is not looked at, but sound."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from traindoctor.engine.model import State
from traindoctor.probes.dataset.manifest import Manifest
from traindoctor.probes.dataset.measure import measure
from traindoctor.probes.dataset.model import Bounds

from ._make import reading

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(0, 1, (120, 6)).astype(np.float32)
Y = RANDOM.integers(0, 4, 120)
DRAWN = RANDOM.permutation(120)


def manifest(
    folder: Path, drawn: Sequence[int] = tuple(DRAWN), x: np.ndarray = X, y: np.ndarray = Y, rank: int = 0
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    with Manifest(folder / f"manifest.rank{rank}.jsonl", split="train", rank=rank) as found:
        for i in drawn:
            found.add(id=int(i), sample=x[i], label=int(y[i]))
    return folder


def told(mine: Path, theirs: Path) -> list[str]:
    """The symptoms of batches and rank lists that are present."""
    names = "labels-apart labels-differ scaled-differently order-differs samples-differ layout-differs"
    symptoms = [*(f"batches-{n}" for n in names.split()), "shard-lists-differ"]
    return [s for s in symptoms if reading(s, mine, theirs).state is P]


def test_manifests_of_one_pipeline_are_silent(tmp_path: Path) -> None:
    """Also where random augmentation makes other checksums, or labels are other types of one number."""
    theirs = manifest(tmp_path / "b")
    assert told(manifest(tmp_path / "same"), theirs) == []
    noise = X + RANDOM.normal(0, 0.05, X.shape).astype(np.float32)
    assert told(manifest(tmp_path / "augmented", x=noise), theirs) == []
    rows = [json.loads(line) for line in (theirs / "manifest.rank0.jsonl").read_text().splitlines()]
    other = tmp_path / "typed"
    other.mkdir()
    (other / "manifest.rank0.jsonl").write_text(
        "".join(json.dumps(r | {"label": float(r["label"])}) + "\n" for r in rows)
    )
    assert told(other, theirs) == []


def test_manifests_that_differ(tmp_path: Path) -> None:
    theirs = manifest(tmp_path / "b")
    assert told(manifest(tmp_path / "scaled", x=X * 255), theirs) == ["batches-scaled-differently"]
    assert "255 is missing" in reading("batches-scaled-differently", tmp_path / "scaled", theirs).why
    assert told(manifest(tmp_path / "moved", x=X - 3), theirs) == ["batches-scaled-differently"]
    turned = np.array([2, 0, 3, 1])[Y]
    assert told(manifest(tmp_path / "numbered", y=turned), theirs) == ["batches-labels-differ"]
    mixed = np.random.default_rng(3).permutation(Y)
    assert told(manifest(tmp_path / "apart", y=mixed), theirs) == ["batches-labels-apart"]
    assert told(manifest(tmp_path / "fewer", DRAWN[:90]), theirs) == ["batches-samples-differ"]
    assert "30 of the 120 samples" in reading("batches-samples-differ", tmp_path / "fewer", theirs).why
    assert told(manifest(tmp_path / "order", np.arange(120)), theirs) == ["batches-order-differs"]


def test_manifests_that_cannot_be_compared(tmp_path: Path) -> None:
    """Samples named otherwise, drawn with replacement, or few."""
    theirs = manifest(tmp_path / "b")
    folder = tmp_path / "named"
    folder.mkdir()
    with Manifest(folder / "manifest.jsonl", split="train") as found:
        for i in DRAWN:
            found.add(id=f"/data/{i}.jpg", sample=X[i], label=int(Y[i]))
    for mine in (
        folder,
        manifest(tmp_path / "twice", np.random.default_rng(0).integers(0, 120, 120)),
        manifest(tmp_path / "few", DRAWN[:10]),
    ):
        assert told(mine, theirs) == []
        assert reading("batches-labels-apart", mine, theirs).state is U


def test_what_ranks_draw_at_random_may_differ_and_their_lists_may_not(tmp_path: Path) -> None:
    for side, seed in (("a", 1), ("b", 2)):
        order = np.random.default_rng(seed).permutation(120)
        for rank in range(2):
            manifest(tmp_path / "drawn" / side, order[rank::2], rank=rank)
            folder = tmp_path / "lists" / side
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"indices_rank{rank}.txt").write_text("\n".join(map(str, order[rank::2])) + "\n")

    assert reading("shard-lists-differ", tmp_path / "drawn/a", tmp_path / "drawn/b").state is U
    assert reading("shard-lists-differ", tmp_path / "lists/a", tmp_path / "lists/b").state is P
    assert reading("shard-lists-differ", tmp_path / "lists/a", tmp_path / "lists/a").state is A


def test_a_manifest_that_is_being_written_is_not_damaged(tmp_path: Path) -> None:
    path = manifest(tmp_path) / "manifest.rank0.jsonl"
    text = path.read_text()
    path.write_text(text[:-40])
    assert reading("data-unreadable", tmp_path).state is A
    lines = text.splitlines()
    path.write_text("\n".join([*lines[:50], lines[50][:30], *lines[51:]]) + "\n")
    assert reading("data-unreadable", tmp_path).state is P


def test_arrays_of_json_are_read_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from traindoctor.probes.dataset import lists

    rows = [{"id": i, "label": i % 3, "epoch": 0} for i in range(300)]
    (tmp_path / "manifest.json").write_text(json.dumps(rows, indent=1))
    assert measure(tmp_path).parts[0].rows == 300
    monkeypatch.setattr(lists, "MOST_TEXT", 4000)
    assert measure(tmp_path).parts[0].rows is None
    assert reading("data-unreadable", tmp_path).state is not P
    (tmp_path / "manifest.json").write_text(json.dumps(rows)[:-100])
    monkeypatch.undo()
    assert measure(tmp_path).not_read


def test_a_long_manifest_takes_little_memory(tmp_path: Path) -> None:
    """60,000 entries as dictionaries are 100 MB; as numbers a tenth."""
    rows = (
        json.dumps(
            {
                "id": i,
                "label": i % 5,
                "epoch": 0,
                "rank": 0,
                "split": "train",
                "hash": f"{i * 7919:032x}",
                "shape": [3, 32, 32],
                "dtype": "float32",
                "low": i / 9,
                "high": i / 7,
                "mean": i / 8,
                "std": i / 6,
            }
        )
        + "\n"
        for i in range(60_000)
    )
    (tmp_path / "manifest.jsonl").write_text("".join(rows))
    tracemalloc.start()
    try:
        found = measure(tmp_path, Bounds(seconds=600))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.parts[0].rows == 60_000
    assert most < 60e6


def test_arrays_that_are_not_looked_at_are_not_damaged(tmp_path: Path) -> None:
    """Objects and records are passed over, and said; a cut file is damaged."""
    (tmp_path / "a").mkdir()
    ragged = np.empty(3, dtype=object)
    ragged[:] = [[1], [1, 2], [3]]
    np.savez(tmp_path / "a" / "train.npz", x=X, y=Y, boxes=ragged)
    assert reading("data-unreadable", tmp_path / "a").state is not P
    assert any("Python objects" in n for p in measure(tmp_path / "a").parts for n in p.notes)

    (tmp_path / "b").mkdir()
    np.save(tmp_path / "b" / "train.npy", np.zeros(5, dtype=[("t", "f4"), ("k", "i4")]))
    assert reading("data-unreadable", tmp_path / "b").state is not P

    (tmp_path / "c").mkdir()
    np.save(tmp_path / "c" / "train.npy", X)
    whole = (tmp_path / "c" / "train.npy").read_bytes()
    (tmp_path / "c" / "train.npy").write_bytes(whole[:-99])
    assert reading("data-unreadable", tmp_path / "c").state is P


def test_json_lines_of_whole_books(tmp_path: Path) -> None:
    """A first line longer than what content is told by is no damage; one without end is not looked at."""
    rows = [{"text": f"{i} " + "word " * 30_000, "label": i % 2} for i in range(12)]
    (tmp_path / "books").mkdir()
    (tmp_path / "books" / "train.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    found = measure(tmp_path / "books")
    assert found.parts[0].rows == 12
    assert reading("data-unreadable", tmp_path / "books").state is A

    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "train.jsonl").write_text(json.dumps({"text": "a" * 9_000_000}) + "\n")
    assert reading("data-unreadable", tmp_path / "one").state is not P
    assert "too long" in measure(tmp_path / "one").notes[0]


def test_nan_in_pictures_is_no_value_to_fill(tmp_path: Path) -> None:
    pictures = RANDOM.normal(0, 1, (8, 3, 16, 16)).astype(np.float32)
    broken = pictures.copy()
    broken[5, 1, 3, 3] = np.nan
    for name, x in (("a", broken), ("b", pictures)):
        (tmp_path / name).mkdir()
        np.savez(tmp_path / name / "batch_0.npz", image=x, label=np.arange(8) % 4)
    assert reading("batches-filled-differently", tmp_path / "a", tmp_path / "b").state is not P
    assert reading("inputs-have-nan", tmp_path / "a", tmp_path / "b").state is P
    zeros = np.where(pictures > 1.5, 0, pictures)
    np.savez(tmp_path / "b" / "batch_0.npz", image=zeros, label=np.arange(8) % 4)
    holes = np.where(pictures > 1.5, np.nan, pictures)
    np.savez(tmp_path / "a" / "batch_0.npz", image=holes, label=np.arange(8) % 4)
    assert reading("batches-filled-differently", tmp_path / "a", tmp_path / "b").state is P

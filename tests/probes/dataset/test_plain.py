"""Plain text with a sample to a line: a language model's splits, and translations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from traindoctor.engine.model import State
from traindoctor.probes.dataset.measure import measure
from traindoctor.probes.dataset.model import Bounds

from ._make import png, reading

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN
WORDS = [
    "time",
    "year",
    "people",
    "way",
    "day",
    "man",
    "thing",
    "woman",
    "life",
    "child",
    "world",
    "school",
    "state",
    "family",
    "student",
    "group",
]


def said(n: int, seed: int = 0) -> list[str]:
    """[n] different lines of nine to fifteen words."""
    random = np.random.default_rng(seed)
    return [f"{' '.join(random.choice(WORDS, 8 + i % 7))} {seed}x{i}" for i in range(n)]


def write(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_splits_of_a_language_model(tmp_path: Path) -> None:
    lines = said(300)
    write(
        tmp_path / "sound" / "wiki.train.tokens", ["", " = Title = ", "", *lines, "Yes .", "Yes .", "Yes ."]
    )
    write(tmp_path / "sound" / "wiki.valid.tokens", [*said(90, 1), "Yes ."])
    write(tmp_path / "leaky" / "train.txt", lines + lines[:80])
    write(tmp_path / "leaky" / "valid.txt", lines[100:150] + said(50, 2))

    assert reading("duplicate-samples-across-splits", tmp_path / "sound").state is A
    assert reading("data-duplicates", tmp_path / "sound").state is A
    assert "50 of 100" in reading("duplicate-samples-across-splits", tmp_path / "leaky").why
    assert reading("data-duplicates", tmp_path / "leaky").state is P


@pytest.mark.parametrize(("lost", "state"), [(0, A), (1, P), (150, P)])
def test_translations_have_as_many_lines(lost: int, state: State, tmp_path: Path) -> None:
    """Half as many lines are no several views of a sample here."""
    write(tmp_path / "train.en", said(300))
    write(tmp_path / "train.de", said(300, 1)[lost:])

    assert reading("data-labels-miscounted", tmp_path).state is state


def test_pairs_of_lines_stand_in_training_and_evaluation(tmp_path: Path) -> None:
    """A sentence alone may be common; the pair of it and its translation is one sample."""
    for name, at in (("train", 0), ("valid", 50)):
        write(tmp_path / f"{name}.en", said(300)[at : at + 150])
        write(tmp_path / f"{name}.fr", said(300, 1)[at : at + 150])

    assert "100 of 150" in reading("duplicate-samples-across-splits", tmp_path).why


def test_other_texts_are_no_data(tmp_path: Path) -> None:
    """Lists of files, notes, one language alone, rows of figures."""
    write(tmp_path / "train.txt", [f"images/{i}.png 3 1 2 3 4 5 6 7 8 9" for i in range(30)])
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "1.png").write_bytes(png())
    write(tmp_path / "training_notes.txt", ["short", "notes", "only"])
    write(tmp_path / "test_figures.txt", [" ".join(["0.5"] * 12) for _ in range(30)])
    write(tmp_path / "train.en", said(30))
    write(tmp_path / "README.txt", said(30))

    assert [p.format for p in measure(tmp_path).parts] == ["images"]


def test_a_document_that_is_cut_off_is_told(tmp_path: Path) -> None:
    (tmp_path / "train.json").write_text('[{"a": 1, "label": 0}, {"a": 2, "lab')

    assert reading("data-unreadable", tmp_path).state is P


def test_stretches_of_a_long_text(tmp_path: Path) -> None:
    """Of a text longer than the bound stretches from everywhere are looked at, and nothing is said of all."""
    write(tmp_path / "train.txt", said(30_000))
    write(tmp_path / "valid.txt", said(100, 1))

    train, held = measure(tmp_path, Bounds(samples=4_000)).parts

    assert not train.exact
    assert train.rows == pytest.approx(30_000, rel=0.1)
    assert 3_000 < train.looked < 9_000
    assert held.whole

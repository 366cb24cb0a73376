"""labelme's shapes, tagged tokens, Kaldi's folders; labels in two ways, and those that a user names."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from traindoctor.engine.model import State
from traindoctor.probes.dataset.measure import measure
from traindoctor.probes.dataset.model import Bounds

from ._make import csv, png, reading, table
from ._sets import wav

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN


def shapes(root: Path, edit: Callable[[int, dict[str, Any]], object] | None = None, n: int = 30) -> None:
    root.mkdir(parents=True, exist_ok=True)
    for i in range(n):
        one = {"label": "dent", "points": [[1, 1], [5, 2], [4, 6]], "shape_type": "polygon", "flags": {}}
        told = {"version": "5.4.0", "flags": {}, "shapes": [one], "imagePath": f"{i}.png", "imageData": None}
        told |= {"imageHeight": 8, "imageWidth": 8}
        if edit is not None:
            edit(i, told)
        (root / f"{i}.json").write_text(json.dumps(told))
        (root / f"{i}.png").write_bytes(png())


def test_shapes_of_labelme(tmp_path: Path) -> None:
    shapes(tmp_path / "sound")
    shapes(tmp_path / "out", lambda i, t: t["shapes"][0]["points"].append([90, 3]) if i % 3 == 0 else None)
    shapes(tmp_path / "line", lambda _, t: t["shapes"][0]["points"].pop())
    shapes(
        tmp_path / "round", lambda _, t: t["shapes"][0].update(shape_type="circle", points=[[4, 4], [12, 4]])
    )
    shapes(tmp_path / "case", lambda i, t: t["shapes"][0].update(label="Dent" if i % 4 == 0 else "dent"))
    shapes(tmp_path / "lost", lambda i, t: t.update(imagePath=f"..\\images\\{i if i > 3 else 900 + i}.png"))

    assert reading("boxes-invalid", tmp_path / "sound").state is A
    assert reading("boxes-invalid", tmp_path / "out").why.startswith(
        "10 of 30 boxes that reach out of the image"
    )
    assert "too few points" in reading("boxes-invalid", tmp_path / "line").why
    assert reading("boxes-invalid", tmp_path / "round").state is A
    assert reading("class-spelled-twice", tmp_path / "case").state is P
    assert reading("files-missing", tmp_path / "lost").state is P
    assert reading("files-missing", tmp_path / "sound").state is A


def test_a_damaged_file_of_labelme_is_told(tmp_path: Path) -> None:
    shapes(tmp_path)
    text = (tmp_path / "3.json").read_text()
    (tmp_path / "3.json").write_text(text[: len(text) - 30])

    found = reading("data-unreadable", tmp_path)

    assert found.state is P
    assert found.where[0].file == "3.json"


def tagged(path: Path, tags: str, start: int, n: int = 80, ends: str = "\n") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    found = []
    for i in range(start, start + n):
        words = [("Mr", "O"), (f"Name{i}", f"B-{tags}"), ("went", "O"), (f"home{i}", "O"), (".", "O")]
        found.append(ends.join(f"{w}\t{t}" for w, t in words))
    path.write_text("-DOCSTART- O" + ends * 2 + (ends * 2).join(found) + ends)


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_tagged_tokens(tmp_path: Path, ends: str) -> None:
    tagged(tmp_path / "sound" / "train.conll", "PER", 0, ends=ends)
    tagged(tmp_path / "sound" / "dev.conll", "PER", 500, ends=ends)
    tagged(tmp_path / "met" / "train.txt", "PER", 0, ends=ends)
    tagged(tmp_path / "met" / "test.txt", "PER", 70, ends=ends)
    tagged(tmp_path / "other" / "train.bio", "PER", 0, ends=ends)
    tagged(tmp_path / "other" / "valid.bio", "PERSON", 500, ends=ends)

    assert [p.looked for p in measure(tmp_path / "sound").parts] == [80, 80]
    assert reading("duplicate-samples-across-splits", tmp_path / "sound").state is A
    assert reading("classes-unseen-in-training", tmp_path / "sound").state is A
    found = reading("duplicate-samples-across-splits", tmp_path / "met")
    assert (found.state, found.value) == (P, 10 / 80)
    found = reading("classes-unseen-in-training", tmp_path / "other")
    assert found.state is P
    assert "B-PERSON" in found.why


def test_a_token_without_a_tag_is_told(tmp_path: Path) -> None:
    tagged(tmp_path / "train.conll", "PER", 0)
    lines = (tmp_path / "train.conll").read_text().split("\n")
    lines[8] = "went"
    (tmp_path / "train.conll").write_text("\n".join(lines))

    found = reading("data-unreadable", tmp_path)

    assert found.state is P
    assert found.where[0].line == 9


def test_prose_and_tables_are_no_tags(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text(
        "\n\n".join(f"a text of nine words that says nothing {i}" for i in range(50))
    )
    csv(tmp_path / "train.data", ("a", "b", "label"), [[i, i % 5, "O"] for i in range(60)])

    assert "tagged tokens" not in {p.format for p in measure(tmp_path).parts}


def kaldi(root: Path, *, lost: int = 0, silent: int = 0, unsaid: int = 0, speakers: int = 0) -> None:
    """48 utterances of twelve speakers; recordings lost, transcripts empty or lacking."""
    names = [f"s{speakers + i % 12:02d}-{i:02d}" for i in range(48)]
    for i, name in enumerate(names):
        if i >= lost:
            wav(root / "wavs" / f"{name}.wav", i)
    (root / "wav.scp").write_text("".join(f"{n} wavs/{n}.wav\n" for n in names))
    said = [f"{n} words of {n}" if i >= silent else n for i, n in enumerate(names)]
    (root / "text").write_text("\n".join(said[unsaid:]) + "\n")
    (root / "utt2spk").write_text("".join(f"{n} {n[:3]}\n" for n in names))


def test_folders_of_kaldi(tmp_path: Path) -> None:
    kaldi(tmp_path / "sound" / "train")
    kaldi(tmp_path / "sound" / "dev", speakers=20)
    kaldi(tmp_path / "lost" / "train", lost=3)
    kaldi(tmp_path / "silent" / "train", silent=4)
    kaldi(tmp_path / "unsaid" / "train", unsaid=2)
    kaldi(tmp_path / "met" / "train")
    kaldi(tmp_path / "met" / "dev")

    for symptom in ("files-missing", "data-missing-values", "groups-across-splits"):
        assert reading(symptom, tmp_path / "sound").state is A
    assert reading("files-missing", tmp_path / "lost").why.startswith("3 files are missing")
    assert reading("data-missing-values", tmp_path / "silent").state is P
    assert "lacks 2 of the 48 lines of wav.scp" in reading("files-missing", tmp_path / "unsaid").why
    assert reading("groups-across-splits", tmp_path / "met").state is P


def test_commands_and_segments_of_kaldi(tmp_path: Path) -> None:
    """A command in wav.scp is no file, and with segments its first column names recordings."""
    (tmp_path / "wav.scp").write_text(
        "".join(f"rec{i} sph2pipe -f wav /corpus/{i}.sph |\n" for i in range(3))
    )
    (tmp_path / "segments").write_text("".join(f"u{i} rec{i % 3} {i}.0 {i}.9\n" for i in range(12)))
    (tmp_path / "text").write_text("".join(f"u{i} said {i}\n" for i in range(12)))

    found = measure(tmp_path)

    assert (found.parts[0].looked, found.listed, found.gaps) == (12, (), ())


def test_classes_as_numbers_and_as_words(tmp_path: Path) -> None:
    def labelled(name: str, words: list[str], every: int = 3) -> None:
        rows = [[i, words[i % 2] if i % every == 0 else str(i % 2)] for i in range(120)]
        csv(tmp_path / name / "train.csv", ("a", "label"), rows)

    labelled("two", ["bad", "good"])
    labelled("few", ["bad", "good"], every=60)
    labelled("one", ["bad", "bad"])

    found = reading("class-spelled-twice", tmp_path / "two")
    assert found.state is P
    assert "40 name their class (bad, good)" in found.why
    assert reading("class-spelled-twice", tmp_path / "few").state is not P
    assert reading("class-spelled-twice", tmp_path / "one").state is A


def test_numbers_with_units_are_words(tmp_path: Path) -> None:
    rows = [[f'"{i},{i:03d} sqft"' if i % 20 == 3 else 900 + i, i % 2] for i in range(200)]
    csv(tmp_path / "units" / "train.csv", ("area", "label"), rows)
    codes = [[f"flat {i} of house {i % 9}" if i % 20 == 3 else 900 + i, i % 2] for i in range(200)]
    csv(tmp_path / "codes" / "train.csv", ("place", "label"), codes)

    assert reading("data-words-among-numbers", tmp_path / "units").state is P
    assert reading("data-words-among-numbers", tmp_path / "codes").state is not P


def test_rows_that_stand_twice_with_their_time(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    rows = [[1_500_000_000 + 3600 * i, int(v)] for i, v in enumerate(random.integers(0, 9, 900))]
    csv(tmp_path / "once" / "train.csv", ("unix", "load"), rows)
    csv(tmp_path / "twice" / "train.csv", ("unix", "load"), rows + rows[:200])

    assert reading("data-duplicates", tmp_path / "once").state is A
    assert reading("data-duplicates", tmp_path / "twice").state is P


def test_a_column_of_labels_that_the_user_names(tmp_path: Path) -> None:
    rows = sorted(table(), key=lambda r: str(r[-1]))
    csv(tmp_path / "train.csv", ("a", "b", "c", "readmitted"), rows)

    assert measure(tmp_path).parts[0].labels is None
    told = measure(tmp_path, Bounds(label="readmitted")).parts[0].labels
    assert told is not None
    assert set(told.counts) == {"0", "1"}

"""Answers and pairs to learn from, classes of boxes and of Hugging Face's data sets: wrong and right."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from traindoctor.engine.model import State
from traindoctor.probes.dataset.measure import measure

from ._make import csv, png, reading

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN
Row = dict[str, Any]
_WORDS = "open the door before night and count every lamp that burns in a quiet house by the river"
WORDS = _WORDS.split()


def said(random: np.random.Generator, least: int = 6, most: int = 14) -> str:
    return " ".join(random.choice(WORDS, random.integers(least, most))).capitalize() + "."


def rows(make: Callable[[np.random.Generator, int], Row], n: int = 200) -> list[Row]:
    random = np.random.default_rng(0)
    return [make(random, i) for i in range(n)]


def chat(random: np.random.Generator, i: int) -> Row:
    del i
    return {
        "messages": [
            {"role": "user", "content": f"{said(random)}?"},
            {"role": "assistant", "content": said(random)},
        ]
    }


def templated(random: np.random.Generator, i: int) -> Row:
    found = chat(random, i)
    for turn in found["messages"]:
        turn["content"] = f"<|im_start|>{turn['role']}\n{turn['content']}<|im_end|>"
    return found


def asked(random: np.random.Generator, i: int) -> Row:
    del i
    return {"prompt": said(random), "completion": said(random, 6, 60)}


def begun(random: np.random.Generator, i: int) -> Row:
    one = asked(random, i)
    return {**one, "completion": f"{one['prompt']} {one['completion']}"}


def cut(random: np.random.Generator, i: int) -> Row:
    one = asked(random, i)
    return {**one, "completion": one["completion"][:150]}


def even(random: np.random.Generator, i: int) -> Row:
    """Answers of one length throughout are made so."""
    return {**asked(random, i), "completion": "".join(random.choice(list("ACGT"), 128))}


def triple(random: np.random.Generator, i: int) -> Row:
    del i
    return {"query": said(random), "positive": said(random), "negative": said(random)}


def both(random: np.random.Generator, i: int) -> Row:
    one = triple(random, i)
    return {**one, "negative": one["positive"]} if i % 9 == 0 else one


def passages(random: np.random.Generator, i: int) -> Row:
    one = [said(random), said(random)]
    return {"query": said(random), "pos": one, "neg": [said(random), one[1] if i % 5 == 0 else said(random)]}


@pytest.mark.parametrize(
    ("make", "state", "why"),
    [
        (chat, A, ""),
        (templated, P, "<|im_start|>"),
        (lambda r, i: templated(r, i) if i == 7 else chat(r, i), A, ""),  # one speaks of them
        (asked, A, ""),
        (begun, P, "begins with its question"),
        (lambda r, i: begun(r, i) if i % 20 == 0 else asked(r, i), A, ""),
        (cut, P, "150 characters"),
        (even, A, ""),
        (triple, A, ""),
        (both, P, "positive and negative"),
        (passages, P, "positive and negative"),
        (lambda r, _: {"text": said(r)}, U, ""),
    ],
)
def test_answers_to_learn_from(
    make: Callable[[np.random.Generator, int], Row], state: State, why: str, tmp_path: Path
) -> None:
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows(make)))
    found = reading("chats-malformed", tmp_path)

    assert found.state is state
    assert why in found.why


def voc(root: Path, name: str, size: tuple[int, int], file: str) -> None:
    image = root / "JPEGImages" / f"{file}.png"
    image.parent.mkdir(parents=True, exist_ok=True)
    image.write_bytes(png(12, 8))
    notes = root / "Annotations" / f"{file}.xml"
    notes.parent.mkdir(parents=True, exist_ok=True)
    notes.write_text(
        f"<annotation><filename>{file}.png</filename><size><width>{size[0]}</width><height>{size[1]}</height>"
        f"</size><object><name>{name}</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>6</xmax>"
        "<ymax>6</ymax></bndbox></object></annotation>"
    )


def test_sizes_and_names_of_pascal_voc(tmp_path: Path) -> None:
    for i in range(12):
        voc(tmp_path / "right", "car" if i % 2 else "dog", (12, 8), f"{i:03d}")
        voc(tmp_path / "resized", "car" if i % 2 else "dog", (24, 16), f"{i:03d}")
        voc(tmp_path / "spelled", "Car" if i % 5 == 0 else "car", (12, 8), f"{i:03d}")
        voc(tmp_path / "untold", "car", (0, 0), f"{i:03d}")

    assert reading("boxes-invalid", tmp_path / "right").state is A
    assert "told as 24x16" in reading("boxes-invalid", tmp_path / "resized").why
    assert reading("boxes-invalid", tmp_path / "untold").state is A
    assert reading("class-spelled-twice", tmp_path / "right").state is A
    assert reading("class-spelled-twice", tmp_path / "spelled").state is P


def saved(root: Path, split: str, labels: list[int], names: list[str]) -> None:
    """Arrow files as `save_to_disk` writes them."""
    pa = pytest.importorskip("pyarrow")
    features = {"x": {"_type": "Value"}, "label": {"_type": "ClassLabel", "names": names}}
    random = np.random.default_rng(len(labels))
    told = {"huggingface": json.dumps({"info": {"features": features}})}
    table = pa.table({"x": random.normal(size=len(labels)), "label": labels}).replace_schema_metadata(told)
    (root / split).mkdir(parents=True)
    path = root / split / "data-00000-of-00001.arrow"
    with path.open("wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)


def test_classes_that_a_data_set_names(tmp_path: Path) -> None:
    saved(tmp_path / "right", "train", [0, 1, 2] * 40, ["a", "b", "c"])
    saved(tmp_path / "right", "test", [-1] * 40, ["a", "b", "c"])
    saved(tmp_path / "above", "train", [1, 2, 3] * 40, ["a", "b", "c"])
    saved(tmp_path / "below", "train", [-1, 0, 1] * 40, ["a", "b", "c"])

    assert reading("labels-out-of-range-in-data", tmp_path / "right").state is A
    assert reading("classes-unseen-in-training", tmp_path / "right").state is U
    assert any("kept back" in note for p in measure(tmp_path / "right").parts for note in p.notes)
    assert "names 3 classes" in reading("labels-out-of-range-in-data", tmp_path / "above").why
    assert reading("labels-out-of-range-in-data", tmp_path / "below").state is U  # -1, 0 and 1 may be grades


def squad(root: Path, moved: int, every: int) -> Path:
    root.mkdir()
    random = np.random.default_rng(0)
    found = []
    for i in range(120):
        context = f"{said(random)} {said(random)}"
        at = context.index(" ", 12) + 1
        answer = {"text": [context[at : at + 9]], "answer_start": [at + (moved if i % every == 0 else 0)]}
        found.append({"context": context, "question": said(random), "answers": answer if i % 7 else {}})
    (root / "train.jsonl").write_text("".join(json.dumps(r) + "\n" for r in found))
    return root


def test_answers_that_stand_elsewhere(tmp_path: Path) -> None:
    assert reading("chats-malformed", squad(tmp_path / "sound", 0, 1)).state is A
    assert "does not stand where" in reading("chats-malformed", squad(tmp_path / "moved", 2, 3)).why


@pytest.mark.parametrize(
    ("tags", "state"),
    [
        (lambda n, _: n, A),
        (lambda n, i: n - (i % 8 == 0), P),
        (lambda n, _: n // 2, U),  # tags of another kind
    ],
)
def test_tags_and_their_words(tags: Callable[[int, int], int], state: State, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    found = []
    for i in range(160):
        words = said(random).split()
        found.append({"tokens": words, "ner_tags": [0] * tags(len(words), i)})
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(r) + "\n" for r in found))
    assert reading("data-token-labels-odd", tmp_path).state is state


def gapped(root: Path, chance: tuple[float, float]) -> Path:
    """A date that is empty in these shares of the rows of two classes."""
    random = np.random.default_rng(0)
    rows = []
    for _ in range(600):
        label = int(random.random() < 0.4)
        closed = "" if random.random() < chance[label] else f"2024-01-{random.integers(1, 29):02d}"
        rows.append([*random.normal(size=2).round(3), closed, label])
    csv(root / "train.csv", ("a", "b", "closed_on", "label"), rows)
    return root


def test_gaps_that_tell_the_class(tmp_path: Path) -> None:
    told = reading("data-column-separates-classes", gapped(tmp_path / "told", (1.0, 0.0)))
    assert "closed_on" in told.why
    assert told.state is P
    assert reading("data-column-separates-classes", gapped(tmp_path / "often", (0.9, 0.2))).state is A
    assert reading("data-column-separates-classes", gapped(tmp_path / "full", (0.0, 0.0))).state is A


def test_a_score_of_pairs_is_no_column_that_was_lost(tmp_path: Path) -> None:
    pairs = [[f"q{i % 30}", f"d{i}", 1] for i in range(200)]
    csv(tmp_path / "pairs" / "train.csv", ("query-id", "corpus-id", "score"), pairs)
    assert reading("data-columns-constant", tmp_path / "pairs").state is A
    measured = [[0.5 * (i % 9), 0, i % 2] for i in range(200)]
    csv(tmp_path / "lost" / "train.csv", ("a", "b", "label"), measured)
    assert reading("data-columns-constant", tmp_path / "lost").state is P

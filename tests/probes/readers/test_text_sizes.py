"""What logs say in passing: samples, classes, planned epochs."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.probes.readers.text import sizes

from ._text import read

ROWS = "".join(f"step {i} loss {3 / i:.3f}\n" for i in range(1, 12))


def told(line: str) -> tuple[object, object]:
    facts: dict[str, object] = {}
    sizes.look(line, facts)  # type: ignore[arg-type]
    return facts.get("samples_train"), facts.get("samples_eval")


@pytest.mark.parametrize(
    ("line", "train", "held"),
    [
        ("[2024-01-01 10:00:00] train 5,212, val 1,179, test 1,109 houses", 5212, 1179),
        ("3.1M parameters, 960 train / 360 val images", 960, 360),
        ("vocabulary: 20 types | train: 1000 | valid: 200 utterances", 1000, 200),
        ("Train on 60000 samples, validate on 10000 samples", 60000, 10000),
        ("Training set size: 50000, validation set size: 10000", 50000, 10000),
        ("There are 50000 training images and 10000 test images", 50000, 10000),
        ("Number of training samples: 5,000", 5000, None),
    ],
)
def test_samples(line: str, train: int, held: int | None) -> None:
    assert told(line) == (train, held)


@pytest.mark.parametrize(
    "line",
    [
        "train: 391 batches, val: 79 batches",
        "Train for 391 steps, validate for 79 steps",
        "train 0.52 val 0.61",
        "Train: 80%, val 20%",
        "fold 1: train 3 val 4",
        "Training on 8 GPUs, evaluation on 1",
        "train 12 min, val 10 min: 3 hours",
        "train_size=0.8",
        "train 2021",
    ],
)
def test_other_counts_are_no_samples(line: str) -> None:
    assert told(line) == (None, None)


def test_the_larger_count_is_that_of_the_samples(tmp_path: Path) -> None:
    """A split by patient or machine is told before the windows that are cut from it."""
    content = read(tmp_path, "patients: 113 train, 37 val\nwindows: 2169 train, 666 val\n" + ROWS)
    assert (content.facts["samples_train"], content.facts["samples_eval"]) == (2169, 666)


def test_samples_of_each_class(tmp_path: Path) -> None:
    def counts(line: str) -> dict[str, object]:
        settings = read(tmp_path, line + "\n" + ROWS).settings
        return {s.key: s.value for s in settings if s.key.startswith("class_counts.")}

    assert counts("class distribution: Counter({'cat': 500, 'dog': 20})") == {
        "class_counts.cat": 500,
        "class_counts.dog": 20,
    }
    assert len(counts("labels: {0: 10, 1: 30, 2: 7}")) == 3
    assert not counts("classes: {'cat': 0, 'dog': 1, 'owl': 2}")
    assert not counts("val classes: {'cat': 50, 'dog': 20}")
    assert not counts("class weights: {0: 10, 1: 50}")
    assert counts("[data] train: ok 4810, dent 12  val: ok 60 dent 2") == {
        "class_counts.ok": 4810,
        "class_counts.dent": 12,
    }
    assert not counts("train: heads 8, dim 512, depth 12")
    assert not counts("dataset train: images 800, boxes 5120, classes 3")


def test_planned_epochs(tmp_path: Path) -> None:
    rows = "".join(f"Epoch {i}/20 - loss: {3 / i:.3f}\n" for i in range(1, 9))
    assert read(tmp_path, rows).facts["epochs_planned"] == 20
    rows = "".join(f"Epoch: [0][{i:3d}/391] Loss {3 / i:.3f}\n" for i in range(1, 9))
    assert "epochs_planned" not in read(tmp_path, rows).facts


def test_documents_of_an_indexed_data_set(tmp_path: Path) -> None:
    """Megatron prints how many documents its data set holds: another number is another data set."""
    text = "    number of documents: 1165029\nstep 1 loss 2.0\nstep 2 loss 1.9\n"
    told = {s.key: s.value for s in read(tmp_path, text).settings}

    assert told["dataset_version"] == "1165029 documents"
    assert sizes.documents("number of documents") is None

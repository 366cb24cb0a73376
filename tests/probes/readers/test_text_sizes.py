"""What logs say in passing: samples, classes, planned epochs."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.readers.text import sizes

from .._read import reading
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
    assert counts("[LightGBM] [Info] Number of positive: 117, number of negative: 14883") == {
        "class_counts.positive": 117,
        "class_counts.negative": 14883,
    }
    assert len(counts("n_pos=20, n_neg=900")) == 2
    assert not counts("val positives: 12, negatives: 900")
    assert not counts("pos: 0.31, neg: 0.69")
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


@pytest.mark.parametrize(
    ("line", "tokens", "rows"),
    [
        ("loading tokenizer from /m: len(tokenizer) = 128256, pad_token_id = 0", 128256, None),
        ("Tokenizer vocab size: 151,665", 151665, None),
        ("loaded tokenizer of 32000 tokens", 32000, None),
        ("resize_token_embeddings: 32000 -> 32016", None, 32016),
        ("Resizing token embeddings from 32000 to 32064", None, 32064),
        ("tokenizer length: 4096", None, None),  # of a sequence, as likely
        ("tokenizer: max length 512", None, None),
        ("the tokenizer has 12 special tokens", None, None),
        ("resized images to 224, embeddings of 768", None, None),
    ],
)
def test_tokens_of_the_tokenizer(line: str, tokens: int | None, rows: int | None) -> None:
    assert (sizes.tokens(line), sizes.resized(line)) == (tokens, rows)


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("len(tokenizer) = 128256", "present"),
        ("tokenizer size: 49152", "present"),
        ("len(tokenizer) = 32016", "unknown"),  # a few that the script adds, and may give rows
        ("len(tokenizer) = 49152\nresize_token_embeddings: 32000 -> 49152", "absent"),
        ("len(tokenizer) = 32000", "absent"),
    ],
)
def test_a_tokenizer_that_the_model_has_no_rows_for(tmp_path: Path, said: str, wanted: str) -> None:
    (tmp_path / "run.log").write_text(f"{said}\n{ROWS}")
    (tmp_path / "config.json").write_text('{"model_type": "llama", "vocab_size": 32000, "hidden_size": 64}')
    assert reading("settings", "vocab-mismatch", open_run(tmp_path)).state == wanted


def test_the_samples_of_a_part(tmp_path: Path) -> None:
    """`num_samples(train)=...` in a line of assignments; that of the held-out part is left out."""
    content = read(tmp_path, f"num_samples(train)=1153041 steps_per_epoch=4504 batch=256\n{ROWS}")
    assert {s.key: s.value for s in content.settings} == {
        "num_samples": 1153041,
        "steps_per_epoch": 4504,
        "batch": 256,
    }
    content = read(tmp_path, f"num_samples(val)=50000 steps_per_epoch=4504 batch=256\n{ROWS}")
    assert 50000 not in [s.value for s in content.settings]

"""Logs that name the data sets and no loss, totals before their parts, and two models that log in turns."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.probes.readers.text import sides_told
from traindoctor.probes.readers.text.layouts import FAR

from ._text import curve, names, points, read

LOSSES = [0.91, 0.62, 0.44, 0.33, 0.27]


@pytest.mark.parametrize(
    "row",
    [
        "  train {0:.3f} (80.5%)  test {1:.3f} (78.1%)",
        "train: {0:.3f} / 80.5% | val: {1:.3f} / 78.1%",
        "2026-03-04 10:11:12,131 INFO fit | Training {0:.3f} [80.5%], validation {1:.3f} [78.1%]",
    ],
)
def test_a_number_beside_a_percentage_is_a_loss(tmp_path: Path, row: str) -> None:
    """Also where it rises: a run that fails is read as well."""
    for losses in (LOSSES, LOSSES[::-1]):
        text = "".join(f"Epoch {i}\n{row.format(v, v + 0.1)}\n" for i, v in enumerate(losses, 1))
        content = read(tmp_path, text)
        assert points(content, "train/loss") == list(enumerate(losses, 1))
        held = "test/loss" if "test" in row else "eval/loss"
        assert curve(content, held).values.tolist() == pytest.approx([v + 0.1 for v in losses])
        assert {n.partition("/")[2] for n in names(content)} >= {"accuracy"}


@pytest.mark.parametrize("row", ["[fit] train={0:.3f} | val={1:.3f}", "tr {0:.3f}; dev {1:.3f}"])
def test_numbers_that_fall_are_losses(tmp_path: Path, row: str) -> None:
    text = "".join(f"Epoch {i}\n{row.format(v, v + 0.1)}\n" for i, v in enumerate(LOSSES, 1))
    assert curve(read(tmp_path, text), "train/loss").values.tolist() == LOSSES


@pytest.mark.parametrize(
    "row",
    [
        "train {1:.3f}  val {0:.3f}",  # rises: a score without a name
        "time: train {0:.3f} val {0:.3f}",
        "train {0:.2f}s  val {0:.2f}s",
        "AUC train {0:.3f} test {0:.3f}",
        "learning rates: train {0:.3f} val {0:.3f}",
    ],
)
def test_other_numbers_of_two_sides_are_left_as_they_are(row: str) -> None:
    text = "".join(f"Epoch {i}\n{row.format(v, 1 - v)}\n" for i, v in enumerate(LOSSES, 1)).encode()
    assert sides_told.written_out(text, FAR) == (text, [])


def test_a_total_before_its_parts_is_the_loss(tmp_path: Path) -> None:
    text = "".join(
        f"epoch {i} done: train total {v:.2f} (bce {v / 2:.3f}, dice {v / 2:.3f})\n"
        f"    test total {v + 0.1:.2f}\n"
        for i, v in enumerate(LOSSES, 1)
    )
    content = read(tmp_path, text)
    assert points(content, "train/loss") == list(enumerate(LOSSES, 1))
    assert curve(content, "test/loss").values.tolist() == pytest.approx([v + 0.1 for v in LOSSES])
    assert {"train/loss/dice", "train/loss/bce"} <= names(content)
    assert not {"eval/dice", "train/dice"} & names(content)
    lone = b"train total 35.20\nval total 3.10\n" * 4
    assert sides_told.written_out(lone, FAR) == (lone, [])


def test_two_numbers_under_one_name_are_of_both_sides(tmp_path: Path) -> None:
    row = "epoch {0}  loss {1:.3f}  test loss {2:.3f}  RMSE {1:.3f} / {2:.3f}  R2 {3:.2f} / {4:.2f}\n"
    text = "".join(row.format(i, v, v + 0.3, 1 - v, 0.7 - v) for i, v in enumerate(LOSSES, 1))
    content = read(tmp_path, text)
    assert curve(content, "train/r2").values.tolist() == pytest.approx([1 - v for v in LOSSES], abs=0.01)
    assert curve(content, "test/r2").values.tolist() == pytest.approx([0.7 - v for v in LOSSES], abs=0.01)
    assert curve(content, "test/rmse").values.tolist() == pytest.approx([v + 0.3 for v in LOSSES], abs=0.01)


def test_the_best_so_far_is_no_other_side() -> None:
    scores = [0.2, 0.5, 0.4, 0.6]
    text = "".join(
        f"epoch {i} loss 0.{9 - i} val loss 0.9{i} acc {s:.2f} / {max(scores[:i]):.2f}\n"
        for i, s in enumerate(scores, 1)
    ).encode()
    assert sides_told.written_out(text, FAR) == (text, [])


@pytest.mark.parametrize(
    "row", ["  {0}: train loss {1:.3f}  test loss {1:.3f}", "10:11:12 INFO [{0}] train loss={1:.3f} acc=0.5"]
)
def test_one_of_two_models_makes_the_curve(tmp_path: Path, row: str) -> None:
    """The first, or the one that learns nothing while another does."""
    stuck = [0.92, 0.91, 0.92, 0.91, 0.92]
    for other, kept in ((LOSSES[:1] + LOSSES[1:], "wide"), (stuck, "deep")):
        text = "".join(
            f"Epoch {i}\n{row.format('wide', v)}\n{row.format('deep', u)}\n"
            for i, (v, u) in enumerate(zip(LOSSES, other, strict=True), 1)
        )
        content = read(tmp_path, text)
        assert points(content, "train/loss") == list(enumerate(LOSSES if kept == "wide" else stuck, 1))
        assert any(f"those of {kept}" in note for note in content.notes)


@pytest.mark.parametrize(
    ("one", "other"), [("D", "G"), ("train", "val"), ("INFO", "DEBUG"), ("fold1", "fold2")]
)
def test_parts_of_one_training_are_no_models(one: str, other: str) -> None:
    text = "".join(f"{one}: loss {v:.2f}\n{other}: loss {v:.2f}\n" for v in LOSSES).encode()
    assert sides_told.written_out(text, FAR) == (text, [])


def test_models_one_after_the_other_are_left() -> None:
    text = "".join(f"{m}: loss {v:.2f}\n" for m in ("wide", "deep") for v in LOSSES).encode()
    assert sides_told.written_out(text, FAR) == (text, [])

"""Rows that a log spreads over many lines, names of several words, values in sentences."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.probes.readers.text.layouts import written_out

from ._text import curve, names, points, read

SPACY = """\
ℹ Using CPU
E    #       LOSS TOK2VEC  LOSS NER  ENTS_F  ENTS_P  ENTS_R  SCORE
---  ------  ------------  --------  ------  ------  ------  ------
  0       0          0.00     45.20    2.10    1.90    2.35    0.02
  0     200         91.20    810.31   61.20   64.10   58.55    0.61
  1     400        104.77    420.90   68.01   70.20   65.95    0.68
"""
BOX = """\
Using cpu device
---------------------------------------
| rollout/              |             |
|    ep_rew_mean        | {0}         |
| time/                 |             |
|    total_timesteps    | {1}         |
| train/                |             |
|    learning_rate      | 0.0003      |
|    loss               | {2}         |
---------------------------------------
"""


def test_spacy_prints_a_table_over_dashes(tmp_path: Path) -> None:
    """Its columns are named E and #, and some names have two words."""
    content = read(tmp_path, SPACY)

    assert points(content, "train/loss/ner") == [(0, 45.2), (200, 810.31), (400, 420.9)]
    assert points(content, "eval/f1") == [(0, 0.02), (200, 0.61), (400, 0.68)]


def test_names_of_two_words_over_dashes(tmp_path: Path) -> None:
    """tabulate's simple format."""
    rows = "".join(f"{e:7d}  {2 / e:12.4f}  {2.2 / e:10.4f}\n" for e in range(1, 5))
    content = read(tmp_path, "  epoch    train loss    val loss\n-------  ------------  ----------\n" + rows)

    assert points(content, "train/loss")[0] == (1, 2.0)
    assert points(content, "eval/loss")[-1] == (4, 0.55)


def test_boxes_of_names_and_values(tmp_path: Path) -> None:
    """Stable-Baselines3 prints a framed dictionary for each row."""
    text = "".join(BOX.format(20 + i, 2048 * i, "nan" if i == 3 else 1 / i) for i in range(1, 5))
    content = read(tmp_path, text)

    assert [s for s, _ in points(content, "train/loss")] == [2048, 4096, 6144, 8192]
    assert {"train/reward", "learning_rate"} <= names(content)
    assert curve(content, "train/loss").lines.tolist() == [10, 20, 30, 40]  # type: ignore[union-attr]


def test_sentences_said_again_and_again(tmp_path: Path) -> None:
    """ "The training loss was 2.1 and the validation loss was 2.2", epoch after epoch."""
    text = "".join(
        f"Finished epoch {e} of 9. The training loss was {2 / e:.2f} and the validation loss was {3 / e:.2f};"
        f" validation accuracy {e / 10:.1%}.\n"
        for e in range(1, 6)
    )
    content = read(tmp_path, text)

    assert points(content, "train/loss")[:2] == [(1, 2.0), (2, 1.0)]
    assert points(content, "eval/loss")[-1] == (5, 0.6)


def test_other_frames_and_single_sentences_stay() -> None:
    """A table of a model's layers, a box that is cut off, one sentence in a README."""
    for text in (
        b"-----------------\n| Name | Type |\n-----------------\n| conv | Conv2d |\n| fc | Linear |\n",
        b"----------------\n| loss | 1.0 |\n| acc | 0.4 |\n",
        b"In the end the training loss was 0.3 and we stopped.\n",
        b"Layer (type)   Output Shape\n=============  ============\nconv  32\n",
    ):
        assert written_out(text) == text


@pytest.mark.parametrize(
    "stamp",
    [
        "03/04/2026 10:00:59 - INFO - __main__ -",
        "04.03.2026 10:00:59",
        "Wed Mar  4 10:00:59 2026",
        "[20260304-10:00:59]",
    ],
)
def test_a_date_is_no_count_of_steps(tmp_path: Path, stamp: str) -> None:
    """`03/04/2026 10:00:59 - INFO - epoch 1: eval_loss: 1.8` stands at the step that training has reached."""
    text = "".join(
        f"{stamp} epoch {e} completed_steps {40 * e + s} train_loss {2 - e / 4:.4f}\n"
        + (f"{stamp} epoch {e}: eval_loss: {2 - e / 4:.4f}\n" if s == 40 else "")
        for e in range(3)
        for s in (20, 40)
    )

    assert [s for s, _ in points(read(tmp_path, text), "eval/loss")] == [40, 80, 120]


def test_batches_of_an_evaluation_below_its_heading(tmp_path: Path) -> None:
    """PaddlePaddle's `Model.fit` counts the steps of both alike; "Eval begin..." tells them apart."""
    text = "".join(
        f"Epoch {e + 1}/3\n"
        + "".join(f"step {s}/40 - loss: {2 - e / 4:.4f} - 12ms/step\n" for s in (10, 20, 30, 40))
        + "Eval begin...\n"
        + "".join(f"step {s}/10 - loss: {9 - e + s / 100:.4f} - 8ms/step\n" for s in (5, 10))
        + "Eval samples: 320\n"
        for e in range(3)
    )
    content = read(tmp_path, text)

    assert [s for s, _ in points(content, "train/loss")] == [10 * k for k in range(1, 13)]
    assert [v for _, v in points(content, "eval/loss")] == [9.1, 8.1, 7.1]


def test_letters_count_epochs_and_batches(tmp_path: Path) -> None:
    """`[E 01/08] [B 010/040] loss: 0.5`."""
    text = "".join(
        f"[E {e:02d}/08] [B {b:03d}/040] loss: {2 - e / 4:.4f}\n" for e in (1, 2, 3) for b in (10, 20, 30, 40)
    )

    assert [s for s, _ in points(read(tmp_path, text), "train/loss")] == [10 * k for k in range(1, 13)]


def test_a_table_that_rich_draws(tmp_path: Path) -> None:
    """Its header is drawn with heavy lines, its rows with light ones."""
    rows = "".join(f"│ {e:5d} │ {2 - e / 4:10.4f} │ {12 * e:7.2f}% │\n" for e in range(1, 6))
    text = (
        "         Training\n┏━━━━━━━┳━━━━━━━━━━━━┳━━━━━━━━━━┓\n┃ Epoch ┃ Train loss ┃ Val acc  ┃\n"
        f"┡━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━━━┩\n{rows}└───────┴────────────┴──────────┘\n"
    )
    content = read(tmp_path, text)

    assert points(content, "train/loss") == [(e, 2 - e / 4) for e in range(1, 6)]
    assert len(points(content, "eval/accuracy")) == 5

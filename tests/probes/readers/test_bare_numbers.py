"""Numbers without names: the file's name says what they are, or nobody does."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.probes.readers import bare_numbers

from ._golden import placed, points, tried

ONE = "".join(f"{2.5 - i / 8:.18e}\n" for i in range(12))
TWO = "".join(f"{50 * i}\t{2.5 - i / 8:.4f}\n" for i in range(12))


def test_one_number_in_a_row_is_a_point(tmp_path: Path) -> None:
    content, _ = tried(
        placed(tmp_path, "val_loss.txt", ONE.replace("1.000000000000000000e+00", "nan").encode())
    )

    assert (
        [(s.raw, s.unit, len(s)) for s in content.series] == [("val_loss", "row", 12)] if content else False
    )


def test_the_first_of_two_is_the_step(tmp_path: Path) -> None:
    content, _ = tried(placed(tmp_path, "train_losses.dat", TWO.encode()))

    assert points(content)[("train_loss", "", None, "step")][-1] == (550.0, 1.125)


def test_of_three_the_others_are_training_and_held_out_data(tmp_path: Path) -> None:
    rows = "".join(f"{i} {2.5 / (i + 1):.4f} {2.6 / (i + 1) + 0.3:.4f}\n" for i in range(12))
    content, _ = tried(placed(tmp_path, "loss.txt", rows.encode()))

    assert points(content)[("train loss", "", None, "row")][-1] == (11.0, 0.2083)
    assert points(content)[("eval loss", "", None, "row")][-1] == (11.0, 0.5167)


def test_what_a_loop_printed_is_its_loss(tmp_path: Path) -> None:
    """`print(step, loss.item())` into a file that is called an output; scores by number are none."""
    content, _ = tried(placed(tmp_path, "out.txt", TWO.encode()))

    assert points(content)[("loss", "", None, "step")][-1] == (550.0, 1.125)

    scores = "".join(f"{i} {0.5 + (i * 7 % 5) / 10}\n" for i in range(40))

    assert not bare_numbers.sniff(placed(tmp_path, "output.txt", scores.encode()))
    assert not bare_numbers.sniff(placed(tmp_path, "submission.txt", TWO.encode()))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("labels.txt", ONE),
        ("loss.txt", "".join(f"{i} {2.5 / (i + 1):.4f} {i / 12 + 0.1:.4f}\n" for i in range(12))),  # accuracy
        ("loss.txt", TWO.replace("\t", "\t0.5\t")),  # which of the two is the loss?
        ("loss.txt", "".join(f"{i % 4} {i}\n" for i in range(12))),  # no steps
        ("loss.txt", ONE[:60]),
        ("loss.txt", ONE + "done\n"),
        ("losses.json", "[[1, 2, 3, 4, 5, 6, 7, 8, 9], [1]]"),
    ],
)
def test_what_is_no_curve(tmp_path: Path, name: str, text: str) -> None:
    assert not bare_numbers.sniff(placed(tmp_path, name, text.encode()))

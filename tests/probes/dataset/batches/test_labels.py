"""Labels, boxes and tables: coding, numbering, place, columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ._pairs import Array, compared, dump, told

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(40, 3, 6, 6))
LABEL = RANDOM.integers(0, 5, 40)
HOT = np.eye(5)[LABEL]


@pytest.mark.parametrize(
    ("mine", "theirs", "kind", "words"),
    [
        (LABEL[::-1], LABEL, "label-apart", "the inputs stand in the same order and the labels do not"),
        (np.roll(LABEL, 1), LABEL, "label-apart", "1 place further down"),
        (HOT, LABEL * 1.0, "label-coding", "one-hot labels here, class numbers in the benchmark"),
        (HOT * 0.9 + 0.02, HOT, "label-coding", "label smoothing"),
        ((LABEL == 0) * 1, LABEL, "label-coding", "5 classes of the benchmark's are 2 here"),
        (LABEL * 0, LABEL, "label-coding", "every label is 0 here"),
        ((LABEL > 2) * 2 - 1, (LABEL > 2) * 1, "label-numbering", "-1 for 0"),
        (LABEL[:, None], LABEL, "layout", "a loss may broadcast"),
        (np.log1p(LABEL * 100.0), LABEL * 100.0, "function", "the logarithm is taken here"),
        ((LABEL * 100.0 - 210) / 50, LABEL * 100.0, "normalisation", "times (50) plus (210)"),
        (np.where(np.arange(40) == 7, (LABEL + 2) % 5, LABEL), LABEL, "values", "2% of the labels differ"),
    ],
)
def test_labels(
    mine: NDArray[np.generic], theirs: NDArray[np.generic], kind: str, words: str, tmp_path: Path
) -> None:
    ((found, said),) = told(tmp_path, {"image": X, "label": mine}, {"image": X, "label": theirs})

    assert found == kind
    assert words in said


def test_labels_stay_while_the_inputs_are_shuffled(tmp_path: Path) -> None:
    ((kind, said),) = told(tmp_path, {"image": X[::-1], "label": LABEL}, {"image": X, "label": LABEL})

    assert kind == "label-apart"
    assert "the inputs are in another" in said


def test_labels_of_other_samples_are_no_finding_of_their_own(tmp_path: Path) -> None:
    mine = {"image": RANDOM.normal(size=X.shape), "label": LABEL[::-1]}

    assert [kind for kind, _ in told(tmp_path, mine, {"image": X, "label": LABEL})] == ["other-samples"]


CORNER = RANDOM.uniform(0, 300, (40, 4, 2))
BOXES = np.concatenate([CORNER, CORNER + RANDOM.uniform(10, 100, (40, 4, 2))], axis=-1)
SIZES = np.concatenate([CORNER, BOXES[..., 2:] - CORNER], axis=-1)
CENTRES = np.concatenate([(CORNER + BOXES[..., 2:]) / 2, SIZES[..., 2:]], axis=-1)


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (SIZES, "corner and size (x, y, w, h) here, corners"),
        (CENTRES, "centre and size (cx, cy, w, h) here, corners"),
        (CENTRES / 400, "shares of the picture here, pixels there"),
        (BOXES / np.array([640, 480, 640, 480]), "shares of the picture here, pixels there"),
        (BOXES[..., [1, 0, 3, 2]], "x and y are exchanged"),
        (BOXES + 1, "is added here"),
    ],
)
def test_boxes(mine: Array, words: str, tmp_path: Path) -> None:
    ((kind, said),) = told(tmp_path, {"image": X, "boxes": mine}, {"image": X, "boxes": BOXES})

    assert kind == "boxes"
    assert words in said


TABLE = RANDOM.normal(size=(60, 5)) * np.arange(1, 6) + np.arange(10, 60, 10)


def changed(column: int, values: object, rows: slice = slice(None)) -> Array:
    table = TABLE.copy()
    table[rows, column] = values
    return table


@pytest.mark.parametrize(
    ("mine", "kind", "words"),
    [
        (TABLE[:, [0, 2, 1, 3, 4]] * 2.0, "column-order", "2 columns stand in another order"),
        (changed(2, np.log(TABLE[:, 2])), "function", "column 2: the logarithm is taken here"),
        (
            changed(2, TABLE[:, 2] * 100),
            "normalisation",
            "1 of 5 columns are scaled otherwise (column 2: 0.01",
        ),
        (changed(3, 0, slice(None, None, 6)), "fill", "10 values are 0 here"),
        (changed(3, np.nan, slice(None, None, 6)), "fill", "10 values are missing (NaN) here"),
        (TABLE[:, :4], "missing-field", "column 4 of the benchmark's missing here"),
        (np.minimum(TABLE, 45), "function", "cut off at 45 here"),
        (np.rint(TABLE), "rounding", "rounded to whole numbers here"),
    ],
)
def test_tables(mine: Array, kind: str, words: str, tmp_path: Path) -> None:
    found = told(tmp_path, {"features": mine}, {"features": TABLE})

    assert found[0][0] == kind
    assert words in found[0][1]
    assert len(found) == 1 or kind == "column-order"


def test_batches_of_another_size_hold_the_same_samples(tmp_path: Path) -> None:
    from traindoctor.probes.dataset.batches import compare

    a, b = dump(tmp_path / "a", {"features": TABLE}, 3), dump(tmp_path / "b", {"features": TABLE}, 6)

    found = compare(a, b)

    assert found is not None
    assert [d.kind for d in found.differences] == ["count"]
    assert "batches of 20 against 10" in found.differences[0].words


def test_arrays_without_names_are_kept_apart(tmp_path: Path) -> None:
    """np.savez(file, x, y) calls them arr_0 and arr_1; folders may name what files only number."""
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    theirs.mkdir()
    for at in range(2):
        np.savez(theirs / f"batch_{at}.npz", X, LABEL)
        for name, values in (("images", X), ("labels", LABEL)):
            (mine / name).mkdir(parents=True, exist_ok=True)
            np.save(mine / name / f"{at:04d}.npy", values)

    from traindoctor.probes.dataset.batches import compare

    found = compare(mine, theirs)

    assert found is not None
    assert found.differences == ()
    assert len(found.fields) == 2


def test_infinite_values_are_told_and_break_nothing(tmp_path: Path) -> None:
    ((kind, said), *_) = told(tmp_path, {"features": changed(1, np.inf, slice(0, 3))}, {"features": TABLE})

    assert kind == "values"
    assert "3 infinite values here, 0 in the benchmark" in said


def test_equal_fields_are_equal(tmp_path: Path) -> None:
    fields = {"image": X, "label": LABEL, "boxes": BOXES, "features": TABLE[:40]}

    assert compared(tmp_path, fields, fields).differences == ()

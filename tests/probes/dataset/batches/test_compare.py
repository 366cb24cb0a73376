"""Two folders of dumped batches: every known way to differ is told by its name, and equal is equal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from traindoctor.probes.dataset.batches import Compared, compare

Array = NDArray[np.float64]
IMAGENET = (np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225]))


def pixels(seed: int = 0, n: int = 8) -> Array:
    """[n, 3, 24, 24] smooth pictures from 0 to 1 whose channels differ."""
    random = np.random.default_rng(seed)
    grid = np.linspace(0, 1, 24)
    waves = np.sin(random.uniform(1, 9, (n, 3, 1, 1)) * grid[:, None] + random.uniform(0, 6, (n, 3, 1, 1)))
    slopes = random.uniform(-1, 1, (n, 3, 1, 1)) * grid[None, :] * np.array([1.0, 0.6, 0.3])[:, None, None]
    found = 0.5 + 0.25 * waves + 0.2 * slopes
    return np.clip(np.rint(found * 255) / 255, 0, 1)


def dump(folder: Path, **fields: object) -> Path:
    """Write fields as two batches each."""
    folder.mkdir()
    for name, values in fields.items():
        for i, half in enumerate(np.array_split(np.asarray(values), 2)):
            np.save(folder / f"batch_{i}_{name}.npy", half)
    return folder


def compared(tmp_path: Path, mine: object, theirs: object, field: str = "image") -> Compared:
    a, b = dump(tmp_path / "a", **{field: mine}), dump(tmp_path / "b", **{field: theirs})
    found = compare(a, b)
    assert found is not None
    return found


def normalised(x: Array, mean: Array, std: Array) -> Array:
    return (x - mean[:, None, None]) / std[:, None, None]


def resized(x: Array) -> Array:
    """Another interpolation on the way: neighbours averaged a little."""
    return 0.6 * x + 0.2 * np.roll(x, 1, -1) + 0.2 * np.roll(x, 1, -2)


X = pixels()
CASES: dict[str, tuple[Array, Array, str]] = {
    "layout": (X.transpose(0, 2, 3, 1), X, "layout"),
    "bgr": (X[:, ::-1], X, "channel-order"),
    "bgr-nhwc": (X.transpose(0, 2, 3, 1)[..., ::-1], X.transpose(0, 2, 3, 1), "channel-order"),
    "no-255": (X * 255, X, "scale"),
    "twice-255": (X / 255, X, "scale"),
    "other-constants": (
        normalised(X, np.full(3, 0.5), np.full(3, 0.5)),
        normalised(X, *IMAGENET),
        "normalisation",
    ),
    "unknown-constants": (
        normalised(X, np.array([0.1, 0.2, 0.3]), np.array([0.7, 0.8, 0.9])),
        X,
        "normalisation",
    ),
    "mirrored": (X[..., ::-1], X, "flip"),
    "upside-down": (X[:, :, ::-1], X, "flip"),
    "height-width": (X.swapaxes(2, 3), X, "layout"),
    "crop": (X[:, :, 4:20, 4:20], X, "crop"),
    "size": (X[:, :, ::2, ::2], X, "size"),
    "interpolation": (resized(X), X, "resampling"),
    "order": (X[[3, 1, 0, 2, 7, 6, 5, 4]], X, "order"),
    "other-samples": (pixels(5), X, "other-samples"),
    "rounding": (X + 1e-5 * np.random.default_rng(1).normal(size=X.shape), X, "rounding"),
}


@pytest.mark.parametrize("case", CASES)
def test_each_difference_is_named(case: str, tmp_path: Path) -> None:
    mine, theirs, kind = CASES[case]

    found = compared(tmp_path, mine, theirs)

    assert [d.kind for d in found.differences] == [kind]


def test_known_constants_are_named_on_both_sides(tmp_path: Path) -> None:
    mine, theirs, _ = CASES["other-constants"]

    (found,) = compared(tmp_path, mine, theirs).differences

    assert "mean 0.5 and deviation 0.5" in found.words.split(" here")[0]
    assert "ImageNet" in found.words.split(" here")[1]


def test_bgr_under_one_normalisation_is_both(tmp_path: Path) -> None:
    """Channels read the other way round, then normalised for RGB: two steps, the first is named."""
    mine = normalised(X[:, ::-1], *IMAGENET)

    found = compared(tmp_path, mine, normalised(X, *IMAGENET))

    assert found.of("channel-order")


def test_missing_division_and_type_are_both_told(tmp_path: Path) -> None:
    found = compared(tmp_path, np.rint(X * 255).astype(np.uint8), X.astype(np.float32))

    assert {d.kind for d in found.differences} == {"dtype", "scale"}


@pytest.mark.parametrize("change", [lambda x: x, lambda x: x * (1 + 1e-7)], ids=["same", "last digit"])
def test_equal_within_the_tolerance_of_allclose(change: Callable[[Array], Array], tmp_path: Path) -> None:
    found = compared(tmp_path, change(X), X)

    assert found.differences == ()
    assert found.numbers == X.size


LABELS = np.tile(np.arange(5), 8)


@pytest.mark.parametrize(
    ("mine", "kind"),
    [
        (LABELS + 1, "label-offset"),
        (np.array([3, 1, 4, 0, 2])[LABELS], "label-numbering"),
        (np.random.default_rng(3).permutation(LABELS), "order"),
        (np.random.default_rng(0).integers(0, 3, 40), "values"),
    ],
)
def test_labels(mine: NDArray[np.int64], kind: str, tmp_path: Path) -> None:
    found = compared(tmp_path, mine, LABELS, "label")

    assert [d.kind for d in found.differences] == [kind]


def test_tokens_padded_on_the_other_side(tmp_path: Path) -> None:
    right = np.zeros((6, 12), dtype=np.int64)
    left = right.copy()
    for i in range(6):
        right[i, : i + 3] = np.arange(5, i + 8)
        left[i, -(i + 3) :] = np.arange(5, i + 8)

    found = compared(tmp_path, left, right, "input_ids")

    assert [d.kind for d in found.differences] == ["padding"]


def test_columns_in_another_order(tmp_path: Path) -> None:
    table = np.random.default_rng(0).normal(size=(40, 4))

    found = compared(tmp_path, table[:, [1, 0, 2, 3]], table, "features")

    assert [d.kind for d in found.differences] == ["column-order"]


def test_a_field_that_one_side_lacks_and_fewer_batches(tmp_path: Path) -> None:
    a = dump(tmp_path / "a", image=X)
    b = dump(tmp_path / "b", image=X, label=np.arange(8))
    np.save(b / "batch_2_image.npy", X)

    found = compare(a, b)

    assert found is not None
    assert {d.kind for d in found.differences} >= {"missing-field", "count"}


def test_npz_batches_under_other_names(tmp_path: Path) -> None:
    """One side calls its field x, the other images: the role leaves one choice."""
    for side, name in (("a", "x"), ("b", "images")):
        (tmp_path / side).mkdir()
        np.savez(tmp_path / side / "batch_0.npz", **{name: X, "labels": np.arange(8)})

    found = compare(tmp_path / "a", tmp_path / "b")

    assert found is not None
    assert found.differences == ()
    assert len(found.fields) == 2


def test_nothing_to_compare(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "batch_0.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00{'descr': '|O'")
    dump(tmp_path / "b", image=X)

    assert compare(tmp_path / "a", tmp_path / "b") is None

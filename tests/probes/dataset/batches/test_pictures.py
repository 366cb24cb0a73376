"""Pictures: each step that lies between two sides is told by its name, and only that."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ._pairs import Array, blurred, pixels, told

RAW = pixels()
MEAN, STD = np.array([0.485, 0.456, 0.406])[:, None, None], np.array([0.229, 0.224, 0.225])[:, None, None]
GREY = (RAW * np.array([0.299, 0.587, 0.114])[:, None, None]).sum(axis=1, keepdims=True)


def normal(x: Array) -> Array:
    return (x / 255 - MEAN) / STD


def bordered(value: float) -> Array:
    out = np.full((len(RAW), 3, 40, 40), float(value))
    out[:, :, 4:36] = RAW
    return out


def erased(x: Array) -> Array:
    x = x.copy()
    x[:, :, 8:16, 4:20] = 0
    return x


X = normal(RAW)
RANDOM = np.random.default_rng(1)
CASES: dict[str, tuple[Array, Array, str, str]] = {
    "float16": (X.astype(np.float16), X.astype(np.float32), "dtype", "equal within its precision"),
    "bfloat16": (
        (X.astype(np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32),
        X.astype(np.float32),
        "rounding",
        "bfloat16",
    ),
    "noise": (X + 0.1 * RANDOM.normal(size=X.shape), X, "noise", "noise on top"),
    "blur": (normal(blurred(RAW)), X, "resampling", "smoother here"),
    "bgr-before-normalising": (normal(RAW[:, ::-1]), X, "channel-order", "before both are normalised"),
    "other-channel-order": (X[:, [1, 2, 0]], X, "channel-order", "another order"),
    "mean-and-deviation-exchanged": ((RAW / 255 - STD) / MEAN, X, "normalisation", "are exchanged"),
    "no-255-before-the-mean": ((RAW - MEAN) / STD, X, "scale", "division by 255 is missing"),
    "inverted": (1 - RAW / 255, RAW / 255, "scale", "inverted"),
    "gamma": ((RAW / 255) ** 2.2, RAW / 255, "function", "gamma"),
    "each-normalised": (
        (RAW - RAW.mean((1, 2, 3), keepdims=True)) / RAW.std((1, 2, 3), keepdims=True),
        X,
        "normalisation",
        "its own mean and deviation here",
    ),
    "cut-off": (np.clip(X, -1, 1), X, "function", "cut off at -1 and 1 here"),
    "grey": (
        np.repeat(GREY, 3, axis=1) / 255,
        RAW / 255,
        "layout",
        "made grey (the channels weighted (0.299",
    ),
    "grey-one-channel": (GREY / 255, RAW / 255, "layout", "read as grey here"),
    "alpha": (np.concatenate([RAW, RAW[:, :1] * 0 + 255], 1), RAW, "layout", "alpha"),
    "turned-180": (X[:, :, ::-1, ::-1], X, "flip", "180"),
    "turned-90": (np.rot90(X, 1, (2, 3)), X, "flip", "90"),
    "random-flip": (
        np.stack([p[..., ::-1] if i % 2 else p for i, p in enumerate(X)]),
        X,
        "augmentation",
        "4 of 8 samples are mirrored",
    ),
    "brightness": (
        normal(np.clip(RAW * RANDOM.uniform(0.7, 1.2, (8, 1, 1, 1)), 0, 255)),
        X,
        "augmentation",
        "scale of its own",
    ),
    "random-crop": (
        X[:, :, 4:28, 8:32],
        np.stack([p[:, i : i + 24, 2 * i : 2 * i + 24] for i, p in enumerate(X)]),
        "augmentation",
        "another part of the picture in each sample",
    ),
    "moved": (np.roll(X, 2, 3), X, "crop", "moved by 0 rows and 2 columns"),
    "smaller-part": (X[:, :, 3:27, 8:32], X, "crop", "from row 3 and column 8 on"),
    "letterbox": (bordered(114), np.concatenate([RAW, RAW[:, :, :8]], 2), "padding", "border of 114 here"),
    "border-value": (bordered(114), bordered(0), "padding", "114 here, with 0"),
    "erased": (erased(X), X, "augmentation", "a part is erased"),
    "resized": (X[:, :, ::2, ::2], X, "size", "the whole picture at another size"),
    "constant": (X * 0, X, "values", "every value is 0 here"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_step_is_named_alone(case: str, tmp_path: Path) -> None:
    mine, theirs, kind, words = CASES[case]

    ((found, said),) = told(tmp_path, {"image": mine}, {"image": theirs})

    assert found == kind
    assert words in said


def test_two_steps_are_both_told(tmp_path: Path) -> None:
    found = told(tmp_path, {"image": RAW.astype(np.uint8).transpose(0, 2, 3, 1)}, {"image": X})

    assert [kind for kind, _ in found] == ["dtype", "layout", "normalisation"]


def test_what_no_step_explains_is_said_to_differ(tmp_path: Path) -> None:
    """Waves on top of each picture: neither noise nor another size."""
    wave = 0.8 * np.sin(np.arange(X.shape[-1]) / 3)

    ((kind, said),) = told(tmp_path, {"image": X + wave}, {"image": X})

    assert kind == "values"
    assert "no single step was found" in said


def test_pictures_are_matched_before_they_are_compared(tmp_path: Path) -> None:
    """Another order and another normalisation: two steps, and the labels go with their pictures."""
    label = np.arange(8) % 3

    found = told(
        tmp_path,
        {"image": (RAW[::-1] / 255 - 0.5) / 0.5, "label": label[::-1]},
        {"image": X, "label": label},
    )

    assert [kind for kind, _ in found] == ["order", "normalisation"]


def test_maps_turn_with_their_pictures_or_stay_behind(tmp_path: Path) -> None:
    maps = RANDOM.integers(0, 4, (8, 32, 40))
    theirs = {"image": X, "mask": maps}
    (tmp_path / "with").mkdir()
    (tmp_path / "without").mkdir()

    along = told(tmp_path / "with", {"image": X[..., ::-1], "mask": maps[..., ::-1]}, theirs)
    behind = told(tmp_path / "without", {"image": X[..., ::-1], "mask": maps}, theirs)

    assert along == [("flip", "image, mask: mirrored left to right")]
    assert [kind for kind, _ in behind] == ["flip", "label-apart"]


@pytest.mark.parametrize("random", [False, True])
def test_other_parts_of_soft_pictures(random: bool, tmp_path: Path) -> None:
    """Soft pictures fit anywhere a little: their detail tells where they were cut; a plain one nothing."""
    draw = np.random.default_rng(3)
    far = np.stack([_soft(draw) for _ in range(12)])
    far[5] = draw.normal(0, 1e-3, far[5].shape)
    at = draw.integers(0, 20, (12, 2)) if random else np.zeros((12, 2), int)
    mine = np.stack([f[:, r : r + 44, c : c + 44] for f, (r, c) in zip(far, at, strict=True)])
    ((kind, words),) = told(tmp_path, {"image": mine}, {"image": far[:, :, 10:54, 10:54]})

    assert kind == ("augmentation" if random else "crop")
    assert ("in each sample" if random else "moved by 10 rows and 10 columns") in words


def _soft(draw: np.random.Generator) -> np.ndarray:
    """A picture [3, 64, 64] of a few waves, and a little detail."""
    y, x = np.mgrid[:64, :64] / 64
    waves = sum(np.sin(6.3 * (a * x + b * y) + c) for a, b, c in draw.uniform(-1, 1, (4, 3)))
    fine = draw.normal(0, 0.05, (64, 64))
    return np.stack([waves * s + fine for s in (1.0, 0.8, 1.2)])


def zoomed(x: Array, rows: list[float], columns: list[float]) -> Array:
    """The middle of each picture, these shares of it, enlarged to its size (linear)."""

    def at(n: int, share: float) -> tuple[Array, Array]:
        place = (np.arange(n) + 0.5 - n / 2) * share + n / 2 - 0.5
        low = np.clip(place.astype(int), 0, n - 2)
        return low, place - low

    out = np.empty_like(x)
    for i, (r, c) in enumerate(zip(rows, columns, strict=True)):
        (top, down), (left, right) = at(x.shape[2], r), at(x.shape[3], c)
        tall = x[i][:, top] * (1 - down)[:, None] + x[i][:, top + 1] * down[:, None]
        out[i] = tall[:, :, left] * (1 - right) + tall[:, :, left + 1] * right
    return out


FINE = pixels(3, 10, 64, 64)


@pytest.mark.parametrize("turn", [False, True])
def test_resized_without_the_crop(turn: bool, tmp_path: Path) -> None:
    part = zoomed(FINE, [0.875] * 10, [0.875] * 10)
    sides = ({"image": normal(FINE)}, {"image": normal(part)})
    mine, theirs = sides[::-1] if turn else sides

    ((kind, words),) = told(tmp_path, mine, theirs)

    assert kind == "crop"
    assert f"show more {'there' if turn else 'here'}" in words
    assert "88% of the rows" in words or "87% of the rows" in words or "90% of the rows" in words


def test_stretched_by_the_shape_of_each(tmp_path: Path) -> None:
    shares = [0.6 + 0.04 * i for i in range(10)]
    part = zoomed(FINE, shares, [1.0] * 10)

    ((kind, words),) = told(tmp_path, {"image": FINE}, {"image": part})

    assert kind == "crop"
    assert "by the shape of each" in words


def test_another_interpolation_is_no_zoom(tmp_path: Path) -> None:
    found = told(tmp_path, {"image": blurred(FINE)}, {"image": FINE})

    assert [k for k, _ in found] == ["resampling"]


def test_cut_from_a_corner_and_from_the_middle(tmp_path: Path) -> None:
    """Portraits, whose middle lies the lower the taller they are; a random crop goes to all sides."""
    big = pixels(5, 10, 64, 44)
    down = [4 + i % 6 for i in range(10)]
    middle = np.stack([s[:, d : d + 36, 4:40] for s, d in zip(big, down, strict=True)])
    ((kind, words),) = told(tmp_path, {"image": big[:, :, :36, :36]}, {"image": middle})
    assert kind == "crop"
    assert "from a corner" in words

    random = np.random.default_rng(0)
    places = random.integers(0, 8, (10, 2))
    other = np.stack([s[:, r : r + 36, c : c + 36] for s, (r, c) in zip(big, places, strict=True)])
    folder = tmp_path / "random"
    folder.mkdir()
    ((kind, _),) = told(folder, {"image": other}, {"image": middle})
    assert kind == "augmentation"


def test_bytes_that_wrapped_around_are_no_erased_part(tmp_path: Path) -> None:
    bright = np.clip(RAW + 60, 0, 255)
    wrapped = (RAW + 60) % 256
    assert (bright != wrapped).mean() > 0.01

    found = told(tmp_path, {"image": wrapped}, {"image": bright})

    assert not any("erased" in words for _, words in found)


def test_grey_before_the_normalisation(tmp_path: Path) -> None:
    ((kind, words),) = told(tmp_path, {"image": normal(np.repeat(GREY, 3, axis=1))}, {"image": X})

    assert kind == "layout"
    assert "made grey" in words


def test_masks_of_255_for_1_are_scaled(tmp_path: Path) -> None:
    mask = (RAW[:, 0] > 120).astype(np.int64)
    found = told(tmp_path, {"image": X, "mask": mask * 255}, {"image": X, "mask": mask})

    assert [k for k, _ in found] == ["label-numbering"]

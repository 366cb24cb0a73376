"""Masks that do not fit their image, hold other values in one split, or were smoothed; turned pictures."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from traindoctor.engine.model import State
from traindoctor.probes.dataset.media import read_header
from traindoctor.probes.files import RunFile

from ._make import reading
from ._masks import Pair, loose, masked, one_on, smoothed

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN


@pytest.mark.parametrize(
    ("change", "state", "why"),
    [
        (lambda _, p: p, A, ""),
        (lambda _, p: [(a, m * 255) for a, m in p], A, ""),
        (one_on, P, "on edges of the image before"),
        (lambda s, p: [(a[:, ::-1], m) for a, m in p] if s == "val" else p, P, "flipped left to right"),
        (lambda _, p: [(a, np.roll(m, 6, 1)) for a, m in p], P, "moved by 9% of the width"),
        (smoothed, A, ""),
        (loose, A, ""),
        # Pictures that show nothing of what is masked tell nothing.
        (
            lambda _, p: [(np.full_like(a, 90) + np.arange(64, dtype=np.uint8)[:, None], m) for a, m in p],
            A,
            "",
        ),
    ],
)
def test_masks_and_their_images(
    change: Callable[[str, list[Pair]], list[Pair]], state: State, why: str, tmp_path: Path
) -> None:
    found = reading("masks-unlike-images", masked(tmp_path / "set", change))
    assert found.state is state
    assert why in found.why


def test_values_of_masks(tmp_path: Path) -> None:
    def scaled(split: str, pairs: list[Pair]) -> list[Pair]:
        return [(p, m * 255) if split == "val" else (p, m) for p, m in pairs]

    def rare(split: str, pairs: list[Pair]) -> list[Pair]:
        """A class that few masks of evaluation hold, and one that all of training do."""
        return [(p, m + 3 * (i == 0) * (split == "val")) for i, (p, m) in enumerate(pairs)]

    found = reading("classes-unseen-in-training", masked(tmp_path / "scaled", scaled))
    assert found.state is P
    assert "255" in found.why
    assert reading("classes-unseen-in-training", masked(tmp_path / "rare", rare)).state is U
    assert reading("classes-unseen-in-training", masked(tmp_path / "few", scaled, 6)).state is U


def oriented(path: Path, tag: int, order: str = "<") -> None:
    """A JPEG of 32 x 20 with an EXIF orientation (0: no EXIF)."""
    images = pytest.importorskip("PIL.Image")
    path.parent.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(len(path.name) + tag)
    images.fromarray(random.integers(0, 255, (20, 32, 3), dtype=np.uint8)).save(path)
    if tag:
        mark = b"II*\0" if order == "<" else b"MM\0*"
        entry = struct.pack(f"{order}HHIHH", 0x0112, 3, 1, tag, 0)
        exif = b"Exif\0\0" + mark + struct.pack(f"{order}IH", 8, 1) + entry + bytes(4)
        plain = path.read_bytes()
        path.write_bytes(plain[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + plain[2:])


@pytest.mark.parametrize("order", ["<", ">"])
def test_orientation_is_read(order: str, tmp_path: Path) -> None:
    oriented(tmp_path / "a.jpg", 6, order)
    size = (tmp_path / "a.jpg").stat().st_size
    header = read_header(RunFile(tmp_path, "a.jpg", size, 0.0))
    assert (header.turned, header.width, header.height) == (6, 32, 20)


def test_pictures_that_lie_turned_in_one_split(tmp_path: Path) -> None:
    for name, tags in (("one", (1, 6)), ("both", (6, 6)), ("phone", (0, 1))):
        for split, tag in zip(("train", "val"), tags, strict=True):
            for i in range(24):
                oriented(tmp_path / name / split / "ab"[i % 2] / f"{i:03d}{'x' * i}.jpg", tag)

    assert "EXIF" in reading("splits-turned", tmp_path / "one").why
    assert reading("splits-turned", tmp_path / "both").state is U
    assert reading("splits-turned", tmp_path / "phone").state is U

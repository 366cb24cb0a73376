"""Folders of array files, a sample each, with their labels beside them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from traindoctor.engine.model import State

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN


def volumes(
    change: Callable[[int, Any], Any] = lambda _, v: v, lost: int = -1, cut: int = -1, count: int = 12
) -> Callable[[Path], None]:
    """Volumes [8, 12, 12] of about -400 to 300, each with a mask of its name and size."""

    def build(root: Path) -> None:
        random = np.random.default_rng(0)
        for i in range(count):
            volume = random.normal(0, 40, (8, 12, 12)) + np.linspace(-400, 300, 12)[:, None]
            mask = (volume > 100).astype(np.uint8)
            for where, array in (("imagesTr", change(i, volume)), ("labelsTr", mask)):
                (root / where).mkdir(parents=True, exist_ok=True)
                if where == "imagesTr" or i != lost:
                    kept = array[:-1] if where == "labelsTr" and i == cut else array
                    np.save(root / where / f"case_{i:03d}.npy", kept)

    return build


def faint(i: int, volume: Any) -> Any:
    """Each goes another way, up to four times as far."""
    return volume * (1 + i % 4)


CASES = [
    ("data-files-unlike", volumes(), A),
    ("data-files-unlike", volumes(lambda i, v: (v + 400) / 700 if i % 5 == 0 else v), P),
    ("data-files-unlike", volumes(lambda i, v: v.transpose(1, 2, 0) if i == 3 else v), P),
    ("data-files-unlike", volumes(lambda i, v: v[: 4 + i % 5]), A),
    ("data-files-unlike", volumes(faint), A),
    ("data-files-unlike", volumes(lambda i, v: v if i % 2 else v / 700), A),
    ("data-files-unlike", volumes(count=3), U),
    ("masks-unlike-images", volumes(), A),
    ("masks-unlike-images", volumes(lost=4), P),
    ("masks-unlike-images", volumes(cut=4), P),
    ("masks-unlike-images", volumes(lambda _, v: np.stack([v, v])), A),
]

"""Columns of texts that were decoded wrongly, and of numbers in two units."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from traindoctor.engine.model import State

from ._make import HEADER, csv, table

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN
Build = Callable[[Path], None]


def texts(text: str, every: int = 10, encoding: str = "utf-8") -> Build:
    """300 rows, each `every`-th of which holds `text`."""

    def build(root: Path) -> None:
        lines = [f"{text if i % every == 0 else 'plain words'} {i},{i % 3}" for i in range(300)]
        root.mkdir(parents=True, exist_ok=True)
        (root / "train.csv").write_text("\n".join(["text,label", *lines]) + "\n", encoding=encoding)

    return build


def measured(factor: float, other: float = 0.0, every: int = 5) -> Build:
    """Heights about 172 (of every fifth row about 172 + `other`), every fifth one times `factor`."""

    def build(root: Path) -> None:
        tall = np.random.default_rng(0).normal(172, 9, 600)
        tall[::every] = (tall[::every] + other) * factor
        rows = [[f"{h:.6g}", i % 2] for i, h in enumerate(tall)]
        csv(root / "train.csv", ("height", "label"), rows)

    return build


def plain(root: Path) -> None:
    csv(root / "train.csv", HEADER, table())


def nothing(root: Path) -> None:
    root.mkdir(parents=True, exist_ok=True)
    (root / "rank0.txt").write_text("\n".join(map(str, range(40))))


def prices(root: Path) -> None:
    """Tickets of 5 to 9 and flats of a hundred times that and more: two kinds, no two units."""
    random = np.random.default_rng(1)
    cheap, dear = random.uniform(5, 9, 400), np.exp(random.normal(6.6, 0.5, 200))
    rows = [[f"{v:.2f}", i % 2] for i, v in enumerate([*cheap, *dear])]
    csv(root / "train.csv", ("price", "label"), rows)


CASES = [
    ("data-text-miscoded", texts("dÃ©jÃ\xa0 vu"), P),
    ("data-text-miscoded", texts("itâ€™s"), P),
    ("data-text-miscoded", texts("lost \ufffd letters"), P),
    ("data-text-miscoded", texts("Ð¿Ñ€Ð¸Ð²ÐµÑ‚"), P),
    ("data-text-miscoded", texts("déjà «CAFÉ» AMANHÃ” 20°C 中文 привет Âge â"), A),
    ("data-text-miscoded", texts("déjà vu", encoding="cp1252"), A),
    ("data-text-miscoded", texts("dÃ©jÃ\xa0 vu", every=200), U),
    ("data-text-miscoded", nothing, U),
    ("data-units-mixed", measured(0.01), P),
    ("data-units-mixed", measured(1000), P),
    ("data-units-mixed", measured(0.02), A),
    ("data-units-mixed", measured(0.01, other=30.0), A),
    ("data-units-mixed", measured(0.01, every=100), A),
    ("data-units-mixed", prices, A),
    ("data-units-mixed", plain, A),
    ("data-units-mixed", nothing, U),
]

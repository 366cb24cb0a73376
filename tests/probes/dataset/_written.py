"""Dates, texts and arrays that are written in two ways, over rows or over splits."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from traindoctor.engine.model import State

from ._make import HEADER, csv, table

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN
Build = Callable[[Path], None]
ISO, DAY_FIRST, MONTH_FIRST = "{0:04d}-{1:02d}-{2:02d}", "{2:02d}/{1:02d}/{0:04d}", "{1:02d}/{2:02d}/{0:04d}"


def dated(usual: str, other: str, every: int = 4, name: str = "admitted") -> Build:
    """400 days, each `every`-th of them in another way of writing."""

    def build(root: Path) -> None:
        days = [(2020 + i % 3, 1 + i % 12, 1 + i % 28) for i in range(400)]
        forms = [other if i % every == 0 else usual for i in range(400)]
        rows = [[f.format(*d), i % 7, i % 2] for i, (f, d) in enumerate(zip(forms, days, strict=True))]
        csv(root / "train.csv", (name, "visits", "label"), rows)

    return build


def texts(train: str, held: str, column: str = "text") -> Build:
    """200 texts for training and 60 to evaluate, as these forms write a number."""

    def build(root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        for name, form, n in (("train", train, 200), ("valid", held, 60)):
            lines = [json.dumps({column: form.format(i), "label": i % 2}) for i in range(n)]
            (root / f"{name}.jsonl").write_text("\n".join(lines) + "\n")

    return build


def arrays(train: Sequence[int], held: Sequence[int]) -> Build:
    def build(root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        random = np.random.default_rng(0)
        np.save(root / "x_train.npy", random.normal(size=(60, *train)))
        np.save(root / "x_test.npy", random.normal(size=(20, *held)))

    return build


def shares(train: Sequence[int], held: Sequence[int]) -> Build:
    """Rows of each class in training and in validation."""

    def build(root: Path) -> None:
        random = np.random.default_rng(0)
        for name, counts in (("train", train), ("val", held)):
            told = random.permutation([i for i, n in enumerate(counts) for _ in range(n)]).tolist()
            rows = [[round(float(v), 4), k] for v, k in zip(random.normal(size=len(told)), told, strict=True)]
            csv(root / f"{name}.csv", ("a", "label"), rows)

    return build


def plain(root: Path) -> None:
    csv(root / "train.csv", HEADER, table())


CASES = [
    ("data-dates-mixed", dated(ISO, DAY_FIRST), P),
    ("data-dates-mixed", dated(DAY_FIRST, MONTH_FIRST), P),
    ("data-dates-mixed", dated(ISO, "{2:02d}.{1:02d}.{0:04d}"), P),
    ("data-dates-mixed", dated(ISO, ISO), A),
    ("data-dates-mixed", dated(DAY_FIRST, DAY_FIRST), A),
    ("data-dates-mixed", dated(MONTH_FIRST, MONTH_FIRST, name="date"), A),
    ("data-dates-mixed", dated(ISO, DAY_FIRST, every=100), A),  # four rows are no habit
    ("data-dates-mixed", dated("v{0}.{1}", "{0}/{1}"), U),  # versions and the like
    ("data-dates-mixed", plain, U),
    ("splits-written-differently", texts("Fine work {}.", "fine work {}."), P),
    ("splits-written-differently", texts("fine work {}.", "fine work {}"), P),
    ("splits-written-differently", texts("fine work {}", "Fine work {}!"), P),
    ("splits-written-differently", texts("Fine work {}.", "Poor work {}!"), A),
    ("splits-written-differently", texts("fine work {}", "poor work {}"), A),
    ("splits-written-differently", texts("Fine {}.", "fine {}.", column="kind"), U),  # no text that is read
    ("splits-written-differently", plain, U),
    ("splits-turned", arrays([64, 3], [3, 64]), P),
    ("splits-turned", arrays([3, 32, 40], [32, 40, 3]), P),
    ("splits-turned", arrays([64, 3], [64, 3]), A),
    ("splits-turned", arrays([64, 3], [90, 3]), A),  # longer windows to evaluate
    ("splits-turned", arrays([8, 8], [8, 8]), U),
    ("splits-turned", plain, U),
    ("splits-classed-differently", shares([300, 100], [40, 160]), P),
    ("splits-classed-differently", shares([300, 100, 50], [30, 120, 20]), P),
    ("splits-classed-differently", shares([300, 100], [150, 50]), A),
    ("splits-classed-differently", shares([300, 100], [110, 90]), U),  # balanced on purpose
    ("splits-classed-differently", shares([200, 200], [40, 160]), U),
    ("splits-classed-differently", shares([300, 100], [10, 40]), U),
    ("splits-classed-differently", plain, U),
]

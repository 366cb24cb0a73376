"""What holding two folders of batches against each other gives: differences, each with its kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ....engine.model import Place

Kind = Literal[
    "dtype",
    "layout",
    "channel-order",
    "scale",
    "normalisation",
    "function",
    "size",
    "crop",
    "flip",
    "augmentation",
    "noise",
    "order",
    "label-apart",
    "label-offset",
    "label-numbering",
    "label-coding",
    "label-shift",
    "ignored",
    "mask",
    "vocabulary",
    "special-tokens",
    "truncation",
    "column-order",
    "padding",
    "fill",
    "boxes",
    "resampling",
    "rounding",
    "other-samples",
    "values",
    "missing-field",
    "count",
]
KINDS: tuple[Kind, ...] = Kind.__args__  # type: ignore[attr-defined]
RTOL, ATOL = 1e-5, 1e-8


@dataclass(frozen=True, slots=True)
class Difference:
    """One way in which a field differs from the benchmark's."""

    field: str
    kind: Kind
    words: str  # what was measured, and the likely cause
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Compared:
    """What came of holding two folders of batches against each other."""

    fields: tuple[str, ...]  # compared, in both
    batches: int
    numbers: int
    differences: tuple[Difference, ...]
    where: tuple[Place, ...] = ()
    words: str = ""  # what was compared, where it was no batches

    def of(self, *kinds: str) -> list[Difference]:
        """Return the differences of these kinds."""
        return [d for d in self.differences if d.kind in kinds]

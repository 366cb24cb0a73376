"""What a report is given besides the diagnosis, and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ..engine.model import Scalar

if TYPE_CHECKING:
    from .sections import Section


@dataclass(frozen=True, slots=True)
class Mark:
    """A step worth a vertical line, with a short label."""

    step: float
    label: str


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One curve to draw: `steps` and `values` of equal length n, in the unit that was logged.

    A value may be NaN or infinite: that is what was logged, and it is drawn as such.
    """

    name: str
    side: Literal["run", "benchmark"]
    steps: Sequence[float]
    values: Sequence[float]
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class Current:
    """A setting as the run has it, so that a remedy can name the exact change and the place to make it."""

    key: str  # canonical, e.g. "learning_rate"
    value: Scalar | tuple[Scalar, ...]
    raw: str = ""  # as written in the file
    file: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Extras:
    """What the command line adds for a report: from the run and from the rules.

    `curves` by name, `settings` by canonical key; `usual` holds the symptoms that are often there by
    themselves, so that having no explanation for them is no news. `sections` is what dumps and checkpoints
    in the run directory add.
    """

    curves: Mapping[str, tuple[Curve, ...]] = field(default_factory=dict)
    settings: Mapping[str, Current] = field(default_factory=dict)
    usual: frozenset[str] = frozenset()
    sections: tuple[Section, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A finished report: its text, and the files that belong beside it (relative path -> text)."""

    text: str
    files: Mapping[str, str] = field(default_factory=dict)

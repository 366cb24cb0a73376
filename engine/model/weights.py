"""Saved weights, looked at alone or side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .evidence import Reading


@dataclass(frozen=True, slots=True)
class WeightRow:
    """One weight of the latest checkpoint; `change` is mean |now - first| over mean |first|."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    state: Literal["moves", "still", "not finite", "constant", "unknown"]
    change: float | None
    size: float  # mean of |w|
    low: float | None
    high: float | None
    zeros: float  # share of elements


@dataclass(frozen=True, slots=True)
class WeightFinding:
    """One look at the weights; `causes`: what it speaks for, each as (id, title, because)."""

    reading: Reading
    title: str
    causes: tuple[tuple[str, str, str], ...] = ()
    do: str = ""


@dataclass(frozen=True, slots=True)
class WeightsReport:
    """What the checkpoints of a run say of its weights."""

    path: str
    benchmark: str
    verdict: str
    checkpoints: tuple[str, ...]  # in order, each with where it stands in training
    findings: tuple[WeightFinding, ...]  # present first, then absent, then unknown
    rows: tuple[WeightRow, ...]
    notes: tuple[str, ...] = ()

"""Does a run show its fault? Read back with the convention's own reader, not with the tool's."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

from conventions import Log, Row
from generate import REFERENCE, Case


@dataclass(frozen=True)
class Summary:
    """What a run came to."""

    train_loss: float
    val_loss: float
    best_val_loss: float
    val_score: float  # accuracy (higher is better), or minus the mean absolute error
    nonfinite: bool
    crashed: bool
    spread: float  # median absolute change of the training loss between rows, late in the run
    highest: float  # highest finite training loss
    halfway: float  # training loss in the middle of the run
    first: float = math.nan  # training loss at the start
    late_val_loss: float = math.nan  # validation loss after three quarters
    score_rises: bool = False  # rewards at the end above those at the start
    curve: tuple[tuple[float, float], ...] = ()  # step, training loss

    @property
    def quiet(self) -> bool:
        """Nothing in these curves is wrong by itself: only a benchmark or the script can tell."""
        bad = self.nonfinite or self.crashed or self.val_loss > 1.15 * self.best_val_loss
        bad |= self.val_loss > 1.5 * self.train_loss + 0.15  # a gap
        bad |= self.train_loss > 0.55 * self.first  # hardly learned
        bad |= self.val_loss < 0.93 * self.late_val_loss  # still falling
        bad |= math.isnan(self.late_val_loss) and self.train_loss < 0.8 * self.halfway
        bad |= self.val_loss < 0.7 * self.train_loss - 0.05  # better held out than trained
        bad |= self.train_loss > 1.2 or self.val_score < 0.6  # a classifier near chance
        return not bad

    def text(self) -> str:
        """One line for cases.yaml."""
        parts = [
            f"train_loss {self.train_loss:.4g}",
            f"val_loss {self.val_loss:.4g} (best {self.best_val_loss:.4g})",
        ]
        parts += [] if math.isnan(self.val_score) else [f"score {self.val_score:.4g}"]
        parts += ["not finite"] if self.nonfinite else []
        parts += ["crashed"] if self.crashed else []
        return ", ".join(parts)


def _column(rows: list[Row], *keys: str) -> list[float]:
    return [float(r[k]) for r in rows for k in keys if k in r and r[k] is not None]


def _end(values: list[float], share: float = 0.1) -> float:
    tail = values[-max(1, int(len(values) * share)) :]
    return mean(tail) if tail else math.nan


def summarise(folder: Path, log: Log) -> Summary:
    """Read a run's rows and sum them up."""
    try:
        rows = log.read(folder)
    except (FileNotFoundError, StopIteration, ValueError):
        rows = []
    train = _column(rows, "loss", "train_loss")
    val = _column(rows, "val_loss")
    score = _column(rows, "val_acc") or [-v for v in _column(rows, "val_mae")]
    finite = [v for v in train if math.isfinite(v)]
    late = train[len(train) * 2 // 3 :]
    texts = [
        p.read_text(encoding="utf-8", errors="replace")
        for p in folder.rglob("*")
        if p.suffix in (".txt", ".log", ".out")
    ]
    every = [
        v
        for r in rows
        for k, v in r.items()
        if k in ("loss", "train_loss", "val_loss", "grad_norm") and v is not None
    ]
    return Summary(
        train_loss=_end(train),
        val_loss=val[-1] if val else math.nan,
        best_val_loss=min((v for v in val if math.isfinite(v)), default=math.nan),
        val_score=score[-1] if score else math.nan,
        nonfinite=any(not math.isfinite(v) for v in every),
        crashed=any("Traceback (most recent call last)" in t for t in texts),
        spread=median(abs(a - b) for a, b in itertools.pairwise(late)) if len(late) > 1 else 0.0,
        highest=max(finite, default=math.nan),
        halfway=_end(train[: max(1, len(train) // 2)]),
        late_val_loss=val[(len(val) - 1) * 3 // 4] if len(val) > 3 else math.nan,
        first=_end(train[:2], 1.0),
        curve=tuple(
            (float(r["step"]), float(r[k]))
            for r in rows
            for k in ("loss", "train_loss")
            if r.get(k) is not None and "step" in r
        ),
        score_rises=_end(_column(rows, "mean_reward")) > _end(_column(rows, "mean_reward")[:10], 1.0) + 1,
    )


def _worse(one: Summary, twin: Summary) -> bool:
    """Clearly worse at the end. Language models end near their data's entropy: there little is much."""
    return (
        one.nonfinite
        or one.crashed
        or one.val_loss > (1.04 if twin.val_loss > 1.8 else 1.15) * twin.val_loss
        or one.train_loss > 1.2 * twin.train_loss + 0.01
        or one.val_score < twin.val_score - 0.03 * max(1.0, abs(twin.val_score))
    )


def _departs(one: Summary, twin: Summary, share: float = 0.02) -> bool:
    """With the same seed: at some step the training loss is off by this share or more."""
    other = dict(twin.curve)
    return one.nonfinite or any(
        step in other and abs(value - other[step]) > share * abs(other[step]) for step, value in one.curve
    )


CHECKS: dict[str, Callable[[Summary, Summary], bool]] = {
    "worse": _worse,
    "departs": _departs,
    "not-repeated": lambda one, twin: _departs(one, twin, 0.0005),
    "exists": lambda *_: True,  # nothing is wrong with the run itself
    "nan": lambda one, _: one.nonfinite,
    "blank": lambda one, twin: (
        one.nonfinite or one.train_loss == 0.0 or _worse(one, twin)
    ),  # the Trainer writes NaN as 0.0
    "crash": lambda one, _: one.crashed,
    "gap": lambda one, _: one.val_loss > 1.3 * one.best_val_loss or one.val_loss > 3 * one.train_loss + 0.3,
    "turns-up": lambda one, _: one.val_loss > 1.15 * one.best_val_loss,
    "spikes": lambda one, twin: (
        one.nonfinite or one.highest > 1.5 * twin.highest or one.highest > 3 * one.halfway
    ),
    "slower": lambda one, twin: one.halfway > 1.15 * twin.halfway or _worse(one, twin),
    "noisy": lambda one, twin: one.spread > 1.5 * twin.spread or _worse(one, twin),
    "better": lambda one, twin: one.val_loss < 0.8 * twin.val_loss or one.val_score > twin.val_score + 0.02,
    "any": lambda one, twin: (
        _worse(one, twin)
        or one.val_loss > 1.3 * one.best_val_loss
        or abs(one.train_loss / twin.train_loss - 1) > 0.1
    ),
}


def shows(case: Case, one: Summary, twin: Summary | None) -> str | None:
    """None if the run is what it should be, else what is wrong."""
    if case.archetype == "policy":
        return None if one.score_rises else "rewards do not rise"
    if math.isnan(one.val_loss) and not one.nonfinite and not one.crashed:
        return "no rows were read"
    if case.cause in (None, REFERENCE):
        return "a healthy run is not finite" if one.nonfinite and case.check != "calibrates" else None
    if twin is None:
        return "no healthy twin"
    if not CHECKS[case.check](one, twin):
        return f"does not show it: {one.text()}; twin {twin.text()}"
    return None

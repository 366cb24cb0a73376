"""A model of rewards, and pairs of the evaluation that it ranks the wrong way round."""

from __future__ import annotations

import numpy as np

from ..registry import Finding, View, absent, place, present, unknown
from ..run import Run, Series
from .judging import probe

_TWO = 0.5  # what guessing gives for a pair


@probe()
def pairs_turned(view: View, low: float = 0.35, learned: float = 0.1) -> Finding:
    """In evaluation fewer than `low` of all pairs are ranked right, and the training loss falls.

    Chance gives one half; a model that learned nothing does not come below it. Two answers to one question
    are a pair whatever the shares of classes are, so that no constant answer can be that wrong.
    """
    run = view.run
    held = _pairs(run)
    if held is None:
        return unknown("no share of pairs that are ranked right is logged for evaluation")
    values = held.values[np.isfinite(held.values)]
    if len(values) < 2:
        return unknown(f"{held.raw} has {len(values)} values; 2 are needed")
    end = float(np.median(values[-2:]))
    words = f"{held.raw} ends at {end:.3g}; guessing gives {_TWO}"
    if end >= low:
        return absent(words, value=round(end, 4), threshold=low)
    loss = run.series.get("train/loss")
    known = loss.values[np.isfinite(loss.values)] if loss is not None else np.empty(0)
    part = max(1, len(known) // 5)
    if len(known) < 5 or np.median(known[-part:]) > (1 - learned) * np.median(known[:part]):
        return unknown(f"{words}, but the training loss is not known to fall")
    return present(
        f"{words}, though train/loss falls: pairs are ranked the wrong way round",
        value=round(end, 4),
        threshold=low,
        where=(place(held, len(held) - 1),),
        series=(held.name, "train/loss"),
    )


def _pairs(run: Run) -> Series | None:
    """Accuracy on pairs: a model of one output that has one (policies: preferences_reversed)."""
    built = [s for s in run.raw_settings if s.key.rpartition(".")[2] in ("architectures", "architecture")]
    scores = any("SequenceClassification" in str(s.value) for s in built)
    outputs = {s.key for s in run.raw_settings if s.key.startswith("id2label.")}
    one = len(outputs) == 1 or any(s.key == "num_labels" and s.value == 1 for s in run.raw_settings)
    return run.series.get("eval/accuracy") if scores and one else None

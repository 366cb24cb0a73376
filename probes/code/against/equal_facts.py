"""Kinds of edits that change nothing: what they are about is alike in the rehearsals of both programs.

A rehearsal shows how answers, losses and figures are made, which weights are moved by which gradients, in
which mode and on which rows (see `probes/rehearsal/compare.py`). An edit whose whole subject is known there,
and alike, is another way to write the same thing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...rehearsal.compare import alike, apart
from ...rehearsal.seen import counted, dealt_alike, gone_through, seen
from ...script_diff.edit import Edit
from ...script_diff.vocabulary import word_set
from ...scripts.syntax import Script

_NETWORK = ("network", "network-scored")
_ROWS = ("rows", "inputs", "inputs-scored", "loss", "figures")
_STATISTICS = ("statistics", *_ROWS)
_UPDATE = ("optimizer", "steps")


def _about(kinds: str, *facts: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(word_set(kinds), facts)


# kinds of edits of rules/porting/edits.yaml: the facts that hold all that they are about
_ABOUT: dict[str, tuple[str, ...]] = {
    **_about(
        "norm-layer activation pooling layers-stacked skip other-layer layer-input layer-size padding "
        "attention-scale attention-mask norm-settings fused-operator weight-sharing embedding-size "
        "keep-probability module-shared pretrained",
        *_NETWORK,
    ),
    **_about("output-activation output-bounded returns", "loss", *_NETWORK),
    **_about("loss-function loss-reduction loss-divided loss-sign loss-weight", "loss", *_NETWORK),
    **_about("loss-arguments loss-masking", "loss", *_NETWORK),
    **_about("optimizer parameter-groups optimizer-parameters optimizer-details", *_UPDATE, "network"),
    **_about("schedule-stepped schedule-length warmup", "schedule", *_UPDATE),
    **_about("clearing-left-out step-order update-conditional", *_UPDATE),
    **_about("mode", "modes", *_NETWORK),
    **_about(
        "shuffling preprocessing preprocessing-training evaluation-inputs "
        "evaluation-data-made target-in-inputs inputs-shifted inputs-overwritten side-asked augmentation "
        "channel-order targets-made labels-moved target-shifted normalisation-values",
        *_ROWS,
    ),
    **_about(
        "split-by-order split fewer-samples samples-dropped filter-left-out part-undivided border-crossed "
        "evaluates-other-part",
        "parting",
        *_ROWS,
    ),
    **_about(
        "normalisation-left-out normalisation-one-side normalisation-training-side other-statistics "
        "statistics-fitted statistics-fitted-apart",
        *_STATISTICS,
    ),
    **_about("metric metric-reset judged-among-all", "figures", "modes", "rows"),
}
# lengths are made up in a rehearsal: what is counted or divided by may be alike there and nowhere else
_COUNTED = frozenset(("metric", "metric-reset", "judged-among-all", "loss-divided", "loss-weight"))
_DEEPER = frozenset(("statistics", "parting"))  # where they differ, rows that look alike may not be
_FORMAT = re.compile(r"(?i)scale|half|float16|autocast|amp\b|precision")  # of numbers: no fact tells it


def alike_in_effect(kind: str, edits: Sequence[Edit], mine: Script, theirs: Script) -> bool:
    """Whether what edits of this kind are about is known of both programs, and the same."""
    asked = _ABOUT.get(kind)
    if asked is None or any(_FORMAT.search(w) for e in edits for w in e.gone | e.new):
        return False
    if {"rows", "figures"}.intersection(asked) and not _DEEPER.isdisjoint(apart(mine, theirs)):
        return False
    if kind == "shuffling" and not dealt_alike(mine, theirs):
        return False
    if not alike(mine, theirs).issuperset(asked) or not gone_through(mine, theirs):
        return False
    places = [(e.mine, e.theirs) for e in edits]
    return not (kind in _COUNTED and counted(mine, theirs, places)) and seen(mine, theirs, places, asked)

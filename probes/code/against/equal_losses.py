"""Losses, floors and dropouts that are written in another documented way: edits that are equal together."""

from __future__ import annotations

from collections.abc import Sequence

from ...script_diff.edit import Edit
from .equal_ways import both_ways

_FLOORS = ("/.right", "log.", "sqrt.", "rsqrt.")
_SUMS = frozenset({"+"})
_CLIPS = frozenset({"clip()", "clip.min"})
# a loss of scores, the one of chances, and what makes the one of the other
_TAKES = (
    ("cross_entropy()", "nll_loss()", "log_softmax()"),
    ("binary_cross_entropy_with_logits()", "binary_cross_entropy()", "sigmoid()"),
)
_OLD_NAMES = {("False", "'sum'"), ("True", "'mean'")}


def equal_losses(edits: Sequence[Edit]) -> list[Edit]:
    """Those of the edits that are one thing in two ways."""
    return [
        *_other_floor(edits),
        *_logarithm_with_floor(edits),
        *_old_reduction(edits),
        *_kept_for_dropped(edits),
        *_scores_or_chances(edits),
        *_last_window_too(edits),
    ]


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


def _is_floor(words: frozenset[str], kind: frozenset[str]) -> bool:
    """`+ 1e-6` or `clip(min=1.0)` and nothing else, by a number above zero."""
    rest = words - kind
    numbers = [_number(w) for w in rest]
    return kind <= words and len(numbers) == 1 and numbers[0] is not None and 0 < numbers[0] <= 1


def _other_floor(edits: Sequence[Edit]) -> list[Edit]:
    """`x / (n + 1e-6)` for `x / n.clamp(min=1)`, or back: each keeps zero away."""
    return [
        e
        for e in edits
        if e.within
        and e.within[0].startswith(_FLOORS)
        and any(_is_floor(a, _SUMS) and _is_floor(b, _CLIPS) for a, b in both_ways(e))
    ]


def _logarithm_with_floor(edits: Sequence[Edit]) -> list[Edit]:
    """`logsigmoid(x)` for `log(sigmoid(x).clamp(min=1e-7))`, or back: both are bounded."""
    for e in edits:
        for whole, parts in both_ways(e):
            rest = {w for w in parts if _number(w) is None} - _CLIPS - {"log()", "sigmoid()"}
            if whole == {"logsigmoid()"} and {"log()", "sigmoid()", "clip()"} <= parts and not rest:
                words = e.gone | e.new
                return [
                    x for x in edits if (x.mine, x.theirs) == (e.mine, e.theirs) and x.gone | x.new <= words
                ]
    return []


def _old_reduction(edits: Sequence[Edit]) -> list[Edit]:
    """`size_average=False` of old PyTorch for `reduction="sum"`, or back."""
    found: list[Edit] = []
    for old in edits:
        if not (old.within and old.within[0].endswith(".size_average")):
            continue
        for new in edits:
            if new.within and new.within[0].endswith(".reduction") and new.mine == old.mine:
                pairs = [(a, b) for a in old.gone | old.new for b in new.gone | new.new]
                if pairs and all(p in _OLD_NAMES for p in pairs):
                    found += [old, new]
    return found


def _kept_for_dropped(edits: Sequence[Edit]) -> list[Edit]:
    """`Dropout(keep_prob=0.9)` for `Dropout(p=0.1)`, or back: MindSpore takes both."""
    found: list[Edit] = []
    for kept in edits:
        if not (kept.within and kept.within[0].endswith(".keep_prob")):
            continue
        for dropped in edits:
            if dropped.within and dropped.within[0].endswith(".p") and dropped.mine == kept.mine:
                both = [_number(w) for e in (kept, dropped) for w in e.gone | e.new]
                known = [n for n in both if n is not None]
                if len(both) == len(known) == 2 and abs(sum(known) - 1) < 1e-9:
                    found += [kept, dropped]
    return found


def _scores_or_chances(edits: Sequence[Edit]) -> list[Edit]:
    """`nll_loss(log_softmax(x), y)` for `cross_entropy(x, y)`, or back, told by two edits."""
    found: list[Edit] = []
    for e in edits:
        for of_scores, of_chances in both_ways(e):
            for scores, chances, makes in _TAKES:
                if of_scores != {scores} or of_chances != {chances}:
                    continue
                forward = of_scores == e.gone
                beside = [
                    x
                    for x in edits
                    if makes in (x.new if forward else x.gone)
                    and x.kind == ("wrapped" if forward else "unwrapped")
                    and any(r.startswith("loss") for r in x.roles)
                ]
                if len(beside) == 1:
                    found += [e, beside[0]]
    return found


def _last_window_too(edits: Sequence[Edit]) -> list[Edit]:
    """`if (i + 1) % n == 0 or i + 1 == len(loader)`: the last window is stepped as well."""
    found: list[Edit] = []
    for e in edits:
        rest = {w for w in e.new if not w.startswith("$")} - {"or", "==", "len()", "+", "-", "1.0"}
        if e.kind == "condition" and not e.gone and {"or", "==", "len()"} <= e.new and not rest:
            found.append(e)
    return found

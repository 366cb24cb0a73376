"""Edits that make up for each other: one thing computed in another documented way, told by several edits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ...script_diff.edit import Edit
from .equal_batches import equal_batches
from .equal_keras import equal_in_keras
from .equal_losses import equal_losses
from .equal_marks import equal_marks
from .equal_ports import equal_anew
from .equal_ways import both_ways, close_by, equal_ways

MANY = 4  # changes of one line: it was written anew


def making_up(edits: Sequence[Edit]) -> list[Edit]:
    """Those of the edits that are equal together."""
    return [
        *_reduced_by_hand(edits),
        *_weighted_by_hand(edits),
        *_averaged_by_class(edits),
        *_clipped_by_the_optimizer(edits),
        *_cross_entropy_by_hand(edits),
        *_scale_handed_over(edits),
        *_last_state(edits),
        *_regrouped(edits),
        *_pairs_regrouped(edits),
        *_counted_in_pairs(edits),
        *_course_anew(edits),
        *equal_in_keras(edits),
        *equal_anew(edits),
        *equal_ways(edits),
        *equal_losses(edits),
        *equal_batches(edits),
        *equal_marks(edits),
    ]


def _reduced_by_hand(edits: Sequence[Edit]) -> list[Edit]:
    """`loss(reduction="sum")` for `loss(reduction="none").sum()`, or back."""
    found = []
    for told in edits:
        if not told.within or not told.within[0].endswith(".reduction"):
            continue
        for by_itself, by_hand in both_ways(told):
            if by_itself == {"'sum'"} and by_hand == {"'none'"}:
                forward = by_itself == told.gone
                beside = [e for e in edits if "sum()" in (e.new - e.gone if forward else e.gone - e.new)]
                found += [told, *beside] if beside else []
    for told in edits:  # of one line
        for by_itself, by_hand in both_ways(told):
            if by_itself == {"'sum'"} and by_hand == {"'none'", "sum()"}:
                found.append(told)
    return found


def _weighted_by_hand(edits: Sequence[Edit]) -> list[Edit]:
    """`loss(weight=w)` for `(w * loss(reduction="none")).mean()`, or back: what it is weighed by is moved."""
    for told in edits:
        if not told.within or not told.within[0].endswith(".reduction"):
            continue
        for by_itself, by_hand in both_ways(told):
            if by_hand != {"'none'"} or by_itself - {"'mean'"}:
                continue
            forward = by_hand == told.new
            near = [e for e in edits if e is told or close_by(e, told)]
            written = [
                e for e in near if e.kind in ("added" if forward else "removed", "wrapped", "unwrapped")
            ]
            done: frozenset[str] = frozenset().union(*(e.new if forward else e.gone for e in written))
            held = [e for e in near if e.kind in ("argument-removed", "argument-added") and e is not told]
            moved = [e for e in held if _names(e.gone if forward else e.new) <= done]
            if not ("mean()" in done or {"sum()", "/"} <= done) or len(moved) < len(held):
                continue
            lines = {(e.mine, e.theirs) for e in (told, *written, *moved)}
            return [e for e in near if (e.mine, e.theirs) in lines]
    return []


def _names(words: frozenset[str]) -> frozenset[str]:
    return frozenset(w for w in words if w.startswith("$") and not w.startswith("$:"))


def _clipped_by_the_optimizer(edits: Sequence[Edit]) -> list[Edit]:
    """Keras: gradients cut to one norm by the optimizer (`global_clipnorm=1.0`), or by the step; or back."""
    for told in edits:
        if not told.within or not told.within[0].endswith((".global_clipnorm", ".max_grad_norm")):
            continue
        forward = told.kind == "argument-added"
        size = {w for w in (told.new if forward else told.gone) if w[:1].isdigit()}
        for e in edits:
            words = e.gone if forward else e.new
            if "clip_by_global_norm()" in words and size & words:
                return [told, e]
    return []


def _averaged_by_class(edits: Sequence[Edit]) -> list[Edit]:
    """Averaged weights by a copy that is moved on by hand, for a library's object that does so; or back."""
    for edit in edits:
        for by_hand, by_class in both_ways(edit):
            if "deepcopy()" not in by_hand or not by_class & _AVERAGES:
                continue
            moved_on = [e for e in edits if (e.gone | e.new) & _MOVED_ON]
            if moved_on:
                words = _AVERAGES | {"$:" + w.removesuffix("()") for w in _AVERAGES} | {"module"}
                return [edit, *moved_on, *(e for e in edits if (e.gone | e.new) & words)]
    return []


_AVERAGES = frozenset(
    {"AveragedModel()", "ModelEmaV2()", "ModelEmaV3()", "ModelEma()", "EMA()", "ExponentialMovingAverage()"}
)
_MOVED_ON = frozenset({"update_parameters()", "lerp_()", "update()"})


def _course_anew(edits: Sequence[Edit]) -> list[Edit]:
    """A formula of the rate that was written anew: a line of a schedule with many changes."""
    lines = Counter(
        (e.mine, e.theirs) for e in edits if "schedule" in e.roles and e.within[-1:] == ("return.value",)
    )
    return [e for e in edits if lines[e.mine, e.theirs] >= MANY]


def _cross_entropy_by_hand(edits: Sequence[Edit]) -> list[Edit]:
    """The log of the softmax at the target, negated, for the cross entropy; also with a mask and a sum."""
    for edit in edits:
        for call, _by_hand in both_ways(edit):
            if "cross_entropy()" not in call:
                continue
            forward = call == edit.gone
            near = [e for e in edits if e is edit or close_by(e, edit)]
            done: frozenset[str] = frozenset().union(*((e.new if forward else e.gone) for e in near))
            if not {"log_softmax()", "negative"} <= done or not done & _PICKS:
                continue
            ignored = any(w.endswith("ignore_index") for w in call)
            masked = bool(done & {"!=", "masked_fill()", "where()"})
            if ignored != masked and not (masked and "-100.0" in done):  # what is ignored if nothing is said
                continue
            if ("'sum'" in call) == ("sum()" in done and "mean()" not in done and "/" not in done):
                return near
    return []


_PICKS = {"gather()", "take_along()", "take_along_dim()", "take_along_axis()", "one_hot()"}


def _regrouped(edits: Sequence[Edit]) -> list[Edit]:
    """Parameters dealt out to groups one by one, each to one of them, for groups that are listed; or back."""
    for edit in edits:
        for words in (edit.gone, edit.new):
            if edit.kind in ("added", "removed") and {"append()", "choice"} <= words:
                if any(w.endswith("parameters()") for w in (*words, *edit.within)):
                    groups = [
                        e
                        for e in edits
                        if e.within[:1] == ("mapping.params",)
                        or ("optimizer.params" in e.roles and e.kind[:8] == "argument")
                    ]
                    return [edit, *groups]
    return []


def _pairs_regrouped(edits: Sequence[Edit]) -> list[Edit]:
    """`[{"params": [w for w, _ in pairs]}, {"params": [b for _, b in pairs]}]` for all of them; or back."""
    for edit in edits:
        if "optimizer.params" not in edit.roles:
            continue
        for code, other in ((edit.mine_code, edit.theirs_code), (edit.theirs_code, edit.mine_code)):
            groups = _EACH_OF_PAIRS.findall(code)
            places = {[n.strip() for n in targets.split(",")].index(name) for name, targets, _ in groups}
            if "for" in other or len({over for _, _, over in groups}) != 1 or len(groups) < 2:
                continue
            if places == set(range(groups[0][1].count(",") + 1)):
                return [e for e in edits if (e.mine, e.theirs) == (edit.mine, edit.theirs)]
    return []


_EACH_OF_PAIRS = re.compile(r"params.?: \[(\w+) for \(?((?=[\w, ]*\b\1\b)\w+(?:, \w+)+)\)? in ([\w.]+)\]")
_PAIR_COUNTS = frozenset(
    {"bincount()", "at()", "confusion_matrix()", "index_put_()", "scatter_add_()", "histogram2d()"}
)


def _counted_in_pairs(edits: Sequence[Edit]) -> list[Edit]:
    """Pairs counted by `bincount(true * n + guess)`, or by `add.at(table, (true, guess), 1)`; or back."""
    for gone in edits:
        for new in edits:
            if gone.kind != "removed" or new.kind != "added" or not close_by(gone, new, 8):
                continue
            here, there = gone.gone & _PAIR_COUNTS, new.new & _PAIR_COUNTS
            if not here or not there or here == there:
                continue
            before, after = (_in_order(c) for c in (gone.theirs_code, new.mine_code))
            if before and before == after:
                return [gone, new]
    return []


def _in_order(code: str) -> list[str]:
    """The two names that are counted together, rows first: of `bincount(a * n + b)`, of `(a, b)`."""
    code = re.sub(
        r"\.(?:numpy|cpu|asnumpy|detach|long|int|astype|flatten|ravel|view|reshape)\([^()]*\)", "", code
    )
    for pattern in (
        r"(\w+)(?:\[\w+\])?\s*\*\s*[\w()]+\s*\+\s*(\w+)",  # a * n + b
        r"\w\s*\*\s*(\w+)(?:\[\w+\])?\s*\+\s*(\w+)",  # n * a + b
        r"(?:\.at|_put_|histogram2d|confusion_matrix)\((?:[\w.]+,\s*)?\(?(\w+)(?:\[\w+\])?,\s*(\w+)",
    ):
        found = re.search(pattern, code)
        if found:
            return list(found.groups())
    return []


def _last_state(edits: Sequence[Edit]) -> list[Edit]:
    """The last of a recurrent layer's outputs, for its last state: one thing where it reads one way."""
    for edit in edits:
        if "[:, -1" in edit.theirs_code and "[-1]" in edit.mine_code and edit.kind in ("index", "name"):
            unpacked = [e for e in edits if e.within[:1] == ("assign.target",) and "," in e.mine_code]
            same = [e for e in edits if (e.mine, e.theirs) == (edit.mine, edit.theirs)]
            if unpacked:
                return [*unpacked, *same]
    return []


def _scale_handed_over(edits: Sequence[Edit]) -> list[Edit]:
    """MindSpore: with `drop_overflow_update` the manager unscales, without it the optimizer does."""
    manager = [e for e in edits if e.within and e.within[0].endswith("Manager.drop_overflow_update")]
    told = [e for e in edits if e.within and e.within[0].endswith(".loss_scale") and e not in manager]
    for a in manager:
        for b in told:
            if ("True" in a.new and b.kind == "argument-removed") or (
                "False" in a.new and b.kind == "argument-added"
            ):
                return [a, b]
    return []

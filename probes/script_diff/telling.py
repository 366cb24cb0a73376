"""Which of the edits that were found are told, and which of them stand in what was written anew."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from .anew import parts, written_anew
from .edit import Edit
from .edit_words import (
    REWRITING,
    work_in,
)
from .lines import Line, Unit
from .marks import STRUCTURE
from .meaning import Same
from .ranked import only_ranked
from .roles.words import side_named
from .sides import Sides


def ranked(sides: Sides, line: Line, edit: Edit) -> bool:
    """Whether a sigmoid comes or goes before metrics that ask for the order of scores alone."""
    if edit.gone | edit.new != {"sigmoid()"} or edit.kind not in ("wrapped", "unwrapped"):
        return False
    return all(only_ranked(x) for x in (line, sides.aligned.partner(line)) if x is not None)


def lines_anew(sides: Sides, found: list[tuple[Line, Edit]]) -> set[Line]:
    """The lines of parts that were written anew, or of which something was moved."""
    anew = set(written_anew(sides.aligned))
    whole = [x for x, e in found if e.kind in ("added", "removed") and _moved_on(sides, e)]
    for part in parts(sides.aligned) if whole else ():
        if any(x in lines for lines in part for x in whole):
            anew.update(*part)
    return anew


def _moved_on(sides: Sides, edit: Edit) -> bool:
    """Whether a line is gone, and what it did is done as often as before; or it is new."""
    return not edit.new & STRUCTURE and sides.totals.kept(edit.gone, edit.new)


def drowned(sides: Sides, edit: Edit, anew: bool) -> bool:
    """Whether an edit of a part that was written anew is one of many: no setting, no known structure."""
    if _stands_out(edit):
        return False
    return anew or (edit.kind in REWRITING and _moved_on(sides, edit))


LEAST_DROWNED = 3  # edits of a function that are drowned, where two of three are: what is left of it is one


def others_drowned(sides: Sides, made: Sequence[tuple[Line, Edit]]) -> list[tuple[Line, Edit]]:
    """In a function most of whose edits stand in what was written anew, a small edit is no slip by itself."""
    by_unit: dict[Unit, list[Edit]] = defaultdict(list)
    mine = {theirs: unit for unit, theirs in sides.aligned.units.items()}
    for line, edit in made:
        by_unit[mine.get(line.unit, line.unit)].append(edit)
    deep = set()
    for unit, every in by_unit.items():
        count = sum(e.rewritten for e in every)
        if unit.name and count >= LEAST_DROWNED and 3 * count >= 2 * len(every):
            deep.add(unit)
    return [
        (x, replace(e, rewritten=True) if mine.get(x.unit, x.unit) in deep and not _stands_out(e) else e)
        for x, e in made
    ]


def _stands_out(edit: Edit) -> bool:
    """A setting, or a known structure."""
    setting = edit.kind == "constant" and edit.ratio is not None
    return setting or bool((edit.new | edit.gone) & STRUCTURE)


def written_again(sides: Sides, found: list[tuple[Line, Edit]]) -> list[tuple[Line, Edit]]:
    """A line that is gone and one that is new for it: only what differs between the two is told."""
    gone = [(x, e) for x, e in found if e.kind == "removed"]
    new = [(x, e) for x, e in found if e.kind == "added"]
    if not gone or not new or len(gone) * len(new) > 400:
        return found
    other: dict[int, Edit] = {}
    for line, edit in new:
        for before, old in gone:
            if sides.aligned.units.get(line.unit) is not before.unit or edit.roles[:1] != old.roles[:1]:
                continue
            here, there = work_in(edit.new), work_in(old.gone)
            if here and there and 2 * len(here & there) >= max(len(here), len(there)):
                other[id(edit)] = replace(edit, new=edit.new - old.gone)
                other[id(old)] = replace(old, gone=old.gone - edit.new)
    return [(x, other.get(id(e), e)) for x, e in found]


def plainly_other(sides: Sides, line: Line, edit: Edit) -> bool:
    """Another number or another variable in one place: nothing but an edit elsewhere can make up for it.

    A symbolic run on small shapes would not see that `x[:200]` became `x[:24]`.
    """
    if edit.kind == "constant":
        return edit.ratio is not None
    if edit.kind == "index" and any(side_named(w) for w in edit.new | edit.gone if w[:1] != "$"):
        return True  # `counts[phase]` -> `counts["train"]`: what is told of it may be nothing but printed
    if edit.kind == "replaced" and edit.gone | edit.new == {"mean()", "sum()"}:
        return True  # the same of one value, and of a guessed shape there may be one
    known = {t for u in (line.unit, *sides.aligned.mine.units[:1]) for x in u.lines for t in x.targets}
    known |= set(line.unit.parameters)
    names = {w.removeprefix("$") for w in (*edit.gone, *edit.new) if ":" not in w and w != "label-value"}
    return edit.kind == "name" and len(names) == 2 and names <= known


def same_again(sides: Sides, same: Same, line: Line, edit: Edit) -> bool:
    """Whether an edit changes nothing of what is computed; a run of one round sees no second one."""
    if "starts-anew" in edit.gone:
        return False
    if edit.kind.endswith("removed") and line not in sides.aligned.changed and edit.mine_code == "":
        return same.holds((), (line,))
    partner = sides.aligned.partner(line)
    return same.holds((line,), (partner,) if partner is not None else ())


_AXES = frozenset({"squeeze()", "unsqueeze()", "view()", "reshape()", "flatten()", "[]", "slice", "index"})
_OF_AXIS = frozenset({"squeeze()", "unsqueeze()", "squeeze.dim", "unsqueeze.dim", "-1.0", "1.0", "0.0"})


def axis_alone(edit: Edit, every: Sequence[Edit]) -> bool:
    """The output or target has an axis more, or less, and no other line makes up for it: they broadcast.

    A run on made inputs does not see that: what it knows nothing of has the shape that fits.
    """
    words = edit.gone | edit.new
    if not words & {"squeeze()", "unsqueeze()"} or not words <= _OF_AXIS:
        return False
    if edit.split == "eval" or not {"output", "loss.prediction", "loss.target"} & set(edit.roles):
        return False
    return not any(_AXES & (e.gone | e.new) for e in every if e is not edit)


_BOUNDS = frozenset({"sigmoid()", "softmax()", "log_softmax()", "Sigmoid()", "Softmax()", "LogSoftmax()"})


def crossing(found: Sequence[Edit]) -> frozenset[str]:
    """What came into the model and left the evaluation, or the other way, where the loss stayed as it was.

    The evaluation is the same then; the loss is taken of what the sigmoid gives, or no longer.
    """
    model = [e for e in found if {"output", "forward", "model"} & set(e.roles) and e.split != "eval"]
    judged = [e for e in found if e.split == "eval" and e not in model]
    if any(w.startswith("loss") for e in found if e not in model and e.split != "eval" for w in e.roles):
        return frozenset()
    entered = {w for e in model for w in e.new} & {w for e in judged for w in e.gone}
    left = {w for e in model for w in e.gone} & {w for e in judged for w in e.new}
    return _BOUNDS & (entered | left)

"""Edits of a loss or a score that comes to the same on made numbers, however it is written now."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from ...by_role.worked import LOSSES, equal_kinds, lines_worked
from ...readers.script import last_name
from ...script_diff.edit import Edit
from ...scripts.syntax import Script
from .topics import matching, topics

_OF_SCORES = frozenset(("metric", "metric-reset", "judged-among-all", "division", "axis", "scores-scale"))
# not what bounds or reorders a computation: equal on plain numbers is not equal on extreme ones
_OF_LOSSES = frozenset(
    (
        *("loss-function", "loss-reduction", "loss-divided", "loss-sign", "loss-weight", "loss-masking"),
        *("loss-arguments", "division", "axis"),
    )
)


def worked_out_alike(edits: Sequence[Edit], mine: Script, theirs: Script) -> Iterator[Edit]:
    """Edits of lines that numbers were worked out by, of figures that all come out alike in both programs."""
    scores, losses = (_about(edits, names) for names in (_OF_SCORES, _OF_LOSSES))
    scores = [e for e in scores if not _carries_on(e, mine)]
    if not scores and not losses:
        return
    same = equal_kinds(mine, theirs)
    if not same:
        return
    here, there = lines_worked(mine), lines_worked(theirs)
    figures = [v for k, v in same.items() if k not in LOSSES]
    minimised = [v for k, v in same.items() if k in LOSSES]
    for told, verdicts in ((scores, figures), (losses, minimised)):
        if verdicts and all(verdicts):
            yield from (e for e in told if _stands(e, here, mine, True) and _stands(e, there, theirs, False))


def _about(edits: Sequence[Edit], names: frozenset[str]) -> list[Edit]:
    asked = [t for t in topics() if t.name in names]
    found = [e for e in edits if any(matching(e, t.patterns) for t in asked)]
    if names is _OF_SCORES and found:  # with it, what else of the evaluation is written anew
        found += [e for e in edits if e.split == "eval" and "evaluation" in e.roles and not _known(e)]
    return found


def _carries_on(edit: Edit, mine: Script) -> bool:
    """Whether an edit is about what a figure starts from: a second round, not worked out, would tell.

    A start is gone with its sum where nothing is added up under that name any more.
    """
    if not any(matching(edit, t.patterns) for t in topics() if t.name == "metric-reset"):
        return False
    begins = re.match(r"(\w+(?:, \w+)*) = ", edit.theirs_code)
    if edit.kind != "removed" or begins is None:
        return True
    summed = {last_name(n.target) for n in mine.of(ast.AugAssign)}
    summed |= {last_name(c.func.value) for c in mine.calls if isinstance(c.func, ast.Attribute)}
    return not summed.isdisjoint(begins.group(1).split(", "))


def _known(edit: Edit) -> bool:
    return any(matching(edit, t.patterns) for t in topics())


def _stands(edit: Edit, lines: frozenset[int], source: Script, mine: bool) -> bool:
    place = edit.mine if mine else edit.theirs
    if place is None or not (edit.mine_code if mine else edit.theirs_code):
        return True  # what only the other program has
    return place.file == source.path and place.line in lines

"""Columns that tell the label: the target, in another form, among the inputs of a table or array."""

from __future__ import annotations

from functools import lru_cache

from ...engine.model import Place
from ..dataset import answers
from ..dataset.model import DataSet, Part
from ..registry import Finding, View, absent, present, unknown
from .common import many, needs_data, said_of

_NONE = "no table of numbers with enough rows of each label among the training data, or its inputs are texts"


@needs_data
def column_is_label(data: DataSet, view: View, least: int, each: int) -> Finding:
    """A column of numbers is the label, or goes with it one to one, in every split."""
    del view
    found = _looked(data, least, each)
    for part, one in found:
        same = [a.name for a in one.found if a.same and _everywhere(data, part, a.name)]
        if same:
            named = ", ".join(same[:4])
            tell = "goes" if len(same) == 1 else "go"
            why = (
                f"{named} {tell} one to one with the label in {many(one.rows, 'row')} of {said_of(part)}: "
                "the target stands among the inputs"
            )
            return present(why, value=len(same), threshold=0, where=(Place(part.files[0]),))
    if not found:
        return unknown(_NONE)
    one = found[0][1]
    return absent(f"none of {many(one.columns, 'column')} goes one to one with the label", value=0)


@needs_data
def column_separates_classes(data: DataSet, view: View, least: int, each: int, other: float) -> Finding:
    """One column parts two classes at one threshold without an error, no other comes near; suspected.

    Or it is empty in all rows of some classes and filled in all others.
    """
    del view
    for part in data.training:
        for name, classes in part.gaps.items() if part.labels is not None and part.labels.classes else ():
            why = (
                f"{name} of {said_of(part)} is empty in the rows of {', '.join(classes[:4])} and filled in "
                "all others: whether it is there tells the class; suspected, not proven"
            )
            return present(why, value=1.0, threshold=other, where=(Place(part.files[0]),))
    found = _looked(data, least, each)
    for part, one in found:
        for a in one.found:
            if not a.same and a.next_best <= other:
                why = (
                    f"one threshold on {a.name} parts the classes of {said_of(part)} ({many(a.rows, 'row')}) "
                    f"without an error; the next best column reaches {a.next_best:.0%}: suspected, not proven"
                )
                return present(why, value=a.next_best, threshold=other, where=(Place(part.files[0]),))
    if not any(p.labels is not None and len(p.labels.counts) == 2 for p, _ in found):
        return unknown("no table of numbers with two classes and enough rows of each among the training data")
    return absent("no single column parts the classes alone", threshold=other)


def _looked(data: DataSet, least: int, each: int) -> list[tuple[Part, answers.Answers]]:
    parts = [p for p in data.training if p.kind in ("table", "records", "array")]
    return [(p, one) for p in parts if (one := _answers(p, least, each)) is not None]


@lru_cache(maxsize=8)
def _answers(part: Part, least: int, each: int) -> answers.Answers | None:
    return answers.answers(part, least, each)


def _everywhere(data: DataSet, part: Part, name: str) -> bool:
    return not any(answers.holds_too(held, part, name) is False for held in data.of("eval", "test"))

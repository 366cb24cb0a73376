"""Rows of token ids whose padding, attention masks or labels are odd."""

from __future__ import annotations

from ..dataset.model import DataSet, Part, TokenRows
from ..registry import Finding, View, absent, present, unknown
from .common import many, needs_data, said_of

NONE = "no rows of token ids with masks or labels among the data files"
LABELS = "labels"  # what reasons that are about labels hold


def _judged(data: DataSet, about: bool, share: float, sound: str) -> Finding:
    """The reason that most rows have, of those that are (not) `about` labels, from a share of rows on."""
    rows: list[tuple[Part, TokenRows]] = [(p, one) for p in data.parts for one in p.token_rows]
    for part, one in rows:
        wrong = {w: n for w, n in one.wrong.items() if (LABELS in w) == about}
        reason = max(wrong, key=wrong.__getitem__, default="")
        if wrong and wrong[reason] >= share * one.looked:
            held = f"{wrong[reason]} of {many(one.looked, 'row')} of {one.name} in {said_of(part)}"
            value = wrong[reason] / one.looked
            return present(f"{held} {reason}", value=value, threshold=share, where=(one.first[reason],))
    if not rows:
        return unknown(NONE)
    if any((LABELS in w) == about for _, one in rows for w in one.wrong):
        return unknown("only single rows are odd")
    return absent(f"{many(rows[0][1].looked, 'row')} of {rows[0][1].name}: {sound}", value=0)


@needs_data
def token_rows_odd(data: DataSet, view: View, share: float) -> Finding:
    """Token ids padded now left, now right, or with a special one twice; masks that leave no padding out."""
    del view
    return _judged(data, False, share, "padded on one side, masks fit")


@needs_data
def token_labels_odd(data: DataSet, view: View, share: float) -> Finding:
    """Labels of tokens that count the padding, or of another length than their ids."""
    del view
    return _judged(data, True, share, "labels fit their ids")

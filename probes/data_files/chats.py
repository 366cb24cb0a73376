"""Conversations, answers and pairs of answers that nothing can be learnt from."""

from __future__ import annotations

from ..dataset.model import DataSet
from ..registry import Finding, View, absent, present, unknown
from .common import many, needs_data, said_of


@needs_data
def chats_malformed(data: DataSet, view: View, share: float) -> Finding:
    """Conversations without an answer, of unknown roles or other keys; pairs of two equal answers."""
    del view
    parts = [(p, p.chats) for p in data.parts if p.chats is not None]
    for part, one in parts:
        count = sum(one.wrong.values())
        if not count or count < share * one.looked:
            continue
        reason = max(one.wrong, key=one.wrong.__getitem__)
        _, example = one.first[reason]
        others = f"; {many(len(one.wrong) - 1, 'other reason')} beside it" if len(one.wrong) > 1 else ""
        held = f"{one.looked} conversations or pairs of {said_of(part)}"
        why = f"{one.wrong[reason]} among {held} {reason} ({example}){others}"
        return present(
            why, value=count / one.looked, threshold=share, where=tuple(p for p, _ in one.first.values())[:5]
        )
    if not parts:
        return unknown("no conversations or pairs of answers among the data files")
    if any(one.wrong for _, one in parts):
        return unknown("only single conversations are odd")
    return absent(
        f"{parts[0][1].looked} conversations or pairs: each with turns that a template knows", value=0
    )


@needs_data
def pairs_equal(data: DataSet, view: View, share: float) -> Finding:
    """In `share` of the pairs or more one text is chosen and refused: there is nothing to prefer."""
    del view
    parts = [(p, p.chats) for p in data.parts if p.chats is not None]
    for part, one in parts:
        for reason, count in one.wrong.items():
            if "one and the same answer" in reason and count >= share * one.looked:
                place, example = one.first[reason]
                why = f"{count} of {one.looked} pairs of {said_of(part)} are {reason} ({example})"
                return present(why, value=count / one.looked, threshold=share, where=(place,))
    if not parts:
        return unknown("no conversations or pairs of answers among the data files")
    return absent(f"less than {share:.0%} of what was looked at are pairs of equal answers", value=0)

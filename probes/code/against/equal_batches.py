"""One batch in other hands: handed on as a dict, masks that the collator makes or that tokens tell."""

from __future__ import annotations

from collections.abc import Sequence

from ...script_diff.edit import Edit

_COMPARES = frozenset({"==", "!=", ">", ">=", "<", "<=", "ne()", "eq()", "lt()", "ge()", "gt()", "le()"})
_BLANK = frozenset({"zeros()", "ones()", "zeros_like()", "ones_like()", "full()"})


def equal_batches(edits: Sequence[Edit]) -> list[Edit]:
    """Those of the edits that hand on the same values in another way."""
    return [*_handed_as_dict(edits), *_mask_from_collator(edits), *_mask_from_tokens(edits)]


def _sides(edit: Edit) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    return (edit.gone, edit.new), (edit.new, edit.gone)


def _handed_as_dict(edits: Sequence[Edit]) -> list[Edit]:
    """`model(a=a, b=b)` for `model(**batch)`, or back: no number, word or other call is new or gone."""
    found = []
    for edit in edits:
        for one, other in _sides(edit):
            calls = {w.removesuffix(".**") for w in one if w.endswith(".**")}
            if len(calls) != 1:
                continue
            call = calls.pop()
            plain = all(w[:1] == "$" or w in ("items()", "to()", "label-value", f"{call}.**") for w in one)
            named = {w for w in other if w.startswith(f"{call}.")}
            rest = {w for w in other if w[:1] != "$" and w not in ("to()", "label-value")} - named
            if plain and named and not rest:
                found.append(edit)
    made = [e for e in edits if e.within[:1] == ("return.value",) and not e.gone and not e.new]
    return [*found, *made] if found else []  # the collator gives a dict of what were the parts of a tuple


def _mask_from_collator(edits: Sequence[Edit]) -> list[Edit]:
    """A mask that is one more value of each batch, and was made of the batch in the loop; or back."""
    found: list[Edit] = []
    for given, gone in (("new", "gone"), ("gone", "new")):
        kind = "argument-added" if given == "new" else "argument-removed"
        made = [
            e
            for e in edits
            if e.kind == kind and "return.value" in e.within and getattr(e, given) & _COMPARES
        ]
        if not made:
            continue
        read = [e for e in edits if e.kind == kind and e.within[:1] == ("for.target",)]
        names = {w for e in read for w in getattr(e, given) if w[:1] == "$"}
        used = [
            e
            for e in edits
            if names
            and getattr(e, given)
            and getattr(e, given) <= names | {"to()"}
            and getattr(e, gone) & _COMPARES
        ]
        if read and used:
            found += [*made, *read, *used]
    return found


def _mask_from_tokens(edits: Sequence[Edit]) -> list[Edit]:
    """`(ids != pad).long()` for zeros that are filled with ones row by row, or back."""
    for filled, gone, new in (("removed", "gone", "new"), ("added", "new", "gone")):
        fills = [
            e
            for e in edits
            if e.kind == filled and {"fill", "1.0"} <= getattr(e, gone) and "slice" in getattr(e, gone)
        ]
        told = [
            e
            for e in edits
            if e.kind == "expression"
            and getattr(e, gone) & _BLANK
            and getattr(e, new) & {"!=", "ne()"}
            and any("pad" in w.lower() for w in getattr(e, new))
        ]
        if fills and told:
            return [*fills, *told]
    return []

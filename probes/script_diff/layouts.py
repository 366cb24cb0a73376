"""Whether two views of one tensor have the same axes, where their sizes are written in other ways."""

from __future__ import annotations

from .terms import Term

_VIEWS = ("view", "flatten", "unflatten")


def one_layout(a: Term, b: Term) -> tuple[Term, Term] | None:
    """What both views are of, where `view(b, t, -1)`, `view(x.shape)` and `flatten(2)` are told to be one.

    None where they are not, or where one form is on both sides: then other sizes are other sizes.
    """
    if a.label == b.label or {a.kind, b.kind} != {"call"} or not {a.label, b.label} <= set(_VIEWS):
        return None
    of = [x.part("#0") for x in (a, b)]
    if of[0] is None or of[1] is None:
        return None
    first, second = sorted((a, b), key=lambda x: _VIEWS.index(x.label))
    if first.label != "view":
        return None
    sizes = _sizes(first)
    same = _flattened(sizes, second) if second.label == "flatten" else _unfolded(sizes, second)
    return (of[0], of[1]) if same else None


def _sizes(view: Term) -> list[Term]:
    """The sizes that a view asks for, one each; a single shape as it is."""
    given = [p for e, p in view.parts if e != "#0"]
    if len(given) == 1 and given[0].kind == "sequence":
        return [p for _, p in given[0].parts]
    return given


def _flattened(sizes: list[Term], flat: Term) -> bool:
    """`flatten(start, end)`: the axis that was made is free, or the product of others."""
    start, end = _whole(flat.part("start_dim"), 0), _whole(flat.part("end_dim"), -1)
    if start is None or end is None or start < 0:
        return False
    if len(sizes) == 1 and sizes[0].label in ("shape", "size"):  # of another tensor
        return start > 0 and end == -1
    if end == -1 and len(sizes) != start + 1:
        return False
    return len(sizes) > start and (end == -1 or _joined(sizes[start]))


def _unfolded(sizes: list[Term], folded: Term) -> bool:
    """`unflatten(dim, (n, m))`: these sizes stand there, in this order."""
    dim, parts = _whole(folded.part("dim"), None), folded.part("sizes")
    if dim is None or parts is None or parts.kind != "sequence":
        return False
    wanted = [p.key for _, p in parts.parts]
    if dim < 0:
        return [p.key for p in sizes[len(sizes) + dim + 1 - len(wanted) : len(sizes) + dim + 1]] == wanted
    return [p.key for p in sizes[dim : dim + len(wanted)]] == wanted


def _joined(size: Term) -> bool:
    return size.label == "*" or _whole(size, None) == -1


def _whole(term: Term | None, default: int | None) -> int | None:
    """A whole number that is written out; the default of none."""
    if term is None:
        return default
    text = f"-{term.parts[0][1].label}" if term.label == "negative" and term.parts else term.label
    try:
        return int(float(text))
    except ValueError:
        return None


__all__ = ["one_layout"]

"""Equal ways to fill what a mask names, and to take extremes along an axis."""

from __future__ import annotations

import ast

from .terms import Term


def where(term: Term) -> Term:
    """`where(c, 1, 0)` is the condition as numbers, `where(c, -100, x)` is `x.masked_fill(c, -100)`."""
    if [e for e, _ in term.parts if e != "self"] != ["#0", "#1", "#2"]:
        return term
    test, one, zero = (p for e, p in term.parts if e != "self")
    if (one.label, zero.label) == ("1.0", "0.0") and test.kind == "operation":
        whole = isinstance(one.node, ast.Constant) and isinstance(one.node.value, int)
        return Term("call", "long" if whole else "float", (("#0", test),), term.node)
    mine, other = _fill(one), _fill(zero)
    if other is not None and mine is None:
        return _filled(one, _negated(test), other, term)
    return _filled(zero, test, mine, term) if mine is not None and other is None else term


def _filled(of: Term, mask: Term, value: Term, term: Term) -> Term:
    return Term("call", "masked_fill", (("#0", of), ("mask", _truth(mask)), ("value", value)), term.node)


def _fill(term: Term) -> Term | None:
    """The one number that a term stands for in every place: `-1e9`, `float("-inf")`, `full_like(x, -100)`."""
    if term.kind == "call" and term.label in ("full_like", "tensor"):
        given = [p for e, p in term.parts if e != "self"]
        return (
            given[-1] if len(given) == (2 if term.label == "full_like" else 1) and _fill(given[-1]) else None
        )
    if term.kind == "call" and term.label == "float":
        return term if len(term.parts) == 1 and term.parts[0][1].kind == "constant" else None
    return term if term.kind == "number" else None


_OTHERWISE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def _negated(term: Term) -> Term:
    if term.kind == "operation" and term.label == "not":
        return term.parts[0][1]
    if term.kind == "operation" and term.label in _OTHERWISE:
        return Term("operation", _OTHERWISE[term.label], term.parts, term.node)
    return Term("operation", "not", (("left", term),), term.node)


def _truth(mask: Term) -> Term:
    """`mask.bool()` as a condition is `mask != 0`."""
    if mask.kind == "operation" and mask.label == "not":
        inner = _truth(mask.parts[0][1])
        return _negated(inner) if inner is not mask.parts[0][1] else mask
    of = mask.part("#0")
    if mask.kind != "call" or mask.label != "bool" or of is None or len(mask.parts) != 1:
        return mask
    return Term("operation", "!=", (("left", of), ("right", Term("number", "0.0"))), mask.node)


def masked(term: Term) -> Term:
    """`x.masked_fill(~m.bool(), v)` is `x.masked_fill(m == 0, v)`."""
    mask = term.part("mask")
    if mask is None or (truth := _truth(mask)) is mask:
        return term
    return Term("call", term.label, tuple((e, truth if e == "mask" else p) for e, p in term.parts), term.node)


def extreme(term: Term) -> Term:
    """`x.max(1).values` and `x.max(1)[0]` are `x.amax(1)`; the other part is `x.argmax(1)`."""
    of, index = term.part("of"), term.part("index")
    if of is None or of.kind != "call" or of.label not in ("max", "min"):
        return term
    dim = of.part("dim")
    if dim is None or dim.kind != "number" or any(e not in ("#0", "dim", "keepdim") for e, _ in of.parts):
        return term
    part = term.label if index is None else {"0.0": "values", "1.0": "indices"}.get(index.label)
    if part not in ("values", "indices"):
        return term
    return Term("call", ("a" if part == "values" else "arg") + of.label, of.parts, term.node)

"""Mixup that a script writes out: pictures and targets are mixed by the same shares."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import factors

_LABELS = re.compile(r"(?i)^(?:ys?|labels?|targets?|one_?hot|y_\w+|\w+_(?:label|target)s?)$")


def shares_exchanged(source: Script) -> Finding | None:
    """`lam * x + (1 - lam) * x[perm]` beside `(1 - lam) * y + lam * y[perm]`, or a `y` that is left alone."""
    if "lam" not in source.code and "Beta" not in source.code and "beta(" not in source.code:
        return None
    for function in source.of(ast.FunctionDef):
        mixes = [(n, m) for n in of(function, ast.BinOp) if (m := _mix(n)) is not None]
        for node, (share, plain, place) in mixes:
            for other, (second, held, other_place) in mixes:
                if other is node or plain == held or not _LABELS.match(held) or _LABELS.match(plain):
                    continue
                if place != other_place:
                    if share == second and _drawn(other_place):
                        return at(source, other, "the targets are mixed with those of other samples")
                    continue
                if share != second and _turned(share) == second:
                    return at(source, other, "the targets are mixed by the other share than their pictures")
        if len(mixes) == 1 and (idle := _of_batch(source, function, mixes[0])) is not None:
            return at(source, idle, "the inputs are mixed here, and their targets are left as they are")
        if len(mixes) == 1 and (left := _left_alone(function, mixes[0][1])) is not None:
            return at(source, left, "the pictures are mixed here, and their targets are left as they are")
    return None


def _mix(node: ast.BinOp) -> tuple[str, str, str] | None:
    """`lam * x + (1 - lam) * x[perm]` -> (share of the plain one, its name, the order)."""
    if not isinstance(node.op, ast.Add):
        return None
    sides = [factors(s) for s in (node.left, node.right)]
    if any(len(s) != 2 for s in sides):
        return None
    shares: list[tuple[str, ast.expr]] = []
    for one, other in sides:
        value, share = (one, other) if isinstance(one, ast.Subscript) else (other, one)
        if _is_share(other) and not _is_share(one):
            value, share = one, other
        shares.append((_plain(share), value))
    if _turned(shares[0][0]) != shares[1][0]:
        return None
    whole = [(s, v) for s, v in shares if isinstance(v, ast.Name)]
    drawn = [v for _, v in shares if isinstance(v, ast.Subscript)]
    if len(whole) != 1 or len(drawn) != 1 or unparse(drawn[0].value) != unparse(whole[0][1]):
        return None
    return whole[0][0], unparse(whole[0][1]), unparse(drawn[0].slice)


def _is_share(node: ast.expr) -> bool:
    return re.fullmatch(r"(?:1 - )?(?:lam\w*|l|beta|mix\w*|ratio|alpha|weight|r)", _plain(node)) is not None


def _plain(node: ast.expr) -> str:
    return unparse(node).replace("1.0", "1").strip("()")


def _turned(share: str) -> str:
    return share[4:] if share.startswith("1 - ") else f"1 - {share}"


def _drawn(place: str) -> bool:
    return re.search(r"randperm|permutation", place) is not None


def _of_batch(
    source: Script, function: ast.FunctionDef, mix: tuple[ast.BinOp, tuple[str, str, str]]
) -> ast.AST | None:
    """`x` of a batch is mixed in place, and the loss is of `y`: neither share nor order is read again."""
    node, (share, plain, place) = mix
    statement = source.statement(node)
    if not isinstance(statement, ast.Assign) or [unparse(t) for t in statement.targets] != [plain]:
        return None
    targets = [t for n in of(function, ast.Assign) for t in n.targets]
    targets += [n.target for n in of(function, ast.For)]
    tuples = [[unparse(e) for e in t.elts] for t in targets if isinstance(t, ast.Tuple)]
    unpacked = [names for names in tuples if plain in names]
    labels = [n for names in unpacked[:1] for n in names if n != plain and _LABELS.match(n)]
    name = share[4:] if share.startswith("1 - ") else share
    inside = set(of(node, ast.Name))
    again = [n for n in of(function, ast.Name) if isinstance(n.ctx, ast.Load) and n not in inside]
    if len(labels) != 1 or {n.id for n in again} & {name, place}:
        return None
    stored = [n for n in of(function, ast.Name) if n.id == labels[0] and isinstance(n.ctx, ast.Store)]
    asked = [c for c in of(function, ast.Call) if any(unparse(a) == labels[0] for a in c.args)]
    if len(stored) > 1 or not any(
        "loss" in unparse(c.func).lower() or "criterion" in unparse(c.func) for c in asked
    ):
        return None
    return node


def _left_alone(function: ast.FunctionDef, mix: tuple[str, str, str]) -> ast.Return | None:
    """The function gives the mixed pictures with its labels, neither shuffled nor the share given back."""
    share, plain, place = mix
    name = share[4:] if share.startswith("1 - ") else share
    names = [a.arg for a in function.args.args]
    labels = [n for n in names if _LABELS.match(n)]
    if plain not in names or len(labels) != 1:
        return None
    moved = [s for s in of(function, ast.Subscript) if unparse(s.slice) == place]
    if any(unparse(s.value) != plain for s in moved):
        return None
    for back in of(function, ast.Return):
        if isinstance(back.value, ast.Tuple) and name not in {unparse(e) for e in back.value.elts}:
            if place not in {unparse(e) for e in back.value.elts} and len(back.value.elts) == 2:
                return back
    return None

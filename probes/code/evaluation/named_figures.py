"""Figures of scripts against the formula of their name: RMSE, R2, kappa, F1, precision, union, accuracy, MRR.

What a figure is called: the name that it is given, its key, the name that callers give it, its function.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse, walk
from ...readers.script import last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow, returns
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.factors import without_floor
from ..shared.nodes import assigned, factors

_WHOLE = ("sum", "mean", "nansum", "nanmean", "average", "reduce_sum", "reduce_mean")


def other_than_named(source: Script) -> Finding | None:
    """`rmse = squares / rows`, `r2 = rest / spread`, `f1 = p * r / (p + r)`, `mrr = 1 / rank.mean()`."""
    for name, value in named(source):
        for called, look in _LOOKS:
            if called.search(name) and (why := look(source, value)) is not None:
                return at(source, value, why)
    return _same_divisor(source) or _share_of_cells(source)


def named(source: Script) -> Iterator[tuple[str, ast.expr]]:
    """What figures are called, and their expressions."""
    for node in source.of(ast.Assign):
        for target, value in assigned(node):
            if isinstance(target, (ast.Name, ast.Attribute)):
                yield last_name(target).lower(), value
            elif isinstance(target, ast.Tuple) and isinstance(value, ast.Call):
                yield from _unpacked(source, target, value)
    for mapping in source.of(ast.Dict):
        for key, value in zip(mapping.keys, mapping.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value.lower(), value
    for function in source.of(ast.FunctionDef):
        for value in returns(function):
            if not isinstance(value, (ast.Tuple, ast.Dict)):
                yield function.name.lower(), value


def _unpacked(source: Script, target: ast.Tuple, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """`rmse, mae, r2 = evaluate(...)`: what the function gives at each place."""
    for function in flow(source).called(call):
        for value in returns(function):
            if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
                for one, given in zip(target.elts, value.elts, strict=True):
                    if isinstance(one, ast.Name):
                        yield one.id.lower(), given


def _all(source: Script, value: ast.expr, depth: int = 4) -> str:
    """The text of an expression and of all that its names stand for."""
    texts: list[str] = []
    queue, seen = [(value, depth)], set[ast.expr]()
    while queue and len(texts) < 60:
        one, left = queue.pop()
        if one in seen:
            continue
        seen.add(one)
        texts.append(unparse(one))
        if left == 0:
            continue
        for name in of(one, ast.Name, ast.Attribute):
            queue += [(g.value, left - 1) for g in flow(source).all_given(name)]
            scope = source.function_around(name) or source.tree
            own = unparse(name)
            grown = [n for n in of(scope, ast.AugAssign) if unparse(n.target).split("[")[0] == own]
            queue += [(n.value, left - 1) for n in grown]
        for call in of(one, ast.Call):
            queue += [(r, left - 1) for f in flow(source).called(call) for r in returns(f)]
    return " ".join(texts)


_SQUARES = re.compile(r"\*\* ?2\b|pow\([^()]*2\)|\.pow\(2|square\(|mse")
_ROOTS = re.compile(
    r"sqrt|\*\* ?\(?0?\.5|\*\* ?\(1 / 2|pow\([^()]*0?\.5|norm\(|rmse|root|squared=False|std\("
)


def _no_root(source: Script, value: ast.expr) -> str | None:
    if not isinstance(_bare(value), (ast.BinOp, ast.Call)):
        return None
    if _root_of_each(_bare(value)):
        return "the root is taken of each square before their mean: this is the mean absolute error"
    text = _all(source, value)
    known = not any(
        last_name(c.func) not in _KNOWN and not flow(source).called(c) for c in of(value, ast.Call)
    )
    if known and _SQUARES.search(text) and not _ROOTS.search(text):
        return "this is named after a root, and none is taken of the squares"
    return None


def _root_of_each(value: ast.expr) -> bool:
    """`np.sqrt((p - t) ** 2).mean()`, `np.mean(np.sqrt((p - t) ** 2))`."""
    if not isinstance(value, ast.Call) or last_name(value.func) != "mean":
        return False
    owner = receiver(value)
    inner = value.args[0] if value.args and not isinstance(owner, ast.Call) else owner
    if not isinstance(inner, ast.Call) or last_name(inner.func) != "sqrt" or not inner.args:
        return False
    of_all = any(last_name(c.func) in (*_WHOLE, "norm") for c in of(inner.args[0], ast.Call))
    square = inner.args[0]
    alone = (
        isinstance(square, ast.BinOp)
        and isinstance(square.op, ast.Pow)
        and unparse(square.right) in ("2", "2.0")
    )
    return alone and not of_all


_KNOWN = (*_WHOLE, "float", "item", "len", "square", "pow", "abs", "max", "mse_loss", "mean_squared_error")


def _not_taken_off(source: Script, value: ast.expr) -> str | None:
    """A bare quotient: no `1 -` of it, nor a difference in it."""
    value = _bare(value)
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Div):
        return None
    text = unparse(value.left)
    if isinstance(value.left, ast.Name):
        text += " " + " ".join(unparse(g.value) for g in flow(source).all_given(value.left))
    if re.search(r"(?<![e(\[,])\s-\s|corr|cov|pearson|agree|mean\(\)|reg|expl", _without_squares(text)):
        return None
    return "the quotient is given back as it is: one less it is what the name says"


def _without_squares(text: str) -> str:
    """`((y - p) ** 2).sum()` without the differences that are squared or sized."""
    text = re.sub(r"abs\([^()]*\)", "", text)
    return re.sub(r"\([^()]* - [^()]*\)(?: ?\*\* ?2|\.pow\(2\)|\.square\(\))|square\([^()]*\)", "", text)


def _no_kappa(source: Script, value: ast.expr) -> str | None:
    bare = _bare(value)
    if isinstance(bare, ast.BinOp) and isinstance(bare.op, ast.Div):
        if all(any(last_name(c.func) in _WHOLE for c in of(s, ast.Call)) for s in (bare.left, bare.right)):
            return _not_taken_off(source, value)
    return None


def _no_r2(source: Script, value: ast.expr) -> str | None:
    if isinstance(_bare(value), ast.BinOp) and _SQUARES.search(_all(source, value)):
        return _not_taken_off(source, value)
    return None


def _no_f1(source: Script, value: ast.expr) -> str | None:
    """`p * r / (p + r)` without its two, `2 * p * r / (p * r)`."""
    for node in of(value, ast.BinOp):
        if not isinstance(node.op, ast.Div):
            continue
        below = without_floor(node.right)
        above = [unparse(f) for f in factors(node.left)]
        names = [f for f in above if not re.fullmatch(r"[\d.]+", f)]
        if len(names) != 2 or not isinstance(below, ast.BinOp):
            continue
        if isinstance(below.op, ast.Mult) and sorted(map(unparse, factors(below))) == sorted(names):
            return "precision and recall are multiplied below as well: F1 divides by their sum"
        plain = isinstance(below.op, ast.Add) and sorted(map(unparse, (below.left, below.right))) == sorted(
            names
        )
        around = " ".join(unparse(p) for p in source.above(node) if isinstance(p, (ast.BinOp, ast.Return)))
        if plain and len(above) == 2 and not re.search(r"\b2(?:\.0?)? \*|\* 2\b|\+ 1|beta", around):
            return "the harmonic mean has a two above: this is half of F1"
    return None


def _reciprocal_of_mean(_: Script, value: ast.expr) -> str | None:
    bare = _bare(value)
    if isinstance(bare, ast.BinOp) and isinstance(bare.op, ast.Div) and isinstance(bare.left, ast.Constant):
        inner = _bare(bare.right)
        if bare.left.value in (1, 1.0) and isinstance(inner, ast.Call) and last_name(inner.func) == "mean":
            return "the mean of reciprocals is asked for, and this is the reciprocal of a mean"
    return None


def _added_to_itself(_: Script, value: ast.expr) -> str | None:
    for node in of(value, ast.BinOp):
        if isinstance(node.op, ast.Add) and unparse(node.left) == unparse(node.right):
            if of(node.left, ast.Call):
                return "both terms of this union are the same"
    return None


def _bare(value: ast.expr) -> ast.expr:
    """Without conversions: `float(x)`, `x.item()`, `100 * x`."""
    for _ in range(6):
        if isinstance(value, ast.Call) and last_name(value.func) in (
            "float",
            "item",
            "cpu",
            "numpy",
            "round",
            "tolist",
        ):
            inner = value.args[0] if value.args else getattr(value.func, "value", None)
            if not isinstance(inner, ast.expr):
                return value
            value = inner
        elif (
            isinstance(value, ast.BinOp)
            and isinstance(value.op, ast.Mult)
            and isinstance(value.left, ast.Constant)
        ):
            value = value.right
        else:
            return value
    return value


_LOOKS = (
    (re.compile(r"(?:^|_)rmse(?:_|$)"), _no_root),
    (re.compile(r"(?:^|_)r_?2(?:_score)?$|r_?squared"), _no_r2),
    (re.compile(r"kappa|(?:^|_)qwk"), _no_kappa),
    (re.compile(r"(?:^|_)f_?1(?:_|$)|f_?1_?score"), _no_f1),
    (re.compile(r"(?:^|_)mrr(?:_|$)|reciprocal"), _reciprocal_of_mean),
    (re.compile(r"(?:^|_)union(?:_|$)"), _added_to_itself),
)


def _same_divisor(source: Script) -> Finding | None:
    """`precision = hit / table.sum(1)` and `recall = hit / table.sum(1)`."""
    found: dict[tuple[ast.AST | None, str], tuple[str, ast.expr]] = {}
    for node in source.of(ast.Assign):
        for target, value in assigned(node):
            kind = (
                re.search(r"(?i)precision|recall", last_name(target))
                if isinstance(target, ast.Name)
                else None
            )
            if kind is None or not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Div):
                continue
            if not any(isinstance(n, (ast.Name, ast.Call)) for n in walk(value.right)):
                continue
            key = (source.function_around(node), kind[0].lower())
            other = (key[0], "recall" if key[1] == "precision" else "precision")
            found[key] = (unparse(value), value)
            if other in found and found[other][0] == unparse(value):
                return at(source, value, "precision and recall are the same quotient here")
    return None


def _share_of_cells(source: Script) -> Finding | None:
    """`np.trace(table) / table.size`: hits over the number of cells, not over what was counted."""
    for node in source.of(ast.BinOp):
        below = node.right
        if not isinstance(node.op, ast.Div):
            continue
        counted = below.value if isinstance(below, ast.Attribute) and below.attr == "size" else None
        if isinstance(below, ast.Call) and last_name(below.func) in ("numel", "nelement"):
            counted = receiver(below)
        if counted is None:
            continue
        above, name = unparse(node.left), re.escape(unparse(counted))
        if re.search(
            rf"trace\({name}\)|{name}\.trace\(|{name}\.diag(?:onal)?\(|diag(?:onal)?\({name}\)", above
        ):
            if re.search(r"(?i)conf|table|matrix|^cm$|\bcm\b|hist|count", unparse(counted)):
                return at(source, node, "hits are divided by the number of cells of the table")
    return None

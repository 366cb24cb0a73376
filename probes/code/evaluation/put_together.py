"""Figures that are put together wrongly around the loop that counts them: its last batch, its first place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_bound, of, unparse, walk
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Function, Script
from ..shared.checks import at


def divided_by_last_batch(source: Script) -> Finding | None:
    """`return hits / len(y)` behind the loop over batches: the sum of all is divided by the last."""
    for loop in source.of(ast.For):
        scope = source.function_around(loop)
        if scope is None or takes_gradients(source, loop):
            continue
        inside = set(walk(loop))
        each = names_bound(loop)
        summed = {
            s.target.id
            for s in of(loop, ast.AugAssign)
            if isinstance(s.op, ast.Add) and isinstance(s.target, ast.Name)
        }
        stored = [n.id for n in of(scope, ast.Name) if isinstance(n.ctx, ast.Store) and n not in inside]
        each -= summed | set(stored)
        begun = {n for n in summed if n in stored}
        end = loop.end_lineno or loop.lineno
        for node in of(scope, ast.BinOp):
            if node in inside or node.lineno <= end or not isinstance(node.op, ast.Div):
                continue
            of_what = _base(node.left)
            size = _size_of(node.right)
            if of_what in begun and size in each and source.function_around(node) is scope:
                why = f"`{of_what}` is a sum over all batches, and `{size}` is the last of them"
                return at(source, node, why)
    return None


def _base(node: ast.expr) -> str:
    """The name behind a number: `hits.item()`, `100 * hits`."""
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
            node = node.func.value
        elif isinstance(node, ast.Call) and len(node.args) == 1 and last_name(node.func) in ("float", "int"):
            node = node.args[0]
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            node = node.right if isinstance(node.left, ast.Constant) else node.left
        else:
            return ""
    return node.id


def _size_of(node: ast.expr) -> str:
    """`y` of `len(y)`, `y.size(0)`, `y.shape[0]` and `y.numel()`."""
    if isinstance(node, ast.Call) and last_name(node.func) == "len" and len(node.args) == 1:
        node = node.args[0]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr not in ("size", "numel"):
            return ""
        node = node.func.value
    elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
        if node.value.attr != "shape":
            return ""
        node = node.value.value
    else:
        return ""
    return node.id if isinstance(node, ast.Name) else ""


# ------------------------------------------------------------------------------------- gains by place


def first_place_without_logarithm(source: Script) -> Finding | None:
    """`1 / log2(i + 1)` of places that are counted from nought: the logarithm of the first one is nought."""
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, ast.Div) or not isinstance(node.right, ast.Call):
            continue
        call = node.right
        if last_name(call.func) not in ("log2", "log") or not call.args:
            continue
        inner = call.args[0]
        if not (isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Add)):
            continue
        parts = (inner.left, inner.right)
        one = [p for p in parts if isinstance(p, ast.Constant) and p.value == 1]
        place = [p for p in parts if p not in one]
        if len(one) != 1 or len(place) != 1 or not _from_nought(source, place[0]):
            continue
        asked = re.compile(rf"\b{re.escape(unparse(place[0]).split('[')[0])}\b")
        tests = [unparse(p.test) for p in source.above(node) if isinstance(p, (ast.If, ast.IfExp))]
        if any(asked.search(_WHETHER_FOUND.sub("", t)) for t in tests):
            continue
        why = f"`{unparse(place[0])}` counts from 0, and the logarithm of 1 divides the first place by zero"
        return at(source, node, why)
    return None


_WHETHER_FOUND = re.compile(r"len\(\w+\)|\w+\.(?:size|numel\(\)|any\(\)|shape\[0\])|\w+ in \w+")


def _from_nought(source: Script, node: ast.expr) -> bool:
    """A place that is counted from 0: of `range(k)`, `enumerate(x)`, `arange(k)`, `nonzero`, `x.index(y)`."""
    if isinstance(node, ast.Subscript):
        return _from_nought(source, node.value)
    if isinstance(node, ast.Call):
        return _counts_from_nought(node)
    if not isinstance(node, ast.Name):
        return False
    for target, over in _loops(source, node):
        if isinstance(over, ast.Call) and last_name(over.func) == "range" and len(over.args) == 1:
            return isinstance(target, ast.Name) and target.id == node.id
        if isinstance(over, ast.Call) and last_name(over.func) == "enumerate":
            counted = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
            begins = len(over.args) == 1 and keyword(over, "start") is None
            return begins and isinstance(counted, ast.Name) and counted.id == node.id
        return False
    given = flow(source).all_given(node)
    return len(given) == 1 and not _changed(source, node) and _from_nought_value(given[0].value)


def _from_nought_value(value: ast.expr) -> bool:
    while isinstance(value, ast.Subscript):
        value = value.value
    return isinstance(value, ast.Call) and _counts_from_nought(value)


def _counts_from_nought(call: ast.Call) -> bool:
    name = last_name(call.func)
    if name == "arange":
        first_ = call.args[0] if len(call.args) > 1 else None
        return bool(call.args) and (first_ is None or unparse(first_) == "0")
    if name == "index":
        return isinstance(call.func, ast.Attribute) and len(call.args) == 1
    if name in ("nonzero", "argwhere"):
        return True
    return name == "where" and len(call.args) == 1


def _changed(source: Script, node: ast.Name) -> bool:
    scope = source.function_around(node) or source.tree
    return any(unparse(s.target).split("[")[0] == node.id for s in of(scope, ast.AugAssign))


def _loops(source: Script, node: ast.Name) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The loops and comprehensions around that give a name its value: (target, what is gone through)."""
    for parent in source.above(node):
        pairs: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(parent, ast.For):
            pairs = [(parent.target, parent.iter)]
        elif isinstance(parent, (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)):
            pairs = [(g.target, g.iter) for g in parent.generators]
        for target, over in pairs:
            if any(n.id == node.id for n in of(target, ast.Name)):
                yield target, over
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return


# ---------------------------------------------------------------------------------- sizes and meters

_MEANT = re.compile(r"(?i)bias|mass|drift|net|balance|total_?energy|sum|mean|offset|shift")


def size_of_summed_errors(source: Script) -> Finding | None:
    """`off += (told - true).sum().abs()`: errors of both signs cancel out before their size is taken."""
    for node in source.of(ast.AugAssign):
        if not isinstance(node.op, ast.Add) or _MEANT.search(last_name(node.target)):
            continue
        if takes_gradients(source, source.function_around(node) or node):
            continue
        for call in of(node.value, ast.Call):
            if last_name(call.func) not in ("abs", "absolute", "fabs"):
                continue
            inner = call.args[0] if call.args else getattr(call.func, "value", None)
            if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
                inner = inner.func.value if inner.func.attr in ("item", "detach") else inner
            if not isinstance(inner, ast.Call) or last_name(inner.func) not in ("sum", "mean"):
                continue
            if len(inner.args) > (0 if isinstance(inner.func, ast.Attribute) else 1) or inner.keywords:
                if not (isinstance(inner.func, ast.Attribute) and _library(inner.func.value)):
                    continue
            library = isinstance(inner.func, ast.Attribute) and not _library(inner.func.value)
            summed = inner.func.value if library and isinstance(inner.func, ast.Attribute) else None
            summed = summed or argument(inner, position=0)
            if isinstance(summed, ast.BinOp) and isinstance(summed.op, ast.Sub):
                return at(source, node, "errors of both signs cancel out: their size is taken of their sum")
    return None


def _library(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("torch", "np", "numpy", "tf", "ops", "mint", "jnp")


def kept_as_default(source: Script) -> Finding | None:
    """`def evaluate(net, meter=Meter())`: one meter, made once, goes on from one evaluation to the next."""
    for function in source.of(ast.FunctionDef):
        args = function.args
        places = [*args.posonlyargs, *args.args]
        pairs = list(zip(reversed(places), reversed(args.defaults), strict=False))
        pairs += [(a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d is not None]
        for parameter, default in pairs:
            name = parameter.arg
            if not _collects(source, function, name, default):
                continue
            at_place = places.index(parameter) if parameter in places else -1
            calls = [c for c in flow(source).calls_of(function) if source.loops_around(c)]
            plain = [c for c in calls if not _gives(c, name, at_place)]
            if plain:
                why = f"`{name}` is made once, when the function is defined, and goes on with each call"
                return at(source, default, why)
    return None


def _collects(source: Script, function: Function, name: str, default: ast.expr) -> bool:
    """The default gathers, the function adds to it, gives back what it holds, and never empties it."""
    listed = isinstance(default, (ast.List, ast.Dict)) and not of(default, ast.Constant)
    made = isinstance(default, ast.Call) and (
        last_name(default.func) in source.classes
        or re.search(r"Meter$|Metric$|Average", unparse(default.func))
    )
    if not (listed or made):
        return False
    adds = ("append", "extend") if listed else ("update", "add", "append", "update_state")
    called = [c for c in of(function, ast.Call) if source.owner(c) == name]
    if not any(last_name(c.func) in adds for c in called):
        return False
    if any(re.match(r"reset|clear|zero", last_name(c.func)) for c in called):
        return False
    if any(n.id == name and isinstance(n.ctx, ast.Store) for n in of(function, ast.Name)):
        return False
    given = [r.value for r in of(function, ast.Return) if r.value is not None]
    return any(n.id == name for r in given for n in of(r, ast.Name))


def _gives(call: ast.Call, name: str, place: int) -> bool:
    method = 1 if isinstance(call.func, ast.Attribute) else 0
    return (
        any(k.arg in (name, None) for k in call.keywords)
        or any(isinstance(a, ast.Starred) for a in call.args)
        or (place >= 0 and len(call.args) > place - method)
    )


_LIGHTNING = re.compile(r"Module$")


def meter_never_filled(source: Script) -> Finding | None:
    """Lightning: `self.log("test_iou", self.test_iou)` of a metric that nothing is given to."""
    if "lightning" not in source.text:
        return None
    for owner in source.classes.values():
        if not any(_LIGHTNING.search(unparse(b)) for b in owner.bases) or "getattr" in unparse(owner):
            continue
        shown: dict[str, ast.Call] = {}
        read: set[str] = set()
        for node in of(owner, ast.Attribute):
            if unparse(node.value) != "self" or not isinstance(node.ctx, ast.Load):
                continue
            outer = source.parents.get(node)
            if isinstance(outer, ast.Call) and last_name(outer.func) == "log" and node in outer.args[1:]:
                shown[node.attr] = outer
            elif not (isinstance(outer, ast.Attribute) and outer.attr in ("compute", "reset")):
                read.add(node.attr)
        for name, call in shown.items():
            made = source.attribute(owner, name)
            if name in read or not isinstance(made, ast.Call) or not last_name(made.func)[:1].isupper():
                continue
            if "torchmetrics" in source.text and last_name(made.func) not in source.classes:
                return at(
                    source, call, f"nothing is given to `self.{name}`: it shows the metric of no answers"
                )
    return None

"""Labels of a part of the samples that change places among themselves."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse, walk
from ...readers.script import argument, last_name, receiver
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.roles import TARGET_WORDS, base, is_random, targets

_TURNS = frozenset(("flip", "flipud", "roll", "permutation", "permute", "reversed", "shuffled", "sample"))


def swapped(source: Script) -> Finding | None:
    """`y[:k] = y[:k][::-1]`, `y[idx] = y[rng.permutation(idx)]`: some labels, and no inputs with them."""
    seen: ast.AST | None = None
    names = targets(source)
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Subscript) or isinstance(target.slice, ast.Constant):
            continue
        if not (base(target) in names or TARGET_WORDS.search(base(target))):
            continue
        seen = seen or node
        whole = unparse(target.value)
        mine = [s for s in of(node.value, ast.Subscript) if unparse(s.value) == whole]
        if len(mine) != 1 or _all_rows(target.slice) or _with_inputs(source, node, whole):
            continue
        if _turned(source, target, mine[0], node.value):
            return at(source, node, "labels of a part of the samples change places among themselves")
        if _counted_on(target, mine[0], node.value):
            return at(source, node, "labels of a part of the samples are changed")
    return ok(source, seen, "no labels change places") if seen is not None else None


def _counted_on(target: ast.Subscript, taken: ast.Subscript, value: ast.expr) -> bool:
    """`y[:k] = (y[:k] + 1) % 10`: the first samples are given the next class."""
    wraps = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mod)
    return wraps and isinstance(target.slice, ast.Slice) and unparse(taken) == unparse(target)


def _all_rows(index: ast.expr) -> bool:
    """`y[:]`, `y[..., ::-1]`, `y[:, 1]`: every sample is meant."""
    first = index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index
    bare = isinstance(first, ast.Slice) and first.lower is None and first.upper is None and first.step is None
    return bare or (isinstance(first, ast.Constant) and first.value is ...)


def _turned(source: Script, target: ast.Subscript, taken: ast.Subscript, value: ast.expr) -> bool:
    """What is written back are the labels of the same samples in another order."""
    if unparse(taken.slice) == unparse(target.slice):
        return _turns(value, taken)
    # `y[idx] = y[rng.permutation(idx)]`, also by a name: the index itself is put in another order
    index, other = unparse(target.slice), taken.slice
    if isinstance(other, ast.Name):
        scope = source.function_around(other) or source.tree
        other = source.assigned(other.id, scope, other.lineno) or other
    return index != unparse(other) and index in map(unparse, of(other, ast.Name)) and _turns(other, None)


def _turns(value: ast.expr, taken: ast.Subscript | None) -> bool:
    """The rows are reversed, rolled or put in an order that is drawn."""
    for part in walk(value):
        if isinstance(part, ast.Call) and last_name(part.func) in _TURNS:
            return True
        if isinstance(part, ast.Subscript) and part is not taken:
            first = (
                part.slice.elts[0] if isinstance(part.slice, ast.Tuple) and part.slice.elts else part.slice
            )
            if isinstance(first, ast.Slice) and first.step is not None and unparse(first.step) == "-1":
                return True
            if is_random(first) or (isinstance(first, ast.Name) and re.search(r"(?i)perm", first.id)):
                return True
    return False


def _with_inputs(source: Script, node: ast.Assign, whole: str) -> bool:
    """Inputs are put in the same order: `x[:k] = x[:k][::-1]` beside `y[:k] = y[:k][::-1]`."""
    scope = source.function_around(node) or source.tree
    target = node.targets[0]
    text = unparse(node).replace(whole, "_")
    rows = unparse(target.slice) if isinstance(target, ast.Subscript) else ""
    for other in of(scope, ast.Assign):
        place = other.targets[0]
        if other is not node and isinstance(place, ast.Subscript) and unparse(place.value) != whole:
            if unparse(place.slice) == rows or unparse(other).replace(unparse(place.value), "_") == text:
                return True
    return False


_MOVES = ("roll", "flip", "flipud", "permutation", "sample", "shuffle", "shuffled")
_BARE = ("values", "to_numpy", "tolist", "array", "reset_index", "to_list")


def field_moved(source: Script) -> Finding | None:
    """`self.points = np.roll(self.points, 1, axis=0)`, `train[TARGET] = train[TARGET].sample(frac=1).values`.

    A field or column of targets gets another order of rows, and no other field or column gets the same one.
    """
    seen: ast.AST | None = None
    names = targets(source)
    for node in source.of(ast.Assign):
        target = node.targets[0]
        column = isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice)
        if not (column or isinstance(target, ast.Attribute)) or base(target) not in names:
            continue
        seen = seen or node
        call = next((c for c in of(node.value, ast.Call) if last_name(c.func) in _MOVES), None)
        if call is None or not _moves_rows(node.value, call):
            continue
        moved = _moved_by(call)
        if moved is None or not (base(moved) in names or unparse(moved) == unparse(target)):
            continue
        scope = source.function_around(node) or source.tree
        alike = [
            c for c in of(scope, ast.Call) if last_name(c.func) == last_name(call.func) and c is not call
        ]
        if not alike:
            return at(source, node, "labels are put into another order than their samples")
    return ok(source, seen, "no labels are moved alone") if seen is not None else None


def _moved_by(call: ast.Call) -> ast.expr | None:
    """What is moved: `np.roll(y, 1)`, `y.flip(0)`, `frame["y"].sample(frac=1)`."""
    owner = receiver(call)
    plain = isinstance(owner, ast.Name) and (
        owner.id in ("np", "torch", "random", "jnp") or "rng" in owner.id
    )
    made = isinstance(owner, (ast.Call, ast.Attribute)) and is_random_source(owner)
    return argument(call, position=0) if owner is None or plain or made else owner


def is_random_source(node: ast.expr) -> bool:
    """`np.random`, `np.random.default_rng(0)`, `random.Random(3)`."""
    return re.search(r"\brandom\b|default_rng|RandomState|Random\(|\brng\b", unparse(node)) is not None


def _moves_rows(value: ast.expr, call: ast.Call) -> bool:
    """Along the first axis; what pandas draws is put back by its index unless that is taken off."""
    name = last_name(call.func)
    if name == "sample":
        whole = any(k.arg == "frac" and unparse(k.value) in ("1", "1.0") for k in call.keywords)
        text = unparse(value)
        return whole and any(re.search(rf"\b{b}\b", text) for b in _BARE)
    axes = [k.value for k in call.keywords if k.arg in ("axis", "dim", "dims")]
    if not axes and name in ("roll", "flip"):
        method = isinstance(call.func, ast.Attribute) and unparse(call.func.value) not in (
            "np",
            "torch",
            "jnp",
        )
        axes = list(call.args[(1 if name == "roll" else 0) if method else (2 if name == "roll" else 1) :])
    return not axes or unparse(axes[0]) in ("0", "(0,)", "[0]")

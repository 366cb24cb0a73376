"""Groups of an optimizer by what their parameters are: biases and norms, or matrices, and which decay."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.sides import number

SMALL, LARGE = "biases and norms", "matrices"
_OTHER = {SMALL: LARGE, LARGE: SMALL}
_NAMED = re.compile(r"(?i)(?:^|[._])(?:bias|\w*norm\w*|ln|bn|gamma|beta)(?:$|[._])|bias|norm|gamma|beta")


def groups_exchanged(source: Script) -> Finding | None:
    """The group of biases and norms decays and that of the matrices does not.

    The groups are known by the condition that chooses their parameters: names (`"bias" in n`), dimensions
    (`p.ndim < 2`). Left aside: groups of which one is not known, or where both or none decay.
    """
    seen: ast.AST | None = None
    for groups in _groups(source):
        kinds: dict[str, bool] = {}
        for node, decays in groups:
            kind = _kind(source, node, 5)
            if kind is None or decays is None or kind in kinds:
                kinds = {}
                break
            kinds[kind] = decays
        if kinds.get(SMALL) is None or kinds.get(LARGE) is None:
            continue
        seen = seen or groups[0][0]
        if kinds[SMALL] and not kinds[LARGE]:
            return at(source, groups[0][0], "biases and norms decay and the matrices do not")
    return ok(source, seen, "the matrices decay") if seen is not None else None


def optax_mask_turned(source: Script) -> Finding | None:
    """`optax.adamw(rate, mask=lambda p: tree_map(lambda x: x.ndim <= 1, p))`: what the mask keeps decays."""
    if "jax" not in source.frameworks:
        return None
    seen: ast.AST | None = None
    for call in source.named("adamw", "add_decayed_weights", "lamb", "lion"):
        given = keyword(call, "mask")
        asked: list[ast.AST] = [given] if given is not None else []
        if isinstance(given, ast.Name):
            asked = [*flow(source).functions.get(given.id, [])] or [*flow(source).values(given, 2)]
        kinds = {k for a in asked for t in of(a, ast.Compare) if (k := _kept_by(source, t)) is not None}
        turned = any(isinstance(n.op, ast.Not) for a in asked for n in of(a, ast.UnaryOp))
        if len(kinds) != 1 or turned:
            continue
        seen = seen or call
        if kinds == {SMALL}:
            return at(source, call, "biases and norms decay and the matrices do not")
    return ok(source, seen, "the matrices decay") if seen is not None else None


def _kept_by(source: Script, test: ast.Compare) -> str | None:
    """`x.ndim > 1`, `path[-1] == "kernel"`, `path[-1] != "bias"`: which leaves a mask keeps."""
    if (kind := _of_test(source, test)) is not None:
        return kind
    word = test.comparators[0].value if isinstance(test.comparators[0], ast.Constant) else None
    if not isinstance(word, str) or len(test.ops) != 1 or not isinstance(test.ops[0], (ast.Eq, ast.NotEq)):
        return None
    kinds = {"kernel": LARGE, "w": LARGE, "bias": SMALL, "scale": SMALL, "b": SMALL}
    kind = kinds.get(word)
    return _turned(kind) if isinstance(test.ops[0], ast.NotEq) else kind


def _groups(source: Script) -> Iterator[list[tuple[ast.expr, bool | None]]]:
    """Lists of groups: what each is given, and whether it decays (None: not told)."""
    for written in source.of(ast.List, ast.Tuple):
        items = [_items(e) for e in written.elts]
        items = [i for i in items if "order_params" not in i]
        if len(items) == 2 and all("params" in i for i in items):
            yield [(i["params"], _decays(source, i.get("weight_decay"))) for i in items]


def _items(node: ast.expr) -> dict[str, ast.expr]:
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {str(k.value): v for k, v in pairs if isinstance(k, ast.Constant)}
    if isinstance(node, ast.Call) and last_name(node.func) == "dict":
        return {k.arg: k.value for k in node.keywords if k.arg}
    return {}


def _decays(source: Script, node: ast.expr | None) -> bool | None:
    """Whether a group decays; one that says nothing takes what the optimizer is given, and that is some."""
    if node is None:
        given = [keyword(c, "weight_decay") for c in source.optimizer_calls]
        values = {number(source, g) != 0 for g in given if g is not None}
        return values.pop() if len(values) == 1 else None
    value = number(source, node)
    if value is not None:
        return value > 0
    return True if re.search(r"(?i)decay|\bwd\b", unparse(node)) else None


def _kind(source: Script, node: ast.expr, depth: int) -> str | None:
    """What the parameters of a group are, by the condition that they are chosen with."""
    if depth == 0:
        return None
    if isinstance(node, ast.Call) and last_name(node.func) in ("list", "tuple", "sorted") and node.args:
        return _kind(source, node.args[0], depth - 1)
    if isinstance(node, ast.Call) and last_name(node.func) == "filter" and len(node.args) == 2:
        test = node.args[0]
        return _of_test(source, test.body) if isinstance(test, ast.Lambda) else None
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and len(node.generators) == 1:
        tests = node.generators[0].ifs
        if not tests and isinstance(node.elt, ast.Subscript):  # `[by_name[n] for n in sorted(decay)]`
            return _kind(source, node.generators[0].iter, depth - 1)
        kinds = {k for t in tests if (k := _of_test(source, t)) is not None}
        return kinds.pop() if len(kinds) == 1 else None
    if isinstance(node, ast.Name):
        given = [v for v in flow(source).values(node, 3) if v is not node]
        if len(given) == 1 and not _is_empty(given[0]):
            return _kind(source, given[0], depth - 1)
        if given and all(_is_empty(g) for g in given):
            return _gathered(source, node.id)
    return None


def _is_empty(node: ast.expr) -> bool:
    return (isinstance(node, (ast.List, ast.Tuple)) and not node.elts) or (
        isinstance(node, ast.Call) and last_name(node.func) in ("list", "set") and not node.args
    )


def _gathered(source: Script, name: str) -> str | None:
    """What a loop puts into a list: `(a if test else b).append(p)`, `if test: a.append(p) else: ...`."""
    kinds: set[str | None] = set()
    for call in source.named("append", "add"):
        owner = receiver(call)
        if isinstance(owner, ast.IfExp) and name in (unparse(owner.body), unparse(owner.orelse)):
            kind = _of_test(source, owner.test)
            kinds.add(kind if unparse(owner.body) == name else _turned(kind))
        elif isinstance(owner, ast.Name) and owner.id == name:
            inner: ast.AST = call
            for parent in source.above(call):
                if isinstance(parent, (ast.For, ast.FunctionDef)):
                    break
                if isinstance(parent, ast.If):
                    kind = _of_test(source, parent.test)
                    if kind is not None:
                        kinds.add(_turned(kind) if inner in parent.orelse else kind)
                inner = parent
    return kinds.pop() if len(kinds) == 1 else None


def _turned(kind: str | None) -> str | None:
    return _OTHER[kind] if kind is not None else None


def _of_test(source: Script, test: ast.expr) -> str | None:
    """Which parameters pass a condition: by their names or by their dimensions."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _turned(_of_test(source, test.operand))
    if isinstance(test, ast.BoolOp):
        found = {k for v in test.values if (k := _of_test(source, v)) is not None}
        wanted = SMALL if isinstance(test.op, ast.Or) else LARGE
        if found == {wanted} or (len(found) == 1 and len(test.values) == 2 and _of_use(test)):
            return found.pop()
        return None
    if isinstance(test, ast.Call):
        return _of_call(source, test)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    op, right = test.ops[0], test.comparators[0]
    if isinstance(op, (ast.In, ast.NotIn)):
        word = test.left.value if isinstance(test.left, ast.Constant) else None
        known = isinstance(word, str) and _NAMED.search(word) is not None
        return (SMALL if isinstance(op, ast.In) else LARGE) if known else None
    return _of_dimensions(source, test.left, op, right)


def _of_use(test: ast.BoolOp) -> bool:
    return any("requires_grad" in unparse(v) for v in test.values)


def _of_dimensions(source: Script, left: ast.expr, op: ast.cmpop, right: ast.expr) -> str | None:
    """`p.ndim < 2`, `p.dim() == 1`, `len(p.shape) > 1`."""
    if not re.search(r"\.ndim$|\.dim\(\)$|\.ndimension\(\)$|^len\(.*(?:shape|size\(\))\)$", unparse(left)):
        return None
    limit = number(source, right)
    if limit is None:
        return None
    passes = [_compares(op, float(n), limit) for n in (1, 2)]
    if passes == [True, False]:
        return SMALL
    return LARGE if passes == [False, True] else None


def _compares(op: ast.cmpop, one: float, other: float) -> bool | None:
    match op:
        case ast.Lt():
            return one < other
        case ast.LtE():
            return one <= other
        case ast.Gt():
            return one > other
        case ast.GtE():
            return one >= other
        case ast.Eq():
            return one == other
        case ast.NotEq():
            return one != other
    return None


def _of_call(source: Script, call: ast.Call) -> str | None:
    """`any(s in n for s in skip)`, `n.endswith("bias")`, `n.endswith(skip)`."""
    name = last_name(call.func)
    if name == "any" and len(call.args) == 1 and isinstance(call.args[0], (ast.GeneratorExp, ast.ListComp)):
        made = call.args[0]
        inner = made.elt
        if isinstance(inner, ast.Compare) and isinstance(inner.ops[0], ast.In):
            return SMALL if _names_small(source, made.generators[0].iter) else None
        if isinstance(inner, ast.Call) and last_name(inner.func) == "endswith":
            return SMALL if _names_small(source, made.generators[0].iter) else None
    if name in ("endswith", "startswith") and call.args:
        return SMALL if _names_small(source, call.args[0]) else None
    return None


def _names_small(source: Script, node: ast.expr) -> bool:
    """Words that stand for biases and norms alone."""
    for end in (node, *flow(source).values(node, 4)):
        words = end.elts if isinstance(end, (ast.List, ast.Tuple, ast.Set)) else [end]
        texts = [w.value for w in words if isinstance(w, ast.Constant) and isinstance(w.value, str)]
        if texts and len(texts) == len(words):
            return all(_NAMED.search(t) for t in texts)
    return False

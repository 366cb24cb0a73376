"""Ranked lists in scripts whose order is turned: places counted from the worst, gains of another place.

What is told here rests on two things that a program says itself: which scores are the good ones (a product of
two vectors, a hit where the place is below k), and which way it sorts or counts.
"""

from __future__ import annotations

import ast
import re

from ...by_hand.promises import kind_of
from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, is_constant

_FAR = re.compile(r"(?i)dist|l2|cdist|norm|euclid|energy|cost|error|loss")
_K = re.compile(r"(?i)^(?:k|topk|top_k|n|at|cutoff|K\w*)$")


def ranked_from_the_worst(source: Script) -> Finding | None:
    """All of this module's checks, in turn."""
    for look in (_places_of_lower, _gain_of_other_place, _least_alike_first, _least_sure_first):
        if (found := look(source)) is not None:
            return found
    return None


def _places_of_lower(source: Script) -> Finding | None:
    """`place = (scores < scores.gather(1, t)).sum(1)`, and a hit is `place < 10`."""
    for node in source.of(ast.Compare):
        if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Lt, ast.LtE)):
            continue
        whole, one = node.left, node.comparators[0]
        if not _counted(source, node) or not _one_of(source, one, whole):
            continue
        if _FAR.search(unparse(whole)) or _FAR.search(_behind(source, whole)):
            continue  # the nearest comes first
        if _hits_below(source):
            return at(source, node, "the place is counted from the worst: these are the scores below its own")
    return None


def _counted(source: Script, node: ast.Compare) -> bool:
    """`(a < b).sum(1)`: how many there are along a row."""
    parent = source.parents.get(node)
    call = source.parents.get(parent) if isinstance(parent, ast.Attribute) else parent
    return isinstance(call, ast.Call) and last_name(call.func) in ("sum", "count_nonzero")


def _one_of(source: Script, one: ast.expr, whole: ast.expr) -> bool:
    """The score of one item is taken from all of them: by gather, by a place, by a column."""
    root = unparse(whole).split("[")[0].split(".")[0]
    for value in (one, *flow(source).values(one, 3)):
        text = unparse(value)
        taken = (
            isinstance(value, ast.Call) and last_name(value.func) in ("gather", "take_along_axis", "take")
        ) or isinstance(value, ast.Subscript)
        if taken and re.match(rf"(?:\w+\.)*(?:take_along_axis\()?{re.escape(root)}\b", text):
            return True
    return False


def _behind(source: Script, node: ast.expr) -> str:
    return " ".join(unparse(v) for v in flow(source).values(node, 2))


def _hits_below(source: Script) -> bool:
    """Places below k are hits: `(r < K).mean()`, `top = place < 10`."""
    for test in source.of(ast.Compare):
        if len(test.ops) == 1 and isinstance(test.ops[0], (ast.Lt, ast.LtE)):
            name, bound = test.left, test.comparators[0]
            small = isinstance(bound, ast.Constant) and bound.value in (1, 3, 5, 10, 20, 50, 100)
            told = re.search(r"(?i)^(?:r|rk|ranks?|places?|pos(?:ition)?s?)$|rank|place", unparse(name))
            if told and (small or _K.match(unparse(bound))):
                return True
    return False


def _gain_of_other_place(source: Script) -> Finding | None:
    """`r < K` counts places from zero, and `1 / log2(r + 1)` from one: the first place divides by zero."""
    for function in (*source.of(ast.FunctionDef), source.tree):
        if "log2" not in source.code:
            return None
        for call in of(function, ast.Call):
            if last_name(call.func) != "log2" or len(call.args) != 1 or not _divides(source, call):
                continue
            given = call.args[0]
            if not isinstance(given, ast.BinOp) or not isinstance(given.op, ast.Add):
                continue
            if not isinstance(given.left, ast.Name) or unparse(given.right) not in ("1", "1.0"):
                continue
            name, around = given.left.id, source.function_around(call)
            if around is not (function if isinstance(function, ast.FunctionDef) else None):
                continue
            if _below_k(function, name) and _counts_from_zero(source, given.left):
                return at(
                    source, call, f"`{name}` counts from zero here, so that the first place has log 1 = 0"
                )
    return None


def _divides(source: Script, call: ast.Call) -> bool:
    parent = source.parents.get(call)
    return isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Div) and parent.right is call


def _below_k(function: ast.AST, name: str) -> bool:
    tests = [t for t in of(function, ast.Compare) if unparse(t.left) == name and len(t.ops) == 1]
    return bool(tests) and all(
        isinstance(t.ops[0], ast.Lt) and not isinstance(t.comparators[0], ast.BinOp) for t in tests
    )


def _counts_from_zero(source: Script, name: ast.Name) -> bool:
    """No place is raised by one on its way here: `ranks + 1`, `enumerate(..., 1)`, `arange(1, n)`."""
    function = source.function_around(name)
    made = [unparse(v) for v in flow(source).values(name, 4)]
    if function is not None and name.id in {a.arg for a in function.args.args}:
        place = [a.arg for a in function.args.args].index(name.id)
        for call in flow(source).calls_of(function):
            if len(call.args) > place:
                made += [unparse(v) for v in (call.args[place], *flow(source).values(call.args[place], 4))]
                for inner in of(call.args[place], ast.Call):
                    made += [unparse(f) for f in flow(source).called(inner)]
    text = " ".join(made)
    counted = re.search(r"[<>]=? ?[\w.\[\], :]+\)\.sum|argsort|nonzero|argmax|searchsorted", text)
    return counted is not None and not re.search(r"\+ ?1\b|, ?1\)|arange\(1|start=1", text)


def _least_alike_first(source: Script) -> Finding | None:
    """`dist = q @ g.T` and `argsort(dist)`: a product is large for what is alike, which so comes last."""
    for call in source.named("argsort", "sort"):
        if _turned(source, call):
            continue
        own = isinstance(call.func, ast.Attribute) and source.owner(call) not in (
            "np",
            "torch",
            "numpy",
            "jnp",
        )
        given = call.func.value if own and isinstance(call.func, ast.Attribute) else None
        given = given if given is not None else argument(call, position=0)
        if given is None:
            continue
        root: ast.expr = given
        while isinstance(root, ast.Subscript):
            root = root.value
        made = [g.value for g in flow(source).all_given(root)] if isinstance(root, ast.Name) else [root]
        if len(made) == 1 and _product(made[0]) and _first_are_asked(source, call):
            return at(
                source, call, "the least alike come first: a product of two vectors is large for a match"
            )
    return None


def _product(value: ast.expr) -> bool:
    """`(a @ b.T).numpy()`, `mm(a, b.t())`, with no sign and no `1 -`."""
    node = value
    while isinstance(node, ast.Call):
        if last_name(node.func) in ("mm", "matmul", "dot", "cosine_similarity", "einsum"):
            return True
        if not isinstance(node.func, ast.Attribute) or node.args:
            return False
        node = node.func.value
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)):
        return False
    right = unparse(node.right)
    return right.endswith((".T", ".t()", ".mT")) and not isinstance(node.left, ast.UnaryOp)


def _turned(source: Script, call: ast.Call) -> bool:
    if keyword(call, "descending") is not None or any(isinstance(a, ast.UnaryOp) for a in call.args):
        return True
    for parent in source.above(call):
        if isinstance(parent, ast.Subscript) and "-1" in unparse(parent.slice):
            return True
        if isinstance(parent, ast.Call) and last_name(parent.func) in ("flip", "fliplr", "reversed"):
            return True
        if isinstance(parent, ast.stmt):
            names = {unparse(t) for t in getattr(parent, "targets", [])}
            around = source.function_around(call) or source.tree
            later = [s for s in of(around, ast.Subscript) if unparse(s.value) in names]
            return any("-" in unparse(s.slice) for s in later) or any(
                last_name(c.func) in ("flip", "fliplr", "flipud") and names & names_in(c)
                for c in of(around, ast.Call)
            )
    return False


def _first_are_asked(source: Script, call: ast.Call) -> bool:
    """The order is read from its beginning: matches are looked for in it."""
    statement = source.statement(call)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return False
    name = statement.targets[0].id
    around = source.function_around(call) or source.tree
    read = [s for s in of(around, ast.Subscript) if name in names_in(s.slice)]
    if any(isinstance(source.parents.get(s), ast.Compare) for s in read):
        return True  # `gy[order] == qy[:, None]`
    text = [unparse(s) for s in read]
    return any("==" in t or re.search(r"(?i)match|hit|label|pid|ids|true", t) for t in text)


def _least_sure_first(source: Script) -> Finding | None:
    """`dets.sort(key=lambda d: d[1])` in a function of average precision: the least sure come first."""
    for function in source.of(ast.FunctionDef):
        if kind_of(function.name) != "ap" or not any(
            last_name(c.func) in ("cumsum", "accumulate") for c in of(function, ast.Call)
        ):
            continue
        for call in of(function, ast.Call):
            if last_name(call.func) not in ("sorted", "sort", "argsort") or not _by_score(call):
                continue
            if not _turned(source, call) and keyword(call, "reverse") is None:
                return at(
                    source,
                    call,
                    "the least sure detections come first, where precision counts from the surest",
                )
    return None


def _by_score(call: ast.Call) -> bool:
    key = keyword(call, "key")
    if isinstance(key, ast.Lambda):
        body = key.body
        return isinstance(body, (ast.Subscript, ast.Attribute)) and not isinstance(body, ast.UnaryOp)
    if key is not None:
        return False
    given = call.args[0] if call.args else receiver(call)
    return (
        last_name(call.func) == "argsort"
        and given is not None
        and re.search(r"(?i)score|conf|prob", unparse(given)) is not None
        and "-" not in unparse(given)
    )


# --------------------------------------------------------------------------------- detections, known items


_MARKS = re.compile(
    r"(?i)^(?:is_)?(?:used|matched|taken|assigned|claimed|covered|detected|visited|gt_?\w*|seen\w*)$"
)


def marks_never_asked(source: Script) -> Finding | None:
    """`used[j] = True` where objects are matched, and nothing asks for it: one object counts twice."""
    for function in source.of(ast.FunctionDef):
        stores = [
            (n, root)
            for n in of(function, ast.Subscript)
            if isinstance(n.ctx, ast.Store) and (root := _root(n)) and _MARKS.match(root)
        ]
        if not stores or not any(
            last_name(c.func) in ("argmax", "max", "iou", "box_iou") or "iou" in last_name(c.func).lower()
            for c in of(function, ast.Call)
        ):
            continue
        for node, root in stores:
            statement = source.statement(node)
            if not isinstance(statement, ast.Assign) or not is_constant(statement.value):
                continue
            inside = {id(n) for n in of(statement, ast.Name)}
            reads = [
                n
                for n in of(function, ast.Name)
                if n.id == root and isinstance(n.ctx, ast.Load) and id(n) not in inside
            ]
            others = [n for n, r in stores if r == root]
            kept = {id(n) for s in others if (st := source.statement(s)) for n in of(st, ast.Name)}
            if all(id(n) in kept for n in reads) and root not in {a.arg for a in function.args.args}:
                return at(
                    source, node, f"`{root}` is marked and nothing asks for it: one object is matched twice"
                )
    return None


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


_KNOWN = re.compile(r"(?i)known|seen|history|interacted|rated|watched|consumed|train_(?:mask|items|pos)")
_LOW = re.compile(
    r"^-(?:(?:torch|np|math|float)?\.?\(?['\"]?inf\w*['\"]?\)?|1e\d+|1000\d*(?:\.0)?|float\(.inf.\))$"
)


def unknown_left_out(source: Script) -> Finding | None:
    """`scores[~seen[u]] = -inf`: what a user has not had is taken out, and what it has had is ranked."""
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Subscript) or not _LOW.match(unparse(node.value)):
            continue
        turned = [n for n in of(target.slice, ast.UnaryOp) if isinstance(n.op, (ast.Invert, ast.Not))]
        if any(_KNOWN.search(unparse(n.operand)) for n in turned):
            return at(source, node, "what the user has not had is taken out, and what it has had is ranked")
    return None

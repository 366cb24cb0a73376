"""Values in scripts that are zero for ordinary data, by what they are made of, under a logarithm or below."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse, walk
from ...readers.script import argument, last_name, receiver
from ...registry import Finding
from ...scripts.flow import Flow, flow
from ...scripts.learning import takes_gradients
from ...scripts.minimised import handed, makers, objectives
from ...scripts.syntax import Script
from ...scripts.untaped import without_gradients
from ..shared.checks import at, ok
from ..shared.nodes import is_own
from ..shared.sides import literal

_NOT_NEGATIVE = ("relu", "ReLU", "abs", "square", "absolute")
_SPECTRA = re.compile(r"^(?:Mel)?Spectrogram$|^melspectrogram$")
_EPSILON = re.compile(r"(?i)^(?:eps|epsilon|smooth|smoothing_term|tiny)$")
_FLOORS = re.compile(
    r"(?i)clamp|clip|maximum|(?<!soft)max\(|where|nan_to_num|eps|tiny|finfo|1e-|log1p|any\(|if "
)


def reaches_zero(source: Script) -> Finding | None:
    """A logarithm of a rectified value or a spectrum, a quotient by a count of none, an epsilon of zero.

    Also the root of a sum of squares along an axis, whose slope at zero is infinite, and an error that is
    divided by its bare target. Looked at: forward passes, losses, samples, and what takes gradients.
    """
    mine = flow(source)
    seen: ast.AST | None = None
    for scope in _scopes(source):
        for node in of(scope, ast.Call, ast.BinOp):
            why: str | None = None
            if isinstance(node, ast.Call) and last_name(node.func) in ("log", "log2", "log10", "sqrt"):
                argument = None if is_own(source, node) else _argument(node)
                if argument is None or (last_name(node.func) != "sqrt" and _guarded(source, node)):
                    continue
                seen = seen or node
                why = _under(source, mine, last_name(node.func), argument)
            elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and not _guarded(source, node):
                why = _below(mine, node)
            if why is not None and not without_gradients(source, node):  # else a figure that is told
                return at(source, node, why)
    if (epsilon := _epsilon_of_zero(source)) is not None:
        return at(source, epsilon, "this epsilon is zero: nothing is below the quotient")
    return ok(source, seen, "logarithms and roots have a floor") if seen is not None else None


def _scopes(source: Script) -> Iterator[ast.AST]:
    ends = [v for _, o in objectives(source) for v in (o, *flow(source).values(o, 6))]
    minimised = {*(source.function_around(v) for v in ends), *makers(source)}
    for function in source.of(ast.FunctionDef):
        if re.search(r"(?i)eval|valid|(?:^|_)test|metric|score|plot|predict", function.name):
            continue
        losses = "loss" in function.name.lower() or function in source.loss_methods
        runs = function in source.forwards or function.name == "__getitem__"
        if losses or runs or function in minimised or takes_gradients(source, function):
            yield function
    for backward in source.backwards:
        if source.function_around(backward) is None:
            yield from source.loops_around(backward)[:1]


def _argument(call: ast.Call) -> ast.expr | None:
    owner = receiver(call)
    library = owner is None or unparse(owner) in (
        "torch",
        "F",
        "ops",
        "tf",
        "mint",
        "np",
        "K",
        "tf.math",
        "jnp",
        "keras.ops",
        "ms.ops",
        "mindspore.ops",
    )
    if library:
        return argument(call, position=0)
    return owner if not call.args else None


def _guarded(source: Script, node: ast.AST) -> bool:
    """A floor stands in the same statement, or a condition around it."""
    statement = source.statement(node)
    inside = unparse(statement) if statement is not None and not hasattr(statement, "body") else ""
    conditions = [p for p in source.above(node) if isinstance(p, (ast.If, ast.IfExp))]
    return bool(_FLOORS.search(inside)) or any(
        re.search(r"sum|any|count|len|> 0|\bn\b", unparse(p.test)) for p in conditions
    )


def _ends(mine: Flow, node: ast.expr) -> list[ast.expr]:
    found = [v for v in mine.values(node, 8) if not isinstance(v, ast.Name)]
    return found or [node]


def _in_shape(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if last_name(node.func) not in ("squeeze", "unsqueeze", "view", "reshape", "float", "to", "flatten"):
            break
        node = node.func.value
    return node


_PICKS = ("gather", "gather_elements", "gather_d", "gather_nd", "take_along_axis", "index_select")


def _underflows(source: Script, mine: Flow, end: ast.expr) -> bool:
    """The softmax of the class that is meant, or what is left of one beside a sigmoid or a prediction.

    `log(gather(softmax(x), y))`, `log(1 - sigmoid(x))`, `log(1 - y_pred)` of a loss that is handed over.
    """
    if isinstance(end, ast.Call) and last_name(end.func) in _PICKS:
        about = _argument(end)
        if about is None and isinstance(end.func, ast.Attribute) and end.args:
            about = end.func.value  # `softmax(x).gather(1, y)`
        return about is not None and any(
            isinstance(v, ast.Call) and last_name(v.func) == "softmax" for v in _ends(mine, about)
        )
    if isinstance(end, ast.Subscript) and isinstance(end.slice, ast.Tuple):
        rows = [
            last_name(e.func) for e in end.slice.elts if isinstance(e, ast.Call)
        ]  # `softmax(x)[arange(n), y]`
        if {"arange", "range"} & set(rows):
            return any(
                isinstance(v, ast.Call) and last_name(v.func) == "softmax" for v in _ends(mine, end.value)
            )
    if isinstance(end, ast.BinOp) and isinstance(end.op, ast.Sub) and unparse(end.left) in ("1", "1.0"):
        function = source.function_around(end)
        parameters = [a.arg for a in function.args.args] if function is not None else []
        handed_over = function is not None and any(
            isinstance(v, ast.Name) and v.id == function.name for _, v in handed(source)
        )
        if isinstance(end.right, ast.Name) and handed_over and end.right.id in parameters[1:2]:
            return True
        return any(isinstance(v, ast.Call) and last_name(v.func) == "sigmoid" for v in _ends(mine, end.right))
    return False


def _under(source: Script, mine: Flow, name: str, argument: ast.expr) -> str | None:
    """Why what a logarithm or a root is taken of reaches zero."""
    for end in map(_in_shape, _ends(mine, argument)):
        if name == "sqrt":
            summed = isinstance(end, ast.Call) and last_name(end.func) == "sum" and (end.args or end.keywords)
            inner = (
                end.func.value
                if summed and isinstance(end, ast.Call) and isinstance(end.func, ast.Attribute)
                else None
            )
            if inner is not None and _is_square_of_difference(inner):
                return "where both are equal the root has an infinite slope, and the gradient is NaN"
            if _is_length_of_slope(mine, end):
                return "where all is even both are zero: the root has an infinite slope, the gradient is NaN"
            continue
        if _underflows(source, mine, end):
            return "a probability that underflows has a logarithm of minus infinity"
        if isinstance(end, ast.Call) and last_name(end.func) in _NOT_NEGATIVE:
            if re.search(r"(?i)psi|wave_?func|\bdet\b|\.det\(", unparse(end)):
                continue  # log|psi| of a wave function, log|det|: no zero but at its nodes
            return f"what {last_name(end.func)} gives is zero now and then: its logarithm is minus infinity"
        if isinstance(end, ast.Call) and isinstance(end.func, (ast.Name, ast.Attribute)):
            made = [last_name(v.func) for v in mine.values(end.func, 3) if isinstance(v, ast.Call)]
            if any(_SPECTRA.match(m) for m in [*made, last_name(end.func)]) and not _in_decibel(source):
                return "silence has no energy: its logarithm is minus infinity"
    return None


def _in_decibel(source: Script) -> bool:
    return bool(source.named("AmplitudeToDB", "power_to_db", "amplitude_to_DB"))


_SLOPE = re.compile(r"(?i)^(?:g|d|grad|sobel|edge|diff|delta)_?(?:[xyzhwuv]|dx|dy)$")


def _is_length_of_slope(mine: Flow, node: ast.expr) -> bool:
    """`gx ** 2 + gy ** 2` of differences between neighbours, or of what is named so."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)):
        return False
    bases = [_squared(side) for side in (node.left, node.right)]
    return all(b is not None and _is_slope(mine, b) for b in bases)


def _squared(node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return node.left if isinstance(node.right, ast.Constant) and node.right.value == 2 else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return node.left if unparse(node.left) == unparse(node.right) else None
    if isinstance(node, ast.Call) and last_name(node.func) in ("square", "pow"):
        return _argument(node) or receiver(node)
    return None


def _is_slope(mine: Flow, node: ast.expr) -> bool:
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name) and _SLOPE.match(node.id):
        return True
    return any(
        isinstance(e, ast.BinOp) and isinstance(e.op, ast.Sub) for e in map(_in_shape, _ends(mine, node))
    )


def _is_square_of_difference(node: ast.expr) -> bool:
    while isinstance(node, ast.Call) and not node.args and isinstance(node.func, ast.Attribute):
        if last_name(node.func) != "square":
            break
        return isinstance(node.func.value, ast.BinOp) and isinstance(node.func.value.op, ast.Sub)
    if isinstance(node, ast.Call) and last_name(node.func) == "pow" and isinstance(node.func, ast.Attribute):
        return isinstance(node.func.value, ast.BinOp) and isinstance(node.func.value.op, ast.Sub)
    power = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)
    return (
        power
        and isinstance(node, ast.BinOp)
        and isinstance(node.left, ast.BinOp)
        and isinstance(node.left.op, ast.Sub)
    )


_BEFORE = re.compile(r"(?i)(?:^|_)(?:old|prev\w*|last|former|before)(?:_|$)")


def _below(mine: Flow, node: ast.BinOp) -> str | None:
    """Why a divisor reaches zero."""
    right = _in_shape(node.right)
    if isinstance(right, ast.Call) and last_name(right.func) in ("abs", "absolute"):
        inner = _argument(right)
        right = inner if isinstance(inner, ast.Name) else right
    if (
        isinstance(right, ast.Call)
        and last_name(right.func) == "sum"
        and isinstance(right.func, ast.Attribute)
    ):
        mask = unparse(right.func.value)
        if not right.args and not right.keywords and mask in unparse(node.left):
            for end in map(_in_shape, _ends(mine, right.func.value)):
                if isinstance(end, ast.Compare) and len(end.ops) == 1 and isinstance(end.ops[0], ast.Eq):
                    if isinstance(end.comparators[0], ast.Constant):
                        return "a batch without any of these divides zero by zero"
    if isinstance(right, ast.Name):
        for call in of(node.left, ast.Call):
            about = _argument(call) if last_name(call.func) in ("abs", "absolute") else None
            about = (
                call.func.value
                if about is None and last_name(call.func) == "abs" and isinstance(call.func, ast.Attribute)
                else about
            )
            if isinstance(about, ast.BinOp) and isinstance(about.op, ast.Sub):
                if _BEFORE.search(right.id):
                    continue  # of the last round: how much a loss still changes
                if right.id in (unparse(about.left), unparse(about.right)) and not _positive(mine, right):
                    return "the error is divided by its target, and nothing keeps that from being zero"
    return None


def _positive(mine: Flow, node: ast.expr) -> bool:
    return any(
        _FLOORS.search(unparse(v)) or "exp(" in unparse(v) for v in mine.values(node, 4) if v is not node
    )


def _epsilon_of_zero(source: Script) -> ast.AST | None:
    """`def dice(p, t, eps=0.0)`, added below a quotient or in a logarithm, and nobody gives another one."""
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, ast.Add):
            continue
        name = next(
            (n for n in (node.left, node.right) if isinstance(n, ast.Name) and _EPSILON.match(n.id)), None
        )
        if name is None or not _is_floor(source, node):
            continue
        function = source.function_around(node)
        default = _default(function, name.id) if isinstance(function, ast.FunctionDef) else None
        given = flow(source).arguments(name) if default is not None else []
        values = [literal(source, g) for g in given]
        if default is not None and default.value == 0 and all(v == 0 for v in values):
            return default
        if default is None and literal(source, name) == 0 and not given:
            return name
    return None


def _default(function: ast.FunctionDef, name: str) -> ast.Constant | None:
    names = [a.arg for a in function.args.args]
    pairs = dict(zip(reversed(names), reversed(function.args.defaults), strict=False))
    found = pairs.get(name)
    number = isinstance(found, ast.Constant) and isinstance(found.value, (int, float))
    return found if number and isinstance(found, ast.Constant) else None


def _is_floor(source: Script, node: ast.AST) -> bool:
    """The sum stands below a quotient, or in a logarithm or a root."""
    child = node
    for parent in source.above(node):
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Div):
            return any(n is child for n in walk(parent.right))
        if isinstance(parent, ast.Call) and last_name(parent.func) in ("log", "sqrt", "rsqrt"):
            return True
        if isinstance(parent, ast.stmt):
            return False
        child = parent
    return False

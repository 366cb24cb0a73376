"""Activations that are flat whatever they are given: below zero, saturated by a factor, cut to a step."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import keyword, last_name, receiver
from ...registry import Finding, View, probe
from ...scripts.syntax import Function, Script
from ..shared.checks import at, first, ok
from ..shared.nodes import is_negative
from ..shared.sides import literal

_RECTIFIES = ("relu", "ReLU", "relu_", "threshold")
_SATURATES = ("sigmoid", "tanh", "hardsigmoid", "hardtanh")
_NEVER_BELOW = ("abs", "relu", "square", "exp", "softplus", "sigmoid", "softmax", "norm")
_NORM = re.compile(r"(?i)norm|(?:^|[._])(?:bn|ln|gn)\d*\(")
# a normalised value is this far from its mean once in two million times (the tail of a normal distribution)
_DEVIATIONS = 5.0
# times this a value of one is where a sigmoid's slope has gone (its slope at 20 is 2e-9)
_STEEP = 20.0
_NARROW = 0.05
_KINDS = ("float", "to", "type", "astype", "int")
_LIBRARIES = ("F", "torch", "nn.functional", "torch.nn.functional", "self", "ops", "tf.nn")
_STEPS = re.compile(r"(?i)mask|metric|thresh|binar|quant|spik|gate|surrogate|straight|ste\b|accura|iou|dice")


@probe()
def units_silenced(view: View) -> Finding:
    """An activation in a forward pass gives the same whatever its units are worth, so no gradient comes back.

    `relu(-x.abs())`, `relu(norm(x) - 20)`, `sigmoid(100 * x)`, `clamp(x, 0, 0.01)`, `return (x > 0).float()`.
    """
    return first(view, _silenced, "the scripts hold no activation in a model")


def _silenced(source: Script) -> Finding | None:
    if any(last_name(b) == "Function" for c in source.classes.values() for b in c.bases):
        return None  # a slope of its own may be given to what has none
    seen: ast.AST | None = None
    for function in source.passes:
        owner = source.parents.get(function)
        if not isinstance(owner, ast.ClassDef) or owner not in source.modules or _STEPS.search(owner.name):
            continue
        for call, given in _activations(source, function):
            seen = seen or call
            name = last_name(call.func).lower()
            if name in _RECTIFIES and _is_below(given):
                return at(source, call, "what is rectified here is never above zero: all units are dead")
            if name in _RECTIFIES and (by := _pushed_down(source, given)) is not None:
                return at(source, call, f"{by:g} is taken from a normalised value: nearly all units are dead")
            if name in _SATURATES and (by := _factor(given)) is not None and by >= _STEEP:
                return at(source, call, f"the input is multiplied by {by:g}: {name} is saturated everywhere")
        for call in of(function, ast.Call):
            if last_name(call.func) in ("clamp", "clip") and (width := _width(source, call)) is not None:
                if width <= _NARROW and _goes_on(source, call):
                    return at(
                        source,
                        call,
                        f"values are cut to a range of {width:g}, with no slope beyond it",
                    )
        for node in of(function, ast.Return):
            value = node.value
            while isinstance(value, ast.Call) and last_name(value.func) in (
                "float",
                "to",
                "type",
                "astype",
                "int",
            ):
                value = receiver(value)
            if isinstance(value, ast.Compare) and source.backwards and "self." in unparse(value):
                return at(source, node, "the answer is cut to a step, which has no slope anywhere")
    return ok(source, seen, "activations have a slope where their inputs lie") if seen is not None else None


def _activations(source: Script, function: Function) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Calls of an activation in a pass, with what each is given."""
    for call in of(function, ast.Call):
        if last_name(call.func).lower() not in (*_RECTIFIES, *_SATURATES):
            continue
        library = source.owner(call) in _LIBRARIES
        if library and call.args:
            yield call, call.args[0]
        elif not library and isinstance(call.func, ast.Attribute):
            yield call, call.func.value


def _is_below(given: ast.expr) -> bool:
    """`-torch.abs(x)`, `-x.abs()`, `-(x ** 2)`."""
    if not is_negative(given):
        return False
    inner = given.operand
    if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Pow):
        return isinstance(inner.right, ast.Constant) and inner.right.value in (2, 4)
    return isinstance(inner, ast.Call) and last_name(inner.func) in _NEVER_BELOW


def _pushed_down(source: Script, given: ast.expr) -> float | None:
    """By how much a normalised value is lowered before it is rectified, where that is far."""
    if not (isinstance(given, ast.BinOp) and isinstance(given.op, ast.Sub)):
        return None
    by = literal(source, given.right) if isinstance(given.right, ast.Constant) else None
    far = isinstance(by, (int, float)) and not isinstance(by, bool) and by >= _DEVIATIONS
    outer = given.left if isinstance(given.left, ast.Call) else None
    return float(by) if far and outer is not None and _NORM.search(f"{unparse(outer.func)}(") else None  # type: ignore[arg-type]


def _factor(given: ast.expr) -> float | None:
    """What a value is multiplied by, where that is a number in the script."""
    if not (isinstance(given, ast.BinOp) and isinstance(given.op, ast.Mult)):
        return None
    for part in (given.left, given.right):
        if isinstance(part, ast.Constant) and isinstance(part.value, (int, float)):
            return abs(float(part.value))
    return None


def _width(source: Script, call: ast.Call) -> float | None:
    """The width of the range that values are cut to, where both ends are numbers."""
    given = call.args[1:] if source.owner(call) in ("torch", "np", "tf", "F") else call.args
    low = keyword(call, "min") or (given[0] if given else None)
    high = keyword(call, "max") or (given[1] if len(given) > 1 else None)
    ends = [literal(source, e) if e is not None else None for e in (low, high)]
    if not all(isinstance(e, (int, float)) and not isinstance(e, bool) for e in ends):
        return None
    return float(ends[1]) - float(ends[0])  # type: ignore[arg-type]


def _goes_on(source: Script, call: ast.Call) -> bool:
    """What is cut is the stream itself: it is returned, or given back its own name."""
    parent = source.parents.get(call)
    if isinstance(parent, ast.Return):
        return True
    if not isinstance(parent, ast.Assign):
        return False
    names = names_in(call)
    return any(isinstance(t, ast.Name) and t.id in names for t in parent.targets)

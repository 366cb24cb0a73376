"""Divisions, logarithms and roots in scripts that nothing keeps from zero."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from functools import partial

import numpy as np

from ....engine.model import State
from ...curves.finite import never_zero, starts_finite
from ...readers._tree import names_in, of, unparse
from ...readers.script import keyword, last_name, receiver
from ...registry import Finding, View, absent, probe, unknown
from ...scripts.flow import flow
from ...scripts.minimised import makers
from ...scripts.syntax import Script
from ..shared.checks import at, first, is_constant, ok, script_and_loss
from ..shared.nodes import assigned, is_own
from ..shared.spreads import of_itself


@probe()
def unsafe_math(view: View) -> Finding:
    """log, sqrt or a division in a forward method or a loss function without a floor in its argument."""
    return first(view, _unsafe_math, "the scripts hold no arithmetic of their own")


@probe()
def unsafe_math_met(view: View, grew: float = 10.0) -> Finding:
    """The loss turns to NaN without growing first, and its logarithm or root has no floor.

    Most programs never meet the zero: alone, neither fact says much.
    """
    if (lacks := script_and_loss(view.run)) is not None:
        return unknown(lacks)
    values = view.run.series["train/loss"].values
    bad = np.flatnonzero(~np.isfinite(values))
    if not len(bad):
        return absent("the loss is a number throughout")
    known = values[: bad[0]]
    if len(known) < 2:
        return unknown("the loss was never a number before: no sample need have met the edge")
    if abs(known[-1]) > grew * float(np.min(np.abs(known))) > 0:
        return unknown(f"the loss grew to {known[-1]:.4g} before")
    found = unsafe_math(view)
    if found.state is not State.PRESENT:
        return found
    words = f"{found.why}; the loss is no number from point {bad[0] + 1} on, after {known[-1]:.4g}"
    return replace(found, why=words)


def _unsafe_math(source: Script) -> Finding | None:
    scopes: list[ast.AST] = [f for f in source.forwards if not _is_schedule(source, f)]
    scopes += [n for n in source.of(ast.FunctionDef) if "loss" in n.name.lower() or n in makers(source)]
    scopes += [n for n in source.of(ast.Lambda) if _is_criterion(source, n) or _is_layer(source, n)]
    seen = None
    for scope in scopes:
        for node in of(scope, ast.Call):
            if last_name(node.func) in ("log", "sqrt", "rsqrt"):
                argument = _argument(source, node)
                if argument is None or is_constant(argument):
                    continue
                seen = node
                floored = _floored(argument) or _floored_before(source, argument)
                if not floored and not _of_constants(scope, argument):
                    return at(source, node, f"{last_name(node.func)} has no floor under its argument")
    return ok(source, seen, "logarithms and roots have a floor") if seen is not None else None


def _of_constants(scope: ast.AST, argument: ast.expr) -> bool:
    """`sqrt(1 - ALPHA_BAR[t])`, also by way of a name: what stands in a table of the program's own."""
    names = {n.id for n in of(argument, ast.Name)}
    for _ in range(2):
        made = [
            (unparse(n.targets[0]), n.value)
            for n in of(scope, ast.Assign)
            if len(n.targets) == 1 and unparse(n.targets[0]) in names
        ]
        names -= {name for name, _ in made}
        for _, value in made:
            whole: ast.expr = value
            while isinstance(whole, ast.Subscript):
                whole = whole.value
            names |= {whole.id} if whole is not value and isinstance(whole, ast.Name) else names_in(value)
    libraries = {"jnp", "np", "torch", "tf", "ops", "math"}
    left = {n for n in names if n not in libraries and not n.isupper()}
    return not left and any(n.isupper() and len(n) > 2 for n in names)


def _is_schedule(source: Script, function: ast.AST) -> bool:
    """`class Noam(LearningRateSchedule)`: its `__call__` works on a count of steps."""
    owner = source.parents.get(function)
    return isinstance(owner, ast.ClassDef) and any("Schedule" in unparse(b) for b in owner.bases)


@probe()
def unsafe_division(view: View) -> Finding:
    """Samples are divided by a spread of their own, without a floor: zero for a constant sample.

    Absent where the run's losses are numbers to its end: none of its samples was one. What is taken over the
    samples (`x[:n].std(0)`) is no sample's.
    """
    nothing = "the scripts divide no sample by its own spread"
    return never_zero(view.run) or first(view, _unsafe_division, nothing)


_MEASURES = re.compile(r"(?i)psnr|ssim|corr|similar|metric|score|eval|cosine")  # functions that measure


def _unsafe_division(source: Script) -> Finding | None:
    for node in source.of(ast.BinOp):
        if isinstance(node.op, ast.Div) and _own_spread(node.right) and of_itself(source, node):
            if _one_of_features(source, node) or _over_samples(node.right):
                continue
            if _MEASURES.search(source.function_name(node)):
                continue
            if re.search(r"axis=0\)", source.code) and re.search(
                r"\.std\((?:axis=)?1\b", unparse(node.right)
            ):
                return None  # rows of a table whose columns differ: their spread is not zero
            if _only_counted(source, node):
                continue
            return at(source, node, "each sample is divided by its own spread, which may be zero")
    return None


def _one_of_features(source: Script, node: ast.BinOp) -> bool:
    """`(x / x.norm(dim=1) for x in (a, b))`: what x stands for tells whether it is an input."""
    call = node.right
    if not (isinstance(call, ast.Call) and last_name(call.func) == "norm"):
        return False
    held = receiver(call)
    for around in source.above(node):
        for one in getattr(around, "generators", ()):
            if isinstance(held, ast.Name) and last_name(one.target) == held.id:
                over = one.iter
                return isinstance(over, (ast.Name, ast.Tuple, ast.List)) and not any(
                    _INPUT.search(n) for n in names_in(over)
                )
    return False


def _only_counted(source: Script, node: ast.AST) -> bool:
    """`z = (x - m) / s; z.unique(dim=0)`: a look at the values, which nothing is trained on."""
    parent, function = source.parents.get(node), source.function_around(node)
    if not (isinstance(parent, ast.Assign) and len(parent.targets) == 1 and function is not None):
        return False
    name = unparse(parent.targets[0])
    uses = [n for n in of(function, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
    around = [next((p for p in source.above(n) if isinstance(p, ast.Call)), None) for n in uses]
    return bool(uses) and all(c is not None and last_name(c.func) in _COUNTS for c in around)


_COUNTS = ("unique", "isnan", "isinf", "isfinite", "len", "any", "print")


@probe()
def division_without_floor(view: View) -> Finding:
    """Inputs are divided by the spread of each of their columns, and nothing keeps it from being zero.

    `x / x.std(0)`, also by way of a name. Common, and harmless until one column is constant: absent where
    the run's losses are numbers to its end, or, of what is done once before training, where they begin with
    one: a column that is no number is none in any sample.
    """
    nothing = "the scripts divide nothing by a spread"
    bare = partial(_division_bare, repeated=starts_finite(view.run))
    return never_zero(view.run) or first(view, bare, nothing)


def _division_bare(source: Script, repeated: bool = False) -> Finding | None:
    """`repeated`: only what is done again and again counts."""
    spreads = _spread_names(source)
    seen = None
    for node in source.of(ast.BinOp, ast.Call):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            text = unparse(node.right)
            if _own_spread(node.right) and (not of_itself(source, node) or _one_of_features(source, node)):
                continue  # a score, or a ratio of signal to noise
            if repeated and (_over_samples(node.right) or text in spreads) and _done_once(source, node):
                seen = seen or node
                continue
            if _never_constant(source, node.right):
                seen = seen or node
                continue
            if _own_spread(node.right) or text in spreads:
                return at(source, node, "nothing keeps this spread from being zero")
            if _of_one_sample(source, node):
                return at(source, node, "nothing keeps the spread of a sample from being zero")
            if any(w in text for w in (".std(", ".norm(", *spreads)):
                seen = seen or node
        elif isinstance(node, ast.Call) and _log_of_data(source, node):
            return at(source, node, "nothing keeps what the logarithm is taken of from being zero")
    return ok(source, seen, "no spread that is divided by can have been zero") if seen is not None else None


def _never_constant(source: Script, node: ast.expr) -> bool:
    """The spread of colours over samples and both sides, or of columns that are picked by hand.

    `x.std((0, 1, 2))`, `table[:n, :2].std(0)`, `frame[["load", "temp"]].values.std(0)`: who names columns
    knows that they differ from row to row.
    """
    given = [v for v in (node, *flow(source).values(node, 2)) if isinstance(v, ast.Call)]
    return bool(given) and all(_of_colours(v) or _of_picked(v) for v in given)


def _of_colours(call: ast.Call) -> bool:
    axes = _axis_of_spread(call)
    found = [a.value for a in axes.elts if isinstance(a, ast.Constant)] if isinstance(axes, ast.Tuple) else []
    return last_name(call.func) in _SPREADS and len(found) >= 3 and 0 in found


def _of_picked(call: ast.Call) -> bool:
    whole = _measured(call)
    while last_name(call.func) in _SPREADS and whole is not None:
        if isinstance(whole, ast.Subscript):
            if _picks_columns(whole.slice):
                return True
            whole = whole.value  # `[:n]`
        elif isinstance(whole, ast.Attribute):
            whole = whole.value  # `.values`
        else:
            whole = receiver(whole) if isinstance(whole, ast.Call) else None  # `.to_numpy()`
    return False


def _picks_columns(index: ast.expr) -> bool:
    """`[:n, :2]`, `[:, [0, 3]]`, `[["load", "temp"]]`"""
    picked = index.elts[-1] if isinstance(index, ast.Tuple) else index
    if isinstance(picked, ast.Slice):
        ends = [e for e in (picked.lower, picked.upper) if e is not None]
        return isinstance(index, ast.Tuple) and picked.upper in ends and all(map(is_constant, ends))
    return isinstance(picked, ast.List) and bool(picked.elts) and all(map(is_constant, picked.elts))


def _axis_of_spread(call: ast.Call) -> ast.expr | None:
    given = call.args[1:] if _of_library(call) else call.args
    return (given[0] if given else None) or keyword(call, "axis") or keyword(call, "dim")


def _measured(call: ast.Call) -> ast.expr | None:
    return call.args[0] if _of_library(call) and call.args else receiver(call)


def _of_library(call: ast.Call) -> bool:
    return unparse(getattr(call.func, "value", call)) in ("torch", "np", "numpy", "jnp")


def _over_samples(node: ast.expr) -> bool:
    """`x[:n].std(0)`, `x[train].std(axis=0)`: the spread of each column over the samples.

    Or one over the first `n` samples as a whole: `np.std(x[:n])`.
    """
    if not isinstance(node, ast.Call) or last_name(node.func) not in _SPREADS:
        return False
    axis, whole = _axis_of_spread(node), _measured(node)
    if axis is None and isinstance(whole, ast.Subscript) and isinstance(whole.slice, ast.Slice):
        return isinstance(whole.slice.upper, (ast.Name, ast.Attribute)) and whole.slice.lower is None
    axes = axis.elts if isinstance(axis, ast.Tuple) else [axis]  # `(0, 1)`: over samples and places
    return any(isinstance(a, ast.Constant) and a.value == 0 for a in axes)


def _done_once(source: Script, node: ast.AST) -> bool:
    """Whether it stands in no loop, and in no function but the one that trains."""
    if any(isinstance(n, (ast.For, ast.While, ast.AsyncFor)) for n in source.above(node)):
        return False
    function = source.function_around(node)
    return function is None or any(last_name(c.func) in ("backward", "fit") for c in of(function, ast.Call))


_MAY_BE_ZERO = re.compile(
    r"(?i)(?:^|[._])(?:power|spec\w*|mel\w*|stft|fft|energ\w*|magnitude|mag|hist\w*|counts?|intensit\w*)(?:$|[_(\[])"
)


def _log_of_data(source: Script, call: ast.Call) -> bool:
    """`np.log(power)` of spectra, counts or intensities, zero in silence, where samples are made."""
    if last_name(call.func) not in ("log", "log10", "log2") or len(call.args) != 1:
        return False
    function = source.function_around(call)
    if function is None or function in source.forwards or source.owner(call) not in ("np", "numpy", "torch"):
        return False
    given = [call.args[0], *flow(source).values(call.args[0], 2)]
    if any(isinstance(v, ast.BinOp) or _floored(v) for v in given) or not _MAY_BE_ZERO.search(
        unparse(given[0])
    ):
        return False
    return _makes_samples(source, function)


def _of_one_sample(source: Script, node: ast.BinOp) -> bool:
    """`(img - img.mean()) / img.std()` in what gives a sample."""
    shape = re.fullmatch(r"\((\w+) - \1\.mean\(\)\) / \1\.std\(\)", unparse(node))
    function = source.function_around(node)
    return shape is not None and function is not None and _makes_samples(source, function)


def _makes_samples(source: Script, function: ast.AST, depth: int = 3) -> bool:
    """`__getitem__`, or a function that it calls."""
    name = getattr(function, "name", "")
    if name == "__getitem__" or depth == 0:
        return name == "__getitem__"
    around = {source.function_around(c) for c in source.named(name)} - {function, None}
    return any(_makes_samples(source, f, depth - 1) for f in around if f is not None)


def _spread_names(source: Script) -> set[str]:
    """Names that hold the spread of each column and are given nothing else anywhere."""
    found: set[str] = set()
    changed: set[str] = set()
    for node in source.of(ast.AugAssign, ast.Assign, ast.Expr):
        if isinstance(node, ast.Expr):
            if isinstance(node.value, ast.Call) and last_name(node.value.func) in _CHANGES:
                changed.add(source.owner(node.value))  # `std.masked_fill_(std == 0, 1)`
        elif isinstance(node, ast.AugAssign):
            changed.add(_root(node.target))  # `std += eps`
        else:
            for target, value in assigned(node):
                own = isinstance(target, (ast.Name, ast.Attribute)) and _own_spread(value)
                (found if own else changed).add(_root(target))  # `std[std == 0] = 1`
    return found - changed


_CHANGES = ("masked_fill_", "clamp_", "clamp_min_", "clip_", "add_", "fill_", "copyto")


def _root(target: ast.expr) -> str:
    return unparse(target.value if isinstance(target, ast.Subscript) else target)


def _own_spread(node: ast.expr) -> bool:
    """`x.std((1, 2, 3))`: taken over some axes of the data, so it is zero for a constant sample."""
    if not (isinstance(node, ast.Call) and last_name(node.func) in _SPREADS):
        return False
    if not isinstance(node.func, ast.Attribute):
        return False
    of = node.func.value if last_name(node.func.value) not in ("linalg", "np", "torch") else node.args[:1]
    if last_name(node.func) == "norm" and not (isinstance(of, ast.Name) and _INPUT.search(of.id)):
        return False  # features of a model, put onto the unit sphere, are not zero
    given = node.args[1:] if unparse(node.func.value) in ("torch", "np", "numpy", "ops") else node.args
    return bool(given or keyword(node, "dim") or keyword(node, "axis"))


_SPREADS = ("std", "norm", "var", "nanstd", "nanvar")


_INPUT = re.compile(r"(?i)^x$|^x_|_x$|image|img|input|sample|batch|signal|wave|audio|data|frame|row")


def _argument(source: Script, call: ast.Call) -> ast.expr | None:
    """What a tensor's log or sqrt is taken of; None for Python's own math on plain numbers."""
    owner = source.owner(call)
    if owner in ("math", "np", "numpy") or is_own(source, call):
        return None
    if call.args:
        return call.args[0]
    return receiver(call)


def _is_criterion(source: Script, node: ast.Lambda) -> bool:
    parent = source.parents.get(node)
    names = [unparse(t).lower() for t in parent.targets] if isinstance(parent, ast.Assign) else []
    return any(w in n for n in names for w in ("loss", "crit"))


def _is_layer(source: Script, node: ast.Lambda) -> bool:
    """`Lambda(lambda t: K.sqrt(t))` of Keras"""
    parent = source.parents.get(node)
    return isinstance(parent, ast.Call) and last_name(parent.func) == "Lambda"


_FLOORS = re.compile(r"(?i)clamp|clip|maximum|(?<!soft)max\(|relu|eps|\+ (?:1e-|\d*\.\d)|softplus")


_CHOSEN = re.compile(r"(?i)^(?:\w+[._])?(?:masks?|valid\w*|ok|keep|known|good)(?:_\w+)?$|>")


def _floored_before(source: Script, argument: ast.expr) -> bool:
    """`p = sigmoid(z).clamp(1e-4, 1 - 1e-4)`, and the logarithms of `p` and `1 - p` come further down."""
    if isinstance(argument, ast.Subscript) and _CHOSEN.search(unparse(argument.slice)):
        return True  # `target[valid]`: a mask leaves out what has no logarithm
    names = [n for n in of(argument, ast.Name) if not isinstance(source.parents.get(n), ast.Attribute)]
    given = [flow(source).given(n) for n in names]
    return bool(given) and all(
        g is not None and (_FLOORS.search(unparse(g.value)) or _looked_up(g.value)) for g in given
    )


def _looked_up(node: ast.expr) -> bool:
    """`self.bar[t][:, None]`: a row of a table that no layer computes."""
    inside = node
    while isinstance(inside, ast.Subscript):
        inside = inside.value
    return inside is not node and isinstance(inside, ast.Attribute) and unparse(inside.value) == "self"


def _floored(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return True
    text = unparse(node)
    safe = (
        "clamp",
        "clip",
        "softmax",
        "exp(",
        "eps",
        "max(",
        "sigmoid",
        "maximum",
        "dim",
        "head",
        "d_k",
        "shape",
        "len(",
        "math.",
    )
    return any(w in text.lower() for w in safe)

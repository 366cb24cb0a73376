"""How wide weights start in scripts: a spread of one, or of what a call takes where none is given."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import argument, keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, first, ok

_LAYERS = re.compile(r"^(?:Linear|Dense|Conv(?:Transpose)?[123][dD](?:Transpose)?)$")
# below this no common scheme draws weights of layers: init-extreme has the same limit (mindspore-1.2.1)
NARROW = 1e-4
# deviation from which a layer of a few hundred inputs starts with outputs in the tens (practice)
WIDE = 0.5


@probe()
def starts_wide(view: View) -> Finding:
    """Weights of linear or convolution layers are drawn with a deviation of 0.5 or more.

    `nn.init.normal_(m.weight)` draws with deviation 1 where it is not told; a layer of n inputs wants about
    1 / sqrt(n). Left aside: embeddings alone, norms, and what is scaled in the forward pass.
    """
    return first(view, _wide, "the scripts draw no weights of layers")


def _wide(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    for call in source.named("normal_", "uniform_"):
        if not (_is_layers_weight(source, call) or _is_every_weight(source, call)):
            continue
        seen = seen or call
        if (
            (spread := _spread(call)) is not None
            and spread >= WIDE
            and not _made_up_for(source, call, spread)
        ):
            return at(
                source, call, f"weights of a layer start with deviation {spread:.3g}, whatever its width"
            )
    if (grown := _multiplied(source)) is not None:
        return grown
    for call in source.named("xavier_uniform_", "xavier_normal_", "orthogonal_"):
        gain = argument(call, "gain", position=1)
        number = _number(gain) if gain is not None else None
        if number is not None and number >= _GAIN and _is_layers_weight(source, call):
            return at(source, call, f"weights of a layer start {number:g} times too wide for their width")
    for call in source.named("set_data"):
        given = argument(call, position=0)
        if not isinstance(given, ast.Call) or last_name(given.func) != "initializer" or not given.args:
            continue
        if not _is_layers_weight(source, call):
            continue
        spread = _of_initializer(given.args[0])
        seen = seen or (call if spread is not None else None)
        if spread is not None and spread >= WIDE:
            return at(
                source, call, f"weights of a layer start with deviation {spread:.3g}, whatever its width"
            )
    for call in source.calls:
        if not _LAYERS.match(last_name(call.func)):
            continue
        given = keyword(call, "kernel_initializer") or keyword(call, "weight_init")
        given = given or keyword(call, "kernel_init")
        if given is None:
            continue
        seen = seen or call
        if isinstance(given, ast.BinOp) and isinstance(given.op, ast.Mult):
            # `initializer("normal", shape) * 50`
            factors = [n for s in (given.left, given.right) if (n := _number(s)) is not None]
            if factors and abs(factors[0]) >= _GAIN and any("init" in n.lower() for n in names_in(given)):
                return at(source, call, f"weights of a layer start {factors[0]:g} times too wide")
        for value in flow(source).values(given, 4):
            spread = _of_initializer(value)
            if spread is not None and spread >= WIDE:
                return at(
                    source, call, f"weights of a layer start with deviation {spread:.3g}, whatever its width"
                )
    for call in source.named("param", "Embed", "Embedding"):
        given = keyword(call, "embedding_init") or keyword(call, "embeddings_initializer")
        if last_name(call.func) == "param" and len(call.args) > 2:
            given = call.args[1]
        spread = _of_initializer(given) if given is not None else None
        seen = seen or (call if spread is not None else None)
        if spread is not None and spread >= _FAR:
            return at(source, call, f"what is learned here starts with a deviation of {spread:.3g}")
    return ok(source, seen, "weights start with a small deviation") if seen is not None else None


_FAR = 5.0  # of embeddings, which PyTorch draws with a deviation of one


# the largest gain that PyTorch's `calculate_gain` gives is below 2; a factor of ten is far beyond any of them
_GAIN = 10.0


def _multiplied(source: Script) -> Finding | None:
    """`for p in model.parameters(): p.mul_(100)` before the training: every weight starts that much wider."""
    for loop in source.of(ast.For):
        over = last_name(loop.iter.func) if isinstance(loop.iter, ast.Call) else ""
        if over not in ("parameters", "trainable_params", "get_parameters") or source.loops_around(loop):
            continue
        if not isinstance(loop.target, ast.Name) or len(loop.body) != 1:
            continue
        only = loop.body[0]
        factor: ast.expr | None = None
        about = ""
        if isinstance(only, ast.AugAssign) and isinstance(only.op, ast.Mult):
            about, factor = unparse(only.target), only.value
        elif isinstance(only, ast.Expr) and isinstance(only.value, ast.Call) and only.value.args:
            if last_name(only.value.func) == "mul_":
                about, factor = source.owner(only.value), only.value.args[0]
        number = _number(factor) if factor is not None else None
        if (
            about in (loop.target.id, f"{loop.target.id}.data")
            and number is not None
            and abs(number) >= _GAIN
        ):
            return at(source, only, f"every weight is multiplied by {number:g} before the training")
    return None


@probe()
def starts_narrow(view: View) -> Finding:
    """Weights of all linear or convolution layers of a kind are drawn with a deviation below 1e-4.

    `nn.init.normal_(m.weight, std=1e-6)` under a test for the kind of layer, so for every one of them.
    """
    return first(view, _narrow, "the scripts draw no weights of layers")


def _narrow(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    for call in source.named("normal_", "uniform_", "trunc_normal_"):
        if not (_is_layers_weight(source, call) or _is_every_weight(source, call)):
            continue
        spread = _spread(call)
        seen = seen or (call if spread is not None else None)
        whole = _is_every_weight(source, call) or any(isinstance(p, ast.If) for p in source.above(call))
        if spread is not None and 0 < spread < NARROW and whole:
            return at(source, call, f"weights of layers start with deviation {spread:.3g}, next to zero")
    return ok(source, seen, "weights start with a deviation of their own") if seen is not None else None


def _made_up_for(source: Script, call: ast.Call, spread: float) -> bool:
    """Whether the same function draws a second named layer so small that both together are no longer wide.

    Who gives two layers in a row a large and a tiny deviation has thought of their product.
    """
    around = source.function_around(call)
    others = [
        other
        for other in source.named("normal_")
        if other is not call and source.function_around(other) is around and _is_layers_weight(source, other)
    ]
    return around is not None and any((s := _spread(o)) is not None and s * spread < 0.01 for o in others)


def _spread(call: ast.Call) -> float | None:
    """The deviation of `nn.init.normal_(w, mean, std)` or `w.data.normal_(mean, std)`, as far as written."""
    by_function = "init" in unparse(call.func)
    rest = call.args[1:] if by_function else call.args
    if last_name(call.func) == "uniform_":
        low = keyword(call, "a") or (rest[0] if rest else None)
        if by_function and low is None and not call.keywords:
            return 0.58
        high = keyword(call, "b") or (rest[1] if len(rest) > 1 else None)
        ends = [_number(e) for e in (low, high) if e is not None]
        if len(ends) == 2 and ends[0] is not None and ends[1] is not None and ends[0] < 0 < ends[1]:
            return (ends[1] - ends[0]) / 12**0.5
        if ends == [0.0, 1.0]:
            return 0.58  # what it draws by itself: all of one sign
        return None
    mean = keyword(call, "mean") or (rest[0] if rest else None)
    std = keyword(call, "std") or (rest[1] if len(rest) > 1 else None)
    if mean is not None and _number(mean) != 0.0:
        return None
    return 1.0 if std is None else _number(std)


def _number(node: ast.expr) -> float | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _of_initializer(value: ast.expr) -> float | None:
    """Keras's `RandomNormal(stddev=1.0)`, MindSpore's `Normal(sigma)`, flax's `initializers.normal(1.0)`."""
    if not isinstance(value, ast.Call):
        return None
    name = last_name(value.func)
    if name == "initializer" and value.args:
        return _of_initializer(value.args[0])
    if name in ("normal", "truncated_normal") and "initializers" in unparse(value.func):
        std = argument(value, "stddev", position=0)
        return _number(std) if std is not None else None
    if name in ("RandomNormal", "TruncatedNormal", "random_normal_initializer"):
        std = argument(value, "stddev", position=1)
        return _number(std) if std is not None else None
    if name == "Normal":
        sigma = argument(value, "sigma", position=0)
        return _number(sigma) if sigma is not None else None
    return None


def _is_layers_weight(source: Script, call: ast.Call) -> bool:
    """The weight of a linear or convolution layer, by the test around it or by where it was made."""
    target: ast.expr | None = call.args[0] if call.args and "init" in unparse(call.func) else None
    if target is None and isinstance(call.func, ast.Attribute):
        target = call.func.value
    while isinstance(target, ast.Attribute) and target.attr in ("data", "weight", "T"):
        if target.attr == "weight":
            owner = target.value
            return _tested(source, call, unparse(owner)) or _made(source, owner)
        target = target.value
    return False


def _is_every_weight(source: Script, call: ast.Call) -> bool:
    """`for p in model.parameters(): nn.init.uniform_(p, -1, 1)`, and nothing else is done to them there.

    A loop that asks which parameter it has, or scales what it drew, is left aside.
    """
    target: ast.expr | None = call.args[0] if call.args and "init" in unparse(call.func) else None
    if target is None and isinstance(call.func, ast.Attribute):
        target = call.func.value
    while isinstance(target, ast.Attribute) and target.attr == "data":
        target = target.value
    if not isinstance(target, ast.Name):
        return False
    for loop in source.loops_around(call):
        if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name) or len(loop.body) != 1:
            return False
        only = loop.body[0]
        over = last_name(loop.iter.func) if isinstance(loop.iter, ast.Call) else ""
        return (
            isinstance(only, ast.Expr)
            and only.value is call
            and loop.target.id == target.id
            and over in ("parameters", "trainable_params", "get_parameters")
        )
    return False


def _tested(source: Script, call: ast.Call, owner: str) -> bool:
    """`if isinstance(m, (nn.Linear, nn.Conv2d)):`, norms not among them."""
    for parent in source.above(call):
        if isinstance(parent, ast.If):
            for test in of(parent.test, ast.Call):
                if last_name(test.func) == "isinstance" and len(test.args) == 2:
                    kinds = test.args[1]
                    names = [last_name(e) for e in (kinds.elts if isinstance(kinds, ast.Tuple) else [kinds])]
                    in_body = any(call in walk(s) for s in parent.body)
                    if unparse(test.args[0]) == owner and in_body:
                        return any(_LAYERS.match(n) for n in names)
        if isinstance(parent, (ast.FunctionDef, ast.ClassDef)):
            break
    return False


def _made(source: Script, owner: ast.expr) -> bool:
    given = flow(source).given(owner) if isinstance(owner, (ast.Name, ast.Attribute)) else None
    return (
        given is not None
        and isinstance(given.value, ast.Call)
        and _LAYERS.match(last_name(given.value.func)) is not None
    )

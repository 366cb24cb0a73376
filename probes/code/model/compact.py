"""Models of flax in scripts, whose layers are made where they are asked: `nn.Dense(8)(x)`."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at

_DEPTHS = re.compile(r"(?i)^(?:n_?|num_?)?(?:hidden_?)?(?:layers?|blocks?|depth)$")
_TIED = re.compile(r"(?i)shar|tied|tying|recurr|universal|albert|iterat|unroll|fixed_?point|equilibrium")
_SAME = re.compile(r"(?i)drop|^(?:astype|reshape|squeeze|transpose|swapaxes)$")


def _compact(function: Function | None) -> bool:
    """A method of a flax module that makes its layers itself."""
    return function is not None and any(last_name(d) == "compact" for d in function.decorator_list)


def block_asked_again(source: Script) -> Finding | None:
    """`block = Block(8)` above `for _ in range(self.layers): x = block(x)`: all layers share their weights.

    Left aside where the program speaks of shared weights or of rounds.
    """
    if "jax" not in source.frameworks:
        return None
    for function in source.forwards:
        owner = source.parents.get(function)
        if not _compact(function) or owner not in source.modules or _TIED.search(unparse(owner)):
            continue
        for loop in of(function, ast.For):
            over = loop.iter
            end = over.args[0] if isinstance(over, ast.Call) and len(over.args) == 1 else None
            if (
                end is None
                or unparse(getattr(over, "func", over)) != "range"
                or not _DEPTHS.match(last_name(end))
            ):
                continue
            for call in of(loop, ast.Call):
                made = _made_above(source, loop, call)
                if made is not None:
                    why = f"`{unparse(call.func)}` is made once, above the loop: all layers share its weights"
                    return at(source, made, why)
    return None


def _made_above(source: Script, loop: ast.For, call: ast.Call) -> ast.Call | None:
    """The module of the program that a name holds which the loop asks, and gives nothing else."""
    if not isinstance(call.func, ast.Name):
        return None
    stored = any(isinstance(n.ctx, ast.Store) and n.id == call.func.id for n in of(loop, ast.Name))
    given = flow(source).given(call.func)
    if stored or given is None or given.places or not isinstance(given.value, ast.Call):
        return None
    return given.value if source.classes.get(last_name(given.value.func)) in source.modules else None


def ends_compact(source: Script, made: ast.Call) -> bool:
    """`return nn.Dense(n, kernel_init=zeros)(x)`: the last layer of a module, a branch or a head.

    Also `self.out(x)` that is given back, of a layer that `setup` makes.
    """
    function, asked = source.function_around(made), source.parents.get(made)
    owner = source.class_around(made)
    if function is None or owner is None:
        return False
    if isinstance(asked, ast.Call) and asked.func is made:
        return _given_back(function, asked)
    names = {unparse(t) for t in asked.targets} if isinstance(asked, ast.Assign) else set()
    calls = [c for c in of(owner, ast.Call) if unparse(c.func) in names]
    return any(f is not None and _given_back(f, c) for c in calls for f in [source.function_around(c)])


def _given_back(function: Function, call: ast.Call) -> bool:
    """What a call gives is what the function gives back, but for a dropout, a cast or a sum."""
    names: set[str] = set()
    for node in sorted(of(function, ast.Assign, ast.Return), key=lambda n: n.lineno):
        value = node.value
        if value is None or node.lineno < call.lineno:
            continue
        kept = _holds(value, call, names)
        if isinstance(node, ast.Return):
            if kept:
                return True
            continue
        targets = {n.id for t in node.targets for n in of(t, ast.Name)}
        names = names | targets if kept else names - targets
    return False


def _holds(value: ast.expr, call: ast.Call, names: set[str]) -> bool:
    if value is call or (isinstance(value, ast.Name) and value.id in names):
        return True
    if isinstance(value, ast.BinOp):
        return _holds(value.left, call, names) or _holds(value.right, call, names)
    if isinstance(value, ast.Tuple) and value.elts:
        return any(_holds(e, call, names) for e in value.elts)
    if isinstance(value, ast.Call):
        inner = value.func.func if isinstance(value.func, ast.Call) else value.func
        if _SAME.search(last_name(inner)):
            given = [*value.args[:1]]
            given += [value.func.value] if isinstance(value.func, ast.Attribute) else []
            return any(_holds(g, call, names) for g in given)
    return False


_CONSTANT = re.compile(r"(?:^|\.)(?:zeros|ones)(?:_init\(\))?$|(?:^|\.)constant\(")


def constant_kernel(source: Script) -> Finding | None:
    """`nn.Dense(512, kernel_init=nn.initializers.zeros)` that is no last layer: its units stay alike."""
    if "jax" not in source.frameworks:
        return None
    for call in source.named(
        "Dense", "DenseGeneral", "Conv", "ConvTranspose", "Linear", "Conv1D", "Conv2D", "Einsum"
    ):
        given = keyword(call, "kernel_init") or keyword(call, "w_init")
        if given is None or not _CONSTANT.search(unparse(given)):
            continue
        name = keyword(call, "name")
        asked = source.parents.get(call)
        targets = [unparse(t) for t in asked.targets] if isinstance(asked, ast.Assign) else []
        called = " ".join([unparse(name) if name is not None else "", *targets])
        around = source.class_around(call)
        about = f"{called} {around.name if around is not None else ''}"
        if _MEANT.search(about) or ends_compact(source, call) or _one_unit(call):
            continue
        if any(isinstance(p, (ast.If, ast.IfExp)) for p in source.above(call)):
            continue
        return at(source, call, "weights start at zero or one constant, so units stay alike")
    return None


_MEANT = re.compile(
    r"(?i)lora|adapter|modul|adaln|ada_?ln|film|gate|scale|shift|offset|head|logit|zero|out(?:put)?\b|std|var|policy|value|residual"
)


def _one_unit(call: ast.Call) -> bool:
    given = call.args[0] if call.args else keyword(call, "features")
    return isinstance(given, ast.Constant) and given.value == 1


def kept_under(function: Function, node: ast.expr) -> set[str]:
    """The names that hold what a node gives, cast or behind a dropout, to the end of the function."""
    names: set[str] = set()
    for line in sorted(of(function, ast.Assign), key=lambda n: n.lineno):
        if line.lineno < getattr(node, "lineno", 0) or len(line.targets) != 1:
            continue
        target = line.targets[0]
        if isinstance(target, ast.Name):
            names = names | {target.id} if _wraps(line.value, node, names) else names - {target.id}
    return names


def _wraps(value: ast.expr, node: ast.expr, names: set[str]) -> bool:
    """The value is the node or one of the names, but for casts and dropout."""
    if value is node or (isinstance(value, ast.Name) and value.id in names):
        return True
    if not isinstance(value, ast.Call):
        return False
    inner = value.func.func if isinstance(value.func, ast.Call) else value.func
    if last_name(inner) in ("astype", "to", "type_as", "float", "half", "type") and isinstance(
        inner, ast.Attribute
    ):
        return _wraps(inner.value, node, names)
    return "drop" in last_name(inner).lower() and bool(value.args) and _wraps(value.args[0], node, names)

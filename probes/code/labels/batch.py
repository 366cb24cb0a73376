"""Labels of a batch between the loader and the loss: drawn anew, or moved without the inputs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import losses
from ...scripts.graph_facts import LOSSES
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.nodes import paired
from ..shared.roles import INPUT_WORDS, TARGET_WORDS, base, inputs, is_random

_DRAWN = frozenset(
    (
        *("randint", "randint_like", "random_integers", "integers", "randrange", "rand", "rand_like"),
        *("randn", "randn_like", "random", "multinomial", "categorical", "bernoulli"),
    )
)
_TURNED = ("roll", "flip", "flipud", "shuffle", "permutation")


def drawn_anew(source: Script) -> Finding | None:
    """`y = randint(0, n, y.shape)`: what was handed in as labels is lost, chance takes its place."""
    seen: ast.AST | None = None
    for node, name, value in _rewritten(source):
        seen = seen or node
        while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            if value.func.attr not in ("to", "long", "float", "astype"):
                break
            value = value.func.value
        if not isinstance(value, ast.Call) or last_name(value.func) not in _DRAWN:
            continue
        used = [n for n in of(value, ast.Name) if n.id == name]
        shape_alone = all(_of_shape(source, n) for n in used)
        if used and (shape_alone or last_name(value.func).endswith("_like")):
            return at(source, node, "the labels are thrown away and drawn by chance")
    return ok(source, seen, "labels that are written anew come from labels") if seen is not None else None


def moved_alone(source: Script) -> Finding | None:
    """`y = roll(y, 1, 0)`, `y = y.flip(0)`: along the samples, and no input moves with them."""
    seen: ast.AST | None = None
    for node, name, value in _rewritten(source):
        if (
            not isinstance(value, ast.Call)
            or last_name(value.func) not in _TURNED
            or _moved(value) != name.lower()
        ):
            continue
        seen = seen or node
        scope = source.function_around(node) or source.tree
        along = [
            c
            for c in of(scope, ast.Call)
            if last_name(c.func) == last_name(value.func)
            and _moved(c) != name.lower()
            and (last_name(c.func) != "permutation" or _of_inputs(source, c))
        ]
        if (_first_axis(value) or _of_classes(source, value)) and not along:
            return at(source, node, "the labels are moved along the batch, and the inputs are not")
    return ok(source, seen, "labels are moved with their inputs") if seen is not None else None


def _of_inputs(source: Script, call: ast.Call) -> bool:
    """`rng.permutation(x)` moves inputs, `rng.permutation(n)` nothing."""
    return INPUT_WORDS.search(_moved(call)) is not None or _moved(call) in inputs(source)


def _moved(call: ast.Call) -> str:
    """What is moved: `y.flip(0)`, `torch.flip(y, (0,))`, `rng.permutation(y)`."""
    drawn = (
        last_name(call.func) == "permutation" and len(call.args) == 1 and isinstance(call.args[0], ast.Name)
    )
    return base(call.args[0]) if drawn else base(call)


@lru_cache(maxsize=16)
def _rewritten(source: Script) -> tuple[tuple[ast.Assign, str, ast.expr], ...]:
    """Assignments to a name of labels that was handed in: by a loop, by a parameter, or out of a batch."""
    return tuple(_each_rewritten(source))


def _each_rewritten(source: Script) -> Iterator[tuple[ast.Assign, str, ast.expr]]:
    mine = {base(c.args[1]) for c, k in losses(source) if len(c.args) > 1 and k not in LOSSES}
    mine = mine - inputs(source)
    for node in source.of(ast.Assign):
        first, value = node.targets[0], node.value
        for target, given in paired(first, value):  # `x, y = x.to(d), y.to(d).roll(1)`
            if not isinstance(target, ast.Name):
                continue
            low = target.id.lower()
            if (low in mine or TARGET_WORDS.search(low)) and not INPUT_WORDS.search(low):
                if _handed_in(source, node, target.id):
                    yield node, target.id, given


def _handed_in(source: Script, node: ast.Assign, name: str) -> bool:
    """The name has a value before: of a loop or a parameter, or one that was no chance."""
    for above in source.above(node):
        if isinstance(above, ast.For) and name in names_in(above.target):
            return True
        if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if name in {a.arg for a in above.args.args}:
                return True
            break
    scope = source.function_around(node) or source.tree
    before = [
        n
        for n in of(scope, ast.Assign)
        if n.lineno < node.lineno and any(name in names_in(t) for t in n.targets)
    ]
    return any(not is_random(n.value) for n in before)


def _of_shape(source: Script, node: ast.AST) -> bool:
    """`y.shape`, `y.size(0)`, `len(y)`, `y.device`, `y.max()`: not the labels themselves."""
    parent = source.parents.get(node)
    if isinstance(parent, ast.Attribute):
        return parent.attr in ("shape", "size", "device", "dtype", "ndim", "max", "numel")
    return isinstance(parent, ast.Call) and last_name(parent.func) == "len"


def _of_classes(source: Script, call: ast.Call) -> bool:
    """A roll without an axis, of labels that are one class for each sample: no tokens are embedded."""
    method = isinstance(call.func, ast.Attribute) and base(call.func.value) == base(call)
    plain = len(call.args) == (1 if method else 2) and not call.keywords
    return last_name(call.func) == "roll" and plain and not source.named("Embedding")


def _first_axis(call: ast.Call) -> bool:
    """The call moves whole samples: along axis 0, or a permutation of the rows."""
    if last_name(call.func) in ("shuffle", "permutation", "flipud"):
        return True
    named = [k.value for k in call.keywords if k.arg in ("dims", "dim", "axis")]
    method = isinstance(call.func, ast.Attribute) and base(call.func.value) == base(call)
    places = call.args if method else call.args[1:]
    axis = named or (places[1:] if last_name(call.func) == "roll" else places[:1])
    return bool(axis) and unparse(axis[0]) in ("0", "(0,)", "[0]")

"""What scripts compute on a batch before they call the model: in the training step and in evaluation."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse, walk
from ...readers.script import argument, last_name, receiver
from ...registry import Finding
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Script
from ...scripts.untaped import without_gradients
from ..shared.checks import at, ok
from ..shared.roles import is_random, model_calls

_Change = ast.Assign | ast.AugAssign


_SYMBOLS = {ast.Mult: "*", ast.Div: "/", ast.Sub: "-", ast.Add: "+", ast.FloorDiv: "//"}


def symbol(op: ast.operator) -> str:
    """An operator as it is written."""
    return _SYMBOLS.get(type(op), type(op).__name__)


def batches_differ(source: Script, _labels: bool) -> Finding | None:
    """The arithmetic on a batch before the model's call, in the training step against the evaluation.

    None where a step on the way cannot be followed, or where either side calls the model in several ways.
    """
    train: dict[tuple[str, ...], ast.Call] = {}
    other: dict[tuple[str, ...], ast.Call] = {}
    for call in model_calls(source):
        function = source.function_around(call)
        learns = function is not None and takes_gradients(source, function)
        learns = learns or any(takes_gradients(source, p) for p in source.loops_around(call)[:1])
        evaluates = any(w in source.function_name(call).lower() for w in ("eval", "val", "test", "predict"))
        if learns and _without_gradients(source, call):
            learns, evaluates = False, True  # one function that trains and evaluates
        if learns == evaluates:
            continue
        steps = _arithmetic(source, call)
        if steps is None:
            return None
        (train if learns else other).setdefault(steps, call)
    if len(train) != 1 or len(other) != 1:
        return None
    (here, one), (there, two) = next(iter(train.items())), next(iter(other.items()))
    if here == there or (_factor(here) is not None and _factor(here) == _factor(there)):
        return ok(source, one, "batches are scaled alike in training and evaluation") if here else None
    mark = two if len(there) <= len(here) else one
    done = [", ".join(s) or "nothing" for s in (here, there)]
    return at(source, mark, f"training does {done[0]} to its batches, evaluation {done[1]}")


def _factor(steps: tuple[str, ...]) -> float | None:
    """What a batch is multiplied by, where nothing else is done to it: `/ 255` and `* (1 / 255)` are one."""
    made = 1.0
    for step in steps:
        told = re.fullmatch(r"`([*/]) \(?([\d.]+)(?: / ([\d.]+))?\)?`", step)
        if told is None or not float(told[2]) or not float(told[3] or 1):
            return None
        by = float(told[2]) / float(told[3] or 1)
        made = made * by if told[1] == "*" else made / by
    return round(made, 9)


_HARMLESS = (
    *(
        "float",
        "to",
        "cuda",
        "cpu",
        "half",
        "double",
        "long",
        "type",
        "astype",
        "contiguous",
        "npu",
        "bfloat16",
    ),
    *(
        "unsqueeze",
        "squeeze",
        "permute",
        "transpose",
        "view",
        "reshape",
        "flatten",
        "clone",
        "detach",
        "numpy",
    ),
    *("tensor", "from_numpy", "as_tensor", "stack", "asarray", "array", "next", "Tensor", "requires_grad_"),
)


def _arithmetic(source: Script, call: ast.Call) -> tuple[str, ...] | None:
    """What is computed on the batch up to this call, in the scope around it; None where it cannot be told."""
    scope = source.function_around(call) or source.tree
    steps: list[str] = []
    value: ast.expr = call.args[0]
    line = call.lineno
    for _ in range(20):
        if isinstance(value, ast.Name):
            change = _last_change(_handed_by(source, call, value.id) or scope, value.id, line)
            if change is None or change.lineno >= line:
                return tuple(sorted(steps))
            line = change.lineno
            if any(isinstance(p, ast.If) and is_random(p.test) for p in source.above(change)):
                continue  # by chance: augmentation
            if isinstance(change, ast.AugAssign):
                steps.append(f"`{symbol(change.op)} {unparse(change.value)}`")
                continue
            if isinstance(change.targets[0], ast.Tuple):
                pairs = _pairs(change)
                if value.id in pairs:
                    value = pairs[value.id]
                    continue
                if not (isinstance(change.value, ast.Call) and change.value.args):
                    return tuple(sorted(steps)) if isinstance(change.value, ast.Name) else None
                if not _augments(source, change.value):
                    return tuple(sorted(steps)) if last_name(change.value.func) == "next" else None
                value = change.value.args[0]
                continue
            value = change.value
        elif isinstance(value, ast.BinOp):
            left, right = (any(isinstance(n, ast.Name) for n in walk(s)) for s in (value.left, value.right))
            mixed = _mixed_with_itself(source, value)
            if mixed is not None:
                value = mixed
            elif is_random(value.right) and left:
                value = value.left  # noise is for training alone
            elif isinstance(value.op, (ast.Div, ast.Sub)) or left:
                steps.append(f"`{symbol(value.op)} {unparse(value.right)}`")
                value = value.left
            elif right:
                steps.append(f"`{symbol(value.op)} {unparse(value.left)}`")
                value = value.right
            else:
                return None
        elif isinstance(value, ast.Call):
            name = last_name(value.func)
            owner = receiver(value)
            turned = name in ("flip", "roll") and value.args and not is_random(value)
            if turned and unparse(value.args[-1]) in ("0", "(0,)", "[0]") and isinstance(owner, ast.Name):
                # rows of the batch: whether labels go with them is told elsewhere
                value = value.args[0] if owner.id in _MODULES else owner
            elif not turned and _augments(source, value) and value.args:
                value = value.args[0]
            elif name in (
                "div",
                "div_",
                "sub",
                "sub_",
                "mul",
                "mul_",
                "add",
                "add_",
                "normalize",
                "standardize",
                "flip",
                "roll",
            ):
                on_method = owner is not None and unparse(owner).split(".")[-1] not in _MODULES
                rest = value.args if on_method else value.args[1:]
                steps.append(f"`{name}({', '.join(map(unparse, rest))})`")
                inner = owner if on_method else argument(value, position=0)
                if inner is None:
                    return None
                value = inner
            elif name in _HARMLESS:
                library = owner is None or unparse(owner) in _MODULES
                inner = argument(value, position=0) if library else owner
                if inner is None:
                    return None
                value = inner
            else:
                return None
        elif isinstance(value, ast.Subscript) and _reorders(value):
            steps.append(f"`[{unparse(value.slice)}]`")
            value = value.value
        else:
            return tuple(sorted(steps)) if isinstance(value, (ast.Subscript, ast.Attribute)) else None
    return None


def _mixed_with_itself(source: Script, value: ast.BinOp) -> ast.Name | None:
    """`0.5 * x + 0.5 * x[order]` of an order that is drawn: mixing belongs to training alone."""
    if not isinstance(value.op, ast.Add):
        return None
    moved = [s for s in of(value, ast.Subscript) if isinstance(s.value, ast.Name)]
    for part in moved:
        order = source.function_around(part) or source.tree
        made = part.slice
        if isinstance(made, ast.Name):
            made = source.assigned(made.id, order, part.lineno) or made
        if is_random(made):
            plain = [
                n for n in of(value, ast.Name) if unparse(n) == unparse(part.value) and n is not part.value
            ]
            if plain:
                return plain[0]
    return None


def _handed_by(source: Script, call: ast.Call, name: str) -> ast.For | None:
    """The loop around a call that hands out a name: what happened to it before the loop is another batch."""
    for loop in source.loops_around(call):
        if isinstance(loop, ast.For) and any(n.id == name for n in of(loop.target, ast.Name)):
            return loop
    return None


def _without_gradients(source: Script, call: ast.Call) -> bool:
    """The call stands in `with torch.no_grad():`, in a loop of its own that runs no backward pass."""
    loop = next(iter(source.loops_around(call)), None)
    return without_gradients(source, call) and loop is not None and not takes_gradients(source, loop)


def _reorders(value: ast.Subscript) -> bool:
    """`x[:, [2, 1, 0]]`, `x[..., ::-1]`: all of it, in another order."""
    places = value.slice.elts if isinstance(value.slice, ast.Tuple) else []
    return any(isinstance(p, ast.List) and len(p.elts) > 1 for p in places) or any(
        isinstance(p, ast.Slice) and p.step is not None and unparse(p.step) == "-1" for p in places
    )


_MODULES = ("torch", "np", "numpy", "F", "TF", "functional", "ops", "mindspore", "jnp")


def _augments(source: Script, call: ast.Call) -> bool:
    """A function that augments: by its name, or because it draws random numbers."""
    name = last_name(call.func)
    if any(
        w in name.lower() for w in ("augment", "jitter", "flip", "crop", "mixup", "cutmix", "noise", "mask")
    ):
        return True
    own = [n for n in source.of(ast.FunctionDef) if n.name == name]
    return len(own) == 1 and is_random(own[0])


def _pairs(change: ast.Assign) -> dict[str, ast.expr]:
    """`x, y = a[i], b[i]`: each name with its value."""
    names, values = change.targets[0], change.value
    if isinstance(names, ast.Tuple) and isinstance(values, ast.Tuple) and len(names.elts) == len(values.elts):
        return {unparse(n): v for n, v in zip(names.elts, values.elts, strict=True)}
    return {}


def _last_change(scope: ast.AST, name: str, before: int) -> _Change | None:
    found: _Change | None = None
    for node in of(scope, ast.Assign, ast.AugAssign):
        if node.lineno < before:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            places = target.elts if isinstance(target, ast.Tuple) else [target]
            if any(isinstance(p, ast.Name) and p.id == name for p in places):
                if found is None or node.lineno > found.lineno:
                    found = node
    return found

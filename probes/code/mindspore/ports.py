"""What means another thing in MindSpore than in PyTorch, where a port hands it over as before.

Tried with MindSpore 2.10: `nn.Dropout(0.1)` keeps a tenth, `nn.LayerNorm(64)` is refused, `Normalize` takes
its images as height, width, channels unless told, `value_and_grad(f)` takes gradients of the inputs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow, returns
from ...scripts.learning import gradient_makers, updates
from ...scripts.syntax import Function, Script
from ..shared.checks import at, ok
from ..shared.nodes import is_none
from ..shared.shares import DROP, KEEP, is_turned, plain
from ..shared.sides import literal
from .steps import of_mindspore

_OTHERS = frozenset({"mint", "torch", "msadapter", "mindtorch", "mindnlp", "msadapter_torch"})


def _like_torch(source: Script) -> bool:
    """Layers may be those of another library: `mint`, PyTorch beside MindSpore, an `nn` from elsewhere."""
    if "mint" in {n.id for n in source.of(ast.Name)}:
        return True
    taken = [a.name for n in source.of(ast.Import) for a in n.names]
    taken += [f"{n.module or ''}.{a.name}" for n in source.of(ast.ImportFrom) for a in n.names]
    if any(_OTHERS.intersection(name.split(".")) for name in taken):
        return True
    return any(
        a.name == "nn" and not (n.module or "").startswith("mindspore")
        for n in source.of(ast.ImportFrom)
        for a in n.names
    )


def _from_mindspore(source: Script, call: ast.Call) -> bool:
    """`nn.LayerNorm(...)`, or `LayerNorm(...)` that is imported from `mindspore.nn`."""
    owner, name = source.owner(call).split(".")[-1], last_name(call.func)
    if owner:
        return owner in ("nn", "ops", "P")
    return any(
        a.name == name and (n.module or "").startswith("mindspore")
        for n in source.of(ast.ImportFrom)
        for a in n.names
    )


# ---------------------------------------------------------------------------------------- the share to keep

_KEPT_BY_NOBODY = 0.3  # the usual shares to drop are .1 to .3, and to keep .5 and more


def share_to_drop_kept(source: Script) -> Finding | None:
    """`nn.Dropout(drop)`, `nn.Dropout(keep_prob=rate)`: the first argument is the share to keep.

    Counts where a name says that it is dropped, and a number below a half, or the same name given as `p` or
    to a recurrent layer, says so too. So does a first argument that is too small a number to keep.
    """
    if not of_mindspore(source) or _like_torch(source):
        return None
    for call in source.named("Dropout", "Dropout2d", "Dropout3d"):
        if last_name(call.func) in source.classes or keyword(call, "p") is not None:
            continue
        kept = argument(call, "keep_prob", position=0)
        library = source.owner(call).split(".")[-1]
        if kept is None or not _from_mindspore(source, call):
            continue
        if last_name(call.func) != "Dropout" and library == "nn":
            continue  # Dropout2d of `nn` takes `p` first
        if isinstance(kept, ast.Constant):
            value = share(source, kept)
            if value is not None and 0 < value <= _KEPT_BY_NOBODY and kept in call.args:
                words = f"the first argument is the share to keep: all but {value:g} is dropped"
                return at(source, call, words)
            continue
        text = plain(kept)
        if re.fullmatch(r"[\w.]+", text) and DROP.search(text) and not is_turned(source, kept):
            value = share(source, kept)
            if (value is not None and 0 < value < 0.5) or (
                value is None and _dropped_elsewhere(source, text)
            ):
                return at(source, call, "the first argument is the share to keep, and is given that to drop")
        turned = re.fullmatch(r"1(?:\.0)? - ([\w.]+)", text)
        if turned and KEEP.search(turned.group(1)):
            return at(
                source, call, "the first argument is the share to keep, and is given what is left of it"
            )
    return None


def share(source: Script, node: ast.expr) -> float | None:
    """The number behind a share: also the default of a parameter, or a field of a class of settings."""
    known = literal(source, node)
    if isinstance(known, (int, float)) and not isinstance(known, bool):
        return float(known)
    found = {v for end in flow(source).values(node, 6) if (v := _default(source, end)) is not None}
    return found.pop() if len(found) == 1 else None


def _default(source: Script, node: ast.expr) -> float | None:
    value: object = None
    if isinstance(node, ast.Constant):
        value = node.value
    elif isinstance(node, ast.Name):
        function = source.function_around(node)
        while function is not None and node.id not in [a.arg for a in function.args.args]:
            function = source.function_around(function)
        if function is not None:
            names = [a.arg for a in function.args.args]
            given = dict(zip(reversed(names), reversed(function.args.defaults), strict=False)).get(node.id)
            value = given.value if isinstance(given, ast.Constant) else None
    elif isinstance(node, ast.Attribute) and unparse(node.value) != "self":
        fields = [
            n.value.value
            for c in source.classes.values()
            if c not in source.modules
            for n in c.body
            if isinstance(n, (ast.Assign, ast.AnnAssign)) and isinstance(n.value, ast.Constant)
            for t in (n.targets if isinstance(n, ast.Assign) else [n.target])
            if unparse(t) == node.attr
        ]
        value = fields[0] if len(fields) == 1 else None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _dropped_elsewhere(source: Script, text: str) -> bool:
    """The same name is `p` of another dropout, or the `dropout` of a recurrent layer."""
    for call in source.calls:
        for word in ("p", "dropout"):
            given = keyword(call, word)
            if given is not None and plain(given) == text and last_name(call.func)[:1].isupper():
                if last_name(call.func) not in source.classes:
                    return True
    return False


# ---------------------------------------------------------------------------------------- forms of arguments


def shape_wanted(source: Script) -> Finding | None:
    """`nn.LayerNorm(64)`: MindSpore's takes a tuple or a list of sizes, and refuses a number."""
    if not of_mindspore(source) or _like_torch(source):
        return None
    seen = None
    for call in source.named("LayerNorm"):
        if "LayerNorm" in source.classes or not _from_mindspore(source, call):
            continue
        given = argument(call, "normalized_shape", position=0)
        if given is None:
            continue
        seen = seen or call
        value = literal(source, given)
        number = isinstance(value, int) and not isinstance(value, bool)
        ends = flow(source).values(given, 6)
        counts = bool(ends) and all(_counts(source, e) for e in ends)
        if number or counts:
            return at(source, call, "LayerNorm takes a tuple of sizes, and is given a number: it is refused")
    return ok(source, seen, "LayerNorm gets a tuple of sizes") if seen is not None else None


def _counts(source: Script, node: ast.expr) -> bool:
    """A number by what it is: a product of sizes, or a parameter whose default is one."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, (ast.Mult, ast.FloorDiv)) and not isinstance(
            node.left, (ast.Tuple, ast.List)
        )
    if isinstance(node, ast.Name):
        return _default(source, node) is not None
    return False


# ------------------------------------------------------------------------------------------ layout of images


def normalised_along_other_axis(source: Script) -> Finding | None:
    """`ToTensor()` or `HWC2CHW()` puts channels first, and `Normalize` behind it still looks for them last.

    Or it is told to look for them first (`is_hwc=False`) before anything has moved them.
    """
    if not of_mindspore(source):
        return None
    for steps in _lists_of_steps(source):
        names = [last_name(s.func) if isinstance(s, ast.Call) else "" for s in steps]
        for i, step in enumerate(steps):
            if names[i] != "Normalize" or not isinstance(step, ast.Call) or "torchvision" in source.code:
                continue
            told = argument(step, "is_hwc", position=2)
            last = True if told is None else literal(source, told)
            moved = bool({"ToTensor", "HWC2CHW"} & set(names[:i]))
            later = bool({"ToTensor", "HWC2CHW"} & set(names[i + 1 :]))
            if moved and last is True and not _old(source):
                return at(
                    source, step, "the channels come first here, and Normalize takes the last axis for them"
                )
            if later and not moved and last is False:
                return at(
                    source, step, "the channels come last here, and Normalize takes the first axis for them"
                )
    return None


def _old(source: Script) -> bool:
    """`py_transforms` of MindSpore 1: its Normalize works on channels first, and has no such switch."""
    return "py_vision" in source.code or "py_transforms" in source.code or "transforms.py" in source.code


def _lists_of_steps(source: Script) -> Iterator[list[ast.expr]]:
    mine = flow(source)
    for node in source.of(ast.List, ast.Tuple):
        if len(node.elts) > 1 and any(isinstance(e, ast.Call) for e in node.elts):
            steps = []
            for one in node.elts:
                given = mine.whole_given(one) if isinstance(one, ast.Name) else None
                steps.append(given or one)
            yield steps


# ------------------------------------------------------------------------------------------- the gradients


def gradient_of_other(source: Script) -> Finding | None:
    """`value_and_grad(f)` without weights, of several outputs, or for weights in another order.

    What it gives goes to the optimizer: gradients of the inputs are none of the weights; without
    `has_aux=True` those of all outputs are added up.
    """
    if not of_mindspore(source):
        return None
    seen = None
    for call in gradient_makers(source):
        name = last_name(call.func)
        if name not in ("value_and_grad", "grad") or any(k.arg is None for k in call.keywords):
            continue
        if not _goes_to_optimizer(source, call):
            continue
        seen = seen or call
        weights = argument(call, "weights", position=2)
        nothing = weights is None or is_none(weights)
        if nothing:
            return at(source, call, "without weights, these are gradients of the inputs, not of the weights")
        several = argument(call, "has_aux", position=3)
        told = False if several is None else literal(source, several)
        if told is False and (out := _second_output(source, call.args[0])) is not None:
            return at(
                source,
                call,
                f"without has_aux, the gradient is that of the loss and of `{unparse(out)}` together",
            )
    return ok(source, seen, "gradients of the weights are taken") if seen is not None else None


def _goes_to_optimizer(source: Script, call: ast.Call) -> bool:
    """What the function gives, under the name that it is kept as, is handed to an optimizer."""
    statement = source.statement(call)
    if not isinstance(statement, ast.Assign) or statement.value is not call:
        return False
    makers = {unparse(t) for t in statement.targets}
    handed = {n for u in updates(source) for a in u.args for n in names_in(a)}
    for node in source.of(ast.Assign):
        if isinstance(node.value, ast.Call) and unparse(node.value.func) in makers:
            target = node.targets[0]
            last = target.elts[-1] if isinstance(target, ast.Tuple) else target
            if names_in(last) & handed:
                return True
    return False


def _second_output(source: Script, given: ast.expr) -> ast.expr | None:
    """What a function gives back beside the loss, with a gradient of its own."""
    functions = (
        flow(source).functions.get(last_name(given), [])
        if isinstance(given, (ast.Name, ast.Attribute))
        else []
    )
    if len(functions) != 1:
        return None
    ends = returns(functions[0])
    if not ends or not all(isinstance(e, ast.Tuple) and len(e.elts) > 1 for e in ends):
        return None
    beside = ends[0].elts[1:] if isinstance(ends[0], ast.Tuple) else []
    return next((one for one in beside if not _stopped(functions[0], one)), None)


def _stopped(function: Function, node: ast.expr) -> bool:
    """A constant, a count, or what no gradient goes through."""
    cut = re.compile(r"stop_gradient|detach|argmax|asnumpy|shape|equal|astype\(|int32|len\(|==")
    if isinstance(node, ast.Constant) or cut.search(unparse(node)):
        return True
    if isinstance(node, ast.Name):
        made = [n.value for n in of(function, ast.Assign) if any(unparse(t) == node.id for t in n.targets)]
        return bool(made) and cut.search(unparse(made[-1])) is not None
    return False


def gradients_unused(source: Script) -> Finding | None:
    """Gradients are taken by `value_and_grad` or in a cell of one step, and no optimizer gets any."""
    if not of_mindspore(source) or updates(source) or not source.optimizer_calls:
        return None
    if re.search(
        r"(?i:optim\w*[\[(]|\bopt\w*[\[(]|assign|opt\w*\.step\(|apply_grad)|\bModel\(",
        _without_makers(source),
    ):
        return None
    for call in gradient_makers(source):
        if keyword(call, "weights") is not None or len(call.args) > 2:
            return at(source, call, "gradients of the weights are taken, and no optimizer gets them")
    return None


def _without_makers(source: Script) -> str:
    """The calls of the script but for those that make optimizers."""
    made = set(source.optimizer_calls)
    return "\n".join(unparse(c.func) + "(" for c in source.calls if c not in made)


def cell_without_update(source: Script) -> Finding | None:
    """A cell of one training step of the script's own takes gradients, and hands them to no optimizer."""
    if not of_mindspore(source):
        return None
    for owner in source.classes.values():
        if not any(re.match(r"TrainOneStep", last_name(b)) for b in owner.bases):
            continue
        for function in (f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "construct"):
            takes = [
                c
                for c in of(function, ast.Call)
                if isinstance(c.func, ast.Call)
                and re.search(r"\bself\.grad\b|grad_fn|GradOperation", unparse(c.func))
            ]
            text = unparse(function)
            if takes and not re.search(r"(?i)optim|opt\(|assign|accum|super\(|update", text):
                return at(source, takes[0], "these gradients are taken, and no optimizer gets them")
    return None

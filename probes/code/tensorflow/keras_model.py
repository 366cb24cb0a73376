"""Keras models in scripts: lost branches, outputs that cannot vary, inputs for another backbone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..loss.output_kind import width
from ..shared.checks import at, ok

_KERAS = ("keras", "tensorflow")


def branch_left(source: Script) -> Finding | None:
    """Functional model: `both = Concatenate()([x, n])`, and nothing reads `both`."""
    if not set(_KERAS) & set(source.frameworks):
        return None
    seen: ast.AST | None = None
    for scope in _scopes(source):
        assigned = [
            n
            for n in of(scope, ast.Assign)
            if source.function_around(n) is (scope if scope is not source.tree else None)
            and len(n.targets) == 1
            and isinstance(n.targets[0], ast.Name)
        ]
        reads = [n for n in of(scope, ast.Name) if isinstance(n.ctx, ast.Load)]
        for node in assigned:
            name = unparse(node.targets[0])
            if not _applies_layer(node.value) or name.startswith("_") or source.class_around(node):
                continue
            seen = seen or node
            if not any(r.id == name for r in reads) and not _shown(scope, name):
                return at(source, node, f"`{name}` is made by a layer and read nowhere: this branch is lost")
        if (lost := _overwritten(scope)) is not None:
            name = unparse(lost.targets[0])
            return at(source, lost, f"`{name}` is made anew here, and what layers above made of it is lost")
    return ok(source, seen, "what the layers give is read") if seen is not None else None


_WEIGHED = re.compile(
    r"(?:Separable|Depthwise)?Conv\w*|Dense|LSTM|GRU|Bidirectional|Embedding|MultiHeadAttention"
)


def _overwritten(scope: Function | ast.Module) -> ast.Assign | None:
    """`x = Pool()(inputs)` after layers with weights made an `x` that nothing has read since."""
    waiting: dict[str, bool] = {}  # a name -> whether what it holds was made by a layer with weights
    for statement in scope.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        made = _made(statement)
        read = {n.id for n in of(statement, ast.Name) if isinstance(n.ctx, ast.Load)}
        if made is not None and isinstance(statement, ast.Assign) and made not in read:
            if waiting.get(made) and _applies_layer(statement.value) and not _joins(statement.value):
                return statement  # a join of what is left takes up a name that was tried
        weighed = any(_WEIGHED.fullmatch(last_name(c.func)) for c in of(statement, ast.Call))
        weighed |= any(waiting.get(n, False) for n in read)
        waiting = {n: w for n, w in waiting.items() if n not in read}
        if made is not None:
            waiting[made] = weighed
    return None


def _joins(value: ast.expr) -> bool:
    """`Concatenate()([x, z])`: several tensors go in."""
    given = value.args[:1] if isinstance(value, ast.Call) else []
    return any(isinstance(a, (ast.List, ast.Tuple)) and len(a.elts) > 1 for a in given)


def _made(statement: ast.stmt) -> str | None:
    """The name that a statement, or a loop at the end of each round, gives what a layer or a block makes."""
    last = statement.body[-1] if isinstance(statement, ast.For) else statement
    if isinstance(last, ast.Assign) and len(last.targets) == 1 and isinstance(last.targets[0], ast.Name):
        blocks = isinstance(statement, ast.For) and isinstance(last.value, ast.Call)
        if blocks or _applies_layer(last.value):
            return last.targets[0].id
    return None


def _scopes(source: Script) -> Iterator[Function | ast.Module]:
    """Where a functional model is put together: between `Input` and `Model(...)`."""
    for call in source.named("Model"):
        given = [*call.args, *(k.value for k in call.keywords if k.arg in ("inputs", "outputs"))]
        scope = source.function_around(call) or source.tree
        made = {last_name(c.func) for c in of(scope, ast.Call)}
        if len(given) > 1 and "Input" in made:
            yield scope


def _applies_layer(node: ast.expr) -> bool:
    """`layers.Dense(8)(x)`."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Call) and node.args):
        return False
    name = last_name(node.func.func)
    return name[:1].isupper() and not name.isupper() and name not in ("Model", "Sequential", "Lambda")


def _shown(scope: ast.AST, name: str) -> bool:
    return any(name in n.names for n in of(scope, ast.Global, ast.Nonlocal))


# ------------------------------------------------------------------------------------- the output


def softmax_of_one(source: Script) -> Finding | None:
    """`Dense(1, activation="softmax")`: the share of one class among one is 1, whatever the input.

    As of `Conv2D(1, 1, activation="softmax")`, whose softmax is taken over its channels.
    """
    if not set(_KERAS) & set(source.frameworks):
        return None
    seen: ast.AST | None = None
    for call in source.named("Dense", "Conv1D", "Conv2D", "Conv3D"):
        units = call.args[0] if call.args else keyword(call, "units") or keyword(call, "filters")
        dense = last_name(call.func) == "Dense"
        given = argument(call, "activation", position=1) if dense else keyword(call, "activation")
        if units is None or given is None:
            continue
        ends = flow(source).values(units, 3)
        named = given.value if isinstance(given, ast.Constant) else last_name(given)
        if named == "softmax":
            seen = seen or call
            if len(ends) == 1 and isinstance(ends[0], ast.Constant) and ends[0].value == 1:
                return at(source, call, "a softmax over one unit is always 1: the output does not vary")
    for layer, before in _activations(source):
        if width(source, before) == 1:
            return at(source, layer, "a softmax over one unit is always 1: the output does not vary")
        seen = seen or layer
    return ok(source, seen, "the softmax is taken over several units") if seen is not None else None


def _activations(source: Script) -> Iterator[tuple[ast.Call, ast.Call]]:
    """`Activation("softmax")` with the `Dense` that is added, or listed, right before it."""
    for layer in source.named("Activation", "Softmax"):
        told = layer.args[0].value if layer.args and isinstance(layer.args[0], ast.Constant) else None
        if last_name(layer.func) == "Activation" and told != "softmax":
            continue
        holder = source.parents.get(layer)
        if isinstance(holder, (ast.List, ast.Tuple)):
            row: list[ast.AST] = list(holder.elts)
        elif isinstance(holder, ast.Call) and last_name(holder.func) == "add":
            owner = unparse(holder.func)
            calls = [c for c in source.named("add") if c.args and unparse(c.func) == owner]
            calls = [c for c in calls if source.function_around(c) is source.function_around(layer)]
            row = [c.args[0] for c in sorted(calls, key=lambda c: c.lineno)]
        else:
            continue
        place = row.index(layer) if layer in row else 0
        before = row[place - 1] if place else None
        if (
            isinstance(before, ast.Call)
            and last_name(before.func) == "Dense"
            and not keyword(before, "activation")
        ):
            yield layer, before


# ------------------------------------------------------------------------------------- the inputs

# How `preprocess_input` of a family scales pixels of 0 to 255 (keras.applications).
_FAMILIES = (
    (
        re.compile(r"(?i)^(?:resnet\d*_?v2|inception|xception|nasnet|mobilenet(?!_?v3))"),
        "-1 to 1",
    ),
    (re.compile(r"(?i)^(?:vgg|resnet)"), "means of the colours taken off, BGR"),
    (re.compile(r"(?i)^densenet"), "0 to 1, then mean and deviation"),
    (re.compile(r"(?i)^(?:efficientnet|mobilenet_?v3|convnext|regnet|resnetrs)"), "as they are"),
)
_FAMILY = re.compile(
    r"^(?:VGG\d+|ResNet\d+(?:V2)?|ResNetRS\d+|MobileNet(?:V\d\w*)?|DenseNet\d+|InceptionV3|Xception"
    r"|InceptionResNetV2|NASNet\w+|EfficientNet\w+|ConvNeXt\w+|RegNet\w+)$"
)


def _scaling(name: str) -> str:
    return next((how for pattern, how in _FAMILIES if pattern.match(name)), "")


def prepared_for_other(source: Script) -> Finding | None:
    """`preprocess_input` of one family before the ImageNet weights of another that takes another range.

    Also pixels that were scaled already: `Rescaling(1 / 255)` before it, or before an EfficientNet.
    """
    backbones = [
        c for c in source.calls if _FAMILY.match(last_name(c.func)) and _is_imagenet(keyword(c, "weights"), c)
    ]
    wants = {_scaling(last_name(c.func)) for c in backbones}
    if len(wants) != 1 or "" in wants:
        return None
    want, seen = wants.pop(), None
    for call in source.calls:
        module = _module_of(source, call)
        if not module:
            continue
        seen = seen or call
        how = _scaling(module)
        if how and how != want:
            name = last_name(backbones[0].func)
            why = f"this prepares pixels for {module} ({how}), and the weights are those of {name} ({want})"
            return at(source, call, why)
        if call.args and (how != "as they are" or want != how) and _scaled(source, call.args[0]):
            return at(source, call, "the pixels were scaled before: this expects 0 to 255")
    return ok(source, seen, "inputs are prepared for the backbone") if seen is not None else None


def _is_imagenet(given: ast.expr | None, call: ast.Call) -> bool:
    if given is None:
        return not any(k.arg is None for k in call.keywords)
    return isinstance(given, ast.Constant) and given.value == "imagenet"


def _module_of(source: Script, call: ast.Call) -> str:
    """The family of a call of `preprocess_input`: "resnet50"."""
    name = call.func.id if isinstance(call.func, ast.Name) else last_name(call.func)
    if isinstance(call.func, ast.Attribute) and name == "preprocess_input":
        owner = unparse(call.func.value).rpartition(".")[2]
        for node in source.of(ast.Import):
            for alias in node.names:
                if alias.asname == owner:
                    return alias.name.rpartition(".")[2]
        for given in source.of(ast.ImportFrom):
            for alias in given.names:
                if alias.asname == owner:
                    return alias.name
        return owner
    for node_ in source.of(ast.ImportFrom):
        for alias in node_.names:
            if alias.name == "preprocess_input" and (alias.asname or alias.name) == name:
                return (node_.module or "").rpartition(".")[2]
    return ""


def _scaled(source: Script, node: ast.expr) -> bool:
    """By 255, in a layer or by hand, just before."""
    ends = [node, *flow(source).values(node, 2)]
    for end in ends:
        if isinstance(end, ast.BinOp) and isinstance(end.op, ast.Div):
            if isinstance(end.right, ast.Constant) and end.right.value in (255, 127.5):
                return True
        if isinstance(end, ast.Call) and isinstance(end.func, ast.Call):
            if last_name(end.func.func) == "Rescaling" and re.search(r"255|127\.5", unparse(end.func)):
                return True
    return False

"""Keras models that are compiled: which layer each ends in, and what its loss takes that to be."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name
from ...scripts.flow import Flow, flow, returns
from ...scripts.syntax import Script
from ..shared.checks import is_evaluation

_DEPTH = 12
_CLASSES = re.compile(r"(?i)^(?:sparse_?)?categorical_?crossentropy$")
_BINARY = re.compile(r"(?i)^binary_?crossentropy$")
_SQUARED = re.compile(r"(?i)^(?:mse|mae|mean_?squared_?error|mean_?absolute_?error)$")
_LINEAR = re.compile(r"^(?:Dense|Conv[123]D|Convolution2D)$")
_KEEPS = ("Flatten", "Reshape", "Dropout", "Cast", "Squeeze", "ZeroPadding2D", "Cropping2D")


@dataclass(frozen=True)
class Compiled:
    """A model with its loss.

    `ends`: activation of the output layer, "linear" for none, "" unknown. `takes`: "classes", "binary",
    "squared", "" unknown. `logits`: whether the loss applies the activation itself; None: it cannot be told.
    """

    call: ast.Call
    layer: ast.Call | None
    ends: str
    loss: ast.expr
    takes: str
    logits: bool | None
    scores_classes: bool  # accuracy is among the metrics


@lru_cache(maxsize=16)
def compiled(source: Script) -> tuple[Compiled, ...]:
    """Every `model.compile(loss=...)`, then the losses that the script calls, each with its model's end."""
    mine = flow(source)
    if not {"keras", "tensorflow"} & set(source.frameworks):
        return ()
    return (*_compiled(mine), *_called(mine), *_written(mine))


def _called(mine: Flow) -> Iterator[Compiled]:
    """Losses that the script calls itself: `loss_fn(labels, model(x, training=True))`, under a tape."""
    called = {unparse(c.func) for c in mine.source.calls}
    made = {
        unparse(t): n.value
        for n in mine.source.of(ast.Assign)
        if isinstance(n.value, ast.Call) and any(unparse(t) in called for t in n.targets)
        if _loss(mine, n.value)[0]
        for t in n.targets
    }
    for call in mine.source.calls:
        loss = made.get(unparse(call.func))
        if loss is None or len(call.args) < 2 or is_evaluation(mine.source, call):
            continue
        takes, logits = _loss(mine, loss)
        layers = list(dict.fromkeys(_last_layers(mine, call.args[1], _DEPTH)))
        ends = {_activation(mine, layer) for layer in layers}
        yield Compiled(
            call,
            layers[0] if len(layers) == 1 else None,
            next(iter(ends)) if len(ends) == 1 else "",
            loss,
            takes,
            logits,
            False,
        )


def _compiled(mine: Flow) -> Iterator[Compiled]:
    for call in mine.source.named("compile"):
        loss = keyword(call, "loss")
        if loss is None or not isinstance(call.func, ast.Attribute):
            continue
        layers = list(_last_layers(mine, call.func.value, _DEPTH))
        ends = {_activation(mine, layer) for layer in layers}
        told = mine.values(loss, 4)
        loss = told[0] if len(told) == 1 else loss
        if isinstance(loss, (ast.Dict, ast.List)):
            yield from _several(mine, call, loss)
            continue
        takes, logits = _loss(mine, loss)
        yield Compiled(
            call,
            layers[0] if len(layers) == 1 else None,
            next(iter(ends)) if len(ends) == 1 else "",
            loss,
            takes,
            logits,
            _scores_classes(call),
        )


def _several(mine: Flow, call: ast.Call, losses: ast.Dict | ast.List) -> Iterator[Compiled]:
    """`compile(loss={"kind": ..., "price": ...})`: each loss with its output, by name or place."""
    model = mine.values(call.func.value, 4) if isinstance(call.func, ast.Attribute) else []
    built = model[0] if len(model) == 1 and isinstance(model[0], ast.Call) else None
    outputs: ast.expr | None = None
    if built is not None and last_name(built.func) in ("Model", "Functional"):
        outputs = argument(built, "outputs", position=1)
        found = mine.values(outputs, 4) if outputs is not None else []
        outputs = found[0] if len(found) == 1 else None
    metrics = keyword(call, "metrics")
    for place, loss in enumerate(losses.values if isinstance(losses, ast.Dict) else losses.elts):
        key = losses.keys[place] if isinstance(losses, ast.Dict) else None
        name = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None
        layers = list(_last_layers(mine, out, _DEPTH)) if (out := _output(outputs, name, place)) else []
        if not layers and name is not None:
            layers = [c for c in mine.source.calls if _is_named(c, name) and _LINEAR.match(last_name(c.func))]
        ends = {_activation(mine, layer) for layer in layers}
        takes, logits = _loss(mine, loss)
        told = mine.values(loss, 4)
        scored = _item(metrics, name) if name is not None else None
        yield Compiled(
            call,
            layers[0] if len(layers) == 1 else None,
            next(iter(ends)) if len(ends) == 1 else "",
            told[0] if len(told) == 1 else loss,
            takes,
            logits,
            scored is not None and "acc" in ast.unparse(scored).lower(),
        )


def _output(outputs: ast.expr | None, name: str | None, place: int) -> ast.expr | None:
    """The output of a model that a loss belongs to: by its name in a dict, by its place in a list."""
    if isinstance(outputs, ast.Dict) and name is not None:
        return _item(outputs, name)
    if isinstance(outputs, (ast.List, ast.Tuple)) and name is None:
        return outputs.elts[place] if place < len(outputs.elts) else None
    return None


def _item(node: ast.expr | None, name: str) -> ast.expr | None:
    """The value of a key of a dict that is written out."""
    if not isinstance(node, ast.Dict):
        return None
    pairs = zip(node.keys, node.values, strict=True)
    return next((v for k, v in pairs if isinstance(k, ast.Constant) and k.value == name), None)


def _is_named(call: ast.Call, name: str) -> bool:
    given = keyword(call, "name")
    return isinstance(given, ast.Constant) and given.value == name


def _scores_classes(call: ast.Call) -> bool:
    metrics = keyword(call, "metrics")
    return metrics is not None and "acc" in ast.unparse(metrics).lower()


# ----------------------------------------------------------------------------------------- the output layer


def _last_layers(mine: Flow, node: ast.expr, depth: int) -> Iterator[ast.Call]:
    """The calls that make the layer a model ends in; nothing where one cannot be found."""
    if depth == 0:
        return
    if isinstance(node, (ast.List, ast.Tuple)):
        if node.elts:  # layers in their order; of several values that a method gives back, the first
            several = isinstance(mine.source.parents.get(node), ast.Return)
            yield from _last_layers(mine, node.elts[0 if several else -1], depth - 1)
    elif isinstance(node, (ast.Name, ast.Attribute)):
        added = _added(mine, node)
        if added is not None:
            yield from _last_layers(mine, added, depth - 1)
            return
        for value in _made(mine, node):
            yield from _last_layers(mine, value, depth - 1)
    elif isinstance(node, ast.Call):
        yield from _of_call(mine, node, depth)


def _made(mine: Flow, node: ast.expr) -> list[ast.expr]:
    """What a name stands for; of a model that is read from a file again later, what it was built as."""
    found = [v for v in mine.values(node, 1) if v is not node]
    if found and all(isinstance(v, ast.Call) and last_name(v.func) == "load_model" for v in found):
        name = unparse(node)
        built = [n for n in mine.source.of(ast.Assign) if name in map(unparse, n.targets)]
        return [n.value for n in built if n.value not in found and "load" not in unparse(n.value)]
    return found


def _of_call(mine: Flow, node: ast.Call, depth: int) -> Iterator[ast.Call]:
    name = last_name(node.func)
    if name == "Sequential":
        given = node.args[0] if node.args else keyword(node, "layers")
        if given is not None:
            yield from _last_layers(mine, given, depth - 1)
    elif name in ("Model", "Functional"):
        given = argument(node, "outputs", position=1)
        if given is not None and not (isinstance(given, ast.List) and len(given.elts) > 1):
            yield from _last_layers(mine, given, depth - 1)
    elif isinstance(node.func, ast.Call):  # Dense(10)(x)
        if last_name(node.func.func) in _KEEPS and node.args:
            yield from _last_layers(mine, node.args[0], depth - 1)
        else:
            yield from _of_call(mine, node.func, depth - 1)
    elif _is_layer(mine, node, name):
        yield node
    elif (layer := _held(mine, node)) is not None:
        yield layer
    elif isinstance(node.func, ast.Name) and name in mine.source.classes:
        yield from _of_own_model(mine, mine.source.classes[name], depth)
    else:
        functions = mine.called(node)
        for function in functions:
            for value in returns(function):
                yield from _last_layers(mine, value, depth - 1)
        if not functions and isinstance(node.func, (ast.Name, ast.Attribute)):
            # `model(x, training=True)` of a model that is built of layers: what that one ends in
            for value in mine.values(node.func, 3):
                if isinstance(value, ast.Call) and last_name(value.func) in _BUILT:
                    yield from _last_layers(mine, value, depth - 1)


def _of_own_model(mine: Flow, model: ast.ClassDef, depth: int) -> Iterator[ast.Call]:
    """`Net()` of a class that derives from `keras.Model`: what its `call` gives back, taken as it is.

    Left aside where its own training step bends the outputs once more.
    """
    own = {f.name: f for f in model.body if isinstance(f, ast.FunctionDef)}
    if model not in mine.source.modules or "call" not in own:
        return
    steps = [f for n, f in own.items() if n in ("train_step", "compute_loss")]
    if any(
        last_name(c.func) in ("softmax", "sigmoid", "log_softmax") for f in steps for c in of(f, ast.Call)
    ):
        return
    for value in returns(own["call"]):
        yield from _last_layers(mine, value, depth - 1)


_BUILT = ("Model", "Functional", "Sequential")
_OPERATORS = ("tf.nn", "tf", "nn", "tf.math", "ops", "keras.ops", "tf.keras.activations")


def _is_layer(mine: Flow, node: ast.Call, name: str) -> bool:
    """A layer that is made, of a library, or the function of one: `tf.nn.softmax(x)`."""
    if name in ("softmax", "sigmoid"):
        return mine.source.owner(node) in _OPERATORS
    return name[:1].isupper() and name not in mine.source.classes


def _held(mine: Flow, node: ast.Call) -> ast.Call | None:
    """`self.head(x)` of a model whose `self.head = Dense(10)`."""
    if not (isinstance(node.func, ast.Attribute) and unparse(node.func.value) == "self"):
        return None
    made = mine.values(node.func, 2)
    if len(made) != 1 or not isinstance(made[0], ast.Call):
        return None
    name = last_name(made[0].func)
    return made[0] if _LINEAR.match(name) or name in ("Activation", "Softmax") else None


def _added(mine: Flow, node: ast.expr) -> ast.expr | None:
    """What is added last to a model: `model.add(Dense(10))`, in the function where it stands."""
    text, around = ast.unparse(node), mine.source.function_around(node)
    line = getattr(node, "lineno", 0)
    found = [
        c
        for c in mine.source.named("add")
        if c.args and mine.source.owner(c) == text and mine.source.function_around(c) is around
        if c.lineno < line
    ]
    return found[-1].args[0] if found else None


def _activation(mine: Flow, layer: ast.Call) -> str:
    """The activation a layer applies: "softmax", "linear", ...; "" where it cannot be told."""
    name = last_name(layer.func)
    if name in ("Softmax", "ReLU", "softmax", "sigmoid"):
        return name.lower()
    given: ast.expr | None
    if name == "Activation":
        given = layer.args[0] if layer.args else keyword(layer, "activation")
    elif _LINEAR.match(name):
        second = layer.args[1] if name == "Dense" and len(layer.args) > 1 else None
        given = keyword(layer, "activation") or second
        if given is None:
            return "" if any(k.arg is None for k in layer.keywords) else "linear"
    else:
        return ""
    ends = mine.values(given, 4) if given is not None else []
    if len(ends) != 1:
        return ""
    if isinstance(ends[0], ast.Constant):
        return ends[0].value if isinstance(ends[0].value, str) else "linear"
    said = last_name(ends[0])
    return said if said in ("softmax", "sigmoid", "relu", "tanh") else ""


# ------------------------------------------------------------------------------------------------- the loss


def _loss(mine: Flow, node: ast.expr) -> tuple[str, bool | None]:
    """What a loss takes, and whether it applies the activation itself."""
    ends = mine.values(node, 4)
    if len(ends) != 1:
        return "", None
    loss = ends[0]
    logits: bool | None = False
    if isinstance(loss, ast.Call):
        name = last_name(loss.func)
        flag = keyword(loss, "from_logits")
        if flag is not None or loss.args or any(k.arg is None for k in loss.keywords):
            said = mine.values(flag, 4) if flag is not None else []
            value = said[0].value if len(said) == 1 and isinstance(said[0], ast.Constant) else None
            logits = value if isinstance(value, bool) else None
    elif isinstance(loss, ast.Constant) and isinstance(loss.value, str):
        name = loss.value
    elif isinstance(loss, ast.Attribute):
        name = loss.attr
    else:
        return "", None
    for kind, pattern in (("classes", _CLASSES), ("binary", _BINARY), ("squared", _SQUARED)):
        if pattern.match(name):
            return kind, logits
    return "", None


# --------------------------------------------------------------------------------- losses of one's own

# functions of a loss by their name: what they take, and whether they apply the activation themselves
_FUNCTIONS: dict[str, tuple[str, bool | None]] = {
    "binary_crossentropy": ("binary", False),
    "binary_focal_crossentropy": ("binary", False),
    "categorical_crossentropy": ("classes", False),
    "sparse_categorical_crossentropy": ("classes", False),
    "sigmoid_cross_entropy_with_logits": ("binary", True),
    "weighted_cross_entropy_with_logits": ("binary", True),
    "softmax_cross_entropy_with_logits": ("classes", True),
    "sparse_softmax_cross_entropy_with_logits": ("classes", True),
}
_CARRIED = (
    "cast",
    "convert_to_tensor",
    "reshape",
    "squeeze",
    "clip",
    "clip_by_value",
    "expand_dims",
    "flatten",
)


def _written(mine: Flow) -> Iterator[Compiled]:
    """`binary_crossentropy(y, p, from_logits=True)` in a loss of one's own, or in a step under a tape."""
    for call in mine.source.calls:
        known = _FUNCTIONS.get(last_name(call.func))
        given = _predicted(call) if known is not None else None
        if known is None or given is None or is_evaluation(mine.source, call):
            continue
        takes, logits = known
        flag = argument(call, "from_logits", position=2) if not logits else None
        if flag is not None:
            said = mine.values(flag, 4)
            value = said[0].value if len(said) == 1 and isinstance(said[0], ast.Constant) else None
            logits = value if isinstance(value, bool) else None
        layers = list(dict.fromkeys(_behind_scores(mine, given, _DEPTH)))
        ends = {_activation(mine, layer) for layer in layers}
        yield Compiled(
            call,
            layers[0] if len(layers) == 1 else None,
            next(iter(ends)) if len(ends) == 1 else "",
            call,
            takes,
            logits,
            False,
        )


def _predicted(call: ast.Call) -> ast.expr | None:
    """What is held against the answers: by name, second by place."""
    named = keyword(call, "y_pred") or keyword(call, "logits") or keyword(call, "output")
    if named is not None:
        return named
    plain = len(call.args) > 1 and not any(isinstance(a, ast.Starred) for a in call.args[:2])
    return call.args[1] if plain else None


def _behind_scores(mine: Flow, node: ast.expr, depth: int) -> Iterator[ast.Call]:
    """The layers that a model ends in whose answer this is, taken as it is."""
    if depth == 0:
        return
    if isinstance(node, ast.Name):
        given = mine.all_given(node)
        for one in given:
            if not one.places:
                yield from _behind_scores(mine, one.value, depth - 1)
        function = mine.source.function_around(node)
        if given or function is None:
            return
        for model in _compiled_with(mine, function, node.id):
            yield from _last_layers(mine, model, depth - 1)
        for handed in mine.arguments(node):
            yield from _behind_scores(mine, handed, depth - 1)
    elif isinstance(node, ast.Call):
        name = last_name(node.func)
        if name in _CARRIED:
            library = unparse(node.func).split(".")[0] in ("tf", "ops", "keras", "K", "tensorflow")
            inner = node.args[0] if library and node.args else None
            if inner is not None:
                yield from _behind_scores(mine, inner, depth - 1)
        elif unparse(node.func) == "self":
            owner = mine.class_around(node)
            if owner is not None:
                yield from _ends_of_call(mine, owner, depth)
        elif isinstance(node.func, (ast.Name, ast.Attribute)) and name not in mine.functions:
            yield from _last_layers(mine, node, depth - 1)


def last_layer_of(mine: Flow, node: ast.expr) -> str:
    """The activation of the layer that a value comes out of: "linear" for none, "" where it is not known."""
    ends = {_activation(mine, layer) for layer in dict.fromkeys(_behind_scores(mine, node, _DEPTH))}
    return next(iter(ends)) if len(ends) == 1 else ""


def _ends_of_call(mine: Flow, owner: ast.ClassDef, depth: int) -> Iterator[ast.Call]:
    """What the `call` of a model gives back, in its own training step."""
    for function in owner.body:
        if isinstance(function, ast.FunctionDef) and function.name == "call":
            for value in returns(function):
                yield from _last_layers(mine, value, depth - 1)


def _compiled_with(mine: Flow, function: ast.AST, name: str) -> Iterator[ast.expr]:
    """The models that are compiled with a loss function of one's own, whose second parameter this is."""
    if not isinstance(function, ast.FunctionDef):
        return
    names = [a.arg for a in function.args.args if a.arg not in ("self", "cls")]
    if len(names) < 2 or names[1] != name:
        return
    for call in mine.source.named("compile"):
        loss = keyword(call, "loss") or argument(call, position=1)
        if loss is None or not isinstance(call.func, ast.Attribute):
            continue
        if any(_is_loss_of(mine, one, function) for one in (loss, *mine.values(loss, 4))):
            yield call.func.value


def _is_loss_of(mine: Flow, node: ast.expr, function: ast.FunctionDef) -> bool:
    """The function itself, a class whose `call` it is, or what another function gives back with it inside."""
    if isinstance(node, ast.Name):
        return node.id == function.name
    if not isinstance(node, ast.Call):
        return False
    owner = mine.class_around(function)
    if owner is not None:
        return function.name == "call" and last_name(node.func) == owner.name
    maker = mine.source.function_around(function)
    return maker is not None and last_name(node.func) == maker.name

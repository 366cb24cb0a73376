"""Operators of a model that are usually meant otherwise, in scripts: activations, axes, scores, reshapes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...forward.judged import answers_show
from ...readers._tree import of, unparse, walk
from ...readers.script import argument, keyword, last_name, receiver
from ...registry import Finding, View, probe
from ...scripts.flow import Flow, flow, losses
from ...scripts.syntax import Function, Script, outermost_call
from ..evaluation.units_apart import answers_turned_back
from ..loss.outputs import last_layer_cut
from ..method.graphs import loop_ends_in_relu
from ..shared.checks import at, first, ok
from ..shared.nodes import not_in_training, whole_number
from ..shared.sides import either
from .attention import (
    dots_scaled_up,
    heads_joined_without_turning,
    scaled_by_heads,
    scores_scaled_up,
    weights_over_queries,
)
from .cut_heads import head_cut
from .cut_stacks import stack_cut
from .heads import heads_misplaced
from .maps_taken_apart import channels_torn
from .wiring import held

_RECTIFIERS = ("ReLU", "relu", "relu_", "ReLU6", "relu6", "LeakyReLU", "leaky_relu", "softplus", "Softplus")
_HARD = ("ReLU", "relu", "relu_", "ReLU6", "relu6")
_ON_SCORES = re.compile(r"crossentropy|cross_entropy|withlogits|with_logits|nll")
_LAYERS = ("Linear", "Dense", "LazyLinear")


# -------------------------------------------------------------------------------- an activation on the output


@probe()
def output_rectified(view: View) -> Finding:
    """The model ends in a ReLU and a loss on logits follows, or a regression on standardised targets.

    False positive: targets that cannot be negative. A regression counts only where the script standardises.
    """
    found = either(
        *(_rectified, last_layer_cut, head_cut, stack_cut, loop_ends_in_relu), answers_show("rectified")
    )
    return first(view, found, "no loss whose model's last operation can be told")


def _rectified(source: Script) -> Finding | None:
    judged = None
    for ends, node in outputs_of(source):
        judged = judged or node
        if ends in _HARD and _needs_sign(source):
            return at(
                source, node, "the output goes through a ReLU, so that the loss never gets a negative value"
            )
    if (end := _scores_cut(source)) is not None:
        return at(source, end, "scores go through a ReLU before their softmax: none can fall below zero")
    if (end := _rectified_stack(source)) is not None and _needs_sign(source):
        return at(source, end, "the last layer ends in a ReLU, so that the loss never gets a negative value")
    return ok(source, judged, "the output is not cut off at zero") if judged is not None else None


def _scores_cut(source: Script) -> ast.expr | None:
    """`return F.log_softmax(F.relu(self.out(x)), dim=1)` of the network that is trained."""
    mine = flow(source)
    for function in source.forwards:
        if mine.class_around(function) not in source.models:
            continue
        for back in of(function, ast.Return):
            end = back.value
            if isinstance(end, ast.Call) and last_name(end.func) in ("softmax", "log_softmax") and end.args:
                inner = end.args[0]
                given = mine.whole_given(inner) if isinstance(inner, ast.Name) else None
                inner = given or inner
                if isinstance(inner, ast.Call) and last_name(inner.func) in _HARD:
                    return inner
    return None


def _rectified_stack(source: Script) -> ast.Call | None:
    """The last layer of the one stack that is the model: `Sequential([..., Dense(4, activation="relu")])`."""
    stacks = source.named("Sequential")
    if (
        len(stacks) != 1
        or source.modules
        or source.class_around(stacks[0]) is not None
        or source.named("add")
    ):
        return None
    given = stacks[0].args
    if len(given) == 1 and isinstance(given[0], (ast.List, ast.Tuple)):
        given = given[0].elts
    layers = [g for g in given if isinstance(g, ast.Call)]
    if len(layers) < 2 or len(layers) != len(given):
        return None
    before, last = layers[-2:]
    cut = keyword(last, "activation")
    if last_name(last.func) == "Dense" and cut is not None:
        return last if unparse(cut).strip("'") in ("relu", "relu6", "tf.nn.relu", "nn.relu") else None
    ends = last_name(last.func) in ("ReLU", "ReLU6") and last_name(before.func) in ("Linear", "Dense")
    return last if ends else None


def _needs_sign(source: Script) -> bool:
    """The loss is on logits, or the targets have their mean taken off."""
    kinds = {k for _, k in losses(source)} | {last_name(c.func).lower() for c in source.calls}
    if any(_ON_SCORES.search(k) for k in kinds) or "from_logits=True" in source.code:
        return True
    if source.named("logsigmoid", "LogSigmoid") or _targets_centred(source) or answers_turned_back(source):
        return True
    for node in source.of(ast.BinOp):
        if isinstance(node.op, ast.Sub):
            right = unparse(node.right).lower()
            if re.search(r"(?:^|[._])(?:y|target|label)s?_?mean", right):
                return True
    return False


_TARGET = re.compile(r"^(?:y|targets?|labels?)(?:_?(?:tr|t|v|val|valid|train|test|all))?$")


def _targets_centred(source: Script) -> bool:
    """`my = yt.mean(0)`, then `yt = (yt - my) / sy`: the mean of the targets is taken off."""
    mine = flow(source)
    for node in source.of(ast.BinOp):
        left, right = node.left, node.right
        if not isinstance(node.op, ast.Sub) or not isinstance(left, ast.Name) or not _TARGET.match(left.id):
            continue
        ways = [right, *(mine.values(right, 2) if isinstance(right, ast.Name) else [])]
        for way in ways:
            if (
                isinstance(way, ast.Call)
                and last_name(way.func) == "mean"
                and _TARGET.match(source.owner(way))
            ):
                scored = any(isinstance(p, (ast.Return, ast.Assign)) for p in source.above(node))
                ratio = any(
                    isinstance(p, ast.BinOp) and isinstance(p.op, ast.Pow) for p in source.above(node)
                )
                if scored and not ratio:
                    return True
    return False


def outputs_of(source: Script) -> Iterator[tuple[str, ast.expr]]:
    """What the models of the script end in: the name of the last operation, and where it stands."""
    mine = flow(source)
    of_loss = {p for call, _ in losses(source) for p in source.above(call)}
    models = [m for m in source.models if m not in of_loss] or list(
        source.models
    )  # a LightningModule is both
    for model in models if len(models) == 1 else ():  # of several it is not known which one the loss gets
        for function in (f for f in source.forwards if f in model.body and f not in of_loss):
            for output in source.output_of(function):
                if not_in_training(source, output) or not _ends_in_layer(mine, output):
                    continue
                yield _last_operation(mine, output)
    for call in source.named("Model"):  # Keras: Model(inputs, outputs)
        given = argument(call, "outputs", position=1)
        for value in mine.values(given) if given is not None else ():
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Call):
                yield _last_operation(mine, value)


def _ends_in_layer(mine: Flow, output: ast.expr) -> bool:
    """The output is made by a linear layer of the model, so that it holds scores."""
    return any(last_name(c.func) in _LAYERS or _maps_each_place(c) for c in _made_by(mine, output))


def _maps_each_place(made: ast.Call) -> bool:
    """`nn.Conv2d(width, classes, 1)`: a linear layer for each pixel, as segmentation ends in."""
    size = argument(made, "kernel_size", position=2)
    convolves = re.fullmatch(r"Conv[123][dD]", last_name(made.func)) is not None
    return convolves and size is not None and unparse(size) in ("1", "(1, 1)", "(1,)")


def _made_by(mine: Flow, node: ast.expr, depth: int = 6) -> Iterator[ast.Call]:
    """The layers that an expression ends in: `F.relu(self.fc(h))` -> the call that made `self.fc`."""
    if depth == 0:
        return
    if isinstance(node, ast.Name) and (found := mine.given(node)) is not None:
        yield from _made_by(mine, found.value, depth - 1)
    if not isinstance(node, ast.Call):
        return
    if isinstance(node.func, ast.Call):  # layers.Dense(...)(x)
        yield node.func
    elif isinstance(node.func, ast.Attribute) and unparse(node.func.value) == "self":
        made = mine.given(node.func)
        if made is not None and isinstance(made.value, ast.Call):
            if last_name(made.value.func) in ("Sequential", "SequentialCell"):
                yield from of(made.value, ast.Call)
            yield made.value
    inner = node.args[0] if node.args else getattr(node.func, "value", None)
    if (
        last_name(node.func) in (*_RECTIFIERS, "squeeze", "view", "flatten", "float", "reshape")
        and inner is not None
    ):
        yield from _made_by(
            mine, getattr(node.func, "value", inner) if _is_method(node) else inner, depth - 1
        )


def _is_method(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and not (
        isinstance(node.func.value, ast.Name)
        and node.func.value.id in ("F", "torch", "ops", "tf", "nn", "mint", "jnp", "jax")
    )


def _last_operation(mine: Flow, output: ast.expr) -> tuple[str, ast.expr]:
    name = outermost_call(output)
    if isinstance(output, ast.Call) and isinstance(output.func, ast.Call):
        given = keyword(output.func, "activation")
        word = (
            given.value if isinstance(given, ast.Constant) else last_name(given) if given is not None else ""
        )
        return (str(word) or last_name(output.func.func)), output.func
    call = output
    while isinstance(call, ast.Call) and last_name(call.func) in (
        "squeeze",
        "view",
        "flatten",
        "float",
        "reshape",
    ):
        if not isinstance(call.func, ast.Attribute):
            break
        call = call.func.value
    if (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and unparse(call.func.value) == "self"
    ):
        made = mine.given(call.func)
        if made is not None and isinstance(made.value, ast.Call):
            last = _last_of(made.value)
            return last_name(last.func), last
    return name, output


def _last_of(made: ast.Call) -> ast.Call:
    """The last layer of a Sequential, or the layer itself."""
    if last_name(made.func) in ("Sequential", "SequentialCell") and made.args:
        last = made.args[-1]
        if isinstance(last, (ast.List, ast.Tuple)) and last.elts:
            last = last.elts[-1]
        if isinstance(last, ast.Call):
            return _last_of(last)
    return made


# ------------------------------------------------------------------------------------------- attention


@probe()
def softmax_axis(view: View) -> Finding:
    """A softmax runs over the batch, or over the queries of attention scores.

    Over axis 0 in a forward pass of a model that gets batches, or over the last but one axis of what is then
    multiplied with the values. Slot attention and routing do so on purpose, and are left aside by name.
    """
    checks = either(_axis, weights_over_queries, _axis_in_loss)
    return first(view, checks, "the scripts hold no softmax over a written-out axis in a model")


def _axis(source: Script) -> Finding | None:
    seen = None
    for function in source.passes:
        owner = source.parents.get(function)
        if owner not in source.modules or not isinstance(owner, ast.ClassDef):
            continue
        layers = dict(held(owner))
        for node in of(function, ast.Call):
            made = layers.get(unparse(node.func).removeprefix("self."))
            if made is not None and last_name(made.func) in ("Softmax", "LogSoftmax"):
                axis = whole_number(argument(made, "dim", "axis", position=0))
            elif last_name(node.func) in ("softmax", "log_softmax"):
                axis = _axis_of(node)
            else:
                continue
            if axis is None:
                continue
            seen = seen or node
            rows = _takes_batches(source) or _joins_features(function)
            if axis == 0 and rows and not _is_own(node) and not _flattens(function):
                return at(source, node, "this softmax runs over the batch: samples compete with one another")
            scores = axis == -2 and _weighs_values(function, node)
            if axis == -2 and scores and not _competes(source, function):
                return at(
                    source, node, "the attention weights sum to one over the queries, not over the keys"
                )
            if axis in (1, 2) and isinstance(source.parents.get(node), ast.BinOp) and _gates(source, node):
                return at(source, node, "a gate competes over another axis than its own unit")
    return ok(source, seen, "softmax runs over the usual axis") if seen is not None else None


def _axis_in_loss(source: Script) -> Finding | None:
    """`nll_loss(net(x[rows]).log_softmax(0), y[rows])`: of rows and classes, over the rows."""
    for call, kind in losses(source):
        if kind not in ("nll_loss", "nllloss") or len(call.args) < 2 or not _takes_batches(source):
            continue
        for node in flow(source).values(call.args[0], 3):
            if not isinstance(node, ast.Call) or last_name(node.func) != "log_softmax" or _axis_of(node) != 0:
                continue
            given = (
                node.func.value if _is_method(node) and isinstance(node.func, ast.Attribute) else node.args[0]
            )
            ends = [v for v in flow(source).values(given, 3) if isinstance(v, ast.Call)]
            single = any(isinstance(v, ast.Call) and _one_sample(v) for v in [*ends, call])
            if ends and not single:
                return at(source, node, "this softmax runs over the batch: samples compete with one another")
    return None


def _one_sample(call: ast.Call) -> bool:
    """`net(x[i])`, `net(x).view(-1)`, `loss(out, y[i])`: no axis of samples is left."""
    if last_name(call.func) in ("view", "reshape", "flatten", "ravel", "squeeze"):
        return True
    plain = [s.slice for a in call.args for s in of(a, ast.Subscript)]
    return any(isinstance(s, ast.Constant) or (isinstance(s, ast.Name) and s.id in _LONE) for s in plain)


_LONE = frozenset({"i", "n", "t"})  # the number of one sample


def _flattens(function: Function) -> bool:
    """`x = x.view(-1)` of what is handed in: one sample, without an axis of samples."""
    handed = {a.arg for a in function.args.args}
    for call in of(function, ast.Call):
        owner = receiver(call)
        if isinstance(owner, ast.Name) and owner.id in handed:
            name, sizes = last_name(call.func), [unparse(a) for a in call.args]
            if (name in ("view", "reshape") and sizes == ["-1"]) or (
                name in ("ravel", "flatten") and not sizes
            ):
                return True
    return False


def _is_own(call: ast.Call) -> bool:
    """Of a parameter of the module, or of the rows of one sample: `softmax(self.mix, dim=0)`."""
    given = call.args[0] if call.args and not _is_method(call) else None
    if given is None and isinstance(call.func, ast.Attribute):
        given = call.func.value
    if isinstance(given, ast.Subscript) and isinstance(given.slice, ast.Slice):
        return True  # the rows of one sample
    while isinstance(given, (ast.BinOp, ast.Subscript)):
        given = given.left if isinstance(given, ast.BinOp) else given.value
    return isinstance(given, ast.Attribute) and unparse(given.value) == "self"


def _competes(source: Script, function: Function) -> bool:
    """Designs in which the queries compete for the inputs."""
    around = unparse(source.parents[function]).lower()
    return re.search(r"slot|rout|linear_?att|cluster|efficient", around) is not None


def _axis_of(call: ast.Call) -> int | None:
    return whole_number(argument(call, "dim", "axis", position=0 if _is_method(call) else 1))


def _joins_features(function: Function) -> bool:
    """`torch.cat((x, hidden), 1)`: samples come first, and what they are made of next."""
    return any(
        whole_number(argument(c, "dim", "axis", position=1)) == 1
        for c in of(function, ast.Call)
        if last_name(c.func) in ("cat", "concat", "concatenate")
    )


def _takes_batches(source: Script) -> bool:
    if source.named("DataLoader", "batch", "from_tensor_slices") or "batch" in source.code.lower():
        return True
    # `net(x).argmax(1)`: before the classes there is an axis of samples
    return any(isinstance(c.func, ast.Attribute) and _axis_of(c) == 1 for c in source.named("argmax"))


def _weighs_values(function: Function, node: ast.Call) -> bool:
    """The weights are multiplied with values: `a @ v`, `matmul(a, v)`, and scores come from a product."""
    names = {unparse(node)}
    for given in of(function, ast.Assign):
        if any(n is node for n in walk(given.value)):
            names |= {unparse(t) for t in given.targets}
    for other in walk(function):
        if isinstance(other, ast.BinOp) and isinstance(other.op, ast.MatMult):
            if unparse(_kept(other.left)) in names or any(n is node for n in walk(other.left)):
                return True
        if isinstance(other, ast.Call) and last_name(other.func) in ("matmul", "bmm", "einsum"):
            if any(unparse(_kept(a)) in names for a in other.args):
                return True
    return False


def _kept(weights: ast.expr) -> ast.expr:
    """What a dropout is applied to: `self.drop(att)` -> `att`."""
    while isinstance(weights, ast.Call) and "drop" in last_name(weights.func).lower() and weights.args:
        weights = weights.args[0]
    return weights


def _gates(source: Script, node: ast.Call) -> bool:
    """`tanh(a) * softmax(b)`: an element-wise gate, where a sigmoid is usual."""
    parent = source.parents.get(node)
    if not (isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mult)):
        return False
    other = parent.left if parent.right is node else parent.right
    mine = [n for n in of(node, ast.Attribute) if "gate" in n.attr.lower()]
    return (
        bool(mine)
        and isinstance(other, ast.Call)
        and last_name(other.func) in ("tanh", "silu", "gelu", "relu")
    )


@probe()
def attention_unscaled(view: View) -> Finding:
    """Attention scores, a product of queries and keys, enter the softmax without a scale.

    Looked for in what the scores are made of and done to: a root, a power, a factor, a norm or a temperature.
    """
    checks = either(_unscaled, scores_scaled_up, dots_scaled_up, scaled_by_heads)
    return first(view, checks, "the scripts write out no attention scores")


_PRODUCTS = ("matmul", "bmm", "einsum", "batch_matmul", "BatchMatMul")
_SCALES = re.compile(
    r"sqrt|\*\* ?\(?-?(?:0?\.5|1 ?/ ?2)|scale|temper|\btau\b|norm|(?<!/)/ |rsqrt|cos|bias_|alibi|additive"
)


def _unscaled(source: Script) -> Finding | None:
    seen = None
    for function in source.passes:
        for node in of(function, ast.Call):
            if last_name(node.func) != "softmax":
                continue
            product = _product_before(flow(source), node)
            if product is None:
                continue
            seen = seen or node
            owner = source.parents.get(function)
            whole = unparse(function) + (_init_of(owner) if isinstance(owner, ast.ClassDef) else "")
            if not _SCALES.search(whole) and _is_learned_pair(product) and not _reads_keys(function, product):
                return at(
                    source,
                    product,
                    "the scores of queries and keys are not divided by the root of their width",
                )
    return ok(source, seen, "attention scores are scaled") if seen is not None else None


def scores_written_out(source: Script) -> Iterator[ast.Call]:
    """Softmaxes of the product of queries and keys that a model takes by hand."""
    for function in source.passes:
        for node in of(function, ast.Call):
            if last_name(node.func) == "softmax" and _weighs_values(function, node):
                if re.search(r"transpose|swapaxes|permute|\.mT\b|\.T\b|einsum", unparse(function)):
                    yield node


def _init_of(owner: ast.ClassDef) -> str:
    made = [f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"]
    return "".join(re.sub(r"\w*norm\w*", "", unparse(f), flags=re.IGNORECASE) for f in made)


def _product_before(mine: Flow, node: ast.Call) -> ast.expr | None:
    """The product of two tensors that a softmax is taken of, names followed inside the function."""
    given: ast.expr | None = (
        node.func.value if _is_method(node) and isinstance(node.func, ast.Attribute) else None
    )
    given = given or argument(node, position=0)
    for _ in range(6):
        if isinstance(given, ast.BinOp) and isinstance(given.op, ast.MatMult):
            return given
        if isinstance(given, ast.Call) and last_name(given.func) in _PRODUCTS:
            return given
        if isinstance(given, ast.BinOp):
            return None  # something is done to the scores: a scale, a bias
        if isinstance(given, ast.Call) and last_name(given.func) == "where" and len(given.args) == 3:
            given = given.args[1]  # `where(causal, scores, -inf)`
            continue
        if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and _is_method(given):
            given = given.func.value  # masked_fill, float, ...
        elif isinstance(given, (ast.Name, ast.Attribute)) and (found := mine.given(given)) is not None:
            given = found.value if not found.places else None
        else:
            return None
    return None


_TURNS = ("transpose", "permute", "swapaxes", "t", "contiguous")


def _turned_back(side: ast.expr) -> str:
    """One side of a product as text, with its axes as they were before."""
    while True:
        if isinstance(side, ast.Call) and last_name(side.func) in (
            "transpose",
            "permute",
            "swapaxes",
            "t",
            "contiguous",
        ):
            side = (
                side.func.value if isinstance(side.func, ast.Attribute) and _is_method(side) else side.args[0]
            )
        elif isinstance(side, ast.Attribute) and side.attr in ("T", "mT"):
            side = side.value
        else:
            return unparse(side)


def _is_learned_pair(product: ast.expr) -> bool:
    """One side is turned round: `q @ k.transpose(-2, -1)`, `q @ k.mT`, an einsum."""
    text = unparse(product)
    sides = [product.left, product.right] if isinstance(product, ast.BinOp) else []
    if isinstance(product, ast.Call):
        sides = [a for a in product.args if not isinstance(a, ast.Constant)]
    if len({_turned_back(s) for s in sides}) < 2:
        return False  # the likeness of a tensor with itself: nothing is learned
    return bool(
        re.search(r"transpose|permute|swapaxes|\.mT|\.T\b|einsum|transpose_b", text)
    ) and not re.search(r"sim|proto|centroid|class", text.lower())


def _reads_keys(function: Function, product: ast.expr) -> bool:
    """The weights are taken of what the keys are, or are a layer's answer to: `weight @ memory`.

    Luong's attention over the states of a recurrent encoder has no scale (`q @ memory.mT`, or his general
    form `q @ self.keys(memory).mT`); a transformer has other values.
    """
    keys = {_turned_back(s) for s in _factors(product)}
    keys |= {_asked_of(function, key) for key in keys}
    return any(unparse(s) in keys for n in walk(function) if n is not product for s in _factors(n))


def _asked_of(function: Function, key: str) -> str:
    """What a layer is asked of, by name or in place: `self.keys(memory)` -> `memory`."""
    given = [n.value for n in of(function, ast.Assign) if [unparse(t) for t in n.targets] == [key]]
    made = given[0] if len(given) == 1 else ast.parse(key, mode="eval").body
    if isinstance(made, ast.Call) and unparse(made.func).startswith("self.") and len(made.args) == 1:
        return unparse(made.args[0])
    return key


def _factors(node: ast.AST) -> list[ast.expr]:
    """The two sides of a matrix product."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return [node.left, node.right]
    if isinstance(node, ast.Call) and last_name(node.func) in _PRODUCTS:
        owner = [node.func.value] if _is_method(node) and isinstance(node.func, ast.Attribute) else []
        return [*owner, *(a for a in node.args if not isinstance(a, ast.Constant))]
    return []


# ----------------------------------------------------------------------------------------------- reshapes


@probe()
def reshape_for_transpose(view: View) -> Finding:
    """A reshape puts the heads before the steps where only a transpose can.

    `b, t, c = x.shape` and then `view(b, heads, t, width)` mixes steps and channels; right is
    `view(b, t, heads, width).transpose(1, 2)`.
    """
    torn = (heads_misplaced, heads_joined_without_turning, channels_torn)
    checks = either(_reshaped, *torn, answers_show("unturned"))
    return first(view, checks, "the scripts reshape nothing by the sizes of its axes")


def _reshaped(source: Script) -> Finding | None:
    seen = None
    for function in source.passes:
        sizes = _unpacked_sizes(function)
        if not sizes:
            continue
        order = max(sizes, key=len)
        for node in of(function, ast.Call):
            if not (last_name(node.func) in ("view", "reshape") and node.args):
                continue
            first_arg = node.args[0]
            given = list(first_arg.elts) if isinstance(first_arg, (ast.Tuple, ast.List)) else node.args
            texts = [unparse(g) for g in given]
            if len(order) != 3 or len(texts) != 4 or texts[0] != order[0] or order[1] not in texts:
                continue
            owner = receiver(node)
            if not isinstance(owner, ast.Call) or not unparse(owner.func).startswith("self."):
                continue
            seen = seen or node
            if texts[2] == order[1] and order[2] in texts[3]:
                return at(source, node, "the reshape takes heads before steps, which mixes the two")
    return ok(source, seen, "heads are split off the channels") if seen is not None else None


def _unpacked_sizes(function: Function) -> list[list[str]]:
    """`b, t, c = x.shape` -> ["b", "t", "c"]."""
    found = []
    for node in of(function, ast.Assign):
        if isinstance(node.targets[0], ast.Tuple):
            text = unparse(node.value)
            if text.endswith((".shape", ".size()")) and not isinstance(node.value, ast.Subscript):
                found.append([unparse(t) for t in node.targets[0].elts])
    return found

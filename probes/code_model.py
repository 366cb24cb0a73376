"""The model in scripts: frozen, forgotten, cut off, started at zero."""

from __future__ import annotations

import ast
import re

from .code import at, first, is_evaluation, ok
from .readers.script import Extractor, keyword, last_name
from .registry import Finding, View, any_of, probe
from .syntax import Script, outermost_call


@probe()
def freezes_parameters(view: View) -> Finding:
    """`requires_grad = False` on parameters. Normal in fine-tuning, GANs and teachers."""
    return first(view, _freezes, "the scripts show no training step")


def _freezes(source: Script) -> Finding | None:
    if not source.backwards and not source.trains_by_trainer:
        return None
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign) and _switches_off(node.value):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and target.attr == "requires_grad":
                    return at(source, node, "gradients are switched off for parameters")
    for call in source.named("requires_grad_"):
        if call.args and _switches_off(call.args[0]):
            return at(source, call, "gradients are switched off for parameters")
    first_backward = source.backwards[0] if source.backwards else None
    return ok(source, first_backward, "no parameter's gradient is switched off")


def _switches_off(value: ast.expr) -> bool:
    """False, or a condition on the parameter's name: some are switched off."""
    if isinstance(value, ast.Compare):
        return any(isinstance(op, (ast.In, ast.NotIn)) for op in value.ops)
    if isinstance(value, ast.Call):
        return last_name(value.func) in ("startswith", "endswith", "any")
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not):
        return _switches_off(value.operand)
    return isinstance(value, ast.Constant) and value.value is False


@probe()
def part_not_trained(view: View) -> Finding:
    """Parameters are frozen, left out of the optimizer, or replaced after it was built."""
    return any_of((layer_replaced_after_optimizer(view), optimizer_gets_part(view), freezes_parameters(view)))


@probe()
def optimizer_gets_part(view: View) -> Finding:
    """The optimizer receives the parameters of a part: `model.head.parameters()`, a slice of the list."""
    return first(view, _optimizer_part, "the scripts build no optimizer")


def _optimizer_part(source: Script) -> Finding | None:
    built = [c for c in source.optimizer_calls if c.args]
    if len(built) != 1:
        return None
    (call,) = built
    given = call.args[0]
    text = ast.unparse(given)
    if isinstance(given, ast.Call) and last_name(given.func) in ("parameters", "trainable_params"):
        owner = ast.unparse(given.func.value) if isinstance(given.func, ast.Attribute) else ""
        layer = _layer_of(source, call, owner)
        owner = owner.removeprefix("self.").removesuffix(".module")
        if "." in owner or layer or re.search(r"\[-?\d*:?-?\d*\]$", owner):
            return at(source, call, f"the optimizer receives only the parameters of {owner}")
        return ok(source, call, "the optimizer receives all parameters")
    if isinstance(given, (ast.ListComp, ast.GeneratorExp)) and "named_parameters()" in text:
        tests = [t for g in given.generators for t in g.ifs]
        if any("requires_grad" not in ast.unparse(t) for t in tests):
            return at(source, call, "the optimizer receives only the parameters whose names pass a condition")
    if isinstance(given, ast.Subscript) and "parameters()" in text:
        return at(source, call, "the optimizer receives a slice of the parameters")
    return None


_PLAIN = ("Linear", "Conv1d", "Conv2d", "Conv3d", "Embedding", "LSTM", "GRU", "RNN", "Sequential", "Dense")


def _layer_of(source: Script, call: ast.Call, owner: str) -> bool:
    """Say whether `self.head` is one of several layers of the model that builds its own optimizer."""
    around = next((p for p in source.above(call) if isinstance(p, ast.ClassDef)), None)
    if around is None or not owner.startswith("self.") or not any(f in around.body for f in source.forwards):
        return False
    layers = {
        ast.unparse(node.targets[0])
        for node in ast.walk(around)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and last_name(node.value.func) in _PLAIN
    }
    return owner in layers and len(layers) > 1


@probe()
def optimizer_gets_other_model(view: View) -> Finding:
    """The optimizer is built over the parameters of a model made on the spot, which nothing else uses."""
    return first(view, _other_model, "the scripts build no optimizer")


def _other_model(source: Script) -> Finding | None:
    built = [c for c in source.optimizer_calls if c.args]
    for call in built:
        given = call.args[0]
        if isinstance(given, ast.Call) and last_name(given.func) == "parameters":
            owner = given.func.value if isinstance(given.func, ast.Attribute) else None
            if isinstance(owner, ast.Call) and last_name(owner.func) in source.classes:
                return at(source, call, "the optimizer holds the parameters of another instance of the model")
    return ok(source, built[0], "the optimizer holds the parameters of a named model") if built else None


@probe()
def integer_division(view: View) -> Finding:
    """Floor division of tensors in a forward method, or of inputs that are processed.

    False positive: index arithmetic; only inputs by their usual names (x, images, ...) are looked at.
    """
    return first(view, _integer_division, "the scripts divide no inputs")


def _integer_division(source: Script) -> Finding | None:
    inputs = (
        "x",
        "inputs",
        "images",
        "image",
        "features",
        "train_x",
        "val_x",
        "test_x",
        "x_train",
        "x_val",
        "x_test",
    )
    seen = None
    for node in ast.walk(source.tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.FloorDiv)):
            touched = {n.id.lower() for n in ast.walk(node.left) if isinstance(n, ast.Name)}
            sized = any(w in ast.unparse(node.left) for w in ("shape", "size(", "len("))
            if touched & set(inputs) and not sized:
                seen = seen or node
                if isinstance(node.op, ast.FloorDiv):
                    return at(source, node, "integer division where inputs should keep their fractions")
    return ok(source, seen, "inputs are divided as real numbers") if seen is not None else None


@probe()
def layer_replaced_after_optimizer(view: View) -> Finding:
    """`model.fc = Linear(...)` after the optimizer was built over `model.parameters()`."""
    return first(view, _replaced_after, "the scripts build no optimizer")


def _replaced_after(source: Script) -> Finding | None:
    built = [c for c in source.optimizer_calls if c.args]
    if not built:
        return None
    for node in ast.walk(source.tree):
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute)):
            continue
        owner = ast.unparse(node.targets[0].value)
        for call in built:
            taken = ast.unparse(call.args[0]).startswith(f"{owner}.parameters")
            same = source.function_around(node) is source.function_around(call)
            layer = isinstance(node.value, ast.Call) and last_name(node.value.func)[:1].isupper()
            if taken and same and layer and node.lineno > call.lineno and owner != "self":
                return at(
                    source, node, f"this layer replaces one that the optimizer of line {call.lineno} holds"
                )
    return ok(source, built[0], "no layer is replaced after the optimizer was built")


@probe()
def gradient_path_cut(view: View) -> Finding:
    """detach, no_grad, .data, numpy or item inside a forward method or on the loss's input.

    False positive: straight-through estimators, targets, momentum encoders (names with target/ema/teacher).
    """
    return first(view, _path_cut, "the scripts hold no model or loss")


def _path_cut(source: Script) -> Finding | None:
    if not source.forwards and not source.losses:
        return None
    for function in source.forwards:
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and last_name(node.func) in ("detach", "stop_gradient"):
                if not _straight_through(node) and not _on_purpose(source.line(node)):
                    return at(source, node, "the gradient path is cut inside the model")
            if isinstance(node, ast.With) and "no_grad" in ast.unparse(node.items[0].context_expr):
                return at(source, node, "part of the forward pass runs without gradients")
    for call, _ in source.losses:
        value = source.loss_input(call)
        if value is not None and not is_evaluation(source, call) and _is_cut(value):
            return at(source, value, "the loss is computed on a value cut off from the model")
    node = source.forwards[0] if source.forwards else source.losses[0][0]
    return ok(source, node, "nothing cuts the gradient path")


@probe()
def output_without_gradient(view: View) -> Finding:
    """The model's output, or what the loss gets, is rounded, cut to a sign or replaced by an index.

    These have a gradient of zero, or none. False positive: straight-through estimators (skipped where the
    value is added to something), outputs of functions that only predict.
    """
    return first(view, _no_slope, "the scripts hold no model or loss")


_STEPS = ("round", "floor", "ceil", "sign", "trunc", "argmax", "long", "int", "heaviside", "bool")


def _no_slope(source: Script) -> Finding | None:
    if not source.models and not source.losses:
        return None
    outputs = [o for m in source.models for f in source.forwards if f in m.body for o in source.output_of(f)]
    for value in outputs:
        if outermost_call(value) in _STEPS:
            return at(source, value, "the model's output has no slope, so no gradient reaches its weights")
    for call, _ in source.losses:
        given = source.loss_input(call)
        if given is not None and not is_evaluation(source, call) and outermost_call(given) in _STEPS:
            return at(source, given, "what the loss gets has no slope, so no gradient reaches the model")
    node = source.losses[0][0] if source.losses else source.models[0]
    return ok(source, node, "the output passes its gradient on")


def _is_cut(value: ast.expr) -> bool:
    outer = outermost_call(value)
    return outer in ("detach", "numpy", "item") or (isinstance(value, ast.Attribute) and value.attr == "data")


def _straight_through(call: ast.Call) -> bool:
    """`x + (q - x).detach()` passes the gradient straight through."""
    cut = call.func.value if isinstance(call.func, ast.Attribute) else None
    return isinstance(cut, ast.BinOp) and isinstance(cut.op, ast.Sub)


def _on_purpose(line: str) -> bool:
    """Targets, teachers and masks are meant to be constants."""
    return any(w in line.lower() for w in ("target", "teacher", "ema", "mask", "weight"))


@probe()
def zero_init(view: View) -> Finding:
    """Weights set to zero or one constant. Normal for biases, norm layers, LoRA's B and last layers."""
    return first(view, _zero_init, "the scripts do not initialise weights themselves")


def _zero_init(source: Script) -> Finding | None:
    seen = None
    for call in source.named("zeros_", "constant_", "zero_", "fill_", "ones_"):
        target = ast.unparse(call.args[0]) if call.args else source.owner(call)
        if last_name(call.func) in ("zero_", "fill_"):
            target = source.owner(call)
        seen = call
        if "weight" not in target and target not in ("p", "p.data", "param", "param.data", "parameter"):
            continue
        around = " ".join(source.line(p) for p in source.above(call) if isinstance(p, (ast.If, ast.For)))
        line = source.line(call).lower() + around.lower()
        if "grad" in target or any(
            w in line for w in ("norm", "bias", "lora", "bn", "residual", "proj", "pad", "dim() == 1")
        ):
            continue
        return at(source, call, "weights start at zero or one constant, so units stay alike")
    for call in source.named(
        "normal_", "xavier_uniform_", "kaiming_normal_", "kaiming_uniform_", "xavier_normal_", "trunc_normal_"
    ):
        seen = seen or call
    return ok(source, seen, "weights are initialised at random") if seen is not None else None


@probe()
def weights_shared(view: View) -> Finding:
    """`a.weight = b.weight`. Normal for embedding and output layer of a language model."""
    return first(view, _shared, "the scripts hold no model")


def _shared(source: Script) -> Finding | None:
    if not source.forwards:
        return None
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
            target, value = node.targets[0], node.value
            if target.attr == "weight" and isinstance(value, ast.Attribute) and value.attr == "weight":
                return at(source, node, "two layers share one weight")
    return ok(source, source.forwards[0], "no weight is shared by assignment")


@probe()
def batch_norm_momentum(view: View) -> Finding:
    """Momentum above one half or zero (PyTorch: weight of the new batch), or no running statistics."""
    return first(view, _bn_momentum, "the scripts hold no batch norm")


def _bn_momentum(source: Script) -> Finding | None:
    calls = [c for c in source.calls if last_name(c.func).startswith("BatchNorm")]
    if not calls or "torch" not in source.text:
        return None
    for call in calls:
        momentum = keyword(call, "momentum")
        if isinstance(momentum, ast.Constant) and isinstance(momentum.value, (int, float)):
            if momentum.value > 0.5 or momentum.value == 0:
                return at(source, call, "PyTorch's momentum is the weight of the new batch")
    return ok(source, calls[0], "batch-norm momentum is in its usual range")


@probe()
def deep_saturating(view: View, *, layers: int) -> Finding:
    """Many sigmoid or tanh activations one after another, in a model without normalisation or skips."""
    return first(
        view, lambda s: _deep(s, layers, ("Sigmoid", "Tanh", "sigmoid", "tanh")), "the scripts hold no model"
    )


@probe()
def deep_without_normalisation(view: View, *, layers: int) -> Finding:
    """Many linear or convolution layers one after another without normalisation or skips."""
    kinds = ("Linear", "Conv1d", "Conv2d", "Conv3d", "Dense")
    return first(view, lambda s: _deep(s, layers, kinds), "the scripts hold no model")


def _deep(source: Script, layers: int, kinds: tuple[str, ...]) -> Finding | None:
    calls = source.named(*kinds)
    if not source.named("Linear", "Conv1d", "Conv2d", "Conv3d", "Dense"):
        return None
    norms = ("BatchNorm", "LayerNorm", "GroupNorm", "RMSNorm", "InstanceNorm", "Transformer")
    eased = any(last_name(c.func).startswith(norms) for c in source.calls)
    skips = any(
        isinstance(n, ast.BinOp) and isinstance(n.op, ast.Add) and _adds_input(n)
        for n in ast.walk(source.tree)
    )
    counted = sum(_repeats(source, c) for c in calls)
    if counted >= layers and not eased and not skips:
        many = max(calls, key=lambda c: _repeats(source, c))
        return at(source, many, f"{counted} of these follow one another without normalisation or skips")
    first_layer = source.named("Linear", "Conv1d", "Conv2d", "Conv3d", "Dense")[0]
    return ok(source, first_layer, f"{counted} such layers, with normalisation or skips or few enough")


def _adds_input(node: ast.BinOp) -> bool:
    """`x + f(x)` or `h + self.block(h)`."""
    sides = (node.left, node.right)
    names = [s.id for s in sides if isinstance(s, ast.Name)]
    calls = [s for s in sides if isinstance(s, ast.Call)]
    return any(n in {m.id for m in ast.walk(c) if isinstance(m, ast.Name)} for n in names for c in calls)


def _repeats(source: Script, call: ast.Call) -> int:
    """How often a layer is made: once, or as often as the loop or comprehension around it runs."""
    for parent in source.above(call):
        generators = getattr(parent, "generators", None) or ([parent] if isinstance(parent, ast.For) else [])
        for generator in generators:
            over = generator.iter
            if isinstance(over, ast.Call) and last_name(over.func) == "range" and len(over.args) == 1:
                known, count, _ = Extractor(source.tree, source.path).value(over.args[0])
                return int(count) if known and isinstance(count, (int, float)) else 1
        if isinstance(parent, (ast.FunctionDef, ast.ClassDef)):
            break
    return 1


@probe()
def bias_extreme(view: View, *, size: float) -> Finding:
    """Biases are set to a value so far from zero that units start dead or saturated."""
    return first(view, lambda s: _bias_extreme(s, size), "the scripts set no biases")


def _bias_extreme(source: Script, size: float) -> Finding | None:
    values = Extractor(source.tree, source.path)
    seen = None
    for call in source.named("constant_", "fill_"):
        target = (
            ast.unparse(call.args[0])
            if last_name(call.func) == "constant_" and call.args
            else source.owner(call)
        )
        given = call.args[-1] if call.args else None
        known, value, _ = values.value(given)
        if "bias" in target and known and isinstance(value, (int, float)):
            seen = call
            if abs(value) >= size:
                return at(source, call, f"biases start at {value:g}")
    return ok(source, seen, "biases start near zero") if seen is not None else None

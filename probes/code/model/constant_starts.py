"""Weights that start at zero or at one constant, so that the units of a layer stay alike.

Told only of what is known to be a layer's matrix: one of the framework's layers, all layers that a loop or a
function goes through, or a matrix of the model's own that is called so.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import argument, keyword, last_name, receiver
from ...registry import Finding, View, probe, unframed
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, first, ok
from ..shared.nodes import paired
from ..shared.sides import either
from ..tensorflow.slips import constant_kernels
from .compact import constant_kernel
from .numpy_starts import layers_all_equal
from .zero_products import both_factors_zero, matrices_all_zero
from .zero_starts import (
    ends_branch,
    ends_functional,
    is_of_output,
    may_be_nought,
    may_start_at_zero,
    units,
)


@probe()
@unframed
def zero_init(view: View) -> Finding:
    """Weights set to zero or one constant. Normal for biases, norm layers, LoRA's B and last layers."""
    return first(
        view,
        either(
            _zero_init,
            norms_all_zero,
            both_factors_zero,
            matrices_all_zero,
            constant_kernels,
            constant_kernel,
            layers_all_equal,
        ),
        "the scripts do not initialise weights themselves",
    )


_NORMS = re.compile(r"^(?:BatchNorm[123]d|SyncBatchNorm|LayerNorm|GroupNorm|InstanceNorm[123]d|RMSNorm)$")


def norms_all_zero(source: Script) -> Finding | None:
    """`if isinstance(m, nn.BatchNorm2d): nn.init.zeros_(m.weight)`: every norm of a network starts at nought.

    The last norm of a residual branch may (it is named then: `m.bn2.weight`); all of them stop everything.
    """
    for node, target in _constants_given(source):
        owner = target.value if isinstance(target, ast.Attribute) and target.attr == "weight" else None
        if not isinstance(owner, ast.Name) or not isinstance(node, ast.Call) or not may_be_nought(node):
            continue
        test = next((p for p in source.above(node) if isinstance(p, ast.If)), None)
        if test is None or not any(node in walk(s) for s in test.body):
            continue
        for call in of(test.test, ast.Call):
            if (
                last_name(call.func) != "isinstance"
                or len(call.args) != 2
                or unparse(call.args[0]) != owner.id
            ):
                continue
            kinds = call.args[1].elts if isinstance(call.args[1], ast.Tuple) else [call.args[1]]
            if all(_NORMS.match(last_name(k)) for k in kinds):
                return at(source, node, "every norm is multiplied by nought at the start")
    return None


_MEANT = (
    "norm",
    "bias",
    "lora",
    "bn",
    "residual",
    "proj",
    "pad",
    "dim() == 1",
    "ndim == 1",
    "dim() < 2",
    "ndim < 2",
    "dim() <= 1",
    "ndim <= 1",
    "shape) == 1",
    "shape) < 2",
    "gamma",
    "scale",
    "gate",
    "noise",
)
_DRAWS = (
    "normal_",
    "uniform_",
    "xavier_uniform_",
    "xavier_normal_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "trunc_normal_",
    "orthogonal_",
)


_LOW_RANK = re.compile(
    r"(?i:lora|adapter|modulat|adaln|zero_?(?:conv|module|init)|control_?net)|Norm(?![a-z])|(?:Last|Final)(?:Layer|Block)"
)


def _zero_init(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    outputs = False  # an output layer starts at nothing, which is often meant so
    for node, target in _constants_given(source):
        seen = seen or node
        whole = _is_parameter(source, target)
        text = unparse(target)
        if not (re.search(r"weight|kernel|(?:^|[._])[wW]\d*(?:$|\.)", text) or whole) or "grad" in text:
            continue
        if re.search(r"weight_g\b|class_weight|loss_weight|sample_weight", text):
            continue  # the length of weight norm, weights of a loss
        around = " ".join(
            source.line(p)
            for p in source.above(node)
            if isinstance(p, (ast.If, ast.For)) and not _over_ordinary_layers(p)
        )
        held = " ".join(p.name for p in source.above(node) if isinstance(p, (ast.ClassDef, ast.FunctionDef)))
        line = source.line(node).lower() + around.lower()
        if (
            any(w in line for w in _MEANT)
            or _LOW_RANK.search(held)
            or (_of_unknown_layer(source, target) and not whole)
            or _rest_of_weights(source, node)
            or any(isinstance(n, ast.Call) for n in walk(target))  # `weight.new(...).zero_()`: a fresh tensor
            or ends_branch(source, target)
            or _filled_later(source, node, target)
            or not (_starts_all(source, node) if whole else _of_known_layer(source, target))
            or _no_weight(source, target)
            or _made_for_it(source, node)
            or _MODULATES.search(text)
            or _OF_STATES.match(text)
            or _beside_drawn_table(source, target)
            or _begins_by_bias(source, node, target)
            or _of_patched_class(source, target)
        ):
            continue
        if may_start_at_zero(source, target, node):
            outputs = outputs or is_of_output(source, target)
            continue
        return at(source, node, "weights start at zero or one constant, so units stay alike")
    for call in source.calls:
        given = keyword(call, "weight_init") or keyword(call, "kernel_initializer")
        made = source.classes.get(last_name(call.func))
        if made is not None and made not in source.modules:
            continue  # settings of a model: which of its layers they are for is not seen
        if given is None or last_name(call.func).lower().startswith(("batchnorm", "layernorm")):
            continue
        seen = seen or call
        text = unparse(given).lower()
        if re.fullmatch(
            r"'(?:zeros?|ones?)'|.*\b(?:zeros?|ones|zeros_initializer|ones_initializer)\(.*\)", text
        ):
            held = " ".join(p.name for p in source.above(call) if isinstance(p, ast.ClassDef))
            last = _LAST.search(_given_to(source, call)) or ends_functional(source, call)
            last = last or _ends_stack(source, call)
            if last or _LOW_RANK.search(held) or units(call) == 1:
                outputs = True
                continue
            return at(source, call, "weights start at zero or one constant, so units stay alike")
    if outputs:
        return None
    seen = seen or next(iter(source.named(*_DRAWS)), None)
    return ok(source, seen, "weights are initialised at random") if seen is not None else None


def _beside_drawn_table(source: Script, target: ast.expr) -> bool:
    """One table of two starts at zero, as that of contexts in word2vec, and the other is drawn."""
    owner, layer = source.class_around(target), _layer_of(target)
    if owner is None or layer is None:
        return False
    tables: set[str] = set()
    for node in of(owner, ast.Assign):
        pairs = paired(node.targets[0], node.value)
        tables |= {
            unparse(n) for n, v in pairs if isinstance(v, ast.Call) and last_name(v.func) == "Embedding"
        }
    constant = {_layer_of(given) for _, given in _constants_given(source)} & tables
    return layer in tables and constant != tables


def _layer_of(target: ast.expr) -> str | None:
    """`self.out.weight.data` -> "self.out"."""
    base = target.value if isinstance(target, ast.Attribute) and target.attr == "data" else target
    return unparse(base.value) if isinstance(base, ast.Attribute) and base.attr == "weight" else None


def _over_ordinary_layers(loop: ast.If | ast.For) -> bool:
    """`for layer in (self.inp, self.mid, self.gate)`: what one name says does not hold for all of them."""
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, (ast.Tuple, ast.List)):
        return False
    names = [unparse(e).lower() for e in loop.iter.elts if isinstance(e, (ast.Name, ast.Attribute))]
    return sum(not any(w in n for w in _MEANT) and not _LAST.search(n) for n in names) > 1


# what starts at nothing for a reason: the spread of a code, a shift, a gate, the scores
_LAST = re.compile(
    r"(?i)log_?(?:var|std|sigma|scale)|logits?\b|(?:^|[._])(?:head|gate|delta|offset|shift|residual)"
)


def _ends_stack(source: Script, call: ast.Call) -> bool:
    """The last layer of a stack of layers that are drawn: what is put on top of it moves it by its units."""
    stack = source.parents.get(call)
    while isinstance(stack, ast.List):
        stack = source.parents.get(stack)
    if not (isinstance(stack, ast.Call) and last_name(stack.func) in ("Sequential", "SequentialCell")):
        return False
    given = stack.args[0].elts if stack.args and isinstance(stack.args[0], ast.List) else stack.args
    return len(given) > 1 and given[-1] is call


def _given_to(source: Script, call: ast.Call) -> str:
    """What a call's value is called: `self.a, self.b = f(), g()` -> "self.b" of g."""
    parent = source.parents.get(call)
    place = None
    if isinstance(parent, ast.Tuple):
        place, parent = parent.elts.index(call), source.parents.get(parent)
    if not isinstance(parent, ast.Assign):
        return ""
    target = parent.targets[0]
    if place is not None:
        target = target.elts[place] if isinstance(target, ast.Tuple) and place < len(target.elts) else target
    return unparse(target)


def _rest_of_weights(source: Script, node: ast.AST) -> bool:
    """What is left over where the weights were dealt with by name or by shape: biases."""
    inner = node
    for outer in source.above(node):
        if isinstance(outer, ast.If) and any(inner is part for part in outer.orelse):
            if re.search(r"weight|kernel|dim\(\)\s*>|ndim\s*>|shape\)\s*>", unparse(outer.test)):
                return True
        inner = outer
    return False


# `hidden["read_weights"].zero_()`: a state before the first step
_OF_STATES = re.compile(r"(?i)\w*(?:hidden|state|cache|carry|memory)s?\[['\"]")
_MODULATES = re.compile(r"(?i)modulat|adaln|gat(?:e|ing)\b|zero_?conv")


def _begins_by_bias(source: Script, node: ast.AST, target: ast.expr) -> bool:
    """`gate.bias.data.copy_(tensor([-2.0, 2.0]))`: what the layer says at first is written into its bias."""
    owner = unparse(target).removesuffix(".data").rpartition(".")[0]
    scope = source.function_around(node) or source.tree
    for change in of(scope, ast.Call, ast.Assign):
        if isinstance(change, ast.Call):
            copies = last_name(change.func) == "copy_" and isinstance(change.func, ast.Attribute)
            places, values = [change.func.value] if copies else [], change.args  # type: ignore[attr-defined]
        else:
            places, values = change.targets, [change.value]
        if owner and any(unparse(p).removesuffix(".data") == f"{owner}.bias" for p in places):
            lists = [n for v in values for n in of(v, ast.List, ast.Tuple)]
            if any(len({unparse(e) for e in one.elts}) > 1 for one in lists):
                return True
    return False


def _of_patched_class(source: Script, target: ast.expr) -> bool:
    """`self.weight` in a function that stands in no class: whose weight it is cannot be seen."""
    return unparse(target).startswith("self.") and source.class_around(target) is None


def _filled_later(source: Script, node: ast.AST, target: ast.expr) -> bool:
    """The same weights are drawn or copied further down in the function: `w.fill_(0)`, `w[c].copy_(kept)`."""
    function = source.function_around(node)
    if function is None:
        return False
    name = unparse(target).removesuffix(".data")
    for call in of(function, ast.Call):
        if call.lineno <= getattr(node, "lineno", 0) or _instead(source, node, call):
            continue
        held = [*call.args[:1], *([call.func.value] if isinstance(call.func, ast.Attribute) else [])]
        fills = last_name(call.func) in (*_DRAWS, "copy_")
        if (
            fills
            and any(unparse(h).startswith(name) for h in held)
            and not _of_another_loop(source, node, call, name)
        ):
            return True
    return False


def _of_another_loop(source: Script, one: ast.AST, other: ast.AST, name: str) -> bool:
    """`p` of a loop further down, `for p, q in zip(average.parameters(), ...)`, is another `p`."""
    apart = [loop for loop in source.loops_around(other) if loop not in source.loops_around(one)]
    return any(name.split(".")[0] in names_in(p.target) for p in apart if isinstance(p, ast.For))


def _instead(source: Script, one: ast.AST, other: ast.AST) -> bool:
    """The two stand on different sides of a condition: one or the other runs."""
    above = set(source.above(other)) | {other}
    inner = one
    for parent in source.above(one):
        if isinstance(parent, ast.If) and parent in above:
            mine, theirs = (any(n in above for n in side) for side in (parent.body, parent.orelse))
            return theirs if inner in parent.body else mine
        inner = parent
    return False


def _no_weight(source: Script, target: ast.expr) -> bool:
    """A buffer, or what a prior is held in: nothing that is trained."""
    base = target.value if isinstance(target, ast.Attribute) and target.attr == "data" else target
    if not isinstance(base, ast.Attribute):
        return False
    if re.search(r"(?i)prior|running|mask|target", base.attr):
        return True
    told = (c.args[0] for c in source.named("register_buffer") if c.args)
    buffer = any(isinstance(a, ast.Constant) and a.value == base.attr for a in told)
    return buffer or _is_vector(source, base.attr)


def _is_vector(source: Script, name: str) -> bool:
    """`self.w = Parameter(torch.zeros(n))` of `x @ self.w`: the weights of one unit alone."""
    multiplied = (n for n in source.of(ast.BinOp) if isinstance(n.op, ast.MatMult))
    if not any(name in (last_name(n.left), last_name(n.right)) for n in multiplied):
        return False
    made = [n.value for n in source.of(ast.Assign) for t in n.targets if last_name(t) == name]
    if not made or not all(isinstance(m, ast.Call) and last_name(m.func) == "Parameter" for m in made):
        return False
    inner = [m.args[0] for m in made if isinstance(m, ast.Call) and m.args]
    return len(inner) == len(made) and all(
        isinstance(i, ast.Call)
        and last_name(i.func) in ("zeros", "ones", "randn", "rand", "empty")
        and len(i.args) == 1
        and isinstance(i.args[0], (ast.Constant, ast.Name, ast.Attribute))
        and not re.search(r"(?i)shape|size|dims", unparse(i.args[0]))
        for i in inner
    )


def _made_for_it(source: Script, node: ast.AST) -> bool:
    """A kind of layer that is made for its start: a class with nothing but `reset_parameters` (and sizes)."""
    owner = source.class_around(node)
    methods = [s.name for s in owner.body if isinstance(s, ast.FunctionDef)] if owner is not None else []
    return "reset_parameters" in methods and set(methods) <= {"reset_parameters", "__init__"}


def _is_constant_start(call: ast.Call) -> bool:
    """`cell.weight.set_data(initializer("zeros", ...))`, `layer.kernel.assign(tf.zeros_like(w))`."""
    given = argument(call, position=0)
    if not isinstance(given, ast.Call):
        return False
    if last_name(given.func) == "initializer":
        return (
            bool(given.args)
            and re.match(r"'(?:zeros?|ones?)'$|(?:\w+\.)*(?:Zero|One)\(\)$", unparse(given.args[0]))
            is not None
        )
    return last_name(given.func) in ("zeros", "zeros_like", "ones", "ones_like")


def _constants_given(source: Script) -> Iterator[tuple[ast.AST, ast.expr]]:
    """What is filled with one constant: `zeros_(w)`, `w.fill_(c)`, `m.weight = Parameter(zeros(n))`."""
    for node in source.of(ast.Call, ast.Assign):
        if isinstance(node, ast.Call):
            name = last_name(node.func)
            owner = receiver(node)
            if name in ("zeros_", "constant_", "ones_") and node.args:
                yield node, node.args[0]
            elif (owner is not None and name in ("set_data", "assign") and _is_constant_start(node)) or (
                (owner is not None and name in ("zero_", "fill_"))
                or (
                    owner is not None
                    and name == "mul_"
                    and node.args
                    and unparse(node.args[0]) in ("0", "0.0")
                )
                or (owner is not None and name == "copy_" and node.args and _is_constant_tensor(node.args[0]))
            ):
                yield node, owner
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
            target, value = node.targets[0], node.value
            held = target.value if target.attr == "data" else target
            layer = isinstance(held, ast.Attribute) and held.attr in ("weight", "kernel")
            if isinstance(value, ast.Call) and last_name(value.func) == "Parameter" and value.args and layer:
                value = value.args[0]
                if (
                    isinstance(held, ast.Attribute)
                    and isinstance(held.value, ast.Name)
                    and held.value.id == "self"
                ):
                    continue  # a layer of its own, of which it is not known what it is for
            elif target.attr != "data":
                continue
            if _is_constant_tensor(value):
                yield node, held


def _is_constant_tensor(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) in (
        "zeros",
        "ones",
        "full",
        "zeros_like",
        "ones_like",
        "full_like",
    )


def _is_parameter(source: Script, target: ast.expr) -> bool:
    """The loop variable of a loop over all parameters, or its data."""
    if isinstance(target, ast.Attribute) and target.attr == "data":
        target = target.value
    if not isinstance(target, ast.Name):
        return False
    if target.id in ("p", "param", "parameter"):
        return True
    loops = [p for p in source.above(target) if isinstance(p, ast.For)]
    return any(
        "parameters()" in unparse(loop.iter) and any(n.id == target.id for n in of(loop.target, ast.Name))
        for loop in loops
    )


_BEGINS = re.compile(r"(?i)init|reset|build|construct|setup|create|make")


def _starts_all(source: Script, node: ast.AST) -> bool:
    """What fills all weights is a start: it stands in the open, is called so, or the program runs it.

    A method of a model that sets it to zero is also what sums of models begin with.
    """
    function = source.function_around(node)
    if function is None or _BEGINS.search(function.name) or flow(source).calls_of(function):
        return True
    return any(n.id == function.name for n in source.of(ast.Name) if isinstance(n.ctx, ast.Load))


# `weight`, `w1`, `W_hh`: no `weight_sigma`, which scales what is drawn beside it
_PLAIN = re.compile(
    r"(?i)^(?:\w+_)?(?:w|weights?|kernel|matrix)_?(?:\d+|[a-z]{1,2}\d*|in|out|hidden|[ih]h_l\d+)?$"
)


def _of_known_layer(source: Script, target: ast.expr) -> bool:
    """It is the weight of a layer of the framework, or a matrix of the model's own that is called so.

    What `self.score = Biaffine(...)` has for its weight, a class of the program alone knows.
    """
    base = target.value if isinstance(target, ast.Attribute) and target.attr == "data" else target
    while isinstance(base, ast.Subscript):
        base = base.value
    if not isinstance(base, ast.Attribute):
        return True
    if not _PLAIN.match(base.attr):
        return False
    held = last_name(base.value)
    made = [n.value for n in source.of(ast.Assign) for t in n.targets if held and last_name(t) == held]
    own = [isinstance(m, ast.Call) and last_name(m.func) in source.classes for m in made]
    return held == "self" or not own or not all(own)


def _of_unknown_layer(source: Script, target: ast.expr) -> bool:
    """`block[1].weight` of a loop over blocks: an item by its number may be a norm, which starts constant."""
    items = [n for n in of(target, ast.Subscript) if isinstance(n.slice, ast.Constant)]
    if not items or not isinstance(items[0].slice, ast.Constant) or items[0].slice.value == 0:
        return False
    loops = [p for p in source.above(target) if isinstance(p, ast.For)]
    names = {n.id for loop in loops for n in of(loop.target, ast.Name)}
    return isinstance(items[0].value, ast.Name) and items[0].value.id in names

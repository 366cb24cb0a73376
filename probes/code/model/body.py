"""The model in scripts: cut off, started at zero, too deep."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.learning import taken
from ...scripts.syntax import Function, Script
from ..shared.checks import at, extractor, first, ok
from ..shared.sides import either
from ..tensorflow.slips import constant_kernels, one_cell_for_all
from .each_round import one_in_all_rounds
from .in_a_row import in_a_row
from .reused import layer_reused
from .zero_products import both_factors_zero, matrices_all_zero
from .zero_starts import ends_branch, is_of_output, may_start_at_zero, units


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
    for node in source.of(ast.BinOp):
        if isinstance(node.op, (ast.Div, ast.FloorDiv)):
            each = _each(source, node)
            touched = {n.id.lower() for n in of(node.left, ast.Name)} - each
            sizes = ("shape", "size(", "len(", ".width", ".height", ".size", "numel(", "bit_length(")
            sized = any(w in unparse(node.left) for w in sizes)
            if touched & set(inputs) and not sized and not _of_shape(source, node):
                seen = seen or node
                by = unparse(node.right)
                scales = re.search(r"^\d|255|scale|std|max|deviation|range", by)
                if isinstance(node.op, ast.FloorDiv) and scales:
                    return at(source, node, "integer division where inputs should keep their fractions")
    return ok(source, seen, "inputs are divided as real numbers") if seen is not None else None


def _of_shape(source: Script, node: ast.BinOp) -> bool:
    """A name of an input that holds a size: `x = width // 4` of `_, _, width = image.shape[1:]`."""
    names = {n.id for n in of(node.left, ast.Name)}
    function = source.function_around(node) or source.tree
    return any(
        ".shape" in unparse(n.value)
        and any(
            t.id in names
            for target in n.targets
            for t in of(target, ast.Name)
            if isinstance(target, ast.Tuple)
        )
        for n in of(function, ast.Assign)
    )


def _each(source: Script, node: ast.AST) -> set[str]:
    """The names that comprehensions around a node bind: `[x // 2 for x in sizes]` divides no inputs."""
    around = (p for p in source.above(node) if isinstance(p, (ast.ListComp, ast.GeneratorExp, ast.SetComp)))
    targets = (g.target for p in around for g in p.generators)
    return {n.id.lower() for t in targets for n in of(t, ast.Name)}


@probe()
def zero_init(view: View) -> Finding:
    """Weights set to zero or one constant. Normal for biases, norm layers, LoRA's B and last layers."""
    return first(
        view,
        either(_zero_init, both_factors_zero, matrices_all_zero, constant_kernels),
        "the scripts do not initialise weights themselves",
    )


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
    r"(?i:lora|adapter|modulat|adaln|zero_?(?:conv|module|init)|control_?net)|Norm\b|(?:Last|Final)(?:Layer|Block)"
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
            or _no_weight(source, target)
            or _made_for_it(source, node)
            or _MODULATES.search(text)
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
            if _LAST.search(_given_to(source, call)) or _LOW_RANK.search(held) or units(call) == 1:
                outputs = True
                continue
            return at(source, call, "weights start at zero or one constant, so units stay alike")
    if outputs:
        return None
    seen = seen or next(iter(source.named(*_DRAWS)), None)
    return ok(source, seen, "weights are initialised at random") if seen is not None else None


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


_MODULATES = re.compile(r"(?i)modulat|adaln|gat(?:e|ing)\b|zero_?conv")


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
        if fills and any(unparse(h).startswith(name) for h in held):
            return True
    return False


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
    return any(isinstance(a, ast.Constant) and a.value == base.attr for a in told)


def _made_for_it(source: Script, node: ast.AST) -> bool:
    """A kind of layer that is made for its start: a class with nothing but `reset_parameters` (and sizes)."""
    owner = source.class_around(node)
    methods = [s.name for s in owner.body if isinstance(s, ast.FunctionDef)] if owner is not None else []
    return "reset_parameters" in methods and set(methods) <= {"reset_parameters", "__init__"}


def _is_constant_start(call: ast.Call) -> bool:
    """`cell.weight.set_data(initializer("zeros", ...))`, `layer.kernel.assign(tf.zeros_like(w))`."""
    given = call.args[0] if call.args else None
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
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
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


def _of_unknown_layer(source: Script, target: ast.expr) -> bool:
    """`block[1].weight` of a loop over blocks: an item by its number may be a norm, which starts constant."""
    items = [n for n in of(target, ast.Subscript) if isinstance(n.slice, ast.Constant)]
    if not items or not isinstance(items[0].slice, ast.Constant) or items[0].slice.value == 0:
        return False
    loops = [p for p in source.above(target) if isinstance(p, ast.For)]
    names = {n.id for loop in loops for n in of(loop.target, ast.Name)}
    return isinstance(items[0].value, ast.Name) and items[0].value.id in names


@probe()
def weights_shared(view: View) -> Finding:
    """`a.weight = b.weight`. Normal for embedding and output layer of a language model."""
    return first(view, _shared, "the scripts hold no model")


def _shared(source: Script) -> Finding | None:
    if not source.forwards:
        return None
    for node in source.of(ast.Assign):
        if isinstance(node.targets[0], ast.Attribute):
            target, value = node.targets[0], node.value
            if target.attr == "weight" and isinstance(value, ast.Attribute) and value.attr == "weight":
                return at(source, node, "two layers share one weight")
        if _is_layer(source, node.value):
            if unparse(node.targets[0]).startswith("self.") and isinstance(node.targets[0], ast.Subscript):
                return at(source, node, "one layer stands in two places")
    return ok(source, source.forwards[0], "no weight is shared by assignment")


@probe()
def layer_repeated(view: View) -> Finding:
    """A list of layers, or a loop over their settings, has one layer several times: `[Layer()] * n`."""
    return first(
        view, either(_repeated, layer_reused, one_cell_for_all), "the scripts make no list of layers"
    )


def _repeated(source: Script) -> Finding | None:
    lists = source.named("ModuleList", "Sequential", "CellList", "SequentialCell")
    for call in lists:
        again = [r for given in call.args if (r := _same_again(given) or _one_by_name(given)) is not None]
        if again and not _shares_on_purpose(source, call):
            return at(source, again[0], "one layer is put into a list several times")
    for call in source.named("extend"):
        about = source.class_around(call)
        if about in source.modules and source.owner(call).startswith("self.") and call.args:
            if _same_again(call.args[0]) is not None and not _shares_on_purpose(source, call):
                return at(source, call, "one layer is put into a list several times")
    for owner in source.modules:
        for node in of(owner, ast.Assign):
            if isinstance(node.value, ast.BinOp) and _same_again(node.value):
                if unparse(node.targets[0]).startswith("self."):
                    return at(source, node, "one layer is put into a list several times")
    if (shared := one_in_all_rounds(source)) is not None:
        return at(source, shared, "one layer, made before this loop, stands for a layer of each round")
    return ok(source, lists[0], "each layer of a list is made anew") if lists else None


def _shares_on_purpose(source: Script, node: ast.AST) -> bool:
    """An option asks for it: `if args.share_layers:`."""
    tests = (unparse(p.test) for p in source.above(node) if isinstance(p, ast.If))
    return any(re.search(r"(?i)share|tie", test) for test in tests)


def _same_again(given: ast.expr) -> ast.expr | None:
    """`[Layer()] * n`, or `[layer for _ in range(n)]`: every entry is the same layer."""
    node = given.value if isinstance(given, ast.Starred) else given
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _same_again(node.left) or _same_again(node.right)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        lists = [s for s in (node.left, node.right) if isinstance(s, ast.List) and s.elts]
        calls = [e for one in lists for e in one.elts if isinstance(e, ast.Call)]
        made = [s.elt for s in (node.left, node.right) if isinstance(s, ast.ListComp)]
        calls += [e for e in made if isinstance(e, ast.Call) and last_name(e.func)[:1].isupper()]
        plain = ("ReLU", "GELU", "Dropout", "Identity", "SiLU", "Tanh", "Sigmoid")
        return node if any(last_name(c.func) not in plain for c in calls) else None
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and isinstance(node.elt, (ast.Name, ast.Attribute)):
        bound = {n.id for g in node.generators for n in of(g.target, ast.Name)}
        over = node.generators[0].iter
        counted = isinstance(over, ast.Call) and last_name(over.func) == "range"
        return node if counted and not bound & names_in(node.elt) else None
    return None


def _one_by_name(given: ast.expr) -> ast.expr | None:
    """`ModuleList([layer] * n)`: what stands in a list of modules is a module."""
    if isinstance(given, ast.BinOp) and isinstance(given.op, ast.Mult):
        for side in (given.left, given.right):
            if isinstance(side, ast.List) and len(side.elts) == 1 and isinstance(side.elts[0], ast.Name):
                return given
    return None


def _is_layer(source: Script, value: ast.expr) -> bool:
    """An item of a list of layers: `self.blocks[0]`."""
    if not isinstance(value, ast.Subscript) or not isinstance(value.slice, ast.Constant):
        return False
    around = source.class_around(value)
    made = source.attribute(around, unparse(value.value).removeprefix("self.")) if around else None
    return isinstance(made, ast.Call) and last_name(made.func) in ("ModuleList", "Sequential", "CellList")


def _of_old(source: Script) -> Finding | None:
    """Keras and TensorFlow: the momentum is the weight of the old statistics, 0.99 unless told."""
    if {"pytorch", "mindspore"} & set(source.frameworks):
        return None
    for call in source.named("batch_normalization", "BatchNormalization", "SyncBatchNormalization"):
        momentum = keyword(call, "momentum")
        if isinstance(momentum, ast.Constant) and isinstance(momentum.value, (int, float)):
            if 0 < momentum.value < 0.5:
                return at(source, call, "this momentum is the weight of the old statistics, not of the new")
    return None


@probe()
def batch_norm_momentum(view: View) -> Finding:
    """Momentum that gives the new batch more than one half, or nothing, of the running statistics."""
    return first(view, _bn_momentum, "the scripts hold no batch norm")


def _bn_momentum(source: Script) -> Finding | None:
    if (found := _of_old(source)) is not None:
        return found
    calls = [c for c in source.calls if last_name(c.func).startswith("BatchNorm")]
    if not calls or source.frameworks not in (("pytorch",), ("mindspore",)):
        return None
    of_new = source.frameworks == ("pytorch",)  # in MindSpore it is the weight of the old average
    for call in calls:
        momentum = keyword(call, "momentum") or (call.args[2] if len(call.args) > 2 else None)
        if isinstance(momentum, ast.Constant) and isinstance(momentum.value, (int, float)):
            share = momentum.value if of_new else 1.0 - momentum.value
            if share > 0.5 or (of_new and share == 0):
                whose = "PyTorch's momentum is the weight of the new batch"
                return at(
                    source, call, whose if of_new else "MindSpore's momentum is the weight of the old one"
                )
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
    skips = any(isinstance(n.op, ast.Add) and _adds_input(n) for n in source.of(ast.BinOp)) or any(
        _adds_branches(f) for f in source.forwards
    )
    trains = {source.function_around(b) for b in taken(source)}
    together: dict[ast.AST | None, list[ast.Call]] = {}  # what one class or function holds
    for call in calls:
        classes = (p for p in source.above(call) if isinstance(p, ast.ClassDef))
        holder = next(classes, source.function_around(call))
        if isinstance(holder, ast.ClassDef) and holder not in source.modules:
            continue  # of a trainer or a loss, which stacks nothing
        if last_name(call.func).islower() and holder in trains and source.loops_around(call):
            continue  # of a loop over batches: it turns outputs into probabilities
        if not re.search(r"(?i)lstm|gru|rnn|cell|gate", getattr(holder, "name", "")):
            together.setdefault(holder, []).append(call)  # gates stand side by side
    counts = {holder: sum(repeats(source, c) for c in found) for holder, found in together.items()}
    counted = max(counts.values(), default=0)
    if counted >= layers and not eased and not skips:
        most = max(together, key=lambda holder: counts[holder])
        many = max(together[most], key=lambda c: repeats(source, c))
        if isinstance(most, ast.ClassDef):
            row = in_a_row(source, most, together[most], lambda c: repeats(source, c))
            if row is not None and row < layers:
                return ok(source, many, f"{row} of these follow one another, others stand beside them")
        return at(source, many, f"{counted} of these follow one another without normalisation or skips")
    first_layer = source.named("Linear", "Conv1d", "Conv2d", "Conv3d", "Dense")[0]
    return ok(source, first_layer, f"{counted} such layers, with normalisation or skips or few enough")


def _adds_input(node: ast.BinOp) -> bool:
    """`x + f(x)` or `h + self.block(h)`."""
    sides = (node.left, node.right)
    names = [s.id for s in sides if isinstance(s, ast.Name)]
    calls = [s for s in sides if isinstance(s, ast.Call)]
    return any(n in names_in(c) for n in names for c in calls)


def _adds_branches(function: Function) -> bool:
    """`self.conv(a) + self.short(b)`, also by way of names: two ways through the network are joined."""
    kept = {
        t.id
        for n in of(function, ast.Assign)
        if isinstance(n.value, ast.Call)
        for t in n.targets
        if isinstance(t, ast.Name)
    }
    return any(
        isinstance(n.op, ast.Add)
        and all(
            isinstance(s, ast.Call) or (isinstance(s, ast.Name) and s.id in kept) for s in (n.left, n.right)
        )
        for n in of(function, ast.BinOp)
    )


def repeats(source: Script, call: ast.Call) -> int:
    """How often a layer is made: once, or as often as the loop or comprehension around it runs."""
    for parent in source.above(call):
        generators = getattr(parent, "generators", None) or ([parent] if isinstance(parent, ast.For) else [])
        for generator in generators:
            over = generator.iter
            if isinstance(over, ast.Call) and last_name(over.func) == "range" and len(over.args) == 1:
                known, count, _ = extractor(source).value(over.args[0])
                return int(count) if known and isinstance(count, (int, float)) else 1
        if isinstance(parent, (ast.FunctionDef, ast.ClassDef)):
            break
    return 1


@probe()
def bias_extreme(view: View, *, size: float) -> Finding:
    """Biases are set to a value so far from zero that units start dead or saturated."""
    return first(view, lambda s: _bias_extreme(s, size), "the scripts set no biases")


_RAREST = 7.0  # -log-odds of a class that one sample in a thousand has


def _bias_extreme(source: Script, size: float) -> Finding | None:
    values = extractor(source)
    seen = None
    for call in source.named("constant_", "fill_"):
        held = call.func.value if isinstance(call.func, ast.Attribute) else None
        target = call.args[0] if last_name(call.func) == "constant_" and call.args else held
        given = call.args[-1] if call.args else None
        known, value, _ = values.value(given)
        if target is not None and "bias" in unparse(target) and known and isinstance(value, (int, float)):
            seen = call
            rare = -_RAREST <= value < 0 and is_of_output(source, target)
            if abs(value) >= size and not rare:
                return at(source, call, f"biases start at {value:g}")
    return ok(source, seen, "biases start near zero") if seen is not None else None

"""The model in scripts: divided by whole numbers, repeated, too deep."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, keyword, last_name, receiver
from ...registry import Finding, View, probe
from ...rehearsal.judges import shows
from ...scripts.flow import flow
from ...scripts.learning import taken
from ...scripts.syntax import Function, Script
from ..method.played_states import copy_is_the_net
from ..method.target_nets import copy_is_the_learner
from ..shared.checks import at, extractor, first, ok
from ..shared.sides import either
from ..tensorflow.slips import one_cell_for_all
from .compact import block_asked_again
from .each_round import one_appended_again, one_in_all_rounds
from .in_a_row import in_a_row
from .misasked import part_of_another
from .one_block import one_block_for_others
from .one_for_two import layer_is_another
from .reused import layer_reused
from .zero_starts import is_of_output


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
            if unparse(node.right) in ("255", "255.0") and not of(node.left, ast.Mult):  # no blending by hand
                touched |= {
                    n.attr.lower() for n in of(node.left, ast.Attribute)
                }  # of a data set: self.images[i]
            if touched & set(inputs) and not sized and not _of_shape(source, node):
                seen = seen or node
                by = unparse(node.right)
                scales = re.search(r"^\d|255|scale|std|max|deviation|range", by)
                if isinstance(node.op, ast.FloorDiv) and scales and not _put_back(source, node):
                    return at(source, node, "integer division where inputs should keep their fractions")
    return ok(source, seen, "inputs are divided as real numbers") if seen is not None else None


def _put_back(source: Script, node: ast.BinOp) -> bool:
    """`images[n:] = images[n:] // 4`: whole numbers become others in their place, as bytes are darkened."""
    statement = source.statement(node)
    return (
        isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Subscript)
        and unparse(statement.targets[0]) == unparse(node.left)
    )


def _of_shape(source: Script, node: ast.BinOp) -> bool:
    """A name of an input that holds a size: `x = width // 4` of `_, _, width = image.shape[1:]`."""
    names = names_in(node.left)
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
def weights_shared(view: View) -> Finding:
    """`a.weight = b.weight`. Normal for embedding and output layer of a language model."""
    return first(
        view, either(shows("copy-is-itself"), copy_is_the_learner, _shared), "the scripts hold no model"
    )


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
    """One layer stands in several places: `[Layer()] * n`, a loop over settings, `self.two = self.one`."""
    looks = either(
        *(_repeated, layer_reused, one_cell_for_all, one_block_for_others),
        *(layer_is_another, block_asked_again, part_of_another, copy_is_the_net),
    )
    return first(view, looks, "the scripts make no list of layers")


_LAYER = re.compile(r"(?:torch\.)?nn\.[A-Z]\w+$")


def _repeated(source: Script) -> Finding | None:
    lists = source.named("ModuleList", "Sequential", "CellList", "SequentialCell")
    for call in lists:
        again = [r for given in call.args if (r := _same_again(given) or _one_by_name(given)) is not None]
        if again and not _shares_on_purpose(source, call):
            return at(source, again[0], "one layer is put into a list several times")
    for node in source.of(ast.Assign):  # `self.q, self.k = [nn.Linear(d, d)] * 2`
        value, targets = node.value, node.targets[0]
        if isinstance(targets, ast.Tuple) and isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
            held = value.left.elts if isinstance(value.left, (ast.List, ast.Tuple)) else []
            layer = len(held) == 1 and isinstance(held[0], ast.Call) and _LAYER.match(unparse(held[0].func))
            if layer and all(unparse(t).startswith("self.") for t in targets.elts):
                return at(source, node, "one layer is held under several names")
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
    if (shared := one_appended_again(source)) is not None and not _shares_on_purpose(source, shared):
        return at(source, shared, "one layer, made before this loop, is put into the list in each round")
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
        momentum = argument(call, "momentum", position=2)
        if isinstance(momentum, ast.Name):  # `momentum = 0.99` above
            ends = flow(source).values(momentum, 3)
            momentum = ends[0] if len(ends) == 1 else momentum
        if isinstance(momentum, ast.Constant) and isinstance(momentum.value, (int, float)):
            share = momentum.value if of_new else 1.0 - momentum.value
            if 0.5 < share < 1 or (of_new and share == 0):  # at 1 the batch in hand is meant to count alone
                whose = "PyTorch's momentum is the weight of the new batch"
                return at(
                    source, call, whose if of_new else "MindSpore's momentum is the weight of the old one"
                )
    return ok(source, calls[0], "batch-norm momentum is in its usual range")


@probe()
def deep_saturating(view: View, *, layers: int) -> Finding:
    """Many sigmoids one after another, or twice as many of tanh, in a model without normalisation or skips.

    A tanh passes gradients of small values on as they are: networks of physics have five and more of them.
    """
    either_kind = either(
        lambda s: _deep(s, layers, ("Sigmoid", "sigmoid")),
        lambda s: _deep(s, 2 * layers, ("Sigmoid", "Tanh", "sigmoid", "tanh")),
    )
    return first(view, either_kind, "the scripts hold no model")


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
    # `model = Sequential()`, `x = Input(...)`: another one
    begun = [c.lineno for c in source.named("Sequential") if not c.args]
    begun += [c.lineno for c in source.named("Input") if not source.class_around(c)]
    begun += [c.lineno for c in source.named("Sequential") if c.args and source.function_around(c) is None]
    # what one class or function holds, of one model
    together: dict[tuple[ast.AST | None, int], list[ast.Call]] = {}
    for call in calls:
        classes = (p for p in source.above(call) if isinstance(p, ast.ClassDef))
        holder = next(classes, source.function_around(call))
        if isinstance(holder, ast.ClassDef) and holder not in source.modules:
            continue  # of a trainer or a loss, which stacks nothing
        if last_name(call.func).islower() and holder in trains and source.loops_around(call):
            continue  # of a loop over batches: it turns outputs into probabilities
        if not re.search(r"(?i)lstm|gru|rnn|cell|gate|moe|expert|mixture", getattr(holder, "name", "")):
            own = sum(line <= call.lineno for line in begun)
            together.setdefault((holder, own), []).append(call)  # gates stand side by side
    counts = {held: sum(repeats(source, c) for c in found) for held, found in together.items()}
    counted = max(counts.values(), default=0)
    if counted >= layers and not eased and not skips:
        most = max(together, key=lambda held: counts[held])
        many = max(together[most], key=lambda c: repeats(source, c))
        if isinstance(most[0], ast.ClassDef):
            row = in_a_row(source, most[0], together[most], lambda c: repeats(source, c))
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
        held = receiver(call)
        target = call.args[0] if last_name(call.func) == "constant_" and call.args else held
        given = call.args[-1] if call.args else None
        known, value, _ = values.value(given)
        if target is not None and "bias" in unparse(target) and known and isinstance(value, (int, float)):
            seen = call
            rare = -_RAREST <= value < 0 and is_of_output(source, target)
            if abs(value) >= size and not rare:
                return at(source, call, f"biases start at {value:g}")
    return ok(source, seen, "biases start near zero") if seen is not None else None

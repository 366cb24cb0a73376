"""Weights that may start at zero: an output layer, rows of a table, a table beside layers drawn at random.

Units stay alike only where the layers on both sides give them nothing to differ by. One layer at zero between
layers that were drawn at random gets another gradient for each unit with the first step.
"""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse, walk
from ...readers.script import all_arguments, keyword, last_name
from ...scripts.flow import Flow, flow, returns
from ...scripts.syntax import Script
from ..shared.nodes import is_none

_OUTPUT = re.compile(
    r"(?i)^(?:\w*_)?(?:heads?|classifier|logits|out|outputs?|readout|predictor|unembed)(?:_?(?:layer|proj|conv|fc))?$"
    r"|^(?:final|last)(?:_?(?:layer|fc|linear|conv|dense))?$|^(?:fc|linear|conv|dense)_?(?:out|last|final)$"
)
_LEARNED = re.compile(r"^(?:Embedding|EmbeddingBag|Linear|Dense|Conv\w*|LSTM|GRU|RNN|MultiheadAttention)$")
_MOVES = ("to", "cuda", "double", "float")
_TINY = 1e-6  # next to nothing, as some write for zero
_TABLES = ("Embedding", "EmbeddingBag")
# What hands the values of an output on without a place where their slope is nothing.
_HANDED_ON = re.compile(
    r"^(?:squeeze|unsqueeze|view|reshape|flatten|unflatten|sum|mean|permute|transpose|movedim|float|to|chunk|split"
    r"|clamp|clip|softmax|log_softmax|sigmoid|tanh|softplus|normalize|rearrange|expand_dims|contiguous|interpolate|log_sigmoid)$"
)


_ENCODES = re.compile(r"(?i)^_?(?:encode|posterior|prior|head|output|predict)")


def may_start_at_zero(source: Script, target: ast.expr, node: ast.AST) -> bool:
    """Say whether what `node` fills (`self.head.weight`, `table.weight[pad]`) trains all the same."""
    return _is_rows(target) or (
        may_be_nought(node) and (is_of_output(source, target) or _has_one_unit(source, target))
    )


def may_be_nought(node: ast.AST) -> bool:
    """`zeros_(w)`, `w.zero_()`, `constant_(w, 0.0)`: no other constant."""
    if not isinstance(node, ast.Call):
        return "zeros" in unparse(node)
    name = last_name(node.func)
    if name in ("zeros_", "zero_"):
        return True
    last = node.args[-1] if node.args else None
    given = last.value if isinstance(last, ast.Constant) else None
    zero = isinstance(given, (int, float)) and abs(given) < _TINY
    return zero or (name == "copy_" and last is not None and "zeros" in unparse(last))


def is_of_output(source: Script, target: ast.expr) -> bool:
    """Say whether a weight or bias is that of an output layer, by its name or by what `forward` returns."""
    layer = _layer(target)
    if layer is None:
        return False
    called_so = _is_output_name(layer) and not _of_helper(source, layer)
    return called_so or _ends_stack(source, layer) or _ends_class(source, layer) or _is_alone(source, layer)


def _has_one_unit(source: Script, target: ast.expr) -> bool:
    """`nn.Linear(width, 1)`: a single unit has no other that it could stay alike."""
    layer = _layer(target)
    if not isinstance(layer, (ast.Name, ast.Attribute)):
        return False
    owner = source.class_around(layer)
    if owner is not None and unparse(layer).startswith("self."):
        values = [n.value for n in of(owner, ast.Assign) for t in n.targets if unparse(t) == unparse(layer)]
    else:
        values = [g.value for g in flow(source).all_given(layer)]
    made = [v for v in values if not is_none(v)]
    return bool(made) and all(units(m) == 1 for m in made)


def units(made: ast.expr) -> int | None:
    """The number of units of a linear layer, where it is written out."""
    if not isinstance(made, ast.Call) or last_name(made.func) not in ("Linear", "Dense"):
        return None
    words = ("out_features", "out_channels", "units", "features")
    given = next((k for w in words if (k := keyword(made, w)) is not None), None)
    torch_like = last_name(made.func) == "Linear" or len(made.args) > 1
    place = 1 if torch_like else 0
    if given is None and place < len(made.args):
        given = made.args[place]
    number = given.value if isinstance(given, ast.Constant) else None
    return number if isinstance(number, int) else None


def _is_alone(source: Script, layer: ast.expr) -> bool:
    """`probe = nn.Linear(512, 10).to(device)` that is part of nothing else: a linear model."""
    made = flow(source).whole_given(layer) if isinstance(layer, ast.Name) else None
    while isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and made.func.attr in _MOVES:
        made = made.func.value
    handed = [a for c in source.calls if last_name(c.func)[:1].isupper() for a in c.args]
    return (
        isinstance(layer, ast.Name)
        and isinstance(made, ast.Call)
        and last_name(made.func) in ("Linear", "Dense")
        and not any(isinstance(a, ast.Name) and a.id == layer.id for a in handed)
    )


def _is_output_name(layer: ast.expr) -> bool:
    """`self.head`, `model.classifier`: what is called an output layer."""
    name = layer.attr if isinstance(layer, ast.Attribute) else layer.id if isinstance(layer, ast.Name) else ""
    return _OUTPUT.match(name) is not None


def _of_helper(source: Script, layer: ast.expr) -> bool:
    """A local of a function that makes stacks for anybody: what its last layer feeds is out of sight."""
    function = source.function_around(layer)
    above = list(source.above(layer))
    asked = any(isinstance(p, ast.If) for p in above)
    held = any(isinstance(p, ast.ClassDef) for p in above)
    return function is not None and isinstance(layer, ast.Name) and not held and not asked


def _layer(target: ast.expr) -> ast.expr | None:
    """The layer that a weight belongs to: `self.head.weight.data` -> `self.head`."""
    if isinstance(target, ast.Attribute) and target.attr == "data":
        target = target.value
    known = isinstance(target, ast.Attribute) and target.attr in ("weight", "kernel", "bias")
    return target.value if known and isinstance(target, ast.Attribute) else None


def _is_rows(target: ast.expr) -> bool:
    """Some rows of a weight, as that of the padding: `table.weight[0]`, not `weight[:]`."""
    items = of(target, ast.Subscript)
    return any(re.search(r"weight|embed|table", unparse(n.value)) and not _is_all(n.slice) for n in items)


def _is_all(index: ast.expr) -> bool:
    if isinstance(index, ast.Tuple):
        return all(_is_all(e) for e in index.elts)
    if isinstance(index, ast.Slice):
        return index.lower is None and index.upper is None
    return isinstance(index, ast.Constant) and index.value is ...


def _ends_stack(source: Script, layer: ast.expr) -> bool:
    """`self.net[-1]`, or by its number or name the last one of a stack that is written out."""
    if isinstance(layer, ast.Attribute) and isinstance(layer.value, ast.Attribute):
        return _last_by_name(source, layer.value, layer.attr)
    if not isinstance(layer, ast.Subscript):
        return False
    try:
        index = ast.literal_eval(layer.slice)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return False
    if index == -1:
        return True
    given = flow(source).given(layer.value) if isinstance(layer.value, (ast.Name, ast.Attribute)) else None
    made = given.value if given is not None else None
    if not (isinstance(made, ast.Call) and last_name(made.func) in ("Sequential", "SequentialCell")):
        return False
    written = not any(isinstance(a, ast.Starred) for a in made.args) and len(made.args) > 1
    return written and isinstance(index, int) and index == len(made.args) - 1


def _last_by_name(source: Script, stack: ast.expr, name: str) -> bool:
    """`self.net.fc3` of `Sequential(OrderedDict([..., ("fc3", Linear(200, 10))]))`."""
    given = flow(source).given(stack)
    made = given.value if given is not None else None
    if not (isinstance(made, ast.Call) and last_name(made.func) in ("Sequential", "SequentialCell")):
        return False
    kept = made.args[0] if len(made.args) == 1 else None
    if not (isinstance(kept, ast.Call) and last_name(kept.func) == "OrderedDict" and kept.args):
        return False
    listed = next(
        (v for v in flow(source).values(kept.args[0], 3) if isinstance(v, (ast.List, ast.Tuple))), None
    )
    pairs = listed.elts if listed is not None else []
    keys = [
        p.elts[0].value for p in pairs if isinstance(p, ast.Tuple) and isinstance(p.elts[0], ast.Constant)
    ]
    return len(keys) == len(pairs) > 1 and keys[-1] == name


def _ends_class(source: Script, layer: ast.expr) -> bool:
    """The layer's values are what `forward` returns or adds up, or it is a table beside random layers."""
    if not isinstance(layer, ast.Attribute):
        return False
    owner = source.class_around(layer)
    if unparse(layer.value) == "self":
        return owner is not None and _ends(source, owner, f"self.{layer.attr}")
    # `block.attn.out` of a loop over blocks: every module of the script that has a layer of that name
    held = [m for m in source.modules if m is not owner and f"self.{layer.attr}" in _layers(m)]
    return bool(held) and all(_ends(source, m, f"self.{layer.attr}") for m in held)


def _layers(owner: ast.ClassDef) -> set[str]:
    """What attributes a class is given, also several at once."""
    given = (t for n in of(owner, ast.Assign) for t in n.targets)
    return {unparse(e) for t in given for e in (t.elts if isinstance(t, ast.Tuple) else [t])}


def _ends(source: Script, owner: ast.ClassDef, name: str) -> bool:
    mine = flow(source)
    made = {
        unparse(t): n.value for n in of(owner, ast.Assign) if isinstance(n.value, ast.Call) for t in n.targets
    }
    stacks = ("Sequential", "SequentialCell", "ModuleList", "CellList")
    calls = [last_name(n.func) for n in of(owner, ast.Call)]
    several = any(isinstance(n, (ast.GeneratorExp, ast.ListComp)) for n in walk(owner))
    if sum(c in stacks or _LEARNED.match(c) is not None for c in calls) < 2 and not several:
        return False  # no other layer makes its units differ
    if name in made and last_name(made[name].func) in _TABLES:
        return True
    gives = [
        f
        for f in owner.body
        if isinstance(f, ast.FunctionDef) and (f in source.forwards or _ENCODES.search(f.name))
    ]
    return any(_carries(mine, value, name, 8) for f in gives for value in returns(f))


def _carries(mine: Flow, value: ast.expr, layer: str, depth: int) -> bool:
    """The value is what the layer returned, or that added to or multiplied by something else."""
    if depth <= 0:
        return False
    if isinstance(value, ast.Call):
        if unparse(value.func) == layer:
            return True
        if not _HANDED_ON.match(last_name(value.func)):
            return False
        parts = [*value.args[:1], *([value.func.value] if isinstance(value.func, ast.Attribute) else [])]
    elif isinstance(value, ast.BinOp):
        parts = [value.left, value.right]
    elif isinstance(value, ast.IfExp):
        parts = [value.body, value.orelse]
    elif isinstance(value, (ast.Tuple, ast.List)):
        parts = value.elts
    elif isinstance(value, ast.Dict):
        parts = value.values
    elif isinstance(value, (ast.Subscript, ast.UnaryOp)):
        parts = [value.value if isinstance(value, ast.Subscript) else value.operand]
    elif isinstance(value, ast.Name):
        parts = [g.value for g in mine.all_given(value)]
    else:
        return False
    return any(_carries(mine, part, layer, depth - 1) for part in parts)


def ends_branch(source: Script, target: ast.expr) -> bool:
    """`self.conv2.weight` of a layer whose output is added to a stream: the branch starts at nothing."""
    layer = target.value if isinstance(target, ast.Attribute) else None
    return layer_ends_branch(source, source.class_around(target), layer)


def layer_ends_branch(source: Script, owner: ast.ClassDef | None, layer: ast.expr | None) -> bool:
    """Say whether the output of this layer of a class (`self.conv2`) is added to a stream."""
    if owner is None or not (isinstance(layer, ast.Attribute) and unparse(layer.value) == "self"):
        return False
    for function in [f for f in source.forwards if f in owner.body]:
        calls = [n for n in of(function, ast.Call) if unparse(n.func) == unparse(layer)]
        calls += [o for c in calls if (o := _through_slope(source, owner, c)) is not None]
        kept = {
            unparse(t) for c in calls if isinstance(p := source.parents.get(c), ast.Assign) for t in p.targets
        }
        for node in of(function, ast.BinOp):
            if isinstance(node.op, ast.Add):
                sides = (node.left, node.right)
                if any(s in calls or unparse(s) in kept for s in sides):
                    return True
    return False


# what has a slope at zero: a branch that ends in it starts at nothing, and learns; that of a ReLU does not
_SLOPED = re.compile(
    r"(?i)^(?:silu|swish|gelu|elu|tanh|mish|softsign|leaky_?relu|prelu|dropout\w*|identity)$"
)


def _through_slope(source: Script, owner: ast.ClassDef, call: ast.Call) -> ast.Call | None:
    """`self.act(self.linear(x))` around the call of a layer, where the activation lets gradients through."""
    outer = source.parents.get(call)
    if not isinstance(outer, ast.Call) or call not in outer.args[:1]:
        return None
    made = source.attribute(owner, unparse(outer.func).removeprefix("self."))
    name = last_name(made.func) if isinstance(made, ast.Call) else last_name(outer.func)
    return outer if _SLOPED.match(name) else None


_PLAIN_LAYERS = re.compile(r"^(?:Activation|Softmax|Reshape|Flatten|Dropout|Lambda|Rescaling)$")


def ends_functional(source: Script, made: ast.Call) -> bool:
    """`x = Dense(9, kernel_initializer="zeros")(x)` of a functional model is its last layer with weights.

    A stack whose layers all start so is no case of it: a layer drawn at random must stand above.
    """
    if "tensorflow" not in source.frameworks and "keras" not in source.frameworks:
        return False
    scope = source.function_around(made) or source.tree
    line = source.statement(made)
    layers = [
        n
        for n in of(scope, ast.Assign)
        if isinstance(n.value, ast.Call) and isinstance(n.value.func, ast.Call) and n.value.args
    ]
    if not isinstance(line, ast.Assign) or line not in layers or not source.named("Model"):
        return False
    ends = {unparse(t) for t in line.targets}
    for node in (n for n in layers if n.lineno > line.lineno):
        inner = node.value.func if isinstance(node.value, ast.Call) else None
        if isinstance(inner, ast.Call) and _PLAIN_LAYERS.match(last_name(inner.func)):
            ends |= {unparse(t) for t in node.targets}
        elif ends & {unparse(n) for n in walk(node.value) if isinstance(n, (ast.Name, ast.Attribute))}:
            return False
    above = [n for n in layers if n.lineno < line.lineno]
    outputs = [a for c in source.named("Model") for a in all_arguments(c)[1:]]
    drawn = any("zeros" not in unparse(n.value) for n in above if _LEARNED.match(_made_by(n)))
    return drawn and any(unparse(o) in ends for o in outputs)


def _made_by(node: ast.Assign) -> str:
    inner = node.value.func if isinstance(node.value, ast.Call) else None
    return last_name(inner.func) if isinstance(inner, ast.Call) else ""

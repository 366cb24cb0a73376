"""Axes of tensors in scripts, by their names: what a reshape tears apart, and what weights are summed over.

A shape that is taken apart into names (`b, t, c = x.shape`) tells the order of the axes. It is followed
through transposes, layers that leave it alone and reshapes; behind anything else it is not known any more.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, keyword, last_name, receiver
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..samples.by_side import picture_reshaped, planes_taken_for_pixels
from ..shared.checks import at, first, gone_over
from ..shared.nodes import whole_number
from .compact import kept_under

Layout = tuple[str, ...]  # names of axes, the slowest first; an axis of two that were joined stands as both
_KEEPS_ALL = re.compile(
    r"^(?:\w*Norm(?:alization)?(?:[123]d)?|Dropout\w*|ReLU6?|GELU|SiLU|ELU|SELU|LeakyReLU|Tanh|Sigmoid|Identity)$"
)
_KEEPS_BUT_LAST = re.compile(r"^(?:Linear|Dense|LazyLinear)$")
_SAME = frozenset(
    [
        "contiguous",
        "float",
        "half",
        "to",
        "type",
        "astype",
        "clone",
        "copy",
        "relu",
        "gelu",
        "silu",
        "tanh",
        "sigmoid",
        "cuda",
        "cpu",
        "detach",
    ]
)
_RESHAPES = ("view", "reshape")
_NEW = "?"  # an axis of unknown size


@probe()
def sample_torn_by_reshape(view: View) -> Finding:
    """Outside of models: a reshape of samples that puts axes into another order (see `torn_in_model`)."""
    return first(view, _sample_torn, "the scripts reshape no samples by the sizes of their axes")


def _sample_torn(source: Script) -> Finding | None:
    turned = reshaped_lambda(source, in_model=False)
    torn = _torn_by_reshape(source, in_model=False) or turned or picture_reshaped(source)
    return torn or planes_taken_for_pixels(source)


def torn_in_model(source: Script) -> Finding | None:
    """A reshape that puts axes into another order, as only a transpose can: it cuts samples to pieces.

    `h, w, c = x.shape`, then `x.reshape(c, h, w)`; or `x.reshape(b, heads, t, -1)` of `b, t, c`, where the
    heads come out of the steps. Two axes stay in their order, and new ones stand where old ones were split.
    """
    return _torn_by_reshape(source, in_model=True) or reshaped_lambda(source, in_model=True)


def _torn_by_reshape(source: Script, in_model: bool) -> Finding | None:
    for function in source.of(ast.FunctionDef):
        if (source.class_around(function) in source.modules) is not in_model:
            continue
        if not any(n.attr in _RESHAPES for n in of(function, ast.Attribute)):
            continue
        for call, before, after in _reshapes(source, function):
            if _torn(before, after):
                shape = ", ".join(before)
                return at(
                    source, call, f"the axes are in the order {shape}; a reshape cannot turn them round"
                )
    return None


def reshaped_lambda(source: Script, in_model: bool = False) -> Finding | None:
    """`lambda x: x.reshape(x.shape[2], x.shape[0], x.shape[1])`: sizes are turned round, and samples torn.

    Also `x.reshape(3, x.shape[0], x.shape[1])`, where only the last axis can have been that of the channels.
    """
    for call in source.named("reshape", "view"):
        if (source.class_around(call) in source.modules) is not in_model:
            continue
        owner = source.owner(call)
        given = (
            call.args[0].elts if len(call.args) == 1 and isinstance(call.args[0], ast.Tuple) else call.args
        )
        axes = []
        channels = given[0].value if given and isinstance(given[0], ast.Constant) else None
        if isinstance(channels, int) and channels > 1 and len(given) == 3:
            if [unparse(g) for g in given[1:]] == [f"{owner}.shape[{i}]" for i in (0, 1)]:
                return at(source, call, "a reshape cannot turn axes round: the values stay in their order")
        for size in given:
            shape = re.fullmatch(r"(\w+)\.(?:shape\[|size\()(\d)[\])]", unparse(size))
            if shape is None or shape.group(1) != owner:
                break
            axes.append(int(shape.group(2)))
        if len(axes) == len(given) > 1 and axes != sorted(axes) and sorted(axes) == list(range(len(axes))):
            return at(source, call, "a reshape cannot turn axes round: the values stay in their order")
    return None


def _torn(before: Layout, after: Layout) -> bool:
    if len(set(before) - {_NEW}) != len([a for a in before if a != _NEW]):
        return False  # two axes of one name
    common = [a for a in before if a != _NEW and after.count(a) == 1]
    if len(common) < 2 or not set(after) - {_NEW}:
        return False
    there = [a for a in after if a in common]
    if there != common:
        return True
    return _uneven(before, after, common)


def _uneven(before: Layout, after: Layout, common: list[str]) -> bool:
    """Between axes that stay, axes are made of nothing: they come out of others."""
    if set(before) == set(common):
        return False
    for start, end in zip([None, *common], [*common, None], strict=True):
        old, new = _between(before, start, end), _between(after, start, end)
        if new and not old and "-1" not in new and end is not None:
            return True
    return False


def _between(layout: Layout, start: str | None, end: str | None) -> Layout:
    first = layout.index(start) + 1 if start is not None else 0
    last = layout.index(end) if end is not None else len(layout)
    return tuple(a for a in layout[first:last] if a != "1")


def _reshapes(source: Script, function: Function) -> Iterator[tuple[ast.Call, Layout, Layout]]:
    """Reshapes of tensors whose axes are known, with the axes before and after."""
    known: dict[str, Layout] = {}
    for statement in function.body:
        if not isinstance(statement, (ast.Assign, ast.Return, ast.Expr)):
            _forget(known, statement)  # a branch, a loop: it is not known which way was taken
            continue
        for node in of(statement, ast.Call):
            if last_name(node.func) in _RESHAPES:
                if _inside(source, node, statement):
                    continue
                before = (
                    _layout(source, known, node.func.value) if isinstance(node.func, ast.Attribute) else None
                )
                after = _shape_of(node.args, before or ())
                if before is not None and after is not None and _NEW not in before[:-1]:
                    yield node, before, after
        _learn(source, known, statement)


def _inside(source: Script, node: ast.AST, statement: ast.AST) -> bool:
    """In a nested function or class, or in a block that is gone through by itself."""
    for parent in source.above(node):
        if parent is statement:
            return False
        if isinstance(parent, (ast.FunctionDef, ast.Lambda, ast.ClassDef, ast.ListComp, ast.GeneratorExp)):
            return True
    return False


def _forget(known: dict[str, Layout], statement: ast.AST) -> None:
    for node in of(statement, ast.Name):
        if isinstance(node.ctx, ast.Store):
            for name in [n for n, layout in known.items() if n.split(".")[0] == node.id or node.id in layout]:
                known.pop(name)


def _learn(source: Script, known: dict[str, Layout], statement: ast.stmt) -> None:
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return
    target, value = statement.targets[0], statement.value
    sizes = _sized(value)
    if isinstance(target, ast.Tuple) and sizes is not None:
        names = tuple(t.id if isinstance(t, ast.Name) else "" for t in target.elts)
        # a name that is given anew stands for another size from here on
        for name in [n for n, layout in known.items() if set(layout) & set(names)]:
            known.pop(name)
        if all(names) and len(set(names)) == len(names):
            known[sizes] = tuple(_NEW if n.startswith("_") else n for n in names)
    elif isinstance(target, ast.Name):
        layout = _layout(source, known, value)
        known.pop(target.id, None)
        if layout is not None:
            known[target.id] = layout
    else:
        _forget(known, target)


def _sized(value: ast.expr) -> str | None:
    """`x.shape`, `x.size()` -> what it is the shape of."""
    if isinstance(value, ast.Attribute) and value.attr == "shape":
        return unparse(value.value)
    if isinstance(value, ast.Call) and last_name(value.func) == "size" and not value.args:
        return unparse(value.func.value) if isinstance(value.func, ast.Attribute) else None
    return None


def _layout(source: Script, known: dict[str, Layout], node: ast.expr) -> Layout | None:
    """The axes of an expression, the slowest first."""
    if (found := known.get(unparse(node))) is not None:
        return found
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Attribute) and unparse(node.func.value) == "self" and len(node.args) == 1:
        made = flow(source).given(node.func)
        kind = last_name(made.value.func) if made is not None and isinstance(made.value, ast.Call) else ""
        inner = _layout(source, known, node.args[0])
        if inner is not None and _KEEPS_ALL.match(kind):
            return inner
        if inner is not None and _KEEPS_BUT_LAST.match(kind):
            return (*inner[:-1], f"{node.func.attr}*")
        return None
    if last_name(node.func) == "from_numpy" and len(node.args) == 1:
        return _layout(source, known, node.args[0])
    if not isinstance(node.func, ast.Attribute):
        return None
    inner = _layout(source, known, node.func.value)
    if inner is None:
        return None
    return _after(node, inner)


def _after(call: ast.Call, layout: Layout) -> Layout | None:
    """The axes behind a method of a tensor."""
    name = last_name(call.func)
    if name in _SAME:
        return layout
    if name in _RESHAPES:
        return _shape_of(call.args)
    places = [whole_number(a) for a in _one_list(call.args)]
    if name == "unsqueeze" or None in places:
        return None
    order = [p % len(layout) for p in places if p is not None and -len(layout) <= p < len(layout)]
    if name in ("transpose", "swapaxes", "permute") and len(order) == len(places):
        if len(order) == len(layout) and len(set(order)) == len(order) and (name != "swapaxes"):
            return tuple(layout[p] for p in order)
        if len(order) == 2 and name != "permute":
            turned = list(layout)
            turned[order[0]], turned[order[1]] = layout[order[1]], layout[order[0]]
            return tuple(turned)
    return None


def _one_list(args: list[ast.expr]) -> list[ast.expr]:
    return list(args[0].elts) if len(args) == 1 and isinstance(args[0], (ast.Tuple, ast.List)) else args


def _shape_of(args: list[ast.expr], before: Layout = ()) -> Layout | None:
    """`(b * n, c)` -> b, n, c; None where a part is neither a name, a product of names nor a number.

    The factors of one size stand in the order that they had `before`, however they are written.
    """
    found: list[str] = []
    for part in _one_list(args):
        if isinstance(part, ast.Starred):
            return None
        text = unparse(part)
        factors = text.split(" * ")
        if len(factors) > 1 and all(f.isidentifier() for f in factors):
            found += sorted(factors, key=before.index) if set(factors) <= set(before) else factors
        else:
            found.append(text)
    return tuple(found) if len(found) > 1 else None


# ------------------------------------------------------------------------------- weights that sum to one


def weights_over_other_axis(source: Script) -> Finding | None:
    """Weights of a softmax are summed over another axis than the one along which they sum to one.

    `w = softmax(s, dim=1)`, then `(w * v).sum(-1)`; or an einsum that sums over another index of the weights.
    """
    for function in source.passes:
        if re.search(r"slot|rout|cluster|linear_?att|efficient", unparse(source.parents[function]).lower()):
            continue
        for node in of(function, ast.Call):
            if last_name(node.func) in ("softmax", "Softmax"):
                axis = _axis(node)
                if axis is None:
                    continue
                names = _names_of(function, node) | kept_under(function, node)
                if _summed_elsewhere(source, function, node, names, axis):
                    return at(
                        source,
                        node,
                        f"these weights sum to one over axis {axis}, and are summed over another",
                    )
    return None


def weights_over_other_ends(source: Script) -> Finding | None:
    """`softmax(score, src)` of edges whose messages are summed where they arrive: `scatter(w * v, dst)`.

    The weights then sum to one over what leaves a node, and not over what it gets.
    """
    if "torch_geometric" not in source.text and "torch_scatter" not in source.text:
        return None
    for function in source.passes:
        softmaxes = [c for c in of(function, ast.Call) if last_name(c.func) in ("softmax", "scatter_softmax")]
        sums = [
            c
            for c in of(function, ast.Call)
            if last_name(c.func) in ("scatter", "scatter_add", "scatter_sum") and len(c.args) > 1
        ]
        weighed = {c.args[1].id for c in softmaxes if len(c.args) > 1 and isinstance(c.args[1], ast.Name)}
        summed = {c.args[1].id for c in sums if isinstance(c.args[1], ast.Name)}
        if len(softmaxes) == len(weighed) == 1 and len(summed) == 1 and weighed != summed and len(sums) == 1:
            one, other = weighed.pop(), summed.pop()
            why = f"the weights sum to one over `{one}`, and the messages are summed over `{other}`"
            return at(source, softmaxes[0], why)
    return None


def _axis(call: ast.Call) -> int | None:
    given = keyword(call, "dim") or keyword(call, "axis")
    library = isinstance(call.func, ast.Attribute) and unparse(call.func.value) in (
        *("F", "torch", "ops", "mint", "tf.nn", "tf", "nn.functional", "torch.nn.functional", "jax.nn", "nn"),
    )
    if given is None:
        rest = call.args[1:] if library or isinstance(call.func, ast.Name) else call.args
        given = rest[0] if len(rest) == 1 else None
    return whole_number(given) if given is not None else None


def _names_of(function: Function, node: ast.Call) -> set[str]:
    """The expression itself and the name that it is given, where that is given nothing else after it."""
    found = {unparse(node)}
    for other in of(function, ast.Assign):
        if other.value is node and isinstance(other.targets[0], ast.Name):
            name = other.targets[0].id
            later = [n for n in of(function, ast.Name) if n.id == name and isinstance(n.ctx, ast.Store)]
            if max(n.lineno for n in later) <= other.lineno:
                found.add(name)
    return found


def _summed_elsewhere(source: Script, function: Function, node: ast.Call, names: set[str], axis: int) -> bool:
    for call in of(function, ast.Call):
        if call.lineno < node.lineno:
            continue
        name = last_name(call.func)
        if name == "einsum" and call.args and isinstance(call.args[0], ast.Constant):
            if _einsum_elsewhere(call, names, axis):
                return True
        elif name in ("sum", "reduce_sum") and (product := _product_of(call)) is not None:
            over = _axis(call)
            sides = {unparse(product.left), unparse(product.right)}
            if over is None or not sides & names:
                continue
            rank = _rank(source, node)
            if over < 0 <= axis and rank:
                over += rank
            elif axis < 0 <= over and rank:
                axis += rank
            if (over < 0) == (axis < 0) and over != axis and "keepdim" not in unparse(call):
                return True
    return False


def _product_of(call: ast.Call) -> ast.BinOp | None:
    inner = receiver(call)
    if not isinstance(inner, ast.BinOp):
        inner = argument(call, position=0)
    return inner if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Mult) else None


def _einsum_elsewhere(call: ast.Call, names: set[str], axis: int) -> bool:
    text = call.args[0].value if isinstance(call.args[0], ast.Constant) else ""
    if not isinstance(text, str) or "->" not in text or "." in text:
        return False
    sides, result = text.replace(" ", "").split("->")
    operands = sides.split(",")
    given = call.args[1:]
    for letters, operand in zip(operands, given, strict=False):
        if unparse(operand) in names and -len(letters) <= axis < len(letters):
            others = "".join(o for o, g in zip(operands, given, strict=False) if g is not operand)
            summed = [x for x in letters if x not in result and x in others]
            return bool(summed) and letters[axis] not in summed
    return False


def _rank(source: Script, node: ast.Call) -> int | None:
    """How many axes the scores have: what a convolution gives tells it."""
    for inner in of(node, ast.Call):
        if isinstance(inner.func, ast.Attribute):
            if unparse(inner.func.value) == "self" and (made := flow(source).given(inner.func)) is not None:
                kind = last_name(made.value.func) if isinstance(made.value, ast.Call) else ""
                if (found := re.fullmatch(r"Conv([123])[dD]", kind)) is not None:
                    return int(found.group(1)) + 2
    return None


# -------------------------------------------------------------------------------------- along the batch


def softmax_over_samples(source: Script) -> Finding | None:
    """`softmax(logits, dim=0)` in a function that sums over axes 0, 2 and 3: classes stand along axis 1."""
    for call in source.named("softmax", "log_softmax"):
        function = source.function_around(call)
        if _axis(call) != 0 or source.class_around(call) in source.modules:
            continue
        text = unparse(function) if function is not None else ""
        if re.search(r"(?:dim|axis)=[(\[]0, 2, 3[)\]]|permute\(0, 3, 1, 2\)", text):
            return at(source, call, "the softmax runs over the samples, where classes stand along axis 1")
        if _of_a_batch(source, argument(call, position=0)):
            return at(source, call, "the softmax runs over the samples of the batch, not over the classes")
    return None


_ONE_SCORE = re.compile(r"squeeze|batch_size=(?:None|1)\b")  # one number for each: a list that is ranked


def _of_a_batch(source: Script, scores: ast.expr | None) -> bool:
    """`teacher(x) / T` in `for x, y in loader`: what a network gives for a batch of a loader."""
    while isinstance(scores, ast.BinOp):
        scores = scores.left
    if not isinstance(scores, ast.Call) or not scores.args or not isinstance(scores.args[0], ast.Name):
        return False
    networks = {source.owner(c) for c in source.named("eval", "train", "parameters")}
    if unparse(scores.func) not in networks or _ONE_SCORE.search(source.code):
        return False
    for loop in source.loops_around(scores):
        over = gone_over(loop.iter) if isinstance(loop, ast.For) else None
        if isinstance(over, (ast.Name, ast.Attribute)) and "loader" in last_name(over).lower():
            return isinstance(loop, ast.For) and scores.args[0].id in names_in(loop.target)
    return False


def normalised_over_batch(source: Script) -> Finding | None:
    """Vectors are brought to length one along the axis of the batch, in the model that makes them.

    `F.normalize(self.proj(x), dim=0)`: the length of a vector then hangs on what else is in the batch.
    """
    for owner in source.modules:
        for function in (f for f in owner.body if isinstance(f, ast.FunctionDef)):
            for call in of(function, ast.Call):
                if last_name(call.func) not in ("normalize", "l2_normalize"):
                    continue
                inner = argument(call, position=0)
                if isinstance(inner, ast.Name) and (made := flow(source).given(inner)) is not None:
                    inner = made.value if not made.places else None
                layer = isinstance(inner, ast.Call) and unparse(inner.func).startswith("self.")
                if layer and _axis(call) == 0 and not re.search(r"init|weight|proto", function.name):
                    return at(
                        source, call, "vectors are scaled along the batch, so that they depend on each other"
                    )
    return None

"""What a model is made of: activations, initial weights, tied weights, norms, padding, attention."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..readers.script import argument, last_name
from .side import Side, Told

_SLOPE = {"torch": 0.01, "keras": 0.3, "mindspore": 0.2}  # of LeakyReLU where nothing is said


def _activations(side: Side) -> dict[str, ast.AST] | None:
    """Activations that need saying which: GELU exact or by tanh, the slope of LeakyReLU; None: not known."""
    found: dict[str, ast.AST] = {}
    for call in side.calls("GELU", "gelu"):
        if isinstance(call.func, ast.Attribute) and last_name(call.func.value) == "self":
            continue  # a layer of that name, made elsewhere
        asked = argument(call, "approximate")
        value = side.value(asked) if asked is not None else None
        by_tanh = value in (True, "tanh")
        if asked is None and call.args and last_name(call.func) == "GELU":
            by_tanh = side.value(call.args[0]) in (True, "tanh")
        elif asked is None:
            by_tanh = side.framework == "mindspore" and last_name(call.func) == "GELU"
        elif value is None:
            return None
        found["GELU by tanh" if by_tanh else "exact GELU"] = call
    for call in side.calls("LeakyReLU", "leaky_relu"):
        place = 1 if last_name(call.func) == "leaky_relu" else 0
        asked = argument(call, "negative_slope", "alpha", position=place)
        slope = side.number(asked) if asked is not None else _SLOPE.get(side.framework)
        if slope is None:
            return None
        if asked is None and last_name(call.func) == "leaky_relu" and side.framework == "keras":
            slope = 0.2  # tf.nn's
        found[f"LeakyReLU of slope {slope:g}"] = call
    return found


def activation_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """An activation of another form or slope."""
    here, there = _activations(mine), _activations(theirs)
    if not here or not there:
        return
    new, gone = sorted(set(here) - set(there)), sorted(set(there) - set(here))
    if new and gone and any(word in new[0] and word in gone[0] for word in ("GELU", "Leaky")):
        text = f"{new[0]} here, {gone[0]} in the benchmark"
        yield Told("activation", text, mine.place(here[new[0]]), theirs.place(there[gone[0]]))


# ------------------------------------------------------------------------------- initial weights

_DRAWN = (
    r"^(?:xavier|kaiming|glorot|he)_?(?:normal|uniform)_?$|^(?:trunc_)?normal_$|^uniform_$|^orthogonal_$"
    r"|^(?:Xavier|Glorot|He|Kaiming)(?:Normal|Uniform)$|^(?:Truncated|Random)?Normal$|^RandomUniform$"
    r"|^(?:random_normal|random_uniform|truncated_normal|variance_scaling)_initializer$"
)
_INITIAL = r"init(?:ial)?(?:i[sz]er|_weights?|_std)|weight_init|reset_parameters|^init_\w|" + _DRAWN


def _initial(side: Side) -> ast.Call | None:
    """Where weights are drawn by hand, in code that something runs."""
    for call in side.matching(_DRAWN):
        if _random_numbers(side, call):
            continue
        function = side.source.function_around(call)
        called = function is None or function.name.startswith("__")
        if function is not None and not called:
            named = [n for n in side.source.of(ast.Name, ast.Attribute) if last_name(n) == function.name]
            called = bool(named)
        if called:
            return call
    return _drawn_tensor(side)


_TRAINS = ("Parameter", "Variable", "requires_grad_", "add_weight")


def _drawn_tensor(side: Side) -> ast.Call | None:
    """Random numbers that become weights: `Parameter(0.1 * randn(n, m))`, `rand(n).requires_grad_()`."""
    made = side.calls(
        "rand", "randn", "normal", "uniform", "standard_normal", "random", "rand_like", "randn_like"
    )
    trained = [p for c in side.calls(*_TRAINS) for p in side.follow(c) if isinstance(p, ast.Call)]
    trained += [
        p
        for c in made
        if (asked := argument(c, "requires_grad")) is not None and side.value(asked) is True
        for p in [c]
    ]
    return next((c for c in made if c in trained and not _as_embedding(side, c)), None)


def _as_embedding(side: Side, call: ast.Call) -> bool:
    """`Parameter(randn(1, n, d))`: a table as the framework's own embedding draws it, of deviation one."""
    above = next(iter(side.source.above(call)), None)
    whole = isinstance(above, ast.Call) and last_name(above.func) == "Parameter"
    return whole and last_name(call.func) == "randn" and side.framework == "torch"


def _random_numbers(side: Side, call: ast.Call) -> bool:
    """Whether something else than weights is drawn: a distribution, noise of the shape of another tensor."""
    if isinstance(call.func, ast.Name) and call.func.id in side.imported_from("distributions"):
        return True
    if isinstance(call.func, ast.Attribute):
        of_them = last_name(call.func.value)
        fresh = isinstance(call.func.value, ast.Call) and not any(
            isinstance(p, ast.Call) and last_name(p.func) == "Parameter" for p in side.source.above(call)
        )
        return fresh or re.search(r"(?i)^(?:tfd|dists?|distributions?|td|noise|eps)$", of_them) is not None
    return False


def start_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """The benchmark draws the initial weights by hand, and here they are those of the framework."""
    there = _initial(theirs)
    if there is None or mine.source.loose or mine.mentions("pretrained|^from_pretrained$"):
        return
    if _initial(mine) is not None:
        return
    if mine.framework != theirs.framework and not re.search(
        "(?i)^(?:trunc\\w*)?normal_?$", last_name(there.func)
    ):
        return  # it may be drawn as the other framework draws by itself
    unused = mine.matching(_DRAWN)
    if not unused and mine.mentions(_INITIAL):
        return
    text = "the benchmark sets the initial weights, this script leaves those of the framework"
    yield Told("init", text, mine.place(unused[0]) if unused else None, theirs.place(there))


# ----------------------------------------------------------------------------------- tied weights


def _tied(side: Side) -> ast.AST | None:
    for node in side.source.of(ast.Assign):
        target = node.targets[0]
        sides = (target, node.value)
        if all(isinstance(n, ast.Attribute) and n.attr in ("weight", "embedding_table") for n in sides):
            if ast.dump(target) != ast.dump(node.value):
                return node
    for call in side.source.calls:
        if last_name(call.func) in ("tie_weights", "_tie_weights"):
            return call
    return None


def ties_differ(mine: Side, theirs: Side) -> Iterator[Told]:
    """Two layers share one weight in the benchmark, and each has its own here."""
    there = _tied(theirs)
    if there is None or _tied(mine) is not None or mine.source.loose:
        return
    if mine.mentions(r"(?:^|_)tied?(?:_|$)|share|embedding_table$") or _multiplies_by_table(mine):
        return
    text = "two layers share one weight in the benchmark; here each has its own"
    yield Told("weight-sharing", text, None, theirs.place(there))


def _multiplies_by_table(side: Side) -> bool:
    """`F.linear(x, self.embed.weight)`, `x @ table.weight.T`: tied by the product itself."""
    return any(
        any(
            isinstance(n, ast.Attribute) and n.attr in ("weight", "embeddings")
            for a in c.args
            for n in ast.walk(a)
        )
        for c in side.calls("linear", "matmul", "MatMul", "einsum", "mm")
    ) or any(
        isinstance(n.op, ast.MatMult)
        and any(isinstance(x, ast.Attribute) and x.attr == "weight" for x in ast.walk(n))
        for n in side.source.of(ast.BinOp)
    )


# -------------------------------------------------------------------------- norms, padding, scores

_NORM = (
    r"^(?:BatchNorm\w*|SyncBatchNorm|BatchNormalization|LayerNorm\w*|LayerNormalization|GroupNorm\w*|RMSNorm"
    r"|InstanceNorm\w*|batch_norm\w*|layer_norm|group_norm|batch_normalization|T5LayerNorm)$"
)


_NORMS = re.compile(r"(?i)^(?!.*(?:clip|max_norm|max_grad|normal(?!i[sz]ation)|normalize)).*norm")


def norms_differ(mine: Side, theirs: Side) -> Iterator[Told]:
    """The benchmark's model normalises its activations, and nothing does here."""
    made = theirs.matching(_NORM)
    if not made or mine.source.loose or any(_NORMS.search(w) for w in mine.words):
        return
    if not mine.source.modules and not mine.matching(r"^(?:Conv\d|Linear|Dense)"):
        return  # its model comes from elsewhere
    text = f"the benchmark's model has {last_name(made[0].func)}, this one has no such layer"
    yield Told("norm-layer", text, None, theirs.place(made[0]))


def _padding(side: Side) -> dict[str, ast.AST] | None:
    """Paddings of convolutions with kernels above 1: "none", "kept" (the size stays); None: not all known."""
    found: dict[str, ast.AST] = {}
    for call in side.matching(r"^Conv[123][dD]$"):
        word = "kernel_size"
        kernel = side.number(argument(call, word, position=1 if side.framework == "keras" else 2))
        mode = side.value(argument(call, "pad_mode"))
        asked = argument(call, "padding", position=None if side.framework != "torch" else 4)
        given = side.value(asked)
        if kernel == 1:
            continue
        if side.framework == "mindspore" and mode in (None, "same", "valid"):
            found["none" if mode == "valid" else "kept"] = call
        elif isinstance(given, str):
            found["none" if given.lower() == "valid" else "kept"] = call
        elif asked is None:
            found["none"] = call
        elif isinstance(given, (int, float)):
            found["none" if given == 0 else "kept"] = call
        elif isinstance(asked, ast.BinOp):
            found["kept"] = call  # `k // 2`
        else:
            return None
    return found


def padding_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """Convolutions keep the size in the benchmark and cut the border off here, all of them."""
    here, there = _padding(mine), _padding(theirs)
    if here and there and set(here) == {"none"} and set(there) == {"kept"}:
        if mine.matching("^(?:ZeroPad|ZeroPadding|ReflectionPad|Pad)") or mine.calls("pad"):
            return
        text = (
            "convolutions without padding here, with padding in the benchmark: the border is cut off in each"
        )
        yield Told("padding", text, mine.place(here["none"]), theirs.place(there["kept"]))


def scale_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """Scores of attention are divided by the root of another width."""
    here, there = _score_scales(mine), _score_scales(theirs)
    if len(here) == len(there) == 1 and not mine.calls("scaled_dot_product_attention", "MultiheadAttention"):
        (first, a), (second, b) = *here.items(), *there.items()
        if abs(first - second) > 1e-6 * first:
            text = (
                f"attention scores are scaled by the root of {first:g} here, of {second:g} in the benchmark"
            )
            yield Told("scores-scale", text, mine.place(a), theirs.place(b))


def _score_scales(side: Side) -> dict[float, ast.AST]:
    """Widths under the roots that scores are divided by: `/ math.sqrt(d)`, `* d ** -0.5`."""
    found: dict[float, ast.AST] = {}
    for call in side.calls("sqrt"):
        value = side.number(call.args[0]) if len(call.args) == 1 else None
        if value is not None and value > 1 and any(isinstance(p, ast.BinOp) for p in side.source.above(call)):
            found[round(value, 6)] = call
    for node in side.source.of(ast.BinOp):
        if isinstance(node.op, ast.Pow) and side.number(node.right) in (-0.5, 0.5):
            value = side.number(node.left)
            if value is not None and value > 1:
                found[round(value, 6)] = node
    return found


def attends_along(mine: Side, theirs: Side) -> Iterator[Told]:
    """The softmax over scores of attention runs along another axis than the last one."""
    here, there = _axes(mine), _axes(theirs)
    if here and there and set(there) == {-1} and -1 not in here:
        axis, call = next(iter(here.items()))
        if axis not in (2, 3):  # may be the last one
            text = f"the softmax over the scores runs along axis {axis} here, the last one in the benchmark"
            yield Told("softmax-axis", text, mine.place(call), theirs.place(there[-1]))


def _multiplies(node: ast.AST) -> bool:
    """A matrix product: of queries and keys."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.MatMult)
    return isinstance(node, ast.Call) and last_name(node.func) in ("matmul", "bmm", "einsum", "BatchMatMul")


def _axes(side: Side) -> dict[int, ast.AST]:
    """Axes of softmax calls over the product of queries and keys."""
    found: dict[int, ast.AST] = {}
    for call in side.calls("softmax", "Softmax"):
        method = isinstance(call.func, ast.Attribute) and not re.match(
            r"^(?:F|nn|ops|tf|torch|functional)$", last_name(call.func.value)
        )
        axis = side.number(
            argument(call, "dim", "axis", position=0 if method or last_name(call.func) == "Softmax" else 1)
        )
        if axis is None:
            axis = -1.0 if side.framework in ("keras", "mindspore") else None
        given = (
            call.func.value if method and isinstance(call.func, ast.Attribute) else (call.args or [call])[0]
        )
        ways = [given, *(side.given.get(last_name(given), []) if isinstance(given, ast.Name) else ())]
        if axis is not None and any(_multiplies(n) for way in ways for n in side.follow(way)):
            found[int(axis)] = call
    return found

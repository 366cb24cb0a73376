"""Activations of a model in scripts that stand where another one is usual, or stand twice."""

from __future__ import annotations

import ast
import re
from itertools import pairwise

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name, receiver
from ...registry import Finding, View, probe
from ...rehearsal.judges import shows
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, first, holds_unseen_layers, imports_locals, is_evaluation, ok, on_other_sides
from ..shared.sides import either, literal
from .lists_gone_through import rounds_unbent
from .skips_lost import softmax_in_each_round

_LAYERS = re.compile(r"^(?:Lazy)?(?:Linear|Dense|Conv[123][dD]|ConvTranspose[123]d|Embedding)$")
_NORMS = re.compile(r"^(?:Batch|Layer|Group|Instance|RMS)_?Norm\w*$")
_BETWEEN = re.compile(r"^(?:Dropout\w*|(?:Max|Avg)Pool\w*|AlphaDropout)$")
_SOFTMAX = ("Softmax", "softmax", "Softmax2d")
_CHOOSES = re.compile(r"(?i)att|gate|rout|mixture|expert|select|pool|weight|score|policy|mask|memory|prob")


@probe()
def softmax_misplaced(view: View) -> Finding:
    """A softmax stands between the layers of a stack, or over the single output of a layer.

    Between layers it lets the units share a sum of one; over one value it is always one.
    Attention, gates and choices among experts are left aside by name.
    """
    return first(
        view, either(_of_one, _between, softmax_in_each_round), "the scripts stack no layers with a softmax"
    )


@probe()
def layers_unbent(view: View) -> Finding:
    """Layers of weights follow one another, and nothing but averages stands between them.

    Three and more, or two of which the first one widens: a widened layer without a bend adds nothing.
    """
    return first(
        view,
        either(shows("linear-only"), _widened, _never_bent, _bent, rounds_unbent),
        "the scripts write out no layers",
    )


def _widened(source: Script) -> Finding | None:
    """`nn.Sequential(nn.Linear(d, 4 * d), nn.Linear(4 * d, d))`, also with a dropout between them."""
    for _, layers in _stacks(source):
        known = [x for x in layers if not (isinstance(x, ast.Call) and _BETWEEN.match(last_name(x.func)))]
        for one, two in pairwise(known):
            if not (isinstance(one, ast.Call) and isinstance(two, ast.Call)):
                continue  # a name may stand for what bends
            if last_name(one.func) != "Linear" or last_name(two.func) != "Linear":
                continue
            if len(one.args) < 2 or len(two.args) < 2 or unparse(one.args[1]) != unparse(two.args[0]):
                continue
            width = one.args[1]
            if not isinstance(width, ast.BinOp) or not isinstance(width.op, ast.Mult):
                continue
            if unparse(one.args[0]) in (unparse(width.left), unparse(width.right)):
                return at(
                    source, two, "two layers follow one another without a bend, and the first one widens"
                )
    return None


_LEARNED = re.compile(r"^(?:Linear|Dense|Conv[123]d|Conv[12]D|ConvTranspose[12]d)$")
# what bends, and what bends by itself or calls what is not seen
_ACTIVATES = re.compile(
    r"(?i)relu|gelu|elu|silu|swish|mish|tanh|softplus|softsign|maxout|activation|nonlin|act\b|act_|glu"
)
_BENDS_BY_ITSELF = re.compile(
    r"(?i)softmax|sigmoid|lstm|gru|rnn|transformer|attention|clamp|maximum|square|\*\* ?[23]|\bpow\b"
    r"|\b(?:arc|a)(?:sin|cos|tan)h?\b|\bsinh\b|\berf\b|\babs\b|\bsin\b|\bcos\b|\bexp\b|torchvision|timm|from_pretrained|hub\.load|applications"
)
LAYERS = 3  # of weights: two without a bend are a factorisation


def _never_bent(source: Script) -> Finding | None:
    """Three and more layers of weights in the networks of a script, and no activation in all of its text.

    The largest of neighbours (max pooling) is no bend that a network can do with.
    """
    if not source.models or imports_locals(source) or _ACTIVATES.search(source.code):
        return None
    networks = [c for c in source.classes.values() if any(f in c.body for f in source.forwards)]
    layers = [c for m in networks for c in of(m, ast.Call) if _LEARNED.match(last_name(c.func))]
    if len(layers) < LAYERS or any(_BENDS_BY_ITSELF.search(unparse(m)) for m in networks):
        return None
    joined = any(last_name(c.func) in {n.name for n in networks} for m in networks for c in of(m, ast.Call))
    if not joined and not any(sum(c in of(m, ast.Call) for c in layers) > 1 for m in networks):
        return None  # linear models, beside one another
    if any(holds_unseen_layers(source, m) for m in networks):
        return None
    return at(source, layers[1], f"{len(layers)} layers of weights, and no activation between any of them")


def _bent(source: Script) -> Finding | None:
    """An activation stands somewhere among the layers that a script writes out."""
    made = [c for c in source.calls if _BENDS.match(last_name(c.func))]
    return ok(source, made[0], "activations stand between the layers") if made else None


_BENDS = re.compile(r"(?i)^(?:relu6?|gelu|elu|selu|silu|tanh|leaky_?relu|prelu|hardswish|mish|softplus)$")


def _stacks(source: Script) -> list[tuple[ast.AST, list[ast.expr]]]:
    """Layers that follow one another: arguments of a Sequential, lists of layers, `layers += [...]`."""
    found: list[tuple[ast.AST, list[ast.expr]]] = []
    for call in source.named("Sequential", "SequentialCell"):
        parts = call.args
        if len(parts) == 1 and isinstance(parts[0], (ast.List, ast.Tuple)):
            continue  # seen as a list
        found.append((call, list(parts)))
    for node in source.of(ast.List):
        if any(isinstance(e, ast.Call) for e in node.elts):
            found.append((node, list(node.elts)))
    return found


def _added(source: Script) -> list[tuple[ast.AST, list[ast.expr]]]:
    """Layers that a Keras model is given one by one: `model.add(Dense(8))`."""
    found: dict[tuple[str, ast.AST | None], list[ast.Call]] = {}
    for call in source.named("add"):
        if len(call.args) == 1 and isinstance(call.args[0], ast.Call):
            found.setdefault((source.owner(call), source.function_around(call)), []).append(call)
    rows = [_of_one_way(source, sorted(calls, key=lambda c: c.lineno)) for calls in found.values()]
    return [(row[0], [c.args[0] for c in row]) for row in rows if len(row) > 1]


def _of_one_way(source: Script, calls: list[ast.Call]) -> list[ast.Call]:
    """Without those that stand in the other arm of a choice that an earlier one stands in."""
    kept: list[ast.Call] = []
    for call in calls:
        if not any(on_other_sides(source, other, call) for other in kept):
            kept.append(call)
    return kept


def _own_softmax(layer: ast.expr) -> list[ast.expr]:
    """The activation of a Keras layer that ends in a softmax: `Dense(64, activation="softmax")`."""
    given = keyword(layer, "activation") if isinstance(layer, ast.Call) else None
    named = given.value if isinstance(given, ast.Constant) else last_name(given) if given is not None else ""
    return [given] if given is not None and named == "softmax" else []


def _kind(node: ast.expr) -> str:
    return last_name(node.func) if isinstance(node, ast.Call) else ""


def _named(source: Script, node: ast.AST) -> str:
    """What a stack is kept as, and the class that it stands in."""
    names = []
    for parent in source.above(node):
        if isinstance(parent, ast.Assign):
            names += [unparse(t) for t in parent.targets]
        elif isinstance(parent, ast.ClassDef):
            names.append(parent.name)
    return " ".join(names)


def _between(source: Script) -> Finding | None:
    seen = None
    for holder, given in (*_stacks(source), *_added(source)):
        parts = [p for one in given for p in (one, *_own_softmax(one))]
        kinds = [_kind(p) if p is one else "Softmax" for one in given for p in (one, *_own_softmax(one))]
        for i, kind in enumerate(kinds):
            if kind not in _SOFTMAX:
                continue
            seen = seen or parts[i]
            before, after = kinds[:i], kinds[i + 1 :]
            layered = any(_LAYERS.match(k) for k in before) or (before and _NORMS.match(before[-1]))
            goes_on = any(_LAYERS.match(k) for k in after) or (
                _repeated(source, holder) and all(_BETWEEN.match(k) for k in after)
            )
            if layered and goes_on and not _CHOOSES.search(_named(source, holder)):
                return at(
                    source, parts[i], "a softmax between layers: all units of a layer share a sum of one"
                )
    return ok(source, seen, "the softmax stands at the end") if seen is not None else None


def _repeated(source: Script, holder: ast.AST) -> bool:
    """`blocks += [...]` within a loop over widths, so that a further layer follows."""
    parent = source.parents.get(holder)
    return (
        isinstance(parent, ast.AugAssign)
        and isinstance(parent.op, ast.Add)
        and any(isinstance(p, ast.For) for p in source.above(parent))
    )


def _of_one(source: Script) -> Finding | None:
    seen = None
    for _, parts in _stacks(source):
        for layer, then in pairwise(parts):
            if _kind(then) in _SOFTMAX and _LAYERS.match(_kind(layer)):
                seen = seen or then
                if width_of(source, layer) == 1 and _over_last(then):
                    return at(source, then, "a softmax over a single output is always one")
    for function in source.passes:
        for call in of(function, ast.Call):
            if last_name(call.func) not in ("softmax", "log_softmax"):
                continue
            method = isinstance(call.func, ast.Attribute) and unparse(call.func.value) not in (
                *("F", "torch", "nn.functional", "tf.nn", "ops", "mint"),
            )
            inner = call.func.value if method and isinstance(call.func, ast.Attribute) else None
            inner = inner if method else argument(call, position=0)
            made = layer_of(source, inner) if isinstance(inner, ast.Call) else None
            if made is not None:
                seen = seen or call
                if width_of(source, made) == 1 and _over_last(call):
                    return at(source, call, "a softmax over a single output is always one")
    return ok(source, seen, "softmax has several outputs to choose from") if seen is not None else None


def layer_of(source: Script, call: ast.Call) -> ast.Call | None:
    """The layer that is called: `self.head(x)` -> `nn.Linear(8, 1)`, the last one of a stack."""
    if not isinstance(call.func, (ast.Name, ast.Attribute)):
        return None
    for made in flow(source).values(call.func, 3):
        while isinstance(made, ast.Call) and last_name(made.func) == "Sequential" and made.args:
            made = made.args[-1]
        if isinstance(made, ast.Call) and _LAYERS.match(last_name(made.func)):
            return made
    return None


def width_of(source: Script, layer: ast.expr) -> object:
    """How many outputs a linear layer has, where it is written out."""
    if not isinstance(layer, ast.Call) or not re.search(r"Linear|Dense", last_name(layer.func)):
        return None
    keras = last_name(layer.func) == "Dense" and len(layer.args) < 2
    given = (
        keyword(layer, "out_features")
        or keyword(layer, "units")
        or (layer.args[0] if keras and layer.args else argument(layer, position=1))
    )
    return literal(source, given) if given is not None else None


def _over_last(call: ast.expr) -> bool:
    """The axis is the last one, or that of the features of (batch, features); 1 may be time elsewhere."""
    if not isinstance(call, ast.Call):
        return False
    given = keyword(call, "dim") or keyword(call, "axis")
    if given is None and isinstance(call.func, ast.Attribute) and last_name(call.func) == "Softmax":
        given = argument(call, position=0)
    if given is None and last_name(call.func) in ("softmax", "log_softmax"):
        given = call.args[-1] if call.args else None
    return given is not None and unparse(given) == "-1"


_TWICE = ("sigmoid", "softmax")


def activated_twice(source: Script) -> Finding | None:
    """A score is put through sigmoid or softmax twice where it is evaluated: `sigmoid(sigmoid(x)) > 0.5`."""
    seen = None
    mine = flow(source)
    for call in source.named(*_TWICE):
        inner = _argument(call)
        if inner is None or not (is_evaluation(source, call) or _is_compared(source, call)):
            continue
        seen = seen or call
        behind = [inner, *(mine.values(inner, 2) if isinstance(inner, ast.Name) else [])]
        for value in behind:
            if isinstance(value, ast.Call) and last_name(value.func) == last_name(call.func):
                if source.function_around(value) is source.function_around(call):
                    return at(source, call, f"{last_name(call.func)} is applied to what has been through it")
    return ok(source, seen, "scores are turned into probabilities once") if seen is not None else None


def _argument(call: ast.Call) -> ast.expr | None:
    owner = receiver(call)
    if owner is not None and unparse(owner) not in (
        "torch",
        "F",
        "nn.functional",
        "tf",
        "tf.nn",
        "special",
        "jax.nn",
    ):
        return owner
    return argument(call, position=0)


def _is_compared(source: Script, call: ast.Call) -> bool:
    return any(isinstance(p, ast.Compare) for p in source.above(call))

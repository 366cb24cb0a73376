"""Which parameters train, in scripts: frozen, left out of the optimizer, replaced after it was built."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ....engine.model import State
from ...readers._tree import names_in, of, unparse
from ...readers.script import all_arguments, keyword, last_name
from ...registry import Finding, View, any_of, probe
from ...scripts.flow import Flow, flow
from ...scripts.syntax import Script
from ..model.extraction import extracts_features
from ..model.pretrained import saved_here
from ..shared.checks import at, first, ok, on_other_sides
from ..shared.sides import either
from ..step.several import part_without_optimizer
from ..tensorflow.graph_gradient import descends_part, layer_kept
from ..tensorflow.keras_slips import new_layer_untrained
from ..tensorflow.session import variables_left_out
from ..tensorflow.slips import made_untrainable
from ..trainers.deepspeed import handed_to_engine
from ..trainers.handed import gradient_weights
from ..trainers.lightning_settings import frozen_for_fit

# copies and judges that are not meant to train
# A model that another one is held against: `ref_model`, `_setup_reference_model`, `teacher`.
_REFERENCE = re.compile(r"(?i)(?:^|_|\.)(?:ref|reference|teacher|frozen)(?:_|\b)")
_ASIDE = (
    "teacher",
    "ema",
    "target",
    "momentum",
    "vgg",
    "lpips",
    "percept",
    "reward",
    "old",
    "swa",
    "average",
)


@probe()
def part_not_trained(view: View) -> Finding:
    """Parameters are frozen, or left out of the optimizer.

    Freezing counts where no adapter or linear probe is trained in place of the rest.
    """
    frozen = first(
        view,
        either(_freezes_untrained, layer_kept, made_untrainable, new_layer_untrained, frozen_for_fit),
        "the scripts show no training step",
    )
    return any_of((optimizer_gets_part(view), frozen))


# ------------------------------------------------------------------------------------------------ frozen


@probe()
def freezes_parameters(view: View) -> Finding:
    """`requires_grad = False` (Keras: `trainable = False`) on parameters that nothing switches on again.

    Copies of the model by their usual names (teacher, EMA, target, ...) and by `deepcopy` are left aside.
    False positive: fine-tuning that freezes on purpose.
    """
    return first(
        view, either(_freezes, made_untrainable, new_layer_untrained), "the scripts show no training step"
    )


def _freezes(source: Script) -> Finding | None:
    if not source.trains:
        return None
    mine, seen, reopened = flow(source), [], False
    for node, owner, value in _switches(source):
        ways = mine.values(value, 4) if isinstance(value, ast.Name) else [value]
        off = [v for v in ways if _switches_off(v) and not _of_settings(source, node, v)]
        reopened = reopened or any(isinstance(v, ast.Constant) and v.value is True for v in ways)
        if off and not _is_single(owner) and not _aside(mine, owner) and not _optional(source, node):
            if not _wrapped(source, node) and not _rate_of_zero(source, node):
                seen.append(node)
    if seen and reopened:
        return None  # what is frozen at first may train later
    if seen:
        return at(source, seen[0], "gradients are switched off for parameters")
    first_backward = source.backwards[0] if source.backwards else None
    return ok(source, first_backward, "no parameter's gradient is switched off")


def _of_settings(source: Script, node: ast.AST, value: ast.expr) -> bool:
    """`x.requires_grad = "force" in targets`: what is trained for decides, no name of a parameter."""
    bound = {n.id for p in source.above(node) if isinstance(p, ast.For) for n in of(p.target, ast.Name)}
    return isinstance(value, ast.Compare) and bool(bound) and not bound & names_in(value)


def _wrapped(source: Script, node: ast.AST) -> bool:
    """A finished model is handed over, frozen and put into evaluation mode: a calibrator trains around it."""
    function = source.function_around(node)
    if function is None or function.name != "__init__":
        return False
    given = {a.arg for a in function.args.args} - {"self"}
    loops = [p for p in source.above(node) if isinstance(p, ast.For)]
    frozen = {n.id for p in loops for n in of(p.iter, ast.Name)} & given
    quiet = {
        source.owner(c).removeprefix("self.") for c in of(function, ast.Call) if last_name(c.func) == "eval"
    }
    return bool(frozen & quiet)


def _rate_of_zero(source: Script, node: ast.AST) -> bool:
    """`if lr == 0:`: a rate of nothing that was asked for, spelled out."""
    tests = [unparse(p.test) for p in source.above(node) if isinstance(p, ast.If)]
    return any(re.search(r"(?i)(?:\blr|_lr|rate)\w*(?:\[.*\])? [=!]= 0", t) for t in tests)


# One tensor that is kept as it is, for a reason of its own: a bias before batch norm, a table of positions.
_SINGLE = re.compile(
    r"(?i)\.(?:bias|weight_g|gamma|beta|temperature|logit_scale|running_\w+)$|pos(?:ition)?(?:al)?_?emb|_pe$"
)


def _is_single(owner: ast.expr) -> bool:
    """`self.neck.bias`: one tensor that stays as it is by design."""
    return _SINGLE.search(unparse(owner)) is not None


_ADAPTS = re.compile(r"(?i)lora\b|lora_|adapter|peft|prefix_?tun|prompt_?tun|linear_?(?:prob|eval)")


def _freezes_untrained(source: Script) -> Finding | None:
    """Something is frozen, and no adapters or probes stand beside it that are trained in its place."""
    found = _freezes(source)
    if found is not None and found.state is State.PRESENT:
        off = [(n, o) for n, o, _ in _switches(source) if source.place(n) in found.where]
        if _ADAPTS.search(source.code) or any(extracts_features(source, n, o) for n, o in off):
            return None
    return found


def _features_only(source: Script) -> bool:
    """What is frozen gives features of another training, and something new is trained on top of them."""
    return any(extracts_features(source, n, o) for n, o, v in _switches(source) if _switches_off(v))


def _switches(source: Script) -> Iterator[tuple[ast.AST, ast.expr, ast.expr]]:
    """Everything that sets whether parameters train: where, of what, to what."""
    for node in source.of(ast.Assign, ast.Call):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and target.attr in ("requires_grad", "trainable"):
                    yield node, target.value, node.value
        else:
            name = last_name(node.func)
            if name == "requires_grad_" and isinstance(node.func, ast.Attribute):
                yield node, node.func.value, node.args[0] if node.args else ast.Constant(True)
            elif name == "setattr" and len(node.args) == 3 and isinstance(node.args[1], ast.Constant):
                if node.args[1].value == "requires_grad":
                    yield node, node.args[0], node.args[2]
            elif _KERAS_LAYER.match(name) and (told := keyword(node, "trainable")) is not None:
                if not _comes_with_weights(source, node):
                    yield node, node.func, told


# layers of Keras that start at random
_KERAS_LAYER = re.compile(
    r"^(?:Dense|Embedding|LSTM|GRU|SimpleRNN|(?:Separable|Depthwise)?Conv[123]D(?:Transpose)?)$"
)


def _comes_with_weights(source: Script, layer: ast.Call) -> bool:
    """It is given weights of another training: a matrix, an initializer of its own, `set_weights`."""
    told = ("weights", "embeddings_initializer", "kernel_initializer")
    loads = [c for c in source.named("load_weights") if not (c.args and saved_here(source, c.args[0]))]
    return any(keyword(layer, name) is not None for name in told) or bool(
        loads or source.named("set_weights", "from_pretrained")
    )


_COPIES = ("deepcopy", "clone", "copy", "detach")


def _optional(source: Script, node: ast.AST, depth: int = 3) -> bool:
    """An option, a pattern or a list from elsewhere decides what is frozen: `if args.freeze_encoder:`.

    A function that freezes is followed to where it is called: `if freeze: freeze_params(self)`.
    """
    above = list(source.above(node))
    tests = [p.test for p in above if isinstance(p, ast.If)]
    if any(_OPTION.search(unparse(test)) for test in tests):
        return True
    function = source.function_around(node)
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    if any(_asks(function, test) for test in tests):
        return True
    calls = source.named(function.name)
    chosen = {a.arg for a in _arguments(function)} & {
        n.id
        for part in [*tests, *(p.iter for p in above if isinstance(p, ast.For))]
        for n in of(part, ast.Name)
    }
    if calls and all(any(_OPTION.search(v) for v in _passed(function, c, chosen)) for c in calls):
        return True
    return bool(depth and calls) and all(_optional(source, call, depth - 1) for call in calls)


def _arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def _asks(function: ast.FunctionDef | ast.AsyncFunctionDef, test: ast.expr) -> bool:
    """A test of nothing but a switch that the function takes: `if not learn_recurrent:`."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    names = function.args
    some = [*names.posonlyargs, *names.args][::-1]
    pairs = [
        *zip(some, names.defaults[::-1], strict=False),
        *zip(names.kwonlyargs, names.kw_defaults, strict=True),
    ]
    switches = {a.arg for a, d in pairs if isinstance(d, ast.Constant) and isinstance(d.value, bool)}
    return isinstance(test, ast.Name) and test.id in switches


def _passed(function: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call, names: set[str]) -> list[str]:
    """What a call gives for these parameters of a function, as text."""
    places = [a.arg for a in _arguments(function) if a.arg not in ("self", "cls")]
    given = dict(zip(places, call.args, strict=False)) | {k.arg: k.value for k in call.keywords if k.arg}
    return [unparse(v) for k, v in given.items() if k in names]


_OPTION = re.compile(
    r"(?i)\b(?:args?|opts?|cfg|config|conf|hparams|params)\.|freez|frozen|fine_?tun|re\.(?:search|match)"
    r"|\.get\(['\"]requires_grad|fixed_param"
)


def _judges(owner: ast.expr) -> bool:
    """A model that another one is held against, by its name."""
    text = unparse(owner)
    return any(w in text.lower() for w in _ASIDE) or _REFERENCE.search(text) is not None


_LOSS_CLASS = re.compile(r"(?:Loss(?:es)?|Criterion|Metric)$")


def _aside(mine: Flow, owner: ast.expr) -> bool:
    """The parameters are those of a copy or of a model that only judges, as one that a loss holds."""
    if _REFERENCE.search(mine.source.function_name(owner)):
        return True
    if (held := mine.source.class_around(owner)) is not None and _LOSS_CLASS.search(held.name):
        return True
    for _ in range(4):
        if _judges(owner) or _is_written(mine, owner):
            return True
        loop = next(
            (
                p
                for p in mine.source.above(owner)
                if isinstance(p, ast.For) and isinstance(owner, ast.Name) and owner.id in names_in(p.target)
            ),
            None,
        )
        if loop is not None:
            owner = loop.iter
        several = _several(owner)
        if several:
            return all(_aside(mine, one) for one in several)
        while isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute):
            if last_name(owner.func) in _COPIES:
                return True
            owner = owner.func.value
        if _judges(owner) or _is_written(mine, owner):
            return True
        handed = mine.given(owner) if isinstance(owner, (ast.Name, ast.Attribute)) else None
        if handed is None:
            given = mine.arguments(owner)
            return bool(given) and all(_aside(mine, g) for g in given if g is not owner)
        made = handed.value
        while isinstance(made, ast.Call) and last_name(made.func) in ("eval", "to", "cuda", "train"):
            if not isinstance(made.func, ast.Attribute):
                break
            made = made.func.value
        if isinstance(made, ast.Call) and last_name(made.func) in _COPIES:
            return True
        owner = made
    return False


def _several(value: ast.expr) -> list[ast.expr]:
    """What is gone through in turn: `[*a.parameters(), *b.parameters()]`, `chain(a, b)`, `a + b`."""
    if isinstance(value, (ast.List, ast.Tuple)):
        return [e.value if isinstance(e, ast.Starred) else e for e in value.elts]
    if isinstance(value, ast.Call) and last_name(value.func) in ("chain", "list"):
        return list(value.args)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        return [value.left, value.right]
    return []


# a part gets its values from a table: `self.reference.initialize_from("MPtrj")`
_FILLS = re.compile(r"(?i)^(?:init(?:ialize)?|copy|fill)_from")


def _is_written(mine: Flow, owner: ast.expr) -> bool:
    """Values are written into it beside the optimizer, as into a momentum encoder or from a table."""
    text = unparse(owner)
    if isinstance(owner, ast.Attribute):
        calls = [c for c in mine.source.calls if mine.source.owner(c) == text]
        return any(_FILLS.search(last_name(c.func)) for c in calls)
    function = mine.source.function_around(owner)
    if not isinstance(owner, ast.Name) or function is None:
        return False
    into = (f"{owner.id}.data", owner.id)
    written = {unparse(t) for n in of(function, ast.Assign) for t in n.targets}
    return into[0] in written or any(
        mine.source.owner(call) in into and mine.source.function_around(call) is function
        for call in mine.source.named("copy_", "detach_")
    )


def _switches_off(value: ast.expr) -> bool:
    """False, or a condition on the parameter's name: some are switched off."""
    if isinstance(value, ast.Compare):
        return any(isinstance(op, (ast.In, ast.NotIn)) for op in value.ops)
    if isinstance(value, ast.Call):
        if last_name(value.func) == "bool" and value.args:
            return _switches_off(value.args[0])
        return last_name(value.func) in ("startswith", "endswith", "any", "match", "search", "fullmatch")
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not):
        return _switches_off(value.operand)
    if isinstance(value, ast.BoolOp):
        return any(_switches_off(v) for v in value.values)
    return isinstance(value, ast.Constant) and value.value is False


# ------------------------------------------------------------------------------ what the optimizer receives


@probe()
def optimizer_gets_part(view: View) -> Finding:
    """The optimizer receives the parameters of a part: `model.head.parameters()`, a slice, one group of two.

    Groups and sums of lists are put together; where a list is filled in a loop it is not judged.
    """
    return first(
        view,
        either(_optimizer_part, descends_part, variables_left_out, part_without_optimizer),
        "the scripts build no optimizer whose parameters can be followed",
    )


def _optimizer_part(source: Script) -> Finding | None:
    mine = flow(source)
    built = [(c, given) for c in source.optimizer_calls if (given := parameters_given(c)) is not None]
    built += [(c, g) for c, g in handed_to_engine(source) if not built]
    taken = [(c, c.args[1]) for c in source.named("gradient") if len(c.args) > 1]  # a tape's sources
    sliced = next((p for p in gradient_weights(source) if _is_slice(mine, p[1])), None)
    if sliced is not None:
        return at(source, sliced[0], "gradients are taken for a slice of the parameters")
    pairs = taken if source.named("GradientTape") else built
    scopes = {source.function_around(c) for c, _ in pairs}
    if source.named("add_param_group"):
        return None
    if len(scopes) != len(pairs):  # several in one place: a network of its own for each, or a choice
        return _chosen_of_one(mine, pairs)
    covers = [(c, _cover(mine, given, 16)) for c, given in pairs]
    whole = [c for c, cover in covers if cover.whole]
    if whole:  # another stage may train a part first
        return ok(source, whole[0], "the optimizer receives all parameters")
    for call, cover in covers:
        if cover.part:
            if _features_only(source):
                return None  # the rest is switched off as well: features that were trained elsewhere
            if _rest_elsewhere(source, cover.part):
                return None
            return at(source, call, f"the optimizer receives only {cover.part}")
    return None


def _rest_elsewhere(source: Script, part: str) -> bool:
    """What is left out of one optimizer is handed to what makes another: `self._other_optimizer(rest)`."""
    left_out = re.search(r"not in ([\w.]+)", part)
    return left_out is not None and any(
        re.search(r"(?i)optim", last_name(c.func)) and left_out[1] in [unparse(a) for a in c.args]
        for c in source.calls
    )


def _is_slice(mine: Flow, weights: ast.expr) -> bool:
    """`optimizer.parameters[-2:]`, also by way of a name."""
    ends = [
        e.args[0]
        if isinstance(e, ast.Call) and last_name(e.func) in ("ParameterTuple", "tuple", "list") and e.args
        else e
        for e in mine.values(weights, 4)
    ]
    return bool(ends) and all(
        isinstance(e, ast.Subscript)
        and isinstance(e.slice, ast.Slice)
        and not (e.slice.lower is None and e.slice.upper is None)
        and "param" in unparse(e.value)
        for e in ends
    )


def _chosen_of_one(mine: Flow, pairs: list[tuple[ast.Call, ast.expr]]) -> Finding | None:
    """One of several optimizers gets some parameters of a model of which no other optimizer gets the rest."""
    for call, given in pairs:
        cover, held = _cover(mine, given, 16), _owners(mine, given)
        if not cover.part or not (cover.chosen or cover.cut) or len(held) != 1:
            continue
        others = [g for c, g in pairs if c is not call and not on_other_sides(mine.source, c, call)]
        if not any(held & _owners(mine, g) or not _owners(mine, g) for g in others):
            return at(mine.source, call, f"the optimizer receives only {cover.part}")
    return None


def _owners(mine: Flow, given: ast.expr) -> set[str]:
    """The models, as they are written, whose parameters these are."""
    ways = [given, *mine.values(given, 3)]
    return {
        mine.source.owner(c)
        for w in ways
        for c in of(w, ast.Call)
        if (last_name(c.func) in PARAMETERS or "param" in last_name(c.func))
    }


def parameters_given(call: ast.Call) -> ast.expr | None:
    """What an optimizer's call receives as parameters."""
    if call.args:
        return None if isinstance(call.args[0], ast.Constant) else call.args[0]
    return next((v for name in ("params", "parameters") if (v := keyword(call, name)) is not None), None)


@dataclass(frozen=True)
class Cover:
    """How much of a model some parameters are. `part`: words for it; neither: it cannot be told."""

    whole: bool = False
    part: str = ""
    owner: str = ""  # the part is one module, by this name
    owners: tuple[str, ...] = ()  # or several
    chosen: bool = False  # the part is what a condition lets through
    cut: bool = False  # the part is a slice of the whole


def _rest_trained(mine: Flow, node: ast.AST, test: str) -> bool:
    """`p not in others`, where the function hands `others` to an optimizer of their own."""
    left = re.fullmatch(r"(?:id\()?\w+\)? not in ([\w.]+)", test)
    function = mine.source.function_around(node)
    return left is not None and any(
        re.search(r"(?i)optim|adam|sgd", last_name(c.func)) is not None
        and any(unparse(a) == left.group(1) for a in [*c.args, *(k.value for k in c.keywords)])
        for c in of(function or mine.source.tree, ast.Call)
    )


MOVES = ("to", "cuda", "cpu", "half", "float", "bfloat16", "requires_grad_")
_LISTS = ("list", "tuple", "iter", "set", "sorted", "chain", "filter", "from_iterable", "ParameterTuple")
PARAMETERS = ("parameters", "named_parameters", "trainable_params", "get_parameters", "parameters_and_names")


def _cover(mine: Flow, node: ast.expr, depth: int) -> Cover:
    if depth == 0:
        return Cover()
    if isinstance(node, ast.Call):
        return _of_call(mine, node, depth)
    if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)):
        inner = _cover(mine, node.generators[0].iter, depth - 1)
        tests = [unparse(t) for g in node.generators for t in g.ifs]
        tests = [t for t in tests if "requires_grad" not in t]
        tests = [t for t in tests if not _rest_trained(mine, node, t)]
        if inner.whole and tests:
            return Cover(part=f"the parameters for which `{tests[0][:60]}`", chosen=True)
        return replace(inner, chosen=False) if tests else inner
    if isinstance(node, (ast.List, ast.Tuple)):
        groups = [e for e in node.elts if not _still(e) and not _only_order(e)]
        if (words := _no_complement(mine, groups)) is not None:
            return Cover(part=words)
        return _together(mine, [_cover(mine, e, depth - 1) for e in groups])
    if isinstance(node, ast.Starred):
        return _cover(mine, node.value, depth - 1)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _together(mine, [_cover(mine, e, depth - 1) for e in (node.left, node.right)])
    if isinstance(node, ast.Dict):
        inside = [
            v
            for k, v in zip(node.keys, node.values, strict=True)
            if isinstance(k, ast.Constant) and k.value == "params"
        ]
        return _cover(mine, inside[0], depth - 1) if inside else Cover()
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        inner = _cover(mine, node.value, depth - 1)
        return Cover(part="a slice of the parameters", cut=True) if inner.whole else inner
    if isinstance(node, ast.Attribute) and node.attr in ("trainable_variables", "trainable_weights"):
        return _of_owner(mine, node.value, node)
    if isinstance(node, (ast.Name, ast.Attribute)) and _is_filled(mine.source, unparse(node)):
        return Cover()
    ends = [v for v in mine.values(node, 2) if v is not node]
    covers = [_cover(mine, v, depth - 1) for v in ends]
    parts = [c for c in covers if c.part]
    if covers and len(parts) == len(covers):
        return parts[0]
    return Cover(whole=bool(covers) and all(c.whole for c in covers))


def _of_call(mine: Flow, node: ast.Call, depth: int) -> Cover:
    name = last_name(node.func)
    if name in PARAMETERS and isinstance(node.func, ast.Attribute):
        return _of_owner(mine, node.func.value, node)
    if name in ("items", "values") and isinstance(node.func, ast.Attribute):
        return _cover(mine, node.func.value, depth - 1)
    if name in ("dict",) and keyword(node, "params") is not None:
        return _cover(mine, node.keywords[0].value, depth - 1)
    if name in _LISTS and node.args:
        if name == "filter":
            test = unparse(node.args[0])
            inner = _cover(mine, node.args[-1], depth - 1)
            if inner.whole and "requires_grad" not in test and not isinstance(node.args[0], ast.Constant):
                return Cover(part=f"the parameters for which `{test[:60]}`", chosen=True)
            return inner
        return _together(mine, [_cover(mine, a, depth - 1) for a in node.args])
    ends = [v for v in mine.values(node, 2) if v is not node]
    return _cover(mine, ends[0], depth - 1) if len(ends) == 1 else Cover()


_WHOLE_NAMES = (
    "model",
    "net",
    "network",
    "networks",
    "neural_network",
    "neural_networks",
    "module",
    "self",
    "engine",
    "policy",
    "agent",
    "wrapped",
    "transformer",
    "student",
    "online",
)
_PLAIN = (
    "Linear",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "Embedding",
    "LSTM",
    "GRU",
    "RNN",
    "Sequential",
    "Dense",
    "Conv",
)


def _of_owner(mine: Flow, owner: ast.expr, node: ast.AST, depth: int = 4) -> Cover:
    """`model.parameters()` is all, `model.head.parameters()` a part; names of parts are followed."""
    text = unparse(owner)
    words = f"the parameters of {text}"
    if isinstance(owner, ast.Subscript):
        return Cover(part=words, owner=text)
    if isinstance(owner, ast.Attribute):
        held = mine.class_around(node)
        of_self = isinstance(owner.value, ast.Name) and owner.value.id == "self"
        if not of_self:
            if owner.attr in _WHOLE_NAMES:
                return Cover(whole=True)
            base = mine.made(owner.value)
            if base is not None and base not in mine.source.modules:
                return Cover(whole=True)  # an attribute of what is no model: a trainer, a bundle
            return Cover(part=words, owner=text)
        # a trainer without a base class may have a method `forward` as well
        if held is not None and held.bases and any(f in held.body for f in mine.source.forwards):
            layers = layers_of(held)
            known = {last_name(v.func) for v in layers.values()}
            others = [n for n, call in layers.items() if n != text and _is_apart(mine, n, call, text)]
            if text in layers and others and known & {*_PLAIN, *mine.source.classes}:
                return Cover(part=words, owner=text)
            return Cover(whole=True)
    if depth and isinstance(owner, (ast.Name, ast.Attribute)):
        given = mine.given(owner)
        ways = [given.value] if given is not None and not given.places else mine.arguments(owner)
        ways = [
            w for w in ways if isinstance(w, (ast.Attribute, ast.Subscript, ast.Name)) and unparse(w) != text
        ]
        covers = [_of_owner(mine, w, w, depth - 1) for w in ways]
        if covers and all(c.part for c in covers):
            return covers[0]
    return Cover(whole=True)


def _is_apart(mine: Flow, name: str, made: ast.Call, part: str) -> bool:
    """A layer beside a part: no copy that only judges, nothing built from the part, no plain object."""
    given = all_arguments(made)
    if any(unparse(n) == part for a in given for n in of(a, ast.expr)):
        return False  # `Agent(self.net)`, `Adam(self.net.parameters())`
    held = mine.source.classes.get(last_name(made.func))
    if held is not None and held not in mine.source.modules:
        return False
    if held is None and _WEIGHTLESS.search(last_name(made.func)):
        return False
    return not any(w in name.lower() for w in _ASIDE) and _REFERENCE.search(name) is None


# What libraries call losses, figures, activations and shapes: nothing in them is trained.
_WEIGHTLESS = re.compile(
    r"Loss$|^(?:Smooth)?(?:L1|MSE|KLDiv|BCE)|Crossentropy$|^(?:\w*Accuracy|Mean\w*|F1Score|AUROC|Precision|Recall)$"
    r"|Metric(?:Collection)?$|^(?:Leaky|S)?(?:ReLU|GELU|SiLU|Tanh|Sigmoid|Softmax|LogSoftmax|Identity|Flatten)\d*$"
    r"|^(?:Dropout|AvgPool|MaxPool|AdaptiveAvgPool|AdaptiveMaxPool|Upsample|Unfold|Pad)\w*$"
)


def layers_of(owner: ast.ClassDef) -> dict[str, ast.Call]:
    """What a class assigns to its attributes by calling something: `self.fc = nn.Linear(...)`."""
    return {
        unparse(node.targets[0]): node.value
        for node in of(owner, ast.Assign)
        if isinstance(node.value, ast.Call)
        and isinstance(node.targets[0], ast.Attribute)
        and last_name(node.value.func)[:1].isupper()
    }


def _together(mine: Flow, covers: list[Cover]) -> Cover:
    """Several lists or groups: all that have parts of one kind may make up the whole."""
    if not covers or all(c.whole for c in covers):
        return Cover(whole=bool(covers))
    if any(c.whole for c in covers):
        return Cover()  # all of one module and a part of another
    if any(not c.part for c in covers):
        return Cover()
    if len(covers) == 1:
        return covers[0]
    if all(c.chosen for c in covers):
        return Cover(whole=True)  # conditions that complete one another
    told = [c.owners or ((c.owner,) if c.owner else ()) for c in covers]
    owners = {o for each in told for o in each}
    if len(owners) == 1 and all(told):
        return covers[0]  # several groups of one part
    bases = {o.rpartition(".")[0] for o in owners}
    if len(owners) > 1 and len(bases) == 1 and len(owners) == sum(map(len, told)) and all(told):
        base = next(iter(bases))
        held = _class_named(mine, base)
        if held is not None:
            missing = _with_weights(mine, held) - {o.rpartition(".")[2] for o in owners}
            if missing:
                words = f"the parameters of {', '.join(sorted(owners))}, without {sorted(missing)[0]}"
                return Cover(part=words, owners=tuple(sorted(owners)))
            return Cover(whole=True)
    return Cover()


def _class_named(mine: Flow, text: str) -> ast.ClassDef | None:
    """The class of what is written `text` somewhere in the script."""
    for node in of(mine.source.tree, ast.Name, ast.Attribute):
        if isinstance(node.ctx, ast.Load):
            if unparse(node) == text and (held := mine.made(node)) is not None:
                return held
    return None


def _with_weights(mine: Flow, owner: ast.ClassDef) -> set[str]:
    """The attributes of a class that hold layers with weights for sure."""
    return {
        name.removeprefix("self.")
        for name, call in layers_of(owner).items()
        if "." not in name.removeprefix("self.") and (_has_weights(mine, call) or _filled(mine, owner, name))
    }


def _filled(mine: Flow, owner: ast.ClassDef, name: str) -> bool:
    """`self.up = nn.ModuleList()`, then `self.up.append(Block(8))`."""
    added = [c.args[0] for c in of(owner, ast.Call) if unparse(c.func) == f"{name}.append" and c.args]
    return any(isinstance(a, ast.Call) and _has_weights(mine, a) for a in added)


def _has_weights(mine: Flow, call: ast.Call) -> bool:
    return (
        last_name(call.func) in _PLAIN
        or (
            last_name(call.func) in ("ModuleList", "CellList", "SequentialCell")
            and any(not _weightless(item) for item in call.args)
        )
        or (
            (held := mine.source.classes.get(last_name(call.func))) is not None
            and any(last_name(c.func) in _PLAIN for c in layers_of(held).values())
        )
    )


def _weightless(given: ast.expr) -> bool:
    """A list of nothing but layers without weights: `[nn.Dropout(0.3) for _ in range(5)]`."""
    items = given.elts if isinstance(given, (ast.List, ast.Tuple)) else [getattr(given, "elt", given)]
    return bool(items) and all(
        isinstance(item, ast.Call) and _WEIGHTLESS.search(last_name(item.func)) is not None for item in items
    )


def _only_order(group: ast.expr) -> bool:
    """MindSpore's `{"order_params": ...}`: no group of its own."""
    return isinstance(group, ast.Dict) and [k.value for k in group.keys if isinstance(k, ast.Constant)] == [
        "order_params"
    ]


def _no_complement(mine: Flow, groups: list[ast.expr]) -> str | None:
    """Two groups by tests on names that do not complete one another: what neither matches is left out."""
    if len(groups) != 2:
        return None
    tests = []
    for group in groups:
        given = (
            dict(zip(_keys(group), group.values, strict=True)).get("params")
            if isinstance(group, ast.Dict)
            else None
        )
        made = list(mine.values(given, 3)) if given is not None else []
        if len(made) != 1 or not isinstance(made[0], ast.ListComp) or len(made[0].generators[0].ifs) != 1:
            return None
        tests.append(unparse(made[0].generators[0].ifs[0]))
    if (left := _dimensions_left(mine, tests)) is not None:
        return f"the parameters for which `{tests[0][:40]}` or `{tests[1][:40]}`, none of {left} dimensions"
    by_name = all(re.search(r" in |startswith|endswith", t) for t in tests)
    turned = any(re.search(r"\bnot\b|!=|[<>]", t) for t in tests)
    if by_name and not turned and tests[0] != tests[1]:
        return f"the parameters for which `{tests[0][:40]}` or `{tests[1][:40]}`"
    return None


_DIMENSIONS = re.compile(r"(?:\w+\.(?:ndim|dim\(\))|len\(\w+\.shape\)) ([<>=!]=?) (\d)")
_OF_DIMENSIONS = {2: "Linear|Embedding|LSTM|GRU|RNN", 3: "Conv1d", 4: "Conv2d", 5: "Conv3d"}


def _dimensions_left(mine: Flow, tests: list[str]) -> int | None:
    """A number of dimensions of weights that neither `p.ndim == 2` nor `p.ndim < 2` takes."""
    found = [_DIMENSIONS.fullmatch(t) for t in tests]
    rules = [(m[1], int(m[2])) for m in found if m is not None]
    if len(rules) != len(tests):
        return None
    takes = {
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
        "==": operator.eq,
        "!=": operator.ne,
    }
    for size, layers in _OF_DIMENSIONS.items():
        made = [c for c in mine.source.calls if re.fullmatch(layers, last_name(c.func))]
        if made and not any(takes[sign](size, n) for sign, n in rules):
            return size
    return None


def _keys(group: ast.Dict) -> list[object]:
    return [k.value if isinstance(k, ast.Constant) else None for k in group.keys]


def _still(group: ast.expr) -> bool:
    """A group whose learning rate is zero does not train."""
    rate = None
    if isinstance(group, ast.Dict):
        named = zip(group.keys, group.values, strict=True)
        rate = next((v for k, v in named if isinstance(k, ast.Constant) and k.value == "lr"), None)
    elif isinstance(group, ast.Call):
        rate = keyword(group, "lr")
    return isinstance(rate, ast.Constant) and rate.value == 0 and rate.value is not False


def _is_filled(source: Script, name: str) -> bool:
    """A list that is filled in a loop: `params.append(p)`, `params += [...]`."""
    for call in source.named("append", "extend", "add", "update"):
        if source.owner(call).split("[")[0] == name:
            return True
    return any(unparse(n.target) == name for n in source.of(ast.AugAssign))

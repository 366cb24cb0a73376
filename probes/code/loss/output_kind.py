"""What a script's model ends in, against the loss that is taken of it and the way its answers are scored."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name, loss_name, receiver
from ...registry import Finding
from ...scripts.flow import Flow, flow, losses, objectives, returns
from ...scripts.syntax import Script
from ...scripts.untaped import untaped_block
from ..shared.checks import at, of_other_package, ok
from ..shared.sides import literal

_LAYERS = re.compile(r"^(?:Lazy)?(?:Linear|Conv[123]d|Dense)$")
_SAME = (
    *("squeeze", "unsqueeze", "view", "reshape", "flatten", "transpose", "permute", "contiguous"),
    *("float", "double", "to", "cpu"),
)
_WRAPPED = (
    "to",
    "cuda",
    "train",
    "eval",
    "half",
    "float",
    "compile",
    "DataParallel",
    "DistributedDataParallel",
    "DDP",
)
_SINGLE = re.compile(
    r"(?i)choice|candidate|rank|pointer|retriev|span|start_logits|anchor|pairwise|softmax|one_hot"
)


@dataclass(frozen=True)
class End:
    """The layer that a value comes out of, and whether dimensions of size one were taken off after it."""

    layer: ast.Call
    squeezed: bool


def ends_in(source: Script, value: ast.expr) -> End | None:
    """The last layer behind a value, with nothing but changes of shape between; None where not known."""
    return _end(source, flow(source), value, 10, False)


def _end(source: Script, mine: Flow, node: ast.expr, depth: int, squeezed: bool) -> End | None:
    if depth == 0:
        return None
    if isinstance(node, ast.Subscript):
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            following = [v for v in mine.values(node, 4) if v is not node]
            return _end(source, mine, following[0], depth - 1, squeezed) if len(following) == 1 else None
        return None
    if isinstance(node, (ast.Name, ast.Attribute)):
        given = mine.all_given(node)
        if len(given) == 1 and not given[0].places:
            return _end(source, mine, given[0].value, depth - 1, squeezed)
        handed = mine.arguments(node) if not given else []
        found = [_end(source, mine, h, depth - 1, squeezed) for h in handed]
        return found[0] if found and all(f == found[0] for f in found) else None
    if not isinstance(node, ast.Call):
        return None
    name = last_name(node.func)
    if name in _SAME:
        owner = receiver(node)
        inner = node.args[0] if owner is None or unparse(owner) in ("torch", "F") else owner
        return _end(
            source, mine, inner, depth - 1, squeezed or name in ("squeeze", "view", "flatten", "reshape")
        )
    called = mine.called(node)
    outputs = [r for f in called for r in returns(f)]
    if len(called) == 1 and len(outputs) == 1 and not isinstance(outputs[0], (ast.Tuple, ast.Dict)):
        return _end(source, mine, outputs[0], depth - 1, squeezed)
    if called:
        return None
    built = _built(mine, node.func, 5)
    return End(built, squeezed) if built is not None else None


def _built(mine: Flow, node: ast.expr, depth: int) -> ast.Call | None:
    """The layer that something callable ends in: `nn.Linear(8, 1)`, the last of a `Sequential`."""
    if depth == 0:
        return None
    if isinstance(node, (ast.Name, ast.Attribute)):
        given = mine.all_given(node)
        if len(given) == 1 and not given[0].places:
            return _built(mine, given[0].value, depth - 1)
        handed = mine.arguments(node) if not given else []
        return _built(mine, handed[0], depth - 1) if len(handed) == 1 else None
    if not isinstance(node, ast.Call):
        return None
    name = last_name(node.func)
    if _LAYERS.match(name):
        return node
    if name == "Sequential" and node.args and not isinstance(node.args[-1], ast.Starred):
        return _built(mine, node.args[-1], depth - 1)
    if name in _WRAPPED:
        inner = node.args[0] if node.args and name[:1].isupper() else None
        inner = inner or receiver(node)
        return _built(mine, inner, depth - 1) if inner is not None else None
    return None


def width(source: Script, layer: ast.Call) -> int | None:
    """How many outputs a layer has, where a number says so."""
    named = ("out_features", "out_channels", "units", "output_dim", "filters")
    given = next((k for name in named if (k := keyword(layer, name)) is not None), None)
    of_keras = re.match(r"Conv\dD", last_name(layer.func)) is not None
    place = 0 if of_keras or last_name(layer.func) in ("Dense", "LazyLinear") else 1
    given = given or argument(layer, position=place)
    value = literal(source, given)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


_PROBABILITIES = {
    "bceloss": "chances",
    "binary_cross_entropy": "chances",
    "nllloss": "logarithms of chances",
    "nll_loss": "logarithms of chances",
}


def raw_outputs_for_chances(source: Script) -> Finding | None:
    """`BCELoss()(net(x), y)`, where `net` ends in a layer and nothing squashes what comes out of it."""
    seen: ast.AST | None = None
    for call, kind in losses(source):
        if kind in _PROBABILITIES and call.args:
            seen = seen or call
            if (end := ends_in(source, call.args[0])) is not None:
                layer = source.place(end.layer).line
                wanted = f"{loss_name(kind)} takes {_PROBABILITIES[kind]}"
                return at(source, call, f"{wanted}, and gets what the layer of line {layer} gives")
    return None


def of_unseen_model(source: Script, call: ast.Call) -> bool:
    """The loss is of what a model gives that is handed in from outside, or whose `forward` a subclass has.

    `self.model(x)` of a `model` that nothing here hands over or that another package's function makes,
    `self.forward(x)` of a base class.
    """
    mine = flow(source)
    node: ast.expr | None = argument(call, position=0)
    for _ in range(8):
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, (ast.Name, ast.Attribute)):
            given = mine.given(node)
            node = given.value if given is not None else None
        elif isinstance(node, ast.Call) and last_name(node.func) in _SAME:
            node = getattr(node.func, "value", None)
        else:
            break
    if not isinstance(node, ast.Call):
        return False
    owner = mine.class_around(node)
    if owner is not None and unparse(node.func) in ("self", "self.forward"):
        held = [f for f in source.forwards if f in owner.body]
        return not held and all(last_name(b) not in source.classes for b in owner.bases)
    return _comes_from_outside(mine, node.func)


def _comes_from_outside(mine: Flow, node: ast.expr) -> bool:
    """A parameter, or an attribute set from one, that no call in the script hands a value for."""
    if isinstance(node, ast.Attribute):
        given = mine.given(node)
        if (
            given is None or given.places or unparse(given.value) == unparse(node)
        ):  # `self.model: Net = self.model`
            return False
        return _comes_from_outside(mine, given.value)
    if isinstance(node, ast.Call) and last_name(node.func) in _WRAPPED:
        inner = node.args[0] if last_name(node.func)[:1].isupper() and node.args else None
        inner = inner or getattr(node.func, "value", None)
        return isinstance(inner, ast.expr) and _comes_from_outside(mine, inner)
    if not isinstance(node, ast.Name):
        return False
    made = [v for g in (mine.arguments(node) or [node]) for v in mine.values(g, 4)]
    if made and all(_made_elsewhere(mine, m) for m in made):
        return True
    if mine.all_given(node):
        return False
    function = mine.source.function_around(node)
    named = {a.arg for a in of(function.args, ast.arg)} if function is not None else set()
    return node.id in named and not mine.arguments(node)


def _made_elsewhere(mine: Flow, node: ast.expr) -> bool:
    """`net(10).to(device)` of `from package.models import net`, a package that is no framework."""
    while isinstance(node, ast.Call) and last_name(node.func) in _WRAPPED:
        inner = receiver(node)
        if last_name(node.func)[:1].isupper() or inner is None:
            inner = argument(node, position=0)
        if inner is None:
            return False
        node = inner
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        return False
    name = node.func.id
    if name in mine.functions or name in mine.source.classes:
        return False
    return of_other_package(mine.source, name)


_SQUARED = frozenset(
    ("mseloss", "mse_loss", "l1loss", "l1_loss", "smoothl1loss", "smooth_l1_loss", "huberloss", "huber_loss")
)
_CLASSES = frozenset(
    (
        *("crossentropyloss", "cross_entropy", "nllloss", "nll_loss", "bceloss", "bcewithlogitsloss"),
        *("binary_cross_entropy", "binary_cross_entropy_with_logits"),
    )
)


def loss_of_another_task(source: Script) -> Finding | None:
    """The loss is for classes and one output is all there is, or training and evaluation read it otherwise.

    `cross_entropy` of one output is always zero or compares the samples of a batch with each other. A model
    that is trained by squared errors and scored through a sigmoid or a cross-entropy, or trained for classes
    and scored by differences from the target, has the loss of another task.
    """
    trained = [(c, k) for c, k in losses(source) if is_trained(source, c)]
    for call, kind in trained:
        if kind in ("crossentropyloss", "cross_entropy") and call.args:
            end = ends_in(source, call.args[0])
            if end is not None and width(source, end.layer) == 1 and not _SINGLE.search(_words(source)):
                return at(source, call, "a cross-entropy over classes is taken of a single output")
    kinds = {k for _, k in trained}
    if not trained or not (kinds <= _SQUARED or kinds <= _CLASSES):
        return _regression_head(source)
    scored = _scored(source)
    call = trained[0][0]
    other = _CLASSES if kinds <= _SQUARED else _SQUARED
    told = next((s for s in scored if s[1] in other), None)
    if told is not None and not any(s[1] in (_SQUARED if other is _CLASSES else _CLASSES) for s in scored):
        if len(_models_run(source)) <= 1:
            return at(
                source, call, f"training uses {next(iter(kinds))}, and evaluation reads the output {told[0]}"
            )
    return (
        ok(source, call, "training and evaluation read the output alike")
        if scored
        else _regression_head(source)
    )


def _words(source: Script) -> str:
    """The names of a script's functions and classes, which say what its task is."""
    return " ".join(n.name for n in source.of(ast.FunctionDef, ast.ClassDef)) + " ".join(
        last_name(c.func) for c in source.calls if last_name(c.func) in ("softmax", "one_hot")
    )


def is_trained(source: Script, call: ast.Call) -> bool:
    """The loss stands in a function or loop that takes gradients, or that hands its loss to a trainer."""
    function = source.function_around(call)
    if function is not None and function in source.loss_methods:
        return True
    if any(source.function_around(c) is function for c, _ in objectives(source)):
        if function is not None:
            return True
        loops = source.loops_around(call)[:1]
        return any(loops == source.loops_around(c)[:1] for c, _ in objectives(source))
    return False


_EVALUATES = re.compile(r"(?i)valid|eval|(?:^|_)test|score|predict")


def _evaluations(source: Script) -> Iterator[ast.AST]:
    """Functions and blocks that evaluate: by their name, or without gradients."""
    for function in source.of(ast.FunctionDef):
        if _EVALUATES.search(function.name) and function.name != "compute_metrics":
            yield function
    for block in source.of(ast.With):
        if untaped_block(block):
            yield block


def _scored(source: Script) -> list[tuple[str, str]]:
    """How evaluation reads the answers of the model: (in words, a loss that reads them so)."""
    found: list[tuple[str, str]] = []
    mine, known = flow(source), dict(losses(source))
    for scope in dict.fromkeys(_evaluations(source)):
        for call in of(scope, ast.Call):
            name = last_name(call.func)
            if call in known and known[call] in _CLASSES | _SQUARED:
                found.append((f"by {known[call]}", known[call]))
            elif name in ("sigmoid", "softmax") and any(_is_model(mine, a) for a in _about(call)):
                found.append((f"through a {name}", "bceloss"))
            elif name == "abs" and any(_differs(mine, a) for a in _about(call)):
                found.append(("by its difference from the target", "l1loss"))
        for power in of(scope, ast.BinOp):
            if isinstance(power.op, ast.Pow) and _differs(mine, power.left):
                found.append(("by its difference from the target", "mseloss"))
    return found


def _about(call: ast.Call) -> list[ast.expr]:
    owner = receiver(call)
    library = owner is None or unparse(owner) in ("torch", "F", "np", "nn.functional", "torch.nn.functional")
    return call.args[:1] if library or owner is None else [owner]


def _is_model(mine: Flow, node: ast.expr) -> bool:
    """The answer of a model as it is: `net(x)`, `self(x).squeeze(1)`, a name that holds it."""
    for _ in range(4):
        if (
            isinstance(node, ast.Call)
            and last_name(node.func) in _SAME
            and isinstance(node.func, ast.Attribute)
        ):
            node = node.func.value
        elif isinstance(node, ast.Name):
            given = mine.all_given(node)
            if len(given) != 1 or given[0].places:
                return False
            node = given[0].value
    return isinstance(node, ast.Call) and (
        unparse(node.func) == "self"
        or re.search(r"(?i)(?:^|[._])(?:model|net|network)$", unparse(node.func)) is not None
    )


def _differs(mine: Flow, node: ast.expr) -> bool:
    """`net(x) - y`: a raw answer less something that is no answer."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return False
    return _is_model(mine, node.left) != _is_model(mine, node.right)


def _models_run(source: Script) -> set[str]:
    """The names that models are called by."""
    return {
        unparse(c.func).split(".")[-1]
        for c in source.calls
        if re.search(
            r"(?i)(?:^|[._])(?:\w*model|\w*net|\w*network|generator|critic|actor|teacher|encoder|decoder)$",
            unparse(c.func),
        )
        and not unparse(c.func)[:1].isupper()
        and "nn." not in unparse(c.func)
    }


def _regression_head(source: Script) -> Finding | None:
    """`from_pretrained(name, num_labels=1)`, whose loss is a squared error, scored by its largest output."""
    made = [
        c
        for c in source.named("from_pretrained", "from_config")
        if "SequenceClassification" in unparse(c.func)
    ]
    for call in made:
        number, kind = (
            literal(source, keyword(call, "num_labels")),
            literal(source, keyword(call, "problem_type")),
        )
        if (number == 1 or kind == "regression") and not source.named("compute_loss"):
            if source.named("argmax") and not any(f.name == "compute_loss" for f in source.loss_methods):
                told = "num_labels=1" if number == 1 else 'problem_type="regression"'
                return at(source, call, f"{told} makes the loss a squared error, and classes are scored")
    return ok(source, made[0], "the head has one output for each class") if made else None

"""What an optimizer holds and the model has no longer: what is exchanged after the optimizer was built."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding, View, probe
from ...rehearsal.judges import shows
from ...scripts.flow import Flow, flow, returns
from ...scripts.learning import training_over
from ...scripts.syntax import Function, Script
from ..ranks.wrapped import wraps
from ..shared.checks import at, first, ok, on_other_sides
from ..shared.sides import either
from ..step.several import unpacked_in_another_order
from ..trainers.trainer_settings import layers_after_optimizer
from .cover import MOVES, PARAMETERS
from .lightning_order import layers_made_later
from .part import parameters_given

_ADDS = ("add_module", "register_module", "insert_child_to_cell", "add_sublayer")


@probe()
def optimizer_gets_other_model(view: View) -> Finding:
    """The optimizer is built over the parameters of a model made on the spot, or of one made anew after."""
    return first(
        view,
        either(
            _other_model,
            layers_made_later,
            unpacked_in_another_order,
            layers_after_optimizer,
            shows("holds-another"),
        ),
        "the scripts build no optimizer",
    )


def _other_model(source: Script) -> Finding | None:
    mine, built = flow(source), _built(source)
    for call, given in built:
        for owner in _owners(given):
            if isinstance(owner, ast.Call) and makes_model(mine, owner):
                return at(source, call, "the optimizer holds the parameters of another instance of the model")
            if isinstance(owner, ast.Call) or (later := _made_anew(mine, call, owner)) is None:
                continue
            if _taken_up(source, later, unparse(given)) or _has_served(source, call, later):
                continue  # the new model has an optimizer of its own, or is moved in another way
            line = source.place(call).line
            return at(source, later, f"the model is replaced after the optimizer of line {line} was built")
        if (twin := _twin_trained(mine, built, call, given)) is not None:
            why = f"the optimizer holds `{twin[0]}`, and gradients are taken through `{twin[1]}`"
            return at(source, call, why)
    return ok(source, built[0][0], "the optimizer holds the parameters of a named model") if built else None


def _has_served(source: Script, built: ast.Call, later: ast.AST) -> bool:
    """The optimizer is used between the two, and never below: a notebook that goes on to another model."""
    statement = source.statement(built)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return False
    name, line = statement.targets[0].id, getattr(later, "lineno", 0)
    uses = [n.lineno for n in source.of(ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
    return any(built.lineno < u < line for u in uses) and not any(u > line for u in uses)


def _twin_trained(
    mine: Flow, built: list[tuple[ast.Call, ast.expr]], call: ast.Call, given: ast.expr
) -> tuple[str, str] | None:
    """Two models of one class, or one made nowhere: what the optimizer holds is not run for gradients."""
    source, owners = mine.source, list(_owners(given))
    function = source.function_around(call)
    loop = source.train_loop
    if len(built) != 1 or len(owners) != 1 or loop is None or source.function_around(loop) is not function:
        return None
    owner = owners[0]
    if not isinstance(owner, ast.Name):
        return None
    made = mine.made(owner)
    if made not in source.modules and not _from_nowhere(source, owner.id):
        return None
    run = {c.func.id: c.func for c in of(loop, ast.Call) if isinstance(c.func, ast.Name) and c.args}
    of_class = {n: mine.made(node) for n, node in run.items() if n != owner.id}
    twins = [n for n, one in of_class.items() if one in source.modules and one is (made or one)]
    same = {id(v) for v in mine.values(owner, 3)}
    twins = [n for n in twins if same.isdisjoint(id(v) for v in mine.values(run[n], 3))]  # `net_0 = net`
    handed = [a for c in of(loop, ast.Call) for a in c.args if unparse(a) == unparse(owner)]
    if unparse(owner) in run or len(twins) != 1 or handed:
        return None
    losses = [b for b in source.backwards if any(p is loop for p in source.above(b))]
    return (unparse(owner), twins[0]) if losses else None


def _from_nowhere(source: Script, name: str) -> bool:
    """Nothing in the text makes it: a name of an earlier lesson that was left in a snippet."""
    stored = (n.id == name for n in source.of(ast.Name) if not isinstance(n.ctx, ast.Load))
    brought = (
        name in (a.asname, a.name, "*") for i in source.of(ast.Import, ast.ImportFrom) for a in i.names
    )
    return not (any(stored) or any(brought) or any(a.arg == name for a in source.of(ast.arg)))


def _built(source: Script) -> list[tuple[ast.Call, ast.expr]]:
    """Optimizers with the parameters that they are given."""
    return [(c, given) for c in source.optimizer_calls if (given := parameters_given(c)) is not None]


def _built_by(source: Script) -> list[tuple[ast.Call, ast.expr]]:
    """`optimizer = build_optimizer(model, args)`: calls of functions of the script that make an optimizer."""
    found: list[tuple[ast.Call, ast.expr]] = []
    for made in source.optimizer_calls:
        function = source.function_around(made)
        if function is None or source.class_around(function) is not None or function in source.forwards:
            continue
        returned = any(made in set(of(r, ast.Call)) for r in of(function, ast.Return))
        if returned or any(
            isinstance(r, ast.Name) and source.assigned(r.id, function) is made for r in returns(function)
        ):
            found += [
                (c, c) for c in flow(source).calls_of(function) if isinstance(source.statement(c), ast.Assign)
            ]
    return found


def _owners(given: ast.expr) -> Iterator[ast.expr]:
    """Whose parameters an optimizer gets, where it gets: `net` of `filter(f, net.parameters())`."""
    for call in of(given, ast.Call):
        if last_name(call.func) in PARAMETERS and isinstance(call.func, ast.Attribute):
            yield call.func.value
    if isinstance(given, ast.Attribute) and given.attr in _VARIABLES:
        yield given.value


_VARIABLES = ("trainable_variables", "trainable_weights", "trainable_parameters")


def _grouped(mine: Flow, given: ast.expr, depth: int = 4) -> list[ast.expr]:
    """A list of parameters, and those that groups of it are made of: `[{"params": decayed}, ...]`."""
    found = [given]
    for name in of(given, ast.Name):
        behind = mine.given(name) if depth else None
        if behind is not None and not behind.places and not any(_owners(given)):
            found += _grouped(mine, behind.value, depth - 1)
    return found


def _handed_models(mine: Flow, given: ast.expr) -> list[ast.expr]:
    """`group_params(net)`: models that a function of the script is handed and takes the parameters of."""
    found: list[ast.expr] = []
    calls = [v for v in (given, *mine.values(given, 2)) if isinstance(v, ast.Call)]
    for call in dict.fromkeys(calls):
        functions = mine.functions.get(call.func.id, []) if isinstance(call.func, ast.Name) else []
        if len(functions) != 1:
            continue
        names = [a.arg for a in functions[0].args.args]
        handed = dict(zip(names, call.args, strict=False)) | {k.arg: k.value for k in call.keywords if k.arg}
        read = {unparse(o) for c in of(functions[0], ast.Call) for o in _owners(c)}
        found += [v for n, v in handed.items() if n in read and isinstance(v, (ast.Name, ast.Attribute))]
    return found


def _kept_variables(source: Script) -> list[tuple[ast.expr, ast.expr]]:
    """`weights = net.trainable_variables`, a list that gradients of a tape are taken for later."""
    handed = {unparse(a) for c in source.named("gradient") for a in c.args[1:2]}
    return [
        (node.value, node.value)
        for node in source.of(ast.Assign)
        if isinstance(node.value, ast.Attribute) and node.value.attr in _VARIABLES
        if handed & {unparse(t) for t in node.targets}
    ]


def makes_model(mine: Flow, made: ast.Call) -> bool:
    """A class of the script is called, or a function that gives back what it has just made."""
    name = last_name(made.func)
    if name in mine.source.classes:
        return mine.source.classes[name] in mine.source.modules
    if not isinstance(made.func, ast.Name) or any("cache" in unparse(d) for d in _decorators(mine, name)):
        return False
    ends = [v for f in mine.functions.get(name, []) for r in returns(f) for v in mine.values(r, 6)]
    return bool(ends) and all(isinstance(e, ast.Call) and _is_module(mine, e) for e in ends)


def _decorators(mine: Flow, name: str) -> list[ast.expr]:
    return [d for f in mine.functions.get(name, []) for d in f.decorator_list]


_MODEL_CALLS = re.compile(
    r"(?i)(?:^|\.)(?:from_pretrained|create_model|resnet\w*|vgg\w*|vit_\w+|densenet\w*|efficientnet\w*|mobilenet\w*"
    r"|swin\w*|convnext\w*|sequential(?:cell)?)$"
)


def _is_module(mine: Flow, made: ast.Call) -> bool:
    name = last_name(made.func)
    if name in mine.source.classes:
        return mine.source.classes[name] in mine.source.modules
    if isinstance(made.func, ast.Attribute) and name in MOVES:
        inner = [v for v in mine.values(made.func.value, 4) if isinstance(v, ast.Call)]
        return bool(inner) and all(_is_module(mine, v) for v in inner if v is not made)
    return _MODEL_CALLS.search(unparse(made.func)) is not None


def _made_anew(mine: Flow, call: ast.Call, owner: ast.expr) -> ast.Assign | None:
    """`model = Net()`, `= build()` or `= deepcopy(model)` in the block of the optimizer, after it.

    Not after the training, where the optimizer has done its work.
    """
    source, text = mine.source, unparse(owner)
    block = source.parents.get(source.statement(call) or call)
    for node in source.of(ast.Assign):
        if node.lineno > call.lineno and source.parents.get(node) is block:
            if training_over(source, node):
                continue
            if any(unparse(t) == text for t in node.targets) and isinstance(node.value, ast.Call):
                made = moved(node.value)
                around = any(unparse(n) == text for n in of(node.value, ast.expr))
                if isinstance(made, ast.Call) and not around and makes_model(mine, made):
                    return node
                if last_name(node.value.func) == "deepcopy":
                    return node
    return None


def _taken_up(source: Script, later: ast.AST, given: str) -> bool:
    """An optimizer is built after the exchange too, over the same, or gets what is new as a group."""
    line = getattr(later, "lineno", 0)
    if source.named("add_param_group"):
        return True
    if any(
        c.lineno > line and source.function_around(c) is source.function_around(later)
        for c, _ in _built_by(source)
    ):
        return True
    return any(c.lineno > line and unparse(g) == given for c, g in _built(source))


def moved(value: ast.expr) -> ast.expr:
    """What is made, whatever device it goes to: `nn.Linear(8, 2).to(device)` -> `nn.Linear(8, 2)`."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in MOVES:
        value = value.func.value
    return value


# ----------------------------------------------------------------------------------------------- a new layer


@probe()
def layer_replaced_after_optimizer(view: View) -> Finding:
    """A layer is exchanged or added after the optimizer was built over the parameters of its model.

    `model.fc = Linear(...)`, `model.classifier[-1] = ...`, `setattr`, `add_module`, or a function of the
    script that does so with the model that it is handed. Left aside where an optimizer is built again, or
    gets the new parameters by `add_param_group`.
    """
    return first(view, replaced_after, "the scripts build no optimizer")


def replaced_after(source: Script) -> Finding | None:
    """Judge one program."""
    built: list[tuple[ast.expr, ast.expr]] = [*_built(source), *_built_by(source), *_kept_variables(source)]
    if not built:
        return None
    mine, changes = flow(source), None
    if (sharded := _sharded_after(source, built)) is not None:
        return sharded
    for call, given in built:
        owners = [o for g in _grouped(mine, given) for o in _owners(g)]
        for owner in owners or _handed_models(mine, given):
            if isinstance(owner, ast.Call):
                continue
            changes = list(_changes(mine)) if changes is None else changes
            for node, whose in changes:
                same = source.function_around(node) is source.function_around(call)
                if (
                    not same
                    or getattr(node, "lineno", 0) <= call.lineno
                    or on_other_sides(source, node, call)
                ):
                    continue
                if _within(unparse(whose), unparse(owner)) and not _taken_up(source, node, unparse(given)):
                    line = source.place(call).line
                    why = f"this layer replaces one that the optimizer of line {line} holds"
                    return at(source, node, why)
    return ok(source, built[0][0], "no layer is replaced after the optimizer was built")


def _sharded_after(source: Script, built: list[tuple[ast.expr, ast.expr]]) -> Finding | None:
    """`SGD(model.parameters())`, then `model = FSDP(model)`: its flat parameters are others.

    Left aside: `use_orig_params`, and an optimizer that is built again below the wrapper.
    """
    for wrap in wraps(source):
        call = wrap.call
        if last_name(call.func) not in ("FSDP", "FullyShardedDataParallel"):
            continue
        if keyword(call, "use_orig_params") is not None:
            continue
        mine = [(b, g) for b, g in built if source.function_around(b) is source.function_around(call)]
        early = [b for b, g in mine if b.lineno < call.lineno and f"{wrap.inner}." in unparse(g)]
        if early and len(early) == len(mine) and not on_other_sides(source, call, early[0]):
            line = source.place(early[0]).line
            why = f"this makes parameters of its own, and the optimizer of line {line} holds those of before"
            return at(source, call, why)
    return None


def _within(whose: str, owner: str) -> bool:
    if owner == "self":
        return whose.startswith(("self.", "self["))
    return whose == owner or whose.startswith((f"{owner}.", f"{owner}["))


def _changes(mine: Flow) -> Iterator[tuple[ast.AST, ast.expr]]:
    """Where a layer is put into a model: the statement or call, and the place that it takes."""
    source = mine.source
    yield from _put(source, source.tree)
    for call in source.calls:
        functions = mine.functions.get(call.func.id, []) if isinstance(call.func, ast.Name) else []
        if len(functions) == 1:
            yield from _put_by(mine, call, functions[0])


def _put(source: Script, scope: ast.AST) -> Iterator[tuple[ast.AST, ast.expr]]:
    for node in of(scope, ast.Assign, ast.Call):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, (ast.Attribute, ast.Subscript)) and _is_layer(source, node.value):
                    yield node, target
        elif last_name(node.func) == "setattr" and len(node.args) == 3 and _is_layer(source, node.args[2]):
            yield node, _part(node.args[0], node)
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _ADDS and len(node.args) == 2:
            if _is_layer(source, node.args[1]):
                yield node, _part(node.func.value, node)


def _part(owner: ast.expr, node: ast.AST) -> ast.expr:
    """A part of a model whose name is told at run time."""
    return ast.copy_location(ast.Subscript(owner, ast.Constant("..."), ast.Load()), node)


_LAYERS = re.compile(
    r"^(?:Linear|Dense|Conv[123][dD]|ConvTranspose\w+|Embedding\w*|Sequential(?:Cell)?|ModuleList|CellList|Identity|MLP"
    r"|\w*Head|\w*Classifier|\w*Block|\w*Layer|LSTM|GRU|RNN|BatchNorm\w*|LayerNorm|GroupNorm|Bilinear)$"
)


def _is_layer(source: Script, value: ast.expr) -> bool:
    """Weights are made: `nn.Linear(8, 2).to(device)`, a module of this script."""
    made = moved(value)
    if not isinstance(made, ast.Call):
        return False
    name = last_name(made.func)
    if name in source.classes:
        return source.classes[name] in source.modules
    if name == "Identity":
        return False
    inner = [last_name(c.func) for a in made.args for c in of(a, ast.Call)]
    if name in ("Sequential", "SequentialCell"):
        return any(_LAYERS.match(n) or n in source.classes for n in inner)
    return _LAYERS.match(name) is not None


def _put_by(mine: Flow, call: ast.Call, function: Function) -> Iterator[tuple[ast.AST, ast.expr]]:
    """What a function does to the models that it is handed: the call, and which place of its argument."""
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    handed = {n: v for n in names if (v := keyword(call, n)) is not None}
    handed |= dict(zip(names, call.args, strict=False))
    inside = set(of(function, ast.Call))
    if any(c in inside for c in mine.source.optimizer_calls):
        return
    for _, place in _put(mine.source, function):
        root = place
        while isinstance(root, (ast.Attribute, ast.Subscript)):
            root = root.value
        if isinstance(root, ast.Name) and root.id in handed:
            yield call, _part(handed[root.id], call)

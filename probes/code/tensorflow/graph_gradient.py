"""Gradients of TensorFlow's graphs in scripts: where they are cut, what they leave out, what nothing uses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import Flow, flow
from ...scripts.graph_facts import descents
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import is_false
from .graph_loss import reached

_CUTS = ("stop_gradient", "py_func", "numpy_function")
_WEIGHTS = re.compile(
    r"^(?:dense|conv\w*|Dense|Conv\w*|fully_connected|separable_conv2d|embedding_lookup|input_layer|matmul"
    r"|get_variable|Variable|\w*dynamic_rnn|static_rnn|batch_normalization|bidirectional_\w+|embed\w*)$"
)
_MEANT = re.compile(
    r"(?i)target|teacher|ema\b|mask|weight|state|momentum|advant|reward|return|baseline|old|ref_|anchor|codebook"
    r"|quanti|fake|frozen|pretrain|bert|hub|_fixed|const|q_next|prior|memory"
)


def cut_in_graph(source: Script) -> Finding | None:
    """`tf.stop_gradient` or a function of Python between the weights and the only objective of the graph."""
    found = descents(source)
    if len(found) != 1 or _elsewhere(source):
        return None
    mine = flow(source)
    uncut: set[ast.AST | None] = set()
    cuts: list[ast.Call] = []
    for node, above in reached(mine, found[0].objective):
        if isinstance(node, ast.Call) and last_name(node.func) in _CUTS:
            cuts.append(node)
        elif isinstance(node, ast.Name) and not any(_is_cut(a) for a in above):
            uncut.add(_origin(mine, node))
    for call in cuts:
        given = _cut_value(call)
        if given is None or _MEANT.search(_about(source, call)) or _straight(call):
            continue
        if isinstance(given, ast.Name) and _origin(mine, given) in uncut:
            continue
        if any(
            isinstance(n, ast.Call) and _WEIGHTS.match(last_name(n.func)) for n, _ in reached(mine, given)
        ):
            return at(source, call, "the gradient path is cut between the weights and the loss")
    return None


def _origin(mine: Flow, name: ast.Name) -> ast.AST | None:
    """The statement that a name has its value from."""
    found = mine.given(name)
    return found.statement if found is not None else None


def _is_cut(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) in _CUTS


def _cut_value(call: ast.Call) -> ast.expr | None:
    if last_name(call.func) == "stop_gradient":
        return call.args[0] if call.args else keyword(call, "input")
    given = argument(call, "inp", position=1)
    return given.elts[0] if isinstance(given, (ast.List, ast.Tuple)) and given.elts else given


def _about(source: Script, call: ast.Call) -> str:
    statement = source.statement(call)
    targets = " ".join(map(unparse, statement.targets)) if isinstance(statement, ast.Assign) else ""
    return f"{targets} {' '.join(unparse(a) for a in call.args[:1])}"


def _straight(call: ast.Call) -> bool:
    """`x + tf.stop_gradient(q - x)`: the gradient goes straight through."""
    given = argument(call, position=0)
    return isinstance(given, ast.BinOp) and isinstance(given.op, ast.Sub)


# ---------------------------------------------------------------------------------------- what is left out

_LOADS = re.compile(
    r"(?i)init_from_checkpoint|assign_from_checkpoint|hub\.|pretrain|glove|word2vec|fasttext|finetune|fine_tune"
    r"|load_weights|warm_start|transfer|imagenet"
)


def _elsewhere(source: Script) -> bool:
    """Weights come from another training, parts of which are kept as they are on purpose."""
    return source.loose or _LOADS.search(source.code) is not None


def layer_kept(source: Script) -> Finding | None:
    """`trainable=False` of a layer or a table that starts from random numbers and that nothing loads."""
    if not descents(source) or _elsewhere(source):
        return None
    for call in source.calls:
        told = keyword(call, "trainable")
        if not is_false(told):
            continue
        name = last_name(call.func)
        if name in ("get_variable", "Variable"):
            if (
                _assigned(source, call)
                or not _is_random(call)
                or re.search(r"(?i)step|count|mean|moving|ema|lr|rate", _named(source, call))
            ):
                continue
        elif not re.match(r"^(?:dense|conv\w*|Dense|Conv\w*|fully_connected|embedding|Embedding)$", name):
            continue
        return at(source, call, "these weights start from random numbers and are never trained")
    return None


def _assigned(source: Script, call: ast.Call) -> bool:
    """Something else than a descent writes into the variable: `u.assign(...)`, `tf.assign(u, ...)`."""
    statement = source.statement(call)
    names = {unparse(t) for t in statement.targets} if isinstance(statement, ast.Assign) else set()
    written = source.named("assign", "assign_add", "assign_sub", "scatter_update", "moving_average")
    return any(source.owner(c) in names or any(unparse(a) in names for a in c.args[:1]) for c in written)


def _named(source: Script, call: ast.Call) -> str:
    statement = source.statement(call)
    targets = " ".join(map(unparse, statement.targets)) if isinstance(statement, ast.Assign) else ""
    return targets + " " + " ".join(unparse(a) for a in call.args[:1])


def _is_random(call: ast.Call) -> bool:
    given = keyword(call, "initializer") or (
        call.args[0] if last_name(call.func) == "Variable" and call.args else None
    )
    return (
        given is not None
        and re.search(r"(?i)random|truncated|uniform|normal|xavier|glorot|he_", unparse(given)) is not None
    )


def descends_part(source: Script) -> Finding | None:
    """The only descent of the graph is over some of its variables: a slice, or those of one scope."""
    found = descents(source)
    if len(found) != 1 or found[0].over is None or _elsewhere(source):
        return None
    one = found[0]
    for end in flow(source).values(one.over, 4) if one.over is not None else ():
        if isinstance(end, ast.Subscript) and isinstance(end.slice, ast.Slice):
            whole = end.slice.lower is None and end.slice.upper is None
            if not whole and _all_variables(end.value):
                return at(source, one.call, "gradients are taken for a slice of the variables")
        if isinstance(end, ast.Call) and _all_variables(end) and _scope(end) is not None:
            scope = _scope(end)
            if scope is not None and not (isinstance(scope, ast.Constant) and not scope.value):
                if not _whole_scope(source, scope):
                    return at(
                        source,
                        one.call,
                        f"gradients are taken for the variables of {unparse(scope)} alone",
                    )
    return None


def _all_variables(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = last_name(node.func)
    return name in ("trainable_variables", "global_variables") or (
        name == "get_collection" and bool(node.args) and "TRAINABLE" in unparse(node.args[0])
    )


def _scope(call: ast.expr) -> ast.expr | None:
    if not isinstance(call, ast.Call):
        return None
    place = 1 if last_name(call.func) == "get_collection" else 0
    return argument(call, "scope", position=place)


def _whole_scope(source: Script, scope: ast.expr | None) -> bool:
    """Everything of the model is made under this scope: the only one at the top of its functions."""
    text = unparse(scope) if scope is not None else ""
    made = [c for c in source.named("variable_scope", "name_scope") if c.args]
    tops = {unparse(c.args[0]) for c in made if not any(o in source.above(c) for o in _withs(source, made))}
    return tops == {text} and not _layers_outside(source, made)


def _withs(source: Script, made: list[ast.Call]) -> Iterator[ast.With]:
    for node in source.of(ast.With):
        if any(i.context_expr in made for i in node.items):
            yield node


def _layers_outside(source: Script, made: list[ast.Call]) -> bool:
    inside = list(_withs(source, made))
    layers = [
        c
        for c in source.calls
        if re.match(r"^(?:dense|conv\w+|get_variable|fully_connected)$", last_name(c.func))
    ]
    return any(not any(w in source.above(c) for w in inside) for c in layers)


# -------------------------------------------------------------------------------------- made and never used


def never_read(source: Script, call: ast.Call, place: int | None = None) -> ast.stmt | None:
    """The assignment of a call whose name is read nowhere in its function, nor in those within."""
    statement = source.statement(call)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target: ast.expr = statement.targets[0]
    if isinstance(target, ast.Tuple) and place is not None and len(target.elts) > place:
        target = target.elts[place]
    if not isinstance(target, ast.Name) or target.id == "_":
        return None
    scope = source.function_around(statement) or source.tree
    read = any(n.id == target.id and isinstance(n.ctx, ast.Load) for n in of(scope, ast.Name))
    return None if read else statement


def clip_not_applied(source: Script) -> Finding | None:
    """Clipped gradients are kept under a name that nothing reads: the update gets the others."""
    if not descents(source):
        return None
    for call in source.named("clip_by_global_norm", "clip_by_norm", "clip_by_value"):
        statement = never_read(source, call, 0 if last_name(call.func) == "clip_by_global_norm" else None)
        if statement is not None and re.search(r"(?i)grad|gvs|\bg\b", unparse(statement)):
            return at(source, call, "the clipped gradients are used nowhere: the update gets those before")
    return None


_DECAYS = (
    *("exponential_decay", "cosine_decay", "polynomial_decay", "piecewise_constant", "inverse_time_decay"),
    *("natural_exp_decay", "cosine_decay_restarts", "linear_cosine_decay", "noisy_linear_cosine_decay"),
)


def decay_stands(source: Script) -> Finding | None:
    """A decayed rate that no optimizer gets, or a step that nothing counts up."""
    if not descents(source):
        return None
    for call in source.named(*_DECAYS):
        if never_read(source, call) is not None:
            return at(source, call, "the decayed rate is given to no optimizer")
        step = keyword(call, "global_step") or (_step_place(call))
        if step is None or source.loose:
            continue
        counted = [c for c in source.named("minimize", "apply_gradients") if _counts(c)]
        raised = source.named("assign_add", "increment_global_step") or "global_step" in _fed(source)
        applied = source.named("minimize", "apply_gradients")
        if applied and not counted and not raised and isinstance(step, ast.Name):
            return at(
                source, applied[0], "no global_step is given, so that the rate stays at its first value"
            )
    return None


def _step_place(call: ast.Call) -> ast.expr | None:
    place = 0 if last_name(call.func) == "piecewise_constant" else 1
    return argument(call, position=place)


def _counts(call: ast.Call) -> bool:
    return keyword(call, "global_step") is not None or len(call.args) > 1


def _fed(source: Script) -> str:
    return " ".join(unparse(k) for d in source.of(ast.Dict) for k in d.keys if k is not None)

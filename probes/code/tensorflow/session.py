"""TensorFlow's sessions in scripts: what their loop builds or begins anew, never runs, or feeds wrongly.

A graph is built once and run often. What is built in the loop that runs it stays in the graph for good.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from ...readers._tree import of, unparse
from ...readers.script import argument, last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.graph_facts import descents
from ...scripts.syntax import Script
from ..shared.checks import at, first, is_evaluation, ok
from ..shared.nodes import is_false, is_true
from ..shared.sides import literal
from .graph import applies, feeds
from .graph_gradient import never_read

_FITS = ("minimize", "apply_gradients", "create_train_op", "optimize_loss")


def _runs(source: Script) -> list[ast.Call]:
    """`sess.run(...)` of a program that builds a graph."""
    if "tensorflow" not in source.frameworks or not re.search(
        r"\b(?:Interactive)?Session\(|MonitoredTrainingSession|disable_eager_execution|disable_v2_behavior|Supervisor\(",
        source.code,
    ):
        return []
    return [
        c
        for c in source.named("run")
        if isinstance(c.func, ast.Attribute) and re.search(r"(?i)sess", unparse(c.func.value))
    ]


# ------------------------------------------------------------------------------------- built in the loop

_OPERATION = re.compile(
    r"^tf\.(?:compat\.v1\.)?(?:(?:nn|losses|layers|image|math|linalg|metrics)\.[a-z]\w*|reduce_\w+|cast|to_float|to_int32"
    r"|argmax|argmin|equal|not_equal|greater|less|add|add_n|subtract|multiply|divide|matmul|tensordot|reshape|transpose"
    r"|concat|stack|split|squeeze|expand_dims|one_hot|square|sqrt|exp|log|sigmoid|tanh|assign|assign_add|assign_sub"
    r"|constant|convert_to_tensor|random_(?:normal|uniform)|truncated_normal|clip_by_\w+|gradients|placeholder|gather\w*"
    r"|where|boolean_mask|get_variable|Variable|confusion_matrix|train\.\w+Optimizer|summary\.(?:scalar|histogram|image"
    r"|merge|merge_all)|data\.\w+)$"
)


@probe()
def graph_grows(view: View) -> Finding:
    """Operations are built in the loop that runs the session: the graph grows with every round.

    Left aside: a loop of the program itself that only scores, one that makes the graph or the session itself,
    and what has run by `tf.function`.
    """
    return first(view, _grows, "the scripts run no session in a loop")


def _grows(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    for run in _runs(source):
        loops = [x for x in source.loops_around(run) if isinstance(x, (ast.For, ast.While))]
        if not loops or _is_made_in(loops[0]):
            continue
        inside = (c for x in loops for c in of(x, ast.Call) if last_name(c.func) == "run")
        if source.function_around(run) is None and not any(applies(source, c) for c in inside):
            continue  # scored once, at the end of a notebook: slower each time, and no worse
        seen = seen or run
        for loop in loops:
            if _is_made_in(loop):
                break
            for call in of(loop, ast.Call):
                if source.function_around(call) is not source.function_around(run) or _leaves(
                    source, call, loop
                ):
                    continue
                if _in_lambda(source, call) or (
                    isinstance(loop, ast.For) and call in of(loop.iter, ast.Call)
                ):
                    continue
                if _builds(source, call):
                    return at(
                        source,
                        call,
                        "this is built anew in each round: the graph grows, and nothing frees it",
                    )
    return ok(source, seen, "the graph is built before the session runs it") if seen is not None else None


def _builds(source: Script, call: ast.Call) -> bool:
    if _OPERATION.match(unparse(call.func)):
        return True
    if last_name(call.func) in ("minimize", "compute_gradients", "apply_gradients"):
        fed = any(k.arg in ("feed_dict", "session") for k in call.keywords)  # of SciPy: runs the graph
        return isinstance(call.func, ast.Attribute) and bool(call.args) and bool(descents(source)) and not fed
    return False


def _is_made_in(loop: ast.AST) -> bool:
    """The loop makes a graph or a session of its own: for each fold, for each setting."""
    text = {last_name(c.func) for c in of(loop, ast.Call)}
    return bool(
        text & {"Session", "reset_default_graph", "Graph", "InteractiveSession", "MonitoredTrainingSession"}
    )


def _in_lambda(source: Script, call: ast.AST) -> bool:
    return any(isinstance(p, ast.Lambda) for p in source.above(call))


def _leaves(source: Script, call: ast.AST, loop: ast.AST) -> bool:
    """The block that it stands in ends the loop, or runs once."""
    for parent in source.above(call):
        if parent is loop:
            return False
        if isinstance(parent, ast.If):
            if any(isinstance(n, (ast.Break, ast.Return)) for s in parent.body for n in ast.walk(s)):
                return True
            if re.search(
                r"(?i)== 0\b|first|is None|not in |\bnot \w+", unparse(parent.test)
            ) and "%" not in unparse(parent.test):
                return True
        if isinstance(parent, ast.ExceptHandler):
            return True
    return False


# ------------------------------------------------------------------------------------- begun anew

_INIT = re.compile(r"global_variables_initializer|initialize_all_variables|variables_initializer\(tf\.global")


@probe()
def weights_begun_anew(view: View) -> Finding:
    """All variables are initialised within the epochs, or after a checkpoint was restored into them."""
    return first(view, _begun_anew, "the scripts initialise no variables in a session")


def _begun_anew(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    for run in _runs(source):
        if not run.args or not _initialises(source, run.args[0]):
            continue
        seen = seen or run
        for loop in source.loops_around(run):
            if not isinstance(loop, ast.For) or _is_made_in(loop):
                continue
            rounds = unparse(loop.target).lower()
            trains = any(c in of(loop, ast.Call) and applies(source, c) for c in source.named("run"))
            once = any(
                isinstance(p, (ast.If, ast.Try, ast.ExceptHandler))
                for p in source.above(run)
                if p is not loop
            )
            if re.search(r"epoch|step|iter|batch", rounds) and trains and not once:
                return at(source, run, "the weights start anew in every round of training")
        if (restored := _restored_above(source, run)) is not None:
            return at(source, run, f"this draws anew what line {source.place(restored).line} has restored")
    return (
        ok(source, seen, "the variables are initialised once, before training") if seen is not None else None
    )


def _initialises(source: Script, node: ast.expr) -> bool:
    if isinstance(node, (ast.List, ast.Tuple)):
        return any(_initialises(source, e) for e in node.elts)
    return any(
        _INIT.search(unparse(e)) and "local" not in unparse(e) for e in (node, *flow(source).values(node, 3))
    )


def _restored_above(source: Script, run: ast.Call) -> ast.Call | None:
    """`saver.restore(sess, path)` in the same block above, with nothing that trains in between."""
    statement = source.statement(run)
    block = source.parents.get(statement) if statement is not None else None
    for body in (getattr(block, "body", None), getattr(block, "orelse", None)):
        if not isinstance(body, list) or statement not in body:
            continue
        for before in reversed(body[: body.index(statement)]):
            if isinstance(before, (ast.For, ast.While)):
                return None
            for call in of(before, ast.Call):
                if last_name(call.func) != "restore" or len(call.args) < 2 or isinstance(before, ast.If):
                    continue
                saver = call.func.value if isinstance(call.func, ast.Attribute) else call
                whole = [m for m in flow(source).values(saver, 3) if isinstance(m, ast.Call) and m.args]
                return call if not whole else None
    return None


# ------------------------------------------------------------------------------------- never run


def train_op_never_run(source: Script) -> Finding | None:
    """`train_op = optimizer.minimize(loss)`, and no run of a session fetches it."""
    runs = _runs(source)
    if not runs or source.loose:
        return None
    steps = [c for c in source.named(*_FITS) if never_read(source, c) is not None]
    every = [c for c in source.named(*_FITS) if not isinstance(source.parents.get(c), ast.Return)]
    if steps and len(steps) == len(every):
        return at(source, steps[0], "no run of the session fetches this: nothing is ever updated")
    return None


# ------------------------------------------------------------------------------------- rates


def rate_stands_in_graph(source: Script) -> Finding | None:
    """A decayed rate that only a summary reads, or whose step is a variable that nothing counts up."""
    if not descents(source) or source.loose:
        return None
    for call in source.named(
        "exponential_decay", "cosine_decay", "polynomial_decay", "piecewise_constant", "natural_exp_decay"
    ):
        statement = source.statement(call)
        if not re.match(r"tf\.(?:compat\.v1\.)?train\.", unparse(call.func)):
            continue
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name = statement.targets[0].id
            scope = source.function_around(call) or source.tree
            reads = [n for n in of(scope, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
            if reads and all(_is_shown(source, n) for n in reads):
                return at(source, call, "the decayed rate is shown, and the optimizer is given another")
        place = 0 if last_name(call.func) == "piecewise_constant" else 1
        step = argument(call, "global_step", position=place)
        if isinstance(step, ast.Name) and (made := _variable(source, step)) is not None:
            others = [
                n
                for n in source.of(ast.Name)
                if n.id == step.id and isinstance(n.ctx, ast.Load) and n is not step
            ]
            if not others:
                return at(source, made, "this counts the steps of the schedule, and nothing counts it up")
    return None


def _is_shown(source: Script, node: ast.AST) -> bool:
    outer = next((p for p in source.above(node) if isinstance(p, ast.Call)), None)
    return outer is not None and re.search(r"(?i)summary|print|histogram", unparse(outer.func)) is not None


def _variable(source: Script, step: ast.Name) -> ast.Call | None:
    """`tf.Variable(0, trainable=False)` that is no global step of the library."""
    for end in flow(source).values(step, 3):
        if isinstance(end, ast.Call) and last_name(end.func) in ("Variable", "get_variable"):
            return None if "global_step" in unparse(end) else end
    return None


# ------------------------------------------------------------------------------------- what is fed

_KEEP = re.compile(r"(?i)keep_?prob|^kp$|dropout_keep|^keep$")
_MODE = re.compile(r"(?i)^(?:is_?|in_?)?train(?:ing)?(?:_?(?:mode|phase|flag|ph))?$|^phase(?:_?train)?$")


def fed_as_in_training(source: Script) -> Finding | None:
    """A run that evaluates is fed the mode or the share to keep of training, also by way of attributes.

    `{net.keep_prob: FLAGS.keep_prob}` in `evaluate` as in the run that trains; a share of nought, which keeps
    nothing; `net.is_training: True`.
    """
    if not _runs(source) or source.loose:
        return None
    fed = list(feeds(source))
    trains = [(c, d) for c, d in fed if applies(source, c)]
    if not trains:
        return None
    taught = {_said(k, v) for _, d in trains for k, v in _pairs(d)}
    for call, given in fed:
        if applies(source, call) or any(d is given for _, d in trains):
            continue
        if not is_evaluation(source, call) and not _is_scored(call):
            continue
        for key, value in _pairs(given):
            number = literal(source, value)
            if _KEEP.search(last_name(key)):
                if number == 0 and number is not False:
                    return at(source, value, "nothing is kept of the units that dropout stands on")
                if not isinstance(value, ast.Constant) and number != 1 and _said(key, value) in taught:
                    return at(source, value, "the evaluation drops units as training does")
            if _MODE.match(last_name(key)) and is_true(value):
                return at(source, value, "what is scored runs through the model in the mode of training")
    return None


def _pairs(given: ast.Dict) -> Iterator[tuple[ast.expr, ast.expr]]:
    for key, value in zip(given.keys, given.values, strict=True):
        if key is not None:
            yield key, value


def _said(key: ast.expr, value: ast.expr) -> tuple[str, str]:
    return last_name(key), unparse(value)


def _is_scored(call: ast.Call) -> bool:
    fetched = unparse(call.args[0]) if call.args else ""
    return re.search(r"(?i)accuracy|correct|predict|metric", fetched) is not None and not re.search(
        r"(?i)train|optim|step|update", fetched
    )


def trained_in_evaluation_mode(source: Script) -> Finding | None:
    """The run that trains is fed `net.is_training: False`."""
    for call, given in feeds(source) if _runs(source) else ():
        if not applies(source, call):
            continue
        for key, value in _pairs(given):
            if _MODE.match(last_name(key)) and is_false(value):
                return at(source, value, "training runs with the mode of evaluation")
    return None


def updates_never_run(source: Script) -> Finding | None:
    """UPDATE_OPS are read before the model is built, or no operation is built under their dependency."""
    if "tensorflow" not in source.frameworks or not descents(source) or source.loose:
        return None
    layers = source.named("batch_normalization", "batch_norm")
    kept = [c for c in source.named("get_collection") if c.args and "UPDATE_OPS" in unparse(c.args[0])]
    if not layers or not kept or source.named("create_train_op", "optimize_loss"):
        return None
    for call in kept:
        statement = source.statement(call)
        scope = source.function_around(call)
        if scope is not None and len(kept) == 1:
            builders = [
                c
                for c in of(scope, ast.Call)
                if c.lineno > call.lineno and _builds_norm(source, c, layers) and not _under(source, c, call)
            ]
            before = [
                c for c in of(scope, ast.Call) if c.lineno < call.lineno and _builds_norm(source, c, layers)
            ]
            if builders and not before and not source.loops_around(call):
                return at(source, call, "the collection is read before the model is built: it is empty")
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            continue
        name = statement.targets[0].id
        around = scope or source.tree
        reads = [n for n in of(around, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
        blocks = [
            next(
                (p for p in source.above(n) if isinstance(p, ast.With) and n in of(p.items[0], ast.Name)),
                None,
            )
            for n in reads
        ]
        if blocks and all(b is not None for b in blocks):
            made = {
                last_name(c.func) for b in blocks if b is not None for s in b.body for c in of(s, ast.Call)
            }
            if not made & {*_FITS, "group", "identity", "minimize", "tuple", "apply"} and len(kept) == 1:
                if made <= {"no_op"} and not _fetched(source, blocks):
                    return at(source, call, "nothing that is run depends on these updates")
    return None


def _builds_norm(source: Script, call: ast.Call, layers: tuple[ast.Call, ...]) -> bool:
    """A call that leads to a layer of batch norm, through functions and classes of this program."""
    waiting = flow(source).called(call)
    owner = source.classes.get(last_name(call.func))
    bodies: Sequence[ast.AST] = [*waiting, *([owner] if owner is not None else [])]
    for _ in range(3):
        if any(layer in of(b, ast.Call) for b in bodies for layer in layers):
            return True
        found = dict.fromkeys(f for b in bodies for c in of(b, ast.Call) for f in flow(source).called(c))
        bodies = [*found][:20]
    return call in layers


def _under(source: Script, call: ast.AST, other: ast.AST) -> bool:
    return any(p is source.statement(other) for p in source.above(call))


def _fetched(source: Script, blocks: list[ast.With | None]) -> bool:
    """What is built in the blocks is read again."""
    names = {
        n.id
        for b in blocks
        if b is not None
        for s in b.body
        for n in of(s, ast.Name)
        if isinstance(n.ctx, ast.Store)
    }
    return any(n.id in names and isinstance(n.ctx, ast.Load) for n in source.of(ast.Name))


def variables_left_out(source: Script) -> Finding | None:
    """The only descent of the graph is over those variables that a condition picks out of all that train."""
    found = descents(source)
    if len(found) != 1 or found[0].over is None or source.loose:
        return None
    if re.search(
        r"(?i)pretrain|restore\(|init_from_checkpoint|finetun|fine_tun|hub\.|load_weights", source.code
    ):
        saves = re.search(r"(?i)pretrain|init_from_checkpoint|finetun|fine_tun|hub\.|exclude", source.code)
        if saves:
            return None
    for end in flow(source).values(found[0].over, 3):
        if not isinstance(end, ast.ListComp) or len(end.generators) != 1 or not end.generators[0].ifs:
            continue
        over = unparse(end.generators[0].iter)
        if not re.search(r"trainable_variables\(\)|TRAINABLE_VARIABLES\)?$", over):
            continue
        test = unparse(end.generators[0].ifs[0])
        if re.search(r"startswith\(|' in \w+\.name|in \w+\.name", test) and "not" not in test:
            return at(source, found[0].call, f"gradients are taken only for variables where `{test}`")
    return None

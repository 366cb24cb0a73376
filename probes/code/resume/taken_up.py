"""Training that is taken up again, in scripts, and begins to count from zero or draws its weights anew."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.graph_facts import descents
from ...scripts.syntax import Script
from ..shared.checks import at
from ..tensorflow.graph import applies

_READS = (
    "load_state_dict",
    "load_checkpoint",
    "load_state",
    "restore",
    "load_param_into_net",
    "set_state_dict",
)
_AGAIN = re.compile(r"(?i)resum|restart|restore|continue|from_ckpt|start_from|latest|last")


def counter_not_taken_up(source: Script) -> Finding | None:
    """`for epoch in range(start, epochs)`, a checkpoint is read above it, and `start` is never but zero.

    The name shows that the count was meant to go on. Left aside: a name that anything else writes to.
    """
    if source.loose:
        return None
    for loop in source.of(ast.For):
        over = loop.iter
        if isinstance(over, ast.Call) and last_name(over.func) in ("trange", "tqdm") and over.args:
            over = over.args[0] if isinstance(over.args[0], ast.Call) else over
        if not (
            isinstance(over, ast.Call) and last_name(over.func) in ("range", "trange") and len(over.args) >= 2
        ):
            continue
        first = over.args[0]
        scope = source.function_around(loop) or source.tree
        if not isinstance(first, ast.Name) or not _always_zero(scope, first.id):
            continue
        for call in of(scope, ast.Call):
            if last_name(call.func) in _READS and call.lineno < loop.lineno and _on_demand(source, call):
                return at(
                    source,
                    call,
                    f"a checkpoint is read, and `{first.id}` stays 0: training counts from the start",
                )
    return None


def _always_zero(scope: ast.AST, name: str) -> bool:
    """Everything that is assigned to a name in a scope is zero, and something is."""
    values: list[ast.expr | None] = []
    for node in of(scope, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = zip(target.elts, node.value.elts, strict=False)
                values += [v for t, v in pairs if unparse(t) == name]
            elif name in names_in(target):
                values.append(node.value if unparse(target) == name else None)
    others: list[ast.expr] = [n.target for n in of(scope, ast.AugAssign, ast.AnnAssign, ast.NamedExpr)]
    others += [n.target for n in of(scope, ast.For)]
    shared = any(name in n.names for n in of(scope, ast.Global, ast.Nonlocal))
    if shared or any(name in names_in(t) for t in others):
        return False
    return bool(values) and all(isinstance(v, ast.Constant) and v.value == 0 for v in values)


def _on_demand(source: Script, call: ast.Call) -> bool:
    """A setting asks for it, or its own words say so: `if args.resume: ...`."""
    tests = [unparse(p.test) for p in source.above(call) if isinstance(p, ast.If)]
    return any(_AGAIN.search(t) for t in tests)


def epoch_repeated(source: Script) -> Finding | None:
    """`{"epoch": epoch}` is saved at the end of an epoch, and `start = state["epoch"]` begins with it again.

    Known where the loop over epochs stands in the program, saves in its own body below the training of that
    epoch, and starts at what was read, of a checkpoint that no place saves within an epoch.
    """
    if source.loose:
        return None
    for node in source.of(ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant) or key.value not in ("epoch", "last_epoch", "cur_epoch"):
                continue
            loops = source.loops_around(node)
            if len(loops) != 1 or not isinstance(value, ast.Name):
                continue
            loop = loops[0]
            if not isinstance(loop, ast.For) or unparse(loop.target) != value.id:
                continue
            start = _start_of(loop)
            if start is None or not _saved_below(source, loop, node):
                continue
            if (read := _read_bare(source, start, str(key.value))) is not None:
                why = "the checkpoint names the epoch that is done, and resuming begins with it again"
                return at(source, read, why)
    return None


def _start_of(loop: ast.For) -> str | None:
    """The name that `for epoch in range(start, epochs)` begins at."""
    over = loop.iter
    while isinstance(over, ast.Call) and last_name(over.func) in ("tqdm", "trange", "track") and over.args:
        if last_name(over.func) == "trange":
            break
        over = over.args[0]
    if not (
        isinstance(over, ast.Call) and last_name(over.func) in ("range", "trange") and len(over.args) == 2
    ):
        return None
    return over.args[0].id if isinstance(over.args[0], ast.Name) else None


def _saved_below(source: Script, loop: ast.For, node: ast.AST) -> bool:
    """The dict stands in the loop's own body, and the epoch is trained in a statement above it."""
    if sum(isinstance(n, ast.Dict) and _names_epoch(n) for n in of(source.tree, ast.Dict)) != 1:
        return False  # another place saves, too: it may do so within an epoch
    line = getattr(node, "lineno", 0)
    for statement in loop.body:
        if statement.lineno >= line:
            return False
        calls = of(statement, ast.Call)
        inner = of(statement, ast.For)
        trains = any(c in source.backwards or c in source.steps for c in calls)
        named = any(re.match(r"(?i)_?train", last_name(c.func)) and c.args for c in calls)
        if (trains and inner) or (named and not isinstance(statement, ast.If)):
            return True
    return False


def _names_epoch(node: ast.Dict) -> bool:
    keys = [k.value for k in node.keys if isinstance(k, ast.Constant)]
    return any(k in ("epoch", "last_epoch", "cur_epoch") for k in keys) and len(keys) > 1


def _read_bare(source: Script, name: str, key: str) -> ast.Assign | None:
    """`start = state["epoch"]`, by itself or in a tuple, and nothing adds one to it later."""
    found: ast.Assign | None = None
    for node in source.of(ast.Assign, ast.AugAssign):
        if isinstance(node, ast.AugAssign):
            if unparse(node.target) == name:
                return None
            continue
        for target in node.targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=False))
            elif isinstance(target, ast.Tuple) and name in names_in(target):
                return None
            for one, value in pairs:
                if unparse(one) != name or isinstance(value, ast.Constant):
                    continue
                text = unparse(value)
                if not re.fullmatch(
                    rf"\w+\['{key}'\]|\w+\.get\('{key}'(?:, 0)?\)|int\(\w+\['{key}'\]\)", text
                ):
                    return None
                found = node
    return found


def drawn_after_restoring(source: Script) -> Finding | None:
    """`saver.restore(sess, path)`, and below it the initializer of all variables runs."""
    for run in _drawn_below_restore(source):
        if _trains_below(source, run):
            return at(source, run, "all variables are drawn anew after the checkpoint was read")
    return None


def _drawn_below_restore(source: Script) -> Iterator[ast.Call]:
    """Unconditional runs of the initializer of all variables below a `restore` of the same function."""
    if "tensorflow" not in source.frameworks:
        return
    for call in source.named("restore"):
        function = source.function_around(call)
        for run in source.named("run"):
            told = run.args[0] if run.args else keyword(run, "fetches")
            if told is None or "global_variables_initializer" not in unparse(told):
                continue
            if source.function_around(run) is function and run.lineno > call.lineno:
                if not any(isinstance(p, ast.If) for p in source.above(run)) and not _begun_anew(
                    source, call, run
                ):
                    yield run


def _begun_anew(source: Script, before: ast.Call, after: ast.Call) -> bool:
    """A session or a graph is made between the two: what was restored belongs to another one."""
    made = source.named("Session", "InteractiveSession", "reset_default_graph", "Graph")
    return any(before.lineno < c.lineno < after.lineno for c in made)


def _trains_below(source: Script, node: ast.Call) -> bool:
    """Anything is fitted after it, in its function or in another one that is called: not only scored."""
    function = source.function_around(node)
    fits = [c for c in source.named("run") if applies(source, c)]
    if not fits:
        return True
    return any(c.lineno > node.lineno or source.function_around(c) is not function for c in fits)


def overwritten_before_scored(source: Script) -> Finding | None:
    """`saver.restore(sess, best)` after training, the initializer of all variables, and the test score."""
    for run in _drawn_below_restore(source):
        if not _trains_below(source, run):
            return at(source, run, "all variables are drawn anew before the restored weights are scored")
    return None


def _goes_on(source: Script) -> bool:
    """What is restored trains further: steps stand below it, or below a call of what restores."""
    fits = [c for c in source.named("run") if applies(source, c)]
    for restore in source.named("restore"):
        function = source.function_around(restore)
        named = source.named(function.name) if function is not None else ()
        for begin in (restore, *named):
            around = source.function_around(begin)
            if any(source.function_around(c) is around and c.lineno > begin.lineno for c in fits):
                return True
    restores = {source.function_around(c) for c in source.named("restore")}
    return not fits and any(source.function_around(d.call) in restores for d in descents(source))


def statistics_not_saved(source: Script) -> Finding | None:
    """`Saver(tf.trainable_variables())` in a program that restores: no statistics, no moments are kept."""
    if not descents(source) or not source.named("restore"):
        return None
    for call in source.named("Saver"):
        given = call.args[0] if call.args else keyword(call, "var_list")
        if isinstance(given, ast.Call) and last_name(given.func) == "trainable_variables":
            more = source.named("Saver")
            if len(more) == 1 and source.named("batch_normalization", "batch_norm"):
                return at(source, call, "checkpoints hold the trainable variables alone: no statistics")
            if len(more) == 1 and _goes_on(source) and source.named("AdamOptimizer", "MomentumOptimizer"):
                return at(
                    source, call, "checkpoints hold the trainable variables alone: no moments, no statistics"
                )
    return None

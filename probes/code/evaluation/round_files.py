"""Files of the best weights: written in each round whether better or not, or never read before the test."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse, walk
from ...readers.script import all_arguments, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import assigned
from .choices import choices
from .file_places import places


def best_file_each_round(source: Script) -> Finding | None:
    """A file that is called the best is written in each epoch, and no figure is asked.

    Told by the text of its path, by way of names as well. Left aside: rounds that may go on to the next or
    end before, and writes under any condition but that of the process.
    """
    for call in source.named("save", "save_weights", "save_checkpoint", "save_pretrained"):
        loops = source.loops_around(call)
        if not loops or not _named_best(source, call) or not _holds_weights(call):
            continue
        loop = min(loops, key=lambda x: (x.end_lineno or 0) - x.lineno)
        asked = [p for p in source.above(call) if isinstance(p, (ast.If, ast.Try)) and p in walk(loop)]
        if any(not (isinstance(p, ast.If) and _asks_process(p.test)) for p in asked):
            continue
        left = any(
            isinstance(n, (ast.Continue, ast.Break, ast.Return)) and n.lineno < call.lineno
            for n in walk(loop)
        )
        around = source.function_around(loop)
        trains = takes_gradients(source, loop) or any(
            takes_gradients(source, f) for c in of(loop, ast.Call) for f in flow(source).called(c)
        )
        if not left and trains and around is source.function_around(call) and not _builds(loop, call):
            why = "what is called the best is written in every round: the last one is kept"
            return at(source, call, why)
    return None


def _asks_process(test: ast.expr) -> bool:
    """Which process it is decides alone: `rank == 0`, not `acc > best and rank == 0`."""
    parts = test.values if isinstance(test, ast.BoolOp) else [test]
    return all(_OF_PROCESS.search(unparse(p)) for p in parts)


_OF_PROCESS = re.compile(r"(?i)rank|main_process|is_main|master|is_global_zero|accelerator\.|world")


_BEST_PATH = re.compile(
    r"(?i)(?:^|[^a-z])best(?:[^a-z](?!(?:loss|score|acc|metric|val|epoch|f1|auc|iou|err|mae)\w*$)|$)"
)


def file_each_round(source: Script) -> Finding | None:
    """`if mae < best: best = mae`, and beside it the one file is written in each epoch and read behind them.

    The figure to beat is then asked for nothing: the branch only raises it, and nothing else reads it.
    """
    for choice in choices(source):
        node, name = choice.node, unparse(choice.old)
        loops = source.loops_around(node)
        if not loops or not choice.sets or choice.kept or choice.files or node.orelse or len(node.body) != 1:
            continue
        loop = min(loops, key=lambda x: (x.end_lineno or 0) - x.lineno)
        reads = [n for n in of(source.tree, ast.Name, ast.Attribute) if unparse(n) == name]
        asked = [n for n in reads if isinstance(n.ctx, ast.Load) and n not in walk(node)]
        if asked or node not in loop.body or any(isinstance(n, ast.Continue) for n in walk(loop)):
            continue
        for call in source.named("save", "save_weights", "save_checkpoint"):
            path = call.args[-1] if call.args else None
            written = source.statement(call) in loop.body and isinstance(path, ast.Constant)
            if not written or not _holds_weights(call) or not isinstance(path, ast.Constant):
                continue
            loads = [c for c in source.named("load", "load_weights", "load_checkpoint") if c.args]
            behind = [
                c
                for c in loads
                if isinstance(c.args[0], ast.Constant)
                and c.args[0].value == path.value
                and c.lineno > (loop.end_lineno or loop.lineno)
            ]
            if behind:
                return at(source, call, f"written in every round, whether `{name}` was beaten or not")
    return None


def _named_best(source: Script, call: ast.Call) -> bool:
    for value in places(source, call):
        if isinstance(value, (ast.Name, ast.Attribute)) and re.search(
            r"(?i)(?:^|_)best(?:_(?:path|file|name|ckpt|checkpoint|model_path))?$", last_name(value)
        ):
            given = [value, *flow(source).values(value, 3)]
            if last_name(value).lower().endswith("best") and not any(_is_path(g) for g in given[1:]):
                continue  # `save(state, is_best)`, `save("last.pt", model, best)`: a flag, a figure
            return not any(isinstance(n, ast.FormattedValue) for g in given for n in walk(g))
        if isinstance(value, ast.Name) and _by_condition(source, value):
            continue  # `name = "best.pt" if better else "last.pt"`, in two arms
        for one in (value, *flow(source).values(value, 3)):
            if of(one, ast.Dict, ast.DictComp) or "state_dict" in unparse(one):
                continue  # what is written, and not where
            for text in of(one, ast.Constant):
                if isinstance(text.value, str) and _BEST_PATH.search(text.value):
                    return not any(isinstance(n, ast.FormattedValue) and _counts(n) for n in walk(one))
    return False


def _by_condition(source: Script, name: ast.Name) -> bool:
    """A condition gives the name one value or another."""
    arms = [
        p
        for g in flow(source).all_given(name)
        for p in source.above(g.value)
        if isinstance(p, ast.If) and p.orelse
    ]
    return any(arms.count(p) > 1 for p in arms) or any(
        isinstance(g.value, ast.IfExp) for g in flow(source).all_given(name)
    )


def _is_path(node: ast.expr) -> bool:
    """A text, or texts and folders put together; no entry of a dict, `state["best"]`."""
    if isinstance(node, ast.BinOp):
        return _is_path(node.left) or _is_path(node.right)
    if isinstance(node, ast.Call):
        return last_name(node.func) in ("Path", "join", "format", "joinpath") or any(map(_is_path, node.args))
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _counts(node: ast.FormattedValue) -> bool:
    """The file has the number of its round in its name."""
    return re.search(r"(?i)epoch|step|iter|\bep\b|round|trial", unparse(node.value)) is not None


def _holds_weights(call: ast.Call) -> bool:
    return last_name(call.func) != "save" or any(
        re.search(r"state_dict|model|\bnet\b|network|parameters", unparse(a)) for a in all_arguments(call)
    )


def _builds(loop: ast.AST, call: ast.Call) -> bool:
    """The loop makes a new model in each round: folds, seeds, candidates."""
    names = {n.id for a in call.args for n in of(a, ast.Name)}
    for node in of(loop, ast.Assign):
        for target, value in assigned(node):
            if isinstance(target, ast.Name) and target.id in names and isinstance(value, ast.Call):
                if not any(n.id == target.id for n in of(value, ast.Name)):
                    return True  # `model = build()`, and not `model = wrap(model)`
    return False


def scored_without_the_best(source: Script) -> Finding | None:
    """The best weights are in a file that no line of the program reads, and the last ones are tested.

    After the loop the function that scored in it scores other data, or data that are said to be the test.
    """
    for choice in choices(source):
        if not choice.files or choice.kept or source.loose:
            continue
        if not any(_holds_weights(c) for c in choice.files):
            continue
        loops = source.loops_around(choice.node)
        if not loops or _reads_weights(source):
            continue
        loop, home = loops[-1], source.function_around(choice.node)
        inside = [c for c in of(loop, ast.Call) if flow(source).called(c)]
        names = {last_name(c.func): c for c in inside if not _learns(source, c)}
        for call in source.calls:
            if source.function_around(call) is not home or source.loops_around(call):
                continue
            before = names.get(last_name(call.func))
            if before is None or call.lineno <= (loop.end_lineno or loop.lineno):
                continue
            other = [unparse(a) for a in all_arguments(call)] != [unparse(a) for a in all_arguments(before)]
            if (other and _new_data(call, before)) or _said_final(source, call):
                return at(
                    source, call, "the last weights are scored: the best ones are written and never read"
                )
    return None


def _said_final(source: Script, call: ast.Call) -> bool:
    """`print("final", self.validate())`: what is told at the end as what the training came to."""
    statement = source.statement(call)
    texts = of(statement, ast.Constant) if isinstance(statement, ast.Expr) else ()
    return any(isinstance(t.value, str) and re.match(r"(?i)\W*(?:final|best|test)\b", t.value) for t in texts)


def _new_data(call: ast.Call, before: ast.Call) -> bool:
    mine, theirs = (
        {n.id for a in all_arguments(c) for n in of(a, ast.Name)}
        | {
            str(n.slice.value)
            for a in all_arguments(c)
            for n in of(a, ast.Subscript)
            if isinstance(n.slice, ast.Constant)
        }
        for c in (call, before)
    )
    return any(re.search(r"(?i)(?:^|_)(?:test|te|tst|eval|final|holdout)|test", n) for n in mine - theirs)


def _learns(source: Script, call: ast.Call) -> bool:
    return any(takes_gradients(source, f) for f in flow(source).called(call))


def _reads_weights(source: Script) -> bool:
    return bool(
        source.named(
            *("load_state_dict", "load_weights", "load_checkpoint", "load_model", "load_param_into_net"),
            *("from_pretrained", "load_from_checkpoint", "restore", "load_parameters", "load_module"),
            *("load_state", "restore_checkpoint", "set_state_dict", "from_bytes", "from_state_dict"),
        )
    ) or any(
        re.search(r"(?i)^(?:torch|.*fabric)$", source.owner(c))
        for c in source.named("load")
        if not _of_data(source, c)
    )


def _of_data(source: Script, call: ast.Call) -> bool:
    """`orders = torch.load("orders.pt")`: a file that the program does not write."""
    written = {unparse(a) for c in source.named("save") for a in c.args[:2]}
    return not any(unparse(a) in written for a in call.args)

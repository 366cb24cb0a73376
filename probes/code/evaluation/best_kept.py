"""The best weights of scripts: kept by a figure that cannot tell, or left aside for the final score."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import all_arguments, last_name
from ...registry import Finding
from ...scripts.flow import Flow, flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at, ok, outer_loop
from ..shared.sides import side, words
from .choices import choices
from .file_places import places

_INFINITE = re.compile(
    r"^(?P<minus>-?)(?:float\(['\"](?P<sign>[-+]?)inf(?:inity)?['\"]\)|(?:math|np|numpy|torch)\.(?:inf|Inf))$"
)


def never_better(source: Script) -> Finding | None:
    """The best figure starts at infinity and a new one has to be above it, or below minus infinity."""
    seen: ast.AST | None = None
    for node in source.of(ast.If):
        parts = (
            node.test.values
            if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And)
            else [node.test]
        )
        for test in parts:
            if not isinstance(test, ast.Compare) or len(test.ops) != 1:
                continue
            if not isinstance(test.ops[0], (ast.Gt, ast.GtE, ast.Lt, ast.LtE)):
                continue
            above = isinstance(test.ops[0], (ast.Gt, ast.GtE))
            for best, other, up in (
                (test.comparators[0], test.left, above),
                (test.left, test.comparators[0], not above),
            ):
                if isinstance(other, ast.Constant) or not _sets(node, best, other):
                    continue
                start = _starts(source, best)
                if start is None:
                    continue
                seen = seen or test
                if (start > 0) is up and not _begun(source, node, best):
                    way = "above infinity" if up else "below minus infinity"
                    return at(
                        source,
                        node,
                        f"`{unparse(best)}` starts there, and nothing is ever {way}: nothing is kept",
                    )
    return ok(source, seen, "the best figure starts where any is better") if seen is not None else None


def raised_before(source: Script) -> Finding | None:
    """`best = max(score, best)` and then `score > best`, which is never so."""
    for node in source.of(ast.Compare):
        if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Gt, ast.Lt)):
            continue
        sides = [unparse(node.left), unparse(node.comparators[0])]
        low, high = sides if isinstance(node.ops[0], ast.Lt) else sides[::-1]
        statement: ast.AST | None = next((p for p in source.above(node) if isinstance(p, ast.stmt)), None)
        around = source.parents.get(statement) if statement is not None else None
        block = getattr(around, "body", [])
        if not isinstance(block, list) or statement not in block or not source.loops_around(node):
            continue
        for before in block[max(0, block.index(statement) - 3) : block.index(statement)]:
            if not isinstance(before, ast.Assign) or not isinstance(before.value, ast.Call):
                continue
            name, of_two = last_name(before.value.func), {unparse(a) for a in before.value.args}
            target = unparse(before.targets[0])
            if name not in ("max", "min") or of_two != {low, high} or len(before.value.args) != 2:
                continue
            # `high > low` is asked: never so once `low` is the larger of both, or `high` the smaller
            if target == (low if name == "max" else high):
                why = f"`{target}` was brought up to date right before: this is never true"
                return at(source, node, why)
    return None


def _begun(source: Script, test: ast.If, best: ast.expr) -> bool:
    """The first round takes its figure whatever it is: `if i == 0: best = loss`."""
    inside = set(walk(test))
    loops = source.loops_around(test)
    return any(
        unparse(t) == unparse(best) and n not in inside and source.loops_around(n)[:1] == loops[:1]
        for n in source.of(ast.Assign)
        if loops and source.loops_around(n)
        for t in n.targets
    )


def _starts(source: Script, best: ast.expr) -> float | None:
    """The sign of the infinity that a name starts with, where it starts with nothing else."""
    if not isinstance(best, (ast.Name, ast.Attribute)):
        return None
    name, found = unparse(best), set()
    for node in source.of(ast.Assign, ast.AnnAssign):
        pairs: list[tuple[ast.expr, ast.expr | None]] = []
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs += list(zip(target.elts, node.value.elts, strict=False))
            else:
                pairs.append((target, node.value))
        for target, value in pairs:
            if unparse(target) != name or value is None:
                continue
            match = _INFINITE.match(unparse(value))
            if match is not None:
                found.add(-1.0 if (match["minus"] == "-") != (match["sign"] == "-") else 1.0)
            elif isinstance(value, ast.Constant):
                return None
    return found.pop() if len(found) == 1 else None


def _sets(node: ast.If, best: ast.expr, new: ast.expr) -> bool:
    """The branch makes the new figure the best one."""
    for inner in (n for s in node.body for n in of(s, ast.Assign)):
        for target in inner.targets:
            if isinstance(target, ast.Tuple) and isinstance(inner.value, ast.Tuple):
                if (unparse(best), unparse(new)) in zip(
                    map(unparse, target.elts), map(unparse, inner.value.elts), strict=False
                ):
                    return True
            elif unparse(target) == unparse(best) and unparse(inner.value) == unparse(new):
                return True
    return False


def chosen_by_training(source: Script) -> Finding | None:
    """`if train_loss < best:` where a figure of held-out data is taken in the same round."""
    seen: ast.AST | None = None
    mine = flow(source)
    for node in source.of(ast.If):
        test = node.test
        if (
            not isinstance(test, ast.Compare)
            or len(test.ops) != 1
            or not any(_saves(c) for s in node.body for c in of(s, ast.Call))
        ):
            continue
        sides = [test.left, test.comparators[0]]
        new = next(
            (
                s
                for s in sides
                if isinstance(s, (ast.Name, ast.Attribute)) and "best" not in unparse(s).lower()
            ),
            None,
        )
        loops = source.loops_around(node)
        if new is None or not loops or len(sides) != 2 or "best" not in unparse(test).lower():
            continue
        which = _side_of(mine, new)
        seen = seen or (node if which is False else None)
        if which is True and any(_side_of_call(c) is False for c in of(loops[0], ast.Call)):
            return at(source, node, f"`{unparse(new)}` is of the training data: held-out data choose nothing")
    return ok(source, seen, "held-out data choose what is kept") if seen is not None else None


def _saves(call: ast.Call) -> bool:
    return re.match(r"save|state_dict$|deepcopy$|get_weights$", last_name(call.func)) is not None


def _side_of(mine: Flow, new: ast.expr) -> bool | None:
    """Of which data a figure is: by the call that gives it, with the loader that the call gets."""
    given = mine.given(new)
    value = given.value if given is not None else None
    while isinstance(value, (ast.Subscript, ast.BinOp)):
        value = value.value if isinstance(value, ast.Subscript) else value.left
    return _side_of_call(value) if isinstance(value, ast.Call) else None


def _side_of_call(call: ast.Call) -> bool | None:
    """`train(model, train_loader)` learns, `run(model, val_loader)` does not; by data, then by the name."""
    data = [a for a in all_arguments(call) if re.search(r"(?i)load|data|set$|_dl$|iter", unparse(a))]
    found = {
        s for a in data if isinstance(a, (ast.Name, ast.Attribute)) and (s := side(unparse(a))) is not None
    }
    return found.pop() if len(found) == 1 else None


_OF_DATA = ("np", "numpy", "json", "yaml", "toml", "joblib", "datasets", "pd")


def last_weights_tested(source: Script) -> Finding | None:
    """`best.pt` is written in the loop and never read, and the test score is taken after it."""
    loop = outer_loop(source)
    if loop is None or source.loose or not source.trains_by_hand:
        return None
    kept = [c for c in source.named("save", "save_weights", "save_checkpoint") if _is_best(source, c, loop)]
    reads = source.named(
        "load",
        "load_state_dict",
        "load_weights",
        "load_checkpoint",
        "load_model",
        "load_param_into_net",
        "from_pretrained",
    )
    reads = tuple(c for c in reads if source.owner(c) not in _OF_DATA and not _reads_samples(source, c))
    if not kept:
        return None
    function = source.function_around(loop)
    end = loop.end_lineno or loop.lineno
    # what is read before the loop starts takes a training up again
    resumed = [c for c in reads if source.function_around(c) is function and c.lineno < loop.lineno]
    if len(resumed) < len(reads):
        return ok(source, reads[0], "weights are read back")
    inside = {unparse(c) for c in of(loop, ast.Call)}
    for call in source.calls:
        later = source.function_around(call) is function and call.lineno > end
        if not later or _side_of_call(call) is not False or source.loops_around(call):
            continue
        if _of_test(call) and _chosen_by_other(loop):
            return at(source, call, "the last weights are scored, and the best ones were kept for it")
        if unparse(call) in inside and not _of_test(call):
            why = "the weights of the last round are scored once more, and the best ones were kept for it"
            return at(source, call, why)
    return ok(source, resumed[0], "weights are read back") if resumed else None


def _reads_samples(source: Script, call: ast.Call) -> bool:
    """`self.load(path)`, a function of the script that reads no weights."""
    functions = flow(source).functions.get(last_name(call.func), [])
    return bool(functions) and not any(
        re.search(r"torch\.load|load_|state|param|weights|checkpoint|ckpt", unparse(f)) for f in functions
    )


_READS = ("load", "load_checkpoint", "restore", "load_weights")
_WRITES = ("save", "save_checkpoint", "save_weights")
_FIRST = re.compile(r"(?i)(?:^|[/_.-])(?:first|init(?:ial)?|start|untrained|epoch_?0*[01])(?:[/_.-]|$)")
_LAST = re.compile(r"(?i)last|latest|final|checkpoint|ckpt")


def last_read_for_best(source: Script) -> Finding | None:
    """After training the checkpoint of the last epoch is read, and the best one, kept in another, never is.

    `torch.save(state, "last.pt")`, `if better: torch.save(state, "best.pt")`, then `torch.load("last.pt")`:
    the weights that are read are those that the model has already.
    """
    found = _read_for_best(source, lambda path: bool(_LAST.search(path)) and not _FIRST.search(path))
    if found is None:
        return None
    return at(source, found[0], f"{found[1]!r} holds the last weights; the best ones are never read")


def first_read_for_best(source: Script) -> Finding | None:
    """The same with a file from before training or its first epoch: `torch.load("first.pt")`."""
    found = _read_for_best(source, lambda path: bool(_FIRST.search(path)))
    if found is None:
        return None
    return at(source, found[0], f"{found[1]!r} is of an early epoch; the best weights are never read")


def _read_for_best(source: Script, such: Callable[[str], bool]) -> tuple[ast.Call, str] | None:
    """A checkpoint of such a path that is read after training, where the best one is only written."""
    if source.loose:
        return None
    written = [(c, _texts(source, c)) for c in source.named(*_WRITES)]
    best = {t for _, texts in written for t in texts if "best" in t.lower()}
    other = {t for _, texts in written for t in texts if "best" not in t.lower()}
    read = [(c, _texts(source, c)) for c in source.named(*_READS) if source.owner(c) not in _OF_DATA]
    if not best or any("best" in t.lower() for _, texts in read for t in texts):
        return None
    # of several trainings (a teacher's, a student's) that which keeps its best
    around = [source.loops_around(c) for c, texts in written if texts & best]
    loop = next((loops[-1] for loops in around if loops), None) or outer_loop(source)
    for call, texts in read:
        same = sorted(t for t in texts if t in other and such(t))
        if same and loop is not None and _comes_after(source, call, loop):
            return call, same[0]
    return None


def best_read_in_vain(source: Script) -> Finding | None:
    """`state = torch.load("best.pt")` after training, and nothing looks at `state` again."""
    loops = [n for n in (outer_loop(source), _loop_of_choice(source)) if n is not None]
    for call in source.named("load", "from_bytes", "from_state_dict", "restore_checkpoint"):
        statement = source.statement(call)
        dropped = (
            isinstance(statement, ast.Expr) and statement.value is call and source.owner(call) == "torch"
        )
        if dropped and any("best" in t.lower() for t in _texts(source, call)):
            if any(_comes_after(source, call, n) for n in loops):
                return at(source, call, "the best weights are read, and the model never gets them")
        if (
            source.owner(call) != "torch"
            or not isinstance(statement, ast.Assign)
            or statement.value is not call
        ):
            continue
        target = statement.targets[0]
        texts = _texts(source, call)
        if not isinstance(target, ast.Name) or not (
            any("best" in t.lower() for t in texts) or texts & _kept_by_choice(source)
        ):
            continue
        around = source.function_around(call) or source.tree
        used = any(
            n.id == target.id and isinstance(n.ctx, ast.Load) and n.lineno > call.lineno
            for n in of(around, ast.Name)
        )
        if not used and any(_comes_after(source, call, n) for n in loops):
            return at(source, call, "the best weights are read, and the model never gets them")
    return None


def _loop_of_choice(source: Script) -> ast.For | ast.While | None:
    """The rounds in which weights are chosen, where no call tells which loop learns."""
    found = (loops[-1] for c in choices(source) if c.files and (loops := source.loops_around(c.node)))
    return next((n for n in found if isinstance(n, (ast.For, ast.While))), None)


def _kept_by_choice(source: Script) -> set[str]:
    """Files that weights go to where a figure got better: `if score > best: torch.save(..., "w.pt")`."""
    return {
        t
        for save in source.named("save")
        for test in source.above(save)
        if isinstance(test, ast.If) and isinstance(test.test, ast.Compare)
        if isinstance(test.test.ops[0], (ast.Gt, ast.Lt, ast.GtE, ast.LtE)) and save.args
        for t in {n.value for n in of(save.args[-1], ast.Constant) if isinstance(n.value, str)}
        if "." in t
    }


def _texts(source: Script, call: ast.Call) -> set[str]:
    """The texts that a call is given for a place or a tag, also by way of a name."""
    ways = [v for a in places(source, call) for v in (a, *flow(source).values(a, 3))]
    return {n.value for w in ways for n in of(w, ast.Constant) if isinstance(n.value, str) and n.value}


def _comes_after(source: Script, call: ast.Call, loop: ast.For | ast.While) -> bool:
    same = source.function_around(call) is source.function_around(loop)
    return same and call.lineno > (loop.end_lineno or loop.lineno)


def _is_best(source: Script, call: ast.Call, loop: ast.AST) -> bool:
    texts = [n.value for a in all_arguments(call) for n in of(a, ast.Constant) if isinstance(n.value, str)]
    inside = any(p is loop for p in source.above(call)) and any(
        isinstance(p, ast.If) for p in source.above(call)
    )
    asked = [p.test for p in source.above(call) if isinstance(p, ast.If)]
    better = any(isinstance(t, ast.Compare) and re.search(r"(?i)\bbest|_best", unparse(t)) for t in asked)
    whole = any(last_name(n) in ("state_dict", "model", "net") for a in call.args for n in of(a, *_NAMED))
    return inside and (any("best" in t.lower() for t in texts) or (better and whole))


_NAMED = (ast.Name, ast.Attribute)


def _of_test(call: ast.Call) -> bool:
    return any("test" in words(unparse(a)) for a in call.args if isinstance(a, (ast.Name, ast.Attribute)))


def _chosen_by_other(loop: ast.AST) -> bool:
    """In the loop other held-out data than those of the test are scored."""
    names = [unparse(n) for n in walk(loop) if isinstance(n, (ast.Name, ast.Attribute))]
    data = [n for n in names if re.search(r"(?i)load|data|set$|_dl$|iter", n)]
    return any(side(n) is False and "test" not in words(n) for n in data)


def _handed_for_scores(function: Function, call: ast.Call) -> bool:
    """`fit(val_set)` of `def fit(self, val_set=None)`: the function knows its data for held-out ones.

    What it learns from comes another way, as by `self.train_set`. Where it goes over nothing but that
    parameter and takes gradients of it, the name is wrong and not the call.
    """
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    names = names[1:] if names[:1] in (["self"], ["cls"]) else names
    handed = [*zip(names, call.args, strict=False), *((k.arg or "", k.value) for k in call.keywords)]
    held = [n for n, a in handed if isinstance(a, (ast.Name, ast.Attribute)) and side(unparse(a)) is False]
    return bool(held) and all(side(n) is False for n in held)


def gradients_on_held_out(source: Script) -> Finding | None:
    """The function that takes gradients is called with held-out data, where training data are at hand."""
    seen: ast.AST | None = None
    for name, function in {
        f.name: f for b in source.backwards if (f := source.function_around(b)) is not None
    }.items():
        if any(
            isinstance(p, ast.If)
            for b in source.backwards
            if source.function_around(b) is function
            for p in source.above(b)
        ):
            continue
        if any(isinstance(n, ast.Call) and last_name(n.func) == "set_grad_enabled" for n in walk(function)):
            continue
        calls = [c for c in source.named(name) if function not in source.above(c)]
        for call in calls:
            which = _side_of_call(call)
            seen = seen or (call if which is not None else None)
            scope = source.function_around(call) or source.tree
            names = names_in(scope) | {a.arg for a in of(scope, ast.arg)}
            beside = any(side(n) is True and re.search(r"(?i)load|data|set$|_dl$", n) for n in names)
            if (
                which is False
                and beside
                and not re.search(r"(?i)adapt|attack|tta|adv|finetune|calib|swap", name)
                and not _handed_for_scores(function, call)
            ):
                if side(source.function_name(call)) is not False:
                    return at(source, call, "the function that takes gradients is given held-out data")
    return ok(source, seen, "gradients are taken of training data") if seen is not None else None

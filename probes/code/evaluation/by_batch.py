"""What an evaluation counts in each batch: other rows, some of the classes, no labels, batches as rows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TypeGuard

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import argument, keyword, last_name, receiver
from ...registry import Finding
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Script
from ...scripts.untaped import maybe_untaped_block, untaped_function
from ..shared.checks import at
from ..shared.factors import without_floor
from ..shared.nodes import is_false, whole_number
from ..shared.sides import literal
from .compared import same_on_both_sides

_PERMUTES = re.compile(r"randperm\(|permutation\(|shuffled?\(|\.flip\((?:dims=)?\(?\[?0|\[::-1\]|\broll\(")
_HITS = re.compile(r"(?i)(?:^|_)(?:n_|num_)?(?:correct|hits?|right|matches|acc(?:uracy)?)(?:_|$)")
_ROWS = re.compile(r"(?i)^(?:\w+_)?(?:total|count|seen|n|num|samples|examples|rows)(?:_\w+)?$")
_AT_K = re.compile(
    r"(?i)top[-_ @]?(?:\d|k_?acc|k[-_ ]?(?:err|hit|score))"
    r"|recall|hits?_?@|@\s?\d|ndcg|retriev|rank(?:s|ing)\b|precision"
)


@lru_cache(maxsize=16)
def scored_loops(source: Script) -> tuple[ast.For, ...]:
    """Loops over batches of functions and blocks that keep no gradients, and train nothing."""
    found: list[ast.For] = []
    for block in source.of(ast.FunctionDef, ast.With):
        if isinstance(block, ast.FunctionDef):
            quiet = untaped_function(block) or any(last_name(c.func) == "eval" for c in of(block, ast.Call))
        else:
            quiet = maybe_untaped_block(block)
        if quiet and not takes_gradients(source, block):
            found += [
                n
                for n in of(block, ast.For)
                if not any(isinstance(p, ast.For) for p in _between(source, n, block))
            ]
    return tuple(found)


def _between(source: Script, node: ast.AST, end: ast.AST) -> Iterator[ast.AST]:
    for parent in source.above(node):
        if parent is end:
            return
        yield parent


def _made(loop: ast.For) -> dict[str, list[ast.expr]]:
    """What names are given in a loop."""
    found: dict[str, list[ast.expr]] = {}
    for node in of(loop, ast.Assign):
        for target in node.targets:
            for name in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(name, ast.Name):
                    found.setdefault(name.id, []).append(node.value)
    return found


def _whole(node: ast.expr, made: dict[str, list[ast.expr]], depth: int = 4) -> list[ast.expr]:
    """An expression and what the names in it were given in the loop."""
    found = [node]
    if depth:
        names = names_in(node)
        for name in sorted(names & made.keys()):
            for value in made[name]:
                found += _whole(value, {k: v for k, v in made.items() if k != name}, depth - 1)
    return found


def rows_permuted(source: Script) -> Finding | None:
    """`pred[torch.randperm(len(y))] == y`: the answers, or the labels, are of another row of the batch."""
    for loop in scored_loops(source):
        made = _made(loop)
        for node in of(loop, ast.Compare):
            if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
                continue
            sides = [" ".join(map(unparse, _whole(s, made))) for s in (node.left, node.comparators[0])]
            moved = [_PERMUTES.search(s) is not None for s in sides]
            if moved[0] != moved[1] and not re.search(r"sort|invers|undo", " ".join(sides)):
                return at(
                    source, node, "one side is put into another order, so answers meet labels of other rows"
                )
    return None


def classes_left_out(source: Script) -> Finding | None:
    """`logits[:, :4].argmax(1)` in an evaluation: only some of the classes that are trained can be answered.

    Left alone: a slice that training makes as well, and one from the second class on (no background).
    """
    scored = scored_loops(source)
    inside = {id(n) for loop in scored for n in walk(loop)}
    for loop in scored:
        for call in of(loop, ast.Call):
            if last_name(call.func) != "argmax":
                continue
            library = source.owner(call) in ("torch", "np", "numpy", "F")
            given = call.args[0] if library and call.args else getattr(call.func, "value", None)
            if not isinstance(given, ast.Subscript) or not isinstance(given.slice, ast.Tuple):
                continue
            cut = given.slice.elts[-1]
            if _moved_down(source, call, loop, cut):
                return at(source, given, "the classes are counted from the second one on, the labels are not")
            end = cut.upper if isinstance(cut, ast.Slice) and cut.lower is None and cut.step is None else None
            if (last := whole_number(end)) is None or last <= 1:
                continue
            elsewhere = [
                s
                for s in source.of(ast.Subscript)
                if id(s) not in inside and unparse(s.slice) == unparse(given.slice)
            ]
            if not elsewhere:
                return at(source, given, f"only the first {last} scores can be the answer here")
    return None


def _moved_down(source: Script, call: ast.Call, loop: ast.For, cut: ast.expr) -> bool:
    """`p = logits[:, 1:].argmax(1)` held against the labels of a loss of all classes."""
    if not isinstance(cut, ast.Slice) or cut.upper is not None or cut.step is not None:
        cut = next((e for e in getattr(cut, "elts", ()) if isinstance(e, ast.Slice)), cut)
    lower = cut.lower if isinstance(cut, ast.Slice) and cut.upper is None else None
    if not (isinstance(lower, ast.Constant) and lower.value == 1):
        return False
    scope = source.function_around(call) or source.tree
    if re.search(r"[-+] ?1\b", " ".join(unparse(s) for s in loop.body if not isinstance(s, ast.Expr))):
        return False
    statement = source.statement(call)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return False
    name = statement.targets[0].id
    labels = names_in(loop.target)
    compares = [n for n in of(loop, ast.Compare) if names_in(n) >= {name}]
    met = any(names_in(n) & labels for n in compares)
    counted = any(
        name in names_in(c) and labels & names_in(c)
        for c in of(loop, ast.Call)
        if last_name(c.func) in ("bincount", "update", "confusion_matrix", "histogram2d")
    )
    losses = [c for c in of(scope, ast.Call) if re.search(r"(?i)cross_?entropy|crit|loss", last_name(c.func))]
    owner = receiver(call)
    same = unparse(owner.value) if isinstance(owner, ast.Subscript) else ""
    whole = any(
        same
        and [unparse(a) for a in c.args[:1]] == [same]
        and not any(re.search(r"[-+] ?1\b", unparse(a)) for a in c.args[1:2])
        for c in losses
    )
    return (met or counted) and whole


def hits_without_labels(source: Script) -> Finding | None:
    """`correct += (probs > 0.5).sum()` in a loop over `x, y`: what is counted as right asks no label."""
    for loop in scored_loops(source):
        target = loop.target.elts[-1] if isinstance(loop.target, ast.Tuple) else loop.target
        if not isinstance(target, ast.Tuple):
            target = loop.target
        if not isinstance(target, ast.Tuple) or len(target.elts) < 2:
            continue
        names = [n.id for n in target.elts if isinstance(n, ast.Name)]
        if len(names) < 2:
            continue
        labels, made = set(names[1:]), _made(loop)
        for node in of(loop, ast.AugAssign):
            if not isinstance(node.op, ast.Add) or not isinstance(node.target, ast.Name):
                continue
            if not _HITS.search(node.target.id):
                continue
            parts = _whole(node.value, made)
            tests = [n for p in parts for n in of(p, ast.Compare)]
            for test in tests:
                if same_on_both_sides(test):
                    return at(source, test, "this is held against itself, so every answer counts as right")
            calls = any(
                isinstance(n, ast.Call) and n.args and not isinstance(n.func, ast.Attribute)
                for n in of(node.value, ast.Call)
            )
            read = {n.id for p in parts for n in of(p, ast.Name)}
            if tests and not calls and not read & labels and set(names[:1]) & read:
                return at(
                    source, node, f"`{node.target.id}` counts answers as right without asking for the labels"
                )
    return None


def batches_for_rows(source: Script) -> Finding | None:
    """`total += loader.batch_size` for each batch, though the last one is smaller."""
    for loop in scored_loops(source):
        function = source.function_around(loop)
        for node in of(loop, ast.AugAssign):
            if not isinstance(node.op, ast.Add) or not isinstance(node.target, ast.Name):
                continue
            if not _ROWS.match(node.target.id) or not isinstance(node.value, ast.Attribute):
                continue
            if node.value.attr != "batch_size" or not re.search(
                r"(?i)loader|_dl$|^dl$|args|cfg|config|hparams|opt", unparse(node.value.value)
            ):
                continue
            if any(_drops_last(c) for c in source.named("DataLoader")) or function is None:
                continue
            return at(source, node, "each batch is counted as a full one, and the last one may be smaller")
    return None


def rows_over_batches(source: Script) -> Finding | None:
    """`for row in batch: hits += 1`, and `count += 1` stands a loop further out, once in each batch."""
    for loop in scored_loops(source):
        if not _goes_over_batches(loop):
            continue
        counted = {n.target.id: n for n in loop.body if _adds_one(n) and isinstance(n.target, ast.Name)}
        inner = [n for n in loop.body if isinstance(n, ast.For)]
        hits = {
            n.target.id
            for one in inner
            for n in of(one, ast.AugAssign)
            if isinstance(n.target, ast.Name)
            if (_adds_one(n) and _HITS.search(n.target.id)) or _adds_answer(n)
        }
        scope = source.function_around(loop) or source.tree
        for division in of(scope, ast.BinOp):
            if isinstance(division.op, ast.Div) and unparse(division.left) in hits:
                node: ast.AST | None = counted.get(unparse(division.right))
                if node is None and unparse(without_floor(division.right)) == f"len({unparse(loop.iter)})":
                    node = division
                if node is not None:
                    return at(source, node, "hits are counted in rows, what they are divided by in batches")
    return None


def _goes_over_batches(loop: ast.For) -> bool:
    """`range(0, len(x), 512)`, a loader."""
    if isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) == "range":
        return len(loop.iter.args) == 3
    return re.search(r"(?i)loader|(?:^|_)dl$|batches", unparse(loop.iter)) is not None


def _adds_answer(node: ast.AugAssign) -> bool:
    """`exact += said == truth`, whatever the sum is called."""
    value = node.value
    if isinstance(value, ast.Call) and last_name(value.func) in ("int", "float", "bool") and value.args:
        value = value.args[0]
    return isinstance(node.op, ast.Add) and isinstance(value, ast.Compare)


def _adds_one(node: ast.AST) -> TypeGuard[ast.AugAssign]:
    plain = isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add)
    return plain and isinstance(node.value, ast.Constant) and node.value.value == 1  # type: ignore[attr-defined]


def _drops_last(call: ast.Call) -> bool:
    value = keyword(call, "drop_last")
    return value is not None and not is_false(value)


def among_the_likeliest(source: Script) -> Finding | None:
    """`(out.topk(2, 1).indices == y[:, None]).any(1)` and nothing speaks of the best k."""
    for loop in scored_loops(source):
        made = _made(loop)
        for node in of(loop, ast.AugAssign):
            if not isinstance(node.target, ast.Name) or not _HITS.search(node.target.id):
                continue
            for part in _whole(node.value, made):
                for call in of(part, ast.Call):
                    if last_name(call.func) != "topk":
                        continue
                    library = source.owner(call) == "torch"
                    place = 1 if library else 0
                    given = argument(call, "k", position=place)
                    k = literal(source, given)
                    rest = source.code.replace("topk", "")
                    if (
                        isinstance(k, int)
                        and 1 < k < 5
                        and isinstance(given, ast.Constant)
                        and not _AT_K.search(rest)
                    ):
                        return at(
                            source, call, f"an answer counts as right where it is among the {k} likeliest"
                        )
    return None


def one_batch_scored(source: Script) -> Finding | None:
    """`for x, y in list(loader)[:1]`, `islice(loader, 1)`: the score of one batch is told for all."""
    for loop in scored_loops(source):
        over = loop.iter
        while isinstance(over, ast.Call) and last_name(over.func) in ("enumerate", "tqdm") and over.args:
            over = over.args[0]
        end: ast.expr | None = None
        if isinstance(over, ast.Subscript) and isinstance(over.slice, ast.Slice) and over.slice.lower is None:
            held = over.value
            if isinstance(held, ast.Call) and last_name(held.func) in ("list", "tuple"):
                end = over.slice.upper
        elif isinstance(over, ast.Call) and last_name(over.func) == "islice" and len(over.args) == 2:
            end = over.args[1]
        if isinstance(end, ast.Constant) and end.value == 1:
            return at(source, loop, "one batch is scored, and its score is told for all")
    return None

"""How scripts keep their best weights, told by what a branch does and not by what its names are.

A choice is `if new > old:` whose branch makes `new` the old one, or puts weights aside or into a file.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, runs_in
from ..shared.nodes import assigned, bare, is_negative, without_walrus

_WAYS: dict[type[ast.cmpop], bool] = {ast.Gt: True, ast.GtE: True, ast.Lt: False, ast.LtE: False}
_LIVE_LISTS = ("weights", "variables", "trainable_variables", "trainable_weights")
_SAVES = re.compile(r"^(?:save|save_weights|save_checkpoint|save_model|save_pretrained|dump|export)$")
_LOADS = re.compile(r"load|restore|set_weights|assign|copy_|update")
_GIVES = ("assign", "fill_", "copy_")
_WEIGHTS = re.compile(
    r"state_dict|get_weights|parameters_dict|\.(?:weights|variables|trainable_\w+|parameters\(\))"
)
_START = re.compile(
    r"-?(?:float\(['\"][-+]?inf(?:inity)?['\"]\)|(?:np|numpy|math|torch)\.(?:inf|Inf)|0(?:\.0*)?|1(?:\.0)?|9{1,9}(?:\.0)?"
    r"|1(?:\.0)?e\+?\d+|1000+(?:\.0)?|100(?:\.0)?|sys\.maxsize|None)"
)
_LIMITS = re.compile(r"(?i)thresh|target|limit|goal|cut_?off|required|tol|margin|patience")


@dataclass(frozen=True)
class Choice:
    """`if new > old:`: the figures, which way is better, the weights put aside and the files written."""

    node: ast.If
    new: ast.expr
    old: ast.expr
    up: bool
    sets: bool  # the branch makes the new figure the old one
    kept: tuple[tuple[str, ast.expr], ...]  # (what it is kept as, the weights)
    files: tuple[ast.Call, ...]


@lru_cache(maxsize=32)
def choices(source: Script) -> tuple[Choice, ...]:
    """The choices of a script, in its order."""
    return tuple(_choices(source))


def _choices(source: Script) -> Iterator[Choice]:
    for node in source.of(ast.If):
        pairs = list(_pairs(node.body))
        kept = tuple((n, v) for n, v in pairs if _WEIGHTS.search(unparse(v)) and not _is_figure(v))
        files = tuple(c for s in node.body for c in of(s, ast.Call) if _writes(source, c))
        for test in _tests(source, node):
            if len(test.ops) != 1 or type(test.ops[0]) not in _WAYS:
                continue
            up, sides = _WAYS[type(test.ops[0])], (bare(test.left), bare(test.comparators[0]))
            for new, old, way in ((*sides, up), (sides[1], sides[0], not up)):
                if isinstance(new, ast.Constant) or isinstance(old, (ast.Constant, ast.Call)):
                    continue
                name = unparse(old)
                told = [v for n, v in pairs if n == name]
                sets = any(unparse(v) in (unparse(new), without_walrus(new)) for v in told)
                begun = re.search(
                    r"(?i)best|(?:^|[_.])(?:min|max|lowest|highest)(?:_|$)|(?-i:(?:lowest|highest)[A-Z])",
                    name,
                )
                if sets or ((kept or files) and begun and not re.search(r"(?i)best", unparse(new))):
                    yield Choice(node, new, old, way, sets, kept, files)
                    break


def _writes(source: Script, call: ast.Call) -> bool:
    """A file of weights is written: by a library, by a function of the script, by bytes that flax made."""
    name = last_name(call.func)
    if _SAVES.match(name):
        return True
    if name in ("write_bytes", "write"):
        return any(last_name(c.func) == "to_bytes" for a in call.args for c in of(a, ast.Call))
    return any(
        last_name(c.func) == "save" and _WEIGHTS.search(unparse(c)) is not None
        for f in flow(source).called(call)
        for c in of(f, ast.Call)
    )


def _is_figure(value: ast.expr) -> bool:
    """A number of the weights, not the weights: `sum(p.numel() for p in m.parameters())`."""
    return isinstance(value, (ast.BinOp, ast.Compare, ast.Constant)) or (
        isinstance(value, ast.Call) and last_name(value.func) in ("sum", "len", "norm", "any", "all", "float")
    )


def _tests(source: Script, node: ast.If) -> list[ast.Compare]:
    test: ast.expr = node.test
    if isinstance(test, ast.Name):  # better = score > best
        test = flow(source).whole_given(test) or test
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    return [p for p in parts if isinstance(p, ast.Compare)]


def _pairs(body: list[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """(what is set, its value) in a branch; `best = (score, weights)` gives `best[0]` too."""
    for statement in body:
        for node in of(statement, ast.Assign):
            for target, value in assigned(node):
                yield unparse(target), value
                if isinstance(value, (ast.Tuple, ast.List)):
                    for i, one in enumerate(value.elts):
                        yield f"{unparse(target)}[{i}]", one
                elif isinstance(value, ast.Dict):
                    for key, one in zip(value.keys, value.values, strict=True):
                        if isinstance(key, ast.Constant):
                            yield f"{unparse(target)}[{key.value!r}]", one
        for call in of(statement, ast.Call):  # a variable of a graph, a tensor
            if isinstance(call.func, ast.Attribute) and call.func.attr in _GIVES and len(call.args) == 1:
                yield unparse(call.func.value), bare(call.args[0])


# ------------------------------------------------------------------------------------------ what is kept


def kept_alive(source: Script) -> Finding | None:
    """The weights that a choice puts aside are those that go on training, and they are loaded as the best.

    `state_dict()` without a copy, a shallow copy of it, a dict of its tensors, `net.weights` of Keras.
    Left aside: a model that is built anew in each round.
    """
    for choice in choices(source):
        for name, value in choice.kept:
            model = _live(value)
            if model is None or _built_in_loop(source, choice.node, model):
                continue
            if _read_back(source, choice.node, name):
                why = "what is put aside is no copy: these weights go on training"
                return at(source, value, why)
    return None


def _live(value: ast.expr) -> ast.expr | None:
    """The model whose own tensors a value holds, None where it is a copy or cannot be told."""
    if isinstance(value, ast.DictComp) and len(value.generators) == 1:
        held = value.value
        while isinstance(held, (ast.Attribute, ast.Call)):
            if isinstance(held, ast.Call):
                if last_name(held.func) != "detach" or held.args:
                    return None
                held = held.func
            elif held.attr in ("data", "detach"):
                held = held.value
            else:
                return None
        over = value.generators[0].iter
        if isinstance(held, ast.Name) and isinstance(over, ast.Call) and last_name(over.func) == "items":
            return _live(over.func.value) if isinstance(over.func, ast.Attribute) else None
        return None
    if isinstance(value, ast.Attribute):
        return value.value if value.attr in _LIVE_LISTS else None
    if not isinstance(value, ast.Call):
        return None
    name = last_name(value.func)
    owner = receiver(value)
    if name == "state_dict" and not value.args:
        return owner
    if name == "detach" and isinstance(owner, ast.Attribute) and owner.attr == "weight":
        return owner.value
    if name in ("dict", "OrderedDict", "list") or (name == "copy" and unparse(value.func) == "copy.copy"):
        if len(value.args) == 1 and not isinstance(value.args[0], (ast.GeneratorExp, ast.ListComp)):
            given = value.args[0]
            if isinstance(given, ast.Call) and last_name(given.func) == "items":
                given = given.func.value if isinstance(given.func, ast.Attribute) else given
            return _live(given)
        return None
    return _live(owner) if name == "copy" and owner is not None and not value.args else None


def _built_in_loop(source: Script, node: ast.AST, model: ast.expr) -> bool:
    """The model is made in the loop of the choice, or of a call that hands it over: each has its own."""
    root = model
    while isinstance(root, (ast.Attribute, ast.Call, ast.Subscript)):
        root = root.func if isinstance(root, ast.Call) else root.value
    if not isinstance(root, ast.Name):
        return True
    # a net of each fold is one net in all the epochs of the fold: the innermost loop of the choice counts
    uses: list[tuple[ast.AST, str]] = [(node, root.id)]
    if not source.loops_around(node):
        uses += [(a, a.id) for a in flow(source).arguments(root) if isinstance(a, ast.Name)]
    for place, name in uses:
        for loop in source.loops_around(place)[:1]:
            if any(unparse(t) == name for n in of(loop, ast.Assign) for t, _ in assigned(n)):
                return True
            if isinstance(loop, ast.For) and name in names_in(loop.target):
                return True
    return False


def _reads(source: Script, node: ast.If, name: str) -> list[ast.expr]:
    """Where what a choice keeps is read, outside of its branch; attributes by their own name."""
    inside = {n for s in node.body for n in walk(s)}
    base = name.split("[")[0]
    last = base.split(".")[-1]
    found: list[ast.expr] = []
    for one in source.of(ast.Name, ast.Attribute):
        if not isinstance(one.ctx, ast.Load) or one in inside:
            continue
        if unparse(one) == base or ("." in base and isinstance(one, ast.Attribute) and one.attr == last):
            if not _is_another(source, one, node):
                found.append(one)
    return found


def _is_another(source: Script, read: ast.expr, node: ast.If) -> bool:
    """A name that means something else where it is read: in another function, in a loop, or given anew below.

    `state = torch.load(path)` after `state = {"weights": model.state_dict()}` was saved.
    """
    home = source.function_around(node)
    while home is not None and any(
        unparse(read) in n.names and source.function_around(n) is home
        for n in of(home, ast.Global, ast.Nonlocal)
    ):
        home = source.function_around(home)  # the name is one of the function around
    if not isinstance(read, ast.Name) or home is None:
        return False
    above = list(source.above(read))
    loops = [p for p in above if isinstance(p, ast.For)]
    if home not in above or any(read.id == n.id for p in loops for n in of(p.target, ast.Name)):
        return True
    given = flow(source).all_given(read)
    return bool(given) and all(
        g.value.lineno > (node.end_lineno or node.lineno) and source.function_around(g.value) is home
        for g in given
    )


def _read_back(source: Script, node: ast.If, name: str) -> bool:
    """Something that loads weights is handed what was put aside."""
    base = name.split("[")[0].split(".")[-1]
    tested = set(walk(node.test))
    for one in _reads(source, node, name):
        if one in tested:
            continue
        calls = [p for p in source.above(one) if isinstance(p, ast.Call)]
        loops = [p for p in source.above(one) if isinstance(p, ast.For) and one in walk(p.iter)]
        if any(_LOADS.search(last_name(c.func)) for c in calls) or loops:
            return base != ""
    return False


# ----------------------------------------------------------------------------------- what becomes of it


def kept_in_vain(source: Script) -> Finding | None:
    """Weights are put aside by a choice, and nothing that runs ever reads them.

    Of an attribute, the methods that read it may be called by nobody. Left aside: choices that also write a
    file, programs whose own modules were not all read.
    """
    for choice in choices(source):
        if choice.files or source.loose:
            continue
        for name, value in choice.kept:
            if not _in_rounds(source, choice.node):
                continue
            reads = _reads(source, choice.node, name)
            if "[" in name:  # `best[1]` of `best = (score, weights)`
                tested = set(walk(choice.node.test))
                reads = [r for r in reads if r not in tested]
            home = source.function_around(choice.node)
            # a function that begins the whole training is called by whoever imports it
            if all(_is_idle(source, r) and source.function_around(r) is not home for r in reads):
                return at(source, value, f"`{name}` is put aside as the best, and nothing reads it")
    return None


def _in_rounds(source: Script, node: ast.AST) -> bool:
    """The choice stands in a loop, or in a function that is called in one."""
    if source.loops_around(node):
        return True
    return any(
        isinstance(loop, (ast.For, ast.While)) and runs_in(source, node, loop, 2)
        for loop in source.of(ast.For, ast.While)
    )


def _is_idle(source: Script, read: ast.expr) -> bool:
    """It stands in a method that nobody calls or hands over."""
    function = source.function_around(read)
    if function is None or source.class_around(function) is None or function.decorator_list:
        return False
    if function.name.startswith("__") or function in source.forwards:
        return False
    used = [n for n in source.of(ast.Attribute, ast.Name) if last_name(n) == function.name]
    return not used and not any(c.value == function.name for c in source.of(ast.Constant))


# -------------------------------------------------------------------------------------- the figure itself


def figure_forgotten(source: Script) -> Finding | None:
    """The figure to beat is set to its start in each round before it is asked for."""
    for choice in choices(source):
        loops = source.loops_around(choice.node)
        if not choice.sets or not loops or not (choice.kept or choice.files):
            continue
        loop = min(loops, key=lambda x: (x.end_lineno or 0) - x.lineno)
        for statement in loop.body:
            if statement.lineno >= choice.node.lineno or not isinstance(statement, ast.Assign):
                continue
            for target, value in assigned(statement):
                if unparse(target) == unparse(choice.old) and _START.fullmatch(unparse(value)):
                    if not _asked_between(loop, statement, choice):
                        why = (
                            f"`{unparse(target)}` starts anew in each round, so that every round is the best"
                        )
                        return at(source, statement, why)
    return None


def figure_out_of_reach(source: Script) -> Finding | None:
    """The figure to beat starts where none can come: a share above 100, an error below nothing.

    A start at -1 is one of figures that are never below nothing, which have to rise.
    """
    for choice in choices(source):
        if not choice.sets or not isinstance(choice.old, (ast.Name, ast.Attribute)):
            continue
        if not (choice.kept or choice.files):
            continue
        name = unparse(choice.old)
        inside = {n for s in choice.node.body for n in walk(s)}
        starts = [
            v for n in source.of(ast.Assign) if n not in inside for t, v in assigned(n) if unparse(t) == name
        ]
        if (start := _endless(source, choice, inside)) is not None:
            return at(
                source, start, f"`{name}` starts at {unparse(start)}, which no figure beats: nothing is kept"
            )
        numbers = [n for v in starts if (n := _start(v)) is not None]
        if len(numbers) != 1 or len(starts) != 1:
            continue
        told = unparse(choice.new)
        share = choice.up and _SHARES.search(told) is not None and numbers[0] >= 100
        error = not choice.up and _ERRORS.search(told) is not None and numbers[0] == 0
        error = error or (not choice.up and numbers[0] == -1)
        if share or error:
            why = f"`{name}` starts at {numbers[0]:g}, which no such figure beats: nothing is kept"
            return at(source, starts[0], why)
    return None


def _start(value: ast.expr) -> float | None:
    if is_negative(value):
        inner = _start(value.operand)
        return None if inner is None else -inner
    told = value.value if isinstance(value, ast.Constant) else None
    return float(told) if isinstance(told, (int, float)) else None


def _endless(source: Script, choice: Choice, inside: set[ast.AST]) -> ast.expr | None:
    """`if score > best:` where `best` starts at infinity, or below minus infinity, whatever the figure is."""
    last = last_name(choice.old)
    field = isinstance(choice.old, ast.Attribute)
    starts = [
        v
        for n in source.of(ast.Assign)
        if n not in inside
        for t, v in assigned(n)
        if (isinstance(t, ast.Attribute) if field else isinstance(t, ast.Name)) and last_name(t) == last
    ]
    # what a checkpoint gives back does not begin it
    begun = [
        v for v in starts if not isinstance(v, ast.Subscript) and last_name(getattr(v, "func", v)) != "get"
    ]
    if len(begun) != 1 or of(choice.node.test, ast.BoolOp):
        return None
    way = _INFINITE.fullmatch(unparse(begun[0]).replace("'", '"'))
    return begun[0] if way is not None and (way[1] != "-") == choice.up else None


_INFINITE = re.compile(r'(-?)(?:float\("\+?inf(?:inity)?"\)|(?:np|numpy|math|torch)\.(?:inf|Inf))')
_SHARES = re.compile(
    r"(?i)(?:^|[_.\['\"])(?:acc|accuracy|f1|auc|auroc|map|ndcg|mrr|iou|miou|dice|recall|precision|kappa|hit\w*|em)(?:$|[_\]'\"])"
)
_ERRORS = re.compile(
    r"(?i)(?:^|[_.\['\"])(?:mae|mse|rmse|ppl|perplexity|wer|cer|mape|err|error)(?:$|[_\]'\"])"
)


def _asked_between(loop: ast.AST, start: ast.stmt, choice: Choice) -> bool:
    """It is raised by something else after its start: a search within the round."""
    name = unparse(choice.old)
    return any(
        unparse(t) == name and start.lineno < n.lineno < choice.node.lineno
        for n in of(loop, ast.Assign)
        for t in n.targets
    )


def other_figure_kept(source: Script) -> Finding | None:
    """`if accuracy > best: best = loss`: the next round is held against another figure than its own."""
    for choice in choices(source):
        if (
            choice.sets
            or not (choice.kept or choice.files)
            or not re.search(r"(?i)best", unparse(choice.old))
        ):
            continue
        told = [v for n, v in _pairs(choice.node.body) if n == unparse(choice.old)]
        if len(told) != 1 or not isinstance(told[0], (ast.Name, ast.Attribute, ast.Subscript)):
            continue
        mine = flow(source)
        alike = {unparse(choice.new), without_walrus(choice.new), _entry(choice.new)}
        alike |= {unparse(v) for v in mine.values(choice.new, 4)} | _without_margin(choice.new)
        if alike & {unparse(told[0]), _entry(told[0]), *(unparse(v) for v in mine.values(told[0], 4))}:
            continue
        if (
            _one_of_row(choice.new)
            and _one_of_row(choice.new) != _one_of_row(told[0])
            and not _figure_like(told[0])
        ):
            continue
        why = f"`{unparse(choice.old)}` is held against {unparse(choice.new)} and set to {unparse(told[0])}"
        return at(source, told[0], why)
    return None


def _entry(node: ast.expr) -> str:
    """`scores["loss"]` of `scores.get("loss", 9.0)`."""
    if isinstance(node, ast.Call) and last_name(node.func) == "get" and node.args:
        owner = receiver(node)
        return f"{unparse(owner)}[{unparse(node.args[0])}]" if owner is not None else unparse(node)
    return unparse(node)


def _without_margin(node: ast.expr) -> set[str]:
    """`loss` of `loss + 1e-4 < best`, `loss + self.min_delta < best`."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Add, ast.Sub)):
        return set()
    small = isinstance(node.right, ast.Constant) or re.search(
        r"(?i)delta|tol|eps|margin|min_", unparse(node.right)
    )
    return {unparse(node.left)} if small else set()


def _one_of_row(node: ast.expr) -> str:
    """What a figure is taken out of: `scores` of `scores["f1"]`."""
    return unparse(node.value) if isinstance(node, ast.Subscript) else ""


def _figure_like(node: ast.expr) -> bool:
    """A figure by its name: no epoch, no step, no row of settings."""
    name = unparse(node)
    return (
        re.search(r"(?i)loss|acc|f1|auc|score|metric|err|mae|mse|map|rank|iou|dice|bleu|recall|prec", name)
        is not None
    )


def figure_never_raised(source: Script) -> Finding | None:
    """A choice keeps weights and leaves the figure to beat at its start, whatever both are called."""
    for choice in choices(source):
        if not (choice.kept or choice.files) or not _in_rounds(source, choice.node):
            continue
        if choice.sets or _LIMITS.search(unparse(choice.old)):
            continue
        base, _, place = unparse(choice.old).partition("[")
        own = [v for n, v in _pairs(choice.node.body) if n == base]
        if place == "0]" and len(own) == 1 and isinstance(own[0], ast.Tuple) and own[0].elts:
            if unparse(own[0].elts[0]) == unparse(choice.old):
                why = f"`{unparse(choice.old)}` keeps its old value: any round after it counts as the best"
                return at(source, own[0], why)
    for node, old in _plain(source):
        why = f"`{unparse(old)}` is never set to the new value: what is kept is not the best"
        return at(source, node, why)
    return None


def _plain(source: Script) -> Iterator[tuple[ast.If, ast.expr]]:
    """`if score > self.score: self.state = deepcopy(...)`, and `self.score` only ever gets its start."""
    for node in source.of(ast.If):
        kept = [(n, v) for n, v in _pairs(node.body) if _WEIGHTS.search(unparse(v)) and not _is_figure(v)]
        if not kept or node.orelse:
            continue
        for test in _tests(source, node):
            if len(test.ops) != 1 or type(test.ops[0]) not in _WAYS:
                continue
            for new, old in ((test.left, test.comparators[0]), (test.comparators[0], test.left)):
                if not isinstance(old, (ast.Name, ast.Attribute)) or isinstance(new, ast.Constant):
                    continue
                last, name = last_name(old), unparse(old)
                values = [
                    v
                    for n in source.of(ast.Assign)
                    for t, v in assigned(n)
                    if unparse(t) == name or (isinstance(t, ast.Attribute) and t.attr == last)
                ]
                grown = [n for n in source.of(ast.AugAssign, ast.AnnAssign) if unparse(n.target) == name]
                infinite = [v for v in values if re.search(r"(?i)inf|1e\+?\d|-1", unparse(v))]
                if values and infinite and all(_START.fullmatch(unparse(v)) for v in values) and not grown:
                    if not _LIMITS.search(name) and _in_rounds(source, node):
                        yield node, old

"""What training goes over and what is scored, in any framework: data that take both parts.

Training goes over what a loop takes gradients of, and what `fit` or MindSpore's `train` gets. Scored is what
`validation_data`, `eval` and `evaluate` get, what a loop without gradients runs the model on, and what is
handed to a function or callback of the script that does so.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import all_arguments, argument, keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import differentiated, takes_gradients
from ...scripts.syntax import Script
from ..shared.checks import at, gone_over, is_evaluation, ok
from ..shared.nodes import same_value
from ..shared.sides import side, words

_FITS = ("fit", "fit_generator")
_SCORES = re.compile(r"(?i)eval|valid|test|score|accura|metric|error|(?:^|_)(?:val|dev|miou|mae)(?:_|$)")
_QUIET = re.compile(
    r"training=False|set_train\(False\)|set_train\(mode=False\)|\.eval\(\)|no_grad|inference_mode|update_state"
)
_ASIDE = re.compile(
    r"(?i)train|calib|bank|knn|stat|predict|embed|extract|feature|plot|infer|save|index|warm|memor"
)


@dataclass(frozen=True)
class Use:
    """Data that are gone over: the expression as it is written, and where."""

    data: ast.expr
    node: ast.AST


@lru_cache(maxsize=16)
def learnt(source: Script) -> tuple[Use, ...]:
    """What training goes over."""
    found: list[Use] = []
    for call in source.named(*_FITS):
        given = argument(call, "x", "train_dataset", position=0)
        if given is not None and isinstance(call.func, ast.Attribute) and not _prepares(source, call):
            found.append(Use(given, call))
    if "mindspore" in source.frameworks:
        for call in source.named("train", "fit"):
            given = argument(call, "train_dataset", position=1)
            if given is not None:
                found.append(Use(given, call))
    for loop in source.of(ast.For):
        inner = [n for n in of(loop, ast.For) if n is not loop]
        if _learns(source, loop) and not any(_learns(source, n) for n in inner):
            found.append(Use(_over(source, loop), loop))
    for comprehension in source.of(ast.ListComp):
        if _learns(source, comprehension):
            found.append(Use(_plain(comprehension.generators[0].iter), comprehension))
    return tuple(_written(source, found))


def _learns(source: Script, node: ast.AST) -> bool:
    """Gradients are taken within a loop, or in a function or a step that it calls, by way of others."""
    if takes_gradients(source, node):
        return True
    if is_evaluation(source, node):
        return False  # the function that is called takes them of inputs, as an attack does
    mine, learning = flow(source), _learning(source)
    return any(f is not node and f in learning for c in of(node, ast.Call) for f in mine.called(c))


def is_learning(source: Script, node: ast.AST) -> bool:
    """Gradients are taken within a loop or what it calls, or a method of the script that trains is called."""
    if _learns(source, node):
        return True
    names = {last_name(c.func) for c in of(node, ast.Call)}
    return any(f.name in names for f in _learning(source) if isinstance(f, ast.FunctionDef))


_WAYS = 2  # calls that lie between a function and one that takes gradients, at most


@lru_cache(maxsize=16)
def _learning(source: Script) -> frozenset[ast.AST]:
    """The functions in which gradients are taken, or in those that they call, found once for all loops."""
    mine = flow(source)
    functions = source.of(ast.FunctionDef, ast.AsyncFunctionDef)
    found: set[ast.AST] = {f for f in functions if takes_gradients(source, f)}
    found |= set(differentiated(source))
    calls = {f: {g for c in of(f, ast.Call) for g in mine.called(c) if g is not f} for f in functions}
    for _ in range(_WAYS):
        found |= {f for f, called in calls.items() if called & found}
    return frozenset(found)


def _prepares(source: Script, call: ast.Call) -> bool:
    """`scaler.fit(x)`: the fit of what is no network."""
    owner = source.owner(call)
    made = flow(source).values(call.func.value, 3) if isinstance(call.func, ast.Attribute) else []
    text = owner + " " + " ".join(unparse(m)[:80] for m in made)
    return re.search(r"(?i)scal|encod|pca|vector|imput|transform|binariz|tokeniz|\blabel", text) is not None


def _over(source: Script, loop: ast.For) -> ast.expr:
    """The data that a loop goes over: `rows` of `with tqdm(rows) as bar:`, `for row in bar:` as well."""
    data = _plain(gone_over(loop.iter))
    if isinstance(data, ast.Name):
        opened = [i for p in source.above(loop) if isinstance(p, ast.With) for i in p.items]
        for item in opened:
            if isinstance(item.optional_vars, ast.Name) and item.optional_vars.id == data.id:
                return _plain(gone_over(item.context_expr))
    return data


_ITERATES = (
    *("create_tuple_iterator", "create_dict_iterator", "as_numpy_iterator", "take", "prefetch"),
    *("tqdm", "enumerate", "iter", "list", "track"),
)


def _plain(data: ast.expr) -> ast.expr:
    """The data behind an iterator: `train.create_tuple_iterator()`, `enumerate(train)`."""
    while isinstance(data, ast.Call) and last_name(data.func) in _ITERATES:
        inner = receiver(data)
        if inner is None or (isinstance(inner, ast.Name) and inner.id in ("tqdm", "tf")):
            inner = argument(data, position=0)
        if inner is None:
            break
        data = inner
    return data


def _written(source: Script, found: list[Use]) -> Iterator[Use]:
    """Parameters replaced by what callers hand over."""
    mine = flow(source)
    for use in found:
        handed = mine.arguments(use.data)
        for one in handed or [use.data]:
            yield Use(_plain(one), use.node)


@dataclass(frozen=True)
class Score:
    """Data that are scored: the expression, where, and whether this is in the loop over epochs."""

    data: ast.expr
    node: ast.AST
    chooses: bool


@lru_cache(maxsize=16)
def scored(source: Script) -> tuple[Score, ...]:
    """What is scored, each place once."""
    return tuple(dict.fromkeys(_scored(source)))


def _scored(source: Script) -> Iterator[Score]:
    for call in source.named(*_FITS):
        given = keyword(call, "validation_data") or keyword(call, "valid_dataset")
        if given is not None:
            yield Score(given, call, True)
    judges = _judges(source)
    for call in source.calls:
        name = last_name(call.func)
        if name in judges:
            for given in all_arguments(call):
                if unparse(given) in _data(source) and not _named_training(source, call):
                    yield Score(given, call, _chooses(source, call))
        elif name in ("eval", "evaluate") and call.args and isinstance(call.func, ast.Attribute):
            if not _named_training(source, call):
                yield Score(call.args[0], call, _chooses(source, call))
    for loop in source.of(ast.For):
        data = _over(source, loop)
        inner = [n for n in of(loop, ast.For) if n is not loop]
        if unparse(data) in _data(source) and not inner and not _learns(source, loop):
            text = " ".join(unparse(s) for s in loop.body)
            steps = [c for c in of(loop, ast.Call) if _SCORES.search(last_name(c.func))]
            function = source.function_name(loop)
            held_out = isinstance(data, (ast.Name, ast.Attribute)) and side(last_name(data)) is False
            if (
                (steps or held_out or _QUIET.search(text))
                and not _ASIDE.search(function)
                and not _ASIDE.search(text)
            ):
                yield Score(data, loop, _chooses(source, loop))


@lru_cache(maxsize=16)
def _data(source: Script) -> frozenset[str]:
    """Texts of what training goes over or what has the name of a side and is no figure."""
    names = {unparse(u.data) for u in learnt(source)}
    names |= {
        unparse(n)
        for n in source.of(ast.Name, ast.Attribute)
        if side(last_name(n)) is not None
        and re.search(r"(?i)data|set|ds|load|dl|batch|^[a-z]+$|_x|x_", last_name(n))
    }
    return frozenset(names)


def _judges(source: Script) -> frozenset[str]:
    """Functions and classes of the script that run the model on data that they get, and learn nothing."""
    found: set[str] = set()
    for function in source.of(ast.FunctionDef):
        owner = source.parents.get(function)
        if _learns(source, function):
            continue
        text = unparse(function)
        if isinstance(owner, ast.ClassDef) and re.search(r"\.model\.eval(?:uate)?\(self\.", text):
            found.add(owner.name)
        if _ASIDE.search(function.name):
            continue
        names = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)} - {"self"}
        loops = [n for n in of(function, ast.For, ast.comprehension) if names & names_in(n.iter)]
        if loops and (_SCORES.search(function.name) or _QUIET.search(text)):
            found.add(function.name)
    return frozenset(found)


def _chooses(source: Script, node: ast.AST) -> bool:
    """It stands where training goes on: in the loop over epochs, or among the callbacks of a trainer."""
    for parent in source.above(node):
        if isinstance(parent, (ast.For, ast.While)) and _learns(source, parent):
            return True
        if isinstance(parent, ast.Call) and last_name(parent.func) in ("train", "fit"):
            return True
    return False


def _named_training(source: Script, node: ast.AST) -> bool:
    """The score is named one of the training data: `train_acc = accuracy(net, train)`."""
    statement = source.statement(node)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    told = [unparse(t) for t in targets]
    if isinstance(statement, ast.Expr):
        told += [c.value for c in of(statement, ast.Constant) if isinstance(c.value, str)]
    return any("train" in words(t) or "fit" in words(t) for t in told)


# ------------------------------------------------------------------------------------------------- the checks


def scored_where_learnt(source: Script) -> Finding | None:
    """All that is scored while training goes on are the data that it learns from.

    Counts for `validation_data`; elsewhere where data of another side are made and never scored.
    """
    taught = {unparse(u.data) for u in learnt(source)}
    if not taught:
        return None
    while_learning = [s for s in scored(source) if s.chooses]
    seen: ast.AST | None = None

    def known(one: Score) -> bool:
        return any(_same(source, one.data, use.data) for use in learnt(source))

    for one in while_learning:
        seen = seen or one.node
        if not known(one):
            continue
        others = [s for s in scored(source) if not known(s) and (s.chooses or _validates(s))]
        fitted = isinstance(one.node, ast.Call) and last_name(one.node.func) in _FITS
        if fitted or (not others and _held_back(source)):
            return at(source, one.data, "what is scored here are the data that training learns from")
    return ok(source, seen, "other data are scored than learnt from") if seen is not None else None


def _validates(one: Score) -> bool:
    """The data have the name of validation data, and no `test`."""
    return bool(set(words(unparse(one.data))) & _VALID)


def _same(source: Script, one: ast.expr, other: ast.expr) -> bool:
    """The same data: the same name or expression, or made by one function of the same data."""
    if isinstance(one, ast.Tuple) and one.elts:
        one = one.elts[0]
    if unparse(one) == unparse(other):
        return isinstance(one, (ast.Name, ast.Attribute, ast.Call)) and same_value(source, one, other)
    if (
        isinstance(one, ast.Call)
        and isinstance(other, ast.Call)
        and last_name(one.func) == last_name(other.func)
    ):
        if not one.args or len(one.args) != len(other.args):
            return False
        sides = [_side_of(a) for a in one.args]
        return unparse(one.args[0]) == unparse(other.args[0]) and True in sides and False not in sides
    return False


def _side_of(node: ast.expr) -> bool | None:
    found = {side(n) for n in names_in(node)} - {None}
    return found.pop() if len(found) == 1 else None


def _held_back(source: Script) -> bool:
    """Data of another side are made."""
    made = {
        t.id
        for node in source.of(ast.Assign)
        for target in node.targets
        for t in of(target, ast.Name)
        if isinstance(t.ctx, ast.Store) and side(t.id) is False and set(words(t.id)) & _VALID
        if not set(words(t.id)) & _SCORES_OF  # `val_loss, acc = evaluate(net, test)`: no data
    }
    return bool(made)


_SCORES_OF = {"loss", "losses", "acc", "accuracy", "metric", "metrics", "score", "scores", "f1", "auc"}
_SCORES_OF |= {"result", "results", "error", "err", "ppl", "mae", "rmse", "log"}
_VALID = {"val", "valid", "validation", "dev", "vl"}


def chosen_by_test(source: Script) -> Finding | None:
    """What chooses the best epoch gives the final score as well, although held-out data stand beside it."""
    uses = scored(source)
    held = _held_back(source)
    for one in uses:
        if not one.chooses or not held or "test" not in words(unparse(one.data)):
            continue
        final = [s for s in uses if not s.chooses and _same(source, s.data, one.data)]
        beside = [s for s in uses if s.chooses and s is not one and "test" not in words(unparse(s.data))]
        if final and not beside and _best_is_kept(source, one.node):
            return at(source, one.data, "these data choose the best epoch, and give the final score")
    return None


def _best_is_kept(source: Script, node: ast.AST) -> bool:
    """The score decides what is kept: by a comparison in the same loop, or in the callback that takes it."""
    places: list[ast.AST] = [*source.loops_around(node)]
    if isinstance(node, ast.Call) and last_name(node.func) in source.classes:
        places.append(source.classes[last_name(node.func)])
    return any(
        isinstance(n, ast.Compare) and re.search(r"(?i)best", unparse(n)) for p in places for n in walk(p)
    )

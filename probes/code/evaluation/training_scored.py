"""Evaluations in scripts that go over training data.

A name alone is no evidence: one set of data is cut by samplers, indices and flags, and a score of training
data is shown beside that of others on purpose. What is told here is training data as a whole, under the name
of held-out data, or held-out data that were made and lie idle.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import all_arguments, keyword, last_name
from ...registry import Finding, View, probe, unframed
from ...rehearsal.judges import shows, unless_apart
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Script
from ..mindspore.steps import scored_where_trained
from ..shared.checks import at, first, ok
from ..shared.nodes import texts_in
from ..shared.roles import split_flags, split_of, trains
from ..shared.sides import either, side, stem, words
from ..splits.evaluated import evaluates_other_side, is_idle
from ..splits.hooks_crossed import hook_gives_training_data
from ..splits.learnt_and_scored import scored_where_learnt
from ..tensorflow.graph_data import scored_on_training_run
from ..trainers.fastai_learner import told_of_training
from .answer_kinds import is_parameter
from .loops_scored import scores_loop_of_training


@probe()
@unframed
def evaluates_training_data(view: View) -> Finding:
    """What has the name of an evaluation is the whole of the training data."""
    return first(
        view,
        either(
            unless_apart(
                either(
                    _evaluates_training,
                    _one_for_both,
                    scored_where_trained,
                    evaluates_other_side,
                    scored_where_learnt,
                    scores_loop_of_training,
                    scored_on_training_run,
                    hook_gives_training_data,
                )
            ),
            told_of_training,
            shows("scores-training-rows"),
        ),
        "the scripts show no evaluation loader",
    )


def _one_for_both(source: Script) -> Finding | None:
    """`rows = train if split == "train" else train`: whatever is asked for, the training data come."""
    for node in source.of(ast.IfExp):
        if unparse(node.body) != unparse(node.orelse) or side(unparse(node.body)) is not True:
            continue
        if any(side(w) is not None for w in [*texts_in(node.test), *names_in(node.test)]):
            return at(source, node, "the training data are given, whichever part is asked for")
    return None


_SCORE = re.compile(r"(?i)loss|acc|metric|score|auc|result|iou|f1|bleu|wer|ppl|prec|recall|error")
_SCORES = re.compile(r"(?i)eval|valid|score|test|^val")
_DATA = re.compile(r"(?i)(?:loader|data|dataset|_dl|_iter|_ds|_set)$")
_DATA_WORDS = re.compile(
    r"(?i)^(?:(?:data)?(?:loader|set|iter)s?|data|d[lsf]|gen(?:erator)?|x[sb]?|y[sb]?|batch(?:es)?|mask|split|fold|subset"
    r"|id(?:x|s)|ind(?:ex|ices)|frame|tensors?|arrays?|(?:sample|example|row|item|record|image|img|text|sentence|pair|graph"
    r"|node|edge|feat|feature|input|label|target|sequence|seq|window|point|token|file|path|folder)s?)$"
)
_NEUTRAL = frozenset(("eval", "evaluate", "evaluation", "score", "scores"))  # of any data


def _evaluates_training(source: Script) -> Finding | None:
    seen = None
    for node in source.of(ast.Assign):
        if not isinstance(node.value, ast.Call):
            continue
        loader = last_name(node.value.func) == "DataLoader"
        targets = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else node.targets
        scores = bool(_SCORES.search(last_name(node.value.func)))
        of_rounds = not (loader or scores) and all(_SCORE.search(unparse(t)) for t in targets)
        if not (loader or scores or of_rounds):
            continue
        if not all(trains(split_of(unparse(t))) is False for t in targets):
            continue
        given = _loaded(node.value) if loader else node.value.args
        sides = {trains(split_of(unparse(n))) for a in given for n in _data_in(a)}
        if sides - {None}:
            seen = node
        if True not in sides or False in sides or _cut(node.value):
            continue
        if not all(map(_is_whole, given)) or not _said_or_idle(source, targets, given):
            continue
        if of_rounds:  # `val_loss = run(net, train_loader)`: a round of any kind, by what is left over
            idle = _lie_idle(source, given)
        else:
            idle = loader or not _scored_too(source, node) or _lie_idle(source, given)
        if idle:
            return at(source, node, "what is evaluated is the training data")
    around = _renamed(source) or _goes_over_training(source) or _only_training(source)
    if around is not None:
        return at(source, around, "what is evaluated here is the training data")
    twice = _one_source(source)
    if twice is not None:
        return at(source, twice, "what is evaluated is read from the training data")
    return ok(source, seen, "evaluation reads its own data") if seen is not None else None


def _renamed(source: Script) -> ast.AST | None:
    """`val_loader = train_loader`, on no condition, and the name gets nothing else."""
    stored = [unparse(n) for n in source.of(ast.Name, ast.Attribute) if isinstance(n.ctx, ast.Store)]
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if not isinstance(node.value, (ast.Name, ast.Attribute)) or not _DATA.search(unparse(node.value)):
            continue
        sides = [trains(split_of(unparse(n))) for n in (target, node.value)]
        if sides == [False, True] and not set(words(unparse(target))) & _NEUTRAL:
            chosen = any(isinstance(p, (ast.If, ast.Try, ast.ExceptHandler)) for p in source.above(node))
            if not chosen and _DATA.search(unparse(target)) and stored.count(unparse(target)) == 1:
                return node
    return None


def _loaded(call: ast.Call) -> list[ast.expr]:
    data = call.args[0] if call.args else keyword(call, "dataset")
    return [data] if data is not None else []


def _cut(call: ast.Call) -> bool:
    """A sampler or indices take a part of the data: any, or none, of what training draws."""
    return any(
        k.arg is None or re.search(r"sampler|indices|idx|split|fold|subset|mask", k.arg)
        for c in of(call, ast.Call)
        for k in c.keywords
    )


def _is_whole(given: ast.expr) -> bool:
    """Nothing picks of it: `train_set`, `data["train"]`, `TensorDataset(x_train, y_train)`, a setting.

    Not `Subset(train_data, idx)`, `train_x[:1000]`, `Rows(train_x, "val")`.
    """
    if isinstance(given, ast.Call):
        args = all_arguments(given)
        return bool(args) and all(
            isinstance(a, (ast.Name, ast.Attribute)) and trains(split_of(unparse(a))) is True for a in args
        )
    if isinstance(given, ast.Starred):
        return _is_whole(given.value)
    if isinstance(given, ast.Subscript):
        return isinstance(given.slice, ast.Constant) and isinstance(given.slice.value, str)
    return isinstance(given, (ast.Name, ast.Attribute, ast.Constant))


def _said_or_idle(source: Script, targets: Iterable[ast.expr], given: Iterable[ast.expr]) -> bool:
    """The name says held-out data; where it is `eval` alone, which any data may be, those must lie idle."""
    told = ["_".join(w for w in words(unparse(t)) if w not in _NEUTRAL) for t in targets]
    if any(trains(split_of(t)) is False for t in told):
        return True
    return _lie_idle(source, given)


def _scored_too(source: Script, score: ast.Assign) -> bool:
    """Another score of held-out data, by its name, is taken of other data by the same function."""
    name = last_name(score.value.func) if isinstance(score.value, ast.Call) else ""
    return any(
        trains(split_of(unparse(n.targets[0]))) is False
        for c in source.named(name)
        if isinstance(n := source.statement(c), ast.Assign) and n is not score
        if True not in {trains(split_of(unparse(d))) for a in c.args for d in _data_in(a)}
    )


def _lie_idle(source: Script, given: Iterable[ast.expr]) -> bool:
    """Held-out data beside these were made, and nothing reads them."""
    return any(is_idle(source, n) for a in given for n in _data_in(a))


def _data_in(node: ast.expr) -> list[ast.expr]:
    """Names in an expression that say the side alone (`train`) or that they are data: no `train_args`."""
    return [n for n in of(node, ast.Name, ast.Attribute) if _of_data(unparse(n))]


def _of_data(name: str) -> bool:
    rest = [w for w in words(name.rsplit(".", 1)[-1]) if w not in ("train", "training")]
    return not rest or any(_DATA_WORDS.match(w) for w in rest)


def _only_training(source: Script) -> ast.Call | None:
    """`test(model, train_loader)` is the only call of `test`, and a `test_loader` goes nowhere."""
    held = {
        last_name(n)
        for n in source.of(ast.Name, ast.Attribute)
        if isinstance(n.ctx, ast.Store) and _DATA.search(unparse(n)) and trains(split_of(unparse(n))) is False
    }
    given = [
        a
        for c in source.calls
        for a in all_arguments(c)
        if last_name(c.func) not in ("len", "print") and not is_parameter(source, a)
    ]
    given += [n.iter for n in source.of(ast.For, ast.comprehension) if not is_parameter(source, n.iter)]
    idle = {stem(n) for n in held - {last_name(g) for g in given}}
    for name in {last_name(c.func) for c in source.calls} if idle else ():
        if trains(split_of(name)) is not False or _MAKES.search(name):
            continue
        calls = [c for c in source.named(name) if _handed_sides(c) and not _of_training_scores(source, c)]
        if calls and all(_handed_sides(c) == {True} for c in calls):
            if idle & {stem(last_name(d)) for a in all_arguments(calls[0]) for d in _data_in(a)}:
                return calls[0]
    return None


_MAKES = re.compile(r"(?i)train|fit|load|data|get|make|prepare")


def _of_training_scores(source: Script, call: ast.Call) -> bool:
    """In `eval_train_set()`: a function that is named for the scores of training data means them."""
    name = source.function_name(call)
    return "train" in words(name) and re.search(r"(?i)eval|score|perform|metric|acc", name) is not None


def _handed_sides(call: ast.Call) -> set[bool]:
    """The sides of the data that a call is handed as they are."""
    return _sides([a for a in all_arguments(call) if isinstance(a, (ast.Name, ast.Attribute))])


def _goes_over_training(source: Script) -> ast.AST | None:
    """`for val_batch in train_loader`, and such a loop in a function `validate` that is not handed its data.

    The second counts where held-out data lie idle.
    """
    for loop in source.of(ast.For):
        function, over = source.function_around(loop), unparse(loop.target)
        if trains(split_of(over)) is False and "train" not in over and not takes_gradients(source, loop):
            if isinstance(loop.iter, (ast.Name, ast.Attribute)) and _sides([loop.iter]) == {True}:
                return loop
        if function is None or trains(split_of(function.name)) is not False or takes_gradients(source, loop):
            continue
        if _sides([loop.iter]) != {True} or re.search(r"(?i)train", function.name):
            continue
        parameters = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)} - {"self"}
        data = [n for n in of(loop.iter, ast.Name, ast.Attribute) if _DATA.search(unparse(n))]
        if not parameters & names_in(loop.iter) and any(is_idle(source, n) for n in data):
            return loop
    return None


def _sides(given: Iterable[ast.expr]) -> set[bool]:
    """The sides of what is called data: loaders, sets, iterators."""
    names = [unparse(n) for a in given for n in of(a, ast.Name, ast.Attribute)]
    sides = {trains(split_of(n)) for n in names if _DATA.search(n)}
    return {s for s in sides if s is not None}


# ------------------------------------------------------------------------------ both sides of one place


def _one_source(source: Script) -> ast.Assign | None:
    """`train = Tags(cfg.train_csv)` and `val = Tags(cfg.train_csv)`: one place, called that of training.

    Nothing that differs between the two calls may pick samples out of it, as far as all of it is seen.
    """
    functions = {n.name: n for n in source.of(ast.FunctionDef)}
    made: dict[str, dict[bool, ast.Assign]] = {}
    for node in source.of(ast.Assign):
        if isinstance(node.value, ast.Call):
            side = trains(split_of(unparse(node.targets[0])))
            name = last_name(node.value.func)
            if side is not None and (name in source.classes or name in functions):
                made.setdefault(name, {}).setdefault(side, node)
    for name, sides in made.items():
        if len(sides) < 2:
            continue
        mine, theirs = (_all_given(sides[k].value) for k in (True, False))
        places = {unparse(a) for a in mine} & {unparse(a) for a in theirs}
        named = {trains(split_of(n)) for a in theirs for n in [*map(unparse, _names(a)), *texts_in(a)]}
        if False in named or not any(trains(split_of(p)) for p in places):
            continue
        owner: ast.AST = source.classes[name] if name in source.classes else functions[name]
        flags = split_flags(source).get(owner, frozenset())
        if not _picks(owner, flags) and _is_seen_whole(source, owner, flags):
            return sides[False]
    return None


def _names(node: ast.expr) -> tuple[ast.Name | ast.Attribute, ...]:
    return of(node, ast.Name, ast.Attribute)


def _all_given(call: ast.expr) -> list[ast.expr]:
    return all_arguments(call) if isinstance(call, ast.Call) else []


_BASES = re.compile(r"(?:^|\.)(?:Dataset|IterableDataset|object|Sequence|Generic(?:\[.*\])?)$")
# what decides on a look at samples, not on which there are
_LOOKS = re.compile(
    r"(?i)transform|augment|compose|crop|flip|shuffle|batch|DataLoader|isinstance|bool|int|print"
)


def _is_seen_whole(source: Script, owner: ast.AST, flags: frozenset[str]) -> bool:
    """What differs is handed to nothing out of sight, and the class has no base that could pick by it."""
    if isinstance(owner, ast.ClassDef):
        if any(not _BASES.search(unparse(b)) and last_name(b) not in source.classes for b in owner.bases):
            return False
    known = {*source.classes, *(f.name for f in source.of(ast.FunctionDef))}
    return all(
        _LOOKS.search(unparse(c.func)) or last_name(c.func) in known
        for c in of(owner, ast.Call)
        if flags & {n for a in _sinks(c) for n in names_in(a)}
    )


def _sinks(call: ast.Call) -> list[ast.expr]:
    """What a call is given, without what decides on orders, batches and shares: `shuffle=training`."""
    order = r"shuffle|drop_?(?:last|remainder)|batch|shard|rank|worker"
    return [*call.args, *(k.value for k in call.keywords if not re.search(order, k.arg or ""))]


def _picks(owner: ast.AST, flags: frozenset[str]) -> bool:
    """By such a parameter samples are picked: `rows[:n] if fit else rows[n:]`, `x[x.fold == fold]`."""
    for node in walk(owner):
        if isinstance(node, (ast.If, ast.IfExp)) and flags & {unparse(n) for n in walk(node.test)}:
            if any(isinstance(n.slice, (ast.Slice, ast.Name)) for n in of(node, ast.Subscript)):
                return True
            if any(
                isinstance(a.value, ast.Call) and last_name(a.value.func) in ("range", "slice", "arange")
                for a in of(node, ast.Assign)
            ):
                return True  # `rows = range(start, n)`: which rows are read further down
        elif isinstance(node, (ast.Compare, ast.Slice)) and flags & {unparse(n) for n in walk(node)}:
            return True
    return False

"""Evaluation in scripts: what is evaluated, and how its metric is computed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import all_arguments, keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Script
from ..mindspore.steps import scored_where_trained
from ..shared.checks import at, first, is_false_node, ok, outer_loop
from ..shared.nodes import texts_in
from ..shared.roles import model_calls, split_flags, split_of, trains
from ..shared.sides import either, words
from ..splits.evaluated import evaluates_other_side
from ..splits.learnt_and_scored import scored_where_learnt
from ..tensorflow.graph_data import scored_on_training_run
from ..trainers.trainer_settings import classes_over_words


@probe()
def predicts_over_batch(view: View) -> Finding:
    """The predicted class is taken over the batch axis: `output.argmax(0)`."""
    return first(view, either(_over_batch, classes_over_words), "the scripts predict no classes")


def _over_batch(source: Script) -> Finding | None:
    seen = None
    for call in source.named("argmax", "max"):
        scores, axis = _scores_and_axis(source, call)
        if scores is None or not _takes_indices(source, call):
            continue
        text = unparse(scores).lower()
        words = any(w in text for w in ("out", "logit", "pred", "score", "model("))
        if not words and not (isinstance(scores, ast.Call) and scores in set(model_calls(source))):
            continue
        seen = seen or call
        single = re.search(r"segment|mask", " ".join(unparse(p) for p in _statement(source, call)))
        if isinstance(axis, ast.Constant) and axis.value == 0 and "[" not in text and not single:
            if (
                isinstance(call.func, ast.Attribute)
                and call.func.value is scores
                and call.func.attr == "argmax"
            ):
                if _picks_one(source, call):
                    continue
                return at(source, call, "the class is looked for along the batch, not along the classes")
            if not _of_one(source, scores):
                return at(source, call, "the class is looked for along the batch, not along the classes")
    return ok(source, seen, "the class is looked for along the classes") if seen is not None else None


def _picks_one(source: Script, call: ast.Call) -> bool:
    """`best = scores.argmax(0)`, then `actions[best]`: one of several candidates, and no class of samples."""
    statement = source.statement(call)
    if not isinstance(statement, ast.Assign) or statement.value is not call:
        return False
    names = {unparse(t) for t in statement.targets}
    around = source.function_around(call) or source.tree
    return any(unparse(n.slice) in names for n in of(around, ast.Subscript))


_LIBRARIES = ("torch", "np", "numpy", "jnp", "tf", "ops", "mint", "jax.numpy", "F")


def _scores_and_axis(source: Script, call: ast.Call) -> tuple[ast.expr | None, ast.expr | None]:
    """What the largest is looked for in, and along which axis: `out.argmax(1)`, `torch.max(out, dim=1)`."""
    if not isinstance(call.func, ast.Attribute):
        return None, None
    library = source.owner(call) in _LIBRARIES
    given = call.args[1:] if library else call.args
    axis = keyword(call, "dim") or keyword(call, "axis") or (given[0] if given else None)
    return (call.args[0] if call.args else None) if library else call.func.value, axis


def _takes_indices(source: Script, call: ast.Call) -> bool:
    """`_, pred = out.max(1)`, `out.max(1)[1]`, `out.max(1).indices`; argmax gives nothing else."""
    if last_name(call.func) == "argmax":
        return True
    parent = source.parents.get(call)
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Tuple):
        names = [unparse(name) for name in parent.targets[0].elts]
        return len(names) == 2 and names[1] != "_"  # `largest, _ = torch.max(out, 0)` is about the values
    if isinstance(parent, ast.Assign):
        return False
    if isinstance(parent, ast.Subscript):
        return unparse(parent.slice) == "1"
    return isinstance(parent, ast.Attribute) and parent.attr == "indices"


def _of_one(source: Script, scores: ast.expr) -> bool:
    """Scores of one sample, or several scores of each: items, what is stacked or averaged."""
    found = [scores, *flow(source).values(scores, 3)]
    return any(
        isinstance(v, (ast.Subscript, ast.List, ast.ListComp))
        or re.search(r"\[|squeeze\(0?\)|flatten|view\(-1|stack|vote|ensemble|mean\(|concat", unparse(v))
        for v in found
    )


def _statement(source: Script, node: ast.AST) -> list[ast.expr]:
    """What the value of a statement is assigned to."""
    around = next((p for p in source.above(node) if isinstance(p, ast.Assign)), None)
    return around.targets if around is not None else []


@probe()
def predicts_least_likely(view: View) -> Finding:
    """The predicted class is the one with the smallest score; right for distances, costs, negated scores."""
    return first(view, _least_likely, "the scripts predict no classes")


def _least_likely(source: Script) -> Finding | None:
    seen = None
    for call in source.named("argmax", "argmin", "topk"):
        inner = call.args[0] if call.args and source.owner(call) in ("torch", "np", "jnp", "ops") else None
        scores = unparse(inner).lower() if inner is not None else source.owner(call).lower()
        if not re.search(r"out|logit|pred|score|prob|model\(", scores):
            continue
        seen = seen or call
        largest = keyword(call, "largest")
        least = last_name(call.func) == "argmin" or (largest is not None and is_false_node(largest))
        if least and not re.search(r"dist|cost|energ|loss|err|diff|abs|norm|-|neg|desc|sort|rank", scores):
            return at(source, call, "the class with the smallest score is taken for the prediction")
    return (
        ok(source, seen, "the class with the largest score is the prediction") if seen is not None else None
    )


@probe()
def evaluates_stale_copy(view: View) -> Finding:
    """Evaluation uses a copy of the model, or an average of its weights, that training never refreshes."""
    return first(view, _stale_copy, "the scripts copy no model")


_AVERAGE = re.compile(r"(?i)ema\b|^ema|averag|swa\b|polyak")
_REFRESHES = ("load_state_dict", "update", "update_parameters", "update_attr", "lerp_", "step", "register")


def _stale_copy(source: Script) -> Finding | None:
    loop = outer_loop(source)
    if loop is None:
        return None
    if (found := _average_left_alone(source)) is not None:
        return found
    seen = None
    for node in source.of(ast.Assign):
        if not isinstance(node.value, ast.Call):
            continue
        if node.lineno >= loop.lineno or not _copies(source, node.value) or source.loops_around(node):
            continue  # in a loop of its own it is made anew in each round
        name = unparse(node.targets[0])
        if re.search(
            r"(?i)(?:^|[._])(?:old|prev(?:ious)?|teacher|frozen|past)(?:_|$)|_(?:old|prev|t)$", name
        ):
            continue  # a state of the model that is held against what it becomes
        seen = seen or node
        if any(_same(name, source.owner(c)) for c in source.named(*_REFRESHES)):
            continue
        if any(loop in source.above(a) for a in _assignments(source, name)):
            continue
        used = {c for c in source.calls if _evaluates(c, name)}
        if used and not any(c not in used and c is not node.value and _gets(c, name) for c in source.calls):
            return at(source, node, "evaluation uses this copy, which is never refreshed")
    return ok(source, seen, "the copy of the model is refreshed") if seen is not None else None


_AVERAGES = re.compile(
    r"(?i)(?:^|_)(?:ema|averag\w*|shadow|swa|polyak)(?:_|$)|EMA|MovingAverage|AveragedModel"
)


def _average_left_alone(source: Script) -> Finding | None:
    """An average of weights is made by a class of the script, and nobody moves it on."""
    for name, owner in source.classes.items():
        if not _AVERAGES.search(name) or not source.named(name):
            continue
        if not any(c in walk(owner) for c in source.named("deepcopy", "clone", "state_dict")):
            continue
        moving = [f for f in owner.body if isinstance(f, ast.FunctionDef) and _moves_on(f)]
        if not moving or source.loose or any(f in source.forwards for f in moving):
            continue  # a layer that moves its own average on whenever it is called
        names = {f.name for f in moving}
        held = {unparse(t) for c in source.named(name) for t in _targets(source, c)}
        calls = [
            c
            for c in source.named(*names)
            if owner not in source.above(c) and _about_average(source.owner(c), held)
        ]
        handed = [
            n for n in source.of(ast.Attribute) if n.attr in names and _about_average(unparse(n.value), held)
        ]
        passed = [c for c in source.calls if owner not in source.above(c) and any(_gets(c, h) for h in held)]
        if held and not calls and not handed and not passed:
            return at(source, source.named(name)[0], "the average of the weights is made and never moved on")
        if calls:
            return ok(source, calls[0], "the average of the weights is moved on")
    return None


def _moves_on(function: ast.FunctionDef) -> bool:
    """A method that mixes the model's weights into the average."""
    if function.name.startswith("__") and function.name != "__call__":
        return False
    calls = {last_name(n.func) for n in of(function, ast.Call)}
    mixed = bool(calls & {"mul_", "lerp_", "lerp", "add_", "copy_"})
    return mixed and any(
        w in unparse(function).lower() for w in ("decay", "1 -", "1.0 -", "lerp", "momentum")
    )


def _targets(source: Script, call: ast.Call) -> list[ast.expr]:
    parent = source.parents.get(call)
    return parent.targets if isinstance(parent, ast.Assign) else []


def _about_average(owner: str, held: set[str]) -> bool:
    """The call is on what holds the average, under its own or another name: `self.ema`, `trainer.ema`."""
    last = {h.split(".")[-1] for h in held}
    return owner.split(".")[-1] in last


_SETTINGS = {"config", "configs", "cfg", "kwargs", "args", "settings", "options", "spec", "specs"}


def _copies(source: Script, value: ast.Call) -> bool:
    """`deepcopy(model)`, `AveragedModel(model)`, or a class of the script that holds such a copy."""
    if "model" not in unparse(value).lower() and "net" not in unparse(value).lower():
        return False
    given = value.args[0] if value.args else None
    if isinstance(given, (ast.Name, ast.Attribute)) and _SETTINGS & set(words(last_name(given))):
        return False  # `deepcopy(net_config)`: what the model is made of
    name = last_name(value.func)
    if name == "deepcopy" or (name[:1].isupper() and bool(_AVERAGE.search(name)) and bool(value.args)):
        return True
    own = source.classes.get(name)
    return own is not None and any(c in walk(own) for c in source.named("deepcopy"))


def _same(name: str, owner: str) -> bool:
    """`ema`, `ema.ema`, `self.ema.module`."""
    return owner == name or owner.startswith(name + ".")


def _gets(call: ast.Call, name: str) -> bool:
    return any(_same(name, unparse(a)) for a in _all_given(call))


def _evaluates(call: ast.Call, name: str) -> bool:
    """The copy is called on data, or handed to a function that evaluates by its name."""
    if _same(name, unparse(call.func)) and bool(call.args):
        return last_name(call.func) in (name.rsplit(".", 1)[-1], "ema", "module", "model", "shadow")
    return _gets(call, name) and any(
        w in last_name(call.func).lower() for w in ("eval", "val", "test", "predict")
    )


def _assignments(source: Script, name: str) -> list[ast.Assign]:
    found = source.of(ast.Assign)
    return [n for n in found if any(unparse(t) == name for t in n.targets)]


@probe()
def evaluates_training_data(view: View) -> Finding:
    """A loader with an evaluation name is built over the training data."""
    return first(
        view,
        either(
            _evaluates_training,
            scored_where_trained,
            evaluates_other_side,
            scored_where_learnt,
            scored_on_training_run,
        ),
        "the scripts show no evaluation loader",
    )


def _evaluates_training(source: Script) -> Finding | None:
    seen = None
    for node in source.of(ast.Assign):
        if not (isinstance(node.value, ast.Call) and node.value.args):
            continue
        targets = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else node.targets
        name = last_name(node.value.func)
        scores = re.search(r"eval|valid|score|test|^val", name.lower()) is not None
        if name != "DataLoader" and not scores:
            continue
        if not all(trains(split_of(unparse(t))) is False for t in targets):
            continue
        given = node.value.args[:1] if name == "DataLoader" else node.value.args
        sides = {trains(split_of(n)) for a in given for n in _names(a) if _of_data(n)}
        if sides - {None}:
            seen = node
        if True in sides and False not in sides:
            return at(source, node, "what is evaluated is the training data")
    trained = _scored_on_training(source)
    if trained is not None:
        return at(source, trained, "what is evaluated here is the training data")
    twice = _one_source(source)
    if twice is not None:
        return at(source, twice, "what is evaluated is read from the training data")
    return ok(source, seen, "evaluation reads its own data") if seen is not None else None


_DATA_WORDS = re.compile(
    r"(?i)^(?:(?:data)?(?:loader|set|iter)s?|data|d[lsf]|gen(?:erator)?|x[sb]?|y[sb]?|batch(?:es)?|mask|split|fold|subset"
    r"|id(?:x|s)|ind(?:ex|ices)|frame|tensors?|arrays?|(?:sample|example|row|item|record|image|img|text|sentence|pair|graph"
    r"|node|edge|feat|feature|input|label|target|sequence|seq|window|point|token|file|path|folder)s?)$"
)


def _of_data(name: str) -> bool:
    """It says the side alone (`train`), or that these are data: no `training_assets`, no `train_args`."""
    rest = [w for w in words(name.rsplit(".", 1)[-1]) if w not in ("train", "training")]
    return not rest or any(_DATA_WORDS.match(w) for w in rest)


_DATA = re.compile(r"(?i)(?:loader|data|dataset|_dl|_iter|_ds|_set)$")


def _scored_on_training(source: Script) -> ast.AST | None:
    """`val_loss = validate(model, train_loader)`, and `for x in train_loader` in a function `validate`.

    A score that is named one of held-out data, or a function that goes over nothing else.
    """
    for node in source.of(ast.Assign, ast.For):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            name = last_name(node.value.func)
            target = node.targets[0]
            if (
                isinstance(target, ast.Name)
                and trains(split_of(target.id)) is False
                and _SCORE.search(target.id)
            ):
                if re.search(r"(?i)eval|valid|test|score", name) and _handed_sides(node.value) == {True}:
                    return node
        elif isinstance(node, ast.For) and not takes_gradients(source, node):
            if isinstance(node.target, ast.Name) and trains(split_of(node.target.id)) is False:
                if _sides([node.iter]) == {True}:
                    return node
            function = source.function_around(node)
            if function is None or trains(split_of(function.name)) is not False:
                continue
            if isinstance(node.iter, (ast.Name, ast.Attribute, ast.Call)) and _sides([node.iter]) == {True}:
                parameters = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
                own = parameters & names_in(node.iter) - {"self"}
                # a bank of neighbours is made of the training data, and other data are scored by it
                others = _sides(of(function, ast.Name, ast.Attribute))
                if not own and False not in others:
                    return node
    return _held_out_unused(source)


def _held_out_unused(source: Script) -> ast.Call | None:
    """`test(model, train_loader)` is the only call of `test`, beside a `test_loader`."""
    held = {
        unparse(n)
        for n in source.of(ast.Name, ast.Attribute)
        if isinstance(n.ctx, ast.Store) and _DATA.search(unparse(n)) and trains(split_of(unparse(n))) is False
    }
    if not held:
        return None
    for name in {last_name(c.func) for c in source.calls}:
        if trains(split_of(name)) is False and not re.search(
            "(?i)train|fit|load|data|get|make|prepare", name
        ):
            calls = [c for c in source.named(name) if _handed_sides(c) and not _of_training_scores(source, c)]
            if calls and all(_handed_sides(c) == {True} for c in calls):
                return calls[0]
    return None


def _of_training_scores(source: Script, call: ast.Call) -> bool:
    """In `eval_train_set()`: a function that is named for the scores of training data means them."""
    name = source.function_name(call)
    return "train" in words(name) and re.search(r"(?i)eval|score|perform|metric|acc", name) is not None


def _handed_sides(call: ast.Call) -> set[bool]:
    """The sides of the data that a call is handed as they are."""
    return _sides([a for a in _all_given(call) if isinstance(a, (ast.Name, ast.Attribute))])


_SCORE = re.compile(r"(?i)loss|acc|metric|score|auc|result|iou|f1|bleu|wer|ppl|prec|recall|error")


def _sides(given: Iterable[ast.expr]) -> set[bool]:
    """The sides of what is called data: loaders, sets, iterators."""
    names = [unparse(n) for a in given for n in of(a, ast.Name, ast.Attribute)]
    sides = {trains(split_of(n)) for n in names if _DATA.search(n)}
    return {s for s in sides if s is not None}


def _one_source(source: Script) -> ast.Assign | None:
    """`train = Tags(cfg.train_csv)` and `val = Tags(cfg.train_csv)`: one place, called that of training.

    Nothing that differs between the two calls may pick samples out of it.
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
        named = {trains(split_of(n)) for a in theirs for n in [*_names(a), *texts_in(a)]}
        if False in named or not any(trains(split_of(p)) for p in places):
            continue
        owner: ast.AST = source.classes[name] if name in source.classes else functions[name]
        flags = split_flags(source).get(owner, frozenset())
        if not _picks(owner, flags):
            return sides[False]
    return None


def _all_given(call: ast.expr) -> list[ast.expr]:
    return all_arguments(call) if isinstance(call, ast.Call) else []


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


def _names(node: ast.expr) -> list[str]:
    return [unparse(n) for n in of(node, ast.Name, ast.Attribute)]

"""Evaluations in scripts that read training data, told by held-out data that nothing reads."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import all_arguments, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Script
from ..shared.checks import at, is_evaluation
from ..shared.nodes import flat, refilled
from ..shared.sides import given, side, stem

_EVALUATES = re.compile(r"(?i)eval|valid|score|(?:^|_)test(?:_|$)|accuracy|metric|predict")
# `validate_dataset_format(train)`: a look at how the data are written
# `predict(n=36, series=train)`: what is foretold lies behind the series that it goes on from
_HORIZONS = ("n", "steps", "horizon", "h", "fh", "n_steps", "forecast_horizon", "output_length")
_INSPECTS = re.compile(r"(?i)valid\w*_.*(?:format|schema|arg|config|type|shape|column)s?$")
_OTHER = re.compile(
    r"(?i)transform|aug|tfm|(?:^|_)tf(?:_|$)|cfg|config|args|mean|std|stat|scal|vocab|token|encod|class|label_?map|mode"
    r"|size|batch_?s|epoch|step|model|state|worker|ratio|frac|loss|acc|metric|len|num|path|dir|file|split|time|norm"
)
_DATA_CALL = re.compile(
    r"(?:Loader|Dataset|Subset|Set|Data)$|^(?:from_tensor_slices|with_transform|set_transform|map|select)$"
)


def evaluates_other_side(source: Script) -> Finding | None:
    """Held-out data are made and never read, and what is evaluated is the training data.

    `accuracy = evaluate(net, train_loader)` beside a `val_loader` that nothing reads; `val_ds =
    TensorDataset(x_train, y_train)` beside an `x_val`; `trainer.evaluate(data["train"])` beside a
    `data["test"]`; two loaders of the two sides over one set.
    """
    for look in (_same_set, _held_out_of_training, _scored):
        if (found := look(source)) is not None:
            return found
    return None


def _data_of(value: ast.expr) -> list[ast.expr]:
    """The names, attributes and items by a constant that a data set is made of, steps left out."""
    found: list[ast.expr] = []
    waiting: list[ast.expr] = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Call):
            waiting += [
                *node.args,
                *(k.value for k in node.keywords if k.arg in ("dataset", "data", "x", "y")),
            ]
            if isinstance(node.func, ast.Attribute) and not node.func.attr[:1].isupper():
                waiting.append(node.func.value)
        elif isinstance(node, ast.Subscript):
            if isinstance(node.slice, ast.Constant):
                found.append(node)
            else:
                waiting.append(node.value)
        elif isinstance(node, (ast.Name, ast.Attribute)):
            found.append(node)
        elif isinstance(node, ast.Starred):
            waiting.append(node.value)
    return [n for n in found if not _OTHER.search(_word(n))]


def _word(node: ast.expr) -> str:
    return "" if isinstance(node, ast.Subscript) else last_name(node)


def _is_data(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and _DATA_CALL.search(last_name(value.func)) is not None


def _held_out_of_training(source: Script) -> Finding | None:
    """What is named after held-out data is made of nothing but training data, and held-out data lie idle."""
    for one in given(source):
        if one.learns or not _is_data(one.value) or _OTHER.search(one.name) or _sampled(one.value):
            continue
        made_of = _data_of(one.value)
        sides = {side(unparse(n)) for n in made_of}
        if sides - {None} == {True} and any(is_idle(source, n) for n in made_of):
            return at(
                source, one.node, "what is evaluated is the training data, and the held-out data lie idle"
            )
    return None


def _sampled(value: ast.expr) -> bool:
    return any(
        k.arg in ("sampler", "batch_sampler", "indices") for c in of(value, ast.Call) for k in c.keywords
    )


def _same_set(source: Script) -> Finding | None:
    """`train_loader = DataLoader(sets[0])` and `val_loader = DataLoader(sets[0])`, beside a `sets[1]`."""
    made = [
        (g, g.value)
        for g in given(source)
        if isinstance(g.value, ast.Call) and g.value.args and _is_data(g.value) and not _sampled(g.value)
    ]
    for held, theirs in made:
        if held.learns or _OTHER.search(held.name) or not _part_of_data(theirs.args[0]):
            continue
        for mine, ours in made:
            if not mine.learns or mine.scope is not held.scope:
                continue
            # further arguments by place, a list of files or classes, part what has one root
            same = [unparse(a) for a in ours.args] == [unparse(a) for a in theirs.args]
            anew = any(refilled(source, n, ours, theirs) for n in names_in(theirs.args[0]))
            if same and not anew and last_name(ours.func) == last_name(theirs.func):
                return at(source, held.node, "both sides are made of one set of data")
    return None


def _part_of_data(node: ast.expr) -> bool:
    """`sets[0]`, `data["train"]`; a setting such as `data["root"]` is no data."""
    if not (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)):
        return False
    key = node.slice.value
    return isinstance(key, int) or (isinstance(key, str) and side(key) is not None)


def _scored(source: Script) -> Finding | None:
    """A function that evaluates is handed training data alone, and held-out data of that name lie idle."""
    for call in source.calls:
        name = last_name(call.func)
        if side(name) is True or _is_data(call) or name[:1].isupper() or "split" in name.lower():
            continue
        if not _EVALUATES.search(name) and not _scores(source, call):
            continue
        if _INSPECTS.search(name) or any(k.arg in _HORIZONS for k in call.keywords):
            continue
        functions = [f for f in source.of(ast.FunctionDef) if f.name == name]
        if any(takes_gradients(source, f) for f in functions):
            continue
        handed = [_uncut(a) for a in all_arguments(call)]
        handed = [a for a in handed if isinstance(a, (ast.Name, ast.Attribute)) or _item(a)]
        data = [a for a in handed if side(unparse(a)) is not None and not _OTHER.search(_word(a))]
        data = [a for a in data if not _is_switch(source, a)]
        if data and all(side(unparse(a)) is True for a in data) and any(is_idle(source, a) for a in data):
            told = _told(source, call)
            if side(told) is not True and "train_" not in source.function_name(call):
                return at(
                    source, call, "what is evaluated is the training data, and the held-out data lie idle"
                )
    return None


def _scores(source: Script, call: ast.Call) -> bool:
    """A function of the program that runs the model without gradients, whatever its name."""
    called = flow(source).called(call) if isinstance(call.func, ast.Name) else []
    return len(called) == 1 and any(
        last_name(c.func) == "eval" and is_evaluation(source, c) for c in of(called[0], ast.Call)
    )


def _is_switch(source: Script, node: ast.expr) -> bool:
    """`training`, `is_train`: says which side it is and holds none of its data."""
    if re.fullmatch(r"(?:self\.)?_?(?:is_?)?(?:training|is_train)", unparse(node)):
        return True
    function = source.function_around(node)
    if not isinstance(node, ast.Name) or function is None:
        return False
    given_ = [*function.args.posonlyargs, *function.args.args]
    defaults = dict(zip((a.arg for a in reversed(given_)), reversed(function.args.defaults), strict=False))
    defaults |= {
        a.arg: d for a, d in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True) if d
    }
    told = {
        a.arg
        for a in (*given_, *function.args.kwonlyargs)
        if a.annotation and unparse(a.annotation) == "bool"
    }
    start = defaults.get(node.id)
    return node.id in told or (isinstance(start, ast.Constant) and isinstance(start.value, bool))


def _told(source: Script, call: ast.Call) -> str:
    """What the score is named: `train_accuracy = evaluate(...)`, `print("train", evaluate(...))`."""
    statement = source.statement(call)
    if isinstance(statement, ast.Assign):
        return unparse(statement.targets[0])
    words = [n.value for n in of(statement, ast.Constant) if isinstance(n.value, str)] if statement else []
    return " ".join(w for w in words if isinstance(w, str) and f"'{w}'" not in unparse(call))


def _item(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    )


def is_idle(source: Script, data: ast.expr) -> bool:
    """The held-out counterpart of these training data is there, and nothing reads it."""
    if isinstance(data, ast.Subscript):
        return _idle_item(source, data)
    name = last_name(data)
    stored: dict[str, int] = {}
    read: dict[str, int] = {}
    for node in source.of(ast.Name, ast.Attribute):
        word = last_name(node)
        if side(word) is False and stem(word) == stem(name):
            if isinstance(node, ast.Name) and _of_another_function(source, node, data):
                continue
            into = stored if isinstance(node.ctx, ast.Store) else read
            own = isinstance(node.ctx, ast.Load) and (
                _of_itself(source, node, word) or _counted_alone(source, node)
            )
            into[word] = into.get(word, 0) + (not own)
    return any(not read.get(word) for word in stored)


def _of_another_function(source: Script, node: ast.Name, data: ast.expr) -> bool:
    """A function that is not the one around the data gives the name a value of its own."""
    mine, theirs = source.function_around(data), source.function_around(node)
    if theirs is None or theirs is mine:
        return False
    return any(n.id == node.id and isinstance(n.ctx, ast.Store) for n in of(theirs, ast.Name))


def _uncut(node: ast.expr) -> ast.expr:
    """`train_cases` of `train_cases[:20]`: the first of them, for a quicker look."""
    cut = isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)
    return node.value if isinstance(node, ast.Subscript) and cut else node


def _counted_alone(source: Script, node: ast.AST) -> bool:
    """`len(val_cases)`, `x_val.shape`: how many there are says nothing of them."""
    call = source.parents.get(node)
    if isinstance(call, ast.Attribute) and call.attr == "shape":
        return True
    return isinstance(call, ast.Call) and unparse(call.func) == "len"


def _of_itself(source: Script, node: ast.AST, word: str) -> bool:
    """`x_val = scaler.transform(x_val)`, or a loader's function that hands it back: no use of it yet."""
    statement = source.statement(node)
    if isinstance(statement, ast.Assign):
        targets = [e for t in statement.targets for e in flat([t])]
        return any(last_name(t) == word for t in targets if isinstance(t, (ast.Name, ast.Attribute)))
    function = source.function_around(node)
    return (
        isinstance(statement, ast.Return) and function is not None and isinstance(statement.value, ast.Tuple)
    )


def _idle_item(source: Script, data: ast.Subscript) -> bool:
    """`parts["test"]` is never read, where `parts` was cut in two, or was named with that key."""
    whole = unparse(data.value)
    keys = {
        n.slice.value
        for n in source.of(ast.Subscript)
        if unparse(n.value) == whole and isinstance(n.slice, ast.Constant) and isinstance(n.slice.value, str)
    }
    held = {k for k in keys if side(k) is False}
    made = [n.value for n in source.of(ast.Assign) if unparse(n.targets[0]) == whole]
    halves = any(
        isinstance(v, ast.Call)
        and last_name(v.func) == "train_test_split"
        and isinstance(v.func, ast.Attribute)
        for v in made
    )
    if halves:
        return "test" not in keys
    named = {
        k.value
        for n in source.of(ast.Dict)
        for k in n.keys
        if isinstance(k, ast.Constant) and isinstance(k.value, str) and side(k.value) is False
    }
    return bool(named - held)

"""Shuffling in scripts that is there and that nobody asks for."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import learns_within, takes_gradients
from ...scripts.syntax import Function, Script
from ..shared.checks import at, gone_over
from ..shared.nodes import is_false, texts_in
from ..shared.sides import side

_TRAINING = re.compile(r"(?i)^(?:is_?)?train(?:ing)?$|^augment$")


def shuffle_not_asked(source: Script) -> Finding | None:
    """The order of training samples is left as it is: the switch is never set, or set to no on every side."""
    if source.loose:
        return None
    for look in (_switch_unset, _never_shuffled, _in_sequence, helper_told_not_to):
        if (found := look(source)) is not None:
            return found
    return None


def _switch_unset(source: Script) -> Finding | None:
    """A function or class of the program shuffles only when told, and nobody tells it.

    `def batches(self, size, shuffle=False)`: every call takes the default, those for training, too.
    """
    for function in of(source.tree, ast.FunctionDef):
        default = _default(function, "shuffle")
        if default is None or not is_false(default):
            continue
        tests = [n for n in of(function, ast.If, ast.IfExp) if "shuffle" in unparse(n.test)]
        kept = any(unparse(n) == "self.shuffle" for n in of(function, ast.Attribute))
        owner = source.class_around(function)
        if not (tests or (kept and function.name == "__init__")):
            continue
        called = owner.name if owner is not None and function.name == "__init__" else function.name
        calls = [c for c in source.named(called) if function not in source.above(c)]
        if not calls or any(_told(function, c, owner is not None) for c in calls):
            continue
        heirs = owner is not None and any(
            last_name(b) == owner.name for c in source.classes.values() for b in c.bases
        )
        others = _shuffles_elsewhere(source, function, owner)
        if not heirs and not others:
            return at(
                source, calls[0], "the order is shuffled only when it is asked for, and nothing asks for it"
            )
    return None


def shuffle_switched_off(source: Script) -> Finding | None:
    """`for x, y in batches(train, 64, shuffle=False)`: the loop that trains tells its own function not to."""
    for loop in source.of(ast.For):
        call = gone_over(loop.iter)
        if not isinstance(call, ast.Call) or not takes_gradients(source, loop):
            continue
        functions = [f for f in flow(source).called(call) if isinstance(f, ast.FunctionDef)]
        told = keyword(call, "shuffle")
        if len(functions) != 1 or told is None or not is_false(told):
            continue
        if _mixes_if_told(functions[0]) and not _shuffles_elsewhere(
            source, functions[0], source.class_around(functions[0])
        ):
            return at(source, call, "the order is shuffled when it is asked for, and training asks for none")
    return _sequence_told_not_to(source)


def _sequence_told_not_to(source: Script) -> Finding | None:
    """`model.fit(Clips(x, y, shuffle=False))` of a class that shuffles itself between epochs if told."""
    for fit in source.named("fit"):
        given = fit.args[0] if fit.args else keyword(fit, "x")
        made = flow(source).whole_given(given) if isinstance(given, ast.Name) else given
        owner = source.classes.get(last_name(made.func)) if isinstance(made, ast.Call) else None
        if owner is None or not isinstance(made, ast.Call) or fit.args[1:] or keyword(fit, "y") is not None:
            continue
        begins = next((f for f in of(owner, ast.FunctionDef) if f.name == "__init__"), None)
        told = keyword(made, "shuffle")
        if begins is None or told is None or not is_false(told) or _default(begins, "shuffle") is None:
            continue
        if _mixes_if_told(owner) and not _shuffles_elsewhere(source, begins, owner, fits=False):
            return at(source, made, "the order is shuffled when it is asked for, and training asks for none")
    return None


def _mixes_if_told(scope: ast.AST) -> bool:
    return any(
        last_name(c.func) in ("shuffle", "permutation", "randperm", "sample")
        for n in of(scope, ast.If, ast.IfExp)
        if "shuffle" in unparse(n.test)
        for c in of(n, ast.Call)
    )


# a state that goes on from batch to batch
_IN_TURN = re.compile(r"(?i)stateful|\bcarry|hidden_?states?\b|(?:init|detach|repackage)_?hidden|streaming")


def helper_told_not_to(source: Script) -> Finding | None:
    """`train = make(table, 64, False)` where `make` hands that on as `shuffle=`, whatever it calls it."""
    if source.loose or _IN_TURN.search(source.code):
        return None
    for loop in source.of(ast.For):
        if not learns_within(source, loop):
            continue
        over: ast.expr = gone_over(loop.iter) or loop.iter
        while isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and not over.args:
            over = over.func.value  # `data.create_tuple_iterator()`
        made = flow(source).whole_given(over) if isinstance(over, ast.Name) else over
        functions = flow(source).functions.get(last_name(made.func), []) if isinstance(made, ast.Call) else []
        if not isinstance(made, ast.Call) or len(functions) != 1:
            continue
        function = functions[0]
        names = [a.arg for a in function.args.args]
        for call in of(function, ast.Call):
            told = keyword(call, "shuffle")
            if not isinstance(told, ast.Name) or told.id not in names:
                continue
            place = names.index(told.id)
            given = keyword(made, told.id) or (made.args[place] if place < len(made.args) else None)
            given = given or _default(function, told.id)
            if given is None or not is_false(given) or any(k.arg == "sampler" for k in call.keywords):
                continue
            if not _shuffles_elsewhere(source, function, None) or _only_told(source, function):
                return at(source, made, "training is given a loader that is told not to shuffle")
    return None


def _only_told(source: Script, function: Function) -> bool:
    """What else speaks of shuffling is this function itself."""
    inside = set(of(function, ast.Call))
    words = ("shuffle", "permutation", "randperm", "RandomSampler", "WeightedRandomSampler")
    return not any(c not in inside for c in source.named(*words))


def _default(function: Function, name: str) -> ast.expr | None:
    args = function.args
    places = dict(zip(reversed([a.arg for a in args.args]), reversed(args.defaults), strict=False))
    places.update({a.arg: d for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d is not None})
    return places.get(name)


def _told(function: Function, call: ast.Call, method: bool) -> bool:
    """The call sets the switch, or may."""
    if keyword(call, "shuffle") is not None or any(k.arg is None for k in call.keywords):
        return True
    names = [a.arg for a in function.args.args]
    if "shuffle" not in names or any(isinstance(a, ast.Starred) for a in call.args):
        return True
    return names.index("shuffle") - int(method) < len(call.args)


def _shuffles_elsewhere(
    source: Script, function: Function, owner: ast.ClassDef | None, *, fits: bool = True
) -> bool:
    """Something else puts samples into another order: a call, a drawn permutation, a sampler, a flag.

    So does Keras' `fit` with arrays (`fits`), which goes with `compile`.
    """
    inside = set(of(owner or function, ast.Call))
    words = ("shuffle", "permutation", "randperm", "RandomSampler", "sample", "WeightedRandomSampler")
    drawn = [c for c in source.named(*words) if c not in inside and not _for_split(source, c)]
    asked = [
        k
        for c in source.calls
        for k in c.keywords
        if k.arg == "shuffle" and unparse(k.value) not in ("False",)
    ]
    return bool(drawn or asked or (fits and source.named("compile")))


def _for_split(source: Script, call: ast.Call) -> bool:
    """The permutation is drawn once, to divide the data."""
    return bool(re.search(r"split|fold|divide|partition|part", source.function_name(call)))


_DATASETS = (
    *("GeneratorDataset", "NumpySlicesDataset", "ImageFolderDataset", "TFRecordDataset", "MindDataset"),
    *("Cifar10Dataset", "Cifar100Dataset", "MnistDataset", "TextFileDataset", "CSVDataset"),
)
_SPLITS = re.compile(r"(?i)^(?:split|mode|usage|phase|subset|stage)$")


def _never_shuffled(source: Script) -> Finding | None:
    """MindSpore: data for training and for evaluation are made with `shuffle=False`, or read in sequence."""
    made = source.named(*_DATASETS) if "mindspore" in source.frameworks else ()
    if not made or not all(_keeps_order(c) for c in made):
        return None
    mixes = [
        c for c in source.named("shuffle") if not re.search(r"split|fold|divide", source.function_name(c))
    ]
    if mixes:
        return None
    for call in made:
        function = source.function_around(call)
        names = [a.arg for a in (*function.args.args, *function.args.kwonlyargs)] if function else []
        learnt = len(made) == 1 and any(side(text) is True for text in texts_in(call))
        told = function is not None and _told_both(source, function, names)
        if learnt or told or any(_TRAINING.match(n) for n in names):
            return at(source, call, "the order of the samples is kept, for training as well")
    return None


def _keeps_order(call: ast.Call) -> bool:
    """`shuffle=False` without a sampler, or a sampler in sequence."""
    shuffle, sampler = keyword(call, "shuffle"), keyword(call, "sampler")
    if sampler is not None:
        return isinstance(sampler, ast.Call) and last_name(sampler.func) == "SequentialSampler"
    return shuffle is not None and unparse(shuffle) == "False"


def _told_both(source: Script, function: Function, names: list[str]) -> bool:
    """The function is called for "train" and for another part, by a parameter called `split` or so."""
    parts = [n for n in names if _SPLITS.match(n)]
    said = set()
    for call in flow(source).calls_of(function):
        handed = dict(zip(names, call.args, strict=False)) | {k.arg: k.value for k in call.keywords if k.arg}
        said |= {unparse(handed[p]).strip("'\"").lower() for p in parts if p in handed}
    return any("train" in s for s in said) and any(re.search(r"val|test|eval|dev", s) for s in said)


def _in_sequence(source: Script) -> Finding | None:
    """A trainer's own sampler of training data is replaced by one that keeps the order."""
    for function in of(source.tree, ast.FunctionDef):
        if function.name not in ("_get_train_sampler", "get_train_sampler", "train_sampler"):
            continue
        for node in of(function, ast.Return):
            if isinstance(node.value, ast.Call) and last_name(node.value.func) == "SequentialSampler":
                return at(source, node, "training samples are drawn in the order of the file")
    return None

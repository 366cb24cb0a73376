"""The sides of a script: which values are training's and which held-out data's, and how they differ."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache

from ..code.shared.nodes import assigned
from ..code.shared.sides import side, stem
from ..readers._tree import names_in, of, unparse
from ..readers.script import last_name
from ..scripts.flow import flow
from ..scripts.syntax import Function, Script
from .apart import OTHER_DATA, Apart, samples_apart
from .evaluate import Evaluator
from .machine import Left, OutOfSteps
from .values import Env, Term
from .watched import set_up

_ENDS = re.compile(
    r"(?i)^(?:fit|predict\w*|evaluate\w*|score|print|len|isinstance|min|max|sum|mean|std|unique|bincount|Counter|info|"
    r"compute_class_weight|compute_sample_weight|set|sorted|append|save|savez\w*|\w*(?:score|report|error|matrix|Loader)|"
    r"TensorDataset|ArrayDataset|NumpySlicesDataset|from_tensor_slices|to|size)$"
)
_SETS = re.compile(
    r"(?i)^call:(?:\w*loader|\w*dataset|map|batch|prefetch|padded_batch|subset|shuffle|repeat|cache)$"
)
_PREPARES = re.compile(r"(?i)/ (?:255|127)|normali[sz]e|standardi[sz]e|preprocess|transform\(")
MOST_STEPS = 40_000  # of all functions that the module does not reach, and of all comparisons
EACH_PAIR = 4_000
# what is told of a split, and is none of its data
_FIGURES = re.compile(
    r"(?i)(?:^|_)(?:loss(?:es)?|acc\w*|scores?|metrics?|time|size|len|lens|length|num|n|steps?|epochs?|lr|rate|ratio|frac|"
    r"fraction|share|means?|std|var|paths?|dirs?|root|folder|files?|filenames?|names?|logs?|logger|history|best|total|count|"
    r"counts|correct|right|hits?|seed|idx|idxs|index|indices|order|perm|mask|preds?|predictions?|probs?|logits|outputs?|out|"
    r"results?|report|perplexity|ppl|auc|ap|f1|rmse|mae|mse|err|errors?|writer|sampler|fn|func|op|workers|every|interval|"
    r"freq|summary|table_of|weights?|args|config|cfg|kwargs|mode|end|start|first|last|gap|max|min|sum|avg|average|r2|iou|dice|"
    r"cm|matrix|curve|curves|meter|tracker|callback|callbacks|state|stats|rng|generator|key|keys|model|net)(?:_|$)"
)

_MEASURED = re.compile(r"(?i)(?:^|_)(?:l1|l2|nll|nce|psnr|ssim|s?mape|eer|cer|wer|miou|pck|snr|sdr)(?:_|$)")
_ONE_NUMBER = ("call:int", "call:round", "call:len", "call:floor", "call:ceil")


@dataclass(frozen=True)
class Pair:
    """One value of either side, and whether it is one of labels."""

    train: Term
    held: Term
    label: bool
    one_loss: bool = False
    names: tuple[str, str] = ("", "")  # of arrays, which may be processed later on


def differences(source: Script) -> tuple[Apart, ...]:
    """Where the two sides of a script's data are processed otherwise, each place once."""
    return _differences(source)[0]


def both_followed(source: Script) -> bool:
    """Whether data of both sides were found and held against each other."""
    return _differences(source)[1] > 0


@lru_cache(maxsize=16)
def _differences(source: Script) -> tuple[tuple[Apart, ...], int]:
    """The differences, and how many pairs of values were held against each other to the end."""
    pairs = 0
    found: dict[tuple[str, int, int], Apart] = {}
    left = MOST_STEPS
    for run, frames in _runs(source):
        for pair in _pairs(run, frames):
            if _are_places(pair.train) != _are_places(pair.held):
                continue  # `val = order[:n]` says which rows, beside `train`, which is a set of them
            run.steps = given = min(left, EACH_PAIR)
            one = None
            with suppress(OutOfSteps, Left, RecursionError):
                one = samples_apart(run, pair.train, pair.held, pair.label)
                pairs += 1
            left -= given - max(run.steps, 0)
            if pair.names[1] and (
                _only_renamed(source, pair.names[1]) or _only_counted(source, pair.names[1])
            ):
                continue
            if one is not None and (_ready(pair, one) or _used_alike(source, *pair.names)):
                lines = [getattr(n, "lineno", 0) if n is not None else 0 for n in (one.train, one.held)]
                known = found.get((one.kind, lines[0], lines[1]))
                if known is None or (pair.one_loss and not known.one_loss):
                    found[one.kind, lines[0], lines[1]] = replace(one, one_loss=pair.one_loss)
    return tuple(found.values()), pairs


_PLACES = re.compile(r"^call:(?:permutation|randperm|arange|flatnonzero|nonzero|argsort|range)$")


def _are_places(term: Term) -> bool:
    """Numbers of rows, or a part of them: `order[:n]` of `rng.permutation(len(x))`."""
    for _ in range(6):
        if _PLACES.match(term.head):
            return True
        if term.head not in ("slice", "item", "index", "sorted", "call:sorted", "call:sort") or not term.args:
            return False
        term = term.args[0]
    return False


def _runs(source: Script) -> Iterator[tuple[Evaluator, list[Env]]]:
    """Runs of the module, of classes of data, and of functions that the module does not reach."""
    if not any(side(n) is False for n in _names(source)):
        return
    run = Evaluator(source)
    with suppress(OutOfSteps, RecursionError):
        run.run_module()
    yield run, run.frames
    entered, left = set(run.entered), MOST_STEPS
    for owner in source.classes.values():
        methods = {f.name: f for f in owner.body if isinstance(f, ast.FunctionDef)}
        if {"train_dataloader", "val_dataloader"} <= set(methods):
            yield _of_class(source, run, owner, methods)
    for function in source.of(ast.FunctionDef, ast.AsyncFunctionDef):
        if function in entered or not _holds_sides(function):
            continue
        if left < 0:
            break
        other = Evaluator(source, min(left, 12_000))
        other.top = Env(dict(run.top.names))
        with suppress(OutOfSteps, RecursionError):
            other.run_function(function)
        entered |= other.entered
        left -= 12_000 - other.steps
        yield other, other.frames


def _of_class(
    source: Script, run: Evaluator, owner: ast.ClassDef, methods: dict[str, ast.FunctionDef]
) -> tuple[Evaluator, list[Env]]:
    """A class of loaders: made, set up, and asked for each of them."""
    mine = Evaluator(source)
    mine.top = Env(dict(run.top.names))
    made: dict[str, Term] = {}
    try:
        held = set_up(mine, owner, methods)
        for name in ("train_dataloader", "val_dataloader"):
            out = mine.run_function(methods[name], held).names.get("<returned>")
            if out is not None:
                made[name] = out
    except (OutOfSteps, RecursionError):
        pass
    return mine, [*mine.frames, Env(made)]


def _names(source: Script) -> set[str]:
    return (
        names_in(source.tree)
        | {n.attr for n in source.of(ast.Attribute)}
        | {k.arg for c in source.calls for k in c.keywords if k.arg}
    )


def _holds_sides(function: Function) -> bool:
    told = {side(n) for n in names_in(function)} | {side(a.attr) for a in of(function, ast.Attribute)}
    return {True, False} <= told


def _pairs(run: Evaluator, frames: list[Env]) -> Iterator[Pair]:
    """Values of one stem, given to names of both sides."""
    seen: set[tuple[int, int]] = set()
    held_out: list[Pair] = []
    for env in frames:
        held_out += _named(env.names)
        returned = env.names.get("<returned>")
        if returned is not None and returned.head == "dict":
            held_out += _named({str(k): v for k, v in returned.value.items()})
    for obj in run.objects:
        held_out += _named(obj.attrs)
    for _, made in run.calls:
        held_out += _named(made.kw)
        if made.name == "fit" and "validation_data" in made.kw:
            theirs = made.kw["validation_data"]
            mine = made.args[1:3]
            if theirs.head == "tuple" and len(mine) >= 2:
                held_out.append(Pair(run.make("tuple", made.node, mine), theirs, False, True))
            elif mine:
                held_out.append(Pair(mine[0], theirs, False, True))
    for value in [v for env in frames for v in env.names.values()]:
        if value.head == "dict":
            held_out += _named({str(k): v for k, v in value.value.items()})
    for tuple_, given in run.returned:
        held_out += _returned(tuple_, given)
    for pair in held_out:
        if (key := (pair.train.key, pair.held.key)) not in seen and len(seen) < 60:
            seen.add(key)
            yield pair


def _ready(pair: Pair, one: Apart) -> bool:
    """Data sets and loaders, which nothing but a batch is taken of; not arrays on their way to one."""
    made = pair.train.head
    return (
        one.kind in ("statistics", "numbering", OTHER_DATA) or made == "obj" or _SETS.search(made) is not None
    )


def _used_alike(source: Script, mine: str, theirs: str) -> bool:
    """Both are handed to the same functions, besides those that train, score or count them.

    Where one side is processed on its way to the model (`datagen.flow(x_train)`), it need not be done here.
    """
    used: list[set[str]] = []
    for name in (mine, theirs):
        above = [source.parents.get(n) for n in _named_nodes(source).get(name, ())]
        above = [source.parents.get(n) if isinstance(n, ast.keyword) else n for n in above]
        calls = [c for c in above if isinstance(c, ast.Call)]
        used.append({stem(n) for c in calls if not _ends(source, n := last_name(c.func))})
    return used[0] == used[1]


def _only_renamed(source: Script, name: str) -> bool:
    """`x_test = x_val` is all that reads it: what is done to the data is done under the other name."""
    reads = _named_nodes(source).get(name, [])
    renamed = {v for n in source.of(ast.Assign) for _, v in assigned(n) if isinstance(v, ast.Name)}
    return bool(reads) and all(n in renamed for n in reads)


_COUNTED = re.compile(
    r"(?i)^(?:get_dataset_size|get_batch_size|cardinality|shape|ndim|size|columns|head|info|describe)$"
)


def _only_counted(source: Script, name: str) -> bool:
    """`ds_test.get_dataset_size()` is all that is asked of it: a look at files, which scores nothing."""
    asked = [source.parents.get(n) for n in _named_nodes(source).get(name, [])]
    return bool(asked) and all(
        (isinstance(p, ast.Attribute) and _COUNTED.match(p.attr) is not None)
        or (isinstance(p, ast.Call) and last_name(p.func) in ("len", "print"))
        for p in asked
    )


def _ends(source: Script, name: str) -> bool:
    """A function that trains, scores or counts; one of the script must not process what it gets."""
    own = [f for f in flow(source).functions.get(name, ()) if _PREPARES.search(unparse(f))]
    return _ENDS.search(name) is not None and not own


@lru_cache(maxsize=16)
def _named_nodes(source: Script) -> dict[str, list[ast.AST]]:
    found: dict[str, list[ast.AST]] = {}
    for node in source.of(ast.Name, ast.Attribute):
        if isinstance(node.ctx, ast.Load):
            found.setdefault(node.id if isinstance(node, ast.Name) else node.attr, []).append(node)
    return found


def _returned(node: ast.Tuple, given: Term) -> list[Pair]:
    """`return pack(train, scaler), pack(valid, scaler)`: calls of one function on either side."""
    if len(node.elts) != len(given.args):
        return []
    told: dict[bool, list[tuple[str, str, Term]]] = {True: [], False: []}
    for one, value in zip(node.elts, given.args, strict=True):
        if isinstance(one, ast.Call):
            names = {n: side(n) for n in names_in(one) if side(n) is not None}
            if len(set(names.values())) == 1:
                about = " ".join(sorted(map(stem, names)))
                told[bool(set(names.values()).pop())].append((unparse(one.func), about, value))
    found = []
    for function, about, theirs in told[False]:
        mine = [t for t in told[True] if t[0] == function]
        # `cat(tr_x), cat(tr_y), cat(va_x), cat(va_y)`: inputs are held against inputs
        alike = [t for t in mine if t[1] == about] or (mine if len(mine) == 1 else [])
        found += [Pair(alike[0][2], theirs, _LABEL.search(about) is not None)] if alike else []
    return found


_LABEL = re.compile(r"(?i)(?:^|_)(?:y|ys|labels?|targets?)$")


def _named(names: dict[str, Term]) -> list[Pair]:
    mine: dict[str, tuple[str, Term]] = {}
    theirs: dict[str, list[tuple[str, Term]]] = {}
    for name, value in names.items():
        told = side(name)
        if told is None or (value.head == "func" and not stem(name)) or _FIGURES.search(stem(name)):
            continue
        if _MEASURED.search(name):
            continue  # `val_l2`: an error
        if value.head in _ONE_NUMBER:
            continue  # `i_train, i_val = int(0.7 * n), int(0.85 * n)`: where parts are cut, no rows
        if told:
            mine[stem(name)] = (name, value)
        else:
            theirs.setdefault(stem(name), []).append((name, value))
    found = []
    for name in mine:
        label = _LABEL.search(name) is not None
        found += [
            Pair(mine[name][1], other, label, names=(mine[name][0], their_name))
            for their_name, other in _spelled_alike(mine[name][0], theirs.get(name, []))
        ]
    return found


_SHORT = re.compile(r"(?i)(?:^|_)(?:tr|va|vl|te|ts)(?:_|$)")


def _spelled_alike(mine: str, theirs: list[tuple[str, Term]]) -> list[tuple[str, Term]]:
    """Of `va` and `val` the one that is spelled as `tr`: a script that has both means two stages by them."""
    short = _SHORT.search(mine) is not None
    alike = [one for one in theirs if (_SHORT.search(one[0]) is not None) == short]
    return alike or theirs

"""Data of TensorFlow's graphs in scripts: the order that they are fed in, and what evaluation runs over."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.graph_facts import descents
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import assigned
from ..shared.sides import side
from .graph import applies, feeds

_MIXES = re.compile(r"shuffle|permut(?:ation|e\b)|\.sample\(|random_index|randint|choice\(|train_test_split")


def fed_in_stored_order(source: Script) -> Finding | None:
    """Batches are slices of arrays, or of `arange`, and nothing in the program mixes anything.

    Only where a run that applies gradients is fed such slices within loops over epochs.
    """
    if source.loose or not descents(source) or _MIXES.search(source.code):
        return None
    for call, fed in feeds(source):
        loops = source.loops_around(call)
        if len(loops) < 2 or not applies(source, call):
            continue
        parts = [v for v in fed.values if isinstance(v, ast.Subscript) and _moves(source, v, loops[0])]
        if len(parts) > 1:
            return at(source, parts[0], "the samples are fed in the stored order in every epoch")
    return None


def _moves(source: Script, part: ast.Subscript, loop: ast.AST) -> bool:
    """The slice goes on with the loop: by its variable, or by rows that were cut out with it."""
    inside = names_in(loop.target) if isinstance(loop, ast.For) else set()
    ends = [part.slice, *(flow(source).values(part.slice, 3) if isinstance(part.slice, ast.Name) else [])]
    return any(names_in(e) & inside and any(isinstance(n, ast.Slice) for n in ast.walk(e)) for e in ends)


def piped_in_stored_order(source: Script) -> Finding | None:
    """A `tf.data` pipeline of a graph that repeats or batches its samples, and no shuffle in the program."""
    if source.loose or not descents(source) or _MIXES.search(source.code):
        return None
    made = source.named("from_tensor_slices", "from_generator")
    batches = [c for c in source.named("batch", "padded_batch") if isinstance(c.func, ast.Attribute)]
    if not made or not batches:
        return None
    return at(source, batches[0], "nothing shuffles the samples, which come in the stored order")


def scored_on_training_run(source: Script) -> Finding | None:
    """Evaluation runs over training data: iterators of held-out data nobody starts, arrays not fed."""
    if "tensorflow" not in source.frameworks or source.loose:
        return None
    looks = (_iterator_unused, _fed_training, _read_as_training)
    return next((f for look in looks if (f := look(source)) is not None), None)


def _iterator_unused(source: Script) -> Finding | None:
    read = {n.id for n in source.of(ast.Name) if isinstance(n.ctx, ast.Load)}
    for node in source.of(ast.Assign):
        for name, made in assigned(node):
            if isinstance(name, ast.Name) and isinstance(made, ast.Call) and side(name.id) is False:
                if last_name(made.func) == "make_initializer" and name.id not in read:
                    return at(source, node, f"nothing runs {name.id}: what is evaluated is the training data")
    return None


def _fed_training(source: Script) -> Finding | None:
    """No run is fed the held-out arrays, and one that applies nothing is fed those of training."""
    held = {
        n.id
        for node in source.of(ast.Assign)
        for t in node.targets
        for n in of(t, ast.Name)
        if side(n.id) is False
    }
    runs = [(c, {side(n.id) for v in d.values for n in of(v, ast.Name)}) for c, d in feeds(source)]
    if not held or any(False in sides for _, sides in runs):
        return None
    trains = [c for c, _ in runs if applies(source, c)]
    for call, sides in runs:
        if call in trains or not trains or True not in sides:
            continue
        around = source.loops_around(call)
        over = unparse(around[0].iter) if around and isinstance(around[0], ast.For) else ""
        if around and not any(t in of(around[0], ast.Call) for t in trains) and side(over) is not True:
            return at(source, call, "what is evaluated here is the training data")
    return None


def _read_as_training(source: Script) -> Finding | None:
    """`x_test, y_test = load("train")`: the names say one side, the words that are read by say the other."""
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Tuple) or not isinstance(node.value, ast.Call):
            continue
        words = [a.value for a in node.value.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        sides = {side(w) for w in words} - {None}
        if sides == {True} and all(side(unparse(t)) is False for t in target.elts):
            others = [
                c for c in source.named(last_name(node.value.func)) if unparse(c) == unparse(node.value)
            ]
            if len(others) > 1:
                return at(source, node, "what is evaluated is read from the training data")
    return None


def whole_table_given(source: Script) -> Finding | None:
    """`TrainSpec(input_fn(frame))` of the table that a split was made of."""
    wholes: dict[str, ast.AST] = {}
    for node in source.of(ast.Assign):
        if isinstance(node.value, ast.Call) and last_name(node.value.func) == "train_test_split":
            parts = {n for t in node.targets for n in names_in(t)}
            given = names_in(node.value.args[0]) if node.value.args else set()
            wholes |= dict.fromkeys(given - parts, node)
    for call in source.named("TrainSpec"):
        feeding = argument(call, "input_fn", position=0)
        inside = [n for n in of(feeding, ast.Name) if n.id in wholes] if feeding is not None else []
        if inside:
            return at(source, call, f"training reads `{inside[0].id}`, of which the held-out rows are a part")
    return None

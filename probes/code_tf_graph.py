"""TensorFlow's graph mode and its schedules in scripts: what is fed, never run, or counted in epochs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from .code import at, ok
from .code_sides import literal, side
from .flow import flow
from .readers._tree import of, unparse
from .readers.script import keyword, last_name
from .registry import Finding
from .syntax import Script

_MODE = re.compile(r"(?i)^(?:is_?|in_?)?train(?:ing)?(?:_?(?:mode|phase|flag|ph))?$|^phase(?:_?train)?$")


def _runs(source: Script) -> Iterator[tuple[ast.Call, ast.Dict]]:
    """`sess.run(fetches, feed_dict={...})`, also by way of a name."""
    for call in source.named("run"):
        given = keyword(call, "feed_dict") or (call.args[1] if len(call.args) > 1 else None)
        for end in flow(source).values(given, 3) if given is not None else ():
            if isinstance(end, ast.Dict):
                yield call, end


def fed_in_training_mode(source: Script) -> Finding | None:
    """Held-out data are fed with `is_training: True`, by a run that fetches nothing that trains."""
    if "tensorflow" not in source.frameworks:
        return None
    seen: ast.AST | None = None
    for call, fed in _runs(source):
        told = [
            v
            for k, v in zip(fed.keys, fed.values, strict=True)
            if k is not None and _MODE.match(last_name(k)) and isinstance(v, ast.Constant)
        ]
        if not told or not call.args:
            continue
        seen = seen or call
        held = any(side(n.id) is False for v in fed.values for n in of(v, ast.Name))
        trains = re.search(r"(?i)train|optim|update|minimi|step", unparse(call.args[0]))
        if told[0].value is True and held and not trains:
            return at(source, told[0], "held-out data run through the model in the mode of training")
    return ok(source, seen, "the mode is fed") if seen is not None else None


_UPDATES = re.compile(r"UPDATE_OPS|updates_collections|create_train_op|\.updates\b|get_updates_for")


def statistics_never_run(source: Script) -> Finding | None:
    """`tf.layers.batch_normalization(training=...)`, and nothing runs what moves its statistics."""
    if "tensorflow" not in source.frameworks or source.loose:
        return None
    layers = [
        c
        for c in source.named("batch_normalization", "batch_norm")
        if re.search(r"(?:^|\.)(?:layers|contrib\.layers|slim)$", source.owner(c))
        and (told := keyword(c, "training") or keyword(c, "is_training")) is not None
        and not (isinstance(told, ast.Constant) and told.value is False)
    ]
    steps = source.named("minimize", "apply_gradients")
    if not layers or not steps:
        return None
    if _UPDATES.search(source.code):
        return ok(source, layers[0], "the statistics of batch norm are moved in each step")
    why = "nothing runs UPDATE_OPS: batch norm is evaluated with statistics that never moved"
    return at(source, steps[0], why)


def rows_fed_apart(source: Script) -> Finding | None:
    """`{x: inputs[rows], y: labels[i : i + n]}`: one is taken in a drawn order, the other as it is stored."""
    for fed in source.of(ast.Dict):
        call = next((c for c, d in _runs(source) if d is fed), None) if len(fed.values) > 1 else None
        if call is None:
            continue
        parts = [v for v in fed.values if isinstance(v, ast.Subscript)]
        drawn = [v for v in parts if isinstance(v.slice, ast.Name) and _is_drawn(source, v.slice)]
        plain = [v for v in parts if isinstance(v.slice, ast.Slice)]
        if drawn and plain:
            return at(source, plain[0], f"`{unparse(drawn[0])}` is in another order than this")
    return None


def _is_drawn(source: Script, rows: ast.Name) -> bool:
    """A slice of a permutation, or drawn anew."""
    for end in flow(source).values(rows, 3):
        text = unparse(end)
        if re.search(r"permutation|choice|randint|shuffle", text):
            return True
        if isinstance(end, ast.Subscript):
            for made in flow(source).values(end.value, 3):
                if re.search(r"permutation|choice|randint", unparse(made)):
                    return True
    return False


def decay_of_epochs(source: Script) -> Finding | None:
    """`CosineDecay(rate, decay_steps=15)` beside `fit(epochs=15)`: Keras moves it with every batch."""
    if "keras" not in source.text:
        return None
    epochs = {
        literal(source, given) for c in source.named("fit") if (given := keyword(c, "epochs")) is not None
    }
    epochs -= {0, 1, None}
    for call in source.named("CosineDecay", "PolynomialDecay"):
        steps = keyword(call, "decay_steps") or (call.args[1] if len(call.args) > 1 else None)
        if steps is not None and literal(source, steps) in epochs:
            return at(source, call, "the decay is over after as many batches as there are epochs")
    return None

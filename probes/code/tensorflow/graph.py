"""TensorFlow's graph mode and its schedules in scripts: what is fed, never run, or counted in epochs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.graph_facts import descents
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.nodes import is_false
from ..shared.sides import literal, side
from ..shared.units import EPOCH, unit
from .graph_gradient import never_read

_MODE = re.compile(r"(?i)^(?:is_?|in_?)?train(?:ing)?(?:_?(?:mode|phase|flag|ph))?$|^phase(?:_?train)?$")


def feeds(source: Script) -> Iterator[tuple[ast.Call, ast.Dict]]:
    """`sess.run(fetches, feed_dict={...})`, also by way of a name."""
    for call in source.named("run"):
        given = argument(call, "feed_dict", position=1)
        for end in flow(source).values(given, 3) if given is not None else ():
            if isinstance(end, ast.Dict):
                yield call, end


def fed_in_training_mode(source: Script) -> Finding | None:
    """Held-out data are fed with `is_training: True`, by a run that fetches nothing that trains."""
    if "tensorflow" not in source.frameworks:
        return None
    seen: ast.AST | None = None
    for call, fed in feeds(source):
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


def _trains(source: Script, call: ast.Call) -> bool:
    """A run fetches what applies gradients, by name or by what the name was given."""
    fetched = call.args[0] if call.args else keyword(call, "fetches")
    if fetched is None:
        return False
    for name in (fetched, *of(fetched, ast.Name, ast.Attribute)):
        if re.search(r"(?i)train|optim|update|minimi|step", unparse(name)):
            return True
        for end in flow(source).values(name, 4) if isinstance(name, (ast.Name, ast.Attribute)) else ():
            if isinstance(end, ast.Call) and last_name(end.func) in _APPLIES:
                return True
    return False


_APPLIES = ("minimize", "apply_gradients", "create_train_op", "optimize_loss")


def mode_not_fed(source: Script) -> Finding | None:
    """A run that trains is fed `is_training: False`, or nothing where the placeholder is False by itself."""
    if "tensorflow" not in source.frameworks or source.loose:
        return None
    flags = {
        target.id: node.value
        for node in source.of(ast.Assign)
        if isinstance(node.value, ast.Call)
        and last_name(node.value.func) in ("placeholder", "placeholder_with_default")
        for target in node.targets
        if isinstance(target, ast.Name) and _MODE.match(target.id)
    }
    if not flags:
        return None
    runs = [c for c in source.named("run") if applies(source, c)]
    fed = dict(feeds(source))
    for call in runs:
        given = fed.get(call)
        told = (
            {last_name(k): v for k, v in zip(given.keys, given.values, strict=True) if k is not None}
            if given is not None
            else {}
        )
        if given is None and (keyword(call, "feed_dict") is not None or len(call.args) > 1):
            continue
        for name, made in flags.items():
            value = told.get(name)
            if is_false(value):
                return at(source, value, "training runs with the mode of evaluation")
            off = last_name(made.func) == "placeholder_with_default" and made.args
            if value is None and off and getattr(made.args[0], "value", None) is False:
                return at(source, call, "this run trains, and leaves the mode at its default: evaluation")
    return ok(source, runs[0], "training is fed its mode") if runs else None


def applies(source: Script, call: ast.Call) -> bool:
    """A run fetches what applies gradients, as far as names lead to it."""
    fetched = call.args[0] if call.args else keyword(call, "fetches")
    for name in of(fetched, ast.Name, ast.Attribute) if fetched is not None else ():
        for end in flow(source).values(name, 4):
            if isinstance(end, ast.Call) and last_name(end.func) in _APPLIES:
                return True
    return False


def kept_in_evaluation(source: Script) -> Finding | None:
    """Held-out data run while the mode is training, or less than everything is kept of dropout's units."""
    if "tensorflow" not in source.frameworks or source.loose:
        return None
    fed = dict(feeds(source))
    trains = [c for c in source.named("run") if applies(source, c)]
    for call, given in fed.items():
        if not trains or _trains(source, call):
            continue
        held = any(side(n.id) is False for v in given.values for n in of(v, ast.Name))
        held = held or _after_held_out(source, call)
        for key, value in zip(given.keys, given.values, strict=True):
            name = last_name(key) if key is not None else ""
            number = literal(source, value)
            if not held:
                continue
            if _MODE.match(name) and number is True:
                return at(source, value, "held-out data run through the model in the mode of training")
            part = isinstance(number, float) and 0 < number < 1
            if re.search(r"(?i)keep_?prob|^kp$|dropout_keep", name) and part:
                return at(
                    source, value, f"dropout keeps {number:g} of the units while held-out data are scored"
                )
    return None


def _after_held_out(source: Script, call: ast.Call) -> bool:
    """The last iterator that was initialised before a run is of held-out data: `sess.run(valid_init)`."""
    scope = source.function_around(call)
    before = [
        c
        for c in source.named("run")
        if c.args and isinstance(c.args[0], (ast.Name, ast.Attribute)) and "init" in unparse(c.args[0])
        if source.function_around(c) is scope and c.lineno < call.lineno
    ]
    return bool(before) and side(unparse(before[-1].args[0])) is False


def mode_turned_in_model_fn(source: Script) -> Finding | None:
    """An Estimator's model takes any mode but TRAIN for training, or is always in one."""
    if "tensorflow" not in source.frameworks:
        return None
    seen: ast.AST | None = None
    models = [f for f in source.of(ast.FunctionDef) if any(a.arg == "mode" for a in f.args.args)]
    layers = [c for f in models for c in of(f, ast.Call) if last_name(c.func) in _MODAL]
    flags = [(c, keyword(c, "training") or keyword(c, "is_training")) for c in layers]
    told: list[tuple[ast.AST, ast.expr]] = [(c, flag) for c, flag in flags if flag is not None]
    if models and source.named("EstimatorSpec"):
        told += [(node, flag) for node, flag in _asked_of_model(source) if node not in layers]
    for node, flag in told:
        seen = seen or node
        for end in flow(source).values(flag, 4):
            if isinstance(end, ast.Constant) and isinstance(end.value, bool):
                return at(source, end, f"this layer is told {end.value} in every mode")
            if isinstance(end, ast.Compare) and "mode" in unparse(end.left):
                right = unparse(end.comparators[0])
                equal = isinstance(end.ops[0], (ast.Eq, ast.Is))
                if re.search(r"(?i)eval|predict|infer", right) and equal:
                    return at(source, end, "layers are told that they train while the model is evaluated")
                if re.search(r"(?i)predict|infer", right) and not equal:
                    return at(source, end, "layers are told that they train while the model is evaluated")
                if re.search(r"TRAIN\b", right) and isinstance(end.ops[0], (ast.NotEq, ast.IsNot)):
                    return at(source, end, "layers are told that they train whenever they do not")
    return ok(source, seen, "layers are told whether the model trains") if seen is not None else None


def _asked_of_model(source: Script) -> Iterator[tuple[ast.AST, ast.expr]]:
    """Layers with a mode in functions that a model function calls, and `if is_training:` around them."""
    for call in source.named(*_MODAL):
        function = source.function_around(call)
        if function is None or not any("train" in a.arg for a in function.args.args):
            continue
        flag = keyword(call, "training") or keyword(call, "is_training")
        if isinstance(flag, ast.Name):
            yield call, flag
        for around in source.above(call):
            if isinstance(around, ast.If) and isinstance(around.test, ast.Name) and "train" in around.test.id:
                yield call, around.test


_MODAL = ("batch_normalization", "dropout", "batch_norm", "alpha_dropout")


def mode_left_out(source: Script) -> Finding | None:
    """`tf.layers.batch_normalization(x)`: without `training=` the statistics never move."""
    if "tensorflow" not in source.frameworks or not descents(source):
        return None
    for call in source.named("batch_normalization", "dropout"):
        owner = source.owner(call)
        if (
            not re.search(r"(?:^|\.)layers$", owner)
            or len(call.args) > 2
            or any(k.arg is None for k in call.keywords)
        ):
            continue
        if keyword(call, "training") is None:
            why = (
                "batch norm is not told that it trains: its statistics stay at their first values"
                if last_name(call.func) == "batch_normalization"
                else "dropout is not told that it trains: it never drops"
            )
            return at(source, call, why)
    return None


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
        and not is_false(told)
    ]
    steps = source.named("minimize", "apply_gradients")
    if not layers or not steps:
        return None
    kept = [c for c in source.named("get_collection") if c.args and "UPDATE_OPS" in unparse(c.args[0])]
    idle = [c for c in kept if never_read(source, c) is not None]
    if _UPDATES.search(source.code) and not (idle and len(idle) == len(kept)):
        return ok(source, layers[0], "the statistics of batch norm are moved in each step")
    why = "nothing runs UPDATE_OPS: batch norm is evaluated with statistics that never moved"
    return at(source, steps[0], why)


def rows_fed_apart(source: Script) -> Finding | None:
    """`{x: inputs[rows], y: labels[i : i + n]}`: one is taken in a drawn order, the other as it is stored."""
    for fed in source.of(ast.Dict):
        call = next((c for c, d in feeds(source) if d is fed), None) if len(fed.values) > 1 else None
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


_DECAYS = (
    *("cosine_decay", "linear_cosine_decay", "polynomial_decay", "exponential_decay"),
    *("natural_exp_decay", "inverse_time_decay"),
)


def decay_of_epochs(source: Script) -> Finding | None:
    """`CosineDecay(rate, decay_steps=15)` beside `fit(epochs=15)`: Keras moves it with every batch.

    Of TensorFlow 1 `tf.train.cosine_decay(rate, global_step, FLAGS.epochs)`.
    """
    for call in source.named(*_DECAYS) if descents(source) else ():
        at_step, steps = argument(call, "global_step", position=1), argument(call, "decay_steps", position=2)
        if at_step is None or steps is None or "train" not in source.owner(call):
            continue
        if "epoch" not in unparse(at_step) and unit(flow(source), steps) == EPOCH:
            return at(source, call, "the decay is over after as many steps as there are epochs")
    if "keras" not in source.text:
        return None
    epochs = {
        literal(source, given) for c in source.named("fit") if (given := keyword(c, "epochs")) is not None
    }
    epochs -= {0, 1, None}
    for call in source.named("CosineDecay", "PolynomialDecay"):
        steps = argument(call, "decay_steps", position=1)
        if steps is not None and literal(source, steps) in epochs:
            return at(source, call, "the decay is over after as many batches as there are epochs")
    return None

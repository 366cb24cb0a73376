"""Layers that are held in one mode, in scripts: dropout always on or off, batch norm that never learns."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..evaluation.by_batch import scored_loops
from ..loss.distilled import frozen_net_in_training
from ..model.drop_by_hand import dropped_in_evaluation
from ..optimizer.frozen import judges
from ..shared.checks import at, first, is_evaluation, ok
from ..shared.nodes import is_false, is_true
from ..shared.sides import either, setting, side
from ..tensorflow.answers import part_always_trains
from ..tensorflow.graph import (
    fed_in_training_mode,
    kept_in_evaluation,
    mode_left_out,
    mode_not_fed,
    mode_turned_in_model_fn,
    statistics_never_run,
)
from ..tensorflow.session import fed_as_in_training, trained_in_evaluation_mode, updates_never_run
from ..tensorflow.slips import kept_in_every_mode
from .loops import switch_of

_FUNCTIONAL = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")
_LIBRARIES = (
    "F",
    "nn.functional",
    "torch.nn.functional",
    "functional",
    "torch",
    "ops",
    "tf.nn",
    "mint.nn.functional",
)
_HOOKS = ("on_train_epoch_start", "on_train_start", "on_train_batch_start", "on_fit_start", "on_epoch_start")


@probe()
def dropout_always_on(view: View) -> Finding:
    """Functional dropout of a model that is never told whether it trains: it drops in evaluation, too.

    `F.dropout(x, p)` has `training=True` by default, `dropout_p=` of the fused attention knows no mode.
    """
    checks = either(_always_on, dropped_in_evaluation, _dropped_when_scored)
    return first(view, checks, "the scripts hold no functional dropout in a model")


def _always_on(source: Script) -> Finding | None:
    seen = None
    for call in source.calls:
        function = source.function_around(call)
        if function is None or (function not in source.forwards and not _in_module(source, call)):
            continue
        name = last_name(call.func)
        if name in _FUNCTIONAL and source.owner(call) in _LIBRARIES and not _knows_by_itself(source, call):
            told = argument(call, "training", "train", position=2)
            on = told is None or is_true(told)
            rate = argument(call, "p", "rate", position=1)
        elif name == "scaled_dot_product_attention":
            rate = told = argument(call, "dropout_p", position=4)
            if rate is None:
                continue
            on = not _knows_mode(source, rate)
        else:
            continue
        if isinstance(rate, ast.Constant) and not rate.value:
            continue
        if isinstance(rate, ast.Name) and _none_by_default(function, rate.id):
            continue  # who calls this says how much to drop, by the mode
        if call.args and isinstance(call.args[0], ast.Call):
            if last_name(call.args[0].func) in ("ones", "ones_like"):
                continue  # a mask is drawn, to be kept over several steps
        if source.owner(call) == "tf.nn" and not isinstance(rate, ast.Constant):
            continue  # a rate that may be chosen by the mode
        if told is not None and _draws_on_purpose(source, call):
            continue
        seen = seen or call
        if on and not _guarded(source, call) and not _asked_for(source, call, rate):
            return at(
                source, call, "this dropout drops in evaluation, too: it is not told whether the model trains"
            )
    return (
        ok(source, seen, "functional dropout is told whether the model trains") if seen is not None else None
    )


def _draws_on_purpose(source: Script, call: ast.Call) -> bool:
    """`training=True` is written in Tacotron's prenet, or where answers are drawn several times.

    Shen et al. 2018 (arXiv:1712.05884) keep the dropout of the prenet at synthesis; Gal and Ghahramani 2016
    draw a network of dropout many times.
    """
    owner = source.class_around(call)
    if owner is not None and re.search(r"(?i)pre_?net", owner.name):
        return True
    draws: list[tuple[ast.expr, ast.expr, Sequence[ast.AST]]] = [
        (n.generators[0].target, n.generators[0].iter, [n.elt])
        for n in source.of(ast.ListComp, ast.GeneratorExp)
    ]
    draws += [
        (n.target, n.iter, n.body)
        for n in source.of(ast.For)
        if not any(last_name(c.func) in ("backward", "step") for c in of(n, ast.Call))
    ]
    return any(
        isinstance(over, ast.Call)
        and last_name(over.func) == "range"
        and isinstance(target, ast.Name)
        and not any(n.id == target.id for line in body for n in of(line, ast.Name))
        and any(
            re.search(r"(?i)^(?:\w+_)?(?:model|net|network|module)$", last_name(c.func))
            for line in body
            for c in of(line, ast.Call)
        )
        for target, over, body in draws
    )


def _dropped_when_scored(source: Script) -> Finding | None:
    """`F.dropout(model(x), 0.5)` in an evaluation: the function drops unless it is told not to."""
    for loop in scored_loops(source):
        for call in of(loop, ast.Call):
            if last_name(call.func) not in _FUNCTIONAL or source.owner(call) not in _LIBRARIES[:5]:
                continue
            told = argument(call, "training", position=2)
            if told is None or is_true(told):
                if not _asked_for(source, call, argument(call, position=1)):
                    return at(source, call, "this dropout drops in the evaluation: it is not told otherwise")
    return None


def _none_by_default(function: Function, name: str) -> bool:
    """`def attend(q, k, v, dropout_p=0.0)`, as the fused attention of PyTorch takes it."""
    arguments = function.args
    given = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(reversed(given), reversed(arguments.defaults), strict=False)]
    pairs += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d]
    return any(a.arg == name and isinstance(d, ast.Constant) and d.value in (0, 0.0) for a, d in pairs)


def _knows_by_itself(source: Script, call: ast.Call) -> bool:
    """Functions of Chainer look up whether training goes on."""
    path = source.place(call).file
    return any(
        isinstance(s, (ast.Import, ast.ImportFrom))
        and "chainer" in unparse(s)
        and source.place(s).file == path
        for s in source.tree.body
    )


def _knows_mode(source: Script, rate: ast.expr) -> bool:
    values = [rate, *flow(source).values(rate, 4)]
    if any(isinstance(v, ast.Attribute) and setting(source, v) in (0, 0.0) for v in values):
        return True  # it drops nothing
    return any("train" in unparse(v) or isinstance(v, ast.Constant) for v in values) or not isinstance(
        rate, (ast.Attribute, ast.Constant)
    )


def _in_module(source: Script, node: ast.AST) -> bool:
    owner = source.class_around(node)
    return owner in source.modules


def _guarded(source: Script, node: ast.AST) -> bool:
    """Under a condition on the mode, or after `if not training: return x`."""
    above = [p for p in source.above(node) if isinstance(p, (ast.If, ast.IfExp))]
    if any("train" in unparse(p.test) for p in above):
        return True
    function = source.function_around(node)
    return function is not None and any(
        isinstance(s, ast.If) and "train" in unparse(s.test) and isinstance(s.body[-1], ast.Return)
        for s in function.body
    )


def _asked_for(source: Script, call: ast.Call, rate: ast.expr | None) -> bool:
    """`if self.use_dropout:`: a switch of its own says whether to drop, which is not the rate."""
    known = unparse(rate) if rate is not None else ""
    for above in source.above(call):
        if isinstance(above, ast.If):
            parts = above.test.values if isinstance(above.test, ast.BoolOp) else [above.test]
            parts = [p.left if isinstance(p, ast.Compare) and is_true(p.comparators[0]) else p for p in parts]
            if any(isinstance(p, (ast.Name, ast.Attribute)) and unparse(p) != known for p in parts):
                return True
    return False


@probe()
def mode_fixed_in_call(view: View) -> Finding:
    """A Keras layer is called with a constant `training=`: dropout that never drops, for example.

    `training=False` on batch norm or on a whole backbone is how fine-tuning keeps statistics: left aside.
    """
    graph = (
        frozen_net_in_training,
        fed_in_training_mode,
        fed_as_in_training,
        trained_in_evaluation_mode,
        mode_not_fed,
        kept_in_evaluation,
        mode_turned_in_model_fn,
        mode_left_out,
        kept_in_every_mode,
        part_always_trains,
    )
    return first(view, either(_fixed, *graph), "the scripts call no layer with a mode")


def _fixed(source: Script) -> Finding | None:
    seen = None
    for call in source.calls:
        told = keyword(call, "training")
        if told is None or last_name(call.func) in _FUNCTIONAL or _makes_data(source, call):
            continue
        seen = seen or call
        if not isinstance(told, ast.Constant) or told.value is None:
            continue
        made = call.func if isinstance(call.func, ast.Call) else _made(source, call)
        kind = last_name(made.func) if made is not None else ""
        if told.value is False and kind.endswith("Dropout"):
            return at(source, call, "this dropout is off while the model trains, too")
        if told.value is False and kind == "BatchNormalization" and call.func is made and not _loads(source):
            return at(source, call, "this batch norm is new and never uses the statistics of a batch")
        if told.value is True and _scores_held_out(source, call):
            return at(source, call, "held-out data are scored in training mode")
        if told.value is True and _in_graph(source, call):
            return at(source, call, "this part runs in training mode when the model is evaluated, too")
        if told.value is True and (_evaluates(source, call) or _predicts(source, call)):
            return at(source, call, "the evaluation runs the model in training mode")
    return ok(source, seen, "layers are called in the mode of the model") if seen is not None else None


_DATA = ("batch", "map", "from_tensor_slices", "DataLoader", "GeneratorDataset", "TFRecordDataset", "shuffle")


def _makes_data(source: Script, call: ast.Call) -> bool:
    """`make_dataset(files, training=True)`: which data are made, and in no mode of a model."""
    if isinstance(call.func, ast.Name) and call.func.id in source.classes:
        return True  # an object is made of a class of the script, nothing is run
    own = flow(source).functions.get(last_name(call.func), []) if isinstance(call.func, ast.Name) else []
    return any(
        last_name(c.func) in _DATA and isinstance(c.func, ast.Attribute) for f in own for c in of(f, ast.Call)
    )


def _loads(source: Script) -> bool:
    """Weights of another training are read, statistics among them."""
    return bool(source.named("load_weights", "load_model", "set_weights", "from_pretrained"))


def _scores_held_out(source: Script, call: ast.Call) -> bool:
    """`model(x_test, training=True)`, once: not under a tape, nor several times to see how it varies."""
    around = list(source.above(call))
    if not call.args or any(isinstance(p, (ast.ListComp, ast.GeneratorExp, ast.For)) for p in around):
        return False
    if any(isinstance(p, ast.With) and "GradientTape" in unparse(p.items[0]) for p in around):
        return False
    return isinstance(call.args[0], (ast.Name, ast.Attribute)) and side(last_name(call.args[0])) is False


def _made(source: Script, call: ast.Call) -> ast.Call | None:
    found = flow(source).given(call.func) if isinstance(call.func, (ast.Name, ast.Attribute)) else None
    return found.value if found is not None and isinstance(found.value, ast.Call) else None


def _in_graph(source: Script, call: ast.Call) -> bool:
    """A call on what comes of `keras.Input`, or within the `call` method of a layer."""
    function = source.function_around(call)
    if function is not None and function.name == "call":
        return True
    if isinstance(call.func, ast.Call) and function is not None and _makes_input(source, function):
        return True  # `Dropout(0.3)(x, training=True)` in a functional model
    given = flow(source).values(call.args[0], 6) if call.args else []
    return any(isinstance(v, ast.Call) and last_name(v.func) in ("Input", "InputLayer") for v in given)


def _makes_input(source: Script, function: ast.AST, depth: int = 3) -> bool:
    """The function makes a `keras.Input`, or one that calls it does."""
    if any(last_name(n.func) in ("Input", "InputLayer") for n in of(function, ast.Call)):
        return True
    name = getattr(function, "name", "")
    callers = {source.function_around(c) for c in source.named(name)} - {None, function}
    return depth > 0 and any(_makes_input(source, c, depth - 1) for c in callers if c is not None)


def _predicts(source: Script, call: ast.Call) -> bool:
    """`argmax(model(images, training=True))`: a prediction, not one vote of several, and under no tape."""
    if not _answers(source, call):
        return False
    around = list(source.above(call))
    if any(isinstance(p, ast.With) and "Tape" in unparse(p.items[0]) for p in around):
        return False
    rounds = [p.iter for p in around if isinstance(p, (ast.For, ast.comprehension))]
    rounds += [
        g.iter for p in around if isinstance(p, (ast.ListComp, ast.GeneratorExp)) for g in p.generators
    ]
    if any(isinstance(r, ast.Call) and last_name(r.func) in ("range", "trange") for r in rounds):
        return False
    function = source.function_around(call)
    return function is None or "tape" not in unparse(function).lower()


def _answers(source: Script, call: ast.Call) -> bool:
    """The output is turned into classes or their probabilities at once: `softmax(model(x))[0]`."""
    held: ast.AST = call
    for parent in source.above(call):
        if isinstance(parent, ast.Call) and held in parent.args[:1]:
            if last_name(parent.func) in ("argmax", "softmax", "sigmoid"):
                return True
        elif not isinstance(parent, (ast.Subscript, ast.Attribute, ast.Call)):
            return False
        held = parent
    return False


def _evaluates(source: Script, call: ast.Call) -> bool:
    function = source.function_around(call)
    tape = any(isinstance(p, ast.With) and "GradientTape" in unparse(p.items[0]) for p in source.above(call))
    return function is not None and not tape and is_evaluation(source, call) and "train" not in function.name


@probe()
def eval_in_training_step(view: View) -> Finding:
    """A trainer's loss, training step, or a hook before it puts the model or a part of it into eval mode.

    Left aside: parts that the script freezes, teachers and other copies.
    """
    return first(view, _eval_in_step, "the scripts hand no training step to a trainer")


def _eval_in_step(source: Script) -> Finding | None:
    methods = list(source.loss_methods)
    for owner in source.classes.values():
        if any(f in owner.body for f in source.loss_methods):
            methods += [f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name in _HOOKS]
    if not methods:
        return None
    frozen = "requires_grad" in source.text or "freeze" in source.text.lower()
    for method in methods:
        calls = of(method, ast.Call)
        found = [s for c in calls if (s := switch_of(source, c)) is not None]
        found = [s for s in found if not judges(source.owner(s[0]))]  # `self.model.teacher.eval()`
        if found and not found[-1][1] and not frozen and not _turned_both_ways(source, found):
            return at(
                source, found[-1][0], "the model is put into evaluation mode in the step that trains it"
            )
    return ok(source, methods[0], "the training step leaves the model in training mode")


def _turned_both_ways(source: Script, switches: list[tuple[ast.Call, bool]]) -> bool:
    """The step puts the part that it ends with into training mode first: two nets that take turns."""
    last = source.owner(switches[-1][0])
    return any(on and source.owner(call) == last for call, on in switches)


@probe()
def batch_statistics_off(view: View) -> Finding:
    """Batch norm of a model that trains is told never to use the statistics of the batch (MindSpore)."""
    return first(
        view,
        either(_statistics_off, statistics_never_run, updates_never_run),
        "the scripts tell no batch norm which statistics to use",
    )


def _statistics_off(source: Script) -> Finding | None:
    seen = None
    for call in source.calls:
        told = keyword(call, "use_batch_statistics")
        if told is not None and last_name(call.func).startswith(("BatchNorm", "SyncBatchNorm")):
            seen = seen or call
            if is_false(told):
                return at(
                    source, call, "batch norm keeps to its moving statistics, which never move, in training"
                )
    return (
        ok(source, seen, "batch norm uses the statistics of the batch in training")
        if seen is not None
        else None
    )

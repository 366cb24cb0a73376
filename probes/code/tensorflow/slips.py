"""Slips in programs of TensorFlow and Keras: outputs unlike the loss, modes of estimators, checkpoints."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..loss.output_kind import width
from ..shared.checks import at
from ..shared.nodes import chosen, is_false, same_value
from ..shared.sides import behind, literal, number, side, words
from .keras import Compiled, compiled

# ------------------------------------------------------------------------------------- outputs and losses


def ends_unlike_loss(source: Script) -> Finding | None:
    """`Dense(1, activation="tanh")` before a loss that takes chances; a sigmoid before a hinge loss.

    What a tanh or a ReLU gives leaves the range of chances; a hinge loss wants answers of -1 and 1. Sigmoids
    of several classes are chances each by itself, and the loss of one class takes chances that sum to 1.
    """
    for one in compiled(source):
        if one.layer is None:
            continue
        if one.takes in ("classes", "binary") and one.logits is False and one.ends in ("tanh", "relu"):
            why = f"the loss takes chances between 0 and 1, and the last layer ends in {one.ends}"
            return at(source, one.layer, why)
        if one.takes == "classes" and one.logits is False and one.ends == "sigmoid" and _several(source, one):
            why = "this loss takes chances that sum to 1 over the classes, and the last layer ends in sigmoid"
            return at(source, one.layer, why)
        if _is_hinge(one) and one.ends in ("sigmoid", "softmax"):
            return at(
                source, one.loss, f"a hinge loss takes outputs around 0, and gets those of a {one.ends}"
            )
    return None


def _several(source: Script, one: Compiled) -> bool:
    """A layer of its own activation with more than one unit, or of as many as there are classes."""
    if one.layer is None or last_name(one.layer.func) not in ("Dense", "Conv1D", "Conv2D", "Conv3D"):
        return False
    return (width(source, one.layer) or 2) > 1


def _is_hinge(one: Compiled) -> bool:
    name = one.loss.value if isinstance(one.loss, ast.Constant) else last_name(one.loss)
    if isinstance(one.loss, ast.Call):
        name = last_name(one.loss.func)
    return isinstance(name, str) and re.fullmatch(r"(?i)(?:squared_?)?hinge", name) is not None


def classes_of_one_output(source: Script) -> Finding | None:
    """`Dense(1)` before `categorical_crossentropy`: of one output there is one class, and the loss is 0."""
    for one in compiled(source):
        if one.takes == "classes" and one.layer is not None and last_name(one.layer.func) == "Dense":
            if width(source, one.layer) == 1:
                return at(
                    source, one.loss, "this loss is for one of several classes, and the model has one output"
                )
    return None


def exclusive_by_sigmoid(source: Script) -> Finding | None:
    """`sigmoid_cross_entropy_with_logits(labels=tf.one_hot(y, n), ...)`, and the answer is the largest."""
    if not {"tensorflow", "keras"} & set(source.frameworks) or source.loose:
        return None
    for call in source.named("sigmoid_cross_entropy_with_logits", "sigmoid_cross_entropy"):
        labels = keyword(call, "labels") or keyword(call, "multi_class_labels")
        logits = argument(call, "logits", position=1)
        if labels is None or logits is None:
            continue
        told = flow(source).values(labels, 3)
        hot = any(isinstance(v, ast.Call) and last_name(v.func) == "one_hot" for v in (labels, *told))
        chosen = any(
            c.args and unparse(c.args[0]) == unparse(logits) for c in source.named("argmax", "softmax")
        )
        if hot and chosen and not re.search(r"(?i)focal|multi_?label", source.code):
            return at(source, call, "each class is judged by itself, and one of them is chosen")
    return None


# ------------------------------------------------------------------------------------- labels moved


_MOVED = re.compile(r"^(?P<name>\w+) (?P<sign>[+-]) 1$")


def moved_in_loss_alone(source: Script) -> Finding | None:
    """`tf.one_hot(y + 1, n)` in the step, and the evaluation compares `argmax(logits) == y`."""
    if not {"tensorflow", "keras", "pytorch"} & set(source.frameworks) or source.loose:
        return None
    for call in source.named("one_hot"):
        moved = _MOVED.match(unparse(call.args[0])) if call.args else None
        if moved is None or re.search(r"(?i)token|word|ids?$|char|seq|step", moved["name"]):
            continue
        if len(call.args) > 1 and re.search(r"[+-] 1", unparse(call.args[1])):
            continue
        for node in source.of(ast.Compare):
            if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq):
                continue
            ends = [unparse(e) for e in (node.left, node.comparators[0])]
            scored = next((e for e in ends if "argmax" in e), "")
            other = next((e for e in ends if "argmax" not in e), "")
            if scored and other == moved["name"] and not re.search(r"argmax\(.*\) *[+-] *1$", scored):
                return at(source, call, f"`{moved['name']}` is moved by one here, and scored as it is")
    return None


# ------------------------------------------------------------------------------------- estimators


_DROPS = ("dropout", "DropoutWrapper")
_KEEPS = ("keep_prob", "input_keep_prob", "output_keep_prob", "state_keep_prob")


def kept_in_every_mode(source: Script) -> Finding | None:
    """`DropoutWrapper(cell, output_keep_prob=params["keep_prob"])` in a model of an Estimator, in each mode.

    Left aside: where the share comes by a condition, stands under one, or a call tells the mode besides.
    """
    if not source.named("EstimatorSpec"):
        return None
    for call in source.named(*_DROPS):
        if keyword(call, "training") is not None or "layers" in source.owner(call):
            continue
        named = (a for a in call.args if isinstance(a, (ast.Name, ast.Attribute)))
        if any(re.search(r"(?i)train|mode|determin", last_name(a)) for a in named):
            continue  # `dropout(x, is_training, keep_prob=0.9)`: the library is told the mode
        given = [k.value for k in call.keywords if k.arg in _KEEPS]
        if last_name(call.func) == "dropout" and source.owner(call) == "tf.nn" and len(call.args) > 1:
            given.append(call.args[1])
        for value in given:
            ends = behind(source, value)
            if any(isinstance(p, (ast.If, ast.IfExp)) for p in source.above(call)):
                continue
            if (found := _nothing_kept(source, ends)) is not None:
                return found
            if any(re.search(r"(?i)mode|train|\bcond\(|where\(|eval", unparse(e)) for e in ends):
                continue
            if any(chosen(source, e) for e in ends):
                continue
            told = [e for e in ends if isinstance(e, (ast.Subscript, ast.Attribute)) and "keep" in unparse(e)]
            numbers = [e for e in ends if isinstance(e, ast.Constant) and isinstance(e.value, float)]
            if told or any(0 < n.value < 1 for n in numbers if isinstance(n.value, float)):
                return at(source, (told or numbers)[0], "dropout keeps a part of the units in every mode")
    return None


def _nothing_kept(source: Script, ends: list[ast.expr]) -> Finding | None:
    for end in ends:
        parts = [end.body, end.orelse] if isinstance(end, ast.IfExp) else [end]
        for part in parts:
            if isinstance(part, ast.Constant) and part.value == 0 and part.value is not False:
                return at(source, part, "nothing is kept here: a share to keep of 0 drops all")
    return None


def evaluated_by_training_input(source: Script) -> Finding | None:
    """`EvalSpec(train_fn, ...)` beside `TrainSpec(train_fn, ...)`; two inputs of one pattern of files."""
    for held in source.named("EvalSpec"):
        told = held.args[0] if held.args else keyword(held, "input_fn")
        for mine in source.named("TrainSpec"):
            ours = mine.args[0] if mine.args else keyword(mine, "input_fn")
            if told is None or ours is None:
                continue
            if same_value(source, ours, told):
                return at(source, told, "training and evaluation get one input")
            one, other = (_made(source, e) for e in (ours, told))
            if one is None or other is None or last_name(one.func) != last_name(other.func):
                continue
            if (
                one.args
                and other.args
                and _says_train(other.args[0])
                and unparse(one.args[0]) == unparse(other.args[0])
            ):
                return at(source, other, "the evaluation reads the files of training")
    return None


def _made(source: Script, node: ast.expr) -> ast.Call | None:
    ends = [v for v in (node, *flow(source).values(node, 1)) if isinstance(v, ast.Call)]
    return ends[0] if ends else None


def _says_train(node: ast.expr) -> bool:
    texts = [n.value for n in of(node, ast.Constant) if isinstance(n.value, str)]
    return any(side(t) is True for t in texts)


def held_out_pattern_of_training(source: Script) -> Finding | None:
    """`eval_pattern = "data/train-*"` beside `train_pattern = "data/train-*"`: one set of files for both."""
    places: list[tuple[str, ast.Constant]] = []
    for node in source.of(ast.Assign, ast.AnnAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(node.value, ast.Constant) and isinstance(target, (ast.Name, ast.Attribute)):
            places.append((last_name(target), node.value))
    held = [(n, v) for n, v in places if side(n) is False and _is_pattern(n, v.value)]
    mine = [(n, v) for n, v in places if side(n) is True and _is_pattern(n, v.value)]
    for name, value in held:
        if side(str(value.value)) is not True:
            continue
        twin = [n for n, v in mine if v.value == value.value and _rest(n) == _rest(name)]
        if twin:
            return at(source, value, f"`{name}` and `{twin[0]}` are the same files")
    return None


def _is_pattern(name: str, value: object) -> bool:
    return (
        isinstance(value, str) and re.search(r"(?i)pattern|file|path|glob|record|dir|data", name) is not None
    )


def _rest(name: str) -> list[str]:
    return [w for w in words(name) if side(w) is None]


# ------------------------------------------------------------------------------------- frozen by a keyword


def made_untrainable(source: Script) -> Finding | None:
    """`tf.get_variable("embedding", shape, trainable=False)`; `Encoder(widths, trainable=False)`.

    Left aside: counters, statistics, codes of positions, weights that come from elsewhere, and layers that
    are let go again later.
    """
    if not {"tensorflow", "keras"} & set(source.frameworks) or source.loose:
        return None
    if re.search(r"\.trainable\s*=\s*True|set_trainable", source.code):
        return None
    for call in source.calls:
        told = keyword(call, "trainable")
        if not is_false(told):
            continue
        name = last_name(call.func)
        around = f"{source.function_name(call)} {unparse(call)} {_target(source, call)}"
        if _ASIDE.search(around) or any(isinstance(p, ast.If) for p in source.above(call)):
            continue
        owner = source.classes.get(name)
        layer = owner is not None and any(re.search(r"(?:Layer|Model)$", unparse(b)) for b in owner.bases)
        weights = name in ("get_variable", "add_weight") and _drawn(source, call)
        if (layer and owner is not None and _has_layers(source, owner)) or weights:
            return at(source, told, "these weights are drawn at random and never trained")
    return None


_ASIDE = re.compile(
    r"(?i)step|epoch|count|moving|running|mean|var\b|variance|ema|average|position|posit|sinus|pretrain|glove|word2vec"
    r"|load|teacher|target|random_proj|reservoir|fourier|rff|mask|buffer|state|queue|codebook|cluster|perceptual|vgg"
)


def _target(source: Script, call: ast.Call) -> str:
    statement = source.statement(call)
    return " ".join(map(unparse, statement.targets)) if isinstance(statement, ast.Assign) else ""


def _drawn(source: Script, call: ast.Call) -> bool:
    """A matrix that the framework draws, or that a usual initializer draws."""
    name = call.args[0] if call.args else keyword(call, "name")
    initial = keyword(call, "initializer")
    text = str(name.value) if isinstance(name, ast.Constant) else ""
    if not re.search(r"(?i)embed|kernel|weight|^w\d*$|lookup|matrix", text + _target(source, call)):
        return False
    if initial is None:
        return last_name(call.func) == "get_variable"
    return (
        re.search(r"(?i)xavier|glorot|he_|random|normal|uniform|variance_scaling", unparse(initial))
        is not None
    )


def _has_layers(source: Script, owner: ast.ClassDef) -> bool:
    made = {last_name(c.func) for c in of(owner, ast.Call)}
    parts = [source.classes[n] for n in made if n in source.classes and source.classes[n] is not owner]
    made |= {last_name(c.func) for p in parts for c in of(p, ast.Call)}
    return any(re.match(r"^(?:Dense|Conv\w*|Embedding|LSTM|GRU|SeparableConv\w*)$", m) for m in made)


def one_cell_for_all(source: Script) -> Finding | None:
    """`MultiRNNCell([cell] * 2)`: every layer is the one cell, and its weights."""
    if "tensorflow" not in source.frameworks:
        return None
    for call in source.named("MultiRNNCell"):
        given = call.args[0] if call.args else keyword(call, "cells")
        for value in (given, *flow(source).values(given, 3)) if given is not None else ():
            if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
                listed = value.left if isinstance(value.left, ast.List) else value.right
                if (
                    isinstance(listed, ast.List)
                    and len(listed.elts) == 1
                    and isinstance(listed.elts[0], ast.Name)
                ):
                    many = value.right if listed is value.left else value.left
                    if literal(source, many) != 1:
                        return at(
                            source, value, "the list holds one cell several times, with one set of weights"
                        )
    return None


# ------------------------------------------------------------------------------------- resuming


_RESTORED = re.compile(r"latest_checkpoint")


def checkpoint_without_moments(source: Script) -> Finding | None:
    """`Checkpoint(model=model)` that a manager saves in the loop and that is taken up before it.

    The optimizer and its count of steps begin anew. Left aside where what is restored is of another place.
    """
    if source.loose or not source.optimizer_calls or not source.named("apply_gradients", "minimize"):
        return None
    for call in source.named("Checkpoint"):
        if not re.search(r"train\.Checkpoint$", unparse(call.func)) or not call.keywords or call.args:
            continue
        told = [f"{k.arg or 'opt'} {unparse(k.value)}" for k in call.keywords]
        if any(re.search(r"(?i)opt|solver|trainer", t) for t in told):
            continue
        if len(told) > 1 and not all(_holds_no_optimizer(source, k.value) for k in call.keywords):
            continue
        name = _target(source, call)
        saved = [
            c
            for c in source.named("CheckpointManager")
            if c.args and unparse(c.args[0]) == name and source.named("save")
        ]
        back = [c for c in source.named("restore") if source.owner(c) == name and c.args]
        if name and saved and any(_RESTORED.search(unparse(c.args[0])) for c in back):
            if re.search(r"(?i)best", " ".join(unparse(c) for c in saved)):
                continue
            return at(source, call, "training is taken up from a checkpoint that does not hold the optimizer")
    return None


def _holds_no_optimizer(source: Script, node: ast.expr) -> bool:
    """A variable, a number, or a model of the program's functions or of Keras that nothing compiles."""
    value = flow(source).whole_given(node)
    if not isinstance(value, ast.Call) or source.named("compile"):
        return isinstance(value, ast.Constant)
    name = last_name(value.func)
    if name in source.classes:
        return not any(re.search(r"(?i)optim|\bopt\b", n) for n in names_in(source.classes[name]))
    return name not in {last_name(c.func) for c in source.optimizer_calls}


def counter_left_in_checkpoint(source: Script) -> Finding | None:
    """A checkpoint counts epochs, the loop writes the count, and nobody reads it: all epochs run again.

    `Checkpoint(epoch=self.epoch, ...)`, `self.epoch.assign(...)`, and `for epoch in range(epochs)`. Also a
    start that is worked out of what was restored, and not used.
    """
    if source.loose:
        return None
    for call in source.named("Checkpoint"):
        for told in call.keywords:
            if (
                told.arg is None
                or "epoch" not in told.arg
                or not isinstance(told.value, (ast.Name, ast.Attribute))
            ):
                continue
            name = unparse(told.value)
            reads = [
                n
                for n in source.of(ast.Name, ast.Attribute)
                if unparse(n) == name and isinstance(n.ctx, ast.Load) and n is not told.value
            ]
            written = [n for n in reads if _is_written(source, n)]
            loops = [x for n in written for x in source.loops_around(n) if isinstance(x, ast.For)]
            if written and len(written) == len(reads) and source.named("restore") and loops:
                return at(
                    source, loops[-1].iter, f"`{name}` is restored and counted, and the loop begins at 0"
                )
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Name) or not _START.match(target.id):
            continue
        scope = source.function_around(node) or source.tree
        read = [n for n in of(scope, ast.Name) if n.id == target.id and isinstance(n.ctx, ast.Load)]
        said = re.search(r"(?i)iterations|global_step|checkpoint|ckpt|\['epoch'\]|epoch", unparse(node.value))
        if read or said is None or isinstance(node.value, ast.Constant):
            continue
        for loop in of(scope, ast.For):
            if loop.lineno > node.lineno and re.fullmatch(r"(?i)(?:epoch|ep|e)", unparse(loop.target)):
                over = loop.iter
                if isinstance(over, ast.Call) and last_name(over.func) == "range" and len(over.args) == 1:
                    return at(source, over, f"`{target.id}` is worked out, and the epochs begin at 0")
    return None


_START = re.compile(
    r"^(?:start|first|initial|begin|resume)(?:_?(?:epoch|ep|from))?$|^(?:start|initial)_?epoch$"
)


def _is_written(source: Script, node: ast.AST) -> bool:
    parent = source.parents.get(node)
    if not (isinstance(parent, ast.Attribute) and parent.attr in ("assign", "assign_add")):
        return False
    return isinstance(source.parents.get(parent), ast.Call)


def latest_never_restored(source: Script) -> Finding | None:
    """`if manager.latest_checkpoint: print("restored ...")`, and nothing restores anything."""
    if source.loose or not source.named("CheckpointManager"):
        return None
    if source.named("restore", "restore_or_initialize", "read", "load_weights"):
        return None
    for node in source.of(ast.If):
        if unparse(node.test).endswith(".latest_checkpoint"):
            return at(source, node.test, "the last checkpoint is asked for, and nothing restores it")
    return None


# ------------------------------------------------------------------------------------- what is watched


def watched_metric_unknown(source: Script, names: tuple[str, ...]) -> Finding | None:
    """`monitor="val_accuracy"` of a model that is compiled with other metrics: the callback does nothing.

    Present where all metrics are named in `compile`, in full.
    """
    if "keras" not in source.text or source.loose or source.named("add_metric"):
        return None
    compiles = [c for c in source.named("compile") if keyword(c, "loss") is not None]
    told = [keyword(c, "metrics") for c in compiles]
    if (
        not compiles
        or any(t is None for t in told)
        or any(k.arg is None for c in compiles for k in c.keywords)
    ):
        return None
    if any(keyword(c, w) is not None for c in compiles for w in ("weighted_metrics", "loss_weights")):
        return None
    known: set[str] = {"loss"}
    for listed in told:
        ends = (
            [v for v in flow(source).values(listed, 3) if isinstance(v, ast.List)]
            if listed is not None
            else []
        )
        if len(ends) != 1:
            return None
        for item in ends[0].elts:
            if isinstance(item, ast.Constant) and isinstance(item.value, str):
                known |= _same_metric(item.value, old=_OF_TF2.search(source.code) is None)
            elif isinstance(item, ast.Call) and isinstance(keyword(item, "name"), ast.Constant):
                known.add(str(getattr(keyword(item, "name"), "value", "")))
            elif isinstance(item, ast.Call) and "metrics" in source.owner(item):
                known.add(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", last_name(item.func)).lower())
            else:
                return None
    for call in source.named(*names):
        name = literal(source, keyword(call, "monitor"))
        if isinstance(name, str) and name.removeprefix("val_") not in known and _is_plain(name):
            return at(source, call, f"`{name}` is no metric of this model: nothing is ever watched")
    return None


_OF_TF2 = re.compile(
    r"data\.AUTOTUNE|utils\.set_random_seed|\.keras['\"]|set_global_policy|layers\.(?:Random[A-Z]\w+|Normalization)\("
    r"|\.weights\.h5|keras\.ops|jit_compile|AdamW|GradientTape"
)


def _same_metric(name: str, old: bool) -> set[str]:
    """The names of a metric in the logs; `old`: the program may run with TF 1, which wrote `acc`."""
    short = {"acc": {"acc", "accuracy"}, "accuracy": {"accuracy", "acc"}}
    found = {name, name.lower(), *(short.get(name, set()) if old else set())}
    if name in ("mse", "mae", "mape", "msle", "MSE", "MAE"):
        found |= {name.lower(), "mean_squared_error", "mean_absolute_error"}
    return found


def _is_plain(name: str) -> bool:
    return (
        re.fullmatch(r"(?:val_)?(?:acc|accuracy|auc|mae|mse|precision|recall|f1|f1_score)", name) is not None
    )


def floor_above_rate(source: Script) -> Finding | None:
    """`ReduceLROnPlateau(min_lr=1e-2)` of an optimizer that starts at 1e-3: the rate never moves."""
    if "keras" not in source.text:
        return None
    rates = []
    for call in source.optimizer_calls:
        told = argument(call, "learning_rate", "lr", position=0)
        value = number(source, told)
        if value is None:
            return None
        rates.append(value)
    for call in source.named("ReduceLROnPlateau"):
        floor = number(source, keyword(call, "min_lr"))
        if rates and floor is not None and floor >= max(rates) > 0:
            return at(source, call, f"the rate starts at {max(rates):g} and may not fall below {floor:g}")
    return None


def argmax_over_batch(source: Script) -> Finding | None:
    """`tf.argmax(logits)` without an axis goes over the batch; NumPy's and PyTorch's go over everything.

    Present where the same logits get a loss, or a model gives them for a batch of the data.
    """
    if "tensorflow" not in source.frameworks:
        return None
    losses = source.named(
        "sparse_softmax_cross_entropy", "softmax_cross_entropy", "sparse_softmax_cross_entropy_with_logits"
    )
    scored = {
        unparse(a) for c in losses for a in (*c.args, *(k.value for k in c.keywords if k.arg == "logits"))
    }
    for call in source.named("argmax"):
        if source.owner(call) not in ("tf", "tf.math") or not call.args:
            continue
        axis = argument(call, "axis", "dimension", position=1)
        if axis is not None and literal(source, axis) != 0:
            continue
        given = call.args[0]
        made = [v for v in flow(source).values(given, 2) if isinstance(v, ast.Call)]
        batch = any(keyword(m, "training") is not None and not _single(m) for m in made)
        if isinstance(given, (ast.Name, ast.Attribute)) and (unparse(given) in scored or batch):
            return at(source, call, "the largest is sought along the batch: argmax takes axis 0 unless told")
    return None


def _single(call: ast.Call) -> bool:
    """`model(image[None], training=False)`: one sample."""
    return (
        any(re.search(r"None|newaxis|expand_dims", unparse(a)) for a in call.args)
        or not call.args
        or bool({"state", "obs"} & {w for a in call.args for n in names_in(a) for w in words(n)})
    )


# ------------------------------------------------------------------------------ weights that start alike

_CONSTANT = re.compile(r"^(?:Constant|constant_initializer|Ones|ones_initializer|Zeros|zeros_initializer)$")
_HIDDEN = ("relu", "tanh", "gelu", "elu", "selu", "swish", "silu", "sigmoid")


def constant_kernels(source: Script) -> Finding | None:
    """`Dense(64, "relu", kernel_initializer=Constant(0.01))`; a helper that makes every weight of zeros.

    An output layer may start at a constant, and so may the one weight of a linear model.
    """
    if not {"keras", "tensorflow"} & set(source.frameworks):
        return None
    for call in source.named("Dense", "Conv1D", "Conv2D", "Conv3D", "dense", "conv2d"):
        told, ends = keyword(call, "kernel_initializer"), keyword(call, "activation")
        if told is None or ends is None or not _is_constant_initializer(source, told):
            continue
        last = ends.value if isinstance(ends, ast.Constant) else last_name(ends)
        if last in _HIDDEN and not (last == "sigmoid" and width(source, call) == 1):
            return at(source, told, "all units of this layer start alike, and stay alike")
    for function in source.of(ast.FunctionDef):
        if not re.search(r"(?i)weight|kernel", function.name) or "bias" in function.name.lower():
            continue
        made = [c for c in of(function, ast.Call) if last_name(c.func) == "get_variable"]
        told = keyword(made[0], "initializer") if len(made) == 1 else None
        if (
            told is not None
            and _is_constant_initializer(source, told)
            and len(flow(source).calls_of(function)) > 1
        ):
            return at(source, told, "all weights that this makes start alike: units of a layer stay alike")
    return None


def _is_constant_initializer(source: Script, node: ast.expr) -> bool:
    ends = flow(source).values(node, 3) or [node]
    return all(isinstance(e, ast.Call) and _CONSTANT.match(last_name(e.func)) for e in ends)


_PENALTY = re.compile(r"l2_loss\(|get_regularization_loss(?:es)?\(|REGULARIZATION_LOSSES")


def penalty_taken_off(source: Script) -> Finding | None:
    """`loss = tf.reduce_mean(cross_entropy) - decay * penalty`, where the penalty is one of weights."""
    if "tensorflow" not in source.frameworks:
        return None
    for node in source.of(ast.Assign):
        value = node.value
        if not re.search(r"(?i)loss|cost|objective", unparse(node.targets[0])):
            continue
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub):
            parts = [value.right, *of(value.right, ast.Name, ast.Attribute)]
            ends = [e for p in parts for e in (p, *flow(source).values(p, 2))]
            if any(isinstance(e, ast.Call) and _PENALTY.search(unparse(e)) for e in ends):
                return at(source, value.right, "this penalty is taken off the loss: large weights are sought")
    return None

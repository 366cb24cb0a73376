"""Faults of settings: rates, regularization, durations, sizes, schedules, optimizers, order of the data."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from .code import Code, Operator, Site, called, keyword, owner

_RATE = re.compile(r"^-*(?:lr|learning[-_]rate|base[-_]lr|init[-_]lr)$")
_BATCH = re.compile(r"^-*(?:per[-_](?:device|gpu)[-_])?(?:train[-_])?batch[-_]size$|^-*train[-_]bs$")
_EPOCHS = re.compile(r"^-*(?:num[-_]|n[-_]|max[-_])?(?:train[-_])?epochs$")
_WARMUP = re.compile(r"^-*(?:num[-_]|lr[-_])?warm[-_]?up(?:[-_](?:steps|epochs|iters|updates|ratio))?$")
_CLIP = re.compile(
    r"^-*(?:max[-_]grad[-_]norm|grad(?:ient)?[-_]clip(?:[-_](?:val|norm))?|clip[-_]grad(?:[-_]norm)?)$"
)
_HELD_OUT = re.compile(
    r"valid|(?:^|[^a-z])val|test|eval|(?:^|[^a-z])dev(?:[^i]|$)|infer|predict", re.IGNORECASE
)
_ADAM = frozenset(
    {"Adam", "AdamW", "NAdam", "RAdam", "Adamax", "FusedAdam", "AdaBelief", "Lamb", "FusedLAMB"}
)
_FALLING = frozenset({"StepLR", "MultiStepLR", "ExponentialLR"})


_GIVE = (ast.Call, ast.Assign, ast.AnnAssign, ast.Dict, ast.FunctionDef, ast.AsyncFunctionDef)


def numbers(code: Code, names: re.Pattern[str]) -> Iterator[tuple[ast.Constant, float]]:
    """Literal numbers that a keyword, a default, an assignment or an entry of a table gives to a name."""
    for node in code.of(*_GIVE):
        values: list[ast.expr | None] = []
        if isinstance(node, ast.Call) and called(node) == "add_argument":
            flags = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            if any(names.match(f) for f in flags):
                values.append(keyword(node, "default"))
        elif isinstance(node, ast.Call):
            values += [k.value for k in node.keywords if k.arg and names.match(k.arg)]
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            values.append(node.value if names.match(node.targets[0].id) else None)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            values.append(node.value if names.match(node.target.id) else None)
        elif isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            values += [
                v
                for k, v in pairs
                if isinstance(k, ast.Constant) and isinstance(k.value, str) and names.match(k.value)
            ]
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            values += [v for name, v in _defaults(node) if names.match(name) and name not in _given(code)]
        for value in values:
            if isinstance(value, ast.Constant) and type(value.value) in (int, float) and value.value > 0:
                yield value, float(value.value)


def _defaults(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, ast.expr | None]]:
    """Parameters of a function with what they are when nobody says."""
    given = function.args
    first = [*given.posonlyargs, *given.args][-len(given.defaults) :] if given.defaults else []
    yield from ((a.arg, v) for a, v in zip(first, given.defaults, strict=True))
    yield from ((a.arg, v) for a, v in zip(given.kwonlyargs, given.kw_defaults, strict=True))


def _given(code: Code) -> set[str]:
    """Names that some call of the script gives a value to."""
    return {k.arg for n in code.of(ast.Call) for k in n.keywords if k.arg}


def _held_out(code: Code, node: ast.AST) -> bool:
    """Whether a statement, or the function it stands in, is about data that is not trained on."""
    statement = code.statement(node)
    at = code.parents.get(statement) if statement is not None else None
    while at is not None and not isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef)):
        at = code.parents.get(at)
    text = code.source(statement) if isinstance(statement, (ast.Assign, ast.Expr, ast.Return)) else ""
    return bool(_HELD_OUT.search(text) or (at is not None and _HELD_OUT.search(at.name)))


def rate_times_thousand(code: Code) -> Iterator[Site]:
    """A learning rate a thousand times as large."""
    for node, value in numbers(code, _RATE):
        if value <= 0.1:
            yield (code.replace(node, f"{value * 1000:g}"),)


def rate_by_hundred_thousand(code: Code) -> Iterator[Site]:
    """A learning rate a hundred thousand times as small."""
    for node, value in numbers(code, _RATE):
        if value <= 0.5:
            yield (code.replace(node, f"{value * 1e-5:.3g}"),)


def heavy_decay(code: Code) -> Iterator[Site]:
    """A weight decay of one."""
    for node, value in numbers(code, re.compile(r"^-*(?:weight[-_]decay|wd)$")):
        if value <= 0.1:
            yield (code.replace(node, "1.0"),)


def heavy_dropout(code: Code) -> Iterator[Site]:
    """Nearly everything dropped out."""
    for call in code.calls("Dropout", "Dropout2d", "SpatialDropout1D"):
        rate = keyword(call, "p", "rate") or (call.args[0] if call.args else None)
        if isinstance(rate, ast.Constant) and isinstance(rate.value, float):
            yield (code.replace(rate, "0.95"),)


def heavy_dropout_setting(code: Code) -> Iterator[Site]:
    """A setting of dropout at which nearly nothing is left."""
    for node, value in numbers(
        code, re.compile(r"^-*(?:hidden[-_]|attention[-_])?drop(?:out)?(?:[-_](?:rate|prob|p))?$")
    ):
        if value <= 0.5 and called_at(code, node) not in ("Dropout", "Dropout2d"):
            yield (code.replace(node, "0.95"),)


def heavy_smoothing(code: Code) -> Iterator[Site]:
    """Labels smoothed until hardly anything of them is left."""
    for node, value in numbers(code, re.compile(r"^-*label[-_]smoothing(?:[-_]factor)?$|^-*lsm[-_]weight$")):
        if value <= 0.3:
            yield (code.replace(node, "0.95"),)


def called_at(code: Code, node: ast.AST) -> str:
    """The name of the call that a node is an argument of."""
    parent = code.parents.get(node)
    call = code.parents.get(parent) if isinstance(parent, ast.keyword) else parent
    return called(call) if isinstance(call, ast.Call) else ""


def not_shuffled(code: Code) -> Iterator[Site]:
    """Training data in the order in which they lie."""
    for call in code.calls("DataLoader"):
        value = keyword(call, "shuffle")
        if isinstance(value, ast.Constant) and value.value is True and not _held_out(code, call):
            yield (code.replace(value, "False"),)


def drawn_in_order(code: Code) -> Iterator[Site]:
    """A sampler that goes through the training data in order, where one drew at random."""
    for call in code.calls("RandomSampler"):
        if len(call.args) == 1 and not call.keywords and not _held_out(code, call):
            where = owner(call)
            yield (code.replace(call.func, f"{where}.SequentialSampler" if where else "SequentialSampler"),)


def shuffle_left_out(code: Code) -> Iterator[Site]:
    """A pipeline of training data without its shuffling."""
    for call in code.calls("shuffle"):
        function = call.func
        if not isinstance(function, ast.Attribute) or isinstance(code.parents.get(call), ast.Expr):
            continue
        if owner(call) not in ("random", "np.random", "numpy.random", "rng") and not _held_out(code, call):
            if call.args or keyword(call, "buffer_size"):
                yield (code.replace(call, code.source(function.value)),)


def batch_of_one(code: Code) -> Iterator[Site]:
    """Batches of a single sample."""
    for node, value in numbers(code, _BATCH):
        if value >= 16 and not _held_out(code, node):
            yield (code.replace(node, "1"),)


def batch_times_256(code: Code) -> Iterator[Site]:
    """Batches 256 times as large."""
    for node, value in numbers(code, _BATCH):
        if value >= 8 and not _held_out(code, node):
            yield (code.replace(node, f"{int(value) * 256}"),)


def one_epoch(code: Code) -> Iterator[Site]:
    """A single pass where many were planned."""
    for node, value in numbers(code, _EPOCHS):
        if value >= 5:
            yield (code.replace(node, "1"),)


def epochs_times_hundred(code: Code) -> Iterator[Site]:
    """A hundred times as many passes as were planned."""
    for node, value in numbers(code, _EPOCHS):
        if value >= 5:
            yield (code.replace(node, f"{int(value) * 100}"),)


def warmup_left_out(code: Code) -> Iterator[Site]:
    """A warm-up of no steps."""
    for node, value in numbers(code, _WARMUP):
        if value > 5 or value < 1:
            yield (code.replace(node, "0"),)


def warmup_outlasts_training(code: Code) -> Iterator[Site]:
    """A warm-up twice as long as the whole of training."""
    for call in code.of(ast.Call):
        warm = keyword(call, "num_warmup_steps", "warmup_steps")
        total = keyword(call, "num_training_steps", "total_steps", "t_total", "max_steps")
        if warm is not None and total is not None and not isinstance(total, ast.Constant):
            yield (code.replace(warm, f"2 * ({code.source(total)})"),)


def schedule_in_epochs(code: Code) -> Iterator[Site]:
    """The length of a schedule that moves with every step, given in epochs."""
    totals: dict[str, ast.expr] = {}
    for node in code.of(ast.Assign):
        epochs = _epochs_of(node.value)
        if epochs is not None:
            totals.update({ast.unparse(t): epochs for t in node.targets})
    for call in code.of(ast.Call):
        total = keyword(call, "num_training_steps", "total_steps", "t_total", "T_max", "total_iters")
        if total is not None:
            epochs = _epochs_of(total) or totals.get(ast.unparse(total))
            if epochs is not None:
                yield (code.replace(total, code.source(epochs)),)


def _epochs_of(value: ast.expr) -> ast.expr | None:
    """The number of epochs in a product of it with the length of a loader."""
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Mult):
        return None
    sides = (value.left, value.right)
    for epochs, steps in (sides, sides[::-1]):
        if isinstance(epochs, (ast.Name, ast.Attribute)) and "epoch" in ast.unparse(epochs):
            if re.search(r"len\(|steps_per_epoch|iters_per_epoch|update_steps", ast.unparse(steps)):
                return epochs
    return None


def rate_climbs(code: Code) -> Iterator[Site]:
    """A schedule whose factor multiplies the rate where it should divide it."""
    for call in code.calls(*_FALLING):
        place = 1 if called(call) == "ExponentialLR" else 2
        factor = keyword(call, "gamma") or (call.args[place] if len(call.args) > place else None)
        if isinstance(factor, ast.Constant) and isinstance(factor.value, float) and 0 < factor.value < 1:
            yield (code.replace(factor, f"{1 / factor.value:.4g}"),)


def no_momentum(code: Code) -> Iterator[Site]:
    """Stochastic gradient descent without its momentum."""
    for call in code.calls("SGD"):
        value = keyword(call, "momentum")
        if isinstance(value, ast.Constant) and value.value:
            yield (code.replace(value, "0.0"),)
    for node, _ in numbers(code, re.compile(r"^--momentum$")):
        yield (code.replace(node, "0.0"),)


def betas_swapped(code: Code) -> Iterator[Site]:
    """The betas of Adam in the other order."""
    for call in code.nodes:
        value = keyword(call, "betas") if isinstance(call, ast.Call) else None
        if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == 2:
            first, second = value.elts
            if code.source(first) != code.source(second) and _optimizer(call):
                yield (
                    code.replace(first, code.source(second)),
                    code.replace(second, code.source(first)),
                )


def _optimizer(call: ast.AST) -> bool:
    return isinstance(call, ast.Call) and (called(call) in _ADAM or "optim" in ast.unparse(call.func).lower())


def large_epsilon(code: Code) -> Iterator[Site]:
    """An epsilon of Adam that outweighs the gradients."""
    for call in code.of(ast.Call):
        if called(call) in _ADAM:
            value = keyword(call, "eps", "epsilon")
            if isinstance(value, ast.Constant) and isinstance(value.value, float) and value.value < 1e-3:
                yield (code.replace(value, "0.1"),)
    for node, value in numbers(code, re.compile(r"^-*adam[-_]eps(?:ilon)?$")):
        if value < 1e-3:
            yield (code.replace(node, "0.1"),)


def plain_descent(code: Code) -> Iterator[Site]:
    """Adam replaced by plain stochastic gradient descent at Adam's rate."""
    if not any(any(a.name == "torch" for a in n.names) for n in code.of(ast.Import)):
        return
    for call in code.calls("Adam", "AdamW"):
        rate = keyword(call, "lr")
        if rate is not None and len(call.args) == 1 and all(k.arg for k in call.keywords):
            kept = [code.source(call.args[0]), f"lr={code.source(rate)}"]
            decay = keyword(call, "weight_decay")
            kept += [f"weight_decay={code.source(decay)}"] if decay is not None else []
            yield (code.replace(call, f"torch.optim.SGD({', '.join(kept)})"),)


def tiny_clip(code: Code) -> Iterator[Site]:
    """Gradients clipped to nearly nothing."""
    for call in code.calls("clip_grad_norm_"):
        value = keyword(call, "max_norm") or (call.args[1] if len(call.args) > 1 else None)
        if isinstance(value, ast.Constant) and type(value.value) in (int, float) and value.value >= 0.01:
            yield (code.replace(value, "1e-06"),)
    for node, value in numbers(code, _CLIP):
        if value >= 0.01:
            yield (code.replace(node, "1e-06"),)


def clip_left_out(code: Code) -> Iterator[Site]:
    """Gradients are no longer clipped."""
    names = ("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm")
    calls = list(code.calls(*names))
    found = [s for s in map(code.statement, calls) if isinstance(s, ast.Expr) and code.alone(s)]
    if found and len(found) == len(calls):
        yield tuple(code.without(s) for s in found)


def no_patience(code: Code) -> Iterator[Site]:
    """Early stopping at the first round without a gain."""
    for call in code.calls("EarlyStopping", "EarlyStoppingCallback"):
        value = keyword(call, "patience", "early_stopping_patience")
        if isinstance(value, ast.Constant) and type(value.value) is int and value.value >= 3:
            yield (code.replace(value, "0"),)
    for node, value in numbers(
        code, re.compile(r"^-*early[-_]stop(?:ping)?[-_](?:patience|epochs?|rounds)$")
    ):
        if value >= 3:
            yield (code.replace(node, "0"),)


_STRONG = "hyperparameter.regularization-too-strong"
_SLOW = "hyperparameter.learning-rate-too-small"
_FAST = "hyperparameter.learning-rate-too-large"
_SCHEDULE = "hyperparameter.schedule-wrong"
_DIFFER = frozenset({"porting.hyperparameters-differ"})
OPERATORS = (
    Operator("rate-times-thousand", _FAST, rate_times_thousand),
    Operator("rate-by-hundred-thousand", _SLOW, rate_by_hundred_thousand),
    Operator("heavy-decay", _STRONG, heavy_decay),
    Operator("heavy-dropout", _STRONG, heavy_dropout),
    Operator("heavy-dropout-setting", _STRONG, heavy_dropout_setting),
    Operator("heavy-smoothing", _STRONG, heavy_smoothing),
    Operator("not-shuffled", "processing.not-shuffled", not_shuffled),
    Operator("drawn-in-order", "processing.not-shuffled", drawn_in_order),
    Operator("shuffle-left-out", "processing.not-shuffled", shuffle_left_out),
    Operator("batch-of-one", "hyperparameter.batch-size-too-small", batch_of_one, pair_only=True),
    Operator("batch-times-256", "hyperparameter.batch-size-too-large", batch_times_256, pair_only=True),
    Operator("one-epoch", "hyperparameter.epochs-too-few", one_epoch, pair_only=True),
    Operator("epochs-times-hundred", "hyperparameter.epochs-too-many", epochs_times_hundred, pair_only=True),
    Operator("warmup-left-out", "hyperparameter.warmup-missing", warmup_left_out, pair_only=True),
    Operator("warmup-outlasts-training", _SCHEDULE, warmup_outlasts_training, frozenset({_SLOW})),
    Operator("schedule-in-epochs", _SCHEDULE, schedule_in_epochs),
    Operator("rate-climbs", _SCHEDULE, rate_climbs, frozenset({_FAST})),
    Operator("no-momentum", "graph.optimizer", no_momentum, _DIFFER | {_SLOW}, pair_only=True),
    Operator("betas-swapped", "graph.optimizer", betas_swapped),
    Operator("large-epsilon", "graph.optimizer", large_epsilon, frozenset({_SLOW, "numerics.epsilon"})),
    Operator("plain-descent", "graph.optimizer", plain_descent, frozenset({_SLOW}), pair_only=True),
    Operator("tiny-clip", _SLOW, tiny_clip, _DIFFER),
    Operator("clip-left-out", "hyperparameter.gradient-clipping-missing", clip_left_out, pair_only=True),
    Operator("no-patience", "hyperparameter.epochs-too-few", no_patience, pair_only=True),
)

"""Faults of what must stay equal: state over a restart, replicas over processes, number formats."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from traindoctor.probes.readers._tree import walk

from .code import Code, Edit, Operator, Site, called, keyword, owner

_WRAPPERS = ("DistributedDataParallel", "DDP")


def _alone(code: Code, calls: list[ast.Call]) -> list[ast.stmt]:
    """The statements that are nothing but one of these calls, if each of the calls is one."""
    found = [code.statement(c) for c in calls]
    whole = [s for s in found if isinstance(s, ast.Expr) and code.alone(s)]
    return list(whole) if len(whole) == len(calls) else []


def _loads(code: Code, about: str) -> Iterator[Site]:
    calls = [c for c in code.calls("load_state_dict") if re.search(about, owner(c), re.IGNORECASE)]
    rest = [c for c in code.calls("load_state_dict") if c not in calls]
    saved = any(re.search(about, owner(c), re.IGNORECASE) for c in code.calls("state_dict"))
    found = _alone(code, calls)
    if found and rest and saved:
        yield tuple(code.without(s) for s in found)


def moments_not_restored(code: Code) -> Iterator[Site]:
    """A restart gives the optimizer's state back no more."""
    yield from _loads(code, r"optim|(?:^|[._])opt(?:$|[._])")


def schedule_not_restored(code: Code) -> Iterator[Site]:
    """A restart begins the schedule of the learning rate anew."""
    yield from _loads(code, r"sched|(?:^|[._])lr_s")


def progress_not_restored(code: Code) -> Iterator[Site]:
    """A restart counts epochs or steps from the start."""
    if not list(code.calls("load_state_dict")):
        return
    for node in code.of(ast.Assign):
        if code.alone(node) and len(node.targets) == 1:
            target, value = ast.unparse(node.targets[0]), ast.unparse(node.value)
            if (
                re.search(r"(?:epoch|iter|steps?)$", target)
                and "best" not in target
                and re.match(
                    r"(?:int\()?\w*(?:ckpt|checkpoint|state|pkg|loaded|data)\w*(?:\[|\.get\().*(?:epoch|iter|step)",
                    value,
                )
            ):
                yield (code.without(node),)


def _wrapped(code: Code) -> Iterator[tuple[ast.Assign, ast.Call]]:
    """Models that are wrapped in place for training with several processes."""
    for call in code.calls(*_WRAPPERS):
        statement = code.parents.get(call)
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and call.args:
            if ast.unparse(statement.targets[0]) == ast.unparse(call.args[0]) and code.alone(statement):
                yield statement, call


def not_wrapped(code: Code) -> Iterator[Site]:
    """The model is trained without its data-parallel wrapper."""
    for statement, call in _wrapped(code):
        name = ast.unparse(call.args[0])
        inner = [n for n in code.of(ast.Attribute) if n.attr == "module" and ast.unparse(n.value) == name]
        yield (code.without(statement), *(code.replace(n, name) for n in inner))


def past_the_wrapper(code: Code) -> Iterator[Site]:
    """The forward pass of training goes to the model inside the wrapper."""
    for _, call in _wrapped(code):
        name = ast.unparse(call.args[0])
        if not isinstance(call.args[0], ast.Name):
            continue
        for use in code.of(ast.Call):
            if ast.unparse(use.func) == name and _before_backward(code, use):
                yield (code.replace(use.func, f"{name}.module"),)


def _before_backward(code: Code, use: ast.AST) -> bool:
    """Whether a backward pass stands in a loop around a call."""
    at: ast.AST | None = code.parents.get(use)
    while at is not None and not isinstance(at, (ast.For, ast.While, ast.FunctionDef)):
        at = code.parents.get(at)
    return at is not None and any(isinstance(n, ast.Call) and called(n) == "backward" for n in walk(at))


def one_share_for_all(code: Code) -> Iterator[Site]:
    """Every process reads all training data, in an order of its own."""
    for call in code.calls("DistributedSampler"):
        statement = code.statement(call)
        if isinstance(statement, ast.Assign) and call.args and re.search("train", code.source(statement)):
            calls = list(code.calls("set_epoch"))
            told = _alone(code, calls)
            if len(told) == len(calls):
                yield (
                    code.replace(call, f"torch.utils.data.RandomSampler({code.source(call.args[0])})"),
                    *(code.without(s) for s in told),
                )


def share_of_rank_zero(code: Code) -> Iterator[Site]:
    """Every process reads the share of the first."""
    for call in code.calls("DistributedSampler", "shard", "DistributedProportionalIterableDataset"):
        value = keyword(call, "rank", "index")
        if value is not None and not isinstance(value, ast.Constant):
            yield (code.replace(value, "0"),)


def gradients_not_averaged(code: Code) -> Iterator[Site]:
    """Gradients are no longer averaged over processes by hand."""
    calls = [
        c
        for c in code.calls("all_reduce", "pmean", "average_gradients", "sync_gradients", "allreduce_grads")
        if "grad" in code.source(c).lower() and "norm" not in code.source(c)
    ]
    for call in calls:
        statement = code.statement(call)
        if isinstance(statement, ast.Expr) and code.alone(statement):
            yield (code.without(statement),)
        elif isinstance(statement, ast.Assign) and called(call) == "pmean" and statement.value is call:
            yield (code.replace(call, code.source(call.args[0])),)


def start_not_shared(code: Code) -> Iterator[Site]:
    """Weights are no longer sent from the first process to all others."""
    for call in code.calls("broadcast", "broadcast_parameters", "broadcast_params", "broadcast_coalesced"):
        statement = code.statement(call)
        if isinstance(statement, ast.Expr) and code.alone(statement):
            if re.search("param|model|module|weight", code.source(call)):
                yield (code.without(statement),)


def scaler_left_out(code: Code) -> Iterator[Site]:
    """Training in half precision with an ordinary backward pass and update."""
    edits = []
    for call in code.calls("scale", "step", "unscale_", "update"):
        if not re.search("scaler", owner(call)):
            continue
        name, statement, outer = called(call), code.statement(call), code.parents.get(call)
        if name == "scale" and isinstance(outer, ast.Attribute) and outer.attr == "backward" and call.args:
            edits.append(code.replace(outer.value, f"({code.source(call.args[0])})"))
        elif name == "step" and call.args:
            edits.append(code.replace(call, f"{code.source(call.args[0])}.step()"))
        elif isinstance(statement, ast.Expr) and code.alone(statement):
            edits.append(code.without(statement))
        else:
            return
    if any(e.new.startswith("(") for e in edits) and "bfloat16" not in code.text:
        yield tuple(edits)


def scaler_disabled(code: Code) -> Iterator[Site]:
    """A gradient scaler that is switched off."""
    for call in code.calls("GradScaler"):
        if "bfloat16" not in code.text:
            yield (_with(code, call, "enabled", "False"),)


def scale_stands_at_one(code: Code) -> Iterator[Site]:
    """A loss scale of one that never grows."""
    for call in code.calls("GradScaler"):
        if (
            not {"init_scale", "growth_interval"} & {k.arg for k in call.keywords}
            and "bfloat16" not in code.text
        ):
            inside = code.source(call)[:-1].rstrip().rstrip(",")
            comma = ", " if call.args or call.keywords else ""
            yield (code.replace(call, f"{inside}{comma}init_scale=1.0, growth_interval=1000000000)"),)


def autocast_off(code: Code) -> Iterator[Site]:
    """Autocast that is switched off where the model is trained."""
    for call in code.calls("autocast"):
        item = code.parents.get(call)
        block = code.parents.get(item) if isinstance(item, ast.withitem) else None
        if isinstance(block, ast.With) and _before_backward(code, block):
            if owner(call).rpartition(".")[2] in ("", "amp", "torch") and "fabric" not in code.source(call):
                yield (_with(code, call, "enabled", "False"),)


def _with(code: Code, call: ast.Call, name: str, value: str) -> Edit:
    """A call with one keyword set."""
    old = keyword(call, name)
    if old is not None:
        return code.replace(old, value)
    if name == "enabled" and call.args and not isinstance(call.args[0], ast.Constant) and len(call.args) == 1:
        if not re.search("device", code.source(call.args[0])):
            return code.replace(call.args[0], value)
    inside = code.source(call)[:-1].rstrip().rstrip(",")
    return code.replace(call, f"{inside}{', ' if call.args or call.keywords else ''}{name}={value})")


def _loaded(code: Code) -> Iterator[ast.Call]:
    """Pretrained models of transformers that a script loads and trains."""
    for call in code.calls("from_pretrained"):
        if re.match(r"(?:\w*Model\w*|\w+For[A-Z]\w+)$", owner(call).rpartition(".")[2]):
            if not any(k.arg in ("torch_dtype", "dtype", "quantization_config") for k in call.keywords):
                held = re.search("teacher|ref|reward", ast.unparse(code.parents[call]).split("=")[0])
                if list(code.calls("backward", "train", "fit")) and not held:
                    yield call


def weights_in_bf16(code: Code) -> Iterator[Site]:
    """Weights that are trained are kept in bf16."""
    for call in _loaded(code):
        yield (_with(code, call, "torch_dtype", "torch.bfloat16"),)


def weights_in_fp16(code: Code) -> Iterator[Site]:
    """Weights that are trained are kept in fp16."""
    for call in _loaded(code):
        yield (_with(code, call, "torch_dtype", "torch.float16"),)


_AVERAGES = re.compile(
    r"(?i)(?:^|[^a-z])ema(?:[^a-z]|$)|averag|shadow|teacher|momentum_enc|(?:^|_)target|(?:^|_)tgt"
)


def average_turned(code: Code) -> Iterator[Site]:
    """A running average of the weights keeps the new and forgets the old: its two shares change places."""
    for node in code.of(ast.BinOp):
        if isinstance(node.op, ast.Add):
            sides = [
                s for s in (node.left, node.right) if isinstance(s, ast.BinOp) and isinstance(s.op, ast.Mult)
            ]
            shares = [_share(s) for s in sides]
            if len(shares) == 2 and shares[0] is not None and shares[1] is not None:
                (one, kept), (other, rest) = shares[0], shares[1]
                if (
                    kept == rest
                    and re.fullmatch(r"[\w.]+", kept)
                    and {_is_rest(one), _is_rest(other)} == {True, False}
                ):
                    if _of_weights(code, node):
                        yield (code.replace(one, _whole(code, other)), code.replace(other, _whole(code, one)))
    for call in code.calls("add_", "lerp_"):
        inner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if isinstance(inner, ast.Call) and called(inner) == "mul_" and len(inner.args) == 1:
            alpha = keyword(call, "alpha")
            if alpha is not None and _is_rest(alpha) and ast.unparse(inner.args[0]) == _name_of(alpha):
                if _of_weights(code, call):
                    old = inner.args[0]
                    yield (
                        code.replace(old, f"({code.source(alpha)})"),
                        code.replace(alpha, code.source(old)),
                    )


def _whole(code: Code, node: ast.expr) -> str:
    text = code.source(node)
    return f"({text})" if isinstance(node, ast.BinOp) else text


def _is_rest(node: ast.expr) -> bool:
    """`1 - decay`"""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Sub)
        and ast.unparse(node.left) in ("1", "1.0")
    )


def _name_of(node: ast.expr) -> str:
    return ast.unparse(node.right) if isinstance(node, ast.BinOp) and _is_rest(node) else ast.unparse(node)


def _share(product: ast.expr) -> tuple[ast.expr, str] | None:
    """The factor of a product that is a share, `decay` or `1 - decay`, and the name in it."""
    if isinstance(product, ast.BinOp):
        for side in (product.left, product.right):
            if _is_rest(side) or re.search(
                r"(?i)decay|tau|alpha|(?:^|[._])m(?:omentum)?$|beta", ast.unparse(side)
            ):
                return side, _name_of(side)
    return None


def _of_weights(code: Code, node: ast.AST) -> bool:
    statement = code.statement(node)
    text = ast.unparse(statement) if isinstance(statement, (ast.Assign, ast.Expr)) else ""
    return bool(_AVERAGES.search(text)) and not re.search("loss|grad|mean|std|var|reward", text)


_RESUME = "state.resume"
_ALONE = "porting.distributed-not-enabled"
_DESYNC = "state.replica-desync"
_SHARDS = "porting.sharding-differs"
_UNSCALED = "porting.loss-scale-missing"
_RANGE = "numerics.half-precision-range"
OPERATORS = (
    Operator("moments-not-restored", _RESUME, moments_not_restored),
    Operator("schedule-not-restored", _RESUME, schedule_not_restored),
    Operator("progress-not-restored", _RESUME, progress_not_restored),
    Operator("not-wrapped", _ALONE, not_wrapped, frozenset({_DESYNC})),
    Operator("past-the-wrapper", _DESYNC, past_the_wrapper, frozenset({_ALONE})),
    Operator("one-share-for-all", _SHARDS, one_share_for_all, frozenset({_ALONE})),
    Operator("share-of-rank-zero", _SHARDS, share_of_rank_zero),
    Operator("gradients-not-averaged", _DESYNC, gradients_not_averaged, frozenset({_ALONE}), pair_only=True),
    Operator(
        "start-not-shared",
        "init.differs-across-nodes",
        start_not_shared,
        frozenset({_DESYNC}),
        pair_only=True,
    ),
    Operator("scaler-left-out", _UNSCALED, scaler_left_out, frozenset({_RANGE})),
    Operator("scaler-disabled", _UNSCALED, scaler_disabled, frozenset({"hyperparameter.loss-scale", _RANGE})),
    Operator(
        "scale-stands-at-one",
        "hyperparameter.loss-scale",
        scale_stands_at_one,
        frozenset({_UNSCALED, _RANGE}),
    ),
    Operator("autocast-off", "porting.mixed-precision-disabled", autocast_off),
    Operator("weights-in-bf16", "numerics.update-lost", weights_in_bf16),
    Operator(
        "weights-in-fp16",
        _RANGE,
        weights_in_fp16,
        frozenset({_UNSCALED, "numerics.update-lost", "numerics.epsilon"}),
    ),
    Operator(
        "average-turned",
        "evaluation.wrong-checkpoint",
        average_turned,
        frozenset({"porting.training-procedure", "evaluation.logic", "porting.hyperparameters-differ"}),
    ),
)

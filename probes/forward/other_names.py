"""MindSpore's and Paddle's layers and operators, as the ones of PyTorch that they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..by_hand.sizes import Unfit
from .convolutions import conv, conv_back, each, pooled
from .functions import of_tensor
from .layers import KINDS, Layer, Maker, Step
from .tensors import Tensor, matmul
from .things import Chain, Listed, Mapped

if TYPE_CHECKING:
    from .network import Network

Names = dict[str, Any]
_ARGUMENTS = {
    "vocab_size": "num_embeddings",
    "embedding_size": "embedding_dim",
    "group": "groups",
    "has_bias": "bias",
    "alpha": "negative_slope",
    "axis": "dim",
    "num_embeddings": "num_embeddings",
}
_HOLDERS = {"SequentialCell": Chain, "CellList": Listed, "CellDict": Mapped, "LayerList": Listed}
_PADDLE = re.compile(
    r"^(Conv|BatchNorm|InstanceNorm|MaxPool|AvgPool|AdaptiveAvgPool|AdaptiveMaxPool|Dropout|Pad)([123])D(Transpose)?$"
)
# operators that are made first and asked later: the function that each of them is
_OPERATORS = {
    "ReduceMean": "mean",
    "ReduceSum": "sum",
    "ReduceMax": "amax",
    "ReduceMin": "amin",
    "ReduceProd": "prod",
    "Reshape": "reshape",
    "Transpose": "permute",
    "Squeeze": "squeeze",
    "ExpandDims": "unsqueeze",
    "Tile": "repeat",
    "MatMul": "matmul",
    "BatchMatMul": "matmul",
    "Softmax": "softmax",
    "LogSoftmax": "log_softmax",
    "ReLU": "relu",
    "Sigmoid": "sigmoid",
    "Tanh": "tanh",
    "GeLU": "gelu",
    "Mul": "mul",
    "Add": "add",
    "Sub": "sub",
    "Div": "div",
    "RealDiv": "div",
    "Sqrt": "sqrt",
    "Rsqrt": "rsqrt",
    "Pow": "pow",
    "Square": "square",
    "Exp": "exp",
    "Log": "log",
    "Maximum": "maximum",
    "Minimum": "minimum",
    "Abs": "abs",
    "Neg": "neg",
    "Cast": "to",
    "Concat": "cat",
    "Stack": "stack",
    "Flatten": "flatten",
    "Softplus": "softplus",
    "L2Normalize": "normalize",
    "CumSum": "cumsum",
}


def made_elsewhere(net: Network, path: str, given: list[Any], named: Names) -> Any:
    """A layer or an operator of MindSpore or Paddle; NotImplemented where it is none of them.

    Raises Unfit where it is one that is not known.
    """
    name = path.rpartition(".")[2]
    if name == "initializer":
        return net.function("randn", [given[1] if len(given) > 1 else named["shape"]], {})
    if ".initializer" in path.lower():
        return None  # how a weight starts: it is drawn here
    if name in _HOLDERS:
        parts = list(given[0]) if len(given) == 1 and isinstance(given[0], (list, tuple)) else list(given)
        return _HOLDERS[name](given[0]) if name == "CellDict" else _HOLDERS[name](parts)
    if path.startswith("mindspore.ops.") and name[:1].isupper():
        return _operator(net, name, given, named)
    named = {_ARGUMENTS.get(k, k): v for k, v in named.items() if k not in _LEFT_OUT}
    if path.startswith("mindspore.nn."):
        return _of_mindspore(net, name, given, named)
    found = _PADDLE.match(name)
    if path.startswith("paddle.nn.") and found:
        name = f"{found[1]}{found[3] or ''}{found[2]}d"
        if name.startswith("Dropout") or name in KINDS:
            return net.maker.make(name, given, named)
        raise Unfit
    return NotImplemented


_LEFT_OUT = frozenset(
    (
        *("weight_init", "bias_init", "gamma_init", "beta_init", "moving_mean_init", "moving_var_init"),
        *("weight_attr", "bias_attr", "param_attr", "data_format", "use_batch_statistics", "embedding_table"),
        *(
            "use_one_hot",
            "name",
            "begin_norm_axis",
            "begin_params_axis",
            "epsilon",
            "momentum",
            "eps",
            "dtype",
        ),
    )
)


def _of_mindspore(net: Network, name: str, given: list[Any], named: Names) -> Any:
    if name == "Dense":
        bend = named.pop("activation", given[5] if len(given) > 5 else None)
        given = given[:2]
        layer = net.maker.make(
            "Linear",
            given,
            {k: v for k, v in named.items() if k in ("in_features", "out_features", "bias")}
            | _channels(named),
        )
        if bend is None:
            return layer
        return Chain([layer, bend if not isinstance(bend, str) else _named(net, bend)])
    if name in ("Conv1d", "Conv2d", "Conv3d"):
        return _conv(net.maker, name, given, named)
    if re.match(r"(?:Max|Avg)Pool[12]d$", name):
        return _pool(name, given, named)
    if name in ("Conv1dTranspose", "Conv2dTranspose"):
        return _conv_back(net.maker, name, given, named)
    if name in ("Softmax", "LogSoftmax"):
        return net.maker.make(name, given or [-1], named)
    if name == "Embedding":
        return net.maker.make(
            name, given[:2], {k: v for k, v in named.items() if k in ("num_embeddings", "embedding_dim")}
        )
    if name.startswith("BatchNorm"):
        return net.maker.make(name, given[:1], {k: v for k, v in named.items() if k == "num_features"})
    return NotImplemented


def _channels(named: Names) -> Names:
    """`Dense(in_channels=..., out_channels=...)`."""
    return {
        k.replace("channels", "features"): v for k, v in named.items() if k in ("in_channels", "out_channels")
    }


def _named(net: Network, bend: str) -> Any:
    kinds = {"relu": "ReLU", "sigmoid": "Sigmoid", "tanh": "Tanh", "gelu": "GELU", "softmax": "Softmax"}
    if bend not in kinds:
        raise Unfit
    return net.maker.make(kinds[bend], [-1] if bend == "softmax" else [], {})


def _conv(maker: Maker, name: str, given: list[Any], named: Names) -> Layer:
    """A convolution that pads to the same size unless it is told not to."""
    order = (
        "in_channels",
        "out_channels",
        "kernel_size",
        "stride",
        "pad_mode",
        "padding",
        "dilation",
        "groups",
    )
    said = {**dict(zip(order, given, strict=False)), **named}
    axes = int(name[-2])
    inside, outside = said["in_channels"], said["out_channels"]
    size, groups = each(said["kernel_size"], axes), said.get("groups", 1)
    stride, dilation = said.get("stride", 1), said.get("dilation", 1)
    layer = Layer(name, [inside, outside, size, stride], {})
    weight = maker.weight(
        layer, "weight", outside, inside // groups, *size, fan=inside // groups * int(np.prod(size))
    )
    bias = maker.shift(layer, outside) if said.get("bias") else None
    mode, padding = said.get("pad_mode", "same"), said.get("padding", 0)

    def step(x: Tensor) -> Tensor:
        if mode == "same":
            return conv(_for_same(x, size, stride, dilation), weight, bias, stride, 0, dilation, groups)
        return conv(x, weight, bias, stride, padding if mode == "pad" else 0, dilation, groups)

    layer.step = step
    return layer


def _conv_back(maker: Maker, name: str, given: list[Any], named: Names) -> Layer:
    """The way back of a convolution: to `stride` times the size, unless it is told otherwise."""
    order = ("in_channels", "out_channels", "kernel_size", "stride", "pad_mode", "padding")
    said = {**dict(zip(order, given, strict=False)), **named}
    axes, inside, outside = int(name[4]), said["in_channels"], said["out_channels"]
    size, stride = each(said["kernel_size"], axes), each(said.get("stride", 1), axes)
    layer = Layer(f"ConvTranspose{axes}d", [inside, outside, size, stride], {})
    weight = maker.weight(layer, "weight", inside, outside, *size, fan=inside * int(np.prod(size)))
    bias = maker.shift(layer, outside) if said.get("bias") else None
    mode, less, more = said.get("pad_mode", "same"), said.get("padding", 0), 0
    if mode == "same":
        over = {k - s for k, s in zip(size, stride, strict=True)}
        if len(over) != 1:
            raise Unfit
        off = over.pop()
        less, more = (max(off + 1, 0) // 2, off % 2 if off > 0 else -min(off, 0))
    elif mode == "valid":
        less = 0
    layer.step = lambda x: conv_back(x, weight, bias, stride, less, more)
    return layer


def _for_same(x: Tensor, size: Sequence[int], stride: Any, dilation: Any, value: float = 0.0) -> Tensor:
    axes = len(size)
    flat: list[int] = []
    for n, k, s, d in zip(x.a.shape[-axes:], size, each(stride, axes), each(dilation, axes), strict=True):
        total = max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
        flat = [total // 2, total - total // 2, *flat]
    return of_tensor("pad", x, [flat, "constant", value], {}) if any(flat) else x


def _pool(name: str, given: list[Any], named: Names) -> Layer:
    said = {**dict(zip(("kernel_size", "stride", "pad_mode", "padding"), given, strict=False)), **named}
    axes, kind = int(name[-2]), "max" if name.startswith("Max") else "mean"
    size, stride = said.get("kernel_size", 1), said.get("stride", 1)
    layer = Layer(name, [size, stride], {})

    def step(x: Tensor) -> Tensor:
        if said.get("pad_mode", "valid") == "same":
            if kind == "mean":
                raise Unfit
            x = _for_same(x, each(size, axes), stride, 1, -np.inf)
        return pooled(kind, axes, x, size, stride, said.get("padding", 0))

    layer.step = step
    return layer


def _operator(net: Network, name: str, given: list[Any], named: Names) -> Layer:
    if name not in _OPERATORS:
        raise Unfit
    step: Step
    if name in ("MatMul", "BatchMatMul"):
        turn = [
            named.get(k, given[i] if len(given) > i else False)
            for i, k in enumerate(("transpose_a", "transpose_b"))
        ]

        def step(a: Tensor, b: Tensor) -> Tensor:
            a, b = (v.like(v.a.swapaxes(-1, -2)) if t else v for v, t in zip((a, b), turn, strict=True))
            return matmul(a, b)
    elif name in ("Concat", "Stack"):
        axis = named.get("axis", given[0] if given else 0)
        step = lambda parts: net.function(_OPERATORS[name], [parts, axis], {})  # noqa: E731
    elif name.startswith("Reduce"):
        kept = bool(named.get("keep_dims", given[0] if given else False))
        step = lambda x, *axis: of_tensor(_OPERATORS[name], x, [], {"dim": _axis(axis), "keepdim": kept})  # noqa: E731
    elif name in ("Softmax", "LogSoftmax", "L2Normalize", "Squeeze"):
        held = {"dim": named.get("axis", given[0])} if given or "axis" in named else {}
        held = held or ({} if name == "Squeeze" else {"dim": -1})
        step = lambda x: of_tensor(_OPERATORS[name], x, [], held)  # noqa: E731
    else:
        step = lambda x, *more: _asked(_OPERATORS[name], x, more)  # noqa: E731
    return Layer(name, given, named, step)


def _axis(axis: Sequence[Any]) -> Any:
    return tuple(axis[0]) if axis and isinstance(axis[0], list) else axis[0] if axis else None


def _asked(name: str, x: Any, more: Sequence[Any]) -> Any:
    if name == "to":
        return x
    if not isinstance(x, Tensor):
        if len(more) == 1 and isinstance(more[0], Tensor) and name in ("add", "mul"):
            return of_tensor(name, more[0], [x], {})
        raise Unfit
    return of_tensor(name, x, list(more), {})

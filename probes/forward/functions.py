"""What PyTorch's functions and methods make of tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..by_hand.sizes import Unfit
from .tensors import Array, Room, Tensor, array, axis_of, matmul, sizes_of

Function = Callable[..., Any]


def gelu(x: Array) -> Array:
    """The Gaussian error linear unit, by the tangent that is usual: near enough."""
    return np.asarray(0.5 * x * (1 + np.tanh(0.7978845608 * x * (1 + 0.044715 * x * x))))


def sigmoid(x: Array) -> Array:
    """The logistic function."""
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -500, 500))))


def softplus(x: Array) -> Array:
    """The logarithm of one and an exponential."""
    return np.asarray(np.logaddexp(0, x))


ONE: dict[str, Callable[[Array], Array]] = {
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "gelu": gelu,
    "silu": lambda x: x * sigmoid(x),
    "swish": lambda x: x * sigmoid(x),
    "mish": lambda x: x * np.tanh(softplus(x)),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "celu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "selu": lambda x: 1.0507009874 * np.where(x > 0, x, 1.6732632423 * np.expm1(np.minimum(x, 0))),
    "sigmoid": sigmoid,
    "tanh": np.tanh,
    "hardtanh": lambda x: np.clip(x, -1, 1),
    "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hardsigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "softplus": softplus,
    "softsign": lambda x: x / (1 + np.abs(x)),
    "logsigmoid": lambda x: -np.logaddexp(0, -x),
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "log2": np.log2,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "square": np.square,
    "abs": np.abs,
    "sin": np.sin,
    "cos": np.cos,
    "sign": np.sign,
    "neg": np.negative,
    "reciprocal": lambda x: 1 / x,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.round,
    "isnan": np.isnan,
    "isfinite": np.isfinite,
    "logical_not": np.logical_not,
    "erf": lambda x: np.tanh(1.12838 * x + 0.1 * x**3),
}
SAME = frozenset(
    [
        "contiguous",
        "clone",
        "detach",
        "cpu",
        "cuda",
        "to",
        "type_as",
        "requires_grad_",
        "float",
        "half",
        "double",
        "bfloat16",
        "npu",
        "alpha_dropout",
        "dropout",
        "dropout1d",
        "dropout2d",
        "dropout3d",
        "feature_dropout",
        "identity",
        "stop_gradient",
        "checkpoint",
    ]
)
TWO: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "subtract": np.subtract,
    "mul": np.multiply,
    "multiply": np.multiply,
    "div": np.true_divide,
    "true_divide": np.true_divide,
    "pow": np.power,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "eq": np.equal,
    "ne": np.not_equal,
    "gt": np.greater,
    "lt": np.less,
    "ge": np.greater_equal,
    "le": np.less_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "remainder": np.remainder,
    "fmod": np.fmod,
    "atan2": np.arctan2,
}
REDUCED: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "mean": np.mean,
    "prod": np.prod,
    "amax": np.max,
    "amin": np.min,
    "any": np.any,
    "all": np.all,
    "logsumexp": lambda x, axis=None, keepdims=False: np.log(np.exp(x).sum(axis=axis, keepdims=keepdims)),
}


def softmax(x: Array, axis: int) -> Array:
    """Shares along an axis; of what is minus infinity throughout it is not a number, as in PyTorch."""
    made = np.exp(x - x.max(axis=axis, keepdims=True))
    return np.asarray(made / made.sum(axis=axis, keepdims=True))


def einsum(room: Room, how: str, *parts: Any) -> Tensor:
    """`torch.einsum`."""
    held = [
        array(p) for p in (parts[0] if len(parts) == 1 and isinstance(parts[0], (list, tuple)) else parts)
    ]
    known: dict[str, int] = {}
    for letters, one in zip(how.replace(" ", "").split("->")[0].split(","), held, strict=True):
        if "." in letters or len(letters) != one.ndim:
            raise Unfit
        for letter, size in zip(letters, one.shape, strict=True):
            if known.setdefault(letter, size) != size:
                raise Unfit
    after = how.replace(" ", "").split("->")[1] if "->" in how else ""
    room.take(math.prod(known[c] for c in after), math.prod(known.values()))
    return Tensor(np.einsum(how, *held, optimize=True), room)


# ----------------------------------------------------------------------------------------------- functions


def _reduced(name: str, x: Tensor, given: Sequence[Any], named: dict[str, Any]) -> Tensor:
    axis = axis_of(given, named)
    kept = bool(named.get("keepdim", named.get("keepdims", given[1] if len(given) > 1 else False)))
    return x.like(REDUCED[name](x.a, axis=axis, keepdims=kept))


def _spread(x: Tensor, name: str, given: Sequence[Any], named: dict[str, Any]) -> Tensor:
    axis = axis_of(given, named)
    if isinstance(axis, bool):
        axis = None
    unbiased = named.get("unbiased", named.get("correction", 1) != 0)
    count = x.a.size if axis is None else math.prod(np.take(x.a.shape, axis, mode="wrap").reshape(-1))
    kept = bool(named.get("keepdim", False))
    held = np.var(x.a, axis=axis, keepdims=kept) * (count / max(count - 1, 1) if unbiased else 1.0)
    return x.like(np.sqrt(held) if name == "std" else held)


def _ends(name: str, x: Tensor, given: Sequence[Any], named: dict[str, Any]) -> Any:
    if given and isinstance(given[0], Tensor):
        return x.with_(given[0], np.maximum if name == "max" else np.minimum)
    axis = axis_of(given, named)
    if axis is None:
        return x.like(x.a.max() if name == "max" else x.a.min())
    kept = bool(named.get("keepdim", given[1] if len(given) > 1 else False))
    values = (np.max if name == "max" else np.min)(x.a, axis=axis, keepdims=kept)
    places = (np.argmax if name == "max" else np.argmin)(x.a, axis=axis, keepdims=kept)
    return (x.like(values), x.like(places))


def _topk(x: Tensor, k: int, dim: int = -1, largest: bool = True, **_: Any) -> Any:
    order = np.argsort(-x.a if largest else x.a, axis=dim, kind="stable")
    order = np.take(order, range(int(k)), axis=dim)
    return (x.like(np.take_along_axis(x.a, order, axis=dim)), x.like(order))


def _shaped(x: Tensor, *sizes: Any) -> Tensor:
    if len(sizes) == 1 and not isinstance(sizes[0], (int, tuple, list, np.integer, Tensor)):
        return x  # another type
    return x.like(x.a.reshape(sizes_of(sizes)))


def _flattened(x: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    n = x.a.ndim
    start, end = start_dim % max(n, 1), end_dim % max(n, 1)
    return x.like(x.a.reshape(*x.a.shape[:start], -1, *x.a.shape[end + 1 :]))


def _unflattened(x: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    dim %= x.a.ndim
    return x.like(x.a.reshape(*x.a.shape[:dim], *sizes_of([sizes]), *x.a.shape[dim + 1 :]))


def _squeezed(x: Tensor, *axis: Any, **named: Any) -> Tensor:
    at = axis_of(axis, named)
    if at is None:
        return x.like(np.squeeze(x.a))
    axes = [a for a in (at if isinstance(at, tuple) else (at,)) if x.a.shape[a] == 1]
    return x.like(np.squeeze(x.a, axis=tuple(axes)))


def _turned(x: Tensor, *axes: Any, **named: Any) -> Tensor:
    """Two axes exchanged, as PyTorch has it; all of them in an order, as MindSpore and Paddle do."""
    axes = axes or tuple(named[k] for k in ("dim0", "dim1", "perm") if k in named)
    order = sizes_of(axes)
    if len(order) == 2 and not isinstance(axes[0], (list, tuple)):
        return x.like(np.swapaxes(x.a, *order))
    return x.like(np.transpose(x.a, order))


def _expanded(x: Tensor, *sizes: Any) -> Tensor:
    wanted = sizes_of(sizes)
    more = len(wanted) - x.a.ndim
    full = tuple(x.a.shape[i - more] if s == -1 else s for i, s in enumerate(wanted))
    x.room.take(math.prod(full))
    return x.like(np.broadcast_to(x.a, full))


def _repeated(x: Tensor, *times: Any) -> Tensor:
    by = sizes_of(times)
    x.room.take(x.a.size * math.prod(by))
    return x.like(np.tile(x.a, by))


def _repeat_interleave(x: Tensor, times: Any, dim: int | None = None, **_: Any) -> Tensor:
    x.room.take(x.a.size * int(np.max(array(times))))
    return x.like(np.repeat(x.a, array(times).astype(int), axis=dim))


def _chunked(x: Tensor, count: int, dim: int = 0) -> Any:
    size = -(-x.a.shape[dim] // count)
    return _split(x, size, dim)


def _split(x: Tensor, size: Any, dim: int = 0) -> Any:
    total = x.a.shape[dim]
    ends = list(range(size, total, size)) if isinstance(size, int) else np.cumsum(size)[:-1].tolist()
    if len(ends) > 1_000:
        raise Unfit
    return tuple(x.like(p) for p in np.split(x.a, ends, axis=dim))


def _gathered(x: Tensor, dim: int, index: Tensor) -> Tensor:
    at = index.a.astype(int)
    cut = tuple(slice(None) if i == dim % x.a.ndim else slice(s) for i, s in enumerate(at.shape))
    return x.like(np.take_along_axis(x.a[cut], at, axis=dim))


def _filled(x: Tensor, mask: Tensor, value: Any) -> Tensor:
    x.room.take(math.prod(np.broadcast_shapes(x.a.shape, mask.a.shape)))
    held = x.a.astype(float) if isinstance(value, float) else x.a
    return x.like(np.where(mask.a.astype(bool), array(value), held))


def _norm(x: Tensor, p: Any = 2, dim: Any = None, keepdim: bool = False, **_: Any) -> Tensor:
    if p not in (2, 2.0, "fro", None):
        raise Unfit
    axis = tuple(dim) if isinstance(dim, (list, tuple)) else dim
    return x.like(np.sqrt((x.a**2).sum(axis=axis, keepdims=keepdim)))


def _normalized(x: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, **_: Any) -> Tensor:
    if p != 2:
        raise Unfit
    return x.like(x.a / np.maximum(np.sqrt((x.a**2).sum(axis=dim, keepdims=True)), eps))


def _clamped(x: Tensor, low: Any = None, high: Any = None, **named: Any) -> Tensor:
    low, high = named.get("min", low), named.get("max", high)
    return x.like(np.clip(x.a, None if low is None else array(low), None if high is None else array(high)))


def _soft(x: Tensor, dim: Any = None, log: bool = False, **_: Any) -> Tensor:
    if dim is None:
        dim = 0 if x.a.ndim in (0, 1, 3) else 1
    made = softmax(x.a.astype(float), int(dim))
    x.room.attended |= x.a.ndim > 2 and x.a.shape[-1] == x.a.shape[-2]
    return x.like(np.log(np.maximum(made, 1e-300)) if log else made)


def _glu(x: Tensor, dim: int = -1) -> Tensor:
    a, b = np.split(x.a, 2, axis=dim)
    return x.like(a * sigmoid(b))


def _rolled(x: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    return x.like(np.roll(x.a, shifts, axis=tuple(dims) if isinstance(dims, list) else dims))


def _flipped(x: Tensor, *dims: Any, **named: Any) -> Tensor:
    return x.like(np.flip(x.a, axis=sizes_of([named["dims"]] if "dims" in named else dims)))


def _one_hot(x: Tensor, num_classes: int = -1) -> Tensor:
    count = int(num_classes) if num_classes > 0 else int(x.a.max()) + 1
    x.room.take(x.a.size * count)
    return x.like(np.eye(count, dtype=int)[x.a.astype(int)])


def _outer_swap(x: Tensor) -> Tensor:
    return x.like(x.a.T)


def padded(x: Tensor, pad: Sequence[Any], mode: str = "constant", value: Any = 0) -> Tensor:
    """`F.pad`: from the last axis on."""
    sides = sizes_of([pad])
    widths = [(0, 0)] * x.a.ndim
    for i in range(len(sides) // 2):
        widths[x.a.ndim - 1 - i] = (sides[2 * i], sides[2 * i + 1])
    cut = tuple(slice(max(-a, 0), s - max(-b, 0)) for (a, b), s in zip(widths, x.a.shape, strict=True))
    more = [(max(a, 0), max(b, 0)) for a, b in widths]
    x.room.take(math.prod(s + a + b for s, (a, b) in zip(x.a[cut].shape, more, strict=True)))
    if mode in ("constant", "zeros"):
        return x.like(np.pad(x.a[cut], more, constant_values=value or 0))
    ways: dict[str, Any] = {"replicate": "edge", "reflect": "reflect", "circular": "wrap"}
    return x.like(np.pad(x.a[cut], more, mode=ways[mode]))


FUNCTIONS: dict[str, Function] = {
    "view": _shaped,
    "reshape": _shaped,
    "view_as": lambda x, o: x.like(x.a.reshape(o.a.shape)),
    "reshape_as": lambda x, o: x.like(x.a.reshape(o.a.shape)),
    "flatten": _flattened,
    "unflatten": _unflattened,
    "squeeze": _squeezed,
    "expand_dims": lambda x, dim: x.like(np.expand_dims(x.a, int(dim))),
    "broadcast_to": _expanded,
    "unsqueeze": lambda x, dim: x.like(np.expand_dims(x.a, int(dim))),
    "transpose": _turned,
    "swapaxes": lambda x, axis0, axis1: x.like(np.swapaxes(x.a, axis0, axis1)),
    "swapdims": lambda x, dim0, dim1: x.like(np.swapaxes(x.a, dim0, dim1)),
    "permute": lambda x, *dims: x.like(np.transpose(x.a, sizes_of(dims))),
    "movedim": lambda x, a, b: x.like(np.moveaxis(x.a, a, b)),
    "t": _outer_swap,
    "expand": _expanded,
    "expand_as": lambda x, o: x.like(np.broadcast_to(x.a, o.a.shape)),
    "repeat": _repeated,
    "tile": _repeated,
    "repeat_interleave": _repeat_interleave,
    "chunk": lambda x, chunks, dim=0: _chunked(x, int(chunks), dim),
    "split": lambda x, size, dim=0: _split(x, size, dim),
    "unbind": lambda x, dim=0: tuple(x.like(p) for p in np.moveaxis(x.a, dim, 0)),
    "gather": _gathered,
    "index_select": lambda x, dim, index: x.like(np.take(x.a, index.a.astype(int), axis=dim)),
    "select": lambda x, dim, index: x.like(np.take(x.a, int(index), axis=dim)),
    "narrow": lambda x, dim, start, length: x.like(np.take(x.a, range(start, start + length), axis=dim)),
    "masked_fill": _filled,
    "masked_fill_": _filled,
    "norm": _norm,
    "normalize": _normalized,
    "clamp": _clamped,
    "clip": _clamped,
    "clamp_min": lambda x, low: _clamped(x, low),
    "clamp_max": lambda x, high: _clamped(x, None, high),
    "softmax": _soft,
    "softmin": lambda x, dim=None, **_: _soft(x.like(-x.a), dim),
    "log_softmax": lambda x, dim=None, **_: _soft(x, dim, True),
    "glu": _glu,
    "std": lambda x, *g, **n: _spread(x, "std", g, n),
    "var": lambda x, *g, **n: _spread(x, "var", g, n),
    "max": lambda x, *g, **n: _ends("max", x, g, n),
    "min": lambda x, *g, **n: _ends("min", x, g, n),
    "argmax": lambda x, *g, **n: x.like(np.argmax(x.a, axis=axis_of(g, n), keepdims=bool(n.get("keepdim")))),
    "argmin": lambda x, *g, **n: x.like(np.argmin(x.a, axis=axis_of(g, n), keepdims=bool(n.get("keepdim")))),
    "argsort": lambda x, dim=-1, descending=False, **_: x.like(
        np.argsort(-x.a if descending else x.a, axis=dim, kind="stable")
    ),
    "topk": _topk,
    "cumsum": lambda x, *g, **n: x.like(np.cumsum(x.a, axis=axis_of(g, n))),
    "cumprod": lambda x, *g, **n: x.like(np.cumprod(x.a, axis=axis_of(g, n))),
    "diff": lambda x, n=1, dim=-1: x.like(np.diff(x.a, n=n, axis=dim)),
    "roll": _rolled,
    "flip": _flipped,
    "tril": lambda x, diagonal=0: x.like(np.tril(x.a, diagonal)),
    "triu": lambda x, diagonal=0: x.like(np.triu(x.a, diagonal)),
    "diagonal": lambda x, offset=0, dim1=0, dim2=1: x.like(np.diagonal(x.a, offset, dim1, dim2)),
    "one_hot": _one_hot,
    "matmul": matmul,
    "bmm": matmul,
    "mm": matmul,
    "dot": matmul,
    "pad": padded,
    "long": lambda x: x.like(x.a.astype(int)),
    "int": lambda x: x.like(x.a.astype(int)),
    "bool": lambda x: x.like(x.a.astype(bool)),
    "lerp": lambda x, o, w: x.like(x.a + array(w) * (o.a - x.a)),
    "addcmul": lambda x, a, b, value=1: x.like(x.a + value * a.a * b.a),
    "baddbmm": lambda x, a, b, beta=1, alpha=1: x.like(beta * x.a + alpha * matmul(a, b).a),
    "cosine_similarity": lambda a, b, dim=1, **_: a.like(
        (_normalized(a, dim=dim).a * _normalized(b, dim=dim).a).sum(axis=dim)
    ),
    "threshold": lambda x, threshold, value, **_: x.like(np.where(x.a > threshold, x.a, value)),
    "nan_to_num": lambda x, *_: x.like(np.nan_to_num(x.a)),
}


_OTHER_NAMES = {"axis": "dim", "keep_dims": "keepdim", "keepdims": "keepdim"}


def of_tensor(name: str, x: Tensor, given: Sequence[Any], named: dict[str, Any]) -> Any:
    """What a function or a method of this name makes of a tensor. Raises Unfit where it is not known."""
    named = {
        k: v
        for k, v in named.items()
        if k not in ("dtype", "device", "inplace", "training", "p", "approximate", "non_blocking", "out")
        or (k == "p" and name in ("norm", "normalize"))
    }
    named = {_OTHER_NAMES.get(k, k): v for k, v in named.items()}
    if name in SAME:
        return x
    if name in ONE:
        slope = named.get("negative_slope", given[0] if given else None)
        if name == "leaky_relu" and isinstance(slope, float):
            return x.like(np.where(x.a > 0, x.a, slope * x.a))
        return x.like(ONE[name](x.a.astype(float) if x.a.dtype != bool else x.a))
    if name in TWO and given:
        return x.with_(given[0], TWO[name])
    if name in REDUCED:
        return _reduced(name, x, given, named)
    if name in FUNCTIONS:
        return FUNCTIONS[name](x, *given, **named)
    if name.endswith("_") and (name[:-1] in ONE or name[:-1] in TWO or name[:-1] in ("clamp", "masked_fill")):
        found = of_tensor(name[:-1], x, given, named)
        if found.a.shape != x.a.shape:
            raise Unfit
        x.a = found.a
        return x
    raise Unfit


def joined(room: Room, name: str, parts: Sequence[Tensor], dim: int) -> Tensor:
    """`torch.cat`, `torch.stack`."""
    held = [array(p) for p in parts]
    room.take(sum(h.size for h in held))
    return Tensor(np.stack(held, axis=dim) if name == "stack" else np.concatenate(held, axis=dim), room)

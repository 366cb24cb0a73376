"""Functions of PyTorch, numpy and einops that a network calls, and methods of its tensors."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..by_hand.sizes import Unfit
from ..by_hand.things import Dotted
from .attending import attention
from .convolutions import adaptive, conv, conv_back, enlarged, pooled, shuffled
from .functions import FUNCTIONS, ONE, REDUCED, SAME, TWO, einsum, joined, of_tensor
from .layers import ACTIVATIONS, KINDS, Layer, embedding, layer_norm, linear
from .named_axes import gathered_up, rearranged, spread
from .other_names import made_elsewhere
from .recurrent import Packed
from .tensors import Tensor, array, sizes_of
from .things import Chain, Listed, Mapped

if TYPE_CHECKING:
    from .network import Network

Names = dict[str, Any]
_ROOTS = ("torch", "numpy", "np", "math", "einops", "timm", "mindspore", "paddle", "F", "nn", "functional")
_WHOLE = re.compile(r"int|long|uint8")
_LONGEST = 1_000_000  # numbers that are counted out
_LOSSES = re.compile(r"^(?:CrossEntropy|BCE|BCEWithLogits|MSE|L1|SmoothL1|Huber|NLL)Loss$")


def called(net: Network, callee: Dotted, given: list[Any], named: Names) -> Any:
    """What a function of a library gives; NotImplemented where this is none that is known here."""
    name, root = callee.last, callee.path.split(".")[0]
    if root == "math":
        return getattr(math, name)(*(float(g) if isinstance(g, Tensor) else g for g in given))
    if name == "is_available":
        return False
    if root not in _ROOTS and not callee.path.startswith(("collections.OrderedDict", "copy.", "functools.")):
        return NotImplemented
    if name == "OrderedDict":
        return dict(*given)
    if name == "deepcopy":
        return _copied(net, given[0])
    if name == "partial":
        return _partial(net, *given, **named)
    if root in ("mindspore", "paddle"):
        made = made_elsewhere(net, callee.path, given, named)
        if made is not NotImplemented:
            return made
    if name in HOLDERS:
        return HOLDERS[name](net, *given)
    if name == "Parameter":
        return net.parameter(given[0], named)
    if name in ("spectral_norm", "weight_norm", "compile", "DataParallel", "DistributedDataParallel"):
        return given[0]
    if ".init." in callee.path:
        return given[0] if given else None
    if _LOSSES.search(name):
        return _step(net, lambda said, *_: _scored(net, said))
    if name in KINDS or name in ACTIVATIONS:
        return net.maker.make(name, given, named)
    if name == "checkpoint":
        return net.apply(given[0], given[1:], {})
    if name == "Rearrange":
        how, sizes = given[0], named
        return _step(net, lambda x: rearranged(x, how, **sizes))
    if root == "einops":
        if name == "rearrange":
            return rearranged(given[0], given[1], **named)
        if name == "repeat":
            return spread(given[0], given[1], **named)
        if name == "reduce":
            return gathered_up(given[0], given[1], given[2], **named)
    if name in SPECIAL:
        return SPECIAL[name](net, *given, **named)
    if name in _MADE:
        return _created(net, name, given, named)
    first = given[0] if given else named.get("input")
    if isinstance(first, Tensor):
        return _function(name, first, given[1:], {k: v for k, v in named.items() if k != "input"})
    if name in TWO and len(given) > 1 and isinstance(given[1], Tensor):
        return given[1].with_(first, TWO[name], turned=True)
    if name == "device":
        return "cpu"
    if isinstance(first, (int, float)) and root in ("numpy", "np"):
        return getattr(math, name)(*given) if hasattr(math, name) else NotImplemented
    if name == "is_tensor":
        return isinstance(first, Tensor)
    return NotImplemented


def method(net: Network, owner: Tensor, name: str, given: list[Any], named: Names) -> Any:
    """What a method of a tensor gives. Raises Unfit."""
    if name == "size":
        return owner.a.shape[given[0]] if given else owner.a.shape
    if name in ("dim", "numel", "nelement", "ndimension"):
        return owner.a.size if name in ("numel", "nelement") else owner.a.ndim
    if name == "item":
        return owner.a.reshape(-1)[0].item()
    if name in ("tolist", "numpy"):
        return owner.a.tolist() if name == "tolist" else owner
    if name in ("to", "type", "astype"):
        return _cast(owner, given, named)
    if name in ("float", "double", "half", "bfloat16"):
        return owner.like(owner.a.astype(float))
    if name.startswith("new_") and name[4:] in _MADE:
        return _created(net, name[4:], given, named)
    if name in ("fill_", "zero_"):
        owner.a[...] = array(given[0]) if given else 0
        return owner
    if name == "copy_":
        owner.a[...] = given[0].a
        return owner
    if name in ("normal_", "uniform_", "trunc_normal_"):
        return owner
    if name == "split_with_sizes":
        name = "split"
    if name == "is_contiguous":
        return True
    return _function(name, owner, given, named)


def _function(name: str, x: Tensor, given: list[Any], named: Names) -> Any:
    if name.startswith(("dropout", "alpha_dropout", "feature_dropout")):
        return x
    found = re.match(r"(max|avg)_pool([123])d$", name)
    if found:
        return pooled({"avg": "mean"}.get(found[1], "max"), int(found[2]), x, *given, **_less(named))
    found = re.match(r"adaptive_(max|avg)_pool([123])d$", name)
    if found:
        return adaptive({"avg": "mean"}.get(found[1], "max"), int(found[2]), x, *given, **_less(named))
    if not (
        name in FUNCTIONS
        or name in ONE
        or name in TWO
        or name in REDUCED
        or name in SAME
        or name.endswith("_")
    ):
        raise Unfit
    return of_tensor(name, x, given, named)


def _less(named: Names) -> Names:
    return {{"output_size": "size", "kernel_size": "size"}.get(k, k): v for k, v in named.items()}


def _cast(owner: Tensor, given: Sequence[Any], named: Names) -> Tensor:
    kinds = [g.last if isinstance(g, Dotted) else g for g in (*given, *named.values())]
    for kind in kinds:
        if isinstance(kind, Tensor):
            return owner.like(
                owner.a.astype(kind.a.dtype if kind.a.dtype.kind != owner.a.dtype.kind else owner.a.dtype)
            )
        if isinstance(kind, str) and re.search(r"int|long", kind):
            return owner.like(owner.a.astype(int))
        if isinstance(kind, str) and "bool" in kind:
            return owner.like(owner.a.astype(bool))
        if isinstance(kind, str) and re.search(r"float|half|double", kind):
            return owner.like(owner.a.astype(float))
    return owner


_MADE = frozenset(
    [
        "Tensor",
        "to_tensor",
        "zeros",
        "ones",
        "full",
        "empty",
        "rand",
        "randn",
        "eye",
        "arange",
        "linspace",
        "tensor",
        "as_tensor",
        "from_numpy",
        "array",
        "asarray",
        "zeros_like",
        "ones_like",
        "full_like",
        "empty_like",
        "rand_like",
        "randn_like",
        "randint",
        "FloatTensor",
        "LongTensor",
        "scalar_tensor",
    ]
)


_OF_NUMBERS = frozenset(
    (
        "tensor",
        "as_tensor",
        "from_numpy",
        "array",
        "asarray",
        "FloatTensor",
        "LongTensor",
        "scalar_tensor",
        "Tensor",
        "to_tensor",
    )
)


def _created(net: Network, name: str, given: list[Any], named: Names) -> Tensor:
    """A tensor of numbers that are written out, counted or drawn."""
    kind = named.get("dtype")
    kind = kind.last if isinstance(kind, Dotted) else kind if isinstance(kind, str) else ""
    if name.endswith("_like"):
        given, name = [given[0].a.shape, *given[1:]], name[:-5]
    if name in _OF_NUMBERS:
        held = _numbers(given[0])
    elif name in ("arange", "linspace", "eye"):
        held = _counted(net, name, given, named)
    else:
        held = _of_shape(net, name, given, named, plain=not kind)
    if kind:
        held = held.astype(bool if "bool" in kind else int if _WHOLE.search(kind) else float)
    return net.tensor(held)


def _counted(net: Network, name: str, given: list[Any], named: Names) -> np.ndarray:
    if name == "arange":
        ends = [named[k] for k in ("start", "end", "step") if k in named]
        ends = [int(e) if isinstance(e, Tensor) else e for e in (*given, *ends)]
        if not ends or max(abs(float(e)) for e in ends) > _LONGEST:
            raise Unfit
        return np.arange(*ends)
    if name == "eye":
        net.room_left.take(int(given[0]) ** 2)
        return np.eye(int(given[0]))
    count = min(int(named.get("steps", (*given, 100)[2])), _LONGEST)
    return np.linspace(float(given[0]), float(given[1]), count)


def _of_shape(net: Network, name: str, given: list[Any], named: Names, *, plain: bool) -> np.ndarray:
    fill = named.get("fill_value", given[-1] if name == "full" and given else None)
    if name == "full" and "fill_value" not in named:
        given = given[:-1]
    if name == "randint":
        given = [next(g for g in given if isinstance(g, (tuple, list)))]
    sizes = [named["size"]] if "size" in named else [g for g in given if not isinstance(g, Dotted)]
    shape = sizes_of(sizes or [()])
    if any(s < 0 for s in shape):
        raise Unfit
    net.room_left.take(math.prod(shape))
    if name == "rand":
        return net.chance.random(shape)
    if name == "full":
        return np.full(shape, array(fill))
    if name in ("ones", "randint"):
        return np.ones(shape) if name == "ones" else np.zeros(shape, int)
    if net.making and plain and shape:
        # a parameter, or what one is made of: zeros would hide what comes behind them
        drawn = np.random.default_rng([net.seed, 9, math.prod(shape)])
        return drawn.normal(0, 1 / math.sqrt(max(shape[-1], 1)), shape)
    return net.chance.normal(size=shape) if name == "randn" else np.zeros(shape)


def _numbers(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        if len(value) > 10_000:
            raise Unfit
        return np.array([_numbers(v) for v in value])
    return array(value)


# ------------------------------------------------------------------------------------------ special functions


def _where(net: Network, test: Any, *both: Any) -> Any:
    if len(both) != 2:
        raise Unfit
    return net.tensor(np.where(array(test), array(both[0]), array(both[1])))


def _joined(name: str) -> Callable[..., Any]:
    def join(net: Network, parts: Any = None, dim: int = 0, **named: Any) -> Tensor:
        parts = named.get("tensors", parts)
        return joined(net.room_left, name, list(net.items(parts)), int(named.get("axis", dim)))

    return join


def _layer_norm(_net: Network, x: Tensor, *given: Any, **named: Any) -> Tensor:
    shape = named.get("normalized_shape", given[0] if given else None)
    w, b = (named.get(n, given[i] if len(given) > i else None) for i, n in ((1, "weight"), (2, "bias")))
    return layer_norm(x, shape, w, b)


def _packed(_net: Network, x: Tensor, lengths: Any, batch_first: bool = False, **_: Any) -> Any:
    x.room.packed = True
    return Packed(x, lengths, batch_first)


def _unpacked(_net: Network, x: Packed, *_: Any, **__: Any) -> Any:
    return x.held, x.lengths


def _grid(net: Network, *parts: Any, indexing: str = "ij", **_: Any) -> Any:
    held = parts[0] if len(parts) == 1 and isinstance(parts[0], (list, tuple)) else parts
    way: Any = indexing
    return tuple(net.tensor(g) for g in np.meshgrid(*[array(h) for h in held], indexing=way))


def _scored(net: Network, said: Tensor, *_: Any, **__: Any) -> Tensor:
    """A loss inside of a network: what it is given counts, not what it comes to."""
    net.scored.append(said)
    return net.tensor(np.float64(1.0))


_INSIDE = [
    "cross_entropy",
    "binary_cross_entropy_with_logits",
    "binary_cross_entropy",
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "nll_loss",
    "huber_loss",
]


def _outer(net: Network, a: Tensor, b: Tensor) -> Tensor:
    return net.tensor(np.outer(a.a, b.a))


SPECIAL: dict[str, Callable[..., Any]] = {
    "where": _where,
    "cat": _joined("cat"),
    "concat": _joined("cat"),
    "concatenate": _joined("cat"),
    "stack": _joined("stack"),
    "einsum": lambda net, how, *parts: einsum(net.room_left, how, *parts),
    "linear": lambda _net, x, w, b=None: linear(x, w, b),
    "embedding": lambda _net, x, w, *_, **__: embedding(x, w),
    "layer_norm": _layer_norm,
    "scaled_dot_product_attention": lambda _net, *given, **named: attention(*given, **named),
    "interpolate": lambda _net, x, *given, **named: enlarged(x, *given, **named),
    "upsample": lambda _net, x, *given, **named: enlarged(x, *given, **named),
    "pixel_shuffle": lambda _net, x, factor: shuffled(x, factor),
    **{f"conv{n}d": (lambda _net, *given, **named: conv(*given, **named)) for n in (1, 2, 3)},
    **{f"conv_transpose{n}d": (lambda _net, *given, **named: conv_back(*given, **named)) for n in (1, 2, 3)},
    "pack_padded_sequence": _packed,
    "pad_packed_sequence": _unpacked,
    "meshgrid": _grid,
    "generate_square_subsequent_mask": lambda net, n, *_, **__: net.tensor(
        np.where(np.triu(np.ones((int(n), int(n))), 1) > 0, -np.inf, 0.0)
    ),
    **dict.fromkeys(_INSIDE, _scored),
    "outer": _outer,
    "ger": _outer,
}


# ------------------------------------------------------------------------------------------------- holders


def _chain(_net: Network, *parts: Any) -> Any:
    if len(parts) == 1 and isinstance(parts[0], dict):
        made = Chain(parts[0].values())
        made.names = {str(k): i for i, k in enumerate(parts[0])}
        return made
    return Chain(parts)


def _listed(net: Network, parts: Any = ()) -> Any:
    return Listed(net.items(parts))


def _mapped(_net: Network, parts: Any = None) -> Any:
    return Mapped(parts or {})


HOLDERS: dict[str, Callable[..., Any]] = {
    "Sequential": _chain,
    "ModuleList": _listed,
    "ParameterList": _listed,
    "ModuleDict": _mapped,
}


def _step(_net: Network, step: Callable[..., Any]) -> Any:
    return Layer("step", [], {}, step)


def _partial(net: Network, function: Any, *first: Any, **known: Any) -> Any:
    return Layer("partial", [], {}, lambda *g, **n: net.apply(function, [*first, *g], {**known, **n}))


def _copied(net: Network, value: Any) -> Any:
    """Another one of the same kind, with weights of its own."""
    if isinstance(value, Layer):
        return net.maker.make(value.name, value.given, value.named)
    raise Unfit

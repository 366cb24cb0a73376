"""PyTorch's layers, worked out: each is a function of what it is given, with weights that are drawn."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..by_hand.sizes import TooLong, Unfit
from .functions import ONE, of_tensor
from .tensors import Array, Mismatch, Room, Tensor, matmul

_WEIGHTS = 30_000_000  # of one network
_DRAWN = 100_003  # of one weight; a prime, so that rows are unlike


Step = Callable[..., Any]
Make = Callable[["Maker", "Layer"], Step]
KINDS: dict[str, Make] = {}


def kind(*names: str) -> Callable[[Make], Make]:
    """Say how the layers of these names are made."""

    def put(make: Make) -> Make:
        KINDS.update(dict.fromkeys(names, make))
        return make

    return put


def reads(step: Callable[[Layer, Tensor], Any], *names: str) -> None:
    """Layers without weights, each a function of what it was made with and of a tensor."""

    def make(_maker: Maker, layer: Layer) -> Step:
        return lambda x: step(layer, x)

    kind(*names)(make)


@dataclass(eq=False)
class Layer:
    """A layer of the library: its name, what it was made with, its weights, and its children in a row."""

    name: str
    given: list[Any]
    named: dict[str, Any]
    step: Callable[..., Any] | None = None
    weights: dict[str, Tensor] = field(default_factory=dict)
    children: dict[str, Any] = field(default_factory=dict)

    def option(self, place: int, name: str, default: Any = None) -> Any:
        """An argument that it was made with."""
        return self.named.get(name, self.given[place] if len(self.given) > place else default)


class Maker:
    """Makes layers. Weights of one shape are drawn one after the other, whatever is made between them."""

    def __init__(self, room: Room, seed: int = 0) -> None:
        self.room, self.seed = room, seed
        self.held = 0
        self.drawn: Counter[tuple[int, ...]] = Counter()

    def weight(self, layer: Layer, name: str, *shape: int, fan: int = 0) -> Tensor:
        """A weight of a layer, drawn wide enough that nothing vanishes behind many layers."""
        return self._put(layer, name, shape, 0.0, 1.5 / math.sqrt(max(fan or (shape[-1] if shape else 1), 1)))

    def shift(self, layer: Layer, *shape: int) -> Tensor:
        """The bias of a layer."""
        return self._put(layer, "bias", shape, 0.0, 0.1)

    def scale(self, layer: Layer, *shape: int) -> Tensor:
        """The weight of a norm."""
        return self._put(layer, "weight", shape, 1.0, 0.1)

    def _put(self, layer: Layer, name: str, shape: Sequence[Any], centre: float, spread: float) -> Tensor:
        made = Tensor.__new__(Tensor)  # weights take none of the room that a question has
        made.a, made.room = self.numbers(whole(shape), centre, spread), self.room
        layer.weights[name] = made
        return made

    def numbers(self, shape: tuple[int, ...], centre: float, spread: float) -> Array:
        """Drawn numbers; of many, as many as there is room for, over and over.

        Raises TooLong.
        """
        count = math.prod(shape)
        self.held += count
        if self.held > _WEIGHTS:
            raise TooLong
        self.drawn[shape] += 1
        draw = np.random.default_rng([self.seed, self.drawn[shape], *shape])
        if count <= _DRAWN:
            return draw.normal(centre, spread, shape)
        return np.resize(draw.normal(centre, spread, _DRAWN).astype(np.float32), shape)

    def make(self, name: str, given: list[Any], named: dict[str, Any]) -> Layer:
        """A layer by its name. Raises Unfit where it is not known."""
        layer = Layer(name, given, named)
        if name in ACTIVATIONS:
            layer.step = _activation(layer)
        elif name in KINDS:
            layer.step = KINDS[name](self, layer)
        else:
            raise Unfit
        return layer


def whole(shape: Sequence[Any]) -> tuple[int, ...]:
    """Sizes of a weight. Raises Unfit where one is none."""
    if not all(isinstance(s, (int, np.integer)) and s > 0 for s in shape):
        raise Unfit
    return tuple(int(s) for s in shape)


_BY_NAME = ("ReLU", "ReLU6", "GELU", "SiLU", "Mish", "ELU", "CELU", "SELU", "Sigmoid", "Tanh", "Hardtanh")
_MORE = ("Hardswish", "Hardsigmoid", "Softplus", "Softsign", "LogSigmoid")
ACTIVATIONS = {"LeakyReLU": "leaky_relu", **{name: name.lower() for name in (*_BY_NAME, *_MORE)}}


def _activation(layer: Layer) -> Callable[..., Any]:
    name = ACTIVATIONS[layer.name]
    slope = layer.option(0, "negative_slope") if name == "leaky_relu" else None
    if isinstance(slope, (int, float)) and not isinstance(slope, bool):
        return lambda x: x.like(np.where(x.a > 0, x.a, slope * x.a))
    return lambda x: x.like(ONE[name](x.a.astype(float)))


@kind(
    "Identity",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "AlphaDropout",
    "DropPath",
    "StochasticDepth",
)
def _same(_maker: Maker, _layer: Layer) -> Callable[..., Any]:
    return lambda x, *_: x


@kind("Linear")
def _linear(maker: Maker, layer: Layer) -> Callable[..., Any]:
    inside, outside = layer.option(0, "in_features"), layer.option(1, "out_features")
    maker.weight(layer, "weight", outside, inside)
    if layer.option(2, "bias", True):
        maker.shift(layer, outside)
    return lambda x: linear(x, layer.weights["weight"], layer.weights.get("bias"))


def linear(x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
    """`F.linear`."""
    if x.a.ndim == 0 or x.a.dtype.kind not in "f":
        raise Unfit
    if x.a.shape[-1] != w.a.shape[1]:
        raise Mismatch(w.a.shape[1] / max(x.a.shape[-1], 1))
    made = matmul(x, x.like(w.a.T))
    return made if b is None else made.with_(b, np.add)


@kind("Bilinear")
def _bilinear(maker: Maker, layer: Layer) -> Callable[..., Any]:
    a, b, c = (layer.option(i, n) for i, n in enumerate(("in1_features", "in2_features", "out_features")))
    w = maker.weight(layer, "weight", c, a, b)

    def step(x: Tensor, y: Tensor) -> Tensor:
        made = matmul(
            x.like(np.expand_dims(x.a, -2)), x.like(w.a.reshape(c, a, b).transpose(1, 0, 2).reshape(a, -1))
        )
        wide = made.a.reshape(*x.a.shape[:-1], c, b)
        return x.like((wide * y.a[..., None, :]).sum(-1))

    return step


@kind("Embedding")
def _embedding(maker: Maker, layer: Layer) -> Callable[..., Any]:
    count, width = layer.option(0, "num_embeddings"), layer.option(1, "embedding_dim")
    w = maker.weight(layer, "weight", count, width, fan=1)
    if isinstance(at := layer.option(2, "padding_idx"), int):
        w.a[at] = 0.0
    return lambda x: embedding(x, layer.weights["weight"])


def embedding(x: Tensor, w: Tensor, *_: Any, **__: Any) -> Tensor:
    """`F.embedding`."""
    if x.a.dtype.kind not in "iu" or (x.a < 0).any() or (x.a >= len(w.a)).any():
        raise Unfit
    x.room.take(x.a.size * w.a.shape[1])
    return x.like(w.a[x.a])


@kind("EmbeddingBag")
def _bag(maker: Maker, layer: Layer) -> Callable[..., Any]:
    count, width = layer.option(0, "num_embeddings"), layer.option(1, "embedding_dim")
    w, mode = maker.weight(layer, "weight", count, width, fan=1), layer.named.get("mode", "mean")

    def step(x: Tensor, *more: Any) -> Tensor:
        if more or x.a.ndim != 2 or mode not in ("sum", "mean"):
            raise Unfit
        held = embedding(x, w).a
        return x.like(held.sum(1) if mode == "sum" else held.mean(1))

    return step


@kind(*(f"BatchNorm{n}d" for n in (1, 2, 3)), "SyncBatchNorm")
def _batch_norm(maker: Maker, layer: Layer) -> Callable[..., Any]:
    count = layer.option(0, "num_features")
    affine = layer.option(3, "affine", True)
    w = maker.scale(layer, count) if affine else None
    b = maker.shift(layer, count) if affine else None
    tracked = layer.option(4, "track_running_stats", True)

    def step(x: Tensor) -> Tensor:
        if x.a.ndim < 2 or x.a.shape[1] != count or not tracked:
            raise Unfit
        shape = (1, -1, *[1] * (x.a.ndim - 2))
        held = x.a * 0.7 if w is None else x.a * 0.7 * w.a.reshape(shape)  # its statistics stay as they are
        return x.like(held if b is None else held + b.a.reshape(shape))

    return step


def standardised(x: Array, axes: tuple[int, ...], eps: float = 1e-5) -> Array:
    """Less the mean, by the deviation."""
    return np.asarray((x - x.mean(axis=axes, keepdims=True)) / np.sqrt(x.var(axis=axes, keepdims=True) + eps))


@kind("LayerNorm")
def _layer_norm(maker: Maker, layer: Layer) -> Callable[..., Any]:
    shape = layer.option(0, "normalized_shape")
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    w = maker.scale(layer, *sizes)
    b = maker.shift(layer, *sizes)
    return lambda x: layer_norm(x, sizes, w, b)


def layer_norm(x: Tensor, shape: Any, w: Any = None, b: Any = None, eps: float = 1e-5) -> Tensor:
    """`F.layer_norm`."""
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if x.a.shape[-len(sizes) :] != sizes:
        raise Unfit
    held = standardised(x.a, tuple(range(-len(sizes), 0)), eps)
    held = held if w is None else held * w.a
    return x.like(held if b is None else held + b.a)


@kind("RMSNorm")
def _rms_norm(maker: Maker, layer: Layer) -> Callable[..., Any]:
    shape = layer.option(0, "normalized_shape")
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    w = maker.scale(layer, *sizes)
    over = tuple(range(-len(sizes), 0))
    return lambda x: x.like(x.a / np.sqrt((x.a**2).mean(axis=over, keepdims=True) + 1e-7) * w.a)


@kind("GroupNorm")
def _group_norm(maker: Maker, layer: Layer) -> Callable[..., Any]:
    groups, count = layer.option(0, "num_groups"), layer.option(1, "num_channels")
    return _channels(maker, layer, groups, count)


@kind(*(f"InstanceNorm{n}d" for n in (1, 2, 3)))
def _instance_norm(maker: Maker, layer: Layer) -> Callable[..., Any]:
    count = layer.option(0, "num_features")
    return _channels(maker, layer, count, count)


def _channels(maker: Maker, layer: Layer, groups: int, count: int) -> Callable[..., Any]:
    w, b = maker.scale(layer, count), maker.shift(layer, count)

    def step(x: Tensor) -> Tensor:
        if x.a.ndim < 2 or x.a.shape[1] != count:
            raise Unfit
        held = x.a.reshape(len(x.a), groups, -1)
        shape = (1, -1, *[1] * (x.a.ndim - 2))
        made = standardised(held, (2,)).reshape(x.a.shape)
        return x.like(made * w.a.reshape(shape) + b.a.reshape(shape))

    return step


reads(lambda layer, x: of_tensor("softmax", x, [layer.option(0, "dim")], {}), "Softmax")
reads(lambda layer, x: of_tensor("log_softmax", x, [layer.option(0, "dim")], {}), "LogSoftmax")
reads(lambda layer, x: of_tensor("glu", x, [layer.option(0, "dim", -1)], {}), "GLU")
reads(lambda _layer, x: x.like(np.where(x.a > 0, x.a, 0.25 * x.a)), "PReLU")
reads(
    lambda layer, x: of_tensor(
        "flatten", x, [layer.option(0, "start_dim", 1), layer.option(1, "end_dim", -1)], {}
    ),
    "Flatten",
)
reads(
    lambda layer, x: of_tensor(
        "unflatten", x, [layer.option(0, "dim"), layer.option(1, "unflattened_size")], {}
    ),
    "Unflatten",
)


@kind("CosineSimilarity")
def _cosine(_maker: Maker, layer: Layer) -> Step:
    return lambda a, b: of_tensor("cosine_similarity", a, [b, layer.option(0, "dim", 1)], {})

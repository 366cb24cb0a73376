"""Convolutions, pooling, padding and enlarging, worked out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..by_hand.sizes import Unfit
from .functions import padded
from .layers import KINDS, Layer, Maker, reads
from .tensors import Array, Tensor


def each(value: Any, axes: int) -> tuple[int, ...]:
    """A size for each axis. Raises Unfit where there are more or fewer."""
    held = tuple(value) if isinstance(value, (tuple, list)) else (value,) * axes
    if len(held) != axes or not all(isinstance(h, (int, np.integer)) for h in held):
        raise Unfit
    return tuple(int(h) for h in held)


def windows(x: Array, size: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]) -> Array:
    """Windows over the last axes: (..., places, sizes)."""
    axes = len(size)
    span = tuple(d * (s - 1) + 1 for s, d in zip(size, dilation, strict=True))
    if any(s > n for s, n in zip(span, x.shape[-axes:], strict=True)):
        raise Unfit
    made = np.lib.stride_tricks.sliding_window_view(x, span, axis=tuple(range(x.ndim - axes, x.ndim)))
    places = tuple(slice(None, None, s) for s in stride)
    inside = tuple(slice(None, None, d) for d in dilation)
    at: Any = (..., *places, *inside)
    return np.asarray(made[at])


def conv(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    mode: str = "constant",
) -> Tensor:
    """`F.conv1d` and its sisters, by the axes of the weight."""
    axes = w.a.ndim - 2
    if x.a.dtype.kind != "f" or x.a.ndim not in (axes + 1, axes + 2):
        raise Unfit
    if x.a.ndim == axes + 1:
        made = conv(x.like(x.a[None]), w, b, stride, padding, dilation, groups, mode)
        return x.like(made.a[0])
    steps, wide = each(stride, axes), each(dilation, axes)
    size = w.a.shape[2:]
    if padding == "same":
        total = [d * (s - 1) for s, d in zip(size, wide, strict=True)]
        sides = [(t // 2, t - t // 2) for t in total]
    else:
        sides = [(p, p) for p in each(0 if padding == "valid" else padding, axes)]
    flat = [p for side in reversed(sides) for p in side]
    held = padded(x, flat, mode) if any(flat) else x
    if held.a.shape[1] != w.a.shape[1] * groups or w.a.shape[0] % groups:
        raise Unfit
    seen = windows(held.a, size, steps, wide)
    batch, inside, places = seen.shape[0], w.a.shape[1], seen.shape[2 : 2 + axes]
    x.room.take(seen.size / max(1, 1), batch * math.prod(places) * w.a.size)
    seen = seen.reshape(batch, groups, inside, *places, *size)
    kernel = w.a.reshape(groups, -1, inside, *size)
    at = "xyz"[:axes]
    to = "uvw"[:axes]
    made = np.einsum(f"bgi{at}{to},goi{to}->bgo{at}", seen, kernel, optimize=True)
    out = made.reshape(batch, w.a.shape[0], *places)
    return x.like(out if b is None else out + b.a.reshape(-1, *[1] * axes))


def _conv(axes: int) -> Callable[[Maker, Layer], Callable[..., Any]]:
    def make(maker: Maker, layer: Layer) -> Callable[..., Any]:
        inside, outside = layer.option(0, "in_channels"), layer.option(1, "out_channels")
        size = each(layer.option(2, "kernel_size"), axes)
        groups = layer.option(6, "groups", 1)
        w = maker.weight(
            layer, "weight", outside, inside // groups, *size, fan=inside // groups * math.prod(size)
        )
        b = maker.shift(layer, outside) if layer.option(7, "bias", True) else None
        mode = {"zeros": "constant"}.get(m := layer.option(8, "padding_mode", "zeros"), m)
        rest = (layer.option(3, "stride", 1), layer.option(4, "padding", 0), layer.option(5, "dilation", 1))
        return lambda x: conv(x, w, b, *rest, groups, mode)

    return make


def conv_back(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """`F.conv_transpose2d` and its sisters: a convolution of what is spread with zeros between."""
    axes = w.a.ndim - 2
    if groups != 1 or x.a.ndim != axes + 2 or x.a.dtype.kind != "f":
        raise Unfit
    steps, pads, more = each(stride, axes), each(padding, axes), each(output_padding, axes)
    wide, size = each(dilation, axes), w.a.shape[2:]
    spread = [(n - 1) * s + 1 for n, s in zip(x.a.shape[2:], steps, strict=True)]
    x.room.take(math.prod((*x.a.shape[:2], *spread)))
    held = np.zeros((*x.a.shape[:2], *spread))
    held[(slice(None), slice(None), *(slice(None, None, s) for s in steps))] = x.a
    flat = []
    for s, p, m, d in reversed(list(zip(size, pads, more, wide, strict=True))):
        flat += [d * (s - 1) - p, d * (s - 1) - p + m]
    turned = np.flip(w.a, axis=tuple(range(2, 2 + axes))).swapaxes(0, 1)
    return conv(padded(x.like(held), flat), x.like(turned), b, 1, 0, dilation)


def _conv_back(axes: int) -> Callable[[Maker, Layer], Callable[..., Any]]:
    def make(maker: Maker, layer: Layer) -> Callable[..., Any]:
        inside, outside = layer.option(0, "in_channels"), layer.option(1, "out_channels")
        size = each(layer.option(2, "kernel_size"), axes)
        w = maker.weight(layer, "weight", inside, outside, *size, fan=inside * math.prod(size))
        b = maker.shift(layer, outside) if layer.option(7, "bias", True) else None
        names = (("stride", 1), ("padding", 0), ("output_padding", 0), ("groups", 1))
        rest = {n: layer.option(3 + i, n, d) for i, (n, d) in enumerate(names)}
        return lambda x, **_: conv_back(x, w, b, **rest, dilation=layer.option(8, "dilation", 1))

    return make


def pooled(
    name: str, axes: int, x: Tensor, size: Any, stride: Any = None, padding: Any = 0, **_: Any
) -> Tensor:
    """`F.max_pool2d` and its sisters."""
    if x.a.dtype.kind != "f":
        raise Unfit
    by, pads = each(size, axes), each(padding, axes)
    steps = by if stride is None else each(stride, axes)
    flat = [p for pad in reversed(pads) for p in (pad, pad)]
    low = -np.inf if name == "max" else 0.0
    held = padded(x, flat, "constant", low) if any(flat) else x
    seen = windows(held.a, by, steps, (1,) * axes)
    x.room.take(seen.size)
    over = tuple(range(-axes, 0))
    return x.like(seen.max(axis=over) if name == "max" else seen.mean(axis=over))


def _pool(name: str, axes: int) -> Callable[[Maker, Layer], Callable[..., Any]]:
    def make(_maker: Maker, layer: Layer) -> Callable[..., Any]:
        if layer.named.get("ceil_mode"):
            raise Unfit
        size, stride = layer.option(0, "kernel_size"), layer.option(1, "stride")
        return lambda x: pooled(name, axes, x, size, stride, layer.option(2, "padding", 0))

    return make


def adaptive(name: str, axes: int, x: Tensor, size: Any) -> Tensor:
    """`F.adaptive_avg_pool2d` and its sisters."""
    wanted = tuple(size) if isinstance(size, (tuple, list)) else (size,) * axes
    held = x.a
    for i, to in enumerate(wanted):
        axis = held.ndim - axes + i
        n = held.shape[axis]
        if to is None or to == n:
            continue
        parts = [
            (np.max if name == "max" else np.mean)(
                np.take(held, range(k * n // to, -(-(k + 1) * n // to)), axis=axis), axis=axis
            )
            for k in range(int(to))
        ]
        held = np.stack(parts, axis=axis)
    return x.like(held)


def _adaptive(name: str, axes: int) -> Callable[[Maker, Layer], Callable[..., Any]]:
    return lambda _maker, layer: lambda x: adaptive(name, axes, x, layer.option(0, "output_size"))


def enlarged(
    x: Tensor, size: Any = None, scale_factor: Any = None, _mode: str = "nearest", **_: Any
) -> Tensor:
    """`F.interpolate`: each new place takes the nearest old one, whatever the mode."""
    axes = x.a.ndim - 2
    if size is None:
        factors = scale_factor if isinstance(scale_factor, (tuple, list)) else (scale_factor,) * axes
        size = [int(n * f) for n, f in zip(x.a.shape[2:], factors, strict=True)]
    to = each(size if not isinstance(size, list) else tuple(size), axes)
    x.room.take(math.prod((*x.a.shape[:2], *to)))
    held = x.a
    for i, t in enumerate(to):
        n = held.shape[2 + i]
        held = np.take(held, [min(int(k * n / t), n - 1) for k in range(t)], axis=2 + i)
    return x.like(held)


def shuffled(x: Tensor, factor: int) -> Tensor:
    """`F.pixel_shuffle`."""
    b, c, h, w = x.a.shape
    held = x.a.reshape(b, c // factor**2, factor, factor, h, w).transpose(0, 1, 4, 2, 5, 3)
    return x.like(held.reshape(b, c // factor**2, h * factor, w * factor))


def _pad_layer(mode: str) -> Callable[[Layer, Tensor], Tensor]:
    def pad(layer: Layer, x: Tensor) -> Tensor:
        axes = int(layer.name[-2])
        by = layer.option(0, "padding")
        sides = by if isinstance(by, (tuple, list)) else (by,) * (2 * axes)
        return padded(x, sides, mode, layer.option(1, "value", 0) if mode == "constant" else 0)

    return pad


_PADS = {"Zero": "constant", "Constant": "constant", "Reflection": "reflect", "Replication": "replicate"}
for _n in (1, 2, 3):
    KINDS[f"Conv{_n}d"] = _conv(_n)
    KINDS[f"ConvTranspose{_n}d"] = _conv_back(_n)
    for _kind, _way in (("Max", "max"), ("Avg", "mean")):
        KINDS[f"{_kind}Pool{_n}d"] = _pool(_way, _n)
        KINDS[f"Adaptive{_kind}Pool{_n}d"] = _adaptive(_way, _n)
    for _kind, _mode in (*_PADS.items(), ("Circular", "circular")):
        reads(_pad_layer(_mode), f"{_kind}Pad{_n}d")
reads(
    lambda layer, x: enlarged(x, layer.option(0, "size"), layer.option(1, "scale_factor")),
    *("Upsample", "UpsamplingNearest2d", "UpsamplingBilinear2d"),
)
reads(lambda layer, x: shuffled(x, int(layer.option(0, "upscale_factor"))), "PixelShuffle")

"""Recurrent layers, worked out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..by_hand.sizes import Unfit
from .functions import sigmoid
from .layers import KINDS, Layer, Maker, whole
from .tensors import Array, Tensor, array


def _recurrent(kind: str) -> Callable[[Maker, Layer], Callable[..., Any]]:
    def make(maker: Maker, layer: Layer) -> Callable[..., Any]:
        inside, width = layer.option(0, "input_size"), layer.option(1, "hidden_size")
        deep, first = layer.option(2, "num_layers", 1), layer.option(4, "batch_first", False)
        ways = 2 if layer.named.get("bidirectional") else 1
        if layer.named.get("proj_size"):
            raise Unfit
        gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
        cells = [
            [_cell(maker, layer, kind, inside if d == 0 else width * ways, width, gates) for _ in range(ways)]
            for d in range(whole((deep,))[0])
        ]

        def step(x: Any, start: Any = None) -> Any:
            if isinstance(x, Packed):
                made, last = step(x.held, start)
                return Packed(made, x.lengths, x.first), last
            if x.a.ndim == 2:
                made, last = step(x.like(x.a[:, None] if not first else x.a[None]), start)
                return x.like(made.a[:, 0] if not first else made.a[0]), last
            held = x.a.swapaxes(0, 1) if first else x.a
            if x.a.dtype.kind != "f" or held.shape[2] != inside:
                raise Unfit
            x.room.take(
                x.a.size, held.shape[0] * held.shape[1] * (inside + width * deep) * width * gates * ways
            )
            begin = _beginning(start, kind, deep * ways, held.shape[1], width)
            ends = []
            for d, both in enumerate(cells):
                sides = []
                for w, cell in enumerate(both):
                    state = [b[d * ways + w] for b in begin]
                    out = []
                    for t in range(len(held)) if w == 0 else range(len(held) - 1, -1, -1):
                        state = cell(held[t], state)
                        out.append(state[0])
                    sides.append(np.stack(out if w == 0 else out[::-1]))
                    ends.append(state)
                held = np.concatenate(sides, axis=-1)
            last = tuple(x.like(np.stack([e[i] for e in ends])) for i in range(len(ends[0])))
            answer = x.like(held.swapaxes(0, 1) if first else held)
            return answer, (last if kind == "LSTM" else last[0])

        return step

    return make


@dataclass(eq=False)
class Packed:
    """Rows of different lengths, packed: they are kept as they are."""

    held: Tensor
    lengths: Any
    first: bool


def _beginning(start: Any, kind: str, count: int, rows: int, width: int) -> list[Array]:
    if start is None:
        return [np.zeros((count, rows, width))] * (2 if kind == "LSTM" else 1)
    held = [array(s) for s in (start if isinstance(start, (tuple, list)) else (start,))]
    if any(h.shape != (count, rows, width) for h in held):
        raise Unfit
    return held


def _cell(
    maker: Maker, layer: Layer, kind: str, inside: int, width: int, gates: int
) -> Callable[[Array, list[Array]], list[Array]]:
    inside, width = whole((inside, width))
    n = len(layer.weights)
    first = maker.weight(layer, f"weight_ih_{n}", inside, gates * width, fan=inside)
    second = maker.weight(layer, f"weight_hh_{n}", width, gates * width, fan=width)

    def step(x: Array, state: list[Array]) -> list[Array]:
        h, w, u = state[0], first.a, second.a
        if kind == "RNN":
            return [np.tanh(x @ w + h @ u)]
        if kind == "LSTM":
            i, f, g, o = np.split(x @ w + h @ u, 4, axis=-1)
            c = sigmoid(f + 1.0) * state[1] + sigmoid(i) * np.tanh(g)
            return [sigmoid(o) * np.tanh(c), c]
        (xr, xz, xn), (hr, hz, hn) = np.split(x @ w, 3, axis=-1), np.split(h @ u, 3, axis=-1)
        z = sigmoid(xz + hz)
        return [(1 - z) * np.tanh(xn + sigmoid(xr + hr) * hn) + z * h]

    return step


def _one_cell(kind: str) -> Callable[[Maker, Layer], Callable[..., Any]]:
    def make(maker: Maker, layer: Layer) -> Callable[..., Any]:
        inside, width = layer.option(0, "input_size"), layer.option(1, "hidden_size")
        cell = _cell(maker, layer, kind, inside, width, {"LSTM": 4, "GRU": 3, "RNN": 1}[kind])

        def step(x: Tensor, start: Any = None) -> Any:
            if x.a.ndim != 2 or x.a.shape[1] != inside:
                raise Unfit
            x.room.take(x.a.size, len(x.a) * (inside + width) * width * 4)
            held = start if isinstance(start, (tuple, list)) else [start]
            state = [np.zeros((len(x.a), width)) if h is None else array(h) for h in held]
            found = cell(x.a, state * 2 if kind == "LSTM" and len(state) == 1 else state)
            made = [x.like(f) for f in found]
            return tuple(made) if kind == "LSTM" else made[0]

        return step

    return make


for _name in ("LSTM", "GRU", "RNN"):
    KINDS[_name], KINDS[f"{_name}Cell"] = _recurrent(_name), _one_cell(_name)

"""Layers against what PyTorch 2.13 makes of the same numbers (`make_golden.py`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from traindoctor.probes.by_hand.sizes import Unfit
from traindoctor.probes.forward import network  # noqa: F401  (all layers are known then)
from traindoctor.probes.forward.layers import Maker
from traindoctor.probes.forward.named_axes import gathered_up, rearranged, spread
from traindoctor.probes.forward.tensors import Room, Tensor

GOLDEN = json.loads((Path(__file__).parent / "golden_layers.json").read_text())


def made(name: str, *given: Any, **named: Any) -> Any:
    return Maker(Room()).make(name, list(given), named).step


def tensor(*shape: int) -> Tensor:
    return Tensor(np.random.default_rng(1).normal(size=shape), Room())


@pytest.mark.parametrize("row", GOLDEN, ids=lambda r: f"{r[0]}-{r[2]}-{r[3]}")
def test_layers_are_those_of_pytorch(row: list[Any]) -> None:
    name, shape, given, named, out_shape, total, few = row
    out = made(name, *given, **named)(tensor(*shape)).a
    flat = out.reshape(-1)
    assert list(out.shape) == out_shape
    assert flat.sum() == pytest.approx(total, rel=1e-5, abs=1e-5)
    assert flat[:: max(len(flat) // 6, 1)][:6].tolist() == pytest.approx(few, rel=1e-5, abs=1e-5)


def test_attention_is_a_mean_of_values_by_the_softmax_of_scores() -> None:
    heads = made("MultiheadAttention", 8, 2, batch_first=True)
    x = tensor(3, 5, 8)
    whole = heads(x, x, x)[0].a
    pads = Tensor(np.array([[False] * 3 + [True] * 2] * 3), Room())
    short = Tensor(x.a[:, :3], Room())
    assert heads(x, x, x, key_padding_mask=pads)[0].a == pytest.approx(heads(x, short, short)[0].a)
    assert whole != pytest.approx(heads(x, x, x, key_padding_mask=pads)[0].a)
    hidden = Tensor(np.triu(np.ones((5, 5), bool), 1), Room())
    first = heads(x, x, x, attn_mask=hidden)[0].a[:, 0]
    one = Tensor(x.a[:, :1], Room())
    assert first == pytest.approx(heads(one, one, one)[0].a[:, 0])


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers_go_along_their_steps(kind: str) -> None:
    x = tensor(3, 5, 4)
    first, time = made(kind, 4, 6, batch_first=True), made(kind, 4, 6)
    out = first(x)[0].a
    assert out == pytest.approx(time(Tensor(x.a.swapaxes(0, 1), Room()))[0].a.swapaxes(0, 1))
    cut = first(Tensor(x.a[:, :3], Room()))[0].a
    assert out[:, :3] == pytest.approx(cut)  # a step does not know what follows
    both = made(kind, 4, 6, num_layers=2, bidirectional=True, batch_first=True)(x)
    assert both[0].a.shape == (3, 5, 12)
    last = both[1][0] if kind == "LSTM" else both[1]
    assert last.a.shape == (4, 3, 6)


def test_layers_refuse_what_does_not_fit() -> None:
    unfit = (("Linear", (6, 7), (3, 5)), ("Conv2d", (4, 6, 3), (3, 5, 9, 9)), ("LSTM", (4, 6), (3, 5, 5)))
    for name, given, shape in unfit:
        with pytest.raises(Unfit):
            made(name, *given)(tensor(*shape))
    with pytest.raises(Unfit):
        made("Embedding", 5, 4)(Tensor(np.array([[5]]), Room()))


def test_axes_by_their_names() -> None:
    x = tensor(2, 12, 3)
    turned = rearranged(x, "b (h w) c -> b c h w", h=4).a
    assert turned == pytest.approx(x.a.transpose(0, 2, 1).reshape(2, 3, 4, 3))
    assert gathered_up(x, "b (h w) c -> b h c", "mean", w=3).a == pytest.approx(
        x.a.reshape(2, 4, 3, 3).mean(2)
    )
    assert spread(Tensor(np.arange(3.0), Room()), "c -> b c", b=2).a.tolist() == [[0, 1, 2], [0, 1, 2]]
    with pytest.raises(Unfit):
        rearranged(x, "b (h w) c -> b c h w", h=5)

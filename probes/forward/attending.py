"""Attention and the layers of transformers, worked out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..by_hand.sizes import Unfit
from .functions import softmax
from .layers import KINDS, Layer, Maker, kind, linear, standardised
from .tensors import Tensor, array, matmul


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    attn_mask: Any = None,
    _dropout: Any = 0.0,
    is_causal: bool = False,
    scale: Any = None,
    **_: Any,
) -> Tensor:
    """`F.scaled_dot_product_attention`."""
    q.room.attended = True
    scores = matmul(q, k.like(k.a.swapaxes(-1, -2))).a * (scale or 1 / math.sqrt(q.a.shape[-1]))
    if is_causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    if attn_mask is not None:
        mask = array(attn_mask)
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    return matmul(q.like(softmax(scores, -1)), v)


class Heads:
    """Attention of several heads, as the library's layer has it, batch first inside."""

    def __init__(self, maker: Maker, layer: Layer, width: int, heads: int, first: bool) -> None:
        if not isinstance(width, int) or not isinstance(heads, int) or width % heads:
            raise Unfit
        self.width, self.heads, self.first = width, heads, first
        n = len(layer.weights)
        self.w = [maker.weight(layer, f"{part}_{n}", width, width) for part in ("q", "k", "v", "out_proj")]

    def ask(
        self, q: Tensor, k: Tensor, v: Tensor, hidden: Any = None, pads: Any = None, causal: Any = False
    ) -> Tensor:
        """What it answers; `hidden` and `pads` are true (or minus infinity) where nothing is seen."""
        if q.a.ndim != 3 or k.a.ndim != 3:
            raise Unfit
        parts = [p if self.first else p.like(p.a.swapaxes(0, 1)) for p in (q, k, v)]
        if len({len(p.a) for p in parts}) != 1:
            raise Unfit
        made = [linear(p, w).a for p, w in zip(parts, self.w, strict=False)]
        split = [m.reshape(*m.shape[:2], self.heads, -1).swapaxes(1, 2) for m in made]
        mask = None
        rows, long, other = len(split[0]), split[0].shape[2], split[1].shape[2]
        if hidden is not None:
            mask = array(hidden)
            mask = np.where(mask, -np.inf, 0.0) if mask.dtype == bool else mask
            mask = mask.reshape(rows, -1, long, other) if mask.ndim == 3 else mask
            if mask.shape[-2:] != (long, other):
                raise Unfit
        elif causal is True:
            mask = np.where(np.tril(np.ones((long, other), bool)), 0.0, -np.inf)
        if pads is not None:
            held = array(pads)
            if held.shape != (rows, other):
                raise Unfit
            held = np.where(held, -np.inf, 0.0) if held.dtype == bool else held
            mask = held[:, None, None] if mask is None else mask + held[:, None, None]
        a, b, c = (q.like(s) for s in split)
        out = attention(a, b, c, None if mask is None else q.like(mask)).a
        answer = linear(q.like(out.swapaxes(1, 2).reshape(rows, long, -1)), self.w[3])
        return answer if self.first else answer.like(answer.a.swapaxes(0, 1))


@kind("MultiheadAttention")
def _heads(maker: Maker, layer: Layer) -> Callable[..., Any]:
    width, heads = layer.option(0, "embed_dim"), layer.option(1, "num_heads")
    if any(layer.named.get(n) not in (None, width) for n in ("kdim", "vdim")):
        raise Unfit
    held = Heads(maker, layer, width, heads, bool(layer.named.get("batch_first")))

    def step(q: Tensor, k: Tensor, v: Tensor, *more: Any, **named: Any) -> Any:
        pads = named.get("key_padding_mask", more[0] if more else None)
        hidden = named.get("attn_mask", more[2] if len(more) > 2 else None)
        return held.ask(q, k, v, hidden, pads), None

    return step


def _normed(x: Tensor) -> Tensor:
    return x.like(standardised(x.a, (-1,)))


class Block:
    """`TransformerEncoderLayer`, `TransformerDecoderLayer`."""

    def __init__(self, maker: Maker, layer: Layer, decodes: bool) -> None:
        width, heads = layer.option(0, "d_model"), layer.option(1, "nhead")
        inner = layer.option(2, "dim_feedforward", 2048)
        inner = min(inner, 128) if isinstance(inner, int) else inner  # how wide it is inside changes nothing
        first = layer.named.get("batch_first", layer.given[6] if len(layer.given) > 6 else False)
        self.before = bool(layer.named.get("norm_first"))
        self.mine = Heads(maker, layer, width, heads, bool(first))
        self.theirs = Heads(maker, layer, width, heads, bool(first)) if decodes else None
        self.up, self.down = (
            maker.weight(layer, f"up_{len(layer.weights)}", inner, width),
            maker.weight(layer, f"down_{len(layer.weights)}", width, inner),
        )

    def ask(
        self, x: Tensor, memory: Any = None, *, hidden: Any, pads: Any, causal: Any, other: Any, theirs: Any
    ) -> Tensor:
        """One layer; `other` and `theirs` are the masks of what it looks at besides."""
        steps: list[Callable[[Tensor], Tensor]] = [lambda t: self.mine.ask(t, t, t, hidden, pads, causal)]
        if self.theirs is not None:
            both = self.theirs
            steps.append(lambda t: both.ask(t, memory, memory, other, theirs))
        steps.append(lambda t: linear(t.like(np.maximum(linear(t, self.up).a, 0)), self.down))
        for step in steps:
            x = x.with_(step(_normed(x)), np.add) if self.before else _normed(x.with_(step(x), np.add))
        return x


def _block(decodes: bool, count: int | None = 1) -> Callable[[Maker, Layer], Callable[..., Any]]:
    def make(maker: Maker, layer: Layer) -> Callable[..., Any]:
        inner, times = layer, 1
        if count is None:
            inner = layer.option(0, "decoder_layer" if decodes else "encoder_layer")
            times = layer.option(1, "num_layers")
            if not isinstance(inner, Layer) or not isinstance(times, int) or not 0 < times <= 48:
                raise Unfit
        blocks = [Block(maker, inner, decodes) for _ in range(times)]
        if inner is not layer:
            layer.weights, inner.weights = inner.weights, {}  # the layers of a stack are copies

        def step(x: Tensor, *more: Any, **named: Any) -> Tensor:
            if decodes:
                memory, *rest = more or (named.get("memory"),)
                hidden, other = (
                    named.get(n, rest[i] if len(rest) > i else None)
                    for i, n in enumerate(("tgt_mask", "memory_mask"))
                )
                pads, theirs = (
                    named.get(n, rest[i + 2] if len(rest) > i + 2 else None)
                    for i, n in enumerate(("tgt_key_padding_mask", "memory_key_padding_mask"))
                )
                for one in blocks:
                    x = one.ask(
                        x,
                        memory,
                        hidden=hidden,
                        pads=pads,
                        causal=named.get("tgt_is_causal"),
                        other=other,
                        theirs=theirs,
                    )
                return x
            hidden = named.get("mask", named.get("src_mask", more[0] if more else None))
            pads = named.get("src_key_padding_mask", more[1] if len(more) > 1 else None)
            for one in blocks:
                x = one.ask(
                    x, hidden=hidden, pads=pads, causal=named.get("is_causal"), other=None, theirs=None
                )
            return x

        return step

    return make


@kind("Transformer")
def _transformer(maker: Maker, layer: Layer) -> Callable[..., Any]:
    names = ("d_model", "nhead", "num_encoder_layers", "num_decoder_layers", "dim_feedforward")
    width, heads, before, behind, inner = (
        layer.option(i, n, d) for i, (n, d) in enumerate(zip(names, (512, 8, 6, 6, 2048), strict=True))
    )
    if not all(isinstance(n, int) and 0 < n <= 24 for n in (before, behind)):
        raise Unfit
    first = {k: layer.named.get(k, False) for k in ("batch_first", "norm_first")}
    encoder = _block(False, None)(maker, Layer("", [Layer("", [width, heads, inner], first), before], {}))
    decoder = _block(True, None)(maker, Layer("", [Layer("", [width, heads, inner], first), behind], {}))
    layer.children["encoder"] = Layer("TransformerEncoder", [], {}, encoder)
    layer.children["decoder"] = Layer("TransformerDecoder", [], {}, decoder)

    def step(src: Tensor, tgt: Tensor, *more: Any, **named: Any) -> Tensor:
        order = (
            "src_mask",
            "tgt_mask",
            "memory_mask",
            "src_key_padding_mask",
            "tgt_key_padding_mask",
            "memory_key_padding_mask",
        )
        masks = {n: named.get(n, more[i] if len(more) > i else None) for i, n in enumerate(order)}
        memory = encoder(
            src, masks["src_mask"], masks["src_key_padding_mask"], is_causal=named.get("src_is_causal")
        )
        rest = {
            n: masks[n]
            for n in ("tgt_mask", "memory_mask", "tgt_key_padding_mask", "memory_key_padding_mask")
        }
        made: Tensor = decoder(tgt, memory, **rest, tgt_is_causal=named.get("tgt_is_causal"))
        return made

    return step


KINDS["TransformerEncoderLayer"], KINDS["TransformerDecoderLayer"] = _block(False), _block(True)
KINDS["TransformerEncoder"], KINDS["TransformerDecoder"] = _block(False, None), _block(True, None)

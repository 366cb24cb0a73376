"""PyTorch's transformers in scripts: their halves, the axis of positions, the padding they read."""

from __future__ import annotations

import ast
import re

from ...readers._tree import unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import is_none, is_true

_HALVES = ("encoder", "decoder")
_LAYERS = ("Transformer", "TransformerEncoderLayer", "TransformerDecoderLayer")
_TURNS = re.compile(
    r"transpose\(0, 1\)|transpose\(1, 0\)|permute\(1, 0|swapaxes\(0, 1\)|\.t\(\)|\.m?T\b|rearrange"
)


def layers_behind(source: Script, func: ast.expr) -> list[ast.Call]:
    """The calls that made what is called, also of a half: `self.transformer.decoder(y, memory)`."""
    made = [v for v in flow(source).values(func, 3) if isinstance(v, ast.Call)]
    if made or not isinstance(func, ast.Attribute) or func.attr not in _HALVES:
        return made
    whole = [v for v in flow(source).values(func.value, 3) if isinstance(v, ast.Call)]
    own = set(source.classes)
    return [v for v in whole if last_name(v.func) == "Transformer" and "Transformer" not in own]


def half_unused(source: Script) -> Finding | None:
    """`self.transformer.decoder(y, x)` and nothing ever asks `self.transformer.encoder`."""
    if not source.named("Transformer") or "Transformer" in source.classes:
        return None
    if re.search(r"(?i)(?:en|de)coder[_ -]?only", source.text):
        return None
    asked: dict[str, dict[str, ast.Call]] = {}
    for call in source.calls:
        func = call.func
        if isinstance(func, ast.Attribute) and func.attr in _HALVES and layers_behind(source, func):
            asked.setdefault(unparse(func.value), {})[func.attr] = call
    for name, halves in asked.items():
        reads = [n for n in source.of(ast.Attribute) if n.attr in _HALVES and unparse(n.value) == name]
        whole = [c for c in source.calls if unparse(c.func) == name]
        if len({n.attr for n in reads}) == 1 and not whole:
            half, call = next(iter(halves.items()))
            other = "encoder" if half == "decoder" else "decoder"
            return at(source, call, f"the {other} of `{name}` is never asked: only its {half} is")
    return None


def memory_shown(source: Script) -> Finding | None:
    """The encoder hides the padding of its input, and the decoder is not told where it is."""
    hides = [c for c in source.calls if _given(c, "src_key_padding_mask") and layers_behind(source, c.func)]
    for call in source.calls if hides else ():
        if any(k.arg is None for k in call.keywords) or _given(call, "memory_key_padding_mask"):
            continue
        made = layers_behind(source, call.func)
        kinds = {last_name(m.func) for m in made}
        half = isinstance(call.func, ast.Attribute) and call.func.attr == "decoder"
        whole = kinds == {"Transformer"} and not half and call in hides and len(call.args) > 1
        reads = kinds <= {"TransformerDecoder", "TransformerDecoderLayer"} or half
        if made and (whole or (reads and 1 < len(call.args) < _ALL_MASKS)):
            return at(
                source,
                call,
                "memory_key_padding_mask is missing: the decoder reads the padding",
            )
    return None


_ALL_MASKS = 6  # as many arguments say where the memory is padded


def _given(call: ast.Call, name: str) -> bool:
    value = keyword(call, name)
    return value is not None and not is_none(value)


def positions_of_samples(source: Script) -> Finding | None:
    """`nn.Transformer(...)` takes positions first, and gets samples first: `pad_sequence(batch_first=True)`.

    Judged where batches are cut along their second axis (`tgt[:, :-1]`) and nothing turns them.
    """
    made = [c for c in source.named(*_LAYERS) if last_name(c.func) not in source.classes]
    if not made or _TURNS.search(source.code) or not re.search(r"\[:, ?:-1\]", source.code):
        return None
    if not any(is_true(keyword(c, "batch_first")) for c in source.named("pad_sequence")):
        return None
    for call in made:
        plain = len(call.args) < _ALL_BY_PLACE and not any(k.arg is None for k in call.keywords)
        if plain and keyword(call, "batch_first") is None:
            return at(source, call, "batch_first is not said: it takes what are samples for positions")
    return None


_ALL_BY_PLACE = 7  # positional arguments beyond the usual ones may say it

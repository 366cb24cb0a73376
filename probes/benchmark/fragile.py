"""Steps of a model that need many bits (norms, softmax, positions, the loss), held in few of them."""

from __future__ import annotations

import re

from .. import settings as names
from ..registry import Finding, View, absent, probe, unknown
from .unnamed import other_settings, say_others

_FORMAT = re.compile(r"(?i)(?:^|_)(?:compute_)?d?type$|(?:^|_)precision$")
_STEP = re.compile(r"(?i)norm|softmax|rotary|rope|router|gating|logits?|loss|cross_entropy|residual")
_FULL = re.compile(
    r"(?i)(?:^|_)(?:in|to|as|with)_(?:fp32|float32)$|^fp32_(?:residual|softmax|norm|logits?)\w*$"
)
_NARROW = re.compile(r"(?i)(?:^|\.)(?:fp16|float16|half|bf16|bfloat16)$")
_WIDE = re.compile(r"(?i)(?:^|\.)(?:fp32|float32|float)$")
_OTHER = re.compile(r"(?i)grad_?norm|clip|init|allreduce|all_reduce|param|moe_loss_coeff|loss_scale")


@probe("benchmark")
def fewer_bits(view: View) -> Finding:
    """A norm, softmax, rotary table, router or loss is computed in fp16 or bf16, in the benchmark in fp32."""
    differ, equals = other_settings(view)
    asked = [d for d in (*differ, *equals) if _is_fragile(d[0])]
    fewer = [d for d in differ if _is_fragile(d[0]) and _narrower(d[1], d[2])]
    if fewer:
        return say_others(fewer)
    if not asked:
        return unknown("no number format of norms, softmax, positions or the loss is recorded on both sides")
    return absent(f"no narrower than in the benchmark: {', '.join(k for k, *_ in asked[:4])}", value=0)


def _is_fragile(key: str) -> bool:
    last = names.parts_of(key)[-1]
    if _OTHER.search(last):
        return False
    return bool(_FULL.search(last) or (_FORMAT.search(last) and _STEP.search(last)))


def _narrower(mine: object, theirs: object) -> bool:
    if isinstance(mine, bool) or isinstance(theirs, bool):
        return mine is False and theirs is True
    return bool(_NARROW.search(str(mine)) and _WIDE.search(str(theirs)))

"""Values of fp16 tensors that stand at the end of its range, in dumps and in what msprobe's monitor keeps."""

from __future__ import annotations

from ...engine.model import Place
from ..registry import Finding, View, absent, present, probe, unknown
from ..tensors.condition import LARGEST, condition
from ..tensors.model import Operator, Tensor
from .dumps import NO_DUMP, dumps, monitored

NEAR = 0.999  # share of the largest number from which on a value counts as at the limit
FILLS = (
    "fill",
    "mask",
    "full",
    "where",
    "clamp",
    "finfo",
    "set",
    "copy",
    "empty",
)  # they write a chosen number


def _at_limit(operator: Operator, tensor: Tensor) -> bool:
    """A positive value at the end of the range: masks use the negative end, and backward the loss scale's."""
    if tensor.dtype != "float16" or operator.direction != "forward":
        return False
    if any(word in operator.kind.lower() for word in FILLS):
        return False
    high = tensor.statistics.max
    if high is None:
        found = condition(tensor)
        high = found.high if found.known else None
    return high is not None and NEAR * LARGEST["float16"] <= high


@probe()
def half_at_limit(view: View) -> Finding:
    """A tensor of the forward pass in fp16 reaches 65504, the largest number of the format, or infinity."""
    held = (*dumps(view.run), *monitored(view.run))
    looked = 0
    for dump in sorted(held, key=lambda d: (d.step or 0, d.rank or 0)):
        for operator in dump.operators:
            for tensor in operator.outputs:
                looked += tensor.dtype == "float16"
                if _at_limit(operator, tensor):
                    name = operator.name.partition(": ")[2] or operator.name
                    at = "" if operator.step is None else f" at step {operator.step}"
                    return present(
                        f"{name} gives fp16 values at the end of the format's range, 65504{at}",
                        value=tensor.statistics.max,
                        threshold=LARGEST["float16"],
                        step=operator.step,
                        where=(Place(tensor.file or name, step=operator.step, rank=operator.rank),),
                    )
    if not held:
        return unknown(NO_DUMP)
    if not looked:
        return unknown("no output in the dumps is known to be of fp16")
    return absent(f"{looked} outputs of fp16 stay below 65504", value=looked)

"""Operators that have no value at zero, and whether one is given it."""

from __future__ import annotations

from ..tensors.condition import condition
from ..tensors.knowledge import knowledge, plain
from ..tensors.model import Operator, Tensor

# Operators without a value at zero (and below it, for a root or logarithm): the input that must not be there.
# Signatures of PyTorch, MindSpore, TensorFlow and CANN.
QUOTIENTS = {"div": 1, "truediv": 1, "realdiv": 1, "divide": 1, "idiv": 1, "itruediv": 1, "mod": 1}
INVERSES = frozenset({"reciprocal", "inv"})
ROOTS = frozenset({"rsqrt"})
LOGARITHMS = frozenset({"log", "log2", "log10"})
# They divide by a spread: without a floor they have no value where all that they are given is equal.
SPREADS = frozenset({"layer_norm", "rms_norm", "batch_norm", "group_norm", "instance_norm", "normalize"})
# Kinds (operators.yaml) that have a value wherever their inputs have one.
ALWAYS_FINITE = frozenset(
    {"linear", "matmul", "convolution", "add", "subtract", "multiply", "bias_add", "sum", "mean", "relu"}
)


def meets_zero(operator: Operator) -> tuple[Tensor, float] | None:
    """The input that is known to hold a zero (of a logarithm or inverse root: or less), and its least."""
    tensor = _guarded(operator)
    if tensor is None:
        return None
    seen = condition(tensor)
    low, high = (tensor.statistics.min, tensor.statistics.max) if seen.low is None else (seen.low, seen.high)
    if low is None or high is None or seen.bad:
        return None
    if _divides_by_spread(operator):
        return (tensor, low) if low == high == 0.0 else None
    below = plain(operator.kind) in ROOTS | LOGARITHMS and low < 0
    return (tensor, low) if below or 0.0 in (low, high) or tensor.statistics.zero else None


def _guarded(operator: Operator) -> Tensor | None:
    """The input that must not be zero (or below it); None: there is none, or it is not recorded."""
    kind = plain(operator.kind)
    first = kind in INVERSES | ROOTS | LOGARITHMS or _divides_by_spread(operator)
    index = 0 if first else QUOTIENTS.get(kind)
    return next((t for t in operator.inputs if index is not None and t.index == str(index)), None)


def _divides_by_spread(operator: Operator) -> bool:
    return operator.direction == "forward" and knowledge().kind(operator.kind) in SPREADS

"""Settings that can be read from a dump: the learning rate that reached the optimizer, momentum, epsilon."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from .knowledge import knowledge, plain
from .model import Dump, Operator, Tensor


def settings(dump: Dump) -> dict[str, list[tuple[float, str]]]:
    """Every setting that the dump shows: its distinct values, each with the operator that shows it first."""
    found: dict[str, list[tuple[float, str]]] = {}
    for operator in dump.operators:
        for name, value in _of(operator):
            values = found.setdefault(name, [])
            if not any(_close(value, v) for v, _ in values):
                values.append((value, operator.name))
    return found


def _of(operator: Operator) -> Iterator[tuple[str, float]]:
    known = knowledge()
    for name, value in operator.arguments.items():
        number = float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
        if number is None:
            continue
        if operator.direction == "optimizer" and known.step_argument.get(plain(operator.kind)) == name:
            yield "learning_rate", -number
        elif known.setting_names.get(name):
            yield known.setting_names[name], number
    by_place = known.named_inputs.get(operator.kind.lower(), {})
    for tensor in operator.inputs:
        setting = by_place.get(tensor.index)
        value = _scalar(tensor) if setting else None
        if setting and value is not None:
            yield setting, value
    if operator.direction == "state" and operator.name in known.setting_names:
        for tensor in operator.tensors:
            value = _scalar(tensor)
            if value is not None:
                yield known.setting_names[operator.name], value


def _scalar(tensor: Tensor) -> float | None:
    if tensor.count != 1:
        return None
    if tensor.statistics.max is not None:
        return tensor.statistics.max
    try:
        values = np.concatenate([b.copy() for b in tensor.blocks() or ()])
    except (OSError, ValueError):
        return None
    return float(values[0]) if values.size else None


def _close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-5) or (a != a and b != b)


def absurd(dump: Dump) -> Iterator[str]:
    """Sentences on values that no training uses."""
    limits = knowledge().absurd
    for name, values in settings(dump).items():
        limit = limits.get(name)
        for value, operator in values:
            if limit is not None and (not math.isfinite(value) or value > limit):
                yield f"{name} is {value:g} at {operator}: no training uses such a value"


def differences(run: Dump, benchmark: Dump) -> Iterator[str]:
    """Sentences on settings that are absurd, or not the same on both sides; the learning rate first."""
    yield from absurd(run)
    mine, theirs = settings(run), settings(benchmark)
    for name in sorted(set(mine) & set(theirs), key=lambda n: (n != "learning_rate", n)):
        ours, others = ([v for v, _ in side[name]] for side in (mine, theirs))
        if len(ours) == len(others) and all(_close(a, b) for a, b in zip(ours, others, strict=True)):
            continue
        listed = [", ".join(f"{v:g}" for v in side[:4]) for side in (ours, others)]
        yield f"{name} in the dump is {listed[0]}, in the benchmark's {listed[1]}"

"""One framework's layer is another's two operators: PyTorch's linear is MindSpore's MatMul and BiasAdd.

Where one dump has the whole and the other its parts, the parts are put together, forward and backward, so
that what is compared computes the same thing. Which: `compositions` of rules/porting/operators.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from .knowledge import knowledge
from .model import Dump, Operator, Role, Tensor

NEAR = 4  # operators between two parts of one layer


def composed(run: Dump, benchmark: Dump) -> tuple[Dump, Dump]:
    """Both dumps, each with what the other has as one operator put together."""
    return _like(run, benchmark), _like(benchmark, run)


def _like(dump: Dump, other: Dump) -> Dump:
    known = knowledge()
    there = {known.kind(o.kind) for o in other.operators}
    operators: list[Operator] = list(dump.operators)
    for whole, parts in known.compositions:
        here = {known.kind(o.kind) for o in operators}
        if whole in there and set(parts) <= here and parts[-1] not in there:
            operators = _joined(operators, whole, parts)
    if len(operators) == len(dump.operators):
        return dump
    less = len(dump.operators) - len(operators)
    note = f"operators were put together into the layers that the other side has: {less} fewer"
    return replace(dump, operators=tuple(operators), notes=(*dump.notes, note))


def _joined(operators: Sequence[Operator], whole: str, parts: tuple[str, str]) -> list[Operator]:
    """Put pairs of forward operators together, then what belongs to the same layers in the backward pass."""
    known = knowledge()
    found: list[Operator] = []
    gone: set[int] = set()
    layers: set[str] = set()
    for n, first in enumerate(operators):
        if n in gone:
            continue
        last = None
        if first.direction == "forward" and not first.module and known.kind(first.kind) == parts[0]:
            near = range(n + 1, min(n + 1 + NEAR, len(operators)))
            last = next((m for m in near if _follows(first, operators[m], parts[1])), None)
        if last is None:
            found.append(first)
            continue
        gone.add(last)
        layers.add(first.scope)
        found.append(_forward(first, operators[last], whole))
    return _backward(found, layers - {""}, whole)


def _follows(first: Operator, second: Operator, kind: str) -> bool:
    """Whether an operator adds the bias to what another one made."""
    if second.direction != "forward" or second.module or knowledge().kind(second.kind) != kind:
        return False
    if first.scope and second.scope and first.scope != second.scope:
        return False
    return bool(first.outputs and second.inputs) and first.outputs[0].shape == second.inputs[0].shape


def _forward(first: Operator, second: Operator, whole: str) -> Operator:
    taken = [t for t in (*first.inputs, *second.inputs[1:]) if t.shape]
    name = f"{first.name} + {second.name.rpartition('/')[2]}"
    return replace(
        first,
        name=name,
        kind=whole,
        inputs=_numbered(taken, "input"),
        outputs=_numbered(second.outputs, "output"),
        parameters=(*first.parameters, *second.parameters),
        source=first.source or second.source,
    )


def _backward(operators: list[Operator], layers: set[str], whole: str) -> list[Operator]:
    """Gradients of a layer's input, weight and bias, which the other side makes in one operator.

    They all take the gradient that comes in; names alone may mix up layers (MindSpore merges equal nodes).
    """
    groups: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    for n, one in enumerate(operators):
        layer = _layer(one)
        if layer in layers and one.inputs:
            groups.setdefault((layer, one.inputs[0].shape), []).append(n)
    joined = {group[-1]: [operators[n] for n in group] for group in groups.values() if len(group) > 1}
    gone = {n for group in groups.values() if len(group) > 1 for n in group}
    found = []
    for n, one in enumerate(operators):
        if n in joined:
            found.append(_gradients(joined[n], one, whole))
        elif n not in gone:
            found.append(one)
    return found


def _layer(one: Operator) -> str:
    """The layer whose gradient an operator computes: MindSpore's Gradients/<layer>/Grad_<kind>."""
    found = re.match(r"^Gradients/(?P<layer>.+)/Grad_[^/]+$", one.scope)
    return found["layer"] if found and one.direction == "backward" else ""


def _gradients(members: Sequence[Operator], last: Operator, whole: str) -> Operator:
    incoming = [m.inputs[0] for m in members if m.inputs and m.inputs[0].shape]
    return replace(
        last,
        name=" + ".join((members[0].name, *(m.name.rpartition("/")[2] for m in members[1:]))),
        kind=whole,
        inputs=_numbered(incoming[:1], "input"),
        outputs=_numbered([t for m in members for t in m.outputs], "output"),
        scope=last.scope.rpartition("/")[0],
    )


def _numbered(tensors: Sequence[Tensor], role: Role) -> tuple[Tensor, ...]:
    return tuple(replace(t, role=role, index=str(n)) for n, t in enumerate(tensors))

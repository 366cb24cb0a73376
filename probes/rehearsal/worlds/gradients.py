"""Gradients that are values: what a tape, `value_and_grad` or `autograd.grad` gives, and steps by them."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..libraries import Call, function
from ..values import Optimizer, Tensor, Unknown, Weight
from .graph import backward
from .training import step

if TYPE_CHECKING:
    from ..machine import Machine

_MARK = "gradient:"


def taken(machine: Machine, loss: Any, weights: list[Weight] | None, node: ast.AST) -> list[Any]:
    """The gradients of a loss for weights, which do not gather in the weights; None where none flows.

    Of weights that are not known, those of all that the loss reaches.
    """
    before = {w.serial: w.gradients for w in machine.weights.values()}
    backward(machine, loss, node)
    number = machine.backwards
    reached = machine.reaching(loss) if isinstance(loss, Tensor) else frozenset()
    for serial, kept in before.items():
        machine.weights[serial].gradients = kept
    if weights is None:
        weights = [machine.weights[s] for s in sorted(reached)]
    return [_gradient(w, number) if w.serial in reached and w.trains else None for w in weights]


def _gradient(weight: Weight, number: int) -> Tensor:
    return Tensor(done=("gradient",), held=frozenset((f"{_MARK}{weight.serial}:{number}",)))


def numbers_of(gradient: Any, weight: Weight) -> list[int]:
    """The `Backward`s that a gradient of a weight is of."""
    before = f"{_MARK}{weight.serial}:"
    held = gradient.held if isinstance(gradient, Tensor) else ()
    return sorted(int(h.rpartition(":")[2]) for h in held if h.startswith(before))


def stepped_by(
    machine: Machine, optimizer: Optimizer, pairs: Iterable[tuple[Any, Weight]], node: ast.AST, **marks: bool
) -> None:
    """An optimizer moves weights by gradients that it is given."""
    held = list(pairs)
    kept = [(w, w.gradients) for _, w in held]
    for gradient, weight in held:
        weight.gradients = numbers_of(gradient, weight)
    if optimizer.weights is not None:
        known = {id(w) for w in optimizer.weights}
        optimizer.weights += [w for _, w in held if id(w) not in known]
    step(machine, optimizer, node, **marks)
    for weight, before in kept:
        weight.gradients = before


def paired(gradients: Any, weights: list[Weight]) -> list[tuple[Any, Weight]]:
    """Gradients beside their weights; one tensor that was made of all of them stands for each."""
    if isinstance(gradients, (list, tuple)) and len(gradients) == len(weights):
        return list(zip(gradients, weights, strict=True))
    return [(gradients, w) for w in weights]


def weights_in(machine: Machine, held: Any) -> list[Weight] | None:
    """The weights of a list; None where it is not known."""
    items = [held] if isinstance(held, Weight) else machine.items_known(held)
    if items is None or any(isinstance(i, Unknown) for i in items):
        return None
    return [i for i in items if isinstance(i, Weight)]


@function("grad", of=("torch.autograd.",))
def _torch_grad(call: Call) -> Any:
    held = call.given[1] if len(call.given) > 1 else call.named.get("inputs")
    loss = call.given[0] if call.given else call.named.get("outputs")
    weights = weights_in(call.machine, held)
    if weights is None or not isinstance(loss, Tensor) or not weights:
        return NotImplemented
    found = taken(call.machine, loss, weights, call.node)
    if call.named.get("create_graph") is True:
        for one in found:
            if one is not None:
                one.deps = loss.deps
    return tuple(found)


@function("clip_by_global_norm", of=("tensorflow.", "mindspore.", "jax."))
def _clipped(call: Call) -> Any:
    norm = Tensor(done=("norm",), scalar=True)
    return (call.given[0], norm) if call.callee.root == "tensorflow" else call.given[0]


__all__ = ["numbers_of", "paired", "stepped_by", "taken", "weights_in"]

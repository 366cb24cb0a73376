"""The graph that gradients flow through: where they are taken, where none is kept, where they are cut."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ..journal import Backward
from ..libraries import Call, function
from ..values import NOTHING, Tensor, Unknown

if TYPE_CHECKING:
    from ..machine import Machine


def backward(machine: Machine, loss: Any, node: ast.AST) -> None:
    """A gradient is taken of a loss: the weights that it reaches get it."""
    machine.backwards += 1
    number = machine.backwards
    reached = machine.reaching(loss) if isinstance(loss, Tensor) else NOTHING
    for serial in reached:
        weight = machine.weights[serial]
        if weight.trains:
            weight.gradients = [*weight.gradients[-63:], number]
    machine.note(Backward(**machine.now(node), number=number, loss=loss, reached=reached))


@function("backward", of=("torch.autograd.",))
def _autograd(call: Call) -> Any:
    for one in call.machine.tensors(call.given[:1]):
        backward(call.machine, one, call.node)


@function("no_grad", "inference_mode", "set_grad_enabled", "enable_grad", of=("torch.", "paddle."))
def _no_graph(call: Call) -> Any:
    if call.callee.last == "set_grad_enabled":
        asked = call.given[0] if call.given else True
        return ("<graph>", asked) if isinstance(asked, bool) else Unknown("grad")
    if call.callee.last == "inference_mode" and call.given and call.given[0] is False:
        return ("<graph>", True)
    return ("<graph>", call.callee.last == "enable_grad")


@function("clip_grad_norm_", "clip_grad_value_", of=("torch.", "torch.nn.utils."))
def _clipped(call: Call) -> Any:
    return Tensor(done=("norm",), scalar=True)

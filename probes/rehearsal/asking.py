"""A network that is asked: its forward is gone through, and the answer knows its question."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from . import marks
from .expressions import ODD
from .flowing import Flowing
from .journal import Asked
from .values import (
    NOTHING,
    Broken,
    Net,
    Optimizer,
    Routine,
    Tensor,
    Unknown,
    Way,
)

ANSWER = "<answer>"
TAPED = ("mindspore", "flax", "equinox")
FORWARD = ("forward", "construct", "call", "__call__")


def _in_a_row(net: Net) -> bool:
    """A class of the program that derives from a library's chain of layers, without a forward of its own."""
    return net.kind is not None and net.kind.derives("Sequential", "SequentialCell")


class Asking(Flowing):
    """Questions to networks."""

    lost_inside = False  # a network within the one that is asked was not understood

    def ask(self, net: Net, given: list[Any], named: dict[str, Any], node: ast.AST) -> Any:
        """Ask a network: its forward is gone through; the outermost one is noted."""
        if net.home == "keras":
            return self.of_keras(net, given, named, node)
        if net.home in TAPED and not self.taped and self.graph:
            self.graph = False  # these record for gradient functions alone
            try:
                return self.ask(net, given, named, node)
            finally:
                self.graph = True
        if net.layer:
            return self.layer(net, given, named, node)
        forward = next((f for n in FORWARD if net.kind and (f := net.kind.find(n))), None)
        in_a_row = forward is None and bool(net.children) and _in_a_row(net)
        if self.inside_net or (forward is None and not in_a_row) or self.is_loss(net) or self.is_step(net):
            return self._forward(net, forward, given, named, node)
        return self.noted(net, given, named, node, lambda: self._forward(net, forward, given, named, node))

    def noted(
        self, net: Net, given: list[Any], named: dict[str, Any], node: ast.AST, run: Callable[[], Any]
    ) -> Any:
        """Note that a network is asked, and mark what it answers."""
        number = len(self.asks)
        tensors = list(self.tensors([*given, *named.values()]))
        first = next((t for t in tensors if t.rows is not None), None)
        event = Asked(
            **self.now(node),
            number=number,
            net=net,
            mode=net.mode,
            graph=self.graph,
            given=[*given, *named.values()],
            version=net.version,
            rows=first.rows if first is not None else None,
            table=first.table if first is not None else 0,
        )
        self.asks[number] = event
        self.note(event)
        self.inside_net += 1
        self.modal.append([])
        answer: Any = None
        event.inputs = tuple(marks.of_tensor(self.machine, t) for t in tensors)
        before, uses = [t.mark for t in tensors], self.machine.first_uses
        for place, one in enumerate(tensors):
            one.mark = marks.of_input(place)
        self.machine.first_uses = {}
        self.machine.unknown_inputs = {
            id(g): i for i, g in enumerate((*given, *named.values())) if isinstance(g, Unknown)
        }
        try:
            answer = run()
        finally:
            event.opaque |= self.lost_inside
            self.lost_inside = False
            self.inside_net -= 1
            event.modal = self.modal.pop()
            event.made = marks.plain(self.machine, answer)
            for one, mark in zip(reversed(tensors), reversed(before), strict=True):
                one.mark = mark
            self.machine.first_uses = uses
        return self.marked(answer, event, tensors, net)

    def _forward(self, net: Net, found: Any, given: list[Any], named: dict[str, Any], node: ast.AST) -> Any:
        if found is None and net.children and _in_a_row(net):
            held = list(given)
            self.inside_net += 1
            for child in list(net.children.values()):
                held = [self.ask(child, held, {}, node)]
            self.inside_net -= 1
            return held[0] if held else Unknown("forward")
        if found is None or not isinstance(found[1], Routine):
            self.lost_inside = self.inside_net > 0
            return Unknown("forward")
        routine = Routine(found[1].node, found[1].around, net, found[0])
        self.inside_net += 1
        try:
            return self.call_routine(routine, given, named, node)
        except (*ODD, Broken) as error:
            self.journal.notes.append(f"forward: {error}"[:200])
            self.lost_inside = True
            return Unknown("forward")
        finally:
            self.inside_net -= 1

    def marked(self, answer: Any, event: Asked, tensors: list[Tensor], net: Net) -> Any:
        """An answer that knows its question; of what is not known a tensor of all that went in."""
        mark = frozenset((event.number,))
        if isinstance(answer, Unknown):
            weights = frozenset(w.serial for w in net.parameters() if w.trains)
            made = self.joined_tensors("answer", tensors)
            answer = made.like(deps=made.deps | weights if self.graph else NOTHING, scalar=False)
            event.opaque = True
        numbers = self.machine.numbers
        if numbers is not None and isinstance(answer, Tensor) and event.rows is not None:
            answer.number = numbers.answers(event.rows)
            answer.done = ()  # only what is done to the answer counts
        event.done = tuple(t.done for t in self.tensors([answer]))
        for place, one in enumerate(self.tensors([answer])):
            one.how = Way(ANSWER, (event, place, one.like()))
            one.mark = marks.of_answer(self.machine, net, event.inputs, place)
            event.reaches |= self.reaching(one)
            one.asked, one.units = one.asked | mark, ()
            if one.rows is None and not one.scalar:
                one.rows, one.table = event.rows, event.table
        return answer

    @staticmethod
    def is_loss(net: Net) -> bool:
        """Whether what derives from a network's class is a loss or a metric: it has no weights."""
        return not net.parameters()

    @staticmethod
    def is_step(net: Net) -> bool:
        """Whether what derives from a network's class is a training step: it holds an optimizer."""
        return any(isinstance(v, Optimizer) for v in net.attributes.values())

"""Where the names of a program are used, and what its functions do with them."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from ...readers.script import last_name
from ..lines import Line, Program, Unit
from ..terms import Term
from .words import FORWARD, HOOK, LOSS, SHARED, is_function

_IS_LOSS = re.compile(
    r"(?:Loss|Losses|Criterion|Objective|LossBase|_loss|_criterion)$|^(?:Loss|Criterion)[A-Z]"
)
_CRITERION = re.compile(r"(?i)(?:^|[._])(?:criterion|crit|loss_?(?:fn|func|function)|objective)$")


class Uses:
    """Where the names of a program are used, and what its functions do with them."""

    def __init__(self, program: Program) -> None:
        self.program = program

    @cached_property
    def _units(self) -> dict[str, list[Unit]]:
        found: dict[str, list[Unit]] = defaultdict(list)
        for unit in self.program.units:
            found[unit.last].append(unit)
        return found

    @cached_property
    def _classes(self) -> frozenset[str]:
        """Units that are classes with a forward method, by name; Flax has it in `__call__`.

        A module of a network may have methods of other names alone: two towers, an encoder and a decoder.
        """
        modules = {c.name for c in self.program.source.modules}
        return frozenset(
            u.owner
            for u in self.program.units
            if (u.owner and u.last in FORWARD)
            or (u.owner in modules and (u.last == "__call__" or u in self._computing))
            if u.owner not in self._losses and u.owner.rpartition(".")[2] in self.program.source.classes
        )

    def part_of_another(self, name: str) -> bool:
        """Whether another class of layers makes one of this class."""
        return any(
            x.unit.owner not in ("", name) and x.unit.owner in self._classes for x in self._calls[name]
        )

    @cached_property
    def _losses(self) -> frozenset[str]:
        """Classes that compute a loss: by their name, what they derive from, or what an object is called.

        An object that is called `criterion` is one where its forward takes what is told and what is true.
        """
        named = {
            value.label
            for x in self.program.lines
            if x.term.kind == "assign" and (value := x.term.part("value")) is not None
            if value.kind == "call" and any(_CRITERION.search(t) for t in x.targets)
        }
        pairs = {
            u.owner
            for u in self.program.units
            if u.owner in named and u.last in (*FORWARD, "__call__") and len(u.parameters) > 2
        }
        return frozenset(
            name
            for name, node in self.program.source.classes.items()
            if _IS_LOSS.search(name)
            or any(_IS_LOSS.search(last_name(b)) for b in node.bases)
            or name in pairs
        )

    @cached_property
    def _computing(self) -> frozenset[Unit]:
        """Methods that hand values to layers of their object and give a value back: part of a model."""
        made = {
            t.removeprefix("self.")
            for x in self.program.lines
            if x.unit.last in ("__init__", "setup", "build") and x.term.kind == "assign"
            for t in x.targets
            if t.startswith("self.")
        }
        return frozenset(
            unit
            for unit in self.program.units
            if unit.owner
            and unit.parameters[:1] == ("self",)
            and not unit.last.startswith("__")
            and not HOOK.search(unit.last)
            and any(x.term.kind == "return" and x.term.parts for x in unit.lines)
            and any(t.kind == "call" and t.label in made for x in unit.lines for t in x.term.walk())
            and not any(
                t.kind == "call" and (t.label in LOSS or t.label in ("backward", "step"))
                for x in unit.lines
                for t in x.term.walk()
            )
        )

    @cached_property
    def _applied(self) -> frozenset[Line]:
        """Lines of a functional model: `x = Dense(10)(x)`, and calls of functions that are made of these."""
        if not {"keras", "tensorflow", "tf_keras"} & set(self.program.source.frameworks):
            return frozenset()
        found = {x for x in self.program.lines if any(map(_applies_layer, x.term.walk()))}
        names = {x.unit.last for x in found if is_function(x.unit) and len(x.unit.parameters) > 0}
        names -= {"__init__", "main", *FORWARD}
        around = {x.unit for x in found}
        for name in names:
            found |= {x for x in self._calls.get(name, ()) if x.unit in around}
        return frozenset(found)

    def _is_forward(self, line: Line) -> bool:
        """Whether values go through a model in a line."""
        unit = line.unit
        if unit in self._differentiated:
            return False
        if unit.last == "__call__":
            return unit.owner in self._classes
        if unit in self._computing and unit.owner in self._classes:
            return True
        return (unit.last in FORWARD and unit.owner not in self._losses) or line in self._applied

    @cached_property
    def _differentiated(self) -> frozenset[Unit]:
        """Functions that gradients are taken of: `value_and_grad(forward, None, weights)`."""
        source = self.program.source
        names = {
            last_name(c.args[0])
            for c in source.named("value_and_grad", "grad")
            if c.args and isinstance(c.args[0], ast.Name)
        }
        return frozenset(u for u in self.program.units if not u.owner and u.last in names and is_function(u))

    @cached_property
    def _uses(self) -> dict[str, list[tuple[Line, tuple[tuple[str, str], ...]]]]:
        """Name, attribute or key -> lines that read it, with what it is handed to, innermost first."""
        found: dict[str, list[tuple[Line, tuple[tuple[str, str], ...]]]] = defaultdict(list)
        for line in self.program.lines:
            for edge, part in line.term.parts:
                if edge != "target":
                    for name, chain in leaves(part, ((line.term.kind, edge),)):
                        found[name].append((line, chain))
        return found

    @cached_property
    def _calls(self) -> dict[str, list[Line]]:
        """Callee -> lines that call it."""
        found: dict[str, list[Line]] = defaultdict(list)
        for line in self.program.lines:
            for term in line.term.walk():
                if term.kind == "call":
                    found[term.label].append(line)
        return found

    @cached_property
    def layers(self) -> dict[str, str]:
        """Attribute or name -> the class or function that it was made by: {"bn1": "BatchNorm2d"}."""
        found: dict[str, str] = {}
        for line in self.program.lines:
            value = line.term.part("value")
            if (
                value is not None and value.kind == "choice"
            ):  # reducer = Reducer(...) if distributed else Identity()
                value = value.part("then")
            if line.term.kind == "assign" and value is not None and value.kind == "call":
                for target in line.targets:
                    found.setdefault(target.removeprefix("self."), value.label)
        return found

    @cached_property
    def dead(self) -> frozenset[Line]:
        """Lines whose values reach nothing but logging."""
        gives: dict[str, list[Line]] = defaultdict(list)
        waiting: list[Line] = []
        found: set[Line] = set()
        for line in self.program.lines:
            plain = line.targets and line.term.kind in ("assign", "do", "default")
            if (
                plain
                and not any("." in t for t in line.targets)
                and not _acts(line)
                and not self._fills(line)
                and not self._trains_when_called(line)
            ):
                found.add(line)
                for target in line.targets:
                    gives[target].append(line)
            else:
                waiting.append(line)
        seen: set[str] = set()
        while waiting:
            line = waiting.pop()
            read = {name for name, _ in leaves(line.term, ())}
            read |= {t.label for t in line.term.walk() if t.kind == "call"}
            for name in read - seen:
                alive = [x for x in gives.get(name, ()) if x in found]
                found.difference_update(alive)
                waiting += alive
            seen |= read
        return frozenset(found)

    def _trains_when_called(self, line: Line) -> bool:
        """Whether a line calls a function of the program that takes gradients: it gives more than a value."""
        return any(t.kind == "call" and t.label in self._learning for t in line.term.walk())

    @cached_property
    def _learning(self) -> frozenset[str]:
        """Functions that take gradients."""
        return frozenset(
            x.unit.last
            for x in self.program.lines
            if x.unit.name and is_function(x.unit) and x.unit.last not in SHARED
            if any(t.kind == "call" and t.label == "backward" for t in x.term.walk())
        )

    def scores(self, line: Line) -> bool:
        """Whether what a line gives is taken a softmax of, a few lines on in its function."""
        names, seen = set(line.targets), {line}
        if self._weighs(line.term):
            return True
        for _ in range(4):
            further: set[str] = set()
            for name in names:
                for use, _ in self._uses.get(name, ()):
                    if use.unit is not line.unit or use in seen:
                        continue
                    if self._weighs(use.term):
                        return True
                    seen.add(use)
                    further |= set(use.targets)
            names = further
        return False

    def _weighs(self, term: Term) -> bool:
        calls = {t.label for t in term.walk() if t.kind == "call"}
        return "softmax" in calls or any(self.layers.get(c) in ("softmax", "Softmax") for c in calls)

    def _views(self, line: Line) -> list[str]:
        """What a line writes into under another name: `column = table[:, j]`."""
        found = []
        for x in line.unit.lines:
            value = x.term.part("value")
            if set(x.targets) & set(line.targets) and value is not None and value.kind == "item":
                of = value.part("of")
                if of is not None and of.kind == "name":
                    found.append(of.label)
        return found[:3]

    def _fills(self, line: Line) -> bool:
        """Whether a line writes into what came from outside, or is a part of something: `column[:] = 0`."""
        target = line.term.part("target")
        if target is None or target.kind != "item" or not line.targets:
            return False
        name = line.targets[0]
        if name in line.unit.parameters:
            return True
        made = [
            x.term.part("value") for x in line.unit.lines if name in x.targets and x.term.kind == "assign"
        ]
        loops = any(name in x.targets for x in line.unit.lines if x.term.kind == "for")
        return loops or any(v is not None and v.kind in ("item", "attribute") for v in made[:1])


def _applies_layer(term: Term) -> bool:
    """`Dense(10)(x)`: what a class makes is called at once, and is no loss."""
    made = term.part("self") if term.kind == "call" and not term.label else None
    if made is None or made.kind != "call" or len(term.parts) < 2:
        return False
    return made.label[:1].isupper() and not made.label.endswith(("Loss", "Error", "entropy", "Compose"))


def _acts(line: Line) -> bool:
    """A call that does something besides giving a value."""
    return any(
        t.kind == "call"
        and (
            t.label.endswith("_")
            or t.label
            in (
                "step",
                "backward",
                "zero_grad",
                "next",
                "prepare",
                "update",
                "load_state_dict",
                "fit",
                "train",
                "eval",
                "apply",
                "register_buffer",
            )
        )
        for t in line.term.walk()
    )


def leaves(
    term: Term, chain: tuple[tuple[str, str], ...]
) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    """Names, attributes and keys of a term, each with what it is handed to, innermost first."""
    waiting = [(term, chain)]
    while waiting:
        one, way = waiting.pop()
        if one.kind in ("name", "attribute", "key"):
            yield one.label, way
        label = one.label if one.kind in ("call", "operation") else one.kind
        for edge, part in one.parts:
            if one.kind == "attribute":
                waiting.append((part, way))
            else:
                waiting.append((part, ((label, edge), *way)))
        if one.kind == "call" and one.part("self") is None and not one.parts:
            continue

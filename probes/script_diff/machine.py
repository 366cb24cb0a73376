"""A symbolic run of a program in normal form: which calls it makes, in which order, on which values.

The run follows the program's own functions, classes and loops (over an unknown collection two or three
times); all other calls are events: their name, the marks of their arguments and the contexts around them. Two
programs with equal events do the same, whatever they are called and however they are cut into functions.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from .library import DEVICE, PURE, Library
from .lines import Line, Unit
from .modes import SETS, asks_mode, sets_mode
from .objects import (
    FORWARD,
    NONE,
    Chain,
    Count,
    Enough,
    Frame,
    Instance,
    Own,
    Routine,
    TooLong,
    counter,
    only_data,
    unread,
)
from .terms import Term
from .values import Tensor, Thing, mark

MAX_DEPTH = 14  # calls in calls


class _Return(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


class _Leave(Exception):
    """break or continue."""

    def __init__(self, kind: str) -> None:
        self.kind = kind


class Machine(Library):
    """Runs a program, or a part of it by itself."""

    def run(self) -> None:
        """The module from its first line, then what only a framework would call."""
        self.declared()
        self.fresh = True
        self.body(self.top, None, "")
        if self.lazy and any(sets_mode(x) for x in self.program.lines if x not in self.covered):
            self.partial = True
        if not self.backwards:
            self.clear()
        self.sinks(self.top)
        for instance in list(self.instances):
            self.hooks(instance)
        for unit in self.program.units[1:]:
            if "." in unit.name or unit in self.touched:
                continue
            if isinstance(unit.node, ast.ClassDef):
                self.alone(unit)
            else:
                self.event("function", [self.name_of(unit.name)], {}, Routine(unit, self.top))

    def declared(self) -> None:
        """The options of the command line, whoever parses it."""
        for line in self.program.lines:
            value = line.term.part("value")
            if line.term.kind == "do" and value is not None and value.label in ("add_argument", "add_option"):
                self.value(value, Frame(line.unit))

    def alone(self, unit: Unit) -> None:
        """A class, or a function, by itself: on unknown arguments."""
        self.declared()
        if isinstance(unit.node, ast.ClassDef):
            made = self.make(Own(unit), self._unknown(unit), {})
            if isinstance(made, Instance):
                self.hooks(made)
                self.note("keeps", self.kept(made), False)
            for line in unit.lines:
                if line.term.kind == "assign" and not line.around:
                    self.covered.add(line)
                    value = self.value(line.term.part("value") or NONE, self.top)
                    self.note("class", mark(line.targets, self.mark(value)), self.shaky(value))
            return
        owner = None
        parent = self.units.get(unit.owner) if unit.owner else None
        if parent is not None and isinstance(parent.node, ast.ClassDef):
            owner = Instance(Own(parent), 0)
        self.event("function", [], {}, Routine(unit, self.top, owner))
        for instance in list(self.instances):
            self.hooks(instance)
        if owner is not None:
            self.note("keeps", self.kept(owner), False)
        options = tuple((k, self.mark(x)) for k, x in self.options.items())
        self.note("options", mark(options), False)

    def _unknown(self, unit: Unit) -> list[Any]:
        """Arguments for a class of which nothing is known."""
        init = self.method(Own(unit), "__init__")
        count = len(init.parameters) - 1 if init is not None else 0
        return [Thing(mark("argument", i), item=True, batch=True) for i in range(count)]

    def hooks(self, instance: Instance) -> None:
        """The methods that the program itself does not call, and what the object holds."""
        for unit in self.methods(instance.made_of.unit):
            plain = unit.last
            if plain in ("__init__",) or (plain in self.read_names and plain not in FORWARD):
                continue
            if plain in FORWARD and unit in self.touched:
                continue  # what it gives was seen where it went
            self.event("hook", [instance.order, self.name_of(plain)], {}, Routine(unit, self.top, instance))
        self.note("holds", self.holds(instance), False)

    def sinks(self, frame: Frame) -> None:
        """Values that the program gives a name and does not read: they are shown to whoever runs it."""
        whole, partly = unread(self.program, frame.unit)
        found = [frame.names[n] for n in whole if n in frame.names]
        found += [x for n in partly if isinstance(x := frame.names.get(n), dict)]
        found = [
            x
            for x in found
            if not isinstance(x, (Routine, Own))
            and not (isinstance(x, Thing) and not x.item)
            and x is not DEVICE
        ]
        made = sorted(self.mark(x) for x in found)
        if made:
            self.note("shown", mark(made), any(self.shaky(x) for x in found))

    def methods(self, unit: Unit) -> list[Unit]:
        """The methods of a class."""
        return [
            u for u in self.program.units if u.owner == unit.name and not isinstance(u.node, ast.ClassDef)
        ]

    def behaviour(self, routine: Routine) -> int:
        """A function that is handed on: its events and its value on unknown arguments are told once, here."""
        key = (id(routine.unit or routine.term), id(routine.frame), id(routine.owner))
        if routine.given or routine.named:
            key = (id(routine), 0, 0)
        if key in self.told:
            return self.told[key]
        self.told[key] = made = mark("routine", len(self.told))
        self.held.append(routine)  # so that no id is given twice
        if self.depth >= MAX_DEPTH:
            return made
        often, self.often = self.often, Counter()
        cleared, self.cleared = self.cleared, {}
        fresh, self.fresh = self.fresh, False
        self.behaving += 1
        backwards = self.backwards
        inside, self.inside = self.inside, None
        under, self.under = self.under, ()
        try:
            count = (
                len(set(self.parameters(routine)[len(routine.given) :]) - routine.named.keys())
                if routine.unit is not None
                else int((routine.term or NONE).label)
            )
            given: list[Any] = [Thing(mark("argument", i), item=True, batch=True) for i in range(count)]
            passes = routine.unit is not None and routine.unit.last in FORWARD and routine.owner is not None
            value = (self.forward if passes else self.call)(routine, given, {})
            if self.backwards == backwards:
                self.clear()  # for whoever takes gradients next
            self.note("returns", self.mark(value), self.shaky(value))
        finally:
            self.behaving -= 1
            self.often, self.inside, self.under = often, inside, under
            self.cleared, self.fresh = cleared, fresh and self.backwards == backwards
        return made

    def parameters(self, routine: Routine) -> tuple[str, ...]:
        """What a function is called with."""
        if routine.unit is None:
            return ()
        names = routine.unit.parameters
        parent = self.units.get(routine.unit.owner)
        if (
            parent is not None
            and isinstance(parent.node, ast.ClassDef)
            and not self.decorated(routine.unit, "staticmethod")
        ):
            names = names[1:]
        return names

    def decorated(self, unit: Unit, name: str) -> bool:
        """Whether a function has this decorator."""
        return any(
            x.term.kind == "decorator" and (t := x.term.part("value")) is not None and t.label == name
            for x in unit.lines
        )

    def call(self, routine: Routine, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """Run a function of the program."""
        given, named = [*routine.given, *given], {**routine.named, **named}
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.depth -= 1
            return self.event("deep", given, named)
        under = self.under
        try:
            if routine.term is not None:
                frame = Frame(routine.frame.unit if routine.frame else self.top.unit, {}, routine.frame)
                frame.names.update({f"lambda-{i}": x for i, x in enumerate(given)})
                return self.value(routine.term.part("body") or NONE, frame)
            unit = routine.unit or self.top.unit
            self.touched.add(unit)
            if unit.owner and (parent := self.units.get(unit.owner.split(".")[0])) is not None:
                self.touched.add(parent)
            frame = Frame(unit, {}, routine.frame)
            self._bind(routine, unit, frame, given, named)
            for line in unit.lines:
                if line.term.kind == "decorator":
                    self.covered.add(line)
                    label = (line.term.part("value") or NONE).label
                    if label not in ("property", "staticmethod", "classmethod", "dataclass"):
                        self.under = (
                            *self.under,
                            self.mark(self.value(line.term.part("value") or NONE, self.top, quiet=True)),
                        )
            try:
                self.body(frame, None, "")
                value = None
            except _Return as done:
                value = done.value
            self.sinks(frame)
            return frame.yields or value
        finally:
            self.under = under
            self.depth -= 1

    def _bind(
        self, routine: Routine, unit: Unit, frame: Frame, given: Sequence[Any], named: Mapping[str, Any]
    ) -> None:
        names = self.parameters(routine)
        if len(names) < len(unit.parameters):
            frame.names[unit.parameters[0]] = (
                routine.owner if routine.owner is not None else Own(self.units[unit.owner])
            )
        arguments = unit.node.args if isinstance(unit.node, (ast.FunctionDef, ast.AsyncFunctionDef)) else None
        frame.names.update(zip(names, given, strict=False))
        rest = {k: x for k, x in named.items() if k not in names}
        frame.names.update({k: x for k, x in named.items() if k in names})
        if arguments is not None and arguments.vararg is not None:
            frame.names[arguments.vararg.arg] = list(given[len(names) :])
        if arguments is not None and arguments.kwarg is not None:
            frame.names[arguments.kwarg.arg] = rest
        for line in unit.lines:
            if line.term.kind == "default":
                if line.targets[0] not in frame.names:
                    self.covered.add(line)
                    frame.names[line.targets[0]] = self.value(line.term.part("value") or NONE, self.top)
        for i, name in enumerate(names):
            frame.names.setdefault(name, Thing(mark("argument", i), item=True, batch=True))

    def make(self, own: Own, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """An object of a class of the program."""
        self.touched.add(own.unit)
        made = Instance(own, -1 if only_data(own.unit) else len(self.instances))
        if made.order >= 0:
            self.instances.append(made)
            self.born(made)
        init = self.method(own, "__init__")
        if init is not None:
            self.call(Routine(init, self.top, made), given, named)
            return made
        node = own.unit.node
        fields = [
            s.target.id
            for s in getattr(node, "body", ())
            if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
        ]
        made.attributes.update(zip(fields, given, strict=False))
        made.attributes.update(named)
        return made

    def method(self, own: Own, name: str) -> Unit | None:
        """A method of a class of the program or of its bases in the program."""
        waiting, seen = [own.unit], set()
        while waiting:
            unit = waiting.pop(0)
            if unit in seen:
                continue
            seen.add(unit)
            if (found := self.units.get(f"{unit.name}.{name}")) is not None:
                return found
            if isinstance(unit.node, ast.ClassDef):
                waiting += [
                    self.units[b.id]
                    for b in unit.node.bases
                    if isinstance(b, ast.Name) and b.id in self.units
                ]
        return None

    def body(self, frame: Frame, head: Line | None, branch: str) -> None:
        """The lines that stand directly under a head."""
        index = self._inside.get(frame.unit)
        if index is None:
            index = {}
            for line in frame.unit.lines:
                above = line.around[-1] if line.around else None
                index.setdefault((above, line.branch if above is not None else ""), []).append(line)
            self._inside[frame.unit] = index
        for line in index.get((head, branch), ()):
            self.line(line, frame)

    def line(self, line: Line, frame: Frame) -> None:
        """One statement."""
        kind, term = line.term.kind, line.term
        if kind in ("default", "decorator"):
            return
        self.covered.add(line)
        self.step()
        if kind == "assign":
            value = self.value(term.part("value") or NONE, frame)
            if isinstance(line.node, ast.AugAssign) and isinstance(value, float) and line.around:
                value = Count(value)  # of steps or samples: no more than three of them are run over
            self.put(term.part("target") or NONE, value, frame)
        elif kind == "do":
            value = self.value(term.part("value") or NONE, frame)
            if isinstance(value, (Tensor, float, int, str, list, dict)):
                self.note("shown", mark([self.mark(value)]), self.shaky(value))
        elif kind == "return":
            raise _Return(self.value(term.part("value") or NONE, frame))
        elif kind == "for":
            over = self.value(term.part("value") or NONE, frame)
            index, modes = counter(line), self.modes.put
            for i, item in enumerate(self.each(over)):
                self.put(term.part("target") or NONE, item, frame)
                if index:
                    frame.names[index] = Thing(mark("count", i, self.mark(over)))
                try:
                    self.body(frame, line, "body")
                except _Leave as left:
                    if left.kind == "break":
                        self.partial = self.partial or self.modes.put != modes
                        break
        elif kind == "while":
            modes = self.modes.put
            for i in range(2):
                test = self.value(term.part("test") or NONE, frame)
                self.note("while", self.mark(test), self.shaky(test))
                if not self.truth(test):
                    self.partial = self.partial or (i > 0 and self.modes.put != modes)
                    break
                try:
                    self.body(frame, line, "body")
                except _Leave as left:
                    if left.kind == "break":
                        self.partial = self.partial or self.modes.put != modes
                        break
        elif kind == "if":
            test = self.value(term.part("test") or NONE, frame)
            holds = self.truth(test)
            self.branches.add((id(term), holds))
            if self.lazy and asks_mode(line):
                self.branches.add((id(term), not holds))  # known in every run
            self.body(frame, line, "body" if holds else "else")
        elif kind == "with":
            value = self.value(term.part("value") or NONE, frame, quiet=True)
            for name in line.targets:
                frame.names[name] = value
            before, self.under = self.under, (*self.under, self.mark(value))
            try:
                self.body(frame, line, "body")
            finally:
                self.under = before
        elif kind in ("break", "continue"):
            raise _Leave(kind)
        elif kind == "other":
            for _, part in term.parts:
                self.value(part, frame)

    def put(self, target: Term, value: Any, frame: Frame) -> None:
        """Give a value to a name, an attribute, a place or several of them."""
        if target.kind in ("name", "api"):
            frame.names[target.label] = value
        elif target.kind == "sequence":
            stars = [i for i, (_, p) in enumerate(target.parts) if p.kind == "star"]
            if stars:
                for _, part in target.parts:
                    inner = part.part("of") if part.kind == "star" else part
                    self.put(inner or part, self.pure("unpacked", [value, part.kind], {}), frame)
                return
            for i, (_, part) in enumerate(target.parts):
                self.put(part, self.item(value, float(i)), frame)
        elif target.kind == "attribute":
            of = self.value(target.part("of") or NONE, frame)
            if isinstance(of, Instance):
                of.attributes[target.label] = value
            elif isinstance(of, Thing):
                of.attributes[target.label] = value
                self.event("set attribute", [target.label, value], {}, of)
            else:
                self.event("set attribute", [target.label, value], {}, of)
        elif target.kind == "item":
            of = self.value(target.part("of") or NONE, frame)
            index = self.value(target.part("index") or NONE, frame)
            if isinstance(of, dict):
                of[self.key(index)] = value
                return
            if isinstance(of, list) and isinstance(index, (int, float)) and 0 <= index < len(of):
                of[int(index)] = value
                return
            made = self.event("set item", [index, value], {}, of)
            self.put(target.part("of") or NONE, made, frame) if (
                target.part("of") or NONE
            ).kind == "name" else None
        else:
            self.event("set", [value], {}, target.kind)

    def called(self, term: Term, frame: Frame, quiet: bool = False) -> Any:
        """The value of a call."""
        label = term.label
        owner_term = term.part("self")
        given: list[Any] = []
        named: dict[str, Any] = {}
        owner = self.value(owner_term, frame) if owner_term is not None else None
        for edge, part in term.parts:
            if edge == "self":
                continue
            value = self.value(part, frame)
            if part.kind == "star":
                given += list(value) if isinstance(value, (list, tuple)) else [("star", value)]
            elif edge == "**":
                named.update(
                    {str(k): x for k, x in value.items()} if isinstance(value, dict) else {"**": value}
                )
            elif edge.startswith("#"):
                given.append(value)
            else:
                named[edge] = value
        if owner_term is not None:
            return self._method(label, owner, owner_term, given, named, frame, quiet)
        plain = not isinstance(term.node, ast.Call) or isinstance(term.node.func, ast.Name)
        target = self.named(label, frame if plain else None)  # `x.mean()`, whatever `mean` is here
        if isinstance(target, (Own, Routine, Instance, Chain)) or (plain and label in frame.names):
            return self.invoke(target, given, named)
        if isinstance(target, Thing) and target.mark != mark("name", self.name_of(label)):
            return self.invoke(target, given, named)
        return self.outside(label, given, named, quiet, term)

    def invoke(self, callee: Any, given: list[Any], named: dict[str, Any]) -> Any:
        """Call a value."""
        if isinstance(callee, Own):
            return self.make(callee, given, named)
        if isinstance(callee, Routine):
            return self.call(callee, given, named)
        if isinstance(callee, Instance):
            for name in FORWARD:
                if (unit := self.method(callee.made_of, name)) is not None:
                    return self.forward(Routine(unit, self.top, callee), given, named)
            return self.event("call", given, named, callee)
        if isinstance(callee, Chain) and callee.runs and len(given) == 1 and not named:
            value = given[0]
            for item in callee.items:
                value = self.invoke(item, [value], {})
            return value
        if isinstance(callee, Thing) and "__function__" in callee.attributes:
            label, settings = callee.attributes["__function__"]
            return self.outside(label, given, {**settings, **named}, False, NONE)
        if isinstance(callee, Thing) and "__merges__" in callee.attributes and len(given) == 1 and not named:
            if isinstance(given[0], (list, tuple)) and given[0]:
                return self.merged(callee.attributes["__merges__"], list(given[0]))
        if isinstance(callee, Thing) and "__then__" in callee.attributes:
            layer = callee.attributes.get("__layer__")
            value = (
                self.event("call", given, named, layer) if layer is not None else given[0] if given else None
            )
            then = callee.attributes["__then__"]
            return (
                self.computed(then, [value], {"dim": -1.0} if "softmax" in then else {})
                if then != "linear"
                else value
            )
        return self.event("call", given, named, callee)

    def forward(self, routine: Routine, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """A forward pass: its values tell what depends on what, so that layers may be called in any order."""
        if self.inside is not None:
            return self.call(routine, given, named)
        self.tell_modes()
        self.inside = []
        try:
            return self.call(routine, given, named)
        finally:
            calls, self.inside = self.inside, None
            self.note("forward", mark(sorted(c[0] for c in calls)), any(c[1] for c in calls))

    def _module_name(self, owner: Any, term: Term) -> str:
        """What a module is called where it runs."""
        if isinstance(owner, Instance):
            own = next((n for n in FORWARD if self.method(owner.made_of, n) is not None), "")
            return (
                owner.made_of.unit.last
                if own and owner.made_of.unit.last in self.called_names
                else term.label
            )
        return term.label if term.kind in ("name", "attribute") else ""

    def _method(
        self,
        label: str,
        owner: Any,
        owner_term: Term,
        given: list[Any],
        named: dict[str, Any],
        frame: Frame,
        quiet: bool,
    ) -> Any:
        if label == "":
            return self.invoke(owner, given, named)
        own = isinstance(owner, Instance) and self.method(owner.made_of, label) is not None
        if (
            label in SETS
            and not own
            and self.puts_into_mode(label, owner, self._module_name(owner, owner_term), given, named)
        ):
            return owner
        if isinstance(owner, Instance):
            if label in owner.attributes:
                return self.invoke(owner.attributes[label], given, named)
            if label == "forward":
                return self.invoke(owner, given, named)
            if (unit := self.method(owner.made_of, label)) is not None:
                if self.decorated(unit, "property"):
                    return self.invoke(self.attribute(owner, label), given, named)
                return self.call(Routine(unit, self.top, owner), given, named)
        if isinstance(owner, Own) and (unit := self.method(owner, label)) is not None:
            known = self.decorated(unit, "staticmethod") or self.decorated(unit, "classmethod")
            if known:
                return self.call(Routine(unit, self.top), given, named)
            if given and isinstance(given[0], Instance):
                return self.call(Routine(unit, self.top, given[0]), given[1:], named)
        if owner_term.kind == "call" and owner_term.label == "super":
            me = frame.names.get("self")
            if isinstance(me, Instance) and isinstance(me.made_of.unit.node, ast.ClassDef):
                above = self.units.get(frame.unit.owner)
                bases = above.node.bases if above is not None and isinstance(above.node, ast.ClassDef) else []
                for base in bases:
                    if isinstance(base, ast.Name) and base.id in self.units:
                        if (unit := self.method(Own(self.units[base.id]), label)) is not None:
                            return self.call(Routine(unit, self.top, me), given, named)
                return self.event("super " + label, given, named, me.order)
        if isinstance(owner, Thing) and label in owner.attributes:
            return self.invoke(owner.attributes[label], given, named)
        if isinstance(owner, (list, dict)):
            done, value = self.collection(label, owner, given)
            if done:
                return value
        if label == "parse_args" and self.options:
            return Thing(mark("options"))
        if label in ("save_hyperparameters", "locals"):
            named = {
                **{k: x for k, x in frame.names.items() if k in frame.unit.parameters and x is not owner},
                **named,
            }
        if label in ("add_argument", "add_option") and given and isinstance(given[0], str):
            return self.option(given, named)
        if label in ("to", "astype") and (cast := self._cast([owner, *given], named)) is not None:
            return cast
        if label in PURE or quiet or (isinstance(owner, str)):
            return self.pure(label, given, named, owner)
        made = self.event(label, given, named, owner)
        if label.endswith("_") and not label.endswith("__"):
            if owner_term.kind == "name":
                frame.names[owner_term.label] = made
            return made if isinstance(owner, (Thing, Tensor)) else owner
        return made


__all__ = ["Enough", "Machine", "TooLong"]

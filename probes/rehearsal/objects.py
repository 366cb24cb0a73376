"""Functions, classes and objects of a program while it is rehearsed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ..scripts.bounds import MOST_ITEMS
from .asking import Asking
from .libraries import METHODS, Call, find_function, find_method, find_start, library
from .values import (
    Bound,
    Enough,
    Instance,
    Kind,
    Library,
    Loader,
    Net,
    Partial,
    Returned,
    Routine,
    Scope,
    Unknown,
    Weight,
    turned_out,
)

if TYPE_CHECKING:
    pass

DEEP = 40
YIELDS = 64
NETS = (
    "Module",
    "Cell",
    "LightningModule",
    "Layer",
    "Model",
    "PreTrainedModel",
    "GenerationMixin",
    "TrainOneStepCell",
    "TrainOneStepWithLossScaleCell",
    "WithLossCell",
    "Sequential",
)
HOMES = {
    "keras": "keras",
    "tensorflow": "keras",
    "tf_keras": "keras",
    "mindspore": "mindspore",
    "paddle": "paddle",
    "flax": "flax",
    "equinox": "equinox",
}
LISTED = ("keras", "flax", "equinox")  # what stands in their networks' lists belongs to them
ASLEEP = ("keras", "mindspore")  # their networks begin in evaluation mode


_RATES = re.compile(r"(?i)(?:^|_)(?:lr|learning_?rate|sched\w*|warm_?up\w*|anneal\w*|cosine\w*)(?:_|$)")
_OF_NETS = ("parameters", "named_parameters", "trainable_params")  # only networks give these when called


class Objects(Asking):
    """Attributes, calls and what objects do."""

    # ------------------------------------------------------------------------------------ attributes

    def attribute(self, owner: Any, name: str, node: ast.AST) -> Any:
        """An attribute of a value."""
        if isinstance(owner, Instance):
            return self._of_instance(owner, name, node)
        if isinstance(owner, Kind):
            if name in ("__name__", "__qualname__"):
                return owner.node.name
            found = owner.find(name)
            if found is None and find_method(owner, name) is not None:
                return Bound(owner, name)
            if found is None:
                return Unknown(f"{owner.node.name}.{name}")
            return self._bound_routine(found[1], owner, found[0])
        if isinstance(owner, Library):
            if owner.name == "absl.flags.FLAGS":
                return self.machine.flag(name)
            held = self.top.names.get(name)
            if isinstance(held, (Routine, Kind)) and owner.root in self.own_modules:
                return held
            return library(f"{owner.name}.{name}")
        if isinstance(owner, dict) and name in owner:
            return owner[name] if self.is_namespace(owner) else Bound(owner, name)
        if isinstance(owner, Unknown):
            if owner.net is not None:
                return self.attribute(owner.net, name, node)
            return self.unknown_of(f"{owner.key}.{name}", [owner, name])
        known = self.field_of(owner, name, node)
        return known if known is not None else Bound(owner, name)

    @staticmethod
    def is_namespace(owner: dict[Any, Any]) -> bool:
        """Whether a mapping is one whose entries are asked for as attributes."""
        return type(owner) is Namespace

    def _of_instance(self, owner: Instance, name: str, node: ast.AST) -> Any:
        if name in owner.attributes:
            return turned_out(owner.attributes[name])
        if isinstance(owner, Net):
            if name in owner.children:
                return owner.children[name]
            if name in owner.weights:
                return owner.weights[name]
            if name == "training":
                return owner.mode
        if name == "__class__" and owner.kind is not None:
            return owner.kind
        if name == "__dict__":
            return owner.attributes
        found = owner.kind.find(name) if owner.kind is not None else None
        if found is not None:
            return self._bound_routine(found[1], owner, found[0])
        if owner.kind is not None and not isinstance(owner, Net):
            asks = owner.kind.find("__getattr__")
            if asks is not None:
                return self.call_routine(
                    Routine(asks[1].node, asks[1].around, owner, asks[0]), [name], {}, node
                )
        known = self.field_of(owner, name, node)
        return known if known is not None else Bound(owner, name)

    def _bound_routine(self, held: Any, owner: Any, kind: Kind) -> Any:
        if isinstance(held, Routine) and held.owner is None:
            marks = {_last(d) for d in getattr(held.node, "decorator_list", ())}
            if "staticmethod" in marks or (isinstance(owner, Kind) and "classmethod" not in marks):
                return held
            bound = Routine(held.node, held.around, owner, kind)
            if "classmethod" in marks and isinstance(owner, Instance):
                bound.owner = owner.kind
            if marks & {"property", "cached_property"}:
                return self.call_routine(bound, [], {}, held.node)
            return bound
        return held

    def set_attribute(self, owner: Any, name: str, value: Any, node: ast.AST) -> None:
        """Give an attribute a value; networks register networks and weights."""
        if isinstance(owner, Net):
            owner.children.pop(name, None)
            owner.weights.pop(name, None)
            owner.attributes.pop(name, None)
            if owner.home == "keras" and name == "trainable" and isinstance(value, bool):
                self.trains(owner, value)
            elif isinstance(value, Net):
                owner.children[name] = value
            elif isinstance(value, Weight):
                owner.weights[name] = value
            elif name == "training" and isinstance(value, bool):
                owner.mode = value
            else:
                owner.attributes[name] = value
                if owner.home in LISTED and isinstance(value, (list, tuple)):
                    found = {f"{name}.{i}": v for i, v in enumerate(value) if isinstance(v, Net)}
                    owner.children.update(found)
        elif isinstance(owner, Instance):
            setter = owner.kind.find(name) if owner.kind is not None else None
            marks = (
                {_last(d) for d in getattr(getattr(setter[1], "node", None), "decorator_list", ())}
                if setter
                else set()
            )
            if "setter" in marks and setter is not None:
                self.call_routine(
                    Routine(setter[1].node, setter[1].around, owner, setter[0]), [value], {}, node
                )
            else:
                owner.attributes[name] = value
        elif isinstance(owner, Kind):
            owner.body[name] = value
        elif isinstance(owner, dict) and self.is_namespace(owner):
            owner[name] = value
        else:
            self.set_field(owner, name, value, node)

    # ------------------------------------------------------------------------------------ calls

    def _of_call(self, node: ast.Call, scope: Scope) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            return self._super(scope)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _OF_NETS:
            owner = self.value(node.func.value, scope)
            if type(owner) is Unknown and owner.net is None:
                owner.net = self.net_of_library(owner.key, node)
            callee = self.attribute(owner, node.func.attr, node.func)
        else:
            callee = self.value(node.func, scope)
        given: list[Any] = []
        for one in node.args:
            if isinstance(one, ast.Starred):
                given += self.items(self.value(one.value, scope), one)
            else:
                given.append(self.value(one, scope))
        named: dict[str, Any] = {}
        for key in node.keywords:
            held = self.value(key.value, scope)
            if key.arg is not None:
                named[key.arg] = held
            elif isinstance(held, dict):
                named.update({k: v for k, v in held.items() if isinstance(k, str)})
        self.telling(callee, given, named, node, scope)
        return self.call(callee, given, named, node)

    def _super(self, scope: Scope) -> Any:
        owner, kind = scope.find("<owner>"), scope.find("<kind>")
        return Bound((owner, kind), "super") if owner is not None else Unknown("super")

    def call(self, callee: Any, given: list[Any], named: dict[str, Any], node: ast.AST) -> Any:
        """What a callee gives."""
        self.tick()
        if isinstance(callee, Routine):
            if self.leaves and not self.inside_net:
                answer = self.of_weights(callee, given, named, node)
                if answer is not NotImplemented:
                    return answer
            answer = self.call_routine(callee, given, named, node)
            if type(answer) is float and _RATES.search(getattr(callee.node, "name", "")):
                self.machine.asked_for_rate(callee, given, named, node)
            return answer
        if isinstance(callee, Kind):
            return self.instance(callee, given, named, node)
        if isinstance(callee, Net):
            return self.ask(callee, given, named, node)
        if isinstance(callee, Instance):
            found = callee.kind.find("__call__")
            if found is not None:
                return self.call(self._bound_routine(found[1], callee, found[0]), given, named, node)
            return self.unknown_call(callee, given, named, node, "")
        if isinstance(callee, Partial):
            return self.call(callee.function, [*callee.given, *given], {**callee.named, **named}, node)
        if isinstance(callee, Library):
            return self.call_library(callee, given, named, node)
        if isinstance(callee, Bound):
            return self.call_method(callee, given, named, node)
        known = self.called(callee, given, named, node)
        if known is not None:
            return known
        return self.unknown_call(callee, given, named, node, getattr(callee, "key", ""))

    def call_library(self, callee: Library, given: list[Any], named: dict[str, Any], node: ast.AST) -> Any:
        """A function or class of a library."""
        known = find_function(callee)
        if known is not None:
            held = known(Call(self.machine, callee, given, named, node))
            if held is not NotImplemented:
                return self.told_apart(held, callee.last, [*given, *named.values()])
        return self.unknown_call(callee, given, named, node, callee.last)

    def call_method(self, callee: Bound, given: list[Any], named: dict[str, Any], node: ast.AST) -> Any:
        """A method of anything but an object of the program."""
        owner = callee.owner
        if callee.name == "super" or (isinstance(owner, Bound) and owner.name == "super"):
            return self._of_super(callee, given, named, node)
        for kind in type(owner).__mro__:
            known = METHODS.get((kind, callee.name)) or METHODS.get((kind, "*"))
            if known is not None:
                held = known(Call(self.machine, callee, given, named, node))
                if held is not NotImplemented:
                    return self.told_apart(held, callee.name, [owner, *given, *named.values()])
        return self.unknown_call(owner, given, named, node, callee.name)

    def _of_super(self, callee: Bound, given: list[Any], named: dict[str, Any], node: ast.AST) -> Any:
        """`super().name(...)`: of the next class of the program that has it, else of the library's class."""
        if not isinstance(callee.owner, Bound):
            return Unknown("super")
        owner, kind = callee.owner.owner
        line = list(owner.kind.line()) if isinstance(owner, Instance) and owner.kind else []
        after = line[line.index(kind) + 1 :] if kind in line else []
        for one in after:
            if callee.name in one.body:
                held = one.body[callee.name]
                if isinstance(held, Routine):
                    return self.call_routine(Routine(held.node, held.around, owner, one), given, named, node)
        if callee.name in ("__setattr__",) and len(given) == 2 and isinstance(given[0], str):
            owner.attributes[given[0]] = given[1]
            return None
        if callee.name == "__init__" and isinstance(owner, Instance):
            self.started(owner, given, named, node)
            return None
        if callee.name == "__call__" and isinstance(owner, Net):
            return self.ask(owner, given, named, node)
        if callee.name.startswith("__"):
            return None
        return self.call_method(Bound(owner, callee.name), given, named, node)

    def call_routine(self, routine: Routine, given: list[Any], named: dict[str, Any], node: ast.AST) -> Any:
        """Go through a function of the program."""
        if len(self.calls) >= DEEP:
            return Unknown("deep")
        scope = Scope(routine.around)
        self._arguments(routine, scope, given, named)
        if routine.owner is not None:
            scope.names.setdefault("<owner>", routine.owner)
            scope.names["<kind>"] = routine.of
        if isinstance(routine.node, ast.Lambda):
            return self.value(routine.node.body, scope)
        marks = {_last(d) for d in routine.node.decorator_list}
        gives = _yields(routine.node)
        self.calls.append(routine.node)
        self.scopes.append(scope)
        self.visited.add(routine.node)
        if gives:
            self.yields.append([])
        graph = self.graph
        if marks & {"no_grad", "inference_mode"}:
            self.graph = False
        try:
            self.block(routine.node.body, scope)
        except Returned as back:
            return self.yields[-1] if gives else back.value
        except Enough:
            pass
        finally:
            self.graph = graph
            self.calls.pop()
            self.scopes.pop()
            found = self.yields.pop() if gives else None
        return found

    def yielded(self, value: Any, node: ast.AST) -> Any:
        """A generator gives something: it is gone through at once, up to a number of items."""
        if not self.yields:
            return Unknown("yield")
        self.yields[-1].append(value)
        if len(self.yields[-1]) >= YIELDS:
            raise Enough
        return Unknown("sent")

    def _arguments(self, routine: Routine, scope: Scope, given: list[Any], named: dict[str, Any]) -> None:
        args = routine.node.args
        names = [a.arg for a in (*args.posonlyargs, *args.args)]
        given = list(given)
        if routine.owner is not None:
            given.insert(0, routine.owner)
        for place, default in zip(reversed(names), reversed(args.defaults), strict=False):
            if place not in named and names.index(place) >= len(given):
                scope.names[place] = self.value(default, routine.around)
        for one, value in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            if value is not None and one.arg not in named:
                scope.names[one.arg] = self.value(value, routine.around)
        scope.names.update(zip(names, given, strict=False))
        if args.vararg is not None:
            scope.names[args.vararg.arg] = tuple(given[len(names) :])
        known = {*names, *(a.arg for a in args.kwonlyargs)}
        rest = {k: v for k, v in named.items() if k not in known}
        scope.names.update({k: v for k, v in named.items() if k in known})
        if args.kwarg is not None:
            scope.names[args.kwarg.arg] = rest
        for place in known:
            if place not in scope.names:
                scope.names[place] = Unknown(place)

    def instance(self, kind: Kind, given: list[Any], named: dict[str, Any], node: ast.AST) -> Any:
        """An object of a class of the program."""
        made: Instance
        if kind.derives(
            "Enum", "IntEnum", "StrEnum", "Exception", "NamedTuple", "TypedDict"
        ) and not kind.find("__init__"):
            fields = _fields(kind)
            if not fields:
                return Unknown(kind.node.name)
        if self.is_net(kind):
            made = Net(kind, serial=len(self.nets), node=node, home=home_of(kind.foreign()))
            made.mode = made.home not in ASLEEP
            made.given, made.named = tuple(given), named
            self.nets.append(made)
        else:
            made = Instance(kind)
        start = kind.find("__init__")
        if start is not None and isinstance(start[1], Routine):
            self.call_routine(Routine(start[1].node, start[1].around, made, start[0]), given, named, node)
        elif find_start(kind.foreign()) is not None:
            self.started(made, given, named, node)
        else:
            self._of_dataclass(kind, made, given, named, node)
        return made

    def started(self, made: Instance, given: list[Any], named: dict[str, Any], node: ast.AST) -> None:
        """What the library's class that an object derives from does when it is made."""
        known = find_start(made.kind.foreign()) if made.kind is not None else None
        if known is not None:
            known(self.machine, made, given, named, node)

    def _of_dataclass(
        self, kind: Kind, made: Instance, given: list[Any], named: dict[str, Any], node: ast.AST
    ) -> None:
        fields = _fields(kind)
        for field, statement, of in fields:
            if statement.value is not None:
                held = self.value(statement.value, of.around)
                made.attributes[field] = self.default_of(held, node)
        made.attributes.update(zip((f for f, _, _ in fields), given, strict=False))
        made.attributes.update(named)
        after = kind.find("__post_init__")
        if after is not None and isinstance(after[1], Routine):
            self.call_routine(Routine(after[1].node, after[1].around, made, after[0]), [], {}, node)

    def default_of(self, held: Any, node: ast.AST) -> Any:
        """What `field(default=..., default_factory=...)` gives."""
        if isinstance(held, tuple) and len(held) == 2 and held[0] == "<field>":
            if "default_factory" in held[1]:
                return self.call(held[1]["default_factory"], [], {}, node)
            return held[1].get("default")
        return held

    @staticmethod
    def is_net(kind: Kind) -> bool:
        """Whether objects of a class are networks."""
        return kind.derives(*NETS)

    # ------------------------------------------------------------------------------------ items

    def items_known(self, value: Any) -> list[Any] | None:
        """The items of something, or None."""
        if isinstance(value, (list, tuple, set, range)):
            self.tick(min(len(value), MOST_ITEMS) // 100)
            return list(islice(value, MOST_ITEMS))
        if isinstance(value, dict):
            return list(value)
        if isinstance(value, str):
            return list(value[:1000])
        found: list[Any] | None = self.items_of(value)
        return found

    def iterated(self, over: Any, node: ast.AST) -> Any:
        """What a loop goes over, one after the other."""
        if isinstance(over, range):
            return over
        if isinstance(over, Instance) and not isinstance(over, Net):
            found = over.kind.find("__iter__")
            if found is not None:
                return self.iterated(
                    self.call(self._bound_routine(found[1], over, found[0]), [], {}, node), node
                )
            if over.kind.find("__getitem__") is not None:
                return [self.item(over, i, node) for i in range(3)]
        if isinstance(over, Loader):
            return self.batches(over, node)
        lazy = self.gone_through(over, node)
        if lazy is not None:
            return lazy
        held = self.items_known(over)
        if held is not None:
            return held
        return [self.unknown_of(f"item {i}", [over, str(i)]) for i in range(2)]

    @contextmanager
    def entered(self, held: Any, node: ast.expr) -> Iterator[Any]:
        """What a `with` brings about."""
        if isinstance(held, Instance) and held.kind is not None and held.kind.find("__enter__"):
            start, end = held.kind.find("__enter__"), held.kind.find("__exit__")
            given = self.call(self._bound_routine(start[1], held, start[0]), [], {}, node)  # type: ignore[index]
            try:
                yield given
            finally:
                if end is not None:
                    self.call(self._bound_routine(end[1], held, end[0]), [None, None, None], {}, node)
            return
        if isinstance(held, tuple) and len(held) == 2 and held[0] == "<graph>":
            graph, self.graph = self.graph, held[1]
            try:
                yield None
            finally:
                self.graph = graph
            return
        if isinstance(held, Manager):
            yield from held.within(self)
            return
        enter, leave = find_method(held, "__enter__"), find_method(held, "__exit__")
        if enter is not None:
            bound = Call(self.machine, Bound(held, "__enter__"), [], {}, node)
            given = enter(bound)
            try:
                yield given
            finally:
                if leave is not None:
                    leave(bound)
            return
        yield held


def home_of(names: list[str]) -> str:
    """The library of a network, by the dotted names of the classes it derives from; "" for PyTorch."""
    return next((HOMES[r] for n in names if (r := n.partition(".")[0]) in HOMES), "")


class Namespace(dict[str, Any]):
    """A mapping whose entries are asked for as attributes: what an argument parser gives."""


class Manager:
    """A function of the program with one `yield` that a `with` goes into and out of."""

    def __init__(self, routine: Routine, given: list[Any], named: dict[str, Any]) -> None:
        self.routine = routine
        self.given = given
        self.named = named

    def within(self, machine: Objects) -> Iterator[Any]:
        """Go through what stands before the `yield`, then what is within, then what stands after."""
        routine = self.routine
        scope = Scope(routine.around)
        machine._arguments(routine, scope, self.given, self.named)
        body = routine.node.body if not isinstance(routine.node, ast.Lambda) else []
        before, held, after = split_at_yield(body)
        machine.block(before, scope)
        given = None
        if held is not None and held.value is not None:
            given = machine.value(held.value, scope)
        try:
            yield given
        finally:
            machine.block(after, scope)


def split_at_yield(body: list[ast.stmt]) -> tuple[list[ast.stmt], ast.Yield | None, list[ast.stmt]]:
    """What stands before the one `yield` of a function, the `yield`, and what stands after it."""
    for place, statement in enumerate(body):
        inner = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(inner, ast.Yield):
            return body[:place], inner, body[place + 1 :]
        if isinstance(statement, (ast.Try, ast.With)) and any(
            isinstance(n, ast.Yield) for n in ast.walk(statement)
        ):
            first, held, rest = split_at_yield(statement.body)
            last = statement.finalbody if isinstance(statement, ast.Try) else []
            return [*body[:place], *first], held, [*rest, *last, *body[place + 1 :]]
    return body, None, []


def _last(node: ast.expr) -> str:
    inner = node.func if isinstance(node, ast.Call) else node
    return inner.attr if isinstance(inner, ast.Attribute) else getattr(inner, "id", "")


_YIELDS: WeakKeyDictionary[ast.AST, bool] = WeakKeyDictionary()  # asked at each call, and told once


def _yields(node: ast.AST) -> bool:
    if node not in _YIELDS:
        _YIELDS[node] = _finds_yield(node)
    return _YIELDS[node]


def _finds_yield(node: ast.AST) -> bool:
    waiting = list(ast.iter_child_nodes(node))
    while waiting:
        one = waiting.pop()
        if isinstance(one, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting += ast.iter_child_nodes(one)
    return False


def _fields(kind: Kind) -> list[tuple[str, ast.AnnAssign, Kind]]:
    """The annotated names of a class and of those that it derives from, the base's first."""
    found: dict[str, tuple[str, ast.AnnAssign, Kind]] = {}
    for one in reversed(list(kind.line())):
        for s in one.node.body:
            if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name):
                found[s.target.id] = (s.target.id, s, one)
    return list(found.values())

"""Values of expressions in a symbolic run: names, items, containers and arithmetic."""

from __future__ import annotations

import ast
import operator
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from . import values as v
from .events import Events
from .lines import Unit
from .objects import NONE, Chain, Count, Frame, Instance, Key, Own, Routine, inside, whole_slice
from .terms import Term
from .values import Tensor, Thing, mark

MAX_UNROLLED = 8  # longer ranges are run twice
_PLAIN: Mapping[str, Callable[[float, float], object]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}
_COMPARE: Mapping[str, Callable[[Any, Any], object]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}


class Expressions(Events):
    """Expressions; calls are made by who runs functions."""

    @abstractmethod
    def called(self, term: Term, frame: Frame, quiet: bool = False) -> Any:
        """The value of a call."""

    @abstractmethod
    def call(self, routine: Routine, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """Run a function of the program."""

    @abstractmethod
    def method(self, own: Own, name: str) -> Unit | None:
        """A method of a class of the program or of its bases in the program."""

    @abstractmethod
    def decorated(self, unit: Unit, name: str) -> bool:
        """Whether a function has this decorator."""

    @abstractmethod
    def put(self, target: Term, value: Any, frame: Frame) -> None:
        """Give a value to a name, an attribute, a place or several of them."""

    def value(self, term: Term, frame: Frame, quiet: bool = False) -> Any:
        """The value of a term; `quiet`: a call at its top is no event."""
        self.step()
        kind = term.kind
        if kind == "number":
            return float(term.label)
        if kind == "constant":
            return self._text(term, frame) if isinstance(term.node, ast.JoinedStr) else _constant(term.label)
        if kind == "key":
            return term.label
        if kind == "name":
            return self.named(term.label, frame)
        if kind == "api":
            return Thing(mark("api", term.label))
        if kind == "call":
            return self.called(term, frame, quiet)
        if kind == "attribute":
            return self.attribute(self.value(term.part("of") or NONE, frame), term.label)
        if kind == "item":
            index = self.value(term.part("index") or NONE, frame)
            return self.item(self.value(term.part("of") or NONE, frame), index)
        if kind == "slice":
            ends = [
                self.value(p, frame) if (p := term.part(e)) is not None else None
                for e in ("from", "to", "step")
            ]
            return slice(*ends)
        if kind == "sequence":
            found: list[Any] = []
            for _, part in term.parts:
                if part.kind == "star":
                    inner = self.value(part.part("of") or NONE, frame)
                    found += list(self.each(inner))
                else:
                    found.append(self.value(part, frame))
            return found if term.label != "set" else self.pure("set", [found], {})
        if kind == "mapping":
            return self._mapping(term, frame)
        if kind == "operation":
            return self._operation(term, frame)
        if kind == "choice":
            holds = self.truth(self.value(term.part("test") or NONE, frame))
            self.branches.add((id(term), holds))
            return self.value(term.part("then" if holds else "else") or NONE, frame)
        if kind == "lambda":
            return Routine(None, frame, None, term)
        if kind == "comprehension":
            return self._comprehension(term, frame)
        if kind == "star":
            return self.value(term.part("of") or NONE, frame)
        parts = [self.value(p, frame) for _, p in term.parts]
        if term.label in ("Yield", "YieldFrom"):
            frame.yields.append(parts[0] if parts else None)
            return None
        return self.pure(term.label or kind, parts, {})

    def _text(self, term: Term, frame: Frame) -> Any:
        """A formatted string: its text and the values of the names in it."""
        names = [n.id for n in ast.walk(term.node or ast.Constant(None)) if isinstance(n, ast.Name)]
        return self.pure("text", [term.label, *(self.named(n, frame) for n in names)], {})

    def named(self, name: str, frame: Frame | None) -> Any:
        """What a name stands for."""
        scope = frame.unit.name if frame is not None else ""
        around: dict[str, Frame] = {}
        while frame is not None:
            if name in frame.names:
                return frame.names[name]
            around.setdefault(frame.unit.name, frame)
            frame = self.top if frame.outer is None and frame is not self.top else frame.outer
        while True:
            full = f"{scope}.{name}" if scope else name
            if (found := self.units.get(full)) is not None and full:
                made_in = around.get(scope, self.top)
                return Own(found) if isinstance(found.node, ast.ClassDef) else Routine(found, made_in)
            if not scope:
                break
            scope = scope.rpartition(".")[0]
        return Thing(mark("name", self.name_of(name)))

    def attribute(self, of: Any, name: str) -> Any:
        """`of.name`."""
        if name == "training" and self.inside is None and isinstance(of, (Thing, Instance)):
            if name not in of.attributes and isinstance(mode := self.mode_of(of), bool):
                return mode
        if isinstance(of, Instance):
            if name in of.attributes:
                return of.attributes[name]
            unit = self.method(of.made_of, name)
            if unit is not None:
                routine = Routine(unit, self.top, of)
                return self.call(routine, [], {}) if self.decorated(unit, "property") else routine
            if (given := self._class_value(of.made_of, name)) is not None:
                return given[0]
            return Thing(mark("attribute", of.order, self.name_of(name)))
        if isinstance(of, Own):
            if (given := self._class_value(of, name)) is not None:
                return given[0]
            unit = self.method(of, name)
            return (
                Routine(unit, self.top) if unit is not None else Thing(mark("attribute", self.mark(of), name))
            )
        if isinstance(of, Thing):
            if name in of.attributes:
                return of.attributes[name]
            if name in self.options:
                return self.options[name]
            if name in ("shape", "ndim"):
                known = of.item and name == "shape"
                return self.attribute(self.tensor(of), name) if known else self.pure(name, [], {}, of)
            return Thing(mark("attribute", of.mark, self.name_of(name)), of.shaky)
        if isinstance(of, Tensor):
            if name == "shape":
                return [float(n) for n in of.array.shape]
            if name == "ndim":
                return float(of.array.ndim)
        if isinstance(of, dict) and name in of:
            return of[name]
        return self.pure("attribute " + name, [], {}, of)

    def _class_value(self, own: Own, name: str) -> tuple[Any] | None:
        for line in own.unit.lines:
            if line.term.kind == "assign" and name in line.targets and not line.around:
                self.covered.add(line)
                return (self.value(line.term.part("value") or NONE, self.top),)
        return None

    def key(self, index: Any) -> Any:
        """What a value is as the key of a dict."""
        return (
            index
            if isinstance(index, (str, float, int, bool)) or index is None
            else Key(self.mark(index), index)
        )

    def unkeyed(self, key: Any) -> Any:
        """The value that a key was made of."""
        return key.value if isinstance(key, Key) else key

    def item(self, of: Any, index: Any) -> Any:
        """`of[index]`."""
        if isinstance(of, Thing) and of.mark == _ARGV and isinstance(index, float):
            return Thing(mark("argv", index), item=True)
        if isinstance(of, Chain):
            of = of.items
        if isinstance(of, dict):
            wanted = self.key(index)
            if wanted in of:
                return of[wanted]
            return self.pure("item", [index], {}, of)
        if isinstance(of, (list, tuple)):
            try:
                if isinstance(index, slice) and inside(index, len(of)):
                    return list(of)[whole_slice(index)]
                if isinstance(index, (int, float)) and not isinstance(index, bool):
                    return of[int(index)]
            except (IndexError, TypeError, ValueError):
                pass
            return self.pure("item", [index], {}, list(of))
        if isinstance(of, Tensor):
            try:
                if (picked := self._picked(of, index)) is not None:
                    return picked
                if not _within(index, of.array.shape):
                    raise v.Unfit  # six of two or three are all of them, and of a thousand they are not
                found = np.asarray(of.array[self._index(index)])
                return Tensor(found, of.shaky, of.under, of.cut, of.made)
            except (IndexError, TypeError, ValueError, v.Unfit):
                unfit = self.pure("item", [index], {}, of)
                unfit.shaky = True
                return unfit
        if isinstance(of, Thing):
            made = mark("item", of.mark, self.mark(index))
            like = mark("item", self.like(of), self.mark(index))
            return Thing(made, of.shaky or self.shaky(index), True, batch=of.batch, like=like)
        return self.pure("item", [index], {}, of)

    def _picked(self, of: Tensor, index: Any) -> Tensor | None:
        """`scores[arange(n), labels]`: of each row the element that its label says."""
        if not isinstance(index, (list, tuple)) or len(index) != 2 or of.array.ndim != 2:
            return None
        if not all(isinstance(x, (Thing, Tensor)) for x in index):
            return None
        rows, labels = self.tensor(index[0]), self.tensor(index[1])
        count = len(of.array)
        if "whole" not in rows.made or labels.array.shape != (count,) or labels.array.dtype == bool:
            return None
        if rows.array.shape != (count,) or not np.array_equal(rows.array, np.arange(count)):
            return None
        found = of.array[np.arange(count), v.classes(labels.array, of.array.shape[1])]
        return self._mixed(found, [of, labels])

    def _index(self, index: Any) -> Any:
        if isinstance(index, (list, tuple)):
            return tuple(self._index(x) for x in index)
        if isinstance(index, slice):
            return whole_slice(index)
        if isinstance(index, float):
            return int(index)
        if isinstance(index, Tensor) and index.array.dtype == bool:
            return index.array
        if index is None or index is Ellipsis:
            return index
        raise v.Unfit

    def _mapping(self, term: Term, frame: Frame) -> Any:
        found: dict[Any, Any] = {}
        keys = {e.removesuffix("-key"): p for e, p in term.parts if e.endswith("-key")}
        for edge, part in term.parts:
            if edge.endswith("-key"):
                continue
            value = self.value(part, frame)
            if edge in keys:
                found[self.key(self.value(keys[edge], frame))] = value
            elif edge.startswith("#"):
                found.update(value if isinstance(value, dict) else {Key(self.mark(value), value): value})
            else:
                found[edge] = value
        return found

    def _comprehension(self, term: Term, frame: Frame) -> Any:
        inner = Frame(frame.unit, {}, frame)
        found: list[Any] = []
        pairs: dict[Any, Any] = {}
        key = term.part("key")

        def level(i: int) -> None:
            over = term.part(f"in{i}")
            if over is None:
                value = self.value(term.part("value") or NONE, inner)
                if key is not None:
                    pairs[self.key(self.value(key, inner))] = value
                else:
                    found.append(value)
                return
            for item in self.each(self.value(over, inner)):
                self.put(term.part(f"for{i}") or NONE, item, inner)
                tests = [p for e, p in term.parts if e.startswith(f"if{i}.")]
                if all(self.truth(self.value(t, inner)) for t in tests):
                    level(i + 1)

        level(0)
        return pairs if key is not None else self.pure("set", [found], {}) if term.label == "set" else found

    def each(self, over: Any) -> Iterator[Any]:
        """What a loop runs over; of an unknown collection two or three items."""
        if isinstance(over, Chain):
            over = over.items
        if isinstance(over, dict):
            over = [self.unkeyed(k) for k in over]
        if isinstance(over, (list, tuple)):
            yield from list(over)[:64]
            return
        if isinstance(over, range):
            if len(over) <= MAX_UNROLLED:
                yield from map(float, over)
                return
            over = Thing(mark("range", over.start, over.stop, over.step), item=False)
        if isinstance(over, Tensor) and over.array.ndim:
            yield from (Tensor(x, over.shaky, over.under, over.cut) for x in over.array)
            return
        made = self.mark(over)
        if made not in self.looped:  # one loop over it or two: what is done in them is told by their events
            self.looped.add(made)
            self.note("each", made, self.shaky(over))
        for i in range(self.length(over)):
            yield Thing(
                mark(made, "each", i), self.shaky(over), True, batch=True, like=mark(self.like(over), "each")
            )

    def length(self, value: Any) -> int:
        """How often a loop over something unknown runs: two or three times, always the same for one thing."""
        if isinstance(value, Thing) and value.batch:
            return self.shape[0]
        return 2 + mark("length", self.mark(value), self.seed) % 2

    def truth(self, value: Any) -> bool:
        """Whether a condition holds; of something unknown by its mark."""
        if isinstance(value, (Thing, Tensor, Instance, Own, Routine, Chain)):
            self.unsure = self.unsure or self.shaky(value)
            if isinstance(value, Chain):
                return bool(value.items)
            if isinstance(value, (Instance, Own, Routine)):
                return True
            if isinstance(value, Tensor) and value.array.dtype == bool:  # the opposite of its opposite
                opposite = Tensor(~value.array, value.shaky, value.under, value.cut)
                first = min(value.mark, opposite.mark)
                return (mark("truth", first, self.seed) % 2 == 0) == (first == value.mark)
            return mark("truth", self.mark(value), self.seed) % 2 == 0
        return bool(value)

    def tensor(self, value: Any) -> Tensor:
        """Any value as numbers.

        Raises v.Unfit for what is none.
        """
        if isinstance(value, Tensor):
            return value
        if isinstance(value, Thing):
            shape = () if value.scalar else self.shape_of(self.like(value))
            return Tensor(v.leaf(value.mark + self.salt, shape), value.shaky)
        if isinstance(value, bool):
            return Tensor(np.asarray(value))
        if isinstance(value, (int, float)):
            return Tensor(np.asarray(v.number(float(value))), made=frozenset({"number"}))
        if isinstance(value, (list, tuple)) and value:
            parts = [self.tensor(x) for x in value]
            try:
                return self._mixed(np.stack([p.array for p in parts]), parts)
            except ValueError as unfit:
                raise v.Unfit from unfit
        raise v.Unfit

    def _mixed(self, array: Any, parts: Sequence[Tensor], made: frozenset[str] | None = None) -> Tensor:
        if not np.all(np.isfinite(array)) or array.size > v.MAX_ELEMENTS:
            raise v.Unfit
        here = frozenset(self.under) if self.under else frozenset()
        cut = any(p.cut for p in parts) and all(p.cut or "number" in p.made for p in parts)
        shaky = any(p.shaky for p in parts)
        if made is None:
            made = frozenset().union(*(p.made for p in parts)) & v.KEPT
        return Tensor(array, shaky, here.union(*(p.under for p in parts)), cut, made)

    def computed(self, label: str, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """An operation on numbers, or what is known of it where it does not fit."""
        try:
            if label in ("cat", "stack") and given and isinstance(given[0], (list, tuple)):
                parts = [self.tensor(x) for x in given[0]]
                dim = named.get("dim", given[1] if len(given) > 1 else None)
                return self._mixed(v.joined(label, [p.array for p in parts], dim), parts)
            if label == "einsum" and given and isinstance(given[0], str):
                parts = [self.tensor(x) for x in given[1:]]
                return self._mixed(v.einsum(given[0], [p.array for p in parts]), parts)
            flat = list(given)
            if label in ("view", "permute") and len(flat) == 2 and isinstance(flat[1], (list, tuple)):
                flat = [flat[0], *flat[1]]
            parts = [self.tensor(x) for x in flat]
            rest = {
                k: (float(x.array) if isinstance(x, Tensor) and x.array.shape == () else x)
                for k, x in named.items()
            }
            if any(isinstance(x, (Thing, Tensor)) for x in rest.values()):
                raise v.Unfit
            with np.errstate(all="ignore"):
                if label in v.COMPARES and len(parts) == 2:
                    every = parts[0].made | parts[1].made
                    found = v.compare(v.COMPARES[label], parts[0].array, parts[1].array, every)
                    return self._mixed(found, parts)
                if label in ("**", "pow", "square") and parts[0].signed is not None:
                    if label == "square" or (len(parts) == 2 and np.all(parts[1].array == 2.0)):
                        parts[0] = replace(parts[0], array=parts[0].signed)
                factor, made = v.precision(label, [p.made for p in parts])
                found = v.compute(label, [p.array for p in parts], rest)
                mixed = self._mixed(found if factor == 1.0 else v.real(found) * factor, parts, made)
                mixed.signed = parts[0].array if label == "abs" else None
                return mixed
        except (v.Unfit, ValueError, TypeError, IndexError, OverflowError):
            unknown = self.pure(label, given, named)
            unknown.shaky = unknown.shaky or any(isinstance(x, (Thing, Tensor)) for x in given)
            return unknown

    def _operation(self, term: Term, frame: Frame) -> Any:
        label = term.label
        if label in ("and", "or"):
            value: Any = None
            for _, part in term.parts:
                value = self.value(part, frame)
                if self.truth(value) != (label == "and"):
                    return value
            return value
        given = [self.value(p, frame) for _, p in term.parts]
        if len(given) == 1:
            return self._unary(label, given[0])
        if len(given) != 2:
            return self.pure(label, given, {})
        a, b = given
        if label in ("==", "!=", "<", ">", "<=", ">=", "in", "not in"):
            return self._compared(label, a, b)
        if isinstance(a, (int, float)) and isinstance(b, (int, float)):
            return self._plain(label, a, b)
        if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and label == "+":
            if len(a) + len(b) > v.MAX_ELEMENTS:
                return self.pure(label, [len(a), len(b)], {})
            return [*a, *b]
        if label == "+" and (isinstance(a, list) or isinstance(b, list)):
            return self.pure("joined", given, {})
        if isinstance(a, str) or isinstance(b, str):
            return self.pure(label, given, {})
        if label in ("&", "|"):
            try:
                x, y = self.tensor(a), self.tensor(b)
                if x.array.dtype == y.array.dtype == bool:
                    return self._mixed(
                        np.logical_and(x.array, y.array) if label == "&" else np.logical_or(x.array, y.array),
                        [x, y],
                    )
            except (v.Unfit, ValueError):
                pass
            return self.pure(label, sorted(given, key=self.mark), {})
        return self.computed(label, given, {})

    def _plain(self, label: str, a: Any, b: Any) -> Any:
        counted = isinstance(a, Count) or isinstance(b, Count)
        if counted and label in ("//", "%"):
            return self.pure(label, [a, b], {})
        if (label == "*" and max(abs(a), abs(b)) > 1e9) or (label == "**" and abs(b) > 64):
            return self.pure(label, [a, b], {})
        try:
            made = _PLAIN[label](float(a), float(b))
        except (KeyError, ArithmeticError, TypeError):
            return self.pure(label, [a, b], {})
        if not isinstance(made, float):
            return self.pure(label, [a, b], {})
        return Count(made) if counted else made

    def _unary(self, label: str, a: Any) -> Any:
        if label == "not":
            if isinstance(a, Tensor) and a.array.dtype == bool:
                return Tensor(~a.array, a.shaky, a.under, a.cut)
            if isinstance(a, (Thing, Tensor)):
                return not self.truth(a)
            return not self.truth(a)
        if isinstance(a, (int, float)) and label == "negative":
            return -a
        return self.computed("negative", [a], {}) if label == "negative" else self.pure(label, [a], {})

    def _compared(self, label: str, a: Any, b: Any) -> Any:
        plain = (bool, int, float, str, type(None))
        if label in ("in", "not in"):
            if isinstance(b, dict):
                wanted = self.key(a)
                held = wanted in b
                if held or isinstance(a, plain):
                    return held == (label == "in")
            if isinstance(b, list) and isinstance(a, plain) and all(isinstance(x, plain) for x in b):
                return (a in b) == (label == "in")
            made = self.pure("in", [a, b], {})
            return made if label == "in" else not self.truth(made)
        if (
            isinstance(a, plain)
            and isinstance(b, plain)
            and not isinstance(a, Count)
            and not isinstance(b, Count)
        ):
            try:
                return bool(_COMPARE[label](a, b))
            except TypeError:
                return False
        known = (Instance, Own, Routine, Chain, list, dict)
        if (a is None or b is None) and isinstance(b if a is None else a, known):
            return label == "!="
        try:
            x, y = self.tensor(a), self.tensor(b)
            return self._mixed(v.compare(label, x.array, y.array, x.made | y.made), [x, y])
        except (v.Unfit, ValueError):
            pass
        flip = label in ("!=", "<=", ">=")
        if label in ("<", ">="):
            a, b = b, a
        sides = sorted((a, b), key=self.mark) if label in ("==", "!=") else [a, b]
        made = self.pure("==" if label in ("==", "!=") else ">", sides, {})
        return (not self.truth(made)) if flip else made


_ARGV = mark("api", "argv")


def _constant(label: str) -> Any:
    known, value = _literal(label)
    return value if known else Thing(mark("constant", label))


@lru_cache(maxsize=4096)
def _literal(label: str) -> tuple[bool, Any]:
    """(whether it is a plain value, the value) of a constant as it is written."""
    try:
        value = ast.literal_eval(label)
    except (ValueError, SyntaxError):
        return False, None
    return isinstance(value, (bool, str, float, int, type(None), type(...))), value


def _within(index: Any, shape: tuple[int, ...]) -> bool:
    """Whether every slice says of a guessed axis what it would say of one as long as real ones are."""
    parts = index if isinstance(index, (list, tuple)) else (index,)
    if any(x is None or x is Ellipsis for x in parts):
        return True
    return all(inside(x, n) for x, n in zip(parts, shape, strict=False) if isinstance(x, slice))

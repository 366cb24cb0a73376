"""The machine that rehearses a program: statements, objects, and what libraries give."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..readers._tree import unparse
from ..readers.script import last_name, receiver
from ..script_diff.vocabulary import word_set
from ..scripts.syntax import Script
from . import worlds
from .beginning import begin
from .expressions import ODD, is_key
from .journal import Asked, Backward, Cleared, Journal, Round, Stepped, Told, Written
from .libraries import Call, find_method
from .numbers import Numbers
from .objects import Manager, Objects
from .values import (
    Bound,
    Broken,
    Continued,
    Ended,
    Filled,
    Fit,
    Frame,
    Instance,
    Kind,
    Library,
    Loader,
    Met,
    Moves,
    Net,
    Optimizer,
    Partial,
    Partly,
    Raised,
    Returned,
    Routine,
    Schedule,
    Scope,
    Tensor,
    Thing,
    TooLong,
    Unknown,
    Way,
    Weight,
)

STEPS = 150_000
MOST_RATES = 200  # moments that are kept
BATCHES = 8  # of a loader: what steps are gathered over (2, 4, 8) goes into it
MADE_ROWS = 240  # of a table whose length is not known
_NAMELESS = word_set(
    "text part item entry default next sent yield count mul div add sub turned int str path ?"
)
_TELLS = word_set("print info warning debug log add_scalar log_dict log_metrics write echo report")
_WRAPS = word_set(
    "wraps lru_cache cache no_grad inference_mode staticmethod property cached_property classmethod "
    "setter abstractmethod overload jit function compile command main dataclass record enable_grad "
    "torch_required"
)


@dataclass(frozen=True, eq=False)
class Rated:
    """A function of the program was asked for a rate: with what, and in which rounds of loops."""

    node: ast.AST
    callee: Routine
    given: list[Any]
    named: dict[str, Any]
    loops: tuple[tuple[ast.AST, int], ...]
    guessed: tuple[Any, ...]


class Machine(Objects):
    """Rehearses one program. `journal` holds what happened."""

    def __init__(
        self,
        source: Script,
        steps: int = STEPS,
        numbers: Numbers | None = None,
        without: frozenset[ast.AST] = frozenset(),
        late: bool = False,
    ) -> None:
        super().__init__(source, steps)
        self.late = late  # conditions that only put training off hold already
        self.without = without  # expressions that are not gone through
        self.numbers = numbers  # None: answers have no values
        self.exact = numbers is not None
        self.losses: list[tuple[str, tuple[Tensor, ...]]] = []  # losses of libraries with what they are given
        self.tables: dict[int, tuple[str, int]] = {}  # number -> (what it is, rows)
        self.by_name: dict[str, Any] = {}  # what was read, by what was read
        self.made_tables: set[int] = set()  # those of numbers that the program draws
        self.same: dict[int, int] = {}  # tables whose rows were put together one by one: they are one
        self.columns: dict[tuple[int, str], Any] = {}  # (table, column) -> how its values lie
        self.fits: list[Fit] = []  # statistics that were taken of rows
        # columns that met rows: where, in what, the answers in them, conditions that are not known
        self.crossed: list[tuple[ast.AST | None, str, frozenset[int], tuple[ast.AST, ...]]] = []
        self.met: list[Met] = []  # answers and data of the same table that came together
        self.compares: list[tuple[ast.AST, ast.cmpop, Any, Any]] = []  # where a tensor is held against what
        self.by_places: dict[int, Filled] = {}  # arrays that are given values place by place
        self.heads: dict[str, list[str]] = {}  # what writes a table -> the heads of its columns
        self.sampling = 0  # within a data set's `__getitem__`: a sample's own statistics are none of rows
        self.files: dict[str, Any] = {}
        self.made_rows = MADE_ROWS
        self.optimizers: list[Optimizer] = []
        self.schedules: list[Schedule] = []
        self.loaders: list[Loader] = []
        self.versions = 0
        self.moves = Moves(self.nets)
        self.samplers: list[Any] = []  # of subsets of a data set
        self.backwards = 0
        self.drawn = 0
        self.first_uses: dict[tuple[str, int], int] = {}  # weights and layers in the order of a question
        self.layer_settings: dict[Any, tuple[Any, ...]] = {}  # what layers were made with, as parts of marks
        self.questions: dict[tuple[int, tuple[int, ...]], int] = {}  # networks and what they are asked of
        self.symbols = 0  # inputs of networks that were made of calls
        self.unknown_inputs: dict[int, int] = {}  # what is not known of what a network is asked of
        self.used: dict[int, set[int]] = {}  # weight -> backwards that a step has used
        self.modes_alone = False  # a network is gone through for the modes of its layers
        self.rated: list[Rated] = []  # moments at which a function of the program gave a rate
        self.gradients_read = False  # `weight.grad` was asked for: it may have been changed
        self.own_modules = {p.rpartition("/")[2].removesuffix(".py") for _, p in source.pieces}

    def run(self) -> Journal:
        """Go through the program; never raises for what a program holds."""
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.block(self.source.tree.body, self.top)
                self.begin_unbegun()
        except TooLong:
            self.journal.ended = "too long"
        except (Raised, Ended) as end:
            self.journal.ended = f"raised: {end}"
        except (Returned, Broken, Continued, RecursionError, *ODD) as error:
            self.journal.ended = f"failed: {type(error).__name__}: {error}"[:200]
        return self.journal

    def asked_for_rate(self, callee: Routine, given: list[Any], named: dict[str, Any], node: ast.AST) -> None:
        """Note that a function of the program was asked for a rate, and gave a number."""
        if len(self.rated) < MOST_RATES:
            self.rated.append(Rated(node, callee, given, named, tuple(self.loops), tuple(self.guessed)))

    def begin_unbegun(self) -> None:
        """Begin a training that another file, a command line or a notebook begins: no call of it is here."""
        if self.journal.of(Backward, Stepped, Asked):
            return
        begin(self)

    def network(self, name: str, node: ast.AST) -> Net:
        """A network of which nothing but its name is known."""
        made = worlds.networks.make_layer(self, name, [], {}, node)
        made.opaque = True
        return made

    # ------------------------------------------------------------------------------------ what is made

    @staticmethod
    def is_nameless(key: str) -> bool:
        """Whether the key of something that is not known says nothing of where it comes from."""
        return not _NAMELESS.isdisjoint(re.findall("[a-z]+|[?]", key))

    def table(self, name: str, rows: int = MADE_ROWS) -> int:
        """A table of data by its name: the same name gives the same table, what has none a fresh one."""
        if self.is_nameless(name):
            name = f"{name} {len(self.tables)}"
        for number, (known, _) in self.tables.items():
            if known == name:
                return number
        number = len(self.tables) + 1
        self.tables[number] = (name, rows)
        return number

    def one_table(self, number: int) -> int:
        """The table that stands for all whose rows go together."""
        while number in self.same:
            number = self.same[number]
        return number

    def weight(
        self, name: str, *, trains: bool = True, buffer: bool = False, ndim: int | None = None
    ) -> Weight:
        """A new weight."""
        made = Weight(serial=len(self.weights), trains=trains, name=name, buffer=buffer, ndim=ndim)
        self.weights[made.serial] = made
        return made

    def fit(self, kind: str, of: Tensor, node: ast.AST, over_columns: bool = False) -> frozenset[int]:
        """Put down that a statistic was taken of rows; its number, or nothing where they are not known."""
        if of.rows is None or not len(of.rows) or of.vague or of.table <= 0 or self.sampling:
            return frozenset()
        self.fits.append(Fit(kind, of.rows, of.table, node, of.by, over_columns))
        return frozenset((len(self.fits) - 1,))

    def meet(self, found: list[Tensor]) -> None:
        """Put down that answers and data come together, as in a loss: of the same table, as many rows."""
        answer = next((t for t in found if t.asked and t.rows is not None), None)
        if answer is None or answer.rows is None or self.here is None or len(self.met) > 4000:
            return
        for one in found:
            if one.rows is None or one.asked or one.deps or one.scalar:
                continue
            if self.one_table(one.table) != self.one_table(answer.table):
                continue
            sure = not (one.vague or one.mixed or answer.vague or answer.mixed) and one.table > 0
            if sure and len(one.rows) == len(answer.rows) > 1:
                held = (answer.asked, answer.rows, one, tuple(self.guessed), answer.units, one.units)
                self.met.append(Met(self.here, *held))

    def joined_tensors(
        self, name: str, found: list[Tensor], *, marked: bool = True, beside: bool = True
    ) -> Tensor:
        """A tensor made of several; of a table it is made of the columns that are left."""
        held = [worlds.as_array(f) for f in found]
        return super().joined_tensors(name, held, marked=marked, beside=beside)

    def draw(self) -> np.random.Generator:
        """Random numbers, the same in each rehearsal and other ones each time they are asked for."""
        self.drawn += 1
        return np.random.default_rng(self.drawn)

    # ------------------------------------------------------------------------------------ weights

    def clear(self, weights: list[Weight] | None, node: ast.AST) -> None:
        """Gradients are cleared; of weights that are not known those of all."""
        lost: set[int] = set()
        for weight in self.weights.values() if weights is None else weights:
            lost |= set(weight.gradients) - self.used.get(weight.serial, set())
            weight.gradients = []
        self.note(Cleared(**self.now(node), weights=weights, lost=frozenset(lost)))

    def perhaps_optimizer(
        self, callee: Any, given: list[Any], named: dict[str, Any], node: ast.AST, name: str
    ) -> Optimizer | None:
        """An optimizer of a name that is not known, by what it is given: weights, and a learning rate."""
        return worlds.training.unnamed_optimizer(self, callee, given, named, node, name)

    def perhaps_cleared(self, weights: list[Weight]) -> None:
        """Weights were in unknown hands: of gradients that a step has used none is known to be there."""
        for weight in weights:
            used = self.used.get(weight.serial, set())
            weight.gradients = [g for g in weight.gradients if g not in used]

    def moved(self, serials: set[int], *, everything: bool = False) -> None:
        """Networks whose weights a step moved are of a new version."""
        if not serials and not everything:
            return
        self.versions += 1
        self.moves.add(serials, self.versions)
        for net in self.nets if everything else ():
            net.version = self.versions

    def written(
        self, weight: Weight, values: list[Any], how: str, node: ast.AST, way: Way | None = None
    ) -> None:
        """A weight is given other values, by no step."""
        self.note(Written(**self.now(node), weight=weight, values=values, how=how, way=way))
        self.moved({weight.serial})

    # ------------------------------------------------------------------------------------ decorators

    def decorated(self, made: Any, node: ast.expr, scope: Scope) -> Any:
        """A function or class with a decorator."""
        name = last_name(node.func if isinstance(node, ast.Call) else node)
        if name == "contextmanager" and isinstance(made, Routine):
            return Library("<manager>") if made is None else _Managed(made)
        if name in _WRAPS:
            return made
        around = self.value(node, scope)
        if isinstance(around, (Routine, Partial, Kind)):
            held = self.call(around, [made], {}, node)
            return made if isinstance(held, Unknown) else held
        return made

    def called(self, callee: Any, given: list[Any], named: dict[str, Any], node: ast.AST) -> Any:
        """Other things that can be called."""
        known = find_method(callee, "__call__") if isinstance(callee, (Thing, Optimizer)) else None
        if known is not None:
            return known(Call(self, Bound(callee, "__call__"), given, named, node))
        if isinstance(callee, _Managed):
            return Manager(callee.routine, given, named)
        if isinstance(callee, Tensor):
            made = self.joined_tensors("called", [callee, *self.tensors([*given, *named.values()])])
            made.vague = made.rows is not None
            return made
        return None

    def operator_of(self, left: Any, right: Any, name: str, node: ast.AST) -> Any:
        """`a + b` of objects of the program."""
        for one, other, sign in ((left, right, f"__{name}__"), (right, left, f"__r{name}__")):
            if isinstance(one, Instance) and one.kind is not None:
                found = one.kind.find(sign)
                if found is not None:
                    return self.call(self._bound_routine(found[1], one, found[0]), [other], {}, node)
        return None

    def compared_tensors(
        self, op: ast.cmpop, left: Any, right: Any, function: Callable[[Any, Any], Any]
    ) -> Any:
        """A comparison with a tensor; of a column with a constant a mask that knows its rows."""
        if self.here is not None and len(self.compares) < 4000:
            self.compares.append((self.here, op, left, right))
        known = worlds.masked(self, op, left, right)
        return super().compared_tensors(op, left, right, function) if known is NotImplemented else known

    def compared(self, op: ast.cmpop, left: Any, right: Any) -> Any:
        """A comparison of two values; of a column whose name is that of a method as of any other."""
        return super().compared(op, worlds.as_column(left), worlds.as_column(right))

    # ------------------------------------------------------------------------------------ fields and items

    def field_of(self, owner: Any, name: str, node: ast.AST) -> Any:
        """A field of one of our objects, or None where it is a method."""
        return worlds.field_of(self, owner, name, node)

    def set_field(self, owner: Any, name: str, value: Any, node: ast.AST) -> None:
        """Give a field of one of our objects a value."""
        worlds.set_field(self, owner, name, value, node)

    def item(self, owner: Any, index: Any, node: ast.AST) -> Any:
        """A part of a value by what stands between the brackets."""
        if isinstance(owner, Instance) and owner.kind is not None and not isinstance(owner, Net):
            found = owner.kind.find("__getitem__")
            if found is not None:
                return self.call(self._bound_routine(found[1], owner, found[0]), [index], {}, node)
        index = worlds.place_of(self, index)
        known = worlds.item_of(self, owner, index, node)
        if known is not NotImplemented:
            worlds.of_its_place(self, owner, index, known)
            return known
        if isinstance(owner, dict):
            key = index if is_key(index) else self.key_of(index)
            if key in owner:
                return owner[key]
            if isinstance(index, Unknown) and owner and all(_is_choice(v) for v in owner.values()):
                return next(iter(owner.values()))  # one of several classes, by a setting that is not known
            return self.missing(owner, key, node)
        if isinstance(owner, (list, tuple, str, range)):
            if isinstance(index, (int, slice)):
                return owner[index]
            if isinstance(index, Tensor) and owner and all(isinstance(o, list) for o in owner):
                return owner[0]  # a row of a table, by an answer or the truth
            if isinstance(index, Tensor):
                return worlds.item_by_tensor(self, owner, index)
        if isinstance(owner, Kind):
            return owner
        key = index if isinstance(index, (str, int)) else "?"
        found_tensors = list(self.tensors([owner, index]))
        if found_tensors and not isinstance(owner, Unknown):
            return self.joined_tensors("item", found_tensors)
        if isinstance(index, Tensor) and index.rows is not None:
            return Tensor(index.rows, index.table, held=frozenset((f"{getattr(owner, 'key', '')}[]",)))
        return self.unknown_of(f"{getattr(owner, 'key', '')}[{key}]", [owner, index])

    def missing(self, owner: dict[Any, Any], key: Any, node: ast.AST) -> Any:
        """An entry that a mapping does not have: a default one gets it; of choices by a setting the first."""
        if isinstance(owner, Defaults):
            owner[key] = (
                self.call(owner.factory, [], {}, node) if owner.factory is not None else Unknown("default")
            )
            return owner[key]
        if isinstance(owner, Partly):
            return self.item(owner.rest, key, node)
        return Unknown(f"[{key}]", source=Way("part", (Unknown("entries"), key)))

    def set_item(self, owner: Any, index: Any, value: Any, node: ast.AST) -> None:
        """Give a part of a value a value."""
        value = worlds.counted_at(self, owner, index, value)
        index = worlds.place_of(self, index)
        if (
            isinstance(owner, Instance)
            and owner.kind is not None
            and (found := owner.kind.find("__setitem__"))
        ):
            self.call(self._bound_routine(found[1], owner, found[0]), [index, value], {}, node)
        elif isinstance(owner, dict):
            owner[index if is_key(index) else self.key_of(index)] = value
        elif isinstance(owner, list) and isinstance(index, int) and -len(owner) <= index < len(owner):
            owner[index] = value
        else:
            worlds.set_item(self, owner, index, value, node)

    def delete_item(self, owner: Any, key: Any) -> None:
        """Take an entry out of a mapping, or a column out of a table."""
        if isinstance(owner, dict) and isinstance(key, (str, int)):
            owner.pop(key, None)
        elif isinstance(owner, Frame) and isinstance(key, str):
            worlds.take_out(owner, [key])

    def items_of(self, value: Any) -> list[Any] | None:
        """The items of one of our objects, or None."""
        return worlds.items_of(self, value)

    def gone_through(self, over: Any, node: ast.AST) -> Iterator[Any] | None:
        """What gives its items one after the other, or None."""
        return over.make() if isinstance(over, worlds.Lazy) else None

    def part(self, value: Any, place: int, node: ast.AST) -> Any:
        """One of several names' part of a value that has no known items."""
        return worlds.part_of(self, value, place)

    def net_of_library(self, key: str, node: ast.AST) -> Net:
        """A network of a library that nothing is known of, in whichever mode it was made."""
        made = worlds.networks.make_layer(self, key.split(".")[-1] or "net", [], {}, node)
        if not made.weights:
            made.weights["weight"] = self.weight("net.weight")
        made.opaque = made.escaped = made.unsure = True
        return made

    def layer(self, net: Net, given: list[Any], named: dict[str, Any], node: ast.AST) -> Any:
        """What a layer of a library gives."""
        return worlds.layer(self, net, given, named, node)

    def of_weights(self, callee: Routine, given: list[Any], named: dict[str, Any], node: ast.AST) -> Any:
        """What a function of a tree of weights and of data gives: it is a network; else `NotImplemented`."""
        return worlds.frameworks.jax.function_asked(self, callee, given, named, node)

    def of_keras(self, net: Net, given: list[Any], named: dict[str, Any], node: ast.AST) -> Any:
        """What a network of Keras gives."""
        return worlds.frameworks.keras.asked(self, net, given, named, node)

    def trains(self, net: Net, asked: bool) -> None:
        """Give a network of Keras `trainable`."""
        worlds.frameworks.keras.trained(net, asked)

    @property
    def others(self) -> bool:
        """Whether the program has another library's graph beside Keras."""
        return any(isinstance(v, Library) and v.root == "torch" for v in self.top.names.values())

    def flag(self, name: str) -> Any:
        """A flag of absl: its default."""
        held = worlds.frameworks.entries.flags(self)
        return held[name] if name in held else Unknown(f"flag {name}")

    def batches(self, loader: Loader, node: ast.AST) -> Iterator[Any]:
        """The batches of a loader."""
        loader.rounds += 1
        self.note(Round(**self.now(node), loader=loader, number=loader.rounds))
        yield from worlds.batches(self, loader, node)

    # ------------------------------------------------------------------------------------ figures

    def telling(
        self, callee: Any, given: list[Any], named: dict[str, Any], node: ast.Call, scope: Scope
    ) -> None:
        """Figures that are printed or logged, each with the words that stand before it."""
        name = last_name(node.func)
        if name in ("append", "writerow") and len(given) == 1:
            self._kept_in_a_table(given[0], node)
        if isinstance(callee, (Routine, Kind, Net)) or name not in _TELLS:
            return
        before = ""
        waiting: list[str] = []
        for one, held in zip(node.args, given, strict=False):
            written = formatted(one)
            if written is not None:
                for label, part in zip(*written, strict=False):
                    if _is_plain(part):
                        self.tell(label or unparse(part), self.value(part, scope), node)
            elif isinstance(one, ast.JoinedStr):
                for label, figure in self.texts.get(one, ()):
                    self.tell(label, figure, node)
            elif isinstance(one, ast.Constant):
                before = str(one.value)
                waiting = _PLACES.split(before)[:-1]
            elif isinstance(held, str):
                before = held
            elif isinstance(held, dict):
                for label, figure in held.items():
                    self.tell(str(label), figure, node)
            else:
                label = waiting.pop(0) if waiting else before
                self.tell(label or unparse(one), held, node)

    def _kept_in_a_table(self, held: Any, node: ast.Call) -> None:
        """Figures of a line: `w.writerow([epoch, val])`, `rows.append({"val": v})`, `h["val"].append(v)`."""
        owner = receiver(node)
        if isinstance(held, dict):
            for label, figure in held.items():
                self._tell_figure(str(label), figure, node)
        elif isinstance(owner, ast.Subscript) and isinstance(owner.slice, ast.Constant):
            self._tell_figure(str(owner.slice.value), held, node)
        elif last_name(node.func) == "writerow" and isinstance(held, (list, tuple)):
            if held and all(isinstance(h, str) for h in held):
                self.heads[unparse(owner) if owner else ""] = list(held)
                return
            heads = self.heads.get(unparse(owner) if owner else "", [])
            written = node.args[0].elts if isinstance(node.args[0], (ast.List, ast.Tuple)) else []
            labels = heads if len(heads) == len(held) else [unparse(e) for e in written]
            for label, figure in zip(labels, held, strict=False):
                self._tell_figure(label, figure, node)

    def _tell_figure(self, label: str, value: Any, node: ast.AST) -> None:
        """As `tell`, of one number alone."""
        if isinstance(value, Tensor) and (value.scalar or value.rows is None):
            self.tell(label, value, node)

    def tell(self, label: str, value: Any, node: ast.AST) -> None:
        """Put down a figure that is told, if it is made of answers of a network."""
        if isinstance(value, Tensor) and value.asked:
            self.note(Told(**self.now(node), label=label.strip()[-60:], value=value))


_PLACES = re.compile(r"%[-+ #0-9.]*[a-zA-Z]|\{[^{}]*\}")


def _is_plain(node: ast.expr) -> bool:
    """An expression that may be worked out twice: it asks no network."""
    calls = [n for n in ast.walk(node) if isinstance(n, ast.Call)]
    return not isinstance(node, ast.Constant) and all(
        isinstance(c.func, ast.Name) and c.func.id in ("sum", "len", "float", "int", "round", "max", "min")
        for c in calls
    )


def formatted(node: ast.expr) -> tuple[list[str], list[ast.expr]] | None:
    """The words before each figure and the figures of `"val %.3f" % acc` and `"val {}".format(acc)`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        text: ast.expr = node.left
        given = list(node.right.elts) if isinstance(node.right, ast.Tuple) else [node.right]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        text, given = node.func.value, list(node.args)
    else:
        return None
    if not isinstance(text, ast.Constant) or not isinstance(text.value, str):
        return None
    return _PLACES.split(text.value)[:-1], given


class _Managed:
    """A function of the program that `contextmanager` made of a generator."""

    def __init__(self, routine: Routine) -> None:
        self.routine = routine


def _is_choice(value: Any) -> bool:
    """A class or a function, as registries hold them."""
    return isinstance(value, (Kind, Routine, Library, Partial))


class Defaults(dict[Any, Any]):
    """A `defaultdict`."""

    factory: Any = None


@lru_cache(maxsize=8)
def rehearsed(source: Script) -> Machine:
    """A program's rehearsal, made once."""
    machine = Machine(source)
    machine.run()
    return machine


@lru_cache(maxsize=8)
def rehearsed_late(source: Script) -> Machine:
    """A rehearsal that gets to training: where it is put off until a memory is full, that is full already."""
    machine = rehearsed(source)
    if machine.journal.of(Backward) or not source.backwards or machine.journal.ended != "whole":
        return machine
    again = Machine(source, late=True)
    again.run()
    return again if again.journal.of(Backward) else machine

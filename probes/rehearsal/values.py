"""What stands for the objects of a program while it is rehearsed."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

NOTHING: frozenset[int] = frozenset()
STRANGE = 1  # the mark of what is like nothing else; marks that it went into are odd, too


def mixed(*parts: Any) -> int:
    """A mark of all these parts (see `marks`); odd where one of them is the mark of a stranger."""
    return hash(parts) & ~1 | _odd(parts)


def _odd(parts: tuple[Any, ...]) -> int:
    """One where a number among these, or in tuples among them, is odd; this runs most often of all."""
    found = 0
    for part in parts:
        kind = type(part)
        if kind is int:
            found |= part
        elif kind is tuple and part:
            found |= _odd(part)
    return found & 1


@dataclass(eq=False)
class Unknown:
    """What is not known: a file, a setting, what an unknown function gave. `key`: where it comes from.

    `net`: the network that it turned out to be when its parameters were asked for. `source`: the part, or the
    call of what is not known, that it is.
    """

    key: str = ""
    mark: int = 0  # how it was made (see `marks`), where its key does not say so
    net: Any = None
    how: Way | None = field(default=None, repr=False)
    source: Way | None = field(default=None, repr=False)


class Partly(dict[Any, Any]):
    """A mapping of which not all entries are known: `dict(settings)` of a file. The others are of `rest`."""

    rest: Any = None


def turned_out(value: Any) -> Any:
    """A value, or the network that one which was not known turned out to be."""
    return value.net if type(value) is Unknown and value.net is not None else value


@dataclass(frozen=True, eq=False)
class Way:
    """How a tensor was made: by what, of which values. Asked for by `meaning`."""

    name: str
    held: tuple[Any, ...]
    named: Mapping[str, Any] = field(default_factory=dict)
    were: list[Any] = field(default_factory=list)  # how each was made then: it may be changed in place since

    def __post_init__(self) -> None:
        """Keep how what is given was made."""
        self.were.extend([g.how if isinstance(g, (Tensor, Unknown)) else None for g in self.held])

    @property
    def given(self) -> tuple[Any, ...]:
        """What it was made of, as that was then."""
        found: list[Any] = []
        for place, one in enumerate(self.held):
            if isinstance(one, Tensor) and one.how is not self.were[place]:
                if not isinstance(self.were[place], Tensor):
                    how = self.were[place]
                    self.were[place] = Tensor(one.rows, one.table, asked=one.asked, held=one.held, how=how)
                one = self.were[place]
            found.append(one)
        return tuple(found)


class DrawnPlaces:
    """So many whole numbers that a program draws: as places of rows, for each number of rows to choose of."""

    def __init__(self, drawn: int) -> None:
        self.drawn = drawn
        self.chosen: dict[int, np.ndarray] = {}  # by the number of rows


@dataclass(eq=False)
class Tensor:
    """An array or a tensor, or a number that is made of one.

    `rows`: the samples along the first axis, as numbers of rows of `table`, or None. `deps`: the weights that
    a gradient would reach. `asked`: the answers of networks (numbers of `Asked` events) that it is made of,
    also where no gradient flows. `held`: `Field`s of the data that it is made of. `done`: what was done to
    it, last thing last. `number`: its value where that is known. `drawn`: random numbers are in it.
    `fits`: the statistics that it is made of (numbers in `Machine.fits`). `by`: the columns that its rows
    were chosen by. `vague`: its rows are a guess. `mixed`: others were mixed into them. `length`: of an array
    that is made before any network is asked, along its first axis; 0 where not known. `unfilled`: zeros that
    data may be drawn into. `places`: the whole numbers drawn that it is, or is a part of (see `made_data`).
    """

    rows: np.ndarray | None = None
    table: int = 0
    deps: frozenset[int] = NOTHING
    asked: frozenset[int] = NOTHING
    held: frozenset[str] = frozenset()
    done: tuple[str, ...] = ()
    number: Any = None
    drawn: bool = False
    scalar: bool = False
    fits: frozenset[int] = NOTHING
    by: frozenset[str] = frozenset()
    vague: bool = False
    mixed: bool = False
    scale: float | None = 1.0  # the constant that a figure was multiplied by, None where that is not known
    form: str = ""  # "column" of shape (batch, 1), "row" of shape (batch,), where that is known
    mark: int = 0  # how it was made (see `marks`); 0 where nothing made it
    place: float | None = None  # of a quantile: the share of rows below it
    units: tuple[tuple[str, frozenset[int]], ...] = ()  # what it was scaled by (see `units`)
    length: int = 0
    unfilled: bool = False
    places: DrawnPlaces | None = None
    folder: str = ""  # of a name that was put behind a path: this path
    how: Way | None = field(default=None, repr=False)

    def like(self, **changed: Any) -> Tensor:
        """A tensor made of this one."""
        fresh = Tensor(
            self.rows, self.table, self.deps, self.asked, self.held, self.done, None, self.drawn, self.scalar
        )
        fresh.fits, fresh.by, fresh.vague, fresh.mixed = self.fits, self.by, self.vague, self.mixed
        fresh.scale, fresh.mark, fresh.units, fresh.how = self.scale, self.mark, self.units, self.how
        for name, value in changed.items():
            setattr(fresh, name, value)
        return fresh

    def then(self, what: str, **changed: Any) -> Tensor:
        """A tensor made of this one by something that is done to it."""
        mark = mixed(what, self.mark or (self.done, self.held))
        return self.like(
            **{"done": (*self.done[-39:], what), "mark": mark, "how": Way(what, (self,)), **changed}
        )

    def become(self, other: Tensor) -> None:
        """Turn into another one, in place."""
        if other.how is not None and any(g is self for g in other.how.given):
            before = self.like()
            other.how = Way(
                other.how.name, tuple(before if g is self else g for g in other.how.given), other.how.named
            )
        for name in (
            *("rows", "table", "deps", "asked", "held", "done", "number", "drawn", "scalar"),
            *("fits", "by", "vague", "mixed", "scale", "form", "mark", "units", "how"),
        ):
            setattr(self, name, getattr(other, name))


@dataclass(eq=False)
class Series(Tensor):
    """A column of a table, or what is made of one. `key`: the column and what was done to its values."""

    key: str = ""


@dataclass(eq=False)
class Frame(Tensor):
    """A table, or some of its rows and columns. `columns`: those that it has, where they were named.

    `without`: columns that were taken out. `made`: columns that were given to it. `labels`: the rows' names.
    """

    columns: tuple[str, ...] | None = None
    without: frozenset[str] = frozenset()
    made: dict[str, Any] = field(default_factory=dict)
    labels: np.ndarray | None = None


@dataclass(eq=False)
class Weight(Tensor):
    """A trained tensor of a network. `serial` is its number in `deps`."""

    serial: int = 0
    trains: bool = True
    name: str = ""
    # numbers of the `backward` calls whose gradients it holds since it was cleared
    gradients: list[int] = field(default_factory=list)
    moved: int = 0  # steps that moved it
    ndim: int | None = None  # axes
    escaped: bool = False  # handed to something that is not known
    buffer: bool = False

    def like(self, **changed: Any) -> Tensor:
        """A tensor made of it; a gradient through that reaches the weight."""
        mine = frozenset((self.serial,)) if self.trains and not self.buffer else frozenset[int]()
        return super().like(**{"deps": mine, **changed})


@dataclass(eq=False)
class Routine:
    """A function of the program, the names around it, and what it is bound to."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    around: Scope
    owner: Any = None
    of: Kind | None = None  # the class that it stands in

    @property
    def name(self) -> str:
        """Its name; "" of a lambda."""
        return getattr(self.node, "name", "")


@dataclass(eq=False)
class Kind:
    """A class of the program."""

    node: ast.ClassDef
    around: Scope
    bases: tuple[Any, ...]
    body: dict[str, Any] = field(default_factory=dict)

    def find(self, name: str) -> tuple[Kind, Any] | None:
        """What the class or those that it derives from have of this name, and who has it."""
        for kind in self.line():
            if name in kind.body:
                return kind, kind.body[name]
        return None

    def line(self) -> Iterator[Kind]:
        """The class and those of the program that it derives from, nearest first."""
        seen: set[int] = set()
        waiting: list[Kind] = [self]
        while waiting and len(seen) < 50:
            kind = waiting.pop(0)
            if id(kind) in seen:
                continue
            seen.add(id(kind))
            yield kind
            waiting += [b for b in kind.bases if isinstance(b, Kind)]

    def foreign(self) -> list[str]:
        """The names of the libraries' classes that it derives from."""
        return [b.name for kind in self.line() for b in kind.bases if isinstance(b, Library)]

    def derives(self, *names: str) -> bool:
        """Whether it derives from a library's class of one of these last names."""
        return any(f.rpartition(".")[2] in names for f in self.foreign())


@dataclass(eq=False)
class Instance:
    """An object of a class of the program."""

    kind: Kind
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Net(Instance):
    """A network: of a class of the program, or a layer of a library (`kind` None, `layer` its name).

    `children`: what is registered in it. `mode`: whether it is in training mode.
    """

    kind: Kind = None  # type: ignore[assignment]
    layer: str = ""
    given: tuple[Any, ...] = ()
    named: dict[str, Any] = field(default_factory=dict)
    children: dict[str, Any] = field(default_factory=dict)
    weights: dict[str, Weight] = field(default_factory=dict)
    mode: bool = True
    serial: int = 0
    node: ast.AST | None = None
    moves: Moves | None = None
    settled: int = 0  # its version when it was last asked for
    escaped: bool = False  # handed to something that is not known
    unsure: bool = False  # its mode was set to what is not known
    opaque: bool = False  # of a library: its weights are one tensor, its layers are not known
    home: str = ""  # the library's first name where it is not PyTorch: "keras", "mindspore", "paddle"

    @property
    def version(self) -> int:
        """Grows with each step that moves it and each load."""
        if self.moves is not None:
            self.moves.settle()
        return self.settled

    @version.setter
    def version(self, value: int) -> None:
        if self.moves is not None:
            self.moves.settle()
        self.settled = value

    def nets(self) -> Iterator[Net]:
        """The network and all in it, each once."""
        seen: set[int] = set()
        waiting: list[Net] = [self]
        while waiting:
            net = waiting.pop(0)
            if id(net) in seen:
                continue
            seen.add(id(net))
            yield net
            waiting += [c for c in net.children.values() if isinstance(c, Net)]

    def parameters(self) -> list[Weight]:
        """Its trained tensors, each once."""
        nets = self.nets() if self.children else (self,)
        found = {id(w): w for n in nets for w in n.weights.values() if not w.buffer}
        return list(found.values())


class Moves:
    """Weights that got other values since a version was last asked for: averages are written one by one."""

    def __init__(self, nets: list[Net]) -> None:
        self.nets = nets
        self.told = 0  # networks that know of it
        self.waiting: dict[int, int] = {}  # weight -> version

    def add(self, serials: Iterable[int], version: int) -> None:
        """Weights are of a new version."""
        self.waiting.update(dict.fromkeys(serials, version))
        for net in self.nets[self.told :]:
            net.moves = self
        self.told = len(self.nets)

    def settle(self) -> None:
        """Networks are of the version of their newest weight."""
        waiting, self.waiting = self.waiting, {}
        if not waiting:
            return
        for net in self.nets:
            newest = max(
                (waiting.get(w.serial, 0) for n in net.nets() for w in n.weights.values()), default=0
            )
            net.settled = newest or net.settled


@dataclass(eq=False)
class Library:
    """A name of a library, dotted: "torch.nn.functional.relu"."""

    name: str

    @property
    def last(self) -> str:
        """The last part of its name."""
        return self.name.rpartition(".")[2]

    @property
    def root(self) -> str:
        """The first part of its name."""
        return self.name.partition(".")[0]


@dataclass(eq=False)
class Bound:
    """A method that is asked for, of anything but an object of the program."""

    owner: Any
    name: str


@dataclass(eq=False)
class Partial:
    """A function with some of its arguments."""

    function: Any
    given: tuple[Any, ...]
    named: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Fit:
    """A statistic that was taken of rows of a table. `kind`: "mean", "std", "StandardScaler"."""

    kind: str
    rows: np.ndarray
    table: int
    node: ast.AST
    by: frozenset[str] = frozenset()
    over_columns: bool = False  # one figure for all columns, which stand for different things


@dataclass(frozen=True, eq=False)
class Filled:
    """An array that is given values place by place, and the answers in it."""

    array: Tensor
    asked: frozenset[int]  # in the whole array, as it was left
    before: frozenset[int]  # in it before the first place was given a value
    places: Mapping[int, frozenset[int]]  # in what each place was given

    def is_of(self, owner: Tensor) -> bool:
        """It is this array, and nothing else was done to it since."""
        return self.array is owner and self.asked == owner.asked


@dataclass(frozen=True, eq=False)
class Met:
    """Answers to some rows of a table that came together with data of as many rows of it."""

    node: ast.AST
    asked: frozenset[int]
    rows: np.ndarray
    data: Tensor
    guessed: tuple[ast.AST, ...]
    units: tuple[tuple[str, frozenset[int]], ...] = ()  # of the answers
    of: tuple[tuple[str, frozenset[int]], ...] = ()  # of the data


@dataclass(eq=False)
class Thing:
    """Any other object of a library whose methods are known by its class; `fields` are its attributes."""

    fields: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Optimizer:
    """An optimizer of a library over weights; None where they are not known."""

    name: str
    weights: list[Weight] | None
    settings: dict[str, Any]
    node: ast.AST
    groups: list[dict[str, Any]] = field(default_factory=list)
    steps: int = 0
    escaped: bool = False
    late: bool = False  # it gets to know its weights when it moves them
    gate: Any = None  # what it was handed to, which may hold its steps back


@dataclass(eq=False)
class Schedule:
    """A schedule of the learning rate of a library."""

    name: str
    optimizer: Any
    given: tuple[Any, ...]
    named: dict[str, Any]
    node: ast.AST
    steps: int = 0
    gate: Any = None


@dataclass(eq=False)
class Scaler:
    """A gradient scaler."""

    node: ast.AST


class RowCount(int):
    """How many rows were made for a table. A program has more of them: its `n // 512` is not zero."""


@dataclass(eq=False)
class Data:
    """Samples that are taken by a place: a data set, a part of one, arrays side by side.

    `rows` of `table` are the places that it holds; `of` is what they are places of.
    """

    rows: np.ndarray
    table: int
    node: ast.AST
    of: Any = None  # an Instance with __getitem__, a Data of which it is a part, a tuple of Tensors
    name: str = ""


@dataclass(eq=False)
class Loader:
    """What gives batches of a data set."""

    data: Any
    node: ast.AST
    named: dict[str, Any] = field(default_factory=dict)
    shuffles: bool | None = False
    rounds: int = 0  # how often it was gone through
    vague: bool = False  # which of the rows it gives is not known


@dataclass(eq=False)
class State:
    """The weights of a network at a time (`state_dict`). `copied`: they do not change with it."""

    net: Any
    version: int
    copied: bool = False
    kind: str = "net"  # "net", "optimizer", "schedule", "scaler", ...

    @property
    def now(self) -> int:
        """The version that it holds now."""
        return self.version if self.copied or not isinstance(self.net, Net) else self.net.version


@dataclass(eq=False)
class Maybe:
    """A condition that is not known. `of`: what it was made of."""

    of: tuple[Any, ...] = ()


@dataclass(eq=False)
class Scope:
    """Names of a module, a function or a class, and those around them."""

    around: Scope | None = None
    names: dict[str, Any] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)  # declared global or nonlocal

    def find(self, name: str) -> Any:
        """What a name stands for, or None."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.around
        return None

    def put(self, name: str, value: Any) -> None:
        """Give a name a value, here or where it was declared to be."""
        if name in self.shared:
            scope = self.around
            while scope is not None:
                if name in scope.names or scope.around is None:
                    scope.names[name] = value
                    return
                scope = scope.around
        self.names[name] = value


class Returned(Exception):
    """A function returns."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Broken(Exception):
    """A loop is left."""


class Continued(Exception):
    """A loop goes on."""


class Enough(Exception):
    """A generator gave as many items as are looked at."""


class Raised(Exception):
    """The program raises."""


class Ended(Exception):
    """The program ends itself."""


class TooLong(Exception):
    """More was gone through than is looked at."""


def put_behind(before: Any, name: Tensor) -> Tensor:
    """A row that names a file, behind the path of a folder: `root + "/train/" + name`."""
    told = before.folder if isinstance(before, Tensor) else file_key(before)
    name.folder = f"{told}/{name.folder}".strip("/")[:200]
    return name


def file_key(path: Any) -> str:
    """What stands for a path: the same text, the same file."""
    return path if isinstance(path, str) else str(getattr(path, "name", getattr(path, "key", "")))

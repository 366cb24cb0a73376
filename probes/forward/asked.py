"""The networks that a program asks, made anew and asked on made inputs of whatever shape they take."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from ..by_hand.sizes import Unfit
from ..by_hand.things import Dotted, Object, Own
from ..rehearsal import values as rehearsed_values
from ..rehearsal.journal import Asked
from ..rehearsal.machine import rehearsed
from ..rehearsal.objects import Namespace
from ..scripts.syntax import Script
from .layers import Layer
from .network import FORWARD, Network
from .recurrent import Packed
from .tensors import FLOPS, ROOM, Mismatch, Tensor
from .things import Class, Mapped, Missing

ROWS = 3
_LONG = 6  # of a sequence
HOMES = ("", "mindspore", "paddle")  # the libraries whose layers are worked out; "" is PyTorch
_TRIALS = 160  # shapes that are tried for one network
_GUIDED = 14
_SPENT = 2e9  # products and numbers of all of them
_MOST = 6  # networks of one program
_MADE = (6, 10, 14, 18, 22, 26)  # for counts that only the data tell
_SIDES = (8, 16, 28, 32, 64, 48, 96, 128)
_SPANS = (16, 32, 64, 100, 128)


_NAMES: tuple[tuple[re.Pattern[str], tuple[str, tuple[int, ...]]], ...] = (
    (re.compile(r"(?i)len"), ("lengths", (1,))),
    (re.compile(r"(?i)mask"), ("true", (2,))),
    (re.compile(r"(?i)^(?:t|ts|time\w*|steps?|noise_?level)$"), ("ints", (1,))),
    (re.compile(r"(?i)ids?$|idx|tok|src|tgt|words?|seq"), ("ints", (2, 1))),
)


class Converter:
    """What a network was made with, in a rehearsal, as values for one that is worked out."""

    def __init__(self, net: Network) -> None:
        self.net = net
        self.counts: dict[int, int] = {}
        self.known: dict[int, Any] = {}

    def of(self, value: Any) -> Any:
        """One value. Raises Unfit."""
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, Namespace):
            return Mapped({k: self.of(v) for k, v in value.items()})
        if isinstance(value, (list, tuple)):
            return (
                type(value)(self.of(v) for v in value)
                if type(value) in (list, tuple)
                else tuple(map(self.of, value))
            )
        if isinstance(value, dict):
            return {k: self.of(v) for k, v in value.items()}
        if isinstance(value, rehearsed_values.Library):
            return Dotted(value.name)
        if isinstance(value, rehearsed_values.Kind):
            return self._class(value)
        if isinstance(value, rehearsed_values.Routine) and value.owner is None:
            return Own(value.node, [self.net.module])
        if isinstance(value, rehearsed_values.Net):
            return self._net(value)
        if isinstance(value, rehearsed_values.Instance):
            if id(value) not in self.known:
                made = self.known[id(value)] = Object(self._class(value.kind))
                made.held = {k: self.kept(v) for k, v in value.attributes.items()}
            return self.known[id(value)]
        if isinstance(value, rehearsed_values.Unknown) or (
            isinstance(value, rehearsed_values.Tensor) and value.scalar
        ):
            return self.counts.setdefault(id(value), _MADE[len(self.counts) % len(_MADE)])
        raise Unfit

    def kept(self, value: Any) -> Any:
        """One value; what is not understood is only missing where it is used."""
        try:
            return self.of(value)
        except Unfit:
            return Missing()

    def _class(self, kind: rehearsed_values.Kind) -> Class:
        made = self.net.class_of(kind.node)
        made.scope = kind.around
        return made

    def _net(self, value: rehearsed_values.Net) -> Any:
        if id(value) not in self.known:
            given = [self.of(g) for g in value.given]
            named = {k: self.of(v) for k, v in value.named.items()}
            if value.kind is None:
                self.known[id(value)] = self.net.library(
                    Dotted(f"{value.home or 'torch'}.nn.{value.layer}"), given, named
                )
            else:
                self.known[id(value)] = self.net._instance(self._class(value.kind), given, named)
        return self.known[id(value)]


@dataclass(eq=False)
class Question:
    """A network that answers: with which inputs, and what."""

    event: Asked
    network: Network
    made: Any
    inputs: list[Any]  # how they are made, and plain values
    answers: list[np.ndarray] = field(default_factory=list)
    cost: float = 0.0  # products that it takes to ask

    def drawn(self, seed: int = 11) -> list[Any]:
        """Inputs of its shapes."""
        return [i.draw(seed) if isinstance(i, Made) else i for i in self.inputs]

    def ask(self, inputs: list[Any]) -> list[np.ndarray]:
        """What it answers to these; of all tensors. Raises Unfit."""
        net = self.network
        net.begin()
        given = [net.tensor(i.copy()) if isinstance(i, np.ndarray) else i for i in inputs]
        found = net._guarded(lambda: net.apply(self.made, given, {}))
        plain = [t.a for t in tensors_of(found)]
        return [a for a in plain if a.ndim] + [_by_rows(t.a) for t in net.scored]


def again(question: Question, seed: int, inputs: list[Any] | None = None) -> list[np.ndarray] | None:
    """What a network answers that is made with other weights; None where it is not known."""
    network = Network(question.network.source, seed, question.network.scope)
    try:
        made = built(network, question.event.net)
        other = Question(question.event, network, made, question.inputs)
        return other.ask(question.drawn() if inputs is None else inputs)
    except Unfit:
        return None


def parts_of(question: Question) -> list[tuple[Object, list[Any], Any]]:
    """The networks within one that it asks, the innermost first, with what they are given and answer.

    Raises Unfit.
    """
    net = question.network
    net.asked_parts = []
    try:
        question.ask(question.drawn())
        return net.asked_parts
    finally:
        net.asked_parts = None


def traced(question: Question, inputs: list[Any]) -> list[tuple[ast.expr, np.ndarray]]:
    """What each step within a network comes to, in the order of time. Raises Unfit."""
    net = question.network
    net.trace = []
    try:
        question.ask(inputs)
        return net.trace
    finally:
        net.trace = None


def _by_rows(a: np.ndarray) -> np.ndarray:
    """What was flattened over rows and places, by rows again."""
    if a.ndim and len(a) > ROWS and len(a) % ROWS == 0:
        return a.reshape(ROWS, len(a) // ROWS, *a.shape[1:])
    return a


def tensors_of(value: Any) -> Iterator[Tensor]:
    """The tensors of an answer, one after the other."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Packed):
        yield value.held
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from tensors_of(one)
    elif isinstance(value, dict):
        yield from tensors_of(list(value.values()))
    elif isinstance(value, Object):
        yield from tensors_of(list(value.held.values()))


@lru_cache(maxsize=16)
def questions(source: Script) -> tuple[Question, ...]:
    """The networks of a program's own classes that it asks, each once, that can be worked out."""
    machine = rehearsed(source)
    found: dict[int, Asked] = {}
    for event in machine.journal.of(Asked):
        net = event.net
        if net.kind is not None and not net.layer and net.home in HOMES and net.serial not in found:
            found[net.serial] = event
    made: dict[int, Question] = {}
    for event in list(found.values())[:_MOST]:
        if id(event.net.kind) in made:
            continue
        question = question_of(source, event)
        if question is not None:
            made[id(event.net.kind)] = question
    return tuple(made.values())


def question_of(source: Script, event: Asked) -> Question | None:
    """A network made anew, with inputs that it takes; None where it is not understood."""
    network = Network(source, scope=rehearsed(source).top)
    try:
        made = built(network, event.net)
    except Unfit:
        return None
    waiting = shapes(event, list(layers_of(made)))
    guided: list[list[Any]] = []
    tried: set[Any] = set()
    spent = 0.0
    while len(tried) < _TRIALS and spent < _SPENT:
        inputs = guided.pop() if guided else next(waiting, None)
        if inputs is None:
            break
        if tuple(inputs) in tried:
            continue
        tried.add(tuple(inputs))
        question = Question(event, network, made, inputs)
        try:
            answers = question.ask(question.drawn())
        except Mismatch as odd:
            if len(tried) < 6 * _GUIDED:
                guided += list(resized(inputs, odd.ratio))[: _GUIDED - len(guided)]
            continue
        except Unfit:
            continue
        finally:
            spent += FLOPS - network.room_left.products + 10 * (ROOM - network.room_left.numbers)
        if answers and all(np.isfinite(a).all() for a in answers):
            question.answers = answers
            question.cost = FLOPS - network.room_left.products
            return question
    return None


def resized(inputs: list[Any], ratio: float) -> Iterator[list[Any]]:
    """Inputs whose places are so many times as many: what is flattened behind them fits then."""
    for at, one in enumerate(inputs):
        ndim = len(one.shape) if isinstance(one, Made) and one.kind == "floats" else 0
        if ndim < 3:
            continue
        axes = range(2, ndim) if ndim > 3 else (2, 1)
        ways = [dict.fromkeys(axes, ratio ** (1 / (ndim - 2)))] if ndim > 3 else []
        ways += [{a: ratio} for a in axes]
        for way in ways:
            sizes = [round(s * way.get(a, 1.0)) for a, s in enumerate(one.shape)]
            if all(0 < s <= 512 for s in sizes) and tuple(sizes) != one.shape:
                made = Made("floats", tuple(sizes))
                yield [made if i == at else v for i, v in enumerate(inputs)]


def built(network: Network, net: rehearsed_values.Net) -> Any:
    """A network of a rehearsal, made anew. Raises Unfit."""
    network.begin()
    converter = Converter(network)
    network.converted = converter.kept
    return network._guarded(lambda: converter._net(net))


def layers_of(value: Any, seen: set[int] | None = None) -> Iterator[Layer]:
    """The layers of a network, in the order in which they were made."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, Layer):
        yield value
        yield from layers_of(list(value.children.values()), seen)
    elif isinstance(value, Object):
        yield from layers_of(list(value.held.values()), seen)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from layers_of(one, seen)
    elif isinstance(value, dict):
        yield from layers_of(list(value.values()), seen)


# ---------------------------------------------------------------------------------------------- made inputs


def shapes(event: Asked, layers: list[Layer]) -> Iterator[list[Any]]:
    """Inputs that a network may take, the likeliest first."""
    forward = next((f[1] for n in FORWARD if (f := event.net.kind.find(n))), None)
    args = forward.node.args.args[1:] if isinstance(forward, rehearsed_values.Routine) else []
    names = [a.arg for a in args] + [""] * len(event.given)
    ways = [_by_name(n, list(_ways(g, layers))) for g, n in zip(event.given, names, strict=False)]
    if not ways or any(not w for w in ways):
        return
    if len(ways) == 1:
        yield from ([w] for w in ways[0])
        return
    # of several inputs those of one kind go together: the likeliest ones of each first
    order = (
        sorted(itertools.product(*(range(len(w)) for w in ways)), key=sum) if len(ways) < 3 else _near(ways)
    )
    for places in order:
        yield [w[p] for w, p in zip(ways, places, strict=True)]


def _by_name(name: str, ways: list[Any]) -> list[Any]:
    """The ways to make an input, those that its name speaks for first."""
    for ask, wanted in _NAMES:
        if ask.search(name):
            return sorted(
                ways,
                key=lambda w: not (isinstance(w, Made) and w.kind == wanted[0] and len(w.shape) in wanted[1]),
            )
    return ways


def _near(ways: list[list[Any]]) -> Iterator[tuple[int, ...]]:
    cut = [range(min(len(w), 6)) for w in ways]
    yield from sorted(itertools.islice(itertools.product(*cut), 20_000), key=sum)


@dataclass(frozen=True)
class Made:
    """An input that is drawn when it is asked for: "floats", "ints", "true" or "lengths" of a shape."""

    kind: str
    shape: tuple[int, ...]

    def draw(self, seed: int = 11) -> np.ndarray:
        """Its numbers."""
        draw = np.random.default_rng(seed)
        if self.kind == "floats":
            return draw.normal(0.3, 1.0, self.shape)
        if self.kind == "ints":
            return draw.integers(1, 4, self.shape)
        return np.ones(self.shape, bool) if self.kind == "true" else np.full(self.shape, _LONG)


def _ways(given: Any, layers: list[Layer]) -> Iterator[Any]:
    if given is None or isinstance(given, (bool, int, float, str)):
        yield given
        return
    if not isinstance(given, (rehearsed_values.Tensor, rehearsed_values.Unknown)):
        return
    for kind, *shape in dict.fromkeys((*(w for layer in layers for w in _of_layer(layer)), *_ANY)):
        yield Made(str(kind), tuple(int(s) for s in shape))


_ANY: tuple[tuple[Any, ...], ...] = (
    ("floats", ROWS, 3, 32, 32),
    ("floats", ROWS, 1, 28, 28),
    ("floats", ROWS),
    ("ints", ROWS),
    ("true", ROWS, _LONG),
    ("lengths", ROWS),
)


def _of_layer(layer: Layer) -> Iterator[tuple[Any, ...]]:
    name = layer.name
    if name == "Embedding":
        yield ("ints", ROWS, _LONG)
        yield ("ints", ROWS)
        yield from (("ints", ROWS, n) for n in (4, 8, 16, 32))
    elif re.match(r"Conv(?:Transpose)?[123]d$", name):
        count, axes = layer.option(0, "in_channels"), int(name[-2])
        if not isinstance(count, int) or count > 512:
            return
        for side in _SIDES if axes == 2 else _SPANS if axes == 1 else (8, 16):
            yield ("floats", ROWS, count, *[side] * axes)
            if axes == 1:
                yield ("floats", ROWS, side, count)
        if count == 1:
            yield from (("floats", ROWS, *[s] * axes) for s in (16, 28, 32))
    elif name in ("LSTM", "GRU", "RNN"):
        count = layer.option(0, "input_size")
        if isinstance(count, int):
            yield from (("floats", ROWS, n, count) for n in (_LONG, 24, 12))
            if count == 1:
                yield ("floats", ROWS, 24)
    elif name in ("Linear", "BatchNorm1d", "LayerNorm"):
        count = layer.option(
            0, "in_features", layer.option(0, "num_features", layer.option(0, "normalized_shape"))
        )
        if isinstance(count, int) and count <= 20_000:
            yield ("floats", ROWS, count)
            yield ("floats", ROWS, _LONG, count)
            yield ("floats", ROWS, _LONG)
            for side in (28, 32, 16, 64, 8):
                if count in (side * side, 3 * side * side):
                    yield ("floats", ROWS, count // (side * side), side, side)

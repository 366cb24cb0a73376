"""Metrics of Keras that scripts write as classes of their own, worked out batch by batch on made answers.

Whatever it counts, a score of answers is 1 where all are right and never above it, falls with each kind of
wrong answer that it is about, takes the batches of an epoch together, and begins anew once it is reset.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..readers.script import last_name
from ..scripts.syntax import Script
from .cases import KINDS
from .interpreter import Interpreter
from .promises import _option, _settings, kind_of
from .sizes import TooLong, Unfit
from .things import Dotted, Method, Names, Object

_SCORES = ("accuracy", "precision", "recall", "iou", "dice", "f1")
_MISSES = ("recall", "iou", "dice", "f1", "accuracy")  # those that fall where something is not found
_FALSE = ("precision", "iou", "dice", "f1")  # and where something is found that is not there
_NEAR, _FALL, _SAME = 0.02, 1e-3, 1e-6
_Pair = tuple[np.ndarray, np.ndarray]


class Held(np.ndarray):
    """A variable of a metric: what is added to it stays there."""


class _Metrics(Interpreter):
    """Programs in which objects hold variables: `self.hits = self.add_weight(initializer="zeros")`."""

    def _attribute(self, node: ast.Attribute, names: list[Names]) -> Any:
        owner = self.value(node.value, names)
        if isinstance(owner, Object) and node.attr not in owner.held:
            if node.attr in ("add_weight", "add_variable") and owner.kind.method(node.attr) is None:
                return Method(owner, "add_weight")
            if node.attr in ("dtype", "_dtype"):
                return "float32"
            if node.attr in ("variables", "weights"):
                return [v for v in owner.held.values() if isinstance(v, Held)]
        if isinstance(owner, Held) and node.attr in ("value", "assign", "assign_add", "assign_sub"):
            return Method(owner, node.attr)
        return super()._attribute(node, names)

    def of_method(self, owner: Any, name: str, given: list[Any], named: Names) -> Any:
        """What a method gives; that of a variable changes it."""
        if isinstance(owner, Object) and name == "add_weight":
            return _variable(given, named)
        if isinstance(owner, Held) and name.startswith("assign"):
            value = np.asarray(given[0], float)
            if value.shape != owner.shape:
                raise Unfit
            owner[...] = {"assign": value, "assign_add": owner + value, "assign_sub": owner - value}[name]
            return owner
        if isinstance(owner, Held) and name in ("value", "read_value", "numpy"):
            return np.array(owner)
        return super().of_method(owner, name, given, named)

    def library(self, callee: Dotted, given: list[Any], named: Names) -> Any:
        """What a function of a library gives: also what changes a variable."""
        if callee.last == "Variable" and given and not isinstance(given[0], (str, Dotted)):
            return np.array(given[0], float).view(Held)
        if callee.last in ("set_value", "update", "update_add") and given and isinstance(given[0], Held):
            return self.of_method(given[0], "assign_add" if "add" in callee.last else "assign", given[1:], {})
        return super().library(callee, given, named)


def _variable(given: list[Any], named: Names) -> Held:
    """One that begins with zeros or ones, of the shape that is asked for. Raises Unfit."""
    begin = named.get("initializer", given[2] if len(given) > 2 else "zeros")
    begin = begin.last.lower() if isinstance(begin, Dotted) else begin
    shape = named.get("shape", next((g for g in given if isinstance(g, (tuple, list))), ()))
    if begin not in ("zeros", "zero", "ones"):
        raise Unfit
    return np.full(tuple(int(s) for s in shape or ()), float(begin == "ones")).view(Held)


def broken_keras_metric(source: Script) -> tuple[ast.AST, str] | None:
    """The first metric of the program's own that is no score of what it is named after."""
    if not {"keras", "tensorflow"} & set(source.frameworks):
        return None
    for owner in source.of(ast.ClassDef):
        methods = {f.name: f for f in owner.body if isinstance(f, ast.FunctionDef)}
        kind = kind_of(_snake(owner.name))
        if not {"update_state", "result"} <= set(methods) or kind not in _SCORES:
            continue
        if not any(last_name(b) == "Metric" for b in owner.bases):
            continue
        if (why := _broken(source, owner, kind, methods)) is not None:
            return methods["update_state"], why
    return None


def _snake(name: str) -> str:
    plain = re.sub(r"IoU|IOU", "Iou", name)
    return (
        re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", plain)
        .lower()
        .removeprefix("foreground_")
    )


def _broken(
    source: Script, owner: ast.ClassDef, kind: str, methods: dict[str, ast.FunctionDef]
) -> str | None:
    """What it does wrong in the layout that it is made for; nothing where it is right in one of them."""
    machine = _Metrics(source, _settings(source))
    wrong: list[tuple[float, str]] = []
    for right, unfound, false, worse in _made():
        try:
            one = _Asked(machine, owner, methods)
            perfect = one.score(right)
            why = one.wrong_score(kind, perfect, unfound, false) or one.wrong_course(right, worse)
        except TooLong:
            return None
        except (Unfit, TypeError, ValueError, KeyError, IndexError, AttributeError):
            continue
        if why is None:
            return None
        wrong.append((abs(perfect - 1), why))
    return f"worked out on made answers, {min(wrong)[1]}" if wrong else None


class _Asked:
    """One metric that is asked on batches."""

    def __init__(self, machine: _Metrics, owner: ast.ClassDef, methods: dict[str, ast.FunctionDef]) -> None:
        self.machine, self.owner, self.methods = machine, owner, methods

    def _new(self) -> Object:
        start = self.methods.get("__init__")
        named: Names = {}
        for name in _needed(start)[1:] if start is not None else ():
            known, value = _option(name)
            if not known:
                raise Unfit
            named[name] = value
        return self.machine.make(self.owner, [], named)

    def _figure(self, metric: Object) -> float:
        found = np.asarray(self.machine.ask(metric, "result", []), float)
        if found.size != 1 or not np.isfinite(found).all():
            raise Unfit
        return float(found.reshape(-1)[0])

    def score(self, *batches: _Pair, metric: Object | None = None) -> float:
        """What it comes to after some batches."""
        metric = metric or self._new()
        for truth, said in batches:
            self.machine.ask(metric, "update_state", [truth.copy(), said.copy()])
        return self._figure(metric)

    def wrong_score(self, kind: str, perfect: float, unfound: _Pair, false: _Pair) -> str | None:
        """Why it is no score of its kind."""
        name = self.owner.name
        if abs(perfect - 1) > _NEAR:
            return f"`{name}` comes to {perfect:.3g} where every answer is right"
        for asked, batch, word in ((_MISSES, unfound, "misses"), (_FALSE, false, "false finds")):
            told = self.score(batch)
            if told > 1 + _NEAR:
                return f"`{name}` comes to {told:.3g}, and a share is at most 1"
            if kind in asked and told > perfect - _FALL:
                return f"`{name}` stays at {told:.3g} whatever the {word}"
        return None

    def wrong_course(self, right: _Pair, worse: _Pair) -> str | None:
        """Why it does not go along an epoch, and from there to the next, as a metric does."""
        name, whole = self.owner.name, self.score(right)
        last, both = self.score(worse), self.score(right, worse)
        if abs(whole - last) < _FALL:
            return None
        if abs(self.score(right, right) - whole) > _NEAR:
            return f"`{name}` is another figure where the same batch comes twice"
        if abs(both - last) < _SAME:
            return f"`{name}` knows the last batch alone: what the others came to is written over"
        if abs(both - whole) < _SAME:
            return f"`{name}` knows the first batch alone"
        resets = [n for n in ("reset_state", "reset_states") if n in self.methods]
        if resets:
            metric = self._new()
            self.score(worse, metric=metric)
            self.machine.ask(metric, resets[0], [])
            if abs(self.score(right, metric=metric) - whole) > _FALL:
                return f"`{name}.{resets[0]}` leaves some of what was counted: each epoch adds to the last"
        return None


def _needed(function: ast.FunctionDef) -> list[str]:
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    return names[: len(names) - len(function.args.defaults)]


def _made() -> Iterator[tuple[_Pair, _Pair, _Pair, _Pair]]:
    """Answers that are right, that miss some, that find too many, and that do both, in each layout."""
    of_chance = np.random.default_rng(7)
    for shape in ((2, 6, 7, 1), (2, 6, 7), (41, 1), (41,)):
        truth = (of_chance.uniform(size=shape) < 0.45).astype(float)
        for low, high in ((1e-7, 1 - 1e-7), (-16.0, 16.0)):
            yield _four(truth, lambda t, low=low, high=high: np.where(t > 0, high, low), 1)
    for shape in ((2, 6, 7), (2, 6, 7, 1), (53,), (53, 1)):
        truth = of_chance.integers(0, KINDS, shape).astype(float)
        truth.reshape(-1)[: 2 * KINDS] = np.tile(np.arange(KINDS), 2)
        flat = truth[..., 0] if shape[-1] == 1 else truth
        for size in (1.0, 16.0):
            said = lambda t, size=size: _soft(np.eye(KINDS)[t.astype(int)], size)  # noqa: E731
            four = _four(flat, said, KINDS - 1)
            if shape[-1] == 1:
                yield tuple((t[..., None], s) for t, s in four)  # type: ignore[misc]
            else:
                yield four
                yield tuple((np.eye(KINDS)[t.astype(int)], s) for t, s in four)  # type: ignore[misc]


def _soft(hot: np.ndarray, size: float) -> np.ndarray:
    """Chances of each class, sure of one of them; or raw scores."""
    return np.asarray(hot * (1 - 1e-6) + 1e-7 if size == 1.0 else (hot - 0.5) * size)


def _four(truth: np.ndarray, said: Any, highest: int) -> tuple[_Pair, _Pair, _Pair, _Pair]:
    flat = truth.reshape(-1)
    found, none = np.flatnonzero(flat > 0), np.flatnonzero(flat == 0)
    answers = []
    for lost, invented in (
        (0, 0),
        (len(found) // 2, 0),
        (0, len(none) // 2),
        (len(found) // 3, len(none) // 3),
    ):
        one = flat.copy()
        one[found[:lost]] = 0
        one[none[:invented]] = highest
        answers.append((truth, said(one.reshape(truth.shape))))
    return tuple(answers)  # type: ignore[return-value]

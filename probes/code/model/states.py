"""States and steps of recurrent layers, in scripts: the one that is read out is not the one that was meant.

What PyTorch and MindSpore give: steps (batch, time, features) with `batch_first`, and states (layers x
directions, batch, features), the last layer's directions last.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.nodes import is_true, whole_number
from .recurrent import RECURRENT, stated

_JOINS = ("cat", "concat", "concatenate", "hstack")


@dataclass(frozen=True)
class _Layer:
    """One recurrent layer: how many are stacked (None: not told), both ways or one, what comes first."""

    call: ast.Call
    count: int | None
    both: bool | None
    batch_first: bool

    @property
    def states(self) -> int | None:
        """How many states it gives for each sample."""
        return None if self.count is None or self.both is None else self.count * (1 + self.both)


def state_misread(source: Script) -> Finding | None:
    """`cat([h[-1], h[-1]])`, `h[0]` of two layers, `h.view(batch, -1)` of several states, `steps[:, 0]`."""
    if not {"pytorch", "mindspore"} & set(source.frameworks):
        return None
    for owner in source.modules:
        layers = _layers(source, owner)
        if not layers:
            continue
        for function in (f for f in owner.body if isinstance(f, ast.FunctionDef)):
            for node, why in _misread(source, function, layers):
                return at(source, node, why)
    return None


def _layers(source: Script, owner: ast.ClassDef) -> dict[str, _Layer]:
    found = {}
    for node in of(owner, ast.Assign):
        call = node.value
        if not isinstance(call, ast.Call) or last_name(call.func) not in RECURRENT:
            continue
        if last_name(call.func) in source.classes or any(k.arg is None for k in call.keywords):
            continue
        given = argument(call, "num_layers", position=2)
        count = 1 if given is None else stated(source, given)
        ways = keyword(call, "bidirectional")
        both = False if ways is None else stated(source, ways)
        found[unparse(node.targets[0])] = _Layer(
            call,
            count if isinstance(count, int) and not isinstance(count, bool) else None,
            both if isinstance(both, bool) else None,
            is_true(keyword(call, "batch_first")),
        )
    return found


def _misread(source: Script, function: Function, layers: dict[str, _Layer]) -> Iterator[tuple[ast.AST, str]]:
    for node in of(function, ast.Call, ast.Subscript):
        if isinstance(node, ast.Call):
            parts = _joined(node)
            kinds = [_read(source, p, layers) for p in parts]
            states = [k for k in kinds if k is not None and k[0] == "state"]
            if len(parts) == 2 == len(states):
                yield from _pair(node, parts, states[0][1])
            if isinstance(node.func, ast.Attribute) and node.func.attr in ("view", "reshape"):
                yield from _flattened(source, node, layers)
        else:
            yield from _one(source, node, layers)


def _joined(call: ast.Call) -> list[ast.expr]:
    if last_name(call.func) not in _JOINS or not call.args:
        return []
    return call.args[0].elts if isinstance(call.args[0], (ast.List, ast.Tuple)) else []


def _read(source: Script, node: ast.expr, layers: dict[str, _Layer]) -> tuple[str, _Layer] | None:
    """What a subscript reads: the steps or the states of a layer."""
    return _kind(source, node.value, layers) if isinstance(node, ast.Subscript) else None


def _kind(source: Script, node: ast.expr, layers: dict[str, _Layer]) -> tuple[str, _Layer] | None:
    """ "steps" or "state", with the layer, of a name or `self.rnn(x)[0]`."""
    places: tuple[object, ...] = ()
    for _ in range(3):
        if isinstance(node, ast.Name):
            every = flow(source).all_given(node)
            if len(every) != 1:
                return None
            places, node = (*every[0].places, *places), every[0].value
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            places, node = (node.slice.value, *places), node.value
    if not isinstance(node, ast.Call) or unparse(node.func) not in layers:
        return None
    layer = layers[unparse(node.func)]
    state = (1, 0) if last_name(layer.call.func) == "LSTM" else (1,)
    if places == (0,):
        return "steps", layer
    return ("state", layer) if places == state else None


def _pair(call: ast.Call, parts: list[ast.expr], layer: _Layer) -> Iterator[tuple[ast.AST, str]]:
    first, second = (unparse(p) for p in parts)
    if first == second:
        yield call, "one state of the recurrent layer is joined with itself"
        return
    if layer.both is not True or layer.count is None:
        return
    slices = [p.slice for p in parts if isinstance(p, ast.Subscript)]
    sliced = all(isinstance(s, ast.Slice) and s.step is None for s in slices) and len(slices) == 2
    if layer.count > 1 and sliced:
        ends = [unparse(s.upper) if isinstance(s, ast.Slice) and s.upper else "" for s in slices]
        starts = [unparse(s.lower) if isinstance(s, ast.Slice) and s.lower else "" for s in slices]
        if starts[0] == "" and ends[1] == "" and ends[0] == starts[1] and ends[0]:
            yield call, "states lie layer by layer, both directions of each: halves are no directions"
        return
    places = [_first_place(p) for p in parts]
    if None in places or layer.states is None:
        return
    told = sorted(p % layer.states for p in places if p is not None)
    if layer.count > 1 and told != [layer.states - 2, layer.states - 1]:
        yield call, f"these are not the two directions of the last of {layer.count} layers"


def _first_place(node: ast.expr) -> int | None:
    if not isinstance(node, ast.Subscript):
        return None
    place = node.slice
    if isinstance(place, ast.Tuple) and place.elts:
        if not all(isinstance(e, ast.Slice) and e.lower is None and e.upper is None for e in place.elts[1:]):
            return None
        place = place.elts[0]
    return whole_number(place)


_BATCH = re.compile(r"\w+\.(?:size\(0\)|shape\[0\])|len\(\w+\)|b|bs|bsz|batch(?:_size)?|n|B|N")


def _flattened(source: Script, call: ast.Call, layers: dict[str, _Layer]) -> Iterator[tuple[ast.AST, str]]:
    """`h.view(batch, -1)`, `h[-2:].reshape(len(x), -1)`: states of several samples lie beside one another."""
    held = call.func.value if isinstance(call.func, ast.Attribute) else call
    cut = isinstance(held, ast.Subscript) and isinstance(held.slice, ast.Slice)
    found = _kind(source, held.value if cut and isinstance(held, ast.Subscript) else held, layers)
    if found is None or found[0] != "state" or len(call.args) != 2:
        return
    states = (
        2 if cut and isinstance(held, ast.Subscript) and unparse(held.slice) == "-2:" else found[1].states
    )
    if states is None or states < 2 or not _BATCH.fullmatch(unparse(call.args[0])):
        return
    yield call, "states (layers, batch, features) are cut up by samples without being turned: samples mix"


def _one(source: Script, node: ast.Subscript, layers: dict[str, _Layer]) -> Iterator[tuple[ast.AST, str]]:
    found = _kind(source, node.value, layers)
    if found is None or not isinstance(node.ctx, ast.Load):
        return
    kind, layer = found
    reads = _reads(source, node)
    if kind == "state" and _first_place(node) == 0 and reads == 1:
        if layer.both is False and layer.count is not None and layer.count > 1:
            yield node, f"the state of the first of {layer.count} layers is read out, and not the last one's"
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    if kind == "steps" and layer.batch_first and layer.both is False and len(parts) in (2, 3):
        whole = isinstance(parts[0], ast.Slice) and parts[0].lower is None and parts[0].upper is None
        if whole and unparse(parts[1]) == "0" and reads == 1:
            yield node, "the first step of the recurrent layer is read out, which has seen one input"


def _reads(source: Script, node: ast.Subscript) -> int:
    """How often the function reads the name that is cut out of; 1 for a value without a name."""
    name = node.value
    while isinstance(name, ast.Subscript):
        name = name.value
    function = source.function_around(node)
    if not isinstance(name, ast.Name) or function is None:
        return 1
    return sum(n.id == name.id and isinstance(n.ctx, ast.Load) for n in of(function, ast.Name))


def padded_end(source: Script) -> Finding | None:
    """`steps, _ = pad_packed_sequence(...)`, then `steps[:, -1]`: zeros for all but the longest sequences."""
    mine = flow(source)
    for node in source.of(ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
        if len(parts) < 2 or unparse(parts[0]) != ":" or unparse(parts[1]) != "-1":
            continue
        every = mine.all_given(node.value) if isinstance(node.value, ast.Name) else []
        if len(every) != 1 or every[0].places != (0,) or not isinstance(every[0].value, ast.Call):
            continue
        call = every[0].value
        if last_name(call.func) == "pad_packed_sequence" and is_true(keyword(call, "batch_first")):
            why = "the last step of padded sequences is read out: padding, for the shorter ones"
            return at(source, node, why)
    return None

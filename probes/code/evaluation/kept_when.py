"""Which weights a script keeps for its evaluation: those of one epoch, of a network made on the spot."""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatchcase

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from .paths import path_pattern

_EPOCH = re.compile(r"(?i)(?:^|_)(?:epochs?|ep|e|i|step|it(?:er)?|round)(?:_|$)")


def _paths(source: Script, call: ast.Call, place: int) -> list[str]:
    """The paths that a call may read or write, `*` for what is worked out in them."""
    values = [v for a in call.args[place : place + 1] for v in flow(source).values(a, 3)]
    return [p for p in dict.fromkeys(path_pattern(source, v) for v in values) if p]


def _saves(source: Script) -> list[ast.Call]:
    libraries = ("torch", "paddle", "ms", "mindspore")
    return [c for c in source.named("save") if source.owner(c) in libraries and len(c.args) > 1]


def _loads(source: Script) -> list[ast.Call]:
    """Weights are read and given to a network: `model.load_state_dict(torch.load(path))`."""
    return [c for c in source.named("load") if source.owner(c) == "torch" and c.args and _is_given(source, c)]


def _is_given(source: Script, call: ast.Call) -> bool:
    takers = [c for c in source.named("load_state_dict") if c.args]
    return any(call in walk(c.args[0]) or call in flow(source).values(c.args[0], 3) for c in takers)


def kept_at_one_epoch(source: Script) -> Finding | None:
    """`if epoch == 0: torch.save(..., "best.pt")`: what is read back afterwards is always of that epoch."""
    for call in _saves(source):
        test = next((p for p in source.above(call) if isinstance(p, ast.If)), None)
        loops = source.loops_around(call)
        if not loops or test is None or not isinstance(test.test, ast.Compare):
            continue
        compared, number = test.test, test.test.comparators[0]
        if not isinstance(compared.ops[0], ast.Eq) or any(call in walk(s) for s in test.orelse):
            continue
        counts = {n.id for loop in loops if isinstance(loop, ast.For) for n in of(loop.target, ast.Name)}
        early = isinstance(number, ast.Constant) and number.value in (0, 1)
        if not (isinstance(compared.left, ast.Name) and compared.left.id in counts and early):
            continue
        mine = _paths(source, call, 1)
        others = [c for c in _saves(source) if c is not call and set(_paths(source, c, 1)) & set(mine)]
        read = [c for c in _loads(source) if set(_paths(source, c, 0)) & set(mine) and c.lineno > call.lineno]
        if len(mine) == 1 and not others and read:
            why = f"these weights are kept in epoch {unparse(number)} alone, and are read back at the end"
            return at(source, call, why)
    return None


def fresh_network_kept(source: Script) -> Finding | None:
    """`torch.save(Net().state_dict(), path)`: a network that is made on the spot, and nothing trained it."""
    for call in _saves(source):
        value = call.args[0]
        if not isinstance(value, ast.Call) or last_name(value.func) != "state_dict":
            continue
        made = receiver(value)
        if not isinstance(made, ast.Call):
            continue
        if last_name(made.func) in {m.name for m in source.models} and source.backwards:
            why = "the weights of a network that is made here are kept, not those that were trained"
            return at(source, call, why)
    return None


def early_epoch_read(source: Script) -> Finding | None:
    """`torch.save(..., f"epoch_{epoch}.pt")` in each round, and `epoch_0.pt` is read for the evaluation."""
    written = {
        p: c
        for c in _saves(source)
        if source.loops_around(c)
        for p in _paths(source, c, 1)
        if p.count("*") == 1
    }
    for call in _loads(source):
        for path in _paths(source, call, 0):
            pattern = next((p for p in written if "*" not in path and fnmatchcase(path, p)), None)
            if pattern is None or call.lineno < written[pattern].lineno or source.loops_around(call):
                continue
            head, _, tail = pattern.partition("*")
            number = path[len(head) : len(path) - len(tail)]
            if re.fullmatch(r"0*[01]?", number) and _counted(written[pattern]):
                return at(
                    source, call, f"of the weights of all epochs those of epoch {int(number or 0)} are read"
                )
    return None


def _counted(call: ast.Call) -> bool:
    """The path that is written holds the number of a round."""
    names = names_in(call.args[1])
    return any(_EPOCH.search(n) for n in names) or "epoch" in unparse(call.args[1])

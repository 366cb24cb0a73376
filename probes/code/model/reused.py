"""Layers in scripts that are made once and stand in several places of a model."""

from __future__ import annotations

import ast
import re
from collections import Counter

from ...readers._tree import of, unparse, walk
from ...readers.script import last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at

_LISTS = ("Sequential", "SequentialCell", "ModuleList", "CellList")
NO_WEIGHTS = re.compile(
    r"^(?:\w*ReLU6?|GELU|SiLU|Mish|Tanh|Sigmoid|ELU|SELU|Dropout\w*|\w*Pool\w*|Identity|Flatten|Softmax|Upsample)$"
)


def layer_reused(source: Script) -> Finding | None:
    """A layer with weights is made under a name that is put twice into one list of layers, or in a loop.

    `layer = conv(c, c)`, then `nn.Sequential(layer, nn.ReLU(), layer)`; `block = Block(d)` above a loop that
    appends `block`. Left aside: layers without weights, and copies (`deepcopy`).
    """
    for call in source.named(*_LISTS):
        parts = (
            call.args[0].elts if call.args and isinstance(call.args[0], (ast.List, ast.Tuple)) else call.args
        )
        names = Counter(p.id for p in parts if isinstance(p, ast.Name))
        for part in parts:
            if isinstance(part, ast.Name) and names[part.id] > 1 and _has_weights(source, part):
                return at(
                    source, call, f"{part.id} is made once and stands here twice: both share their weights"
                )
        if (same := _same_in_comprehension(source, call)) is not None:
            return at(source, call, f"{same} is made once: all entries are one layer")
    for call in source.named("append"):
        loops = source.loops_around(call)
        if not loops or len(call.args) != 1 or not isinstance(call.args[0], ast.Name):
            continue
        name = call.args[0].id
        stored = [n for n in of(loops[-1], ast.Name) if n.id == name and isinstance(n.ctx, ast.Store)]
        owner = receiver(call)
        if stored or owner is None or not _is_list(source, owner) or not _has_weights(source, call.args[0]):
            continue
        return at(source, call, f"{name} is made above the loop: all entries are one layer")
    return None


def _same_in_comprehension(source: Script, call: ast.Call) -> str | None:
    """`conv = nn.Conv1d(8, 8, 3)`, then `nn.ModuleList([conv for k in kernels])`."""
    given = call.args[0] if len(call.args) == 1 else None
    given = given.value if isinstance(given, ast.Starred) else given
    if not isinstance(given, (ast.ListComp, ast.GeneratorExp)) or not isinstance(given.elt, ast.Name):
        return None
    bound = {n.id for g in given.generators for n in of(g.target, ast.Name)}
    return given.elt.id if given.elt.id not in bound and _has_weights(source, given.elt) else None


def _is_list(source: Script, owner: ast.expr) -> bool:
    given = flow(source).given(owner)
    if given is None:
        return False
    if isinstance(given.value, ast.Call) and last_name(given.value.func) in _LISTS:
        return True
    name = unparse(owner)  # a plain list that is handed to a list of layers
    return isinstance(given.value, ast.List) and any(
        name in {unparse(n) for n in walk(a)} for c in source.named(*_LISTS) for a in c.args
    )


def _has_weights(source: Script, node: ast.expr) -> bool:
    """It was made, right above, by a call that makes layers."""
    given = flow(source).given(node)
    if given is None or given.places or not isinstance(given.value, ast.Call):
        return False
    name = last_name(given.value.func)
    if NO_WEIGHTS.match(name) or name in ("deepcopy", "copy", "clone"):
        return False
    if name in ("Sequential", "SequentialCell"):
        return any(
            isinstance(a, ast.Call) and not NO_WEIGHTS.match(last_name(a.func)) for a in given.value.args
        )
    library = re.match(r"(?:torch\.)?nn\.|layers\.|mint\.nn\.", unparse(given.value.func)) is not None
    return library or source.classes.get(name) in source.modules

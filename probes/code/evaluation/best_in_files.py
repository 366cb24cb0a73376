"""The file of the best weights that one program of a project writes, and that no program reads."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name, receiver
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at
from .paths import path_pattern

_SAVES = ("save", "save_weights", "save_model", "save_checkpoint", "save_params")
_READS = ("load", "load_model", "load_weights", "load_checkpoint", "load_from_checkpoint", "restore")
_LEARNS = ("backward", "fit", "train_on_batch", "minimize", "apply_gradients", "train")
_PATH = re.compile(r"\w\.\w+$|[*/]")  # other texts are kinds and modes
_BEST = re.compile(r"(?i)(?:^|[^a-z])best(?:[^a-z]|$)")


def other_file_scored(sources: Sequence[Script]) -> Finding | None:
    """The best weights are written, and what scores reads those of one epoch, by its number.

    Told where nothing in the project reads a file of the best, and the file that is read is one of those that
    training writes in each round. Programs that train are left aside: they go on from where they were.
    """
    written = [(path, call, s) for s in sources for call in s.named(*_SAVES) for path in _paths(s, call)]
    if not any(_BEST.search(p) and _in_condition(s, call) for p, call, s in written):
        return None
    rounds = {p for p, call, s in written if "*" in p and not _BEST.search(p) and _in_loop(s, call)}
    read = [(path, call, s) for s in sources for call in s.named(*_READS) for path in _paths(s, call)]
    if any(_BEST.search(p) or "*" in p for p, _, _ in read):  # what is worked out may be the best
        return None
    unknown = any(not _paths(s, c) for s in sources for c in s.named(*_READS) if _of_weights(c))
    if unknown or any(s.loose for s in sources):
        return None
    for path, call, source in read:
        if not source.named(*_LEARNS) and any(fnmatchcase(path, r) for r in rounds):
            return at(source, call, "the weights of one epoch are read, and the best ones are read by nobody")
    return None


def _of_weights(call: ast.Call) -> bool:
    """What may read weights: not the loading of tables or settings."""
    owner = receiver(call)
    return not (
        isinstance(owner, ast.Name) and owner.id in ("np", "numpy", "json", "yaml", "pickle", "joblib")
    )


def _paths(source: Script, call: ast.Call) -> tuple[str, ...]:
    """The paths that a call names, `*` for what is worked out: `f"ckpt/epoch{i}.pt"` -> "ckpt/epoch*.pt"."""
    given = [
        *call.args,
        *(k for w in ("path", "f", "filepath", "file_name") if (k := keyword(call, w)) is not None),
    ]
    return tuple(p for g in given if _PATH.search(p := path_pattern(source, g)))


def _in_condition(source: Script, call: ast.Call) -> bool:
    """Only where a figure is better: `if loss < best:`."""
    return any(
        isinstance(p, ast.If) and any(True for _ in of(p.test, ast.Compare)) for p in source.above(call)
    )


def _in_loop(source: Script, call: ast.Call) -> bool:
    """Written in each round."""
    return any(isinstance(p, (ast.For, ast.While)) for p in source.above(call))


def figure_replaced(source: Script) -> Finding | None:
    """`is_best = acc > best; best = acc`, in every round: what is held against is the round before."""
    for node in source.of(ast.Assign):
        told, held = node.value, node.targets[0]
        block = getattr(source.parents.get(node), "body", [])
        if not isinstance(told, ast.Compare) or len(told.ops) != 1 or not source.loops_around(node):
            continue
        sides = [told.left, told.comparators[0]]
        best = next((s for s in sides if re.search(r"(?i)(?:^|_)best(?:_|$|\d)", last_name(s))), None)
        if best is None or not isinstance(held, ast.Name) or not isinstance(told.ops[0], _ORDERS):
            continue
        figure = sides[1] if best is sides[0] else sides[0]
        behind = block[block.index(node) + 1 :] if node in block else []
        for other in behind:
            if isinstance(other, ast.Assign) and unparse(other.targets[0]) == unparse(best):
                if isinstance(figure, (ast.Name, ast.Attribute)) and unparse(other.value) == unparse(figure):
                    return at(source, other, "the best so far takes the figure of every round, better or not")
                break
    return None


_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)

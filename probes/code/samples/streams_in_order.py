"""Pipelines of `tf.data` in scripts that are followed call by call to their rows: nothing mixes them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.origins import origins
from ..shared.sides import literal, side

_MIXES = re.compile(
    r"(?i)shuffle|permut|sample|choice|randint|integers|train_test_split|kfold|rejection|interleave|concat|zip"
)
_SPLITS_BY_GROUP = ("GroupShuffleSplit",)
_STATEFUL = re.compile(r"(?i)stateful\s*=\s*True|reset_states")


def stream_in_order(source: Script) -> Finding | None:
    """`from_tensor_slices((x, y)).map(f).batch(64)` that is gone through more than once, as it is stored.

    Followed from `fit` or from the loop with the tape back to the rows. Rows that were drawn, dealt or mixed
    by a call on the way are left alone, and networks that carry their state from batch to batch.
    """
    if source.loose or "from_tensor_slices" not in source.text or _STATEFUL.search(source.code):
        return None
    for stream, again in _consumed(source):
        chain = list(_chain(source, stream))
        made = next((c for c in chain if last_name(c.func) == "from_tensor_slices"), None)
        names = [last_name(c.func) for c in chain]
        if made is None or chain[-1] is not made or not {"batch", "padded_batch"} & set(names):
            continue
        if any(_MIXES.search(n) for n in names) or not (again or "repeat" in names) or not made.args:
            continue
        calls = [o for o in origins(source, made.args[0]) if isinstance(o, ast.Call)]
        if any(_MIXES.search(n) and n not in _SPLITS_BY_GROUP for n in (last_name(c.func) for c in calls)):
            continue
        own = {f for c in calls for f in flow(source).called(c)}
        if any(_MIXES.search(last_name(c.func)) for f in own for c in of(f, ast.Call)):
            continue
        if _mixed_in_place(source):
            continue
        return at(source, made, "training goes through these rows in the stored order, every time anew")
    return None


def _mixed_in_place(source: Script) -> bool:
    """`rng.shuffle(files)` stands by itself."""
    found = [c for c in source.calls if "shuffle" in last_name(c.func).lower()]
    return any(isinstance(source.parents.get(c), ast.Expr) for c in found)


def _consumed(source: Script) -> Iterator[tuple[ast.expr, bool]]:
    """What is trained on, and whether it is gone through more than once."""
    for call in source.named("fit"):
        given = argument(call, "x", position=0)
        epochs = keyword(call, "epochs")
        if given is None or len(call.args) > 1 or keyword(call, "y") is not None or epochs is None:
            continue
        if not isinstance(given, (ast.List, ast.Tuple, ast.Dict)):
            yield given, literal(source, epochs) != 1
    for loop in source.of(ast.For):
        if not _learns(source, loop):
            continue
        given = loop.iter
        while isinstance(given, ast.Call) and last_name(given.func) in (
            "enumerate",
            "tqdm",
            "iter",
            "trange",
        ):
            if not given.args:
                break
            given = given.args[0]
        outer = source.loops_around(loop)
        if isinstance(given, (ast.Name, ast.Attribute, ast.Call)):
            yield given, bool(outer)


def _learns(source: Script, loop: ast.For) -> bool:
    if takes_gradients(source, loop):
        return True
    return any(takes_gradients(source, f) for c in of(loop, ast.Call) for f in flow(source).called(c))


def _chain(source: Script, node: ast.expr) -> Iterator[ast.Call]:
    """The calls of a pipeline, last one first; it ends where a value is not the only one of its name."""
    for _ in range(30):
        if isinstance(node, (ast.Name, ast.Attribute)):
            if side(getattr(node, "id", getattr(node, "attr", ""))) is False:
                return
            made = flow(source).whole_given(node)
            if made is None:
                return
            node = made
        elif isinstance(node, ast.Call):
            yield node
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            if owner is None or last_name(node.func) == "from_tensor_slices":
                return
            node = owner
        else:
            return

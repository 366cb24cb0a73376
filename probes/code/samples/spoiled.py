"""Batches that are spoiled on their way into the model: wiped, drowned in noise, thinned by their labels."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...readers._tree import of, unparse, walk
from ...readers.script import last_name, receiver
from ...registry import Finding, View, probe, unframed
from ...scripts.learning import taken
from ...scripts.syntax import Loop, Script
from ..shared.checks import at, first, ok
from ..shared.roles import INPUT_WORDS, TARGET_WORDS, base, model_calls
from ..shared.sides import either, literal
from .in_getitem import drowned, overwritten_in_getitem
from .wiped import rows_blanked, training_wiped

_FILLS = (
    *("zeros_like", "ones_like", "rand_like", "randn_like", "empty_like", "full_like"),
    *("zeros", "ones", "rand", "randn", "empty", "full", "random"),
)


@probe()
@unframed
def inputs_overwritten(view: View) -> Finding:
    """The inputs of a batch are thrown away before the model is called: only their shape is used.

    `x = torch.zeros_like(x)`, `x = torch.rand(x.shape)` in the loop that trains, of a name that the loop
    hands in, which the model is called on; or most of the training inputs is set to one number beforehand.
    False positive: a test of memory or speed.
    """
    return first(
        view,
        either(_overwritten, overwritten_in_getitem, training_wiped, rows_blanked),
        "the scripts show no batch on its way into the model",
    )


def _overwritten(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    called = {base(c.args[0]) for c in model_calls(source)}
    for loop, names in _batches(source):
        for name in names:
            if not (INPUT_WORDS.search(name.lower()) or name.lower() in called):
                continue
            seen = seen or loop
            for node in loop.body:
                value = node.value if isinstance(node, ast.Assign) else None
                if not isinstance(node, ast.Assign) or unparse(node.targets[0]) != name:
                    continue
                while isinstance(value, ast.Call) and last_name(value.func) in ("to", "cuda", "float"):
                    value = receiver(value)
                if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
                    if 0 in (literal(source, value.left), literal(source, value.right)):
                        return at(source, node, "the inputs are multiplied by nothing")
                if not isinstance(value, ast.Call) or last_name(value.func) not in _FILLS:
                    break
                if last_name(value.func).endswith("_like") or _shape_alone(source, value, name):
                    return at(source, node, "the inputs are thrown away, nothing but their shape is left")
                break
    return ok(source, seen, "the model is given what the loader hands out") if seen is not None else None


def _batches(source: Script) -> Iterator[tuple[ast.For, list[str]]]:
    """Loops that train, with the names that they hand out of inputs and labels."""
    done: set[Loop] = set()
    for backward in taken(source):
        loop = next(iter(source.loops_around(backward)), None)
        if not isinstance(loop, ast.For) or loop in done:
            continue
        done.add(loop)
        names = [n.id for n in of(loop.target, ast.Name)]
        if len(names) > 1:
            yield loop, names


def _shape_alone(source: Script, value: ast.expr, name: str) -> bool:
    """The name is used for its shape, and for nothing else."""
    used = [n for n in of(value, ast.Name) if n.id == name]
    above = [source.parents.get(n) for n in used]
    return bool(used) and all(
        isinstance(a, ast.Attribute) and a.attr in ("shape", "size", "device", "dtype") for a in above
    )


def noise_above(source: Script, most: float) -> Finding | None:
    """`x = x + 10 * randn_like(x)` of the inputs in the loop that trains: more than `most` deviations."""
    for loop, names in _batches(source):
        for node in loop.body:
            if not isinstance(node, (ast.Assign, ast.AugAssign)):
                continue
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if not isinstance(target, ast.Name) or target.id not in names:
                continue
            if TARGET_WORDS.search(target.id.lower()):
                continue
            if (found := drowned(source, node, most)) is not None:
                return found
    return None


def classes_left_out(source: Script) -> Finding | None:
    """`keep = y < 5; x, y = x[keep], y[keep]` in the loop that trains: most classes are never seen."""
    for loop, names in _batches(source):
        labels = [n for n in names if TARGET_WORDS.search(n.lower())]
        for node in of(loop, ast.Compare):
            if len(node.ops) != 1 or unparse(node.left) not in labels:
                continue
            limit = literal(source, node.comparators[0])
            if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
                continue  # unlabelled, or the background
            holder = source.parents.get(node)
            masks = {unparse(node)}
            if isinstance(holder, ast.Assign):
                masks |= {unparse(t) for t in holder.targets}
            taken = {
                unparse(s.value)
                for s in of(loop, ast.Subscript)
                if unparse(s.slice) in masks
                for a in [source.parents.get(s)]
                if _rebinds(source, s, a)
            }
            if len(taken & set(names)) > 1:
                return at(source, node, "samples are left out of training by their label")
    return None


def _rebinds(source: Script, taken: ast.Subscript, above: ast.AST | None) -> bool:
    """`x = x[keep]`, `x, y = x[keep], y[keep]`: the name itself is replaced by the part."""
    statement = source.statement(taken)
    if not isinstance(statement, ast.Assign) or not isinstance(above, (ast.Assign, ast.Tuple)):
        return False
    return unparse(taken.value) in {unparse(n) for t in statement.targets for n in walk(t)}

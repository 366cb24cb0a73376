"""What a data set does to a sample that it hands out: throws it away, drowns it, gives it another's label."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.one_side import classifies
from ..shared.roles import TARGET_WORDS
from ..shared.sides import literal

_LIKE = re.compile(r"^(?:rand|randn|zeros|ones|empty)_like$")


def _handing_out(source: Script) -> Iterator[tuple[Function, str, set[str]]]:
    """`__getitem__` of data sets: the method, its index, the names that hold what is read of the sample."""
    for function in source.of(ast.FunctionDef):
        given = function.args.args
        if function.name != "__getitem__" or len(given) != 2:
            continue
        index = given[1].arg
        held = {
            t.id
            for n in of(function, ast.Assign)
            for t in n.targets
            if isinstance(t, ast.Name)
            and any(index in names_in(s.slice) for s in of(n.value, ast.Subscript))
            and not TARGET_WORDS.search(t.id.lower())
        }
        yield function, index, held


def overwritten_in_getitem(source: Script) -> Finding | None:
    """`x = torch.rand_like(x)` of a sample that was read just before."""
    for function, _, held in _handing_out(source):
        for node in of(function, ast.Assign):
            value = node.value
            if not isinstance(value, ast.Call) or not _LIKE.match(last_name(value.func)) or not value.args:
                continue
            name = unparse(value.args[0])
            if name in held and [unparse(t) for t in node.targets] == [name]:
                return at(source, node, f"`{name}` is thrown away: only its shape is used")
    return None


_NORMAL = ("randn_like", "randn", "standard_normal", "normal")


def drowned(source: Script, node: ast.Assign | ast.AugAssign, most: float) -> Finding | None:
    """Normal noise of more than `most` deviations stands in what is assigned."""
    for part in of(node.value, ast.BinOp):
        if isinstance(part.op, ast.Mult):
            sides = (part.left, part.right)
            drawn = any(isinstance(s, ast.Call) and last_name(s.func) in _NORMAL for s in sides)
            sizes = [literal(source, s) for s in sides if not isinstance(s, ast.Call)]
            far = [n for n in sizes if isinstance(n, (int, float)) and n > most]
            if drawn and far:
                return at(source, node, f"noise of {far[0]:g} deviations is added to the inputs")
    return None


def drowned_in_getitem(source: Script, most: float) -> Finding | None:
    """`x = x + 10 * torch.randn_like(x)`: noise of more than `most` deviations of normalised inputs."""
    for function, _, held in _handing_out(source):
        for node in of(function, ast.Assign, ast.AugAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if not isinstance(target, ast.Name) or target.id not in held:
                continue
            if (found := drowned(source, node, most)) is not None:
                return found
    return None


def answer_is_the_input(source: Script) -> Finding | None:
    """`return pad(seq[:-1]), pad(seq[:-1])` for a loss of classes: each place is to say what it is given."""
    if not classifies(source) or re.search(r"(?i)autoenc|denois|mask_?tok|masked_?l|copy", source.code):
        return None
    for function, _, _ in _handing_out(source):
        for out in of(function, ast.Return):
            pair = out.value.elts if isinstance(out.value, ast.Tuple) else []
            if len(pair) == 2 and unparse(pair[0]) == unparse(pair[1]) and of(pair[0], ast.Subscript):
                return at(source, out, "the answer is the input itself")
    return None


def _is_label(source: Script, row: ast.Subscript) -> bool:
    """A field of a row, and the name of a label for it: `label = rows[i - 1]["kind"]`."""
    statement = source.statement(row)
    if not isinstance(row.slice, ast.Constant) or not isinstance(statement, ast.Assign):
        return False
    return any(TARGET_WORDS.search(unparse(t).lower()) for t in statement.targets)


def label_of_the_one_before(source: Script) -> Finding | None:
    """`return self.images[i], self.labels[i - 1]`: the label of the sample before.

    What lies ahead (`i + 1`) may be forecast, and so may be another place of one and the same series.
    """
    for function, index, _ in _handing_out(source):
        plain, before = {}, {}
        for one in of(function, ast.Subscript):
            if isinstance(one.slice, ast.Name) and one.slice.id == index:
                plain[unparse(one.value)] = one
            elif re.fullmatch(rf"{re.escape(index)} - \d+", unparse(one.slice)):
                before[unparse(one.value)] = one
        for name, place in before.items():
            row = source.parents.get(place)
            if name in plain and isinstance(row, ast.Subscript) and _is_label(source, row):
                return at(source, place, "the label is that of another row")
            if plain and name not in plain and TARGET_WORDS.search(name.lower().split(".")[-1]):
                return at(source, place, "the label is that of another sample")
    return None

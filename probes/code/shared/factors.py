"""Products in scripts: what a count is multiplied with and divided by, names followed to their values."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from ...readers._tree import unparse
from ...readers.script import last_name, receiver
from ...scripts.flow import Flow

_FLOORS = ("max", "maximum", "clamp", "clip", "clamp_min", "clip_by_value")
_SMALL = re.compile(r"(?i)\d[\d.e-]*|(?:\w+\.)*\w*(?:eps|epsilon|smooth|tiny)\w*")  # what a floor is
_ROUNDED = ("int", "float", "round", "ceil", "floor", "abs")
_DEPTH = 8


@dataclass(frozen=True)
class Product:
    """A constant times powers of expressions; `atoms` are pairs of an expression's text and its power."""

    constant: Fraction
    atoms: tuple[tuple[str, int], ...] = ()

    def times(self, other: Product, sign: int = 1) -> Product:
        """The product of both, or the quotient with `sign` -1."""
        powers = dict(self.atoms)
        for text, power in other.atoms:
            powers[text] = powers.get(text, 0) + sign * power
        constant = self.constant * other.constant if sign > 0 else self.constant / other.constant
        return Product(constant, tuple(sorted((t, p) for t, p in powers.items() if p)))


def product(mine: Flow, node: ast.expr, depth: int = _DEPTH) -> Product | None:
    """An expression as a product; a sum, or what cannot be followed, is one atom.

    `int(...)`, `math.ceil(...)`, `max(1, ...)` and the whole numbers that round a quotient up are looked
    through. None where it divides by zero.
    """
    if isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value == value:
            return Product(Fraction(str(value))) if value not in (float("inf"), float("-inf")) else None
        return None
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div, ast.FloorDiv)):
        left, right = product(mine, node.left, depth), product(mine, node.right, depth)
        if left is None or right is None or (not isinstance(node.op, ast.Mult) and right.constant == 0):
            return None
        return left.times(right, 1 if isinstance(node.op, ast.Mult) else -1)
    if isinstance(node, ast.Call) and (inner := _rounded(node)) is not None:
        return product(mine, inner, depth)
    if depth and isinstance(node, (ast.Name, ast.Attribute)):
        given = mine.all_given(node)
        if len(given) == 1 and not given[0].places and not _opaque(given[0].value):
            return product(mine, given[0].value, depth - 1)
        if not given:
            handed = mine.arguments(node)
            if len(handed) == 1 and not _opaque(handed[0]):
                return product(mine, handed[0], depth - 1)
    return Product(Fraction(1), ((unparse(node), 1),))


def _rounded(node: ast.Call) -> ast.expr | None:
    """What is rounded, or held above one: `math.ceil(n / b)`, `max(1, n)`."""
    name = last_name(node.func)
    if name in _ROUNDED and len(node.args) >= 1:
        return node.args[0]
    if name == "max" and len(node.args) == 2:
        rest = [a for a in node.args if not (isinstance(a, ast.Constant) and a.value in (0, 1))]
        return rest[0] if len(rest) == 1 else None
    return None


def _opaque(value: ast.expr) -> bool:
    """What a name is given and what is no product: then the name itself says more."""
    return not isinstance(value, (ast.BinOp, ast.Constant, ast.Name, ast.Attribute)) and not (
        isinstance(value, ast.Call) and (_rounded(value) is not None or last_name(value.func) == "len")
    )


def ratio(mine: Flow, above: ast.expr, below: ast.expr) -> Fraction | None:
    """How many times as large the first is, where all that is not constant stands in both."""
    one, other = product(mine, above), product(mine, below)
    if one is None or other is None or other.constant == 0:
        return None
    quotient = one.times(other, -1)
    return quotient.constant if not quotient.atoms else None


def lengths(found: Product) -> Iterator[tuple[str, int]]:
    """What is counted by `len` in a product, with its power."""
    for text, power in found.atoms:
        if text.startswith("len(") and text.endswith(")"):
            yield text[4:-1], power


def without_floor(node: ast.expr) -> ast.expr:
    """`(a + b).clamp(min=1)`, `np.maximum(a + b, 1e-12)`, `max(1, a + b)`, `a + b + eps` -> `a + b`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        if _SMALL.fullmatch(unparse(node.right)):
            return without_floor(node.left)
        return without_floor(node.right) if _SMALL.fullmatch(unparse(node.left)) else node
    if isinstance(node, ast.Call) and last_name(node.func) in _FLOORS:
        owner = receiver(node)
        if isinstance(owner, (ast.BinOp, ast.Call)):
            return without_floor(owner)
        parts = [a for a in node.args if not _SMALL.fullmatch(unparse(a))]
        return without_floor(parts[0]) if parts else node
    return node

"""Conversions of units in scripts that do not fit their formula: angles, temperatures, mel, times."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.numbers import known
from ..shared.sides import number

_DEGREES = re.compile(r"(?i)(?:^|_)deg(?:s|rees?)?$")
_TURNS = ("sin", "cos", "tan")
_HOLDS = ("to_numpy", "astype", "float", "to", "from_numpy", "tensor", "asarray", "array", "clone", "cast")


def degrees_as_radians(source: Script) -> Finding | None:
    """`np.cos(table["wind_deg"])`: what is called degrees goes into a sine as if in radians.

    Said only of a name or column that ends in deg or degrees and reaches the function with no arithmetic.
    """
    seen = None
    for call in source.named(*_TURNS):
        if len(call.args) != 1 or not isinstance(call.func, ast.Attribute):
            continue
        seen = seen or call
        if (name := _as_it_is(source, call.args[0], 4)) is not None and _DEGREES.search(name):
            return at(source, call, f"{name} goes into a {last_name(call.func)} that takes radians")
    return ok(source, seen, "angles go into sines in radians") if seen is not None else None


def _as_it_is(source: Script, node: ast.expr, depth: int) -> str | None:
    """The column or name that a value is, with no arithmetic on the way; None where it is worked out."""
    if depth == 0:
        return None
    if isinstance(node, ast.Call):
        held = last_name(node.func) in _HOLDS
        owner = receiver(node)
        if held and owner is not None and unparse(owner) not in ("np", "numpy", "torch", "tf"):
            return _as_it_is(source, owner, depth)
        return _as_it_is(source, node.args[0], depth) if held and node.args else None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        if isinstance(node.slice.value, str):
            written = [
                a
                for a in source.of(ast.Assign, ast.AugAssign)
                for t in (a.targets if isinstance(a, ast.Assign) else [a.target])
                if isinstance(t, ast.Subscript) and unparse(t.slice) == unparse(node.slice)
            ]
            return None if written else node.slice.value
    if isinstance(node, ast.Attribute):
        if node.attr == "values":
            return _as_it_is(source, node.value, depth)
        return node.attr if isinstance(node.value, ast.Name) and node.value.id != "self" else None
    if isinstance(node, ast.Name):
        given = flow(source).all_given(node)
        if len(given) == 1 and not given[0].places:
            return _as_it_is(source, given[0].value, depth - 1)
    return None


def freezing_point_misplaced(source: Script) -> Finding | None:
    """`f * 5 / 9 - 32`, `c * 9 / 5` with 32 taken off: Fahrenheit is `(f - 32) * 5 / 9`."""
    seen = None
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, (ast.Sub, ast.Add)) or number(source, node.right) != 32:
            continue
        factor = _factor(source, node.left)
        if factor is None or not (_near(factor, 5 / 9) or _near(factor, 9 / 5)):
            continue
        seen = seen or node
        if _near(factor, 5 / 9) or isinstance(node.op, ast.Sub):
            return at(source, node, "32 is taken off degrees Fahrenheit before they are scaled by 5/9")
    return ok(source, seen, "temperatures are converted by their formula") if seen is not None else None


def _near(value: float, other: float) -> bool:
    return abs(value - other) < 2e-3


def _factor(source: Script, node: ast.expr) -> float | None:
    """The number that `x * 5 / 9` multiplies by; None where it is anything else."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Mult, ast.Div)):
        return None
    for one, other in ((node.left, node.right), (node.right, node.left)):
        value = number(source, other)
        if value is None and isinstance(other, ast.BinOp) and isinstance(other.op, ast.Div):
            parts = number(source, other.left), number(source, other.right)
            value = parts[0] / parts[1] if parts[0] is not None and parts[1] else None
        if value is None or value == 0 or (isinstance(node.op, ast.Div) and other is node.left):
            continue
        value = value if isinstance(node.op, ast.Mult) else 1 / value
        return value * (_factor(source, one) or 1.0)
    return None


def mel_turned_back_wrongly(source: Script) -> Finding | None:
    """`2595 * log10(1 + f / 700)` one way, and `700 * (exp(m / 2595) - 1)` back."""
    seen = None
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, ast.Mult) or 700 not in (
            number(source, node.left),
            number(source, node.right),
        ):
            continue
        for base, exponent, place in _powers(source, node):
            scale = number(source, exponent.right) if isinstance(exponent.op, ast.Div) else None
            if scale is None or not (2590 < scale < 2600 or 1120 < scale < 1130):
                continue
            seen = seen or node
            if (base == 10) != (scale > 2000):
                return at(source, place, f"{scale:g} goes with a power of another base: these are no mels")
    return ok(source, seen, "mel and hertz by one formula") if seen is not None else None


def _powers(source: Script, node: ast.AST) -> Iterator[tuple[float, ast.BinOp, ast.AST]]:
    """Powers of ten or e of a quotient: the base, the quotient, and where it stands."""
    for power in of(node, ast.BinOp):
        if isinstance(power.op, ast.Pow) and isinstance(power.right, ast.BinOp):
            base = number(source, power.left)
            if base is not None:
                yield base, power.right, power
    for call in of(node, ast.Call):
        name = last_name(call.func)
        if name in ("exp", "expm1") and len(call.args) == 1 and isinstance(call.args[0], ast.BinOp):
            yield 2.718, call.args[0], call


def half_of_the_spectrum(source: Script) -> Finding | None:
    """`S = stft(x, ...)`, `P = S.real ** 2` with no imaginary part anywhere: it depends on the phase."""
    seen = None
    for node in source.of(ast.Assign):
        name = node.targets[0].id if isinstance(node.targets[0], ast.Name) else ""
        made = node.value
        if not name or not isinstance(made, ast.Call) or last_name(made.func) not in _SPECTRA:
            continue
        scope = source.function_around(node) or source.tree
        seen = seen or node
        squares = [
            p
            for p in of(scope, ast.BinOp)
            if isinstance(p.op, ast.Pow) and unparse(p.left) in (f"{name}.real", f"{name}.imag")
        ]
        parts = {unparse(a) for a in of(scope, ast.Attribute) if a.attr in ("real", "imag")}
        others = [
            n
            for n in of(scope, ast.Name)
            if n.id == name and isinstance(n.ctx, ast.Load) and not _is_part(source, n)
        ]
        if squares and len(parts & {f"{name}.real", f"{name}.imag"}) == 1 and not others:
            return at(
                source, squares[0], "the power is taken of one part of the spectrum: it follows the phase"
            )
    return ok(source, seen, "both parts of the spectrum count") if seen is not None else None


_SPECTRA = ("stft", "rfft", "fft", "rfft2", "fft2")


def _is_part(source: Script, node: ast.Name) -> bool:
    parent = source.parents.get(node)
    return isinstance(parent, ast.Attribute) and parent.attr in ("real", "imag", "shape", "ndim", "dtype")


_PERIODS = {
    "hour": (24,),
    "dayofyear": (365, 365.25, 366, 365.2425, 365.24),
    "day_of_year": (365, 365.25, 366, 365.2425, 365.24),
    "month": (12,),
    "dayofweek": (7,),
    "day_of_week": (7,),
    "weekday": (7,),
    "minute": (60,),
}


def waves_of_half_a_period(source: Script) -> Finding | None:
    """`sin(2 * pi * hour / 12)` of `.dt.hour`, and nowhere by 24: two hours of the day are the same."""
    used: dict[str, list[tuple[float, ast.Call]]] = {}
    for call in source.named("sin", "cos"):
        for node in of(call, ast.BinOp):
            if isinstance(node.op, ast.Div) and (period := number(source, node.right)) is not None:
                part = _part_of_time(source, node.left)
                if part:
                    used.setdefault(part, []).append((period, call))
    for part, found in used.items():
        whole = _PERIODS[part]
        waves = [(p, c) for p, c in found if "pi" in unparse(c) or p > 3]
        short = [c for p, c in waves if p < whole[0] * 0.9]
        if short and not any(p >= whole[0] * 0.9 for p, _ in waves) and 2 * len(short) > len(waves):
            return at(source, short[0], f"a {part} comes round after {whole[0]:g}, and its waves sooner")
        plain = [c for p, c in waves if not _round(source, c) and whole[0] * 0.9 <= p <= whole[0] * 1.1]
        if plain and len(plain) == len(waves):
            return at(source, plain[0], f"a {part} goes through one radian here, and never comes round")
        if short and len(waves) == 2 and _differ(waves):
            return at(source, short[0], f"a {part} comes round after {whole[0]:g}, and this wave sooner")
    first = next((f[0][1] for f in used.values()), None)
    return ok(source, first, "times come round in their period") if first is not None else None


def _round(source: Script, call: ast.Call) -> bool:
    """The angle has a factor of pi, by its name or as a number."""
    parts = [n for n in of(call, ast.Name, ast.Attribute, ast.Constant) if n is not call.func]
    if any(re.search(r"(?i)pi|tau|rad|omega|freq", unparse(n)) for n in parts):
        return True
    return any(v is not None and (3.1 < v < 3.2 or 6.2 < v < 6.3) for v in (known(source, n) for n in parts))


def _differ(waves: list[tuple[float, ast.Call]]) -> bool:
    """A sine and a cosine of one thing, each with a period of its own."""
    return {last_name(c.func) for _, c in waves} == {"sin", "cos"} and waves[0][0] != waves[1][0]


def _part_of_time(source: Script, node: ast.expr) -> str:
    """`hour`, `dayofyear`: the part of a date that a value is made of, with factors and names in between."""
    for part in of(node, ast.Attribute, ast.Name):
        values = [part, *(flow(source).values(part, 3) if isinstance(part, ast.Name) else [])]
        for value in values:
            for held in of(value, ast.Attribute):
                if (
                    held.attr in _PERIODS
                    and isinstance(held.value, ast.Attribute)
                    and held.value.attr in ("dt", "index")
                ):
                    others = [b for b in of(value, ast.BinOp) if isinstance(b.op, (ast.Add, ast.Sub))]
                    return "" if others else held.attr
    return ""

"""Codes that a variational model draws by hand: mean plus deviation times noise of a normal distribution."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.nodes import factors

_LOG = re.compile(r"(?i)^(?:\w+_)?(?:log_?var(?:iance)?|logv|lv)(?:_\w+)?$")
_MEAN = re.compile(r"(?i)^(?:\w+_)?(?:mu|mean|means|loc|m)(?:_\w+)?$")
_NORMAL = ("normal", "randn", "randn_like", "standard_normal", "StandardNormal", "random_normal", "normal_")
_FLAT = ("uniform", "rand", "rand_like", "random", "random_uniform", "uniform_")


def code_drawn_wrongly(source: Script) -> Finding | None:
    """`mu + exp(logvar) * noise`, the variance in place of its root; or noise between none and one."""
    seen = None
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, ast.Add):
            continue
        for mean, rest in ((node.left, node.right), (node.right, node.left)):
            parts = factors(rest)
            if not _MEAN.match(last_name(mean)) or len(parts) != 2:
                continue
            for spread, noise in ((parts[0], parts[1]), (parts[1], parts[0])):
                kind, drawn = _spread(source, spread), _drawn(source, noise)
                if not kind or not drawn:
                    continue
                seen = seen or node
                if drawn == "flat":
                    return at(
                        source, noise, "the noise of the code lies between none and one, not around none"
                    )
                if kind == "variance":
                    return at(source, spread, "the noise is multiplied by the variance, not by its root")
    return ok(source, seen, "the code is drawn by mean, deviation and noise") if seen is not None else None


def _spread(source: Script, node: ast.expr) -> str:
    """ "root" of `exp(0.5 * logvar)`, "variance" of `exp(logvar)`; by way of a name, too."""
    ends = [node, *(v for v in flow(source).values(node, 3) if isinstance(node, ast.Name))]
    for end in ends:
        if isinstance(end, ast.Call) and last_name(end.func) == "exp":
            owner = receiver(end)
            inner = end.args[0] if end.args else owner
            if inner is None or not any(_LOG.match(n) for n in _called(inner)):
                continue
            if any(isinstance(p, ast.Call) and last_name(p.func) == "sqrt" for p in source.above(end)):
                return "root"
            return "root" if of(inner, ast.BinOp) else "variance" if not of(inner, ast.Call) else ""
        if isinstance(end, ast.Call) and last_name(end.func) == "sqrt" and "exp" in unparse(end):
            return "root"
    return ""


def _called(node: ast.expr) -> set[str]:
    return names_in(node) | {n.attr for n in of(node, ast.Attribute)}


def _drawn(source: Script, node: ast.expr) -> str:
    """ "normal" or "flat": how the noise is drawn; "" where nothing tells."""
    ends = [node, *(v for v in flow(source).values(node, 3) if isinstance(node, ast.Name))]
    names = {last_name(e.func) for e in ends if isinstance(e, ast.Call)}
    if len(names) != 1:
        return ""
    if names & set(_NORMAL):
        return "normal"
    plain = all(
        not of(e, ast.BinOp) and not e.args[1:] and not e.keywords for e in ends if isinstance(e, ast.Call)
    )
    return "flat" if names & set(_FLAT) and plain else ""


def divided_by_itself(source: Script) -> Finding | None:
    """`log(m[:, 2:] / m[:, 2:])`: a ratio of one thing to itself is one, and its logarithm none."""
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, ast.Div) or of(node, ast.Call) or not of(node, ast.Name):
            continue
        above = source.parents.get(node)
        if not isinstance(above, ast.Call) or not last_name(above.func).startswith("log"):
            continue
        if unparse(node.left) == unparse(node.right):
            return at(source, node, "the ratio of a thing to itself is one: its logarithm is always zero")
    return None

"""Calls with `**options`, where the options are written out in the same file: each as an argument."""

from __future__ import annotations

import ast
from collections import Counter
from copy import deepcopy

MAX_NODES = 24  # of one value; what is longer stays where it is
_MARKS = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
_LEAVES = frozenset((ast.Name, ast.Constant))
_PLAIN = (
    ast.Constant,
    ast.Name,
    ast.Attribute,
    ast.Tuple,
    ast.List,
    ast.BinOp,
    ast.UnaryOp,
    ast.Subscript,
    ast.expr_context,
    ast.operator,
    ast.unaryop,
)


def spell_out(tree: ast.Module) -> None:
    """Write `f(**options)` as `f(a=1, b=2)`, in place, where `options` is given once and never changed.

    Also of a table within it, `f(**CONFIG["optimizer"])`. Only names, constants and what they make up are
    moved: a call would stand there twice.
    """
    nodes = _all(tree)
    calls = [n for n in nodes if isinstance(n, ast.Call) and not all(k.arg for k in n.keywords)]
    tables = _tables(nodes) if calls else {}
    for call in calls if tables else ():
        told = {k.arg for k in call.keywords}
        spelled: list[ast.keyword] = []
        for word in call.keywords:
            held = _held(tables, word.value) if word.arg is None else None
            if held is None or told & held.keys():
                spelled.append(word)
                continue
            for name, value in held.items():
                made = ast.keyword(arg=name, value=deepcopy(value))
                for node in ast.walk(made):
                    if isinstance(node, (ast.expr, ast.keyword)):
                        ast.copy_location(node, word.value)
                spelled.append(made)
        call.keywords = spelled


def _all(tree: ast.Module) -> list[ast.AST]:
    """Every node but those of context and operators, with nothing kept: the tree is changed afterwards."""
    nodes: list[ast.AST] = [tree]
    for node in nodes:
        if type(node) in _LEAVES:
            continue
        for value in node.__dict__.values():
            if type(value) is list:
                nodes += [v for v in value if isinstance(v, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, _MARKS):
                nodes.append(value)
    return nodes


def _tables(nodes: list[ast.AST]) -> dict[str, ast.Dict]:
    """Dicts by their only name, which is nowhere bound again and of which no entry is set."""
    bound: Counter[str] = Counter()
    given: dict[str, ast.Dict] = {}
    changed: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound[node.id] += 1
        elif isinstance(node, ast.arg):
            bound[node.arg] += 1
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            value = _as_dict(node.value)
            if isinstance(target, ast.Name) and value is not None:
                given[target.id] = value
        elif (isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load)) or (
            isinstance(node, ast.Attribute)
            and node.attr
            in (
                "update",
                "pop",
                "setdefault",
                "clear",
                "popitem",
            )
        ):
            changed.add(_base(node))
        elif isinstance(node, ast.alias):
            bound[node.asname or node.name] += 1
    return {n: d for n, d in given.items() if bound[n] == 1 and n not in changed}


def _as_dict(node: ast.expr | None) -> ast.Dict | None:
    """A dict as it is written, also as `dict(a=1)`."""
    if isinstance(node, ast.Dict):
        return node
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "dict"
        and not node.args
    ):
        keys = [ast.Constant(value=k.arg) for k in node.keywords if k.arg]
        if len(keys) == len(node.keywords):
            return ast.Dict(keys=list(keys), values=[k.value for k in node.keywords])
    return None


def _base(node: ast.expr) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _held(tables: dict[str, ast.Dict], node: ast.expr, deep: int = 3) -> dict[str, ast.expr] | None:
    """The entries of a dict by name; None where not all are names and plain values."""
    table = node
    steps: list[str] = []
    while isinstance(table, ast.Subscript) and len(steps) < deep:
        at = table.slice
        if not isinstance(at, ast.Constant) or not isinstance(at.value, str):
            return None
        steps.append(at.value)
        table = table.value
    held: ast.expr | None = tables.get(table.id) if isinstance(table, ast.Name) else _as_dict(table)
    for step in reversed(steps):
        if not isinstance(held, ast.Dict):
            return None
        held = next(
            (
                v
                for k, v in zip(held.keys, held.values, strict=True)
                if isinstance(k, ast.Constant) and k.value == step
            ),
            None,
        )
    if not isinstance(held, ast.Dict):
        return None
    found: dict[str, ast.expr] = {}
    for key, value in zip(held.keys, held.values, strict=True):
        if (
            not isinstance(key, ast.Constant)
            or not isinstance(key.value, str)
            or not key.value.isidentifier()
        ):
            return None
        inside = [n for _, n in zip(range(MAX_NODES + 1), ast.walk(value), strict=False)]
        if len(inside) > MAX_NODES or not all(isinstance(n, _PLAIN) for n in inside):
            return None
        found[key.value] = value
    return found

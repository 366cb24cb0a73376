"""What an expression of an evaluation holds: truth, answers, inputs or a table, and how it comes about."""

from __future__ import annotations

import ast

from ...readers._tree import of, unparse
from ...readers.script import last_name, receiver
from ...scripts.flow import flow
from ...scripts.syntax import Script
from .world_parts import KEEPS, LIBRARY, MODEL, by_name, in_batches, is_empty, is_square, row_and_column


def asks_model(node: ast.Call) -> bool:
    """A call of the network: by its name, or of something unknown that is handed inputs."""
    name = last_name(node.func)
    if name in ("eval", "train", "to") or not node.args:
        return False
    text = unparse(node.func)
    return MODEL.search(text) is not None and not LIBRARY.match(text.split(".")[0] + ".")


def turned_round(source: Script, node: ast.expr) -> bool | None:
    """Whether a table is filled by answer and truth, in this order; None where it is not told."""
    text = unparse(node)
    scope: ast.AST | None = source.function_around(node) or source.tree
    if text.startswith("self."):
        scope = source.class_around(node)
    pairs: list[tuple[ast.expr, ast.expr]] = []
    for statement in of(scope, ast.AugAssign) if scope is not None else ():
        target, value = statement.target, statement.value
        if isinstance(target, ast.Subscript) and unparse(target.value) == text:
            if isinstance(target.slice, ast.Tuple) and len(target.slice.elts) == 2:
                pairs.append((target.slice.elts[0], target.slice.elts[1]))
        elif unparse(target) == text:
            pairs += row_and_column(value)
    for given in flow(source).all_given(node):
        if isinstance(given.value, ast.Call) and last_name(given.value.func) == "confusion_matrix":
            if len(given.value.args) > 1:
                pairs.append((given.value.args[0], given.value.args[1]))
    kinds = {(kind_of(source, one), kind_of(source, other)) for one, other in pairs}
    if kinds == {("truth", "said")}:
        return False
    return True if kinds == {("said", "truth")} else None


def is_parameter(source: Script, node: ast.expr) -> bool:
    """A name that the function around it is handed."""
    function = source.function_around(node)
    if function is None or not isinstance(node, ast.Name):
        return False
    return node.id in [a.arg for a in (*function.args.args, *function.args.kwonlyargs)]


def grown_by(source: Script, node: ast.expr) -> list[ast.stmt]:
    """Statements that add to a name, divide it, or append to it, in its function or its class."""
    text = unparse(node)
    scope: ast.AST | None = source.function_around(node) or source.tree
    if text.startswith("self."):
        scope = source.class_around(node)
    if scope is None:
        return []
    found: list[ast.stmt] = [s for s in of(scope, ast.AugAssign) if unparse(s.target) == text]
    for call in of(scope, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("append", "extend"):
            statement = source.statement(call)
            if unparse(call.func.value) == text and isinstance(statement, ast.Expr):
                found.append(statement)
    return sorted(found, key=lambda s: s.lineno)


def starts_empty(source: Script, node: ast.expr) -> bool:
    """The name starts at zero or as an empty list, wherever it is set."""
    text = unparse(node)
    scope: ast.AST | None = source.function_around(node) or source.tree
    if text.startswith("self."):
        scope = source.class_around(node)
    starts = []
    for statement in of(scope, ast.Assign, ast.AnnAssign) if scope is not None else ():
        if statement.value is None:
            continue
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            if unparse(target) == text:
                starts.append(statement.value)
            elif isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
                pairs = zip(target.elts, statement.value.elts, strict=False)
                starts += [v for t, v in pairs if unparse(t) == text]
            elif isinstance(statement.value, ast.Dict) and text.startswith(f"{unparse(target)}["):
                for key, value in zip(statement.value.keys, statement.value.values, strict=True):
                    if key is not None and text == f"{unparse(target)}[{unparse(key)}]":
                        starts.append(value)
    return bool(starts) and all(is_empty(s) for s in starts)


def kind_of(source: Script, node: ast.expr, depth: int = 10) -> str | None:
    """ "truth", "said", "given" (inputs), "table", or None where it is not told."""
    if depth <= 0:
        return None
    if isinstance(node, ast.Call):
        owner = receiver(node)
        if last_name(node.func) == "confusion_matrix" or is_square(node):
            return "table"
        if asks_model(node):
            return "said"
        if last_name(node.func) not in KEEPS and not flow(source).called(node):
            return None
        if owner is not None and not LIBRARY.match(unparse(owner)) and unparse(owner) != "self":
            return kind_of(source, owner, depth - 1)
        return kind_of(source, node.args[0], depth - 1) if len(node.args) >= 1 else None
    if isinstance(node, ast.Compare):
        return kind_of(source, node.left, depth - 1)
    if isinstance(node, ast.BinOp):
        sides = [(kind_of(source, s, depth - 1), s) for s in (node.left, node.right)]
        found = {kind for kind, _ in sides} - {None}
        rest = [n for kind, s in sides if kind is None for n in of(s, ast.Name)]
        if any(by_name(n.id) in ("truth", "said") and is_parameter(source, n) for n in rest):
            return None
        return found.pop() if len(found) == 1 else None
    if isinstance(node, ast.Subscript):
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return by_name(node.slice.value)
        known = kind_of(source, node.value, depth - 1)
        rows = isinstance(node.slice, (ast.Slice, ast.Name)) and isinstance(node.value, ast.Name)
        return by_name(last_name(node.value)) if known is None and rows else known
    if isinstance(node, ast.Attribute):
        given = [g.value for g in flow(source).all_given(node)]
        if any(is_square(g) for g in given):
            return "table"
        return by_name(node.attr)
    if isinstance(node, ast.Name):
        return _kind_of_name(source, node, depth)
    return None


def _kind_of_name(source: Script, node: ast.Name, depth: int) -> str | None:
    for loop in source.above(node):
        if isinstance(loop, ast.For):
            found = _kind_of_target(source, loop, node.id, depth)
            if found is not None:
                return found
    given = flow(source).all_given(node)
    plain = [g for g in given if g.value is not node]
    kinds = {kind_of(source, g.value, depth - 1) for g in plain if not is_empty(g.value)}
    for statement in grown_by(source, node):
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            kinds.add(kind_of(source, statement.value.args[0], depth - 1))
    kinds.discard(None)
    if len(kinds) == 1:
        return kinds.pop()
    taken = all(isinstance(g.value, (ast.Attribute, ast.Subscript, ast.Compare)) for g in plain)
    return by_name(node.id) if not kinds and taken else None


def _kind_of_target(source: Script, loop: ast.For, name: str, depth: int) -> str | None:
    target, over = loop.target, loop.iter
    while isinstance(over, ast.Call) and last_name(over.func) in ("enumerate", "tqdm", "track", "iter"):
        if last_name(over.func) == "enumerate" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
            target = target.elts[1]
        over = over.args[0] if over.args else ast.Constant(0)
    if not isinstance(target, ast.Tuple):
        return None
    names = [unparse(t) for t in target.elts]
    if name not in names:
        return None
    if isinstance(over, ast.Call) and last_name(over.func) == "zip":
        place = names.index(name)
        return kind_of(source, over.args[place], depth - 1) if place < len(over.args) else None
    if len(names) == 2:
        return ("given", "truth")[names.index(name)]
    return by_name(name)


def batch_loop(source: Script, node: ast.AST) -> ast.For | None:
    """The loop over batches that a node stands in."""
    for parent in source.above(node):
        if isinstance(parent, ast.For) and in_batches(parent):
            return parent
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return None
    return None

"""What a node of a script is, told in a word: none, true, chosen by a condition, a function that refuses."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeGuard

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script


def is_none(node: ast.AST | None) -> TypeGuard[ast.Constant]:
    """The constant `None` is written; not that nothing is."""
    return isinstance(node, ast.Constant) and node.value is None


def is_true(node: ast.AST | None) -> TypeGuard[ast.Constant]:
    """The constant `True` is written."""
    return isinstance(node, ast.Constant) and node.value is True


def is_false(node: ast.AST | None) -> TypeGuard[ast.Constant]:
    """The constant `False` is written; `0` is not."""
    return isinstance(node, ast.Constant) and node.value is False


def is_negative(node: ast.AST | None) -> TypeGuard[ast.UnaryOp]:
    """A minus stands before it: `-1`, `-loss`."""
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


def whole_number(node: ast.AST | None) -> int | None:
    """The whole number that is written out, with its sign; True and False are none."""
    if is_negative(node):
        inner = whole_number(node.operand)
        return None if inner is None else -inner
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def is_own(source: Script, call: ast.Call) -> bool:
    """A function of the program by its plain name: its own `log(t)`, which need not be the library's."""
    return isinstance(call.func, ast.Name) and call.func.id in flow(source).functions


def is_called(source: Script, node: ast.AST) -> bool:
    """It is what a call runs: `x.mean` of `x.mean()`, the method and not the figure."""
    parent = source.parents.get(node)
    return isinstance(parent, ast.Call) and parent.func is node


def is_handed_to(source: Script, node: ast.AST, *names: str) -> bool:
    """It stands by itself in a call of one of these names: `order` of `len(order)`."""
    parent = source.parents.get(node)
    return isinstance(parent, ast.Call) and parent.func is not node and last_name(parent.func) in names


def only_shown(source: Script, node: ast.AST) -> bool:
    """It is printed, or shown by a notebook's cell, and nothing else reads it."""
    for parent in source.above(node):
        if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id in _SHOWS:
            return True
        if isinstance(parent, ast.stmt):
            return isinstance(parent, ast.Expr) and (
                parent.value is node or not isinstance(parent.value, ast.Call)
            )
    return False


_SHOWS = ("print", "display")


def is_appended_to(source: Script, node: ast.AST) -> bool:
    """A list that grows: `name` of `name.append(...)`, `name.extend(...)`."""
    parent = source.parents.get(node)
    return isinstance(parent, ast.Attribute) and parent.attr in ("append", "extend")


def texts_in(node: ast.AST) -> list[str]:
    """Every text that stands in an expression."""
    return [n.value for n in of(node, ast.Constant) if isinstance(n.value, str)]


def same_value(source: Script, one: ast.expr, other: ast.expr) -> bool:
    """Two expressions are written alike, and no name in them is given something else between them."""
    return unparse(one) == unparse(other) and not any(refilled(source, n, one, other) for n in names_in(one))


def refilled(source: Script, name: str, one: ast.AST, other: ast.AST) -> bool:
    """A name that both read stands for another value in the second: `data = read("valid")` between them.

    What is made of the name itself (`data = data[order]`) is the same value still.
    """
    reads = [n for e in (one, other) for n in of(e, ast.Name) if n.id == name]
    reads.sort(key=lambda n: n.lineno)
    if len(reads) < 2 or source.function_around(reads[0]) is not source.function_around(reads[-1]):
        return False
    before, after = flow(source).given(reads[0]), flow(source).given(reads[-1])
    return after is not None and after is not before and name not in names_in(after.value)


def not_in_training(source: Script, node: ast.AST) -> bool:
    """A node runs by whether the module trains: `if not self.training: return x.softmax(-1)`.

    Or behind `if self.training: return x`.
    """
    around = [node, *source.above(node)]
    ways = (p for p in around[1:] if isinstance(p, (ast.If, ast.IfExp)))
    return any("training" in unparse(p.test) for p in ways) or any(
        _left_in_training(block, part)
        for part, outer in pairwise(around)
        for block in [getattr(outer, "body", None)]
        if isinstance(part, ast.stmt) and isinstance(block, list)
    )


def _left_in_training(block: list[ast.stmt], part: ast.stmt) -> bool:
    """A module that trains has given back its value in a block before a statement of it is reached."""
    before = block[: block.index(part)] if part in block else []
    return any(
        isinstance(s, ast.If)
        and isinstance(s.body[-1], ast.Return)
        and isinstance(s.test, (ast.Name, ast.Attribute))
        and last_name(s.test) == "training"
        for s in before
    )


def chosen(source: Script, node: ast.AST) -> bool:
    """A node runs under a condition: it stands in one way of an `if`."""
    return any(isinstance(p, (ast.If, ast.IfExp)) for p in source.above(node))


def block_of(source: Script, statement: ast.stmt) -> list[ast.stmt]:
    """The statements that one stands among."""
    around = source.parents.get(statement)
    for field in ("body", "orelse", "finalbody"):
        block = getattr(around, field, None)
        if isinstance(block, list) and statement in block:
            return block
    return []


def raises(function: Function) -> bool:
    """A function that raises in its first block: a method left to whoever derives from its class."""
    return any(isinstance(n, ast.Raise) for n in function.body)


def left_to_heirs(owner: ast.ClassDef) -> bool:
    """A class for others to derive from, maybe in files that are not at hand: what it keeps is theirs."""
    bases = {last_name(b) for b in (*owner.bases, *(k.value for k in owner.keywords))}
    named = owner.name.startswith(("Base", "Abstract")) or owner.name.endswith(("Base", "Mixin", "Abstract"))
    return named or bool(bases & {"ABC", "ABCMeta"}) or any(raises(f) for f in of(owner, ast.FunctionDef))


def without_walrus(node: ast.expr) -> str:
    """An expression as it is written once its names are given: `score["f1"]` of `(score := f())["f1"]`."""
    if not isinstance(node, (ast.NamedExpr, ast.Subscript, ast.Attribute)):
        return unparse(node)
    text = unparse(node)
    for one in sorted(of(node, ast.NamedExpr), key=lambda n: -len(unparse(n))):
        text = text.replace(f"({unparse(one)})", unparse(one.target)).replace(
            unparse(one), unparse(one.target)
        )
    return text


def assigned(node: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    """The first target with its value: `a, b = f(x), len(x)` gives two pairs, any other assignment one."""
    return paired(node.targets[0], node.value)


def paired(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """What is given a value, with it: each for itself where both are tuples."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=False))
    return [(target, value)]


def flat(targets: Sequence[ast.expr]) -> Iterator[ast.expr]:
    """What is assigned to, out of tuples and lists: `a, (b, c) = ...` gives three."""
    for target in targets:
        if isinstance(target, (ast.Tuple, ast.List)):
            yield from flat(target.elts)
        else:
            yield target


_BARE = ("numpy", "item", "read_value")


def bare(node: ast.expr) -> ast.expr:
    """What holds a figure: `best` of `float(best)`, `best.numpy()` and `best.item()`."""
    while isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in ("float", "int") and len(node.args) == 1:
            node = node.args[0]
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _BARE and not node.args:
            node = node.func.value
        else:
            break
    return node


def factors(node: ast.expr) -> list[ast.expr]:
    """What is multiplied, itself where nothing is."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return [*factors(node.left), *factors(node.right)]
    return [node]


def signed_terms(node: ast.expr, sign: int) -> Iterator[tuple[int, ast.expr]]:
    """What is added up, each with its sign (1, -1), begun with that of the whole."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        yield from signed_terms(node.left, sign)
        yield from signed_terms(node.right, -sign if isinstance(node.op, ast.Sub) else sign)
    else:
        yield sign, node

"""Tables of numbers in scripts that a reader makes anew for each file, or that begin at reserved numbers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow, returns
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.nodes import paired, whole_number
from ..shared.sides import literal, side

_RESERVED = re.compile(
    r"(?i)^_?(?:pad|unk|bos|eos|sos|cls|sep|oov|mask|start|end|blank)(?:_(?:id|idx|index|token))?$"
)


def classes_of_each_file(source: Script) -> Finding | None:
    """A reader numbers the classes as they come in its file, and both sides are read by it."""
    for function in source.of(ast.FunctionDef):
        calls = flow(source).calls_of(function)
        if len(calls) < 2 or source.class_around(function) is not None:
            continue
        sides = {side(unparse(s)) for c in calls if (s := source.statement(c)) is not None}
        if not {True, False} <= sides:
            continue
        parameters = [a.arg for a in (*function.args.args, *function.args.kwonlyargs)]
        if len({unparse(c.args[0]) for c in calls if c.args}) < 2 or any(
            len(c.args) + len(c.keywords) > 1 for c in calls
        ):
            continue
        for node in of(function, ast.Assign):
            name = node.targets[0]
            if not isinstance(name, ast.Name) or not _in_order_of_coming(node.value):
                continue
            if not _of_labels(name.id, node.value) or not (names_in(node.value) - set(parameters)):
                continue
            if _numbers_by(function, name.id) and not _handed_out(function, name.id):
                return at(source, node, "each file gets class numbers of its own, in the order of its rows")
    return None


def levels_of_each_part(source: Script) -> Finding | None:
    """`Rows("valid.csv")` of `__init__(self, path, levels=None)`, which makes the table if none is given.

    Told where another part is handed the table, or where the class numbers in the order of coming.
    """
    for owner in source.of(ast.ClassDef):
        begins = next(
            (f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"), None
        )
        calls = [c for c in source.calls if last_name(c.func) == owner.name]
        if begins is None or len(calls) < 2:
            continue
        for name, table in _made_if_none(begins):
            places = [a.arg for a in begins.args.args]
            position = places.index(name) - 1 if name in places else None
            without = [c for c in calls if argument(c, name, position=position) is None]
            learns = {side(unparse(source.statement(c) or c)) for c in without}
            held = [c for c in without if side(unparse(source.statement(c) or c)) is False]
            plain = all(k.arg for c in calls for k in c.keywords)
            if (
                held
                and plain
                and True in learns
                and (len(without) < len(calls) or _in_order_of_coming(table))
            ):
                return at(source, held[0], "held-out rows get a table of numbers of their own")
    return None


def _made_if_none(function: Function) -> Iterator[tuple[str, ast.expr]]:
    """Parameters that are None if not given, and the table that is made of the rows then."""
    defaults = function.args.defaults
    names = [a.arg for a in function.args.args][-len(defaults) :] if defaults else []
    absent = {
        n for n, d in zip(names, defaults, strict=True) if isinstance(d, ast.Constant) and d.value is None
    }
    absent |= {
        a.arg
        for a, d in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
        if isinstance(d, ast.Constant) and d.value is None
    }
    for node in of(function, ast.BoolOp, ast.IfExp, ast.If):
        if isinstance(node, ast.BoolOp):
            name, made = unparse(node.values[0]), node.values[-1] if isinstance(node.op, ast.Or) else None
        elif isinstance(node, ast.IfExp):
            name = next((n for n in absent if n in names_in(node.test)), "")
            made = node.body if "is None" in unparse(node.test) else node.orelse
        else:
            name = next((n for n in absent if unparse(node.test) in (f"{n} is None", f"not {n}")), "")
            made = next((a.value for a in of(node, ast.Assign) if unparse(a.targets[0]) == name), None)
        if name in absent and made is not None and _TABLE.search(unparse(made)):
            yield name, made


_TABLE = re.compile(r"enumerate\(|sorted\((?:set\(|\{)|fromkeys\(|\bunique\(|set\(|Counter\(")


def _in_order_of_coming(value: ast.expr) -> bool:
    text = unparse(value)
    if "sorted(" in text:
        return False
    return (
        re.search(r"dict\.fromkeys\(|\.unique\(\)|pd\.unique\(|^list\((?:set\(|\{)|^list\(Counter", text)
        is not None
    )


def _of_labels(name: str, value: ast.expr) -> bool:
    return (
        re.search(
            r"(?i)label|class|target|tag|categor|intent|topic|kind|species|\by\b", f"{name} {unparse(value)}"
        )
        is not None
    )


def _numbers_by(function: Function, name: str) -> bool:
    """`names.index(x)`, `{n: i for i, n in enumerate(names)}`."""
    return any(
        (last_name(c.func) == "index" and unparse(c.func).startswith(f"{name}."))
        or (last_name(c.func) == "enumerate" and c.args and unparse(c.args[0]) == name)
        for c in of(function, ast.Call)
    )


def _handed_out(function: Function, name: str) -> bool:
    """The table is given back, so that a caller may keep one of them."""
    return any(
        isinstance(e, ast.Name) and e.id == name
        for r in returns(function)
        for e in (r.elts if isinstance(r, ast.Tuple) else [r])
    )


_OF_WORDS = re.compile(
    r"(?i)vocab|word|token|stoi|w2i|c2i|char|item|lexicon|dictionary|(?:^|_)(?:itos|index)$"
)


def numbers_over_reserved(source: Script) -> Finding | None:
    """`PAD, UNK = 0, 1`, and words are numbered from 0: the first words share the numbers of both."""
    reserved = _reserved(source)
    if 0 not in reserved.values():
        return None
    found: list[tuple[ast.DictComp, int]] = []
    for table in source.of(ast.DictComp):
        loop = table.generators[0]
        over, target = loop.iter, loop.target
        if (
            len(table.generators) != 1
            or not isinstance(over, ast.Call)
            or last_name(over.func) != "enumerate"
        ):
            continue
        if not isinstance(target, ast.Tuple) or not isinstance(target.elts[0], ast.Name) or not over.args:
            continue
        begin = argument(over, "start", position=1)
        first = 0 if begin is None else literal(source, begin)
        added = _added(source, table.value, target.elts[0].id)
        if not isinstance(first, int) or added is None:
            return None
        if first + added > max(reserved.values()):
            return None  # the words are here, and any other table is of something else
        if _OF_WORDS.search(_called(source, table)) and not _holds_reserved(source, over.args[0]):
            found.append((table, first + added))
    if len(found) == 1 and _asked_with_reserved(source, found[0][0], reserved):
        names = ", ".join(sorted(reserved))
        why = f"words are numbered from {found[0][1]}, where {names} have their numbers"
        return at(source, found[0][0], why)
    return None


def _called(source: Script, table: ast.DictComp) -> str:
    """What the table is called: its name, or that of the function that gives it back."""
    statement = source.statement(table)
    if isinstance(statement, ast.Assign):
        return unparse(statement.targets[0]).split(".")[-1]
    return source.function_name(table)


def _reserved(source: Script) -> dict[str, int]:
    found: dict[str, int] = {}
    for node in source.tree.body:
        if not isinstance(node, ast.Assign):
            continue
        target = node.targets[0]
        pairs = paired(target, node.value)
        for name, value in pairs:
            number = whole_number(value)
            if isinstance(name, ast.Name) and _RESERVED.match(name.id) and number is not None and number >= 0:
                found[name.id] = number
    return found


def _added(source: Script, value: ast.expr, name: str) -> int | None:
    if isinstance(value, ast.Name) and value.id == name:
        return 0
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        for one, other in ((value.left, value.right), (value.right, value.left)):
            if isinstance(one, ast.Name) and one.id == name:
                number = literal(source, other)
                return number if isinstance(number, int) else None
    return None


def _holds_reserved(source: Script, over: ast.expr) -> bool:
    """The list of words begins with the reserved ones, or nothing tells what it holds."""
    texts = [unparse(v) for v in (over, *flow(source).values(over, 4))]
    return any(
        re.search(r"(?i)['\"]\W{0,2}(?:pad|unk|bos|eos|cls|blank|oov)|special|reserved|itos|vocab", t)
        for t in texts
    )


def _asked_with_reserved(source: Script, table: ast.DictComp, reserved: dict[str, int]) -> bool:
    """What is not in the table gets a reserved number: `vocab.get(w, UNK)`; nothing is put in later."""
    asked = any(
        last_name(c.func) == "get" and len(c.args) == 2 and unparse(c.args[1]).split(".")[-1] in reserved
        for c in source.calls
    )
    statement = source.statement(table)
    names = {unparse(t) for t in statement.targets} if isinstance(statement, ast.Assign) else set()
    later = any(
        isinstance(n.ctx, ast.Store) and unparse(n.value) in names for n in source.of(ast.Subscript)
    ) or any(last_name(c.func) == "update" and source.owner(c) in names for c in source.calls)
    return asked and not later


def numbered_in_turn(function: Function) -> ast.AST | None:
    """`names = {}`, and `names.setdefault(label, len(names))` in a loop over the rows that are handed in.

    Not where the table is given back: then the next part may be read by it.
    """
    parameters = {a.arg for a in function.args.args} - {"self", "cls"}
    empty = {
        n.targets[0].id
        for n in of(function, ast.Assign)
        if isinstance(n.targets[0], ast.Name) and unparse(n.value) in ("{}", "dict()")
    }
    given = {n for r in of(function, ast.Return) if r.value is not None for n in _handed_back(r.value)}
    for loop in of(function, ast.For):
        if not names_in(loop.iter) & parameters:
            continue
        for call in of(loop, ast.Call):
            owner = receiver(call)
            name = owner.id if isinstance(owner, ast.Name) else ""
            numbers = last_name(call.func) == "setdefault" and len(call.args) == 2
            if numbers and unparse(call.args[1]) == f"len({name})" and name in empty - given:
                return call
        for node in of(loop, ast.Assign):
            target = node.targets[0]
            name = unparse(target.value) if isinstance(target, ast.Subscript) else ""
            if name in empty - given and unparse(node.value) == f"len({name})":
                return node
    return None


def _handed_back(value: ast.expr) -> set[str]:
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    return {p.id for p in parts if isinstance(p, ast.Name)}

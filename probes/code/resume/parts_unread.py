"""Checkpoints by what is in them: a part that is saved, and that what takes training up again never reads.

No names are asked for: the dict that is saved and the keys that are read of the loaded file tell which part
is left; what it is of tells whether training misses it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at

_OPENS = ("load", "load_checkpoint", "restore", "safe_load", "load_pickle")
_SAVES = ("save", "dump", "save_checkpoint")


def part_never_read(source: Script) -> Finding | None:
    """`ckpt = torch.load(path)` gives back parts of what is saved, and one that training needs is left."""
    if source.loose:
        return None
    opened = [(name, keys, node) for name, keys, node in _opened(source) if len(keys) > 1]
    for kept in _saved(source) if opened else ():
        items = _items(kept)
        for name, keys, node in opened:
            known = keys & items.keys()
            on = [k for k in known if _goes_on(source, kept, items[k])]
            counts = [k for k in on if _owner(items[k]) is None and _taken_over(source, name, k)]
            bars = [k for k in known if _owner(items[k]) is None and _is_bar(source, items[k])]
            if len(known) < 2 or not (counts or len([k for k in on if _owner(items[k])]) + len(bars) > 1):
                continue
            for key, value in items.items():
                if key in keys or _named_elsewhere(source, kept, key) or _handed(node, value):
                    continue
                if (what := _missed(source, kept, value)) is not None:
                    return at(
                        source, node, f"`{name}` gives back other parts: {key!r}, {what}, is saved and left"
                    )
    return _left_in_place(source)


def _handed(opened: ast.AST, value: ast.expr) -> bool:
    """`state = load_checkpoint(path, model, optimizer)`: what is handed over is given back there."""
    calls = of(opened, ast.Call)
    return _owner(value) in {unparse(a) for c in calls for a in (*c.args, *(k.value for k in c.keywords))}


def _saved(source: Script) -> Iterator[ast.Dict | ast.Call]:
    """Dicts that are written to disk, where they stand or under a name."""
    for call in source.named(*_SAVES):
        for given in (*call.args, *(k.value for k in call.keywords)):
            for value in (given, *flow(source).values(given, 3)):
                if isinstance(value, ast.Dict) and all(isinstance(k, ast.Constant) for k in value.keys):
                    yield value
                elif isinstance(value, ast.Call) and unparse(value.func) == "dict" and not value.args:
                    if all(k.arg for k in value.keywords):
                        yield value


def _items(kept: ast.Dict | ast.Call) -> dict[str, ast.expr]:
    if isinstance(kept, ast.Call):
        return {str(k.arg): k.value for k in kept.keywords}
    return {
        str(k.value): v for k, v in zip(kept.keys, kept.values, strict=True) if isinstance(k, ast.Constant)
    }


def _opened(source: Script) -> Iterator[tuple[str, set[str], ast.AST]]:
    """Names that a loaded file is given to, all of whose uses take one part by its key."""
    for node in source.of(ast.Assign):
        made = node.value
        if not isinstance(made, ast.Call) or last_name(made.func) not in _OPENS or len(node.targets) != 1:
            continue
        target = node.targets[0]
        if not isinstance(target, ast.Name):
            continue
        scope: Function | ast.Module = source.function_around(node) or source.tree
        uses = [n for n in of(scope, ast.Name) if n.id == target.id and isinstance(n.ctx, ast.Load)]
        keys = [_key(source, n) for n in uses]
        if None not in keys:
            yield target.id, {str(k) for k in keys}, node


def _key(source: Script, use: ast.Name) -> str | None:
    above = source.parents.get(use)
    if isinstance(above, ast.Subscript) and above.value is use:
        return str(above.slice.value) if isinstance(above.slice, ast.Constant) else None
    if isinstance(above, ast.Attribute) and above.attr in ("get", "pop"):
        call = source.parents.get(above)
        held = argument(call, position=0) if isinstance(call, ast.Call) else None
        return str(held.value) if isinstance(held, ast.Constant) else None
    if isinstance(above, ast.Compare) and isinstance(above.left, ast.Constant):
        return str(above.left.value)  # `if "scaler" in ckpt:`
    return None


def _named_elsewhere(source: Script, kept: ast.Dict | ast.Call, key: str) -> bool:
    inside = set(of(kept, ast.Constant))
    same = [n for n in source.of(ast.Constant) if n.value == key and n not in inside]
    return any(not isinstance(source.parents.get(n), ast.Dict) for n in same)


def _owner(value: ast.expr) -> str | None:
    """`X` of `X.state_dict()`, `X.module.state_dict()`."""
    if not isinstance(value, ast.Call) or last_name(value.func) not in ("state_dict", "get_state"):
        return None
    if not isinstance(value.func, ast.Attribute):
        return None
    return unparse(value.func.value).removesuffix(".module")


def _steps(source: Script, owner: str) -> bool:
    """It is moved step by step: an optimizer, a schedule, whatever it is called."""
    last = owner.rpartition(".")[2]
    steps = source.named("step")
    given = [a for c in steps for a in c.args if isinstance(a, (ast.Name, ast.Attribute))]
    by_scaler = any(last_name(a) == last for a in given)
    return by_scaler or any(source.owner(c).rpartition(".")[2] == last for c in steps)


def _is_count(source: Script, kept: ast.AST, value: ast.expr) -> bool:
    """The number of the round that a loop around the saving is in, or that is raised in it."""
    text = unparse(value)
    loops = [n for n in source.loops_around(kept) if isinstance(n, ast.For)]
    if any(isinstance(n.target, ast.Name) and n.target.id == text for n in loops):
        return True
    raised = [
        n
        for n in source.of(ast.AugAssign)
        if isinstance(n.value, ast.Constant) and unparse(n.target).split(".")[-1] == text.split(".")[-1]
    ]
    return bool(raised) and isinstance(value, (ast.Name, ast.Attribute))


def _goes_on(source: Script, kept: ast.Dict | ast.Call, value: ast.expr) -> bool:
    """It is something that only training on asks for: an optimizer, a schedule, the count of rounds."""
    owner = _owner(value)
    return _is_count(source, kept, value) if owner is None else _steps(source, owner)


def _taken_over(source: Script, name: str, key: str) -> bool:
    """The count is given to a name of the program, and not only told."""
    return any(
        unparse(n.value) == name and isinstance(n.slice, ast.Constant) and n.slice.value == key
        for a in source.of(ast.Assign)
        for n in of(a.value, ast.Subscript)
    )


def _missed(source: Script, kept: ast.Dict | ast.Call, value: ast.expr) -> str | None:
    """What training on misses, in words; None of what it does not need: settings, figures, a history."""
    owner = _owner(value)
    if owner is not None:
        last = owner.rpartition(".")[2]
        if any(source.owner(c).rpartition(".")[2] == last for c in source.named("load_state_dict")):
            return None  # it is given another part, and that may be meant
        if _steps(source, owner):
            return f"the state of `{owner}`"
        return None if re.search(r"(?i)crit|loss|sampler|loader", owner) else f"the state of `{owner}`"
    if _is_count(source, kept, value):
        return "the count of rounds"
    if isinstance(value, (ast.Name, ast.Attribute)) and _is_bar(source, value):
        return "the best figure so far"
    return None


_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def _is_bar(source: Script, value: ast.expr) -> bool:
    """Each new figure is compared with it, and takes its place: `if score > best: best = score`."""
    if not isinstance(value, (ast.Name, ast.Attribute)):
        return False
    name = last_name(value)
    for node in source.of(ast.If):
        compared = [c for c in of(node.test, ast.Compare) if isinstance(c.ops[0], _ORDERS)]
        sides = [s for c in compared for s in (c.left, *c.comparators)]
        if any(isinstance(s, (ast.Name, ast.Attribute)) and last_name(s) == name for s in sides):
            if any(last_name(t) == name for s in node.body for n in of(s, ast.Assign) for t in n.targets):
                return True
    return False


def _left_in_place(source: Script) -> Finding | None:
    """Fabric fills the dict that it is handed: a count that is written into it has to be taken out of it."""
    for call in source.named("load"):
        held = argument(call, "state", position=1)
        if not isinstance(held, ast.Name) or "fabric" not in source.owner(call).lower():
            continue
        made = flow(source).values(held, 2)
        if len(made) != 1 or not isinstance(made[0], ast.Dict):
            continue
        items = _items(made[0])
        parts = [n for n in source.of(ast.Subscript) if unparse(n.value) == held.id]
        read = {_told(n) for n in parts if isinstance(n.ctx, ast.Load)} - {""}
        written = {_told(n) for n in parts if isinstance(n.ctx, ast.Store)} - {""}
        if any(source.owner(c) == held.id for c in source.named("get", "pop", "update", "items")):
            continue
        for key in sorted(written - read):
            if isinstance(items.get(key), ast.Constant):
                return at(
                    source,
                    call,
                    f"{key!r} comes back with the file, and nothing takes it out: rounds start anew",
                )
        values = {unparse(v) for v in items.values()}
        for built in source.optimizer_calls:
            statement = source.statement(built)
            name = unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
            if name and name not in values and written and _steps(source, name):
                return at(source, made[0], f"the state that is saved and loaded leaves `{name}` out")
    return None


def _told(node: ast.Subscript) -> str:
    """The key that is written out, or ""."""
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    return key if isinstance(key, str) else ""

"""What values in a script are for: training or held-out data, by what they are handed to."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from ...readers._tree import of, unparse
from ...readers.script import all_arguments, argument, last_name
from ...scripts.flow import flow
from ...scripts.syntax import Script
from .sides import given


@lru_cache(maxsize=16)
def handed(source: Script) -> tuple[tuple[bool, ast.Call, ast.expr], ...]:
    """What the data sets of each side are made with: (is of training, the call that makes it, an argument).

    `val_set = Photos(root / "val", plain)` and `val_loader = DataLoader(Photos(root / "val", plain))` hand
    `plain` to held-out data; `held_out.with_transform(prepare)` hands them `prepare`.
    """
    found: list[tuple[bool, ast.Call, ast.expr]] = []
    for one in given(source):
        if isinstance(one.node, (ast.Assign, ast.AnnAssign, ast.Return, ast.Dict)):
            for call in _makers(one.value):
                found += [(one.learns, call, a) for a in all_arguments(call)]
    return tuple(found)


def _makers(value: ast.expr) -> Iterator[ast.Call]:
    """The call that a value is, and the calls whose results that is given first."""
    for _ in range(4):
        if not isinstance(value, ast.Call):
            return
        yield value
        first = argument(value, position=0)
        if not isinstance(first, ast.Call):
            return
        value = first


@lru_cache(maxsize=16)
def _served(source: Script) -> dict[ast.expr, frozenset[bool]]:
    """Values that a name stands for -> the sides of the data that this name is handed to."""
    found: dict[ast.expr, set[bool]] = {}
    for learns, _, one in handed(source):
        if isinstance(one, (ast.Name, ast.Attribute)):
            for end in flow(source).values(one, 4):
                if end is not one:
                    found.setdefault(end, set()).add(learns)
    return {k: frozenset(v) for k, v in found.items()}


def side_served(source: Script, value: ast.AST) -> bool | None:
    """True of what is handed to training data alone, False to held-out data alone, None of both or neither.

    `steps = Compose([...])` of `val_set = Photos(root, steps)` serves held-out data, whatever its name.
    """
    sides = _served(source).get(value) if isinstance(value, ast.expr) else None
    return next(iter(sides)) if sides is not None and len(sides) == 1 else None


def functions_handed(source: Script, learns: bool) -> Iterator[tuple[ast.Call, ast.AST]]:
    """Functions that data of a side are sent through: `held_out.with_transform(prepare)`, `.map(prepare)`."""
    for side, call, one in handed(source):
        if side == learns and last_name(call.func) in _SENDS and isinstance(one, ast.Name):
            yield from ((call, f) for f in flow(source).functions.get(one.id, []))


_SENDS = ("with_transform", "set_transform", "map")


def calls_behind(source: Script, node: ast.AST) -> Iterator[ast.Call]:
    """The calls that a value or a function is made of, the values of the names in it among them."""
    ends = flow(source).values(node, 4) if isinstance(node, ast.expr) else [node]
    for end in ends:
        for call in of(end, ast.Call):
            yield call
            if isinstance(call.func, (ast.Name, ast.Attribute)) and not isinstance(end, ast.expr):
                for made in flow(source).values(call.func, 3):
                    if made is not call.func:
                        yield from of(made, ast.Call)


def texts(call: ast.Call) -> list[str]:
    """What a call is given, as written."""
    return [unparse(a) for a in all_arguments(call)]


def in_full(source: Script, node: ast.expr, depth: int = 6) -> str:
    """An expression and all that its names and calls stand for, as one text."""
    texts = [unparse(node)]
    for part in of(node, ast.Name, ast.Attribute, ast.Call):
        texts += [unparse(v) for v in flow(source).values(part, depth) if v is not part]
    return " ".join(dict.fromkeys(texts))


def never_run(source: Script, node: ast.AST) -> bool:
    """A line stands in a function that nothing in the whole program names, so that it never runs.

    Not of hooks: methods of classes with a base that is not at hand, decorated functions, `__call__`.
    Of a plain module the library calls what `_OF_MODULES` names; no_grad is a decorator that calls nothing.
    """
    function = source.function_around(node)
    if function is None or source.loose or not source.trains or not _begins(source):
        return False
    owner = source.class_around(function)
    bases = [last_name(b) for b in owner.bases] if owner is not None else []
    foreign = any(b not in ("object", "ABC", *_PLAIN, *source.classes) for b in bases)
    hook = _HOOK.match(function.name) or (bases and _OF_MODULES.match(function.name))
    registered = any(not _NO_GRADIENT.search(unparse(d)) for d in function.decorator_list)
    if foreign or registered or function.name.startswith("__") or hook:
        return False
    named = any(n.id == function.name for n in source.of(ast.Name))
    return not named and all(_is_key(source, m) for m in source.mentions.get(function.name, ()))


def brought_and_left(source: Script) -> list[ast.FunctionDef]:
    """Functions of the program's own modules that it imports by name and never names again."""
    if not source.left_out or source.loose or not source.trains_by_hand:
        return []
    brought = {a.name for n in source.of(ast.ImportFrom) for a in n.names if a.asname is None}
    return [
        f
        for f in source.left_out
        if isinstance(f, ast.FunctionDef)
        and f.name in brought
        and all(_NO_GRADIENT.search(unparse(d)) for d in f.decorator_list)
    ]


def _is_key(source: Script, mention: ast.AST) -> bool:
    """`cfg["clip"]`: the key of a table says nothing of the function `clip`."""
    above = source.parents.get(mention)
    return isinstance(mention, ast.Constant) and isinstance(above, ast.Subscript) and above.slice is mention


def _begins(source: Script) -> bool:
    """The program runs something of its own when it is started: it is no part of another one."""
    if any(source.function_around(b) is None for b in source.backwards):
        return True
    outside = [
        c for c in source.calls if source.function_around(c) is None and source.class_around(c) is None
    ]
    return any(flow(source).called(c) for c in outside)


_HOOK = re.compile(r"^(?:on_|main$|setup$|forward$)")
_PLAIN = ("Module", "Cell")  # whose library calls no method but these
_OF_MODULES = re.compile(
    r"^(?:_?(?:apply|load_from_state_dict|save_to_state_dict|init_weights|reset_parameters|named_members)|extra_repr"
    r"|train|eval|state_dict|load_state_dict|(?:named_)?parameters|construct|bprop|step|closure)$"
)
_NO_GRADIENT = re.compile(r"no_grad|inference_mode|stop_gradient")

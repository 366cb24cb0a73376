"""Files in scripts that are paired by their place in two listings, of which one has no fixed order."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import all_arguments, last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.nodes import paired

_LISTS = ("listdir", "glob", "iglob", "iterdir", "rglob", "scandir")
_SORTS = ("sorted", "natsorted", "sort", "os_sorted")
_PAIRS = ("zip", "train_test_split", "TensorDataset", "ArrayDataset", "from_tensor_slices")


def paired_by_listing(source: Script) -> Finding | None:
    """`Masks(listdir(a), listdir(b))`: two folders are listed, and item `i` of one goes with item `i`.

    They are paired where `zip` or a split gets both, or where something takes both by one index. The order of
    a listing is that of the file system: another one in each folder.
    """
    found = list(_listings(source))
    seen: ast.AST | None = None
    if (at_once := _zipped_at_once(source)) is not None:
        return at(source, at_once, "a listing has no fixed order, and its files go with those of another")
    for number, (node, name, folder, steady) in enumerate(found):
        for other, beside, place, fixed in found[number + 1 :]:
            if folder == place or source.function_around(node) is not source.function_around(other):
                continue
            if name == beside:
                continue  # the same list for another data set: one takes the place of the other
            if not _paired(source, name, beside):
                continue
            seen = seen or node
            if not steady or not fixed:
                unsorted = node if not steady else other
                return at(
                    source, unsorted, f"a listing has no fixed order, and {name} goes with {beside} by number"
                )
    return ok(source, seen, "files that go together are listed in one order") if seen is not None else None


def _listings(source: Script) -> Iterator[tuple[ast.Assign, str, str, bool]]:
    """Names that hold what a folder lists: (statement, name, folder, in a fixed order)."""
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, (ast.Name, ast.Attribute)):
            continue
        calls = [c for c in of(node.value, ast.Call) if last_name(c.func) in _LISTS]
        if len(calls) != 1 or not _is_the_list(node.value, calls[0]):
            continue
        name = unparse(target)
        inside = {last_name(c.func) for c in of(node.value, ast.Call)}
        later = [c for c in source.named("sort") if source.owner(c) == name]
        again = [
            c
            for c in source.named("sorted", "natsorted", "shuffle")
            if any(unparse(_each_of(a)) == name for a in c.args)
        ]
        yield node, name, unparse(calls[0]), bool(inside & set(_SORTS) or later or again)


def _each_of(node: ast.expr) -> ast.expr:
    """`[f for f in files if ...]` -> `files`"""
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and len(node.generators) == 1:
        return node.generators[0].iter
    return node


def _is_the_list(value: ast.expr, call: ast.Call) -> bool:
    """The value is the listing, sorted or not, or is made of it one by one without a choice."""
    for _ in range(4):
        if value is call:
            return True
        if isinstance(value, ast.Call) and last_name(value.func) in (*_SORTS, "list", "tuple") and value.args:
            value = value.args[0]
        elif isinstance(value, ast.ListComp) and len(value.generators) == 1:
            value = value.generators[0].iter
        else:
            return False
    return False


def _paired(source: Script, one: str, other: str) -> bool:
    """Both are handed to what pairs them, or are taken by the same index in one function."""
    for call in source.calls:
        given = [unparse(_whole(a)) for a in all_arguments(call)]
        if one in given and other in given:
            if last_name(call.func) in _PAIRS:
                return True
            owner = source.classes.get(last_name(call.func))
            if owner is not None and _taken_together(source, owner, call, one, other):
                return True
    return _by_one_index(source, source.tree, one, other)


def _whole(node: ast.expr) -> ast.expr:
    """`files[:n]` -> `files`."""
    return node.value if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) else node


def _taken_together(source: Script, owner: ast.ClassDef, call: ast.Call, one: str, other: str) -> bool:
    """A class of the script keeps both and takes them by one index: `self.images[i]`, `self.masks[i]`."""
    makers = [f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"]
    if not makers:
        return False
    names = [a.arg for a in makers[0].args.args][1:]
    given = dict(zip(names, (unparse(_whole(a)) for a in call.args), strict=False))
    given |= {k.arg: unparse(_whole(k.value)) for k in call.keywords if k.arg}
    kept: dict[str, str] = {}
    for node in of(makers[0], ast.Assign):
        target = node.targets[0]
        pairs = paired(target, node.value)
        for place, value in pairs:
            if isinstance(value, ast.Name) and value.id in given:
                kept[given[value.id]] = unparse(place)
    return one in kept and other in kept and _by_one_index(source, owner, kept[one], kept[other])


def _by_one_index(source: Script, scope: ast.AST, one: str, other: str) -> bool:
    """Within one function both are read at the same place: `a[i]`, `b[i]`."""
    places: dict[str, set[tuple[object, str]]] = {one: set(), other: set()}
    for node in of(scope, ast.Subscript):
        name = unparse(node.value)
        if name in places and isinstance(node.slice, ast.Name) and isinstance(node.ctx, ast.Load):
            places[name].add((source.function_around(node), node.slice.id))
    return bool(places[one] & places[other])


def _zipped_at_once(source: Script) -> ast.expr | None:
    """`zip(a.glob("*.png"), sorted(b.glob("*.png")))`: two folders are listed where they are paired."""
    for call in source.named("zip"):
        if len(call.args) != 2:
            continue
        calls = [[c for c in of(a, ast.Call) if last_name(c.func) in _LISTS] for a in call.args]
        if any(len(c) != 1 or not _is_the_list(a, c[0]) for a, c in zip(call.args, calls, strict=True)):
            continue
        if unparse(calls[0][0]) == unparse(calls[1][0]):
            continue
        for one in call.args:
            if not any(last_name(c.func) in _SORTS for c in of(one, ast.Call)):
                return one
    return None

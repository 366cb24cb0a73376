"""Lists of layers in scripts of which one place alone is ever asked."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at

_LISTS = ("ModuleList", "CellList", "LayerList", "Sequential")


def one_of_list_asked(source: Script) -> Finding | None:
    """`self.tables = ModuleList([Embedding(n, d) for n in sizes])`, and only `self.tables[0]` is asked.

    Silent where anything else of the list is read: a loop over it, another place, its length in a loop.
    """
    for name, reads in _filled_lists(source):
        outside = [r for r in reads if isinstance(r, ast.Constant) or source.function_name(r) != "__init__"]
        loops = [p for r in outside if _within_loop(source, p := source.parents[r])]
        if loops and _one_place(source, outside):
            return at(source, loops[0], f"of {name} one place alone is asked, whatever comes")
    return None


def one_block_of_stack(source: Script) -> Finding | None:
    """`self.blocks = ModuleList([Block() for _ in range(n)])`, and forward asks `self.blocks[0]` alone.

    Nothing else may ask for the list, not when it is made either.
    """
    passes = set(source.passes)
    for name, reads in _filled_lists(source):
        places = [source.parents.get(r) for r in reads]
        calls = [c for p in places if p and isinstance(c := source.parents.get(p), ast.Call) and c.func is p]
        if calls and len(calls) == len(reads) and _one_place(source, reads):
            if any(source.function_around(c) in passes for c in calls):
                return at(source, calls[0].func, f"of the stack {name} one block alone is asked")
    return None


def _filled_lists(source: Script) -> Iterator[tuple[str, list[ast.AST]]]:
    """Lists of layers that a comprehension fills, by their attribute, with every place that reads them."""
    for owner in source.modules:
        for node in of(owner, ast.Assign):
            target, made = node.targets[0], node.value
            if not isinstance(target, ast.Attribute) or unparse(target.value) != "self":
                continue
            if not isinstance(made, ast.Call) or last_name(made.func) not in _LISTS or not made.args:
                continue
            held = made.args[0].value if isinstance(made.args[0], ast.Starred) else made.args[0]
            if isinstance(held, (ast.ListComp, ast.GeneratorExp)):
                yield (
                    target.attr,
                    [
                        n
                        for n in source.mentions.get(target.attr, ())
                        if isinstance(n, ast.Constant) or isinstance(n.ctx, ast.Load)
                    ],
                )


def _one_place(source: Script, reads: list[ast.AST]) -> bool:
    """Each read takes the first place, or each the last."""
    places = set()
    for read in reads:
        above = source.parents.get(read)
        places.add(unparse(above.slice) if isinstance(above, ast.Subscript) and above.value is read else "")
    return places in ({"0"}, {"-1"})


def _within_loop(source: Script, node: ast.AST) -> bool:
    return any(isinstance(p, (ast.For, ast.ListComp, ast.GeneratorExp)) for p in source.above(node))

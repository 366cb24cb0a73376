"""Lists of layers in scripts of which one place alone is ever asked."""

from __future__ import annotations

import ast

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at

_LISTS = ("ModuleList", "CellList")


def one_of_list_asked(source: Script) -> Finding | None:
    """`self.tables = ModuleList([Embedding(n, d) for n in sizes])`, and only `self.tables[0]` is asked.

    Silent where anything else of the list is read: a loop over it, another place, its length in a loop.
    """
    for owner in source.modules:
        for node in of(owner, ast.Assign):
            target, made = node.targets[0], node.value
            if not isinstance(target, ast.Attribute) or unparse(target.value) != "self":
                continue
            if not isinstance(made, ast.Call) or last_name(made.func) not in _LISTS or not made.args:
                continue
            if not isinstance(made.args[0], (ast.ListComp, ast.GeneratorExp)):
                continue
            reads = [
                n
                for n in source.mentions.get(target.attr, ())
                if isinstance(n, ast.Constant)
                or (isinstance(n.ctx, ast.Load) and source.function_name(n) != "__init__")
            ]
            places = []
            for read in reads:
                above = source.parents.get(read)
                cut = isinstance(above, ast.Subscript) and above.value is read
                places.append(unparse(above.slice) if cut and isinstance(above, ast.Subscript) else "")
            called = [source.parents.get(r) for r in reads]
            loops = [c for c in called if c is not None and _within_loop(source, c)]
            if places and set(places) <= {"0", "-1"} and len(set(places)) == 1 and loops:
                return at(source, loops[0], f"of {target.attr} one place alone is asked, whatever comes")
    return None


def _within_loop(source: Script, node: ast.AST) -> bool:
    return any(isinstance(p, (ast.For, ast.ListComp, ast.GeneratorExp)) for p in source.above(node))

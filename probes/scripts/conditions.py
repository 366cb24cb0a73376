"""What the test of a branch asks for, whatever runs: the file that is started, the first process."""

from __future__ import annotations

import ast
import re

from ..readers._tree import of
from ..readers.script import last_name

_RANK = re.compile(r"(?i)^(?:get_)?(?:local_|global_|node_)?rank$")
_FIRST = re.compile(
    r"(?i)^is_?(?:local_|global_)?(?:main|master|first|zero|rank_?(?:zero|0)|world_process_zero)(?:_?(?:process|rank))?$"
)


def is_main(test: ast.expr) -> bool:
    """`__name__ == "__main__"`, and nothing else."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return False
    return any(isinstance(n, ast.Name) and n.id == "__name__" for n in (test.left, *test.comparators))


def asks_main(test: ast.expr) -> bool:
    """`__name__ == "__main__"`, also beside more: `__name__ == "__main__" and not sys.flags.interactive`."""
    return any(map(is_main, of(test, ast.Compare)))


def is_first_process(test: ast.expr) -> bool:
    """`rank == 0`, `not get_rank()`, `is_main_process()`, and nothing else: one process goes in alone."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _is_rank(test.operand)
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
        first = test.comparators[0]
        return isinstance(first, ast.Constant) and first.value == 0 and _is_rank(test.left)
    return _FIRST.match(_called(test)) is not None


def asks_first_process(test: ast.expr) -> bool:
    """The test, or one that must hold with it, is that of the first process; `or` lets others in."""
    if isinstance(test, ast.BoolOp):
        parts = [asks_first_process(v) for v in test.values]
        return any(parts) if isinstance(test.op, ast.And) else all(parts)
    return is_first_process(test)


def _is_rank(node: ast.expr) -> bool:
    return _RANK.match(_called(node)) is not None


def _called(node: ast.expr) -> str:
    return last_name(node.func if isinstance(node, ast.Call) else node)

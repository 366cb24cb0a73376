"""Whether a program starts something: a file that others import may be used in ways that nobody sees here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..readers import notebook
from ..readers._tree import of, unparse
from ..readers.script import last_name
from .conditions import asks_main
from .syntax import Script

_STARTS = ("fit", "backward", "step", "train", "evaluate", "apply_gradients", "Fire", "LightningCLI", "run")
_ENTRIES = ("main", "cli", "run", "launch", "start", "entry_point")
_COMMANDS = re.compile(r"(?i)main|command|hydra|click|cli\b")


def begins(source: Script) -> bool:
    """Its own file runs something when it is started, or holds an entry (`main`, a command).

    Cells of a notebook run; of a file that only defines functions and classes others make the use.
    """
    if (source.entry or source.path).endswith(notebook.SUFFIX) or _by_itself(source):
        return True
    return any(_starts(s) for s in _own(source))


def _by_itself(source: Script) -> bool:
    """It is one file that imports nothing of a project: somebody hands in what is to be judged as it is."""
    imports = (s for s in (*source.tree.body, *source.left_out) if isinstance(s, ast.ImportFrom))
    return len(source.pieces) < 2 and not any(s.level for s in imports)


def _own(source: Script) -> Iterator[ast.stmt]:
    """What stands at the top of the file that imports the others."""
    before = source.pieces[-1][0] if source.pieces else 0
    yield from (s for s in (*source.tree.body, *source.left_out) if s.lineno > before)


def _starts(statement: ast.stmt) -> bool:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        asked = any(_COMMANDS.search(unparse(d)) for d in statement.decorator_list)
        return asked or statement.name in _ENTRIES
    if isinstance(statement, (ast.For, ast.AsyncFor, ast.While, ast.With)):
        return True
    if isinstance(statement, ast.If):
        return asks_main(statement.test) or any(map(_starts, statement.body))
    if isinstance(statement, ast.Try):
        return any(map(_starts, statement.body))
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        if isinstance(statement.value.func, ast.Name):
            return True  # `main()`
    if isinstance(statement, (ast.Expr, ast.Assign, ast.AnnAssign)) and statement.value is not None:
        return any(last_name(c.func) in _STARTS for c in of(statement.value, ast.Call))
    return False

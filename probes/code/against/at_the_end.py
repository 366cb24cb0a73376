"""What comes after training and is told as an edit of it: a network that is put into evaluation mode."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...script_diff.edit import Edit
from ...scripts.flow import flow
from ...scripts.syntax import Script

_TRAINS = frozenset({"fit", "train", "backward", "step", "minimize", "apply_gradients", "train_on_batch"})


def modes_after_training(edits: Iterable[Edit], mine: Script) -> frozenset[Edit]:
    """Added lines `net.eval()`, `net.set_train(False)` at the top of the script, and nothing trains below."""
    return frozenset(e for e in edits if e.kind == "added" and _is_last_mode(mine, e))


def _is_last_mode(source: Script, edit: Edit) -> bool:
    line = edit.mine.line if edit.mine is not None else None
    found = [s for s in source.tree.body if s.lineno == line and isinstance(s, ast.Expr)]
    if len(found) != 1 or not isinstance(found[0].value, ast.Call):
        return False
    call = found[0].value
    off = last_name(call.func) == "eval" and not call.args
    off = off or unparse(call).endswith((".set_train(False)", ".train(False)"))
    if not off or not isinstance(call.func, ast.Attribute):
        return False
    below = [c for s in source.tree.body if s.lineno > found[0].lineno for c in of(s, ast.Call)]
    if any(
        isinstance(s, (ast.FunctionDef, ast.ClassDef)) for s in source.tree.body if s.lineno > call.lineno
    ):
        return False
    mine = flow(source)
    return not any(
        last_name(c.func) in _TRAINS
        or any(last_name(i.func) in _TRAINS for f in mine.called(c) for i in of(f, ast.Call))
        for c in below
    )

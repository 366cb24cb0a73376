"""One part of the data under two names: what chooses the best model is what it is tested on."""

from __future__ import annotations

import ast

from ...readers._tree import of, unparse
from ...registry import Finding
from ...scripts.syntax import Script
from ..evaluation.choices import choices
from ..evaluation.parts_named import part_of
from ..shared.checks import at
from ..shared.nodes import assigned


def one_part_under_two_names(source: Script) -> Finding | None:
    """`val_ds = make("test")` beside `test_ds = make("test")`, and a checkpoint or an early stop is chosen.

    Both are made by the same call with the same arguments, of which one names the test part.
    """
    made: dict[tuple[ast.AST | None, str], tuple[str, ast.AST]] = {}
    for node in source.of(ast.Assign):
        for target, value in assigned(node):
            part, text = part_of(unparse(target)), unparse(value)
            named = {part_of(str(c.value)) for c in of(value, ast.Constant) if isinstance(c.value, str)}
            if part not in ("val", "test") or not isinstance(value, ast.Call) or "test" not in named:
                continue
            known = made.setdefault((source.function_around(node), text), (part, node))
            if known[0] != part and _chooses(source):
                held = known[1] if known[0] == "val" else node
                return at(
                    source, held, "what is tested on is taken for validation, too: it chooses the model"
                )
    return None


def _chooses(source: Script) -> bool:
    watches = ("ModelCheckpoint", "EarlyStopping", "ReduceLROnPlateau", "SaveModelCallback", "BestCheckpoint")
    return bool(source.named(*watches)) or any(c.kept or c.files for c in choices(source))

"""Held-out data in scripts that are handed steps of augmentation, told by what the steps do."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.sides import side
from ..shared.uses import calls_behind, functions_handed, handed


def handed_random(source: Script) -> Finding | None:
    """Held-out data are handed steps that mirror, crop or colour at random, by whatever name.

    Left aside where samples are meant to be seen in several versions: contrastive losses, averaged answers.
    """
    if _VERSIONS.search(source.code):
        return None
    steps = [
        (c, a) for learns, c, a in handed(source) if not learns and isinstance(a, (ast.Name, ast.Attribute))
    ]
    for call, given_ in [*steps, *functions_handed(source, learns=False), *_made_by_functions(source)]:
        found = list(calls_behind(source, given_))
        if any(_CHANGES.match(last_name(c.func)) for c in found) and not _conditional(source, given_):
            return at(source, call, "held-out data go through steps that change them at random")
    return None


def _made_by_functions(source: Script) -> Iterator[tuple[ast.Call, ast.AST]]:
    """`val_set = Photos(paths, train_steps(size))`: a function of the script makes them, with no switch."""
    for learns, call, argument in handed(source):
        if learns or not isinstance(argument, ast.Call) or not isinstance(argument.func, ast.Name):
            continue
        for function in flow(source).functions.get(argument.func.id, []):
            if all(isinstance(n, (ast.Return, ast.Assign, ast.Expr)) for n in function.body):
                if any(last_name(c.func) == "Compose" for c in of(function, ast.Call)):
                    yield call, function


def _conditional(source: Script, given_: ast.AST) -> bool:
    """What is handed over is chosen by a condition, or asks for the side itself."""
    if not isinstance(given_, ast.expr):
        return any(side(unparse(n.test)) is not None for n in of(given_, ast.If, ast.IfExp))
    ends = flow(source).values(given_, 4)
    return len(ends) != 1 or any(of(e, ast.IfExp) for e in ends)


_VERSIONS = re.compile(
    r"(?i)simclr|contrast|byol|moco|dino|two_?crops?|views|tta|nt_?xent|self_?superv|barlow"
)
_CHANGES = re.compile(
    r"^(?:Random(?:Crop|ResizedCrop|HorizontalFlip|VerticalFlip|Rotation|Erasing|Affine|Perspective|Invert)|ColorJitter"
    r"|RandAugment|AutoAugment|TrivialAugment\w*|AugMix)$"
)

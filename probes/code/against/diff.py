"""The run's script and the benchmark's: one program in two versions, or two programs."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache

from ....engine.model import Place
from ...readers._tree import unparse
from ...registry import NO_SCRIPT, Finding, View, absent, present, probe, unframed, unknown
from ...script_diff.edits import likeness_of
from ...scripts.syntax import Script
from ..shared.checks import scripts

_COMPOUND = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.While, ast.With, ast.Try)

# Two versions of one script share nearly all statements, a refactored one at least half; two programs in one
# framework share their imports and the bare steps of a loop.
_SAME_PROGRAM = 0.3
_SAME_FIGURES = 0.5  # one that was written anew keeps the names of its data and the figures of its recipe
_FEW_FIGURES = 8
_USUAL = (0, 1, 2, 0.5, 100, 1000)
MOST = 6  # programs of each side


def shared(mine: Script, theirs: Script) -> float:
    """The share of the shorter script's statements that stand in the other one, too."""
    here, there = set(_statements(mine)), set(_statements(theirs))
    return len(here & there) / max(1, min(len(here), len(there)))


_FRAMEWORKS = ("torch", "mindspore", "tensorflow", "keras", "jax", "paddle", "torch_npu", "flax")


def _frameworks(source: Script) -> set[str]:
    found = set()
    for node in source.of(ast.Import, ast.ImportFrom):
        if isinstance(node, ast.Import):
            found |= {a.name.split(".")[0] for a in node.names}
        elif node.module:
            found.add(node.module.split(".")[0])
    return found & set(_FRAMEWORKS)


@probe("benchmark")
@unframed
def other_program(view: View, *, same: float, least: int) -> Finding:
    """The benchmark's script is another program: few statements in common, in the same framework.

    Below `_SAME_PROGRAM` of common statements it is another one, from `same` on a version of this one. A port
    to another framework shares little, too: then this is unknown, as for scripts of fewer than `least`
    statements.
    """
    theirs = scripts(view.benchmark) if view.benchmark else []
    mine = scripts(view.run)
    if not mine or not theirs:
        return unknown(NO_SCRIPT if not mine else "no training script beside the benchmark")
    here, there = _pair(mine, theirs)
    common = shared(here, there)
    text = f"{here.path} and the benchmark's {there.path} share {common:.0%} of their statements"
    rest = {"value": round(common, 3), "threshold": _SAME_PROGRAM, "where": (Place(here.path, None),)}
    if common >= same:
        return absent(text, **rest)
    if common >= _SAME_PROGRAM or min(len(_statements(here)), len(_statements(there))) < least:
        return unknown(text, **rest)
    if not _frameworks(here) or _frameworks(here) != _frameworks(there):
        return unknown(f"{text}; they are written for different frameworks", **rest)
    if max(likeness_of(a, b) for a in mine[:MOST] for b in theirs[:MOST]) >= _SAME_PROGRAM:
        return unknown(f"{text}, and more of them under other names", **rest)
    figures = max(_shared_figures(a, b) for a in mine[:MOST] for b in theirs[:MOST])
    if figures >= _SAME_FIGURES:
        return unknown(f"{text}, and {figures:.0%} of their names of data and figures", **rest)
    return present(text, **rest)


def _shared_figures(mine: Script, theirs: Script) -> float:
    """The share of distinct texts and numbers, but the usual ones, that both scripts have; 0 if few."""
    here, there = _figures(mine), _figures(theirs)
    fewer = min(len(here), len(there))
    return len(here & there) / fewer if fewer >= _FEW_FIGURES else 0.0


def _figures(source: Script) -> frozenset[str]:
    """Texts without spaces (columns, files, names) and numbers of which a program of the kind is made."""
    found = set()
    for node in source.of(ast.Constant):
        value = node.value
        if isinstance(value, str) and 2 < len(value) < 60 and " " not in value and "__" not in value:
            found.add(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and value not in _USUAL:
            found.add(f"{value:g}")
    return frozenset(found)


def _pair(mine: Sequence[Script], theirs: Sequence[Script]) -> tuple[Script, Script]:
    """The two scripts that most resemble each other."""
    return max(
        ((a, b) for a in mine for b in theirs),
        key=lambda p: (len(set(_statements(p[0])) & set(_statements(p[1]))), p[0].path),
    )


@lru_cache(maxsize=16)
def _statements(source: Script) -> dict[str, int]:
    """Simple statements (and the heads of conditions) in normal form -> line."""
    found: dict[str, int] = {}
    for node in source.of(ast.stmt):
        if not isinstance(node, _COMPOUND):
            text = unparse(node).split("\n", 1)[0]
            if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                found.setdefault(text, node.lineno)
    return found

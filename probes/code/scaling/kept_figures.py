"""Figures of scaling that training keeps beside its weights, and that what scores works out anew."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at

_FIGURES = re.compile(r"(?i)^(?:\w+_)?(?:mean|std|mu|sigma|min|max|scaler|scale|stats|moments)s?$")
_LEARNS = ("backward", "fit", "train_on_batch", "minimize", "apply_gradients")
_WORKED_OUT = ("mean", "std", "min", "max", "nanmean", "nanstd", "amin", "amax")


def figures_worked_out_anew(sources: Sequence[Script]) -> Finding | None:
    """`torch.save({"model": ..., "mean": mean})`, and the program that scores takes a mean of its own rows.

    Told where no program of the project reads the kept figures under their names, and one that loads weights
    and does not train hands columns' figures (`rows.min(axis=0)`) to what makes its data.
    """
    kept = {k for s in sources for call in s.named("save", "dump") for k in _keys(s, call)}
    if not kept or any(s.loose for s in sources) or kept & {k for s in sources for k in _read(s)}:
        return None
    for source in sources:
        if source.named(*_LEARNS) or not source.named("load_state_dict", "load_model", "load_weights"):
            continue
        for call in source.calls:
            if last_name(call.func)[:1].isupper() and (figures := _handed(source, call)):
                if len({last_name(f.func) for f in figures}) > 1:  # a shift and a width
                    return at(
                        source, call, "rows are scaled by figures of their own, not by those that were kept"
                    )
    return None


def _keys(source: Script, call: ast.Call) -> set[str]:
    """Names of figures in what is saved: with weights beside them."""
    found: set[str] = set()
    for value in (v for a in call.args[:1] for v in (a, *flow(source).values(a, 2))):
        if isinstance(value, ast.Dict):
            names = {k.value for k in value.keys if isinstance(k, ast.Constant) and isinstance(k.value, str)}
            if "state_dict" in unparse(value):
                found |= {n for n in names if _FIGURES.match(n)}
    return found


def _read(source: Script) -> set[str]:
    """Keys that are asked for anywhere: `state["mean"]`, `state.get("mean")`; all of them by `**state`."""
    found = {n.slice.value for n in source.of(ast.Subscript) if isinstance(n.slice, ast.Constant)}
    found |= {
        c.args[0].value for c in source.named("get", "pop") if c.args and isinstance(c.args[0], ast.Constant)
    }
    return {k for k in found if isinstance(k, str)}


def _handed(source: Script, call: ast.Call) -> list[ast.Call]:
    """Figures of columns that a call gets, written there or given to a name before."""
    given = [*call.args, *(k.value for k in call.keywords)]
    ways = [w for g in given for n in (g, *of(g, ast.Name)) for w in (n, *flow(source).values(n, 3))]
    figures = [c for w in ways if isinstance(w, ast.expr) for c in of(w, ast.Call)]
    return [c for c in figures if last_name(c.func) in _WORKED_OUT and _by_column(c)]


def _by_column(call: ast.Call) -> bool:
    """`rows.mean(axis=0)`, `rows.mean(0)`: over the rows."""
    words = {k.arg: unparse(k.value) for k in call.keywords}
    first = [unparse(a) for a in call.args]
    return "0" in (words.get("axis"), words.get("dim")) or "0" in first

"""Figures that a library works out, told under the name of another figure or of another average."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from .figures_of_rows import figure_called

# scikit-learn's functions by what they give; places of `precision_recall_fscore_support`
_GIVES = {
    "accuracy_score": "accuracy", "f1_score": "f1", "precision_score": "precision", "recall_score": "recall",
    "roc_auc_score": "auc", "mean_absolute_error": "mae", "r2_score": "r2",
}  # fmt: skip
_PLACES = ("precision", "recall", "f1", "support")
_AMONG = ("accuracy", "f1", "precision", "recall")
_AVERAGES = ("macro", "micro", "weighted", "samples")
_PLAIN = ("float", "round", "item")
_NUMBER = re.compile(r"(?i)top|@|at_?\d|balanced")


def library_figure_of_another_name(source: Script) -> Finding | None:
    """`{"recall": precision_score(y, p)}`, `{"macro_f1": f1_score(y, p, average="micro")}`.

    Left aside: accuracy as the micro average of F1, precision and recall of single labels, which is one.
    """
    for name, value in _named(source):
        if _NUMBER.search(name):
            continue
        for call, gives in _given(source, value):
            told = figure_called(name)
            average = keyword(call, "average")
            asked = average.value if isinstance(average, ast.Constant) else None
            if told in _AMONG and gives in _AMONG and told != gives and asked != "micro":
                return at(source, value, f"what is called {name} is the {gives} of `{last_name(call.func)}`")
            said = [w for w in re.split(r"[^a-z]+", name.lower()) if w in _AVERAGES]
            if len(said) == 1 and isinstance(asked, str) and asked in _AVERAGES and asked != said[0]:
                if gives in (*_AMONG, "auc"):
                    return at(source, call, f"what is called {name} is the {asked} average")
    return None


def _named(source: Script) -> Iterator[tuple[str, ast.expr]]:
    for mapping in source.of(ast.Dict):
        for key, value in zip(mapping.keys, mapping.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, value
    for call in source.named("dict"):
        yield from ((k.arg, k.value) for k in call.keywords if k.arg)
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Name):
            yield target.id, node.value
        elif isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
            yield str(target.slice.value), node.value
        elif isinstance(target, ast.Tuple) and _is_support(node.value) and len(target.elts) == len(_PLACES):
            # `recall, precision, f1, _ = precision_recall_fscore_support(...)`
            for place, one in enumerate(target.elts):
                if isinstance(one, ast.Name) and len(one.id) > 1:
                    held = ast.Subscript(value=node.value, slice=ast.Constant(value=place), ctx=ast.Load())
                    yield one.id, ast.copy_location(held, node.value)


def _is_support(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and last_name(value.func) == "precision_recall_fscore_support"


def _given(source: Script, value: ast.expr, depth: int = 3) -> Iterator[tuple[ast.Call, str]]:
    """The library's call that alone gives a figure, and which one that is."""
    place: int | None = None
    while True:
        if isinstance(value, ast.Call) and last_name(value.func) in _PLAIN and value.args:
            value = value.args[0]
        elif isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
            if not isinstance(value.slice.value, int) or place is not None:
                return
            place, value = value.slice.value, value.value
        else:
            break
    if isinstance(value, ast.Name) and depth:
        found = flow(source).all_given(value)
        if len(found) != 1 or len(found[0].places) > 1:
            return
        if found[0].places:
            if place is not None or not _is_support(found[0].value):
                return
            held = ast.Subscript(value=found[0].value, slice=ast.Constant(value=found[0].places[0]))
            yield from _given(source, held, 0)
            return
        inner = found[0].value
        if place is not None:
            inner = ast.Subscript(value=inner, slice=ast.Constant(value=place))
        yield from _given(source, inner, depth - 1)
        return
    if not isinstance(value, ast.Call):
        return
    if _is_support(value):
        if place is not None and 0 <= place < len(_PLACES):
            yield value, _PLACES[place]
    elif place is None and last_name(value.func) in _GIVES:
        yield value, _GIVES[last_name(value.func)]

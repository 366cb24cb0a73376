"""Faults of settings: rates, regularization, durations, order of the data."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from .code import Code, Operator, Site, called, keyword

_RATE = re.compile(r"^-*(?:lr|learning[-_]rate|base[-_]lr|init[-_]lr)$")


def numbers(code: Code, names: re.Pattern[str]) -> Iterator[tuple[ast.Constant, float]]:
    """Literal numbers that a keyword, a default of the command line or an assignment gives to a name."""
    for node in code.nodes:
        value: ast.expr | None = None
        if isinstance(node, ast.Call) and called(node) == "add_argument":
            flags = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            if any(names.match(f) for f in flags):
                value = keyword(node, "default")
        elif isinstance(node, ast.Call):
            value = next((k.value for k in node.keywords if k.arg and names.match(k.arg)), None)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = node.value if names.match(node.targets[0].id) else None
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            value = node.value if names.match(node.target.id) else None
        if isinstance(value, ast.Constant) and type(value.value) in (int, float) and value.value > 0:
            yield value, float(value.value)


def rate_times_thousand(code: Code) -> Iterator[Site]:
    """A learning rate a thousand times as large."""
    for node, value in numbers(code, _RATE):
        if value <= 0.1:
            yield (code.replace(node, f"{value * 1000:g}"),)


def rate_by_hundred_thousand(code: Code) -> Iterator[Site]:
    """A learning rate a hundred thousand times as small."""
    for node, value in numbers(code, _RATE):
        if value <= 0.5:
            yield (code.replace(node, f"{value * 1e-5:.3g}"),)


def heavy_decay(code: Code) -> Iterator[Site]:
    """A weight decay of one."""
    for node, value in numbers(code, re.compile(r"^-*(?:weight[-_]decay|wd)$")):
        if value <= 0.1:
            yield (code.replace(node, "1.0"),)


def heavy_dropout(code: Code) -> Iterator[Site]:
    """Nearly everything dropped out."""
    for call in code.calls("Dropout", "Dropout2d", "SpatialDropout1D"):
        rate = keyword(call, "p", "rate") or (call.args[0] if call.args else None)
        if isinstance(rate, ast.Constant) and isinstance(rate.value, float):
            yield (code.replace(rate, "0.95"),)


def not_shuffled(code: Code) -> Iterator[Site]:
    """Training data in the order in which they lie."""
    for call in code.calls("DataLoader"):
        value = keyword(call, "shuffle")
        if isinstance(value, ast.Constant) and value.value is True:
            yield (code.replace(value, "False"),)


OPERATORS = (
    Operator("rate-times-thousand", "hyperparameter.learning-rate-too-large", rate_times_thousand),
    Operator("rate-by-hundred-thousand", "hyperparameter.learning-rate-too-small", rate_by_hundred_thousand),
    Operator("heavy-decay", "hyperparameter.regularization-too-strong", heavy_decay),
    Operator("heavy-dropout", "hyperparameter.regularization-too-strong", heavy_dropout),
    Operator("not-shuffled", "processing.not-shuffled", not_shuffled),
)

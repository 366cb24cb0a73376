"""What figures of a program are called, and which of them are told: prints, logs, writers, results."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_NAMES = (
    ("loss", r"loss|objective|nll|log_loss|\bce\b"),
    ("rmse", r"rmse|root_mean"),
    ("mae", r"(?:^|[_\W])(?:mae|l1|mean_absolute\w*|abs_?err\w*)(?:$|[_\W])"),
    ("mse", r"(?:^|[_\W])(?:mse|mean_squared\w*)(?:$|[_\W])"),
    ("mape", r"mape"),
    ("r2", r"(?:^|[_\W])r_?(?:2|squared)(?:$|[_\W])"),
    ("f1", r"(?:^|[_\W])f_?1(?:$|[_\W]|score)"),
    ("precision", r"precision|(?:^|[_\W])prec(?:$|[_\W])"),
    ("recall", r"recall|(?:^|[_\W])rec(?:$|[_\W])|sensitivity"),
    ("iou", r"iou|jaccard"),
    ("dice", r"dice"),
    ("perplexity", r"ppl|perplexity"),
    ("error", r"(?:^|[_\W])(?:err|error|error_rate)(?:$|[_\W])"),
    ("accuracy", r"(?:^|[_\W])acc(?:$|[_\W])|accuracy|(?:^|[_\W])top_?1(?:$|[_\W])"),
)
_KINDS = [(kind, re.compile(f"(?i){ask}")) for kind, ask in _NAMES]
_TRAINS = re.compile(r"(?i)(?:^|[_\W])(?:train|tr|training)(?:$|[_\W])")


def kind_of(label: str) -> str:
    """What a figure of this name is: "accuracy", "rmse", ...; "" where the name does not say."""
    if _TRAINS.search(label):
        return ""
    return next((kind for kind, ask in _KINDS if ask.search(label)), "")


def labelled(args: list[ast.expr]) -> Iterator[tuple[str, ast.expr]]:
    """The label and the value of everything that a call prints or logs."""
    label, forms = "", []
    for arg in args:
        if isinstance(arg, ast.Constant) and isinstance(arg.value, str):
            if "%" in arg.value:
                forms = re.split(r"%[-+0-9.]*[a-z]", arg.value)
            elif "{" in arg.value:
                forms = re.split(r"\{[^}]*\}", arg.value)
            label = arg.value
        elif isinstance(arg, ast.JoinedStr):
            yield from _joined(arg)
        elif isinstance(arg, ast.Call) and isinstance(arg.func, ast.Attribute) and arg.func.attr == "format":
            text = arg.func.value
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                parts = re.split(r"\{[^}]*\}", text.value)
                yield from ((_last(p), v) for p, v in zip(parts, arg.args, strict=False))
        elif (
            isinstance(arg, ast.BinOp) and isinstance(arg.op, ast.Mod) and isinstance(arg.left, ast.Constant)
        ):
            values = arg.right.elts if isinstance(arg.right, ast.Tuple) else [arg.right]
            parts = re.split(r"%[-+0-9.]*[a-z]", str(arg.left.value))
            yield from ((_last(p), v) for p, v in zip(parts, values, strict=False))
        elif isinstance(arg, ast.Dict):
            for key, value in zip(arg.keys, arg.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, value
        else:
            yield (_last(forms.pop(0)) if forms else _last(label)), arg
            label = ""


def _joined(text: ast.JoinedStr) -> Iterator[tuple[str, ast.expr]]:
    label = ""
    for part in text.values:
        if isinstance(part, ast.Constant):
            label = str(part.value)
        elif isinstance(part, ast.FormattedValue):
            yield _last(label), part.value
            label = ""


def _last(text: str) -> str:
    """The last words before a figure: `epoch 3 val acc: `."""
    parts = re.split(r"[,;|\n]", text.strip(" \t:=|,;(["))
    return " ".join(parts[-1].split()[-3:]) if parts else ""

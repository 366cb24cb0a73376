"""What stands in an evaluation, by name or form: truth, answers, batches, tables, plain conversions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ..shared.checks import gone_over
from ..shared.numbers import Unknown

TRUE = re.compile(
    r"(?i)^(?:y|ys|yb|by|t|gt|truth|true|y_?true|y_?t|targets?|tgts?|labels?|lbls?|actuals?|obs\w*|refs?|reference"
    r"|truths|y_?test|y_?val\w*|\w*_true|\w*_labels?|\w*_targets?|\w*_gt|true_\w+|gold)$"
)

SAID = re.compile(
    r"(?i)^(?:p|ps|pr|preds?|prediction|predictions|predicted|y_?hat|yh|y_?p|y_?preds?|guess\w*|outs?|outputs?|forecasts?|fc"
    r"|est|estimates?|hyp|said|answers?|\w*_preds?|\w*_hat|pred_\w+|logits|scores|probs?)$"
)

GIVEN = re.compile(r"(?i)^(?:x|xs|xb|bx|inputs?|imgs?|images?|feats?|features?|frames?|tokens?|ids|a)$")

COUNT = re.compile(r"(?i)^_?(?:n_?|num_?)?(tp|fp|fn|tn)s?$")

MODEL = re.compile(r"(?i)(?:^|[._])(?:\w*model\w*|\w*net\w*|forward|predict|network|learner|module|clf|reg)$")

SAME = frozenset(
    (
        *("item", "float", "double", "long", "int", "cpu", "cuda", "numpy", "asnumpy", "detach", "clone"),
        *("contiguous", "squeeze", "flatten", "ravel", "view", "view_as", "reshape", "to", "astype", "type"),
        *("tolist", "data", "bool", "type_as", "unsqueeze", "float32", "float64", "tensor", "array"),
        *("asarray", "Tensor", "as_tensor", "from_numpy", "nan_to_num", "cast", "convert_to_tensor"),
        *("constant", "expand_dims", "half", "byte", "copy", "list", "gather_for_metrics", "identity"),
    )
)

KEEPS = SAME | frozenset(
    (
        *("cat", "concatenate", "concat", "hstack", "vstack", "stack", "exp", "expm1", "argmax", "sigmoid"),
        *("softmax", "clamp", "clip", "relu", "inverse_transform", "round", "maximum", "gather"),
    )
)

TO_KIND = frozenset(("argmax", "round", "rint"))

MONOTONE = frozenset(("sigmoid", "softmax", "log_softmax", "exp", "expit"))

FLOORS = frozenset(("clamp", "clip", "clamp_min", "maximum", "max"))


@dataclass(frozen=True)
class Scores:
    """What a model gives before a kind is chosen: only choosing is understood.

    `chosen`: it is handed in from elsewhere, where the kind may have been chosen already.
    """

    kinds: np.ndarray
    chosen: bool = False


def decided_kinds(value: Any) -> Any:
    """The kinds of answers that were handed in, anything else as it is."""
    return value.kinds if isinstance(value, Scores) and value.chosen else value


LIBRARY = re.compile(r"(?:torch|np|numpy|F|tf|K|ops|mint|jnp|math|nn|keras|backend)(?:\.|$)")


def row_and_column(value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """`n * truth + said` of a count of places."""
    for node in of(value, ast.BinOp):
        if isinstance(node.op, ast.Add) and isinstance(node.left, ast.BinOp):
            if isinstance(node.left.op, ast.Mult):
                one, other = node.left.left, node.left.right
                rows = [x for x in (one, other) if not SIZE.search(unparse(x))]
                if len(rows) == 1:
                    yield rows[0], node.right


SIZE = re.compile(r"(?i)^(?:self\.|cfg\.)?_?(?:n|k|c|n_?classes|num_?\w+|n_\w+|classes|len\(.*)$|^\d+$")


def by_name(name: str) -> str | None:
    """ "truth", "said" or "given" (inputs) by a name, None where it tells none."""
    for kind, known in (("truth", TRUE), ("said", SAID), ("given", GIVEN)):
        if known.match(name):
            return kind
    return None


def in_batches(loop: ast.For) -> bool:
    """A loop over a loader, or over the beginnings of batches."""
    over = gone_over(loop.iter)
    if isinstance(over, ast.Call) and last_name(over.func) in ("range", "zip"):
        return last_name(over.func) == "range" and len(over.args) == 3
    target = loop.target
    if isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) == "enumerate":
        target = target.elts[-1] if isinstance(target, ast.Tuple) and target.elts else target
    return isinstance(target, (ast.Tuple, ast.Name)) and not isinstance(over, (ast.List, ast.Tuple))


def need_numbers(node: ast.AST, *values: Any) -> None:
    """Raise Unknown where a value is no number or array."""
    if any(isinstance(v, (Scores, list)) or v is None for v in values):
        raise Unknown(unparse(node))


def is_bool(value: Any) -> bool:
    """An array of truth values."""
    return np.asarray(value).dtype == bool


def is_value(node: ast.expr, value: object) -> bool:
    """The constant of this value and type."""
    return isinstance(node, ast.Constant) and node.value == value and type(node.value) is type(value)


def is_whole(node: ast.expr) -> bool:
    """`:`, `...`, `0`, `None` of an index."""
    if isinstance(node, ast.Slice):
        return node.lower is None and node.upper is None
    return isinstance(node, ast.Constant) and node.value in (0, None, Ellipsis)


def is_empty(node: ast.expr) -> bool:
    """`0`, `0.0`, `[]`, `torch.tensor(0.0)`, `torch.zeros(1)`."""
    if isinstance(node, ast.Call) and last_name(node.func) in ("tensor", "zeros", "array"):
        return re.fullmatch(r"\d|0\.0|\(\)|\[\]", unparse(node.args[0] if node.args else node)) is not None
    return (isinstance(node, ast.Constant) and node.value in (0, 0.0) and node.value is not False) or (
        isinstance(node, ast.List) and not node.elts
    )


def is_square(node: ast.expr) -> bool:
    """`np.zeros((n, n))`, `torch.zeros(n, n)`: a table of truth by answer."""
    if not isinstance(node, ast.Call) or last_name(node.func) not in ("zeros", "new_zeros"):
        return False
    sizes: Iterator[ast.expr] | list[ast.expr] = node.args
    if node.args and isinstance(node.args[0], (ast.Tuple, ast.List)):
        sizes = node.args[0].elts
    texts = [unparse(s) for s in sizes]
    return len(texts) >= 2 and texts[0] == texts[1]

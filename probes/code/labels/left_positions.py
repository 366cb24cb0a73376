"""Positions without a label in scripts, where they are told apart and still count, or alone count.

A mask that is worked out of the labels and left, a mean over all places of what a mask has emptied, a count
of all places under a sum over some, labels whose padding the loss leaves out and the metric does not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from ...readers._tree import names_read, of, unparse
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at, ok
from ..shared.sides import literal
from .flat_positions import fills_of_targets
from .marks import ignored_labels, is_label, padded_labels

_MASK = re.compile(
    r"(?i)^(?:\w+_)?(?:mask|keep|valid|active|real|not_?pad|nonpad|present|observed)(?:_\w+)?$"
)
_WEIGHTS = re.compile(r"(?i)^(?:\w+_)?weights?$")
_LOSS = re.compile(r"(?i)entropy|loss|nll|criterion")
_CASTS = (
    "cast",
    "float",
    "to",
    "astype",
    "type",
    "long",
    "int",
    "type_as",
    "asarray",
    "expand_dims",
    "unsqueeze",
)


def _is_loss(function: Function) -> bool:
    return any(_LOSS.search(last_name(c.func)) for c in of(function, ast.Call)) or bool(
        _LOSS.search(function.name)
    )


def _compared(value: ast.expr | None) -> ast.Compare | None:
    """The comparison that a mask is: `y != PAD`, `tf.cast(y > 0, tf.float32)`, `(y != -100).float()`."""
    for _ in range(4):
        if isinstance(value, ast.Compare):
            return value if len(value.ops) == 1 else None
        if isinstance(value, ast.Call) and last_name(value.func) in _COMPARES and len(value.args) == 2:
            return _as_compare(value)
        if not isinstance(value, ast.Call) or last_name(value.func) not in _CASTS:
            return None
        method = isinstance(value.func, ast.Attribute) and isinstance(
            value.func.value, (ast.Compare, ast.Call, ast.Name)
        )
        inner = value.func.value if method and isinstance(value.func, ast.Attribute) else None
        library = inner is None or (isinstance(inner, ast.Name) and inner.id in _LIBRARIES)
        value = argument(value, position=0) if library else inner
    return None


_COMPARES: dict[str, type[ast.cmpop]] = {
    "not_equal": ast.NotEq,
    "equal": ast.Eq,
    "greater": ast.Gt,
    "greater_equal": ast.GtE,
}


@lru_cache(maxsize=256)
def _as_compare(call: ast.Call) -> ast.Compare:
    """`tf.not_equal(tags, 0)` as the comparison that it is."""
    left, right = call.args
    if isinstance(left, ast.Constant):
        left, right = right, left
    return ast.copy_location(ast.Compare(left, [_COMPARES[last_name(call.func)]()], [right]), call)


_LIBRARIES = ("torch", "tf", "np", "numpy", "ops", "F", "ms", "mint", "jnp", "keras", "K")


def _masks(source: Script, function: Function) -> Iterator[tuple[ast.Assign, str, ast.Compare]]:
    """Masks that a function works out of labels, by name."""
    for node in of(function, ast.Assign):
        target = node.targets[0]
        around = source.function_around(node)
        if (around is function or (around is None and not function.name)) and isinstance(target, ast.Name):
            test = _compared(node.value)
            if test is None or not is_label(_root(test.left)):
                continue
            if (
                _MASK.match(target.id)
                or _has_label(test)
                or (_WEIGHTS.match(target.id) and _is_value(test.comparators[0]))
            ):
                yield node, target.id, test


def _has_label(test: ast.Compare) -> bool:
    """`y >= 0`, `y != -100`: whether there is a label, whatever the answer is called."""
    asked = f"{type(test.ops[0]).__name__} {unparse(test.comparators[0])}"
    return asked in ("GtE 0", "Gt -1", "NotEq -1", "NotEq -100")


def _is_value(node: ast.expr) -> bool:
    """A number, or a name in capitals or of padding: one value, and no other tensor."""
    return (
        isinstance(node, ast.Constant) or re.search(r"^[A-Z_.]+$|(?i:pad|ignore)", unparse(node)) is not None
    )


def label_masks(source: Script) -> Iterator[tuple[ast.Assign, ast.Compare]]:
    """Every mask that the functions of a program which compute losses work out of labels."""
    for function in source.of(ast.FunctionDef):
        if _is_loss(function):
            for node, _, test in _masks(source, function):
                yield node, test


def _root(node: ast.expr) -> str:
    """`batch["labels"]`, `y`, `labels[:, 1:]` by the word that tells what they hold."""
    while isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
        node = node.value
    return unparse(node)


def mask_left_in_loss(source: Script) -> Finding | None:
    """A loss works out which places have a label, and then counts all of them."""
    return _left(source, losses=True)


def mask_left_in_metric(source: Script) -> Finding | None:
    """A metric works out which places have a label, and then counts all of them."""
    return _left(source, losses=False)


def _left(source: Script, losses: bool) -> Finding | None:
    seen: ast.AST | None = None
    for function in source.of(ast.FunctionDef):
        loads: set[str] | None = None
        for node, name, _ in _masks(source, function):
            if _is_loss(function) is not losses or not (losses or _sums_up(function)):
                continue
            seen = seen or node
            if loads is None:
                loads = names_read(function)
            if name not in loads and not loads & {"locals", "vars"}:
                return at(source, node, f"`{name}` is found out and never used: what has no label counts")
    return ok(source, seen, "what has no label is left out") if seen is not None else None


def _sums_up(function: Function) -> bool:
    """The function counts, averages or chooses: one that only makes arrays of the labels scores nothing."""
    added = any(isinstance(n.op, ast.Add) for n in of(function, ast.AugAssign))
    return added or any(last_name(c.func) in _COUNTS for c in of(function, ast.Call))


_COUNTS = (
    *("sum", "mean", "reduce_sum", "reduce_mean", "count_nonzero", "argmax", "topk", "eq", "equal"),
    *("bincount", "trace", "average", "nanmean", "compute", "eval", "update", "update_state", "append"),
)


def mean_over_emptied_in_loss(source: Script) -> Finding | None:
    """`reduce_mean(losses * mask)`: the mean goes over all places, and a mask made most of them zero."""
    return _mean(source, losses=True)


def mean_over_emptied_in_metric(source: Script) -> Finding | None:
    """The same of what is scored, or a sum over places with a label over a count of all places."""
    return _mean(source, losses=False)


def _mean(source: Script, losses: bool) -> Finding | None:
    seen: ast.AST | None = None
    scopes = source.of(ast.FunctionDef) if losses else (*source.of(ast.FunctionDef), _outside(source))
    for function in scopes:
        if _is_loss(function) is not losses and not (losses is False and _scores(function)):
            continue
        names = {name for _, name, test in _masks(source, function) if not isinstance(test.ops[0], ast.Eq)}
        if not names:
            continue
        for call in of(function, ast.Call):
            if last_name(call.func) not in ("reduce_mean", "mean", "ReduceMean"):
                continue
            inner = call.args[0] if call.args else getattr(call.func, "value", None)
            seen = seen or call
            rest = [*call.args[1:], *call.keywords]
            if isinstance(inner, ast.BinOp) and _weighted(inner, names) and not rest:
                within_loss = _LOSS.search(unparse(inner)) is not None or not _scores(function)
                if within_loss is losses:
                    return at(
                        source, call, "the mean goes over all places, also those that the mask made zero"
                    )
        if not losses:
            found = _above_below(function, names)
            seen = seen or found
            if found is not None and _counts_all(found, names):
                return at(
                    source, found, "the sum goes over places with a label, and the count over all places"
                )
    return ok(source, seen, "the mean goes over places with a label") if seen is not None else None


@lru_cache(maxsize=16)
def _outside(source: Script) -> ast.FunctionDef:
    """The statements that stand in no function, as a function without a name."""
    plain = [s for s in source.tree.body if not isinstance(s, (ast.FunctionDef, ast.ClassDef))]
    made = next(n for n in ast.walk(ast.parse("def _():\n    pass")) if isinstance(n, ast.FunctionDef))
    made.name, made.body = "", plain
    return made


def _scores(function: Function | ast.Module) -> bool:
    return any(last_name(c.func) == "argmax" for c in of(function, ast.Call))


def _weighted(value: ast.BinOp, names: set[str]) -> bool:
    sides = (value.left, value.right)
    return isinstance(value.op, ast.Mult) and any(isinstance(s, ast.Name) and s.id in names for s in sides)


def _above_below(function: Function, names: set[str]) -> ast.AugAssign | None:
    """The count below a sum over places with a label: `seen += ...` of `hits / seen`."""
    added = {
        n.target.id: n
        for n in of(function, ast.AugAssign)
        if isinstance(n.target, ast.Name) and isinstance(n.op, ast.Add)
    }
    for node in of(function, ast.BinOp):
        if not isinstance(node.op, ast.Div):
            continue
        above, below = _name(node.left), _name(node.right)
        if above in added and below in added:
            used = {n.id for n in of(added[above].value, ast.Name)}
            if used & names and _sums(added[above].value):
                return added[below]
    return None


def _name(node: ast.expr) -> str:
    while isinstance(node, ast.Call) and last_name(node.func) in ("max", "float", "int") and node.args:
        node = node.args[0]
    return node.id if isinstance(node, ast.Name) else ""


def _sums(value: ast.expr) -> bool:
    return any(last_name(c.func) in ("sum", "reduce_sum", "count_nonzero") for c in of(value, ast.Call))


def _counts_all(node: ast.AugAssign, names: set[str]) -> bool:
    """`y.numel()`, `tf.size(y)`, `y.size`: every place, whatever it holds."""
    text = unparse(node.value)
    if any(n.id in names for n in of(node.value, ast.Name)):
        return False
    return (
        re.fullmatch(r"[\w.\[\]'\"]+\.(?:numel|nelement)\(\)|(?:tf|np|ops)\.size\([^()]*\)|\w+\.size", text)
        is not None
    )


def metric_counts_padding(source: Script) -> Finding | None:
    """Labels are padded with what the loss leaves out, and the metric compares every place with them."""
    ignored = ignored_labels(source)
    if not ignored or source.loose:
        return None
    padded = {literal(source, v) for _, v in padded_labels(source) if v is not None}
    if not (padded | set(fills_of_targets(source))) & ignored:
        return None
    seen: ast.AST | None = None
    functions: tuple[Function | ast.Module, ...] = (*source.of(ast.FunctionDef), source.tree)
    for function in functions:
        if function in source.passes or not _scores(function):
            continue
        for node in of(function, ast.Compare):
            if function is source.tree and source.function_around(node) is not None:
                continue
            if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq):
                continue
            sides = [node.left, node.comparators[0]]
            if not any(is_label(_root(s)) for s in sides) or not any(_predicts(source, s) for s in sides):
                continue
            seen = seen or node
            text = unparse(function) + " ".join(
                unparse(f) for c in of(function, ast.Call) for f in flow(source).called(c)
            )
            text = re.sub(r"ignore_index=\S+", "", text)
            if not re.search(
                r"(?i)mask|ignore|pad|valid|keep|!=|>=? ?0|-100|length|active|\.ne\(|where\(|\bif\b.*-1", text
            ):
                return at(source, node, "places that the loss leaves out count in this metric")
    return ok(source, seen, "places without a label are left out of the metric") if seen is not None else None


def _predicts(source: Script, node: ast.expr) -> bool:
    return any(
        last_name(c.func) == "argmax" for v in [node, *flow(source).values(node, 3)] for c in of(v, ast.Call)
    )


def only_padding_counts(source: Script) -> Finding | None:
    """`losses * (labels == PAD)`: what has no label counts, and nothing else."""
    mine, seen = flow(source), None
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, ast.Mult):
            continue
        for side, other in ((node.left, node.right), (node.right, node.left)):
            given = mine.whole_given(side) if isinstance(side, ast.Name) else None
            test = _compared(given or side)
            if (
                test is None
                or not is_label(_root(test.left))
                or not isinstance(test.ops[0], (ast.Eq, ast.NotEq))
            ):
                continue
            if not _LOSS.search(_about(source, node, other)):
                continue
            seen = seen or node
            if isinstance(test.ops[0], ast.Eq) and _no_label(source, test):
                return at(
                    source, test, "the loss counts the places that have no label, and leaves out the others"
                )
    return ok(source, seen, "the loss counts the places that have a label") if seen is not None else None


def _about(source: Script, node: ast.AST, other: ast.expr) -> str:
    made = [unparse(v) for v in flow(source).values(other, 2)]
    return " ".join([unparse(other), source.function_name(node), *made])


_PAD = re.compile(
    r"(?i)(?:^|[._])(?:pad|padding|ignored?|void|blank)(?:_?(?:id|idx|index|token|label|value|token_id))?$"
)


def _no_label(source: Script, test: ast.Compare) -> bool:
    """The value stands for no label: by its name, as -100, or as what other places leave out."""
    value = test.comparators[0]
    if isinstance(value, (ast.Name, ast.Attribute)):
        return _PAD.search(unparse(value)) is not None
    number = literal(source, value)
    if number == -100:
        return True
    if number != 0 or ("mask_zero=True" not in source.code and "padding_idx=0" not in source.code):
        return False
    written = [c for c in source.named(*_COMPARES) if len(c.args) == 2]
    for other in (*source.of(ast.Compare), *(_as_compare(c) for c in written)):
        if other is not test and len(other.ops) == 1 and unparse(other.left) == unparse(test.left):
            zero = literal(source, other.comparators[0]) == 0
            if zero and isinstance(other.ops[0], (ast.NotEq, ast.Gt)):
                return True
    return False

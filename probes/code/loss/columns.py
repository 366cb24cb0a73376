"""Columns of shape (batch, 1) that meet rows of shape (batch,) in a loss that is written out or called."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import Flow, flow
from ...scripts.learning import takes_gradients
from ...scripts.minimised import losses, makers
from ...scripts.syntax import Script
from ..shared.checks import at, is_evaluation
from ..shared.nodes import is_true
from .output_kind import ends_in, width

_BROADCAST = (
    *("mseloss", "mse_loss", "l1loss", "l1_loss", "smoothl1loss", "smooth_l1_loss"),
    *("huberloss", "huber_loss"),
)
# what keeps the shape of what it is called on, or of its first argument
_KEEPS = (
    *("float", "double", "half", "long", "int", "to", "cuda", "cpu", "detach", "clone", "contiguous"),
    *("clamp", "clip", "exp", "log", "log1p", "sqrt", "abs", "sigmoid", "tanh", "relu", "softplus"),
    *(
        "type",
        "astype",
        "cast",
        "from_numpy",
        "tensor",
        "as_tensor",
        "asarray",
        "array",
        "Tensor",
        "Variable",
    ),
    *("FloatTensor", "constant"),
    *("asnumpy", "numpy", "clamp_min", "clamp_max", "clip_by_value"),
)
# weights and biases that a program draws itself: `torch.randn(2, 1)`, `np.zeros((k, 1))`; `torch.randn(1)`
_DRAWN_COLUMN = re.compile(
    r"\b(?:randn?|zeros|ones|empty|normal)\((?:size=)?\(?[\w.]+(?:\[\w+\])?, 1\)?"
    r"(?:, (?:requires_grad|dtype|device)=|\))"
)
_DRAWN_ONE = re.compile(
    r"\b(?:randn?|zeros|ones|empty|tensor)\(\(?\[?[\d.]+,?\]?\)?(?:, (?:requires_grad|dtype|device)=|\))"
)
_LIBRARIES = re.compile(
    r"^(?:torch|F|nn\.functional|torch\.nn\.functional|np|numpy|ops|tf|tf\.math|mint|ms\.ops|ms)$"
)
_FLAT = ("reshape", "view", "ravel", "flatten")
_DEPTH = 10


def columns_meet_rows(source: Script) -> Finding | None:
    """`(net(x)[:, :1] - y[:, 0]) ** 2`, `mse_loss(self.head(h), ret)` of a head of one unit: (batch, batch).

    Only where both shapes are told: a slice of one column, a layer of one unit that nothing squeezes, or a
    dimension that is kept or made; and one column taken out, a flattened array, a number of each sample.
    """
    mine = flow(source)
    for call, kind in losses(source):
        if kind in _BROADCAST and len(call.args) > 1 and not is_evaluation(source, call):
            forms = {_form(mine, a, _DEPTH).replace("made", "column") for a in call.args[:2]}
            if forms == {"column", "row"}:
                return at(
                    source, call, "a column of shape (batch, 1) is held against a row of shape (batch,)"
                )
    made = makers(source)
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, ast.Sub) or is_evaluation(source, node):
            continue
        function = source.function_around(node)
        if function not in made and not takes_gradients(source, function or source.tree):
            continue
        if {_form(mine, p, _DEPTH) for p in (node.left, node.right)} == {"column", "row"}:
            return at(source, node, "a column of shape (batch, 1) is taken off a row of shape (batch,)")
    return None


def _form(mine: Flow, node: ast.expr, depth: int) -> str:
    """ "column", "row" or "" where it cannot be told."""
    if depth == 0 or isinstance(node, ast.Constant):
        return ""
    if isinstance(node, ast.UnaryOp):
        return _form(mine, node.operand, depth - 1)
    if isinstance(node, (ast.List, ast.Tuple)):
        numbers = [e.operand if isinstance(e, ast.UnaryOp) else e for e in node.elts]
        plain_row = len(numbers) > 1 and all(
            isinstance(e, ast.Constant) and isinstance(e.value, (int, float)) for e in numbers
        )
        return "row" if plain_row else ""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return "column" if _drawn(mine, node.right, _DRAWN_COLUMN) else ""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        if _drawn(mine, node.right, _DRAWN_ONE):
            return _form(mine, node.left, depth - 1)
    if isinstance(node, ast.BinOp):
        sides = {f for p in (node.left, node.right) if (f := _form(mine, p, depth - 1))}
        plain = [p for p in (node.left, node.right) if isinstance(p, ast.Constant) or _scalar(p)]
        # a row with a row is a row, with a column a square: whatever the other is, no column comes of it
        return sides.pop() if len(sides) == 1 and (plain or "row" in sides) else ""
    if _best_of_row(node):
        return "row"
    if isinstance(node, ast.Subscript):
        return _item(mine, node, depth)
    if isinstance(node, ast.Call):
        return _call(mine, node, depth)
    if isinstance(node, (ast.Name, ast.Attribute)):
        ends = [v for v in mine.values(node, 1) if v is not node]
        found = {_form(mine, v, depth - 1) for v in ends}
        if len(found) == 1 and found != {""}:
            return found.pop()
        ends = (
            [v for v in mine.values(node, 6) if isinstance(v, ast.Call)] if not ends or found == {""} else []
        )
        told = {_layer(mine, v) for v in ends}
        if len(told) == 1 and "" not in told and len(ends) == len(mine.values(node, 6)):
            return told.pop()
        return _number_of_sample(mine, node) if isinstance(node, ast.Name) else ""
    return ""


_ONE_MADE = re.compile(
    r"(?:\.unsqueeze\(-?1\)|\(-1, 1\)|\[:, None\]|\[\.\.\., None\])(?:\.(?:long|to)\([\w.]*\))*$"
)


def _best_of_row(node: ast.expr) -> bool:
    """`q.max(1)[0]`, `q.max(dim=1).values`, `q.amax(1)`: one number of each row of values."""
    first = isinstance(node, ast.Subscript) and unparse(node.slice) == "0"
    value = isinstance(node, ast.Attribute) and node.attr == "values"
    call = node.value if isinstance(node, (ast.Subscript, ast.Attribute)) and (first or value) else node
    if not isinstance(call, ast.Call):
        return False
    if last_name(call.func) not in (("amax", "amin") if call is node else ("max", "min")):
        return False
    told = [unparse(a) for a in call.args] + [f"{k.arg}={unparse(k.value)}" for k in call.keywords]
    along = any(t in ("1", "-1", "dim=1", "dim=-1", "axis=1") for t in told)
    return along and not any("keepdim" in t for t in told)


def _scalar(node: ast.expr) -> bool:
    """A setting in capitals, or of `args` and the like."""
    return (
        isinstance(node, (ast.Name, ast.Attribute))
        and re.match(r"^[A-Z][A-Z_\d]*$|^(?:args|cfg|CFG|opt|config)\.", unparse(node)) is not None
    )


def _layer(mine: Flow, node: ast.expr) -> str:
    """A layer of one unit gives a column."""
    end = ends_in(mine.source, node)
    if end is None or width(mine.source, end.layer) != 1 or end.squeezed:
        return ""
    return "column" if last_name(end.layer.func) in ("Linear", "Dense", "LazyLinear") else ""


def _item(mine: Flow, node: ast.Subscript, depth: int) -> str:
    if not isinstance(node.slice, ast.Tuple):
        # rows picked by a mask or by numbers: `b_ret[idx]`
        picks = isinstance(node.slice, (ast.Name, ast.Slice))
        return _form(mine, node.value, depth - 1) if picks and not _is_table(node) else ""
    parts = node.slice.elts
    if len(parts) != 2 or not _whole(parts[0]):
        return ""
    second = parts[1]
    if isinstance(second, ast.Constant):
        return "row" if isinstance(second.value, int) else "made" if second.value is None else ""
    if isinstance(second, ast.UnaryOp) and isinstance(second.operand, ast.Constant):
        return "row"
    if isinstance(second, ast.Slice) and second.step is None:
        low = (
            second.lower.value
            if isinstance(second.lower, ast.Constant)
            else 0
            if second.lower is None
            else None
        )
        high = second.upper.value if isinstance(second.upper, ast.Constant) else None
        one = isinstance(low, int) and isinstance(high, int) and high - low == 1
        return "column" if one else ""
    return ""


def _is_table(node: ast.Subscript) -> bool:
    """`frame[column]`, `batch[key]`: the name of something, not places."""
    return (
        isinstance(node.slice, ast.Name)
        and re.match(r"(?i)^(?:k|key|col\w*|name|target|label|field)$", node.slice.id) is not None
    )


def _whole(node: ast.expr) -> bool:
    return isinstance(node, ast.Slice) and node.lower is None and node.upper is None and node.step is None


def _call(mine: Flow, node: ast.Call, depth: int) -> str:
    name = last_name(node.func)
    owner = receiver(node)
    library = owner is None or _LIBRARIES.match(unparse(owner)) is not None
    about = argument(node, position=0) if library else owner
    rest = [unparse(a) for a in (node.args[1:] if library else node.args)]
    if about is None:
        return ""
    kept = keyword(node, "keepdim") or keyword(node, "keepdims")
    if is_true(kept):
        axis = keyword(node, "dim") or keyword(node, "axis")
        told = unparse(axis) if axis is not None else (rest or [""])[0]
        return "column" if told in ("1", "-1") else ""
    if name in ("matmul", "mm") and rest:
        return "column" if _drawn(mine, node.args[-1], _DRAWN_COLUMN) else ""
    if name in ("add", "add_") and rest and _drawn(mine, node.args[-1], _DRAWN_ONE):
        return _form(mine, about, depth - 1)
    if name in _FLAT and rest in (["-1"], ["(-1,)"]):
        return "row"
    if name in _FLAT and rest in (["-1", "1"], ["(-1, 1)"]):
        return "made"
    if name in ("flatten", "ravel") and not rest:
        return "row"
    if name in ("unsqueeze", "expand_dims") and rest in (["1"], ["-1"]):
        return "made" if _form(mine, about, depth - 1) == "row" else ""
    if name == "squeeze" and rest in ([], ["1"], ["-1"]):
        return "row" if _form(mine, about, depth - 1) in ("column", "made") else ""
    if name == "gather" and rest[:1] in (["1"], ["-1"]) and len(rest) > 1:
        # as many axes as what is gathered from: one was made for the numbers
        made = _ONE_MADE.search(rest[1]) or _form(mine, node.args[-1], depth - 1) == "column"
        return "column" if made else ""
    if name in _KEEPS:
        return _form(mine, about, depth - 1)
    return _layer(mine, node) or _given_back(mine, node, depth)


def _given_back(mine: Flow, node: ast.Call, depth: int) -> str:
    """What the one function that is called, or the one forward method, gives back."""
    called = mine.called(node)
    ends = mine.given_back(called[0]) if len(called) == 1 else ()
    return _form(mine, ends[0], depth - 1) if len(ends) == 1 else ""


def _drawn(mine: Flow, node: ast.expr, shape: re.Pattern[str]) -> bool:
    """Parameters that the program draws itself, all of this shape, whatever they are multiplied by."""
    ends = [v for v in mine.values(node, 4) if v is not node]
    if isinstance(node, ast.Attribute):  # `self.register_parameter("w", ...)`
        ends += [
            c.args[1]
            for c in mine.source.named("register_parameter")
            if len(c.args) == 2 and isinstance(c.args[0], ast.Constant) and c.args[0].value == node.attr
        ]
    return bool(ends) and all(shape.search(unparse(v)) for v in ends)


def _number_of_sample(mine: Flow, node: ast.Name) -> str:
    """What a loop over a loader calls by this name is one number for each sample, as `__getitem__` says."""
    items = [f for f in mine.functions.get("__getitem__", []) if mine.source.class_around(f) is not None]
    if len(items) != 1:
        return ""
    outputs = [r for r in of(items[0], ast.Return) if isinstance(r, ast.Return)]
    for loop in mine.source.of(ast.For):
        target = loop.target
        if (
            isinstance(target, ast.Tuple)
            and isinstance(loop.iter, ast.Call)
            and last_name(loop.iter.func) == "enumerate"
        ):
            target = target.elts[1] if len(target.elts) == 2 else target
        if (
            not isinstance(target, ast.Tuple)
            or node.lineno < loop.lineno
            or node.lineno > (loop.end_lineno or 0)
        ):
            continue
        names = [e.id if isinstance(e, ast.Name) else "" for e in target.elts]
        if node.id not in names or len(outputs) != 1 or not isinstance(outputs[0].value, ast.Tuple):
            continue
        given = outputs[0].value.elts
        if len(given) == len(names):
            item = given[names.index(node.id)]
            ends = [item, *mine.values(item, 3)]
            number = any(isinstance(e, ast.Call) and unparse(e.func) in ("int", "float") for e in ends)
            return "row" if number else ""
    return ""

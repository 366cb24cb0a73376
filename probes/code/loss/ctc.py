"""CTC in scripts: what its loss is given, and how its output is read."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow, returns
from ...scripts.syntax import Function, Script
from ..shared.checks import at, first, ok
from ..shared.nodes import whole_number

_MOVES = (
    "transpose",
    "permute",
    "swapaxes",
    "contiguous",
    "float",
    "double",
    "detach",
    "to",
    "cpu",
    "cuda",
    "log",
)
_LOGS = ("log_softmax", "LogSoftmax", "logsoftmax")


def ctc_calls(source: Script) -> list[ast.Call]:
    """Calls of PyTorch's CTC loss, by its function or an object of it."""
    if "pytorch" not in source.frameworks:
        return []
    mine = flow(source)
    found = [c for c in source.named("ctc_loss") if len(c.args) + len(c.keywords) >= 4]
    for call in source.calls:
        if len(call.args) + len(call.keywords) < 4 or not isinstance(call.func, (ast.Name, ast.Attribute)):
            continue
        if any(isinstance(v, ast.Call) and last_name(v.func) == "CTCLoss" for v in mine.values(call.func, 4)):
            found.append(call)
    return [c for c in found if source.owner(c) not in ("tf.nn", "tf", "optax")]


@probe()
def ctc_input_wrong(view: View) -> Finding:
    """The CTC loss gets scores that are no log-probabilities, or that are normalised over the frames.

    Followed through names, methods and the model's own forward; silent where the way is lost.
    """
    return first(view, _input, "the scripts compute no CTC loss")


def _input(source: Script) -> Finding | None:
    calls = ctc_calls(source)
    for call in calls:
        given = call.args[0] if call.args else keyword(call, "log_probs")
        ends = _ends(source, given) if given is not None else []
        normal = [(n, axes) for n, axes in ends if _is_log(source, n)]
        if not normal and ends and all(_is_scores(source, n) for n, _ in ends):
            return at(source, call, "the CTC loss takes log-probabilities, and gets raw scores")
        if not normal and ends and all(_is_chances(n) for n, _ in ends):
            return at(source, call, "the CTC loss takes log-probabilities, and gets probabilities")
        for node, moved in normal:
            axis = _axis(node)
            if axis is not None and moved and axis in (0, 1, -2, -3):
                where = "frames or the batch"
                return at(
                    source,
                    node,
                    f"what the CTC loss gets is normalised over the {where}, not over the symbols",
                )
    return ok(source, calls[0], "the CTC loss gets log-probabilities") if calls else None


def _ends(source: Script, node: ast.expr, kept: bool = True, depth: int = 8) -> list[tuple[ast.expr, bool]]:
    """What an expression is made of before axes were moved, and whether the last axis stayed the last."""
    if depth == 0:
        return []
    if isinstance(node, ast.Call) and last_name(node.func) in _MOVES and isinstance(node.func, ast.Attribute):
        inner = node.func.value
        if last_name(node.func) == "log":
            return [(node, kept)]
        library = _library(inner) and bool(node.args)
        given = node.args[1:] if library else node.args
        kept = kept and (last_name(node.func) not in _TURNS or _keeps_last(given))
        return _ends(source, node.args[0] if library else inner, kept, depth - 1)
    if isinstance(node, ast.Call) and _is_log(source, node):
        return [(node, kept)]
    behind = [v for v in flow(source).values(node, 6) if v is not node]
    if not behind:
        return [(node, kept)]
    return [e for v in behind for e in _ends(source, v, kept, depth - 1)]


_TURNS = ("transpose", "permute", "swapaxes")


def _keeps_last(axes: list[ast.expr]) -> bool:
    """`transpose(0, 1)`, `permute(1, 0, 2)`."""
    if len(axes) == 1 and isinstance(axes[0], (ast.Tuple, ast.List)):
        axes = axes[0].elts
    return [unparse(a) for a in axes] in (["0", "1"], ["1", "0"], ["1", "0", "2"])


def _library(node: ast.expr) -> bool:
    return unparse(node) in ("torch", "F", "nn.functional", "torch.nn.functional")


def _is_log(source: Script, node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = last_name(node.func)
    if name in _LOGS or name == "log":
        return True
    made = (
        flow(source).values(node.func, 3) if isinstance(node.func, (ast.Name, ast.Attribute)) else [node.func]
    )
    return any(last_name(c.func) in _LOGS for m in made for c in of(m, ast.Call))


def _is_scores(source: Script, node: ast.expr) -> bool:
    """The output of a linear layer: `self.fc(x)`."""
    if not isinstance(node, ast.Call):
        return False
    for made in flow(source).values(node.func, 3) if isinstance(node.func, (ast.Name, ast.Attribute)) else []:
        if isinstance(made, ast.Call):
            last = made
            while last_name(last.func) == "Sequential" and last.args and isinstance(last.args[-1], ast.Call):
                last = last.args[-1]
            return last_name(last.func) in ("Linear", "LazyLinear", "Conv1d")
    return False


def _is_chances(node: ast.expr) -> bool:
    """`self.fc(x).softmax(-1)`, and no logarithm of it."""
    return isinstance(node, ast.Call) and last_name(node.func) in ("softmax", "Softmax", "sigmoid")


def _axis(call: ast.expr) -> int | None:
    if not isinstance(call, ast.Call):
        return None
    method = isinstance(call.func, ast.Attribute) and not _library(call.func.value)
    return whole_number(argument(call, "dim", position=0 if method else 1))


def ctc_lengths_padded(source: Script) -> Finding | None:
    """The target lengths of a CTC loss are all that of the widest row, so that padding counts."""
    calls = ctc_calls(source)
    for call in calls:
        given = call.args[3] if len(call.args) > 3 else keyword(call, "target_lengths")
        if given is None:
            continue
        key = (
            given.slice.value
            if isinstance(given, ast.Subscript) and isinstance(given.slice, ast.Constant)
            else None
        )
        for value in [given, *flow(source).values(given, 6), *_stored(source, key), *_collated(source)]:
            if _same_for_all(value) and _pads(source):
                return at(
                    source, value, "each target is as long as the widest of its batch, padding included"
                )
    return ok(source, calls[0], "the CTC loss gets the length of each target") if calls else None


def _stored(source: Script, key: object) -> list[ast.expr]:
    """What dicts of the scripts hold under a key."""
    return [
        v
        for d in source.of(ast.Dict)
        if key is not None
        for k, v in zip(d.keys, d.values, strict=True)
        if isinstance(k, ast.Constant) and k.value == key
    ]


def _collated(source: Script) -> list[ast.expr]:
    """What functions that put samples together give back, part by part."""
    return [
        part
        for name, functions in flow(source).functions.items()
        if "collat" in name.lower()
        for f in functions
        for value in returns(f)
        for one in (value.elts if isinstance(value, ast.Tuple) else [])
        for part in (one, *flow(source).values(one, 3))
    ]


def _same_for_all(value: ast.expr) -> bool:
    """`full((b,), t)`, `tensor([t] * b)` with a width or the largest length."""
    if not isinstance(value, ast.Call):
        return False
    name = last_name(value.func)
    if name in ("full", "full_like") and len(value.args) > 1:
        return _is_width(value.args[1])
    if name in ("tensor", "LongTensor", "IntTensor", "as_tensor") and value.args:
        listed = value.args[0]
        if isinstance(listed, ast.BinOp) and isinstance(listed.op, ast.Mult):
            return any(
                isinstance(side, ast.List) and len(side.elts) == 1 and _is_width(side.elts[0])
                for side in (listed.left, listed.right)
            )
        if isinstance(listed, ast.ListComp):
            names = {n.id for g in listed.generators for n in of(g.target, ast.Name)}
            used = names_in(listed.elt)
            return not names & used and _is_width(listed.elt)
    return False


_WIDTH = re.compile(r"(?i)(?:tgt|target|label|text|transcript)\w*\.(?:shape\[|size\()(?:1|-1)|max\(")


def _is_width(node: ast.expr) -> bool:
    return _WIDTH.search(unparse(node)) is not None


def _pads(source: Script) -> bool:
    return bool(source.named("pad_sequence", "pad")) or re.search(r"(?i)pad", source.code) is not None


def ctc_blank_kept(source: Script) -> Finding | None:
    """Greedy decoding takes repeats together and leaves out another symbol than the blank of the loss."""
    calls = ctc_calls(source)
    if not calls:
        return None
    blanks = {
        unparse(k) for c in (*calls, *source.named("CTCLoss")) if (k := keyword(c, "blank")) is not None
    }
    for function in source.of(ast.FunctionDef):
        if not (other := _collapses(function)):
            continue
        text = unparse(function)
        named = any(b in text or b.split(".")[-1] in text for b in blanks)
        if blanks and not named and not re.search(r"(?i)blank|blk", text):
            return at(source, other, "repeats are taken together, and the blank of the loss is not left out")
        return ok(source, other, "decoding leaves the blank out")
    return None


def _collapses(function: Function) -> ast.AST | None:
    """`if s != last and ...: out.append(s)` in a loop that moves `last` on."""
    if not returns(function):
        return None
    for loop in of(function, ast.For):
        moved = {
            unparse(n.targets[0]): unparse(n.value)
            for n in loop.body
            if isinstance(n, ast.Assign) and isinstance(n.value, ast.Name)
        }
        for node in of(loop, ast.Compare):
            if isinstance(node.ops[0], ast.NotEq):
                left, right = unparse(node.left), unparse(node.comparators[0])
                if moved.get(right) == left or moved.get(left) == right:
                    return node
    return None

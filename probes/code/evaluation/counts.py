"""What scripts score by: denominators of another loader's batches, running scores, scores over the batch."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse, walk
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, gone_over, ok
from ..shared.roles import model_calls
from ..shared.sides import literal


def other_batch_size(source: Script) -> Finding | None:
    """`correct / (len(val_loader) * BATCH)`, where the loader's batches have another size."""
    seen = None
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, ast.Mult):
            continue
        for counted, size in ((node.left, node.right), (node.right, node.left)):
            loader = length_of(counted)
            made = _loader(source, loader) if loader is not None else None
            if made is None or not _is_divisor(source, node):
                continue
            if not _is_batch_size(source, size) and not _divides_hits(source, node, size):
                continue
            own = argument(made, "batch_size", position=1)
            mine, theirs = literal(source, size), literal(source, own)
            if not (isinstance(mine, int) and isinstance(theirs, int)):
                continue
            seen = seen or node
            if mine != theirs:
                return at(source, node, f"batches of {theirs} are counted as if they were of {mine}")
    return ok(source, seen, "batches are counted by their size") if seen is not None else None


def _is_batch_size(source: Script, node: ast.expr) -> bool:
    """A name that says so, or what some loader takes: `50 * len(loader)` counts steps."""
    if re.search(r"(?i)batch|(?:^|_)bsz?(?:_|$)", last_name(node)):
        return True
    given = [keyword(c, "batch_size") for c in source.named("DataLoader")]
    return unparse(node) in {unparse(g) for g in given if g is not None}


def _divides_hits(source: Script, node: ast.BinOp, size: ast.expr) -> bool:
    """`hits / (len(loader) * 8)`: what is divided counts samples, so a plain number is a batch's size."""
    parent = source.parents.get(node)
    return (
        isinstance(size, ast.Constant)
        and isinstance(parent, ast.BinOp)
        and re.search(r"(?i)^(?:n_|num_)?(?:hits?|correct|right|matches)", last_name(parent.left)) is not None
    )


def length_of(node: ast.expr) -> ast.expr | None:
    """What a length is taken of: `len(x)` -> `x`."""
    return (
        node.args[0] if isinstance(node, ast.Call) and last_name(node.func) == "len" and node.args else None
    )


def _loader(source: Script, node: ast.expr) -> ast.Call | None:
    made = [v for v in flow(source).values(node, 5) if isinstance(v, ast.Call)]
    return made[0] if len(made) == 1 and last_name(made[0].func) == "DataLoader" else None


def _is_divisor(source: Script, node: ast.expr) -> bool:
    """It is divided by this, directly or by way of a name."""
    parent = source.parents.get(node)
    while isinstance(parent, ast.Call) and last_name(parent.func) in ("max", "float", "int"):
        node, parent = parent, source.parents.get(parent)
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Div):
        return parent.right is node
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        name, scope = parent.targets[0].id, source.function_around(parent) or source.tree
        return any(isinstance(n.op, ast.Div) and unparse(n.right) == name for n in of(scope, ast.BinOp))
    return False


def logged_without_reset(source: Script) -> Finding | None:
    """Lightning: `self.log("val/acc", self.val_acc.compute())`, and nothing resets the metric.

    Where the metric itself is logged, Lightning computes and resets it at the end of the epoch.
    """
    seen = None
    for call in source.named("log", "log_dict"):
        if source.owner(call) != "self" or not call.args:
            continue
        for part in (p for a in call.args for p in walk(a)):
            if not (isinstance(part, ast.Call) and last_name(part.func) == "compute"):
                continue
            metric = source.owner(part)
            if not metric.startswith("self.") or not _counts(source, part):
                continue
            if re.search(r"(?i)test|predict", f"{source.function_name(call)} {metric}"):
                continue  # a test runs once
            seen = seen or call
            resets = {source.owner(c) for c in source.named("reset", "reset_metrics")}
            if metric not in resets and not _resets_loosely(resets):
                return at(source, call, f"{metric} is never reset: each epoch adds to the last")
    return ok(source, seen, "metrics are reset") if seen is not None else None


def _counts(source: Script, compute: ast.Call) -> bool:
    """The metric is updated in this program, as an object of torchmetrics."""
    metric = source.owner(compute)
    updates = {source.owner(c) for c in source.named("update")} | {unparse(c.func) for c in source.calls}
    return metric in updates and "torchmetrics" in source.code


def _resets_loosely(resets: set[str]) -> bool:
    """`for metric in self.metrics: metric.reset()`."""
    return any(re.search(r"metric|^m$|collection", r) and not r.startswith("self.val") for r in resets)


_EVALUATES = re.compile(r"(?i)(?:^|_)(?:eval\w*|valid\w*|val|test|score|predict\w*)(?:_|$)")
_SCORES = re.compile(r"(?i)out|logit|pred|score|model\(|net\(|^self\(")


def normalised_over_batch(source: Script) -> Finding | None:
    """An evaluation takes the softmax of a batch's scores along the batch: `logits.softmax(dim=0)`."""
    seen, answered = None, set(model_calls(source))
    for call in source.named("softmax", "log_softmax"):
        function = source.function_around(call)
        if function is None or not _EVALUATES.search(function.name) or function in source.forwards:
            continue
        method = isinstance(call.func, ast.Attribute) and unparse(call.func.value) not in (
            *("F", "torch", "nn.functional", "tf.nn", "ops", "mint"),
        )
        scores = call.func.value if method and isinstance(call.func, ast.Attribute) else None
        scores = scores if method else argument(call, position=0)
        made = flow(source).values(scores, 2) if scores is not None else []
        answers = not answered.isdisjoint(made)
        if scores is None or not (answers or _SCORES.search(unparse(scores))):
            continue
        place = 0 if method else 1
        axis = keyword(call, "dim") or keyword(call, "axis")
        axis = axis or argument(call, position=place)
        seen = seen or call
        if re.search(r"(?:reshape|view)\(-1\)$|(?:flatten|squeeze|ravel)\(\)$", unparse(scores)):
            continue  # the scores of one sample, in a row
        if axis is not None and literal(source, axis) == 0 and not _of_one_sample(source, scores):
            return at(source, call, "these probabilities are taken along the batch, not along the classes")
    return ok(source, seen, "probabilities are taken along the classes") if seen is not None else None


def _of_one_sample(source: Script, scores: ast.expr) -> bool:
    """`out[0]`, `out.squeeze()`, `model(x.unsqueeze(0))[0]`, or the variable of a loop over rows."""
    found = [scores, *flow(source).values(scores, 2)]
    if any(
        isinstance(v, ast.Subscript) or re.search(r"\[|squeeze|flatten|view\(-1", unparse(v)) for v in found
    ):
        return True
    loops = [p for p in source.above(scores) if isinstance(p, ast.For)]
    names = {n.id for loop in loops for n in of(loop.target, ast.Name)}
    return isinstance(scores, ast.Name) and scores.id in names


def hits_of_all_by_batches(source: Script) -> Finding | None:
    """`hits = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)`, and `hits / len(loader)`."""
    seen = None
    for node in source.of(ast.BinOp):
        counted = length_of(node.right) if isinstance(node.op, ast.Div) else None
        made = _loader(source, counted) if counted is not None else None
        if counted is None or made is None or unparse(keyword(made, "batch_size") or made) == "1":
            continue
        for value in flow(source).values(node.left, 2):
            if not (isinstance(value, ast.Call) and last_name(value.func) == "sum" and value.args):
                continue
            over = value.args[0]
            if not isinstance(over, (ast.GeneratorExp, ast.ListComp)) or len(over.generators) != 1:
                continue
            if unparse(gone_over(over.generators[0].iter)) != unparse(counted):
                continue
            seen = seen or node
            added = [c for c in of(over.elt, ast.Call) if last_name(c.func) == "sum"]
            compares = any(isinstance(n, ast.Compare) for c in added for n in walk(c))
            if compares and not of(over.elt, ast.BinOp):
                return at(source, node, "right answers are counted, and divided by the number of batches")
    return ok(source, seen, "sums are divided by what they were summed over") if seen is not None else None

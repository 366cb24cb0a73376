"""Sums of evaluations in scripts over another number than theirs, and metrics that keep one batch."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, last_name, receiver
from ...registry import Finding
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Script
from ..shared.checks import at

_NO_SUM = re.compile(r"(?i)loss|nll|kl|elbo|time|sec")
_LOADER = re.compile(r"(?i)load|batch|^dl|_dl$|data|iter|^ds$|_ds$|range\(\d+, .+, \w+")


def sums_over_batches(source: Script) -> Finding | None:
    """`hits += (p == y).sum()` and `n += 1` in a loop over batches, then `hits / n`."""
    for loop in source.of(ast.For):
        if takes_gradients(source, loop) or not _LOADER.search(unparse(loop.iter)):
            continue
        own = [s for s in loop.body if isinstance(s, ast.AugAssign) and isinstance(s.op, ast.Add)]
        summed = {unparse(s.target) for s in own if _sum_of_batch(s.value) and not _NO_SUM.search(unparse(s))}
        ones = {unparse(s.target) for s in own if unparse(s.value) in ("1", "1.0")}
        scope = source.function_around(loop) or source.tree
        for node in of(scope, ast.BinOp):
            if isinstance(node.op, ast.Div) and unparse(node.left) in summed and unparse(node.right) in ones:
                return at(source, node, "a sum over samples is divided by the number of batches")
    return None


def _sum_of_batch(value: ast.expr) -> bool:
    """`x.sum()`, `x.sum().item()`, `float(x.sum((0, 2)))`: over the samples, at least."""
    for _ in range(4):
        if not isinstance(value, ast.Call):
            return False
        name = last_name(value.func)
        if name == "sum":
            axis = argument(value, "dim", "axis", position=0)
            return axis is None or unparse(axis).startswith(("0", "(0"))
        if name in ("item", "cpu", "numpy", "detach", "double") and isinstance(value.func, ast.Attribute):
            value = value.func.value
        elif name in ("float", "int") and value.args:
            value = value.args[0]
        else:
            return False
    return False


def metric_keeps_one_batch(source: Script) -> Finding | None:
    """A metric of Keras whose `update_state` assigns what it counts instead of adding it up."""
    for owner in source.of(ast.ClassDef):
        if not any(unparse(b).endswith("Metric") for b in owner.bases):
            continue
        for function in owner.body:
            if not isinstance(function, ast.FunctionDef) or function.name != "update_state":
                continue
            for call in of(function, ast.Call):
                weight = receiver(call)
                if last_name(call.func) != "assign" or weight is None or not call.args:
                    continue
                held, given = unparse(weight), unparse(call.args[0])
                if held.startswith("self.") and held not in given and not _reads(function, held, call):
                    return at(source, call, f"`{held}` keeps the last batch alone: nothing is added to it")
    return None


def _reads(function: ast.FunctionDef, held: str, call: ast.Call) -> bool:
    """Something else of the function reads or fills it, or it is a best or a last value on purpose."""
    inside = set(of(call, ast.Attribute))
    others = [n for n in of(function, ast.Attribute) if unparse(n) == held and n not in inside]
    return bool(others) or re.search(r"(?i)last|best|max|min|current", held) is not None


def best_left_in_memory(source: Script) -> Finding | None:
    """`kept = deepcopy(net.state_dict())` where it was best, and the test below runs on the last weights."""
    if source.named("load_state_dict", "set_weights", "load_param_into_net") or source.loose:
        return None
    for node in source.of(ast.Assign):
        value = node.value
        copied = isinstance(value, ast.Call) and last_name(value.func) == "deepcopy" and value.args
        state = value.args[0] if isinstance(value, ast.Call) and copied else None
        if not isinstance(state, ast.Call) or last_name(state.func) != "state_dict":
            continue
        loops = source.loops_around(node)
        chosen = any(isinstance(p, ast.If) and "best" in unparse(p.test) for p in source.above(node))
        if not loops or not chosen or not isinstance(node.targets[0], ast.Name):
            continue
        net, end = source.owner(state), max(x.end_lineno or x.lineno for x in loops)
        scope = source.function_around(node)
        for call in source.calls:
            if call.lineno <= end or source.function_around(call) is not scope:
                continue
            if re.search(r"(?i)eval|test|score|predict", last_name(call.func)) and net in {
                n for a in call.args for n in names_in(a)
            }:
                return at(
                    source, call, "the last weights are scored: the best ones are kept and never put back"
                )
    return None


_MULTI = re.compile(r"multi_label_classification|BCEWithLogits|binary_cross_entropy_with_logits")


def logits_as_chances(source: Script) -> Finding | None:
    """Transformers: `p.predictions >= thr` with a threshold of chances, or a softmax of many labels."""
    handed = {unparse(k.value) for c in source.calls for k in c.keywords if k.arg == "compute_metrics"}
    for function in source.of(ast.FunctionDef):
        if function.name not in handed:
            continue
        args = function.args
        defaults = dict(zip([a.arg for a in reversed(args.args)], reversed(args.defaults), strict=False))
        for test in of(function, ast.Compare):
            if len(test.ops) != 1 or not isinstance(test.ops[0], (ast.Gt, ast.GtE)):
                continue
            bound = test.comparators[0]
            bound = defaults.get(bound.id, bound) if isinstance(bound, ast.Name) else bound
            cut = bound.value if isinstance(bound, ast.Constant) else None
            raw = isinstance(test.left, ast.Attribute) and test.left.attr == "predictions"
            if raw and isinstance(cut, float) and 0 < cut < 1:
                return at(source, test, f"these are logits, and {cut:g} is a threshold of chances")
        if not _MULTI.search(source.code):
            continue
        for node in of(function, ast.BinOp):
            shape = re.fullmatch(r"(\w+) / (?:np\.)?(?:\1\.sum|sum\(\1).*", unparse(node))
            if shape and re.search(rf"\b{shape[1]} = np\.exp\(", unparse(function)):
                return at(
                    source, node, "a softmax lets labels exclude one another, which are trained one by one"
                )
        for call in of(function, ast.Call):
            if last_name(call.func) == "softmax":
                return at(
                    source, call, "a softmax lets labels exclude one another, which are trained one by one"
                )
    return None


def one_of_two_sums(source: Script) -> Finding | None:
    """`union[c] += ...` and `inter[c] = ...` in a loop over batches, and `inter / union` after it.

    Both begin at zero before the loop; the one that is assigned holds the last batch alone.
    """
    for loop in source.of(ast.For):
        scope = source.function_around(loop) or source.tree
        if takes_gradients(source, loop) or not _LOADER.search(unparse(loop.iter)):
            continue
        begun = _begun_at_zero(scope, loop)
        added = {_base(s.target) for s in of(loop, ast.AugAssign) if isinstance(s.op, ast.Add)} & begun
        counts = [s for s in of(loop, ast.Assign) if len(s.targets) == 1 and _is_count(s)]
        kept = {_base(s.targets[0]): s for s in counts if _base(s.targets[0]) in begun - added}
        for name, node in kept.items():
            inside = [n for n in of(loop, ast.Name) if n.id == name]
            if len(inside) > 1 or _KEPT.search(name) or not added:
                continue  # something in the loop reads it
            if any(
                name in names_in(d.left) and names_in(d.right) & added for d in _shares_after(scope, loop)
            ):
                return at(
                    source, node, f"`{name}` keeps the last batch alone, and is divided by a sum of all"
                )
    return None


_KEPT = re.compile(r"(?i)last|best|max|min|current|prev")


def _base(node: ast.expr) -> str:
    """The name that a target begins with: `inter` of `inter[c]`."""
    node = node.value if isinstance(node, ast.Subscript) else node
    return node.id if isinstance(node, ast.Name) else ""


def _is_count(node: ast.Assign) -> bool:
    """What is assigned is summed over something: `((p == c) & (y == c)).sum()`."""
    return any(last_name(c.func) in ("sum", "count_nonzero", "bincount") for c in of(node.value, ast.Call))


def _begun_at_zero(scope: ast.AST, loop: ast.For) -> set[str]:
    """Names that are zero, or zeros, before the loop: `inter, union = torch.zeros(3), torch.zeros(3)`."""
    found: set[str] = set()
    for node in of(scope, ast.Assign):
        if node.lineno >= loop.lineno:
            continue
        target, value = node.targets[-1], node.value
        pairs = [(t, value) for t in node.targets]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=False))
        for one, given in pairs:
            zeros = isinstance(given, ast.Call) and last_name(given.func) in ("zeros", "zeros_like")
            if isinstance(one, ast.Name) and (zeros or unparse(given) in ("0", "0.0")):
                found.add(one.id)
    return found


def _shares_after(scope: ast.AST, loop: ast.For) -> list[ast.BinOp]:
    """Divisions behind a loop."""
    end = loop.end_lineno or loop.lineno
    return [d for d in of(scope, ast.BinOp) if isinstance(d.op, ast.Div) and d.lineno > end]

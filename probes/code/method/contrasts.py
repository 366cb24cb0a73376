"""Losses that tell pairs from strangers in a batch: who is among the candidates, and which one is right."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at, ok

_ASIDE = re.compile(
    r"(?i)fill_diagonal|\beye\b|\bdiag|mask|tril|triu|inf\b|1e4|1e9|~|off_diag|logical_not|!=|scatter|one_hot"
)
_CLASSES = ("cross_entropy", "CrossEntropyLoss", "softmax_cross_entropy_with_logits", "nll_loss")


def _with_itself(function: Function) -> ast.expr | None:
    """`z @ z.T`, `mm(z, z.t())`, `cosine_similarity(z[:, None], z[None])`: each against each."""
    for node in of(function, ast.BinOp, ast.Call):
        sides: list[ast.expr] = []
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            sides = [node.left, node.right]
        elif isinstance(node, ast.Call) and last_name(node.func) in ("mm", "matmul", "cosine_similarity"):
            sides = list(node.args[:2])
            if len(sides) == 1 and isinstance(node.func, ast.Attribute):
                sides.insert(0, node.func.value)
        names = [_bare(s) for s in sides]
        if len(names) == 2 and names[0] and names[0] == names[1] and unparse(sides[0]) != unparse(sides[1]):
            return node
    return None


def _bare(node: ast.expr) -> str:
    """The name under a turn or a new axis: of `z.t()`, `z.T`, `z.unsqueeze(0)`, `z[None]`."""
    while isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Call):
            if last_name(node.func) not in ("t", "transpose", "unsqueeze", "permute", "contiguous"):
                return ""
            node = node.func
        else:
            node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _losses(function: Function) -> list[ast.Call]:
    return [
        c
        for c in of(function, ast.Call)
        if last_name(c.func) in _CLASSES or re.search(r"(?i)criterion|ce_?loss|\bxent", last_name(c.func))
    ]


def itself_among_candidates(source: Script) -> Finding | None:
    """`cross_entropy(z @ z.T / tau, pairs)`: each row is its own best match, as nothing takes it out."""
    seen = None
    for function in source.of(ast.FunctionDef):
        sim, losses = _with_itself(function), _losses(function)
        given = [c for c in losses if len(c.args) >= 2]
        if sim is None or not given or "arange" not in unparse(function):
            continue
        seen = seen or sim
        if not _ASIDE.search(_code(function)) and not _outside(source, function):
            return at(source, sim, "each row is among its own candidates, and is its own best match")
        wanted = given[0].args[1]
        if re.search(r"fill_diagonal|eye\(", _code(function)) and _own_places(source, wanted):
            return at(source, given[0], "the match of each row is the row itself, which is taken out")
    return ok(source, seen, "a row is not its own candidate") if seen is not None else None


def _code(function: Function) -> str:
    """The statements of a function without its text of explanation."""
    return " ".join(
        unparse(s)
        for s in function.body
        if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
    )


def _outside(source: Script, function: Function) -> bool:
    """A helper of the script is called in the loss, which may take the diagonal out."""
    mine = flow(source).functions
    return any(last_name(c.func) in mine for c in of(function, ast.Call))


def _own_places(source: Script, node: ast.expr) -> bool:
    """`arange(2 * n)`, or `cat([arange(0, n), arange(n, 2 * n)])`: the number of the row itself."""
    for value in flow(source).values(node, 4):
        while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            if value.func.attr not in ("to", "cuda", "long"):
                break
            value = value.func.value
        if not isinstance(value, ast.Call):
            continue
        if last_name(value.func) == "arange" and len(value.args) == 1:
            whole = r"^2 \* |\* 2$|shape\[0\]$|size\(0\)$|^len\("
            return re.search(whole, unparse(value.args[0])) is not None
        if last_name(value.func) in ("cat", "concat") and value.args and isinstance(value.args[0], ast.List):
            parts = value.args[0].elts
            ranges = [[unparse(a) for a in p.args] for p in parts if isinstance(p, ast.Call)]
            if len(ranges) == len(parts) == 2 and len(ranges[1]) == 2:
                begins = ranges[0][0] == "0" if len(ranges[0]) == 2 else len(ranges[0]) == 1
                if begins and ranges[1][0] == ranges[0][-1]:
                    return True
    return False


def one_view_twice(source: Script) -> Finding | None:
    """`v = self.t(im); return v, v` of a class that gives two views: both are one draw."""
    if not re.search(
        r"(?i)simclr|contrast|nt_?xent|info_?nce|byol|moco|barlow|vicreg|views?\b|cross_?entropy", source.code
    ):
        return None
    seen = None
    for name, owner in source.classes.items():
        if not re.search(r"(?i)two|view|twice|simclr|contrast|multi_?crop", name):
            continue
        for function in owner.body:
            if not isinstance(function, ast.FunctionDef) or function.name not in ("__call__", "__getitem__"):
                continue
            for back in of(function, ast.Return):
                parts = back.value.elts if isinstance(back.value, (ast.Tuple, ast.List)) else []
                if len(parts) < 2:
                    continue
                seen = seen or back
                same = isinstance(parts[0], ast.Name) and unparse(parts[0]) == unparse(parts[1])
                made = flow(source).given(parts[0]) if same else None
                if made is not None and isinstance(made.value, ast.Call):
                    return at(source, back, "both views are one and the same draw")
    return ok(source, seen, "each view is drawn for itself") if seen is not None else None


def match_stands_first(source: Script) -> Finding | None:
    """`cat([l_pos, l_neg], 1)` of one right answer in column 0, and `arange(n)` as the answers."""
    seen = None
    for function in source.of(ast.FunctionDef):
        given = _given(function)
        joined = [v for v in given.values() if _right_column_first(v, given)]
        for name, value in given.items() if len(joined) == 1 else ():
            answers = _answers(value)
            if not answers or not re.search(r"(?i)label|target|truth|^gt$|^y$", name):
                continue
            seen = seen or value
            if answers == "arange":
                why = "the right answer stands in the first column, and each row asks for another one"
                return at(source, value, why)
    return ok(source, seen, "the right answer is the first") if seen is not None else None


def _given(function: Function) -> dict[str, ast.expr]:
    """What names of a function are given, by their text."""
    return {unparse(a.targets[0]): a.value for a in of(function, ast.Assign) if len(a.targets) == 1}


def _answers(value: ast.expr) -> str:
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr not in ("to", "cuda", "long"):
            break
        value = value.func.value
    name = last_name(value.func) if isinstance(value, ast.Call) else ""
    return name if name in ("arange", "zeros") else ""


_ONE_COLUMN = re.compile(r"unsqueeze\(-?1\)$|keepdim=True\)$|\[:, None\]$|view\(-1, 1\)$")


def _right_column_first(value: ast.expr, given: dict[str, ast.expr]) -> bool:
    """`torch.cat([(q * k).sum(1, keepdim=True), q @ queue], dim=1)`: one column, and many beside it."""
    for call in of(value, ast.Call):
        parts = call.args[0].elts if call.args and isinstance(call.args[0], (ast.List, ast.Tuple)) else []
        axis = argument(call, "dim", position=1)
        if (
            last_name(call.func) != "cat"
            or len(parts) != 2
            or axis is None
            or unparse(axis) not in ("1", "-1")
        ):
            continue
        one, many = (unparse(given.get(unparse(p), p)) for p in parts)
        strangers = re.search(r"(?i)queue|neg|memory|bank", many) is not None
        if strangers and _ONE_COLUMN.search(one) and not _ONE_COLUMN.search(many):
            return True
    return False


def one_side_scaled(source: Script) -> Finding | None:
    """Two answers of networks are held against each other, and only one of them is scaled to length one."""
    for function in source.of(ast.FunctionDef):
        given = _given(function)
        if not any("normalize(" in unparse(v) for v in given.values()) or ".norm(" in unparse(function):
            continue
        for node in of(function, ast.Call, ast.BinOp):
            made = [given.get(unparse(s)) for s in _held_against(node)]
            if {_is_scaled(m, given) for m in made if m is not None} == {True, False} and len(made) == 2:
                why = "one of both is scaled to length one, the other has the length that it comes with"
                return at(source, node, why)
    return None


def _held_against(node: ast.AST) -> list[ast.expr]:
    """The two sides of `a @ b.T`, `a * b`, `einsum("nc,nc->n", a, b)`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.MatMult, ast.Mult)):
        turned = node.right
        if isinstance(turned, ast.Call) and unparse(turned).endswith(".t()"):
            turned = turned.func
        turned = turned.value if isinstance(turned, ast.Attribute) and turned.attr in ("T", "t") else turned
        return [node.left, turned]
    if isinstance(node, ast.Call) and last_name(node.func) == "einsum" and len(node.args) == 3:
        return list(node.args[1:])
    return []


_NETWORKS = re.compile(
    r"(?i)(?:^|\.)(?:\w*(?:encoder|backbone|project|predictor|tower)\w*|teacher|student|online|target)$"
)


def _is_scaled(value: ast.expr, given: dict[str, ast.expr]) -> bool | None:
    """Whether an answer of a network was scaled; None of what is no such answer."""
    while (
        isinstance(value, ast.Call)
        and last_name(value.func) == "detach"
        and isinstance(value.func, ast.Attribute)
    ):
        value = value.func.value
    if not isinstance(value, ast.Call):
        return None
    scaled = last_name(value.func) == "normalize" and bool(value.args)
    inner = given.get(unparse(value.args[0]), value.args[0]) if scaled else value
    return scaled if isinstance(inner, ast.Call) and _NETWORKS.search(unparse(inner.func)) else None


def scaled_over_the_batch(source: Script) -> Finding | None:
    """`F.normalize(self.head(x), dim=0)` where a network answers: over the samples, not over entries."""
    for function in source.forwards:
        for call in of(function, ast.Call):
            axis = argument(call, "dim", position=2)
            if last_name(call.func) != "normalize" or axis is None or unparse(axis) != "0" or not call.args:
                continue
            value = call.args[0]
            if isinstance(value, ast.Name) and (made := flow(source).given(value)) is not None:
                value = made.value if not made.places else value
            answers = isinstance(value, ast.Call) and unparse(value.func).startswith("self.")
            if answers and not re.search(r"weight|param|proto|cent", unparse(value)):
                return at(source, call, "scaled to length one over the samples, not over entries")
    return None
